# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
from http import HTTPStatus
import json
class Env:
    def reset(self, seed=0):
        return "ok", {}
    def step(self, action):
        s = HTTPStatus(404)
        shown = f"{s.value} {s.phrase} {HTTPStatus.OK.name} {HTTPStatus.OK == 200} {int(HTTPStatus.CREATED)}"
        expected = '404 Not Found OK True 201'
        return shown, float(shown == expected), True, False, {}

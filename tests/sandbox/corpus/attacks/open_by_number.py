# tries: a file object on the worker's socket
# expect: rejected
import io


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        io.FileIO(3, "w").write(b"x")
        return "obs", 0.0, False, {}

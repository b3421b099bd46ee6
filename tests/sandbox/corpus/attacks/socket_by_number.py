# tries: the worker's socket by its number
# expect: rejected
import socket


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        socket.socket(fileno=3).send(b"\x00\x00\x00\x02[]")
        return "obs", 0.0, False, {}

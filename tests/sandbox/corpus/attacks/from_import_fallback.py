# tries: a module of the host by the way that from-imports find submodules
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        try:
            from json import scanner
            from urllib import request
            from collections import sys
        except ImportError as error:
            return "obs", 0.0, False, {"e": str(error)}
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}

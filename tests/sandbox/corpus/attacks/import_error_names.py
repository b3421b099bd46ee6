# tries: names in a module of the host, by the suggestion in a traceback's text
# expect: contained
import traceback


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        error = ImportError("cannot import name 'systm'", name="os", path="x")
        error.name_from = "systm"
        if "system" in "".join(traceback.format_exception(error)):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}

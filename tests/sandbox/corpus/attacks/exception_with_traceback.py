# tries: frames by the attributes of an exception given as texts
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        try:
            1 / 0
        except ZeroDivisionError as error:
            for name in ("__traceback__", "tb_frame", "with_traceback"):
                if "__" in name:
                    getattr(error, name)
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}

# tries: an exception of a class derived from BaseException, raised while another is handled, with a cause
# expect: contained
class Gone(BaseException):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        try:
            raise SystemExit
        except SystemExit as error:
            raise Gone("x") from Gone(error)
        return "obs", 0.0, False, {}

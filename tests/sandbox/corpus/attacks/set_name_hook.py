# tries: __set_name__ reaches for the frame of the class body
# expect: rejected
class Hook:
    def __set_name__(self, owner, name):
        owner.frame = (lambda: (yield))().gi_frame.f_back


class Env:
    hook = Hook()

    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {}

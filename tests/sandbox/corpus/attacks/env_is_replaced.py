# tries: the class and its methods replaced by objects that lie
# expect: contained
class Lies:
    def __get__(self, instance, owner):
        raise SystemExit("LEAK")


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        Env.step = Lies()
        Env.reset = Lies()
        Env.metadata = Lies()
        return "obs", 0.0, False, {}

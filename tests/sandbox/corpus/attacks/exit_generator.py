# tries: GeneratorExit out of a call
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        raise GeneratorExit('x')
        return "obs", 0.0, False, {}

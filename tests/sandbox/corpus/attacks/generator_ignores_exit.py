# tries: a generator that goes on when it is closed
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        def endless():
            while True:
                try:
                    yield 1
                except GeneratorExit:
                    continue


        g = endless()
        next(g)
        g.close()
        return "obs", 0.0, False, {}

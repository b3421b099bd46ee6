# tries: prints of one character without end
# expect: killed
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        while True:
            print("x", end="")
        return "obs", 0.0, False, {}

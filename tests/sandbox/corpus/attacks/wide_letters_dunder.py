# tries: identifiers in wide letters that the parser makes dunder names
# expect: rejected
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        found = self.step.＿＿globals＿＿
        return "obs", 0.0, False, {}

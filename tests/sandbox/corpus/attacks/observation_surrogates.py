# tries: halves of characters and control characters as observation
# expect: contained (runs; the text that arrives can be written as UTF-8)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "\ud800\udfff\ud800" + chr(0) + chr(0x10FFFF), 0.0, False, {"\udcff": "\ud800"}
        return "obs", 0.0, False, {}

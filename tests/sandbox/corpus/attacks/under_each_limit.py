# tries: just under each single limit in every call: time, memory, output
# expect: contained
# kind: resource (killed and contained both pass)
kept = []


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        n = 0
        while n < 3_000_000:
            n += 1
        kept.append("x" * 10_000_000)
        print("p" * 5_000)
        return "o" * 60_000, 0.0, False, {"i": "i" * 60_000}
        return "obs", 0.0, False, {}

# tries: memory taken in pieces that are each small, and errors that are swallowed
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        kept = []
        while True:
            try:
                kept.append(bytearray(1_000_000))
            except MemoryError:
                try:
                    kept.append(bytearray(1_000))
                except MemoryError:
                    pass
        return "obs", 0.0, False, {}

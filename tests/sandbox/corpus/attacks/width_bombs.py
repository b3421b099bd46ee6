# tries: formats that ask for a gigabyte
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for way in (
            lambda: "%2000000000d" % 1,
            lambda: f"{1:>2000000000}",
            lambda: "x".ljust(2_000_000_000),
            lambda: "{:2000000000}".format(1),
            lambda: "\t".expandtabs(2_000_000_000),
            lambda: "ab".translate({97: "x" * 1_000_000}) * 5_000,
            lambda: "a".replace("", "y" * 1_000_000) * 5_000,
            lambda: ("z" * 1_000_000).join(["a"] * 5_000),
            lambda: b"a".zfill(2_000_000_000),
        ):
            try:
                way()
            except (MemoryError, OverflowError, ValueError):
                continue
        return "obs", 0.0, False, {}

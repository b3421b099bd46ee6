# tries: a compressed text that grows a thousandfold, twice
# expect: contained
# kind: resource (killed and contained both pass)
import zlib


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        inner = zlib.compress(b"a" * 50_000_000, 9)
        zlib.decompress(zlib.compress(inner * 200))
        x = [zlib.decompress(inner) for _ in range(40)]
        return "obs", 0.0, False, {}

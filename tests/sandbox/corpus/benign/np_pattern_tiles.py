# seed: 16
# actions: ["rot90", "flipud", "roll 1 0", "roll 1 1", "transpose", "invert", "rot90", "submit"]
# expect_total: 0.49363637 after 8 steps
import numpy as np

# Transform the tile so that it equals the target. Reward = change of overlap.

OPS = {
    "rot90": lambda t: np.rot90(t),
    "flipud": np.flipud,
    "fliplr": np.fliplr,
    "transpose": lambda t: t.T,
    "invert": lambda t: 1 - t,
}


def draw(tile, chars=".#"):
    lut = np.array(list(chars))
    return "\n".join("".join(r) for r in lut[tile])


def features(tile):
    big = np.kron(tile, np.ones((2, 2), dtype=tile.dtype))
    blocks = big.reshape(5, 2, 5, 2).swapaxes(1, 2).mean(axis=(2, 3))
    edges = np.logical_xor(tile[:, 1:], tile[:, :-1]).sum() + np.logical_xor(tile[1:], tile[:-1]).sum()
    rows, cols = np.nonzero(tile)
    com = (rows.mean(), cols.mean()) if rows.size else (0.0, 0.0)
    return {
        "ink": int(tile.sum()),
        "edges": int(edges),
        "com": [round(float(c), 3) for c in com],
        "same": bool(np.array_equal(blocks.astype(int), tile)),
        "longest_run": max(len(s) for row in tile for s in "".join(map(str, row)).split("0")),
    }


class Env:
    def reset(self, seed=None):
        np.random.seed(seed)
        self.tile = np.random.randint(0, 2, (5, 5))
        target = self.tile
        names = np.random.choice(sorted(OPS), size=3, replace=False)
        for n in names:
            target = OPS[n](target)
        self.target = np.ascontiguousarray(np.roll(target, shift=int(np.random.randint(1, 4)), axis=1))
        self.moves = 0
        return draw(np.hstack([self.tile, self.target]))

    def overlap(self):
        return np.mean(self.tile == self.target)

    def step(self, action):
        self.moves += 1
        old = self.overlap()
        name, *args = action.split(" ")
        if name == "submit":
            iou = np.logical_and(self.tile, self.target).sum() / np.logical_or(self.tile, self.target).sum()
            return draw(self.tile), np.float32(iou), np.True_, {"moves": self.moves, **features(self.tile)}
        if name == "roll":
            self.tile = np.roll(self.tile, int(args[0]), axis=int(args[1]))
        else:
            self.tile = OPS[name](self.tile)
        return draw(self.tile), self.overlap() - old - 0.01, self.moves > 20, features(self.tile)

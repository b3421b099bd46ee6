# seed: 10
# actions: ["cross P1 P2", "cross P1 P3", "cross P2 P3", "view", "cross P4 P4", "select P5", "cross P5 P6", "cross P99 P1", "select P7", "submit P8"]
# expect_total: -0.01666666666666665 after 10 steps
import random
from collections import Counter, namedtuple
from itertools import product

Plant = namedtuple("Plant", ["id", "genotype"])

GENES = [("A", "tall", "short"), ("B", "purple", "white"), ("C", "round", "wrinkled")]


def phenotype(plant):
    out = []
    for (letter, dominant, recessive), pair in zip(GENES, plant.genotype):
        out.append(dominant if letter in pair else recessive)
    return tuple(out)


def normalise(pair):
    return "".join(sorted(pair))


class GeneticsEnv:
    """Breed plants (Mendelian inheritance) until you can submit the target phenotype
    that is also homozygous for every gene."""

    MAX_CROSSES = 8

    def __init__(self):
        self.rng = random.Random()
        self.plants = {}

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.plants = {}
        self.counter = 0
        self.crosses = 0
        for _ in range(3):
            self._add([normalise(self.rng.choice(g[0] + g[0].lower()) + self.rng.choice(g[0] + g[0].lower())) for g in GENES])
        self.target = tuple(self.rng.choice(g[1:]) for g in GENES)
        return f"Target: pure-breeding {' '.join(self.target)}.\n" + self._table()

    def _add(self, genotype):
        self.counter += 1
        plant = Plant(f"P{self.counter}", tuple(genotype))
        self.plants[plant.id] = plant
        return plant

    def _table(self):
        return "\n".join(f"{p.id}: {' '.join(phenotype(p))}" for p in self.plants.values())

    def _offspring(self, a, b):
        child = []
        for pa, pb in zip(a.genotype, b.genotype):
            child.append(normalise(self.rng.choice(pa) + self.rng.choice(pb)))
        return child

    def _punnett(self, a, b, gene=0):
        return Counter(normalise(x + y) for x, y in product(a.genotype[gene], b.genotype[gene]))

    def _match(self, plant):
        return sum(x == y for x, y in zip(phenotype(plant), self.target)) / len(GENES)

    def _is_pure(self, plant):
        return all(pair[0] == pair[1] for pair in plant.genotype)

    def step(self, action):
        words = action.split()
        cmd, ids = words[0], words[1:]
        missing = [i for i in ids if i not in self.plants]
        if missing:
            return f"No such plant: {', '.join(missing)}", -0.1, False, False, {}
        if cmd == "cross" and len(ids) == 2:
            a, b = (self.plants[i] for i in ids)
            best = max(self._match(p) for p in self.plants.values())
            kids = [self._add(self._offspring(a, b)) for _ in range(2)]
            self.crosses += 1
            gain = max(0, max(self._match(k) for k in kids) - best)
            text = "Offspring: " + "; ".join(f"{k.id} {' '.join(phenotype(k))}" for k in kids)
            text += f"\nHeight Punnett square: {dict(self._punnett(a, b))}"
            return text, gain - 0.05, False, self.crosses >= self.MAX_CROSSES, {}
        if cmd == "select" and len(ids) == 1:
            keep = ids[0]
            self.plants[keep] = self.plants.pop(keep)
            return f"{keep} moved to the greenhouse.\n" + self._table(), 0.0, False, False, {}
        if cmd == "submit" and len(ids) == 1:
            plant = self.plants[ids[0]]
            score = self._match(plant) * (1.0 if self._is_pure(plant) else 0.5)
            return f"Genotype {' '.join(plant.genotype)}. Score {score:.2f}", score, True, False, {"pure": self._is_pure(plant)}
        if cmd == "view":
            return self._table(), 0.0, False, False, {}
        return "Unknown command.", -0.1, False, False, {}

# seed: 22
# actions: ["transcribe AUGC", "sequence", "complement", "orf", "translate 1", "translate 2", "translate 3", "answer M", "gc 0.5", "bad"]
# expect_total: -1.05 after 10 steps
"""Molecular biology quiz environment."""
import random
import itertools

BASES = "TCAG"
CODONS = ["".join(c) for c in itertools.product(BASES, repeat=3)]
AMINO = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
TABLE = dict(zip(CODONS, AMINO))
COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}


def translate(dna):
    protein = []
    for i in range(0, len(dna) - 2, 3):
        aa = TABLE[dna[i:i + 3]]
        if aa == "*":
            break
        protein.append(aa)
    return "".join(protein)


def longest_orf(dna):
    best = ""
    for frame in range(3):
        for i in range(frame, len(dna) - 2, 3):
            if dna[i:i + 3] == "ATG":
                p = translate(dna[i:])
                if len(p) > len(best):
                    best = p
    return best


class DNAEnv:
    """Stages: transcribe -> complement -> gc content -> longest ORF."""

    stages = ["transcribe", "complement", "gc", "answer"]

    def reset(self, seed=None):
        rnd = random.Random(seed)
        body = "".join(rnd.choice(BASES) for _ in range(24))
        pos = rnd.randrange(0, 9)
        self.dna = body[:pos] + "ATG" + body[pos:]
        self.stage = 0
        self.mistakes = 0
        return self._prompt()

    def _prompt(self):
        prompts = {
            "transcribe": "Give the mRNA of the coding strand: 'transcribe <RNA>'.",
            "complement": "Give the complement strand: 'complement <DNA>'.",
            "gc": "Give the GC fraction to 2 decimals: 'gc <x>'.",
            "answer": "Give the protein of the longest ORF: 'answer <PROTEIN>'.",
        }
        return "5'-" + self.dna + "-3'\n" + prompts[self.stages[self.stage]]

    def solution(self):
        name = self.stages[self.stage]
        if name == "transcribe":
            return self.dna.replace("T", "U")
        elif name == "complement":
            return "".join(COMPLEMENT[b] for b in self.dna)
        elif name == "gc":
            return "%.2f" % (sum(b in "GC" for b in self.dna) / len(self.dna))
        return longest_orf(self.dna)

    def step(self, action):
        parts = action.split(maxsplit=1)
        cmd = parts[0]
        arg = parts[1] if len(parts) > 1 else ""
        if cmd == "sequence":
            return self._prompt(), 0.0, False, {}
        if cmd == "translate" and arg in ("1", "2", "3"):
            return translate(self.dna[int(arg) - 1:]) or "(stop)", -0.05, False, {}
        if cmd == "orf":
            return "Frames: " + str([translate(self.dna[f:]) for f in range(3)]), -0.3, False, {}
        if cmd != self.stages[self.stage]:
            return "Expected command: " + self.stages[self.stage], -0.1, False, {}
        if arg.upper() == self.solution():
            self.stage += 1
            if self.stage == len(self.stages):
                return "All stages complete!", 2.0, True, {}
            return self._prompt(), 1.0, False, {}
        self.mistakes += 1
        match = sum(a == b for a, b in zip(arg, self.solution()))
        if self.mistakes > 2:
            sol = self.solution()
            self.mistakes = 0
            self.stage += 1
            done = self.stage == len(self.stages)
            return f"Moving on. It was {sol}.", -0.5, done, {}
        return f"Wrong ({match} positions match).", -0.2, False, {"match": match}

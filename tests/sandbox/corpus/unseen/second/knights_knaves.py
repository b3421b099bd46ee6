# seed: 2
# actions: ["ask A B", "ask B C", "ask Z A", "accuse A knight B knave C knight", "accuse A knave B knave C knight"]
# expect_total: -0.30000000000000004 after 5 steps
"""
Knights and Knaves.

Design notes
------------
* Every islander is either a knight (always tells the truth) or a knave (always lies).
* The agent may ask X about Y. X answers "Y is a knight" or "Y is a knave".
    - If X is a knight the answer equals the real type of Y.
    - If X is a knave the answer is the opposite.
  So the answer is simply  (type(X) == type(Y)) -> "knight".   <- nice XOR identity
* Because only relative information is available from such questions, we also give
  one counting statement for free at the beginning, which breaks the symmetry.
"""
import random
from typing import Dict, List, Tuple


class KnightsAndKnavesEnv:
    def __init__(self, n: int = 3, max_questions: int = 4):
        # We keep n small. With n = 3 there are 8 worlds.
        self.n = n
        self.max_questions = max_questions
        self.names: List[str] = [chr(ord("A") + i) for i in range(n)]
        self.types: Dict[str, bool] = {}
        self.transcript: List[str] = []
        self.questions = 0
        self.guesses = 0

    def reset(self, seed: int = 0) -> str:
        rng = random.Random(seed)
        self.types = {name: rng.random() < 0.5 for name in self.names}
        # Avoid the degenerate worlds where everybody is the same: re-draw one of them.
        if len(set(self.types.values())) == 1:
            flip = rng.choice(self.names)
            self.types[flip] = not self.types[flip]
        self.questions = 0
        self.guesses = 0
        k = sum(self.types.values())
        self.transcript = [f"An oracle says: exactly {k} of you {'is' if k == 1 else 'are'} knights."]
        return self._view()

    def _view(self) -> str:
        head = "Islanders: " + ", ".join(self.names)
        left = self.max_questions - self.questions
        return "\n".join([head, *self.transcript, f"Questions left: {left}"])

    def _answer(self, x: str, y: str) -> bool:
        # knight says truth; knave negates it
        truth = self.types[y]
        return truth if self.types[x] else not truth

    def step(self, action: str) -> Tuple[str, float, bool, dict]:
        tokens = action.strip().split()
        # --- question -----------------------------------------------------
        if len(tokens) == 3 and tokens[0] == "ask":
            x, y = tokens[1].upper(), tokens[2].upper()
            if x not in self.types or y not in self.types:
                return self._view(), -0.2, False, {"error": "unknown islander"}
            if self.questions >= self.max_questions:
                self.transcript.append("You may not ask any more.")
                return self._view(), -0.5, False, {}
            self.questions += 1
            says = "knight" if self._answer(x, y) else "knave"
            self.transcript.append(f'{x} says: "{y} is a {says}."')
            return self._view(), -0.05, False, {}
        # --- accusation ---------------------------------------------------
        if tokens and tokens[0] == "accuse":
            pairs = dict(zip(tokens[1::2], tokens[2::2]))
            if set(pairs) != set(self.names):
                return self._view(), -0.2, False, {"error": "name every islander"}
            self.guesses += 1
            correct = all((pairs[k] == "knight") == v for k, v in self.types.items())
            if correct:
                self.transcript.append("Right! The gate opens.")
                return self._view(), 1.0 / self.guesses, True, {"success": True}
            self.transcript.append("Wrong. The gate stays shut.")
            # Two wrong guesses end the episode.
            return self._view(), -0.5, self.guesses >= 2, {"success": False}
        return self._view(), -0.2, False, {"error": "bad action"}

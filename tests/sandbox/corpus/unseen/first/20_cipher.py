# seed: 40
# actions: ["freq", "try 3", "try 7", "try 11", "hint", "try 19", "solve the stars are bright tonight", "try 5", "try 13"]
# expect_total: -0.933333333 after 9 steps
"""Caesar / Vigenere / Atbash cryptanalysis environment."""
import random
import string
from collections import Counter

SENTENCES = [
    "the stars are bright tonight",
    "meet me at the old bridge",
    "knowledge is the only treasure",
    "winter is coming to the valley",
    "follow the river to the sea",
]
KEYS = ["lemon", "tiger", "cloud"]


def caesar(text: str, k: int) -> str:
    shifted = string.ascii_lowercase[k % 26:] + string.ascii_lowercase[:k % 26]
    return text.translate(str.maketrans(string.ascii_lowercase, shifted))


def vigenere(text: str, key: str, sign: int = 1) -> str:
    out, i = [], 0
    for ch in text:
        if ch in string.ascii_lowercase:
            k = ord(key[i % len(key)]) - ord("a")
            out.append(chr((ord(ch) - ord("a") + sign * k) % 26 + ord("a")))
            i += 1
        else:
            out.append(ch)
    return "".join(out)


def atbash(text: str) -> str:
    return text.translate(str.maketrans(string.ascii_lowercase, string.ascii_lowercase[::-1]))


class CipherEnv:
    def __init__(self, max_steps: int = 12):
        self.max_steps = max_steps

    def reset(self, seed: int = None):
        self.rng = random.Random(seed)
        self.plain = self.rng.choice(SENTENCES)
        self.kind = self.rng.choices(["caesar", "vigenere", "atbash"], weights=[3, 2, 1])[0]
        if self.kind == "caesar":
            self.cipher = caesar(self.plain, self.rng.randint(1, 25))
        elif self.kind == "vigenere":
            self.cipher = vigenere(self.plain, self.rng.choice(KEYS))
        else:
            self.cipher = atbash(self.plain)
        self.steps = 0
        self.hints = 0
        return f"Ciphertext: {self.cipher}\nCommands: freq, try SHIFT, key WORD, mirror, hint, solve PLAINTEXT"

    def step(self, action: str):
        self.steps += 1
        done = self.steps >= self.max_steps
        cmd, _, arg = action.partition(" ")
        if cmd == "freq":
            top = Counter(c for c in self.cipher if c.isalpha()).most_common(5)
            return "Most common: " + ", ".join(f"{c}={n}" for c, n in top), 0.0, done, {}
        if cmd == "try" and arg.isdigit():
            return "Decoded: " + caesar(self.cipher, -int(arg)), -0.05, done, {}
        if cmd == "key" and arg.isalpha():
            return "Decoded: " + vigenere(self.cipher, arg.lower(), -1), -0.05, done, {}
        if cmd == "mirror":
            return "Decoded: " + atbash(self.cipher), -0.05, done, {}
        if cmd == "hint":
            self.hints += 1
            text = self.kind if self.hints == 1 else self.plain[: self.hints * 3] + "..."
            return f"Hint: {text}", -0.2, done, {}
        if cmd == "solve":
            same = sum(a == b for a, b in zip(arg, self.plain)) / max(len(arg), len(self.plain))
            if same == 1.0:
                return "Solved!", 1.0, True, {}
            return f"Not right ({same:.0%} of characters match).", same - 0.5, done, {}
        return "Unknown command.", -0.1, done, {}

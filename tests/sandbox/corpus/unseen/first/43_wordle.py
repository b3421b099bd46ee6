# seed: 60
# actions: ["crane", "slate", "abc", "zzzzz", "light", "pound", "brick", "stone", "flame"]
# expect_total: 1.3 after 5 steps
import random

WORDS = """
about actor baker beach brick chair cloud crane dance eagle flame fruit ghost grape
heart honey joker knife lemon light maple music night ocean olive paint pearl plant
pound queen quiet river robot slate smile snake stone storm sugar table tiger train
uncle voice water whale wheat world youth zebra
""".split()


class WordleEnv:
    """A Wordle environment for language models.

    Observations are strings. The agent's action is a five letter word. Feedback
    is given per letter:
        G = right letter in the right place
        Y = letter is in the word, wrong place
        - = letter is not in the word
    """

    def __init__(self, max_attempts: int = 6, hard_mode: bool = False):
        self.max_attempts = max_attempts
        self.hard_mode = hard_mode
        self.word_list = sorted(set(WORDS))

    def reset(self, seed=None, **kwargs):
        self.random = random.Random(seed)
        self.secret = self.random.choice(self.word_list)
        self.attempts = []
        self.best = 0
        self.done = False
        return f"Guess the secret five-letter word! You have {self.max_attempts} attempts.", {}

    def _feedback(self, guess: str) -> str:
        result = ["-"] * 5
        remaining = {}
        for i, (g, s) in enumerate(zip(guess, self.secret)):
            if g == s:
                result[i] = "G"
            else:
                remaining[s] = remaining.get(s, 0) + 1
        for i, g in enumerate(guess):
            if result[i] == "-" and remaining.get(g, 0) > 0:
                result[i] = "Y"
                remaining[g] -= 1
        return "".join(result)

    def step(self, action: str):
        if self.done:
            raise RuntimeError("Episode has ended, call reset().")
        guess = action.strip().lower()
        if len(guess) != 5 or not guess.isalpha():
            return "Your guess must have exactly five letters.", -0.1, False, False, {"valid": False}
        if guess not in self.word_list:
            return f"'{guess}' is not in the word list.", -0.1, False, False, {"valid": False}
        fb = self._feedback(guess)
        self.attempts.append((guess, fb))
        score = fb.count("G") * 2 + fb.count("Y")
        reward = max(0, score - self.best) * 0.05
        self.best = max(self.best, score)
        terminated = guess == self.secret
        truncated = not terminated and len(self.attempts) >= self.max_attempts
        self.done = terminated or truncated
        lines = [f"{w.upper()}  {f}" for w, f in self.attempts]
        if terminated:
            reward += 1.0
            lines.append(f"You win in {len(self.attempts)}!")
        elif truncated:
            lines.append(f"You lose. The word was {self.secret.upper()}.")
        return "\n".join(lines), reward, terminated, truncated, {"valid": True}

# seed: 29
# actions: ["rockets", "rocket", "HINT", "friend", "skip", "platen", "shuffle", "planet", "pencil"]
# expect_total: 2.466666666666667 after 9 steps
import gymnasium as gym
from gymnasium.spaces import Text
from collections import Counter
import string

WORDS = ["planet", "garden", "silent", "stream", "bottle", "castle", "friend", "orange", "pencil", "rocket"]


class AnagramEnv(gym.Env):
    def __init__(self, rounds: int = 5, max_attempts: int = 3):
        self.rounds = rounds
        self.max_attempts = max_attempts
        charset = string.ascii_letters + string.digits + string.punctuation + " \n"
        self.observation_space = Text(min_length=0, max_length=256, charset=charset)
        self.action_space = Text(min_length=1, max_length=16, charset=string.ascii_letters)

    def _scramble(self, word: str) -> str:
        letters = list(word)
        while "".join(letters) == word:
            self.np_random.shuffle(letters)
        return "".join(letters)

    def _next_word(self):
        self.word = str(self.np_random.choice(WORDS))
        self.letters = self._scramble(self.word)
        self.attempts = 0
        self.revealed = 0

    def _obs(self, message=""):
        hint = self.word[: self.revealed] + "_" * (len(self.word) - self.revealed)
        return f"{message}\nRound {self.round}/{self.rounds}\nLetters: {' '.join(self.letters)}\nHint: {hint}".strip()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.round = 1
        self.solved = 0
        self._next_word()
        return self._obs("Unscramble the letters!"), {}

    def _advance(self):
        self.round += 1
        if self.round > self.rounds:
            self.round = self.rounds
            return True
        self._next_word()
        return False

    def step(self, action):
        guess = action.strip().lower()
        terminated = False
        if guess == "hint":
            self.revealed = min(self.revealed + 1, len(self.word))
            return self._obs("Here is a letter."), -0.2, False, False, {}
        if guess == "shuffle":
            self.letters = self._scramble(self.word)
            return self._obs("Shuffled."), 0.0, False, False, {}
        if guess == "skip":
            terminated = self._advance()
            return self._obs("Skipped."), -0.5, terminated, False, {"solved": self.solved}
        self.attempts += 1
        overlap = Counter(guess) & Counter(self.word)
        if guess == self.word:
            reward = 1.0 - 0.1 * self.revealed
            self.solved += 1
            message = "Correct!"
            terminated = self._advance()
        elif Counter(guess) == Counter(self.word):
            reward, message = 0.3, "An anagram, but not the word I am thinking of."
        else:
            reward = -0.1 * (1 - sum(overlap.values()) / len(self.word))
            message = f"No. {sum(overlap.values())} letters in common."
            if self.attempts >= self.max_attempts:
                message += f" It was '{self.word}'."
                terminated = self._advance()
        return self._obs(message), reward, terminated, False, {"solved": self.solved}

# seed: 23
# actions: ["RGBY", "RRGG", "BYOP", "XXXX", "OPRG", "YBGR", "GOBY", "PPOO"]
# expect_total: 0.75 after 8 steps
import random
from typing import List, Tuple


class Env:
    """
    Mastermind. Guess the secret code of 4 colors.

    Colors: R, G, B, Y, O, P
    Action: a string such as "RGBY"
    Observation: history of guesses with black and white pegs
    Reward: 0.1 * black + 0.05 * white per guess, +1 if solved
    """

    COLORS = "RGBYOP"

    def __init__(self, code_length: int = 4, max_guesses: int = 8):
        self.code_length = code_length
        self.max_guesses = max_guesses
        self.code: List[str] = []
        self.history: List[Tuple[str, int, int]] = []

    def reset(self, seed: int = None) -> str:
        random.seed(seed)
        self.code = [random.choice(self.COLORS) for _ in range(self.code_length)]
        self.history = []
        return self.render()

    def feedback(self, guess: str) -> Tuple[int, int]:
        black = sum(1 for g, c in zip(guess, self.code) if g == c)
        common = sum(min(guess.count(color), self.code.count(color)) for color in self.COLORS)
        return black, common - black

    def step(self, action: str):
        guess = action.strip().upper()
        if len(guess) != self.code_length or any(ch not in self.COLORS for ch in guess):
            return self.render() + "\nInvalid guess!", -0.1, False, {"valid": False}

        black, white = self.feedback(guess)
        self.history.append((guess, black, white))
        solved = black == self.code_length
        done = solved or len(self.history) >= self.max_guesses
        reward = 0.1 * black + 0.05 * white
        if solved:
            reward += 1.0
        obs = self.render()
        if done and not solved:
            obs += f"\nGame over. The code was {''.join(self.code)}."
        return obs, reward, done, {"valid": True, "solved": solved}

    def render(self) -> str:
        lines = [f"Mastermind: {self.code_length} colors out of {', '.join(self.COLORS)}"]
        for i, (guess, black, white) in enumerate(self.history):
            lines.append(f"{i + 1}. {guess} | black: {black} white: {white}")
        lines.append(f"Guesses left: {self.max_guesses - len(self.history)}")
        return "\n".join(lines)


if __name__ == "__main__":
    env = Env()
    obs = env.reset(seed=42)
    print(obs)
    done = False
    while not done:
        action = "".join(random.choices(Env.COLORS, k=4))
        obs, reward, done, info = env.step(action)
        print(obs, reward, info)

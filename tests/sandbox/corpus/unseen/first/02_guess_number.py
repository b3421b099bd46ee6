# seed: 5
# actions: ["50", "25", "12", "abc", "18", "15", "16", "17", "19", "20", "30", "40"]
# expect_total: -1.9 after 10 steps
import random

class GuessNumberEnv:
    def __init__(self):
        self.low = 1
        self.high = 100
        self.number = None
        self.tries = 0
        self.max_tries = 10
        self.done = False

    def reset(self, seed=None):
        random.seed(seed)
        self.number = random.randint(self.low, self.high)
        self.tries = 0
        self.done = False
        return "Guess a number between 1 and 100."

    def step(self, action):
        if self.done:
            return "Game is over. Please reset.", 0, True, {}
        self.tries = self.tries + 1
        try:
            guess = int(action)
        except ValueError:
            return "Please enter a valid number.", -1, False, {"tries": self.tries}
        if guess == self.number:
            reward = 10 - self.tries
            self.done = True
            obs = "Correct! You guessed the number in " + str(self.tries) + " tries."
        elif guess < self.number:
            reward = -0.1
            obs = "Too low!"
        else:
            reward = -0.1
            obs = "Too high!"
        if self.tries >= self.max_tries and not self.done:
            self.done = True
            obs = "You lost! The number was %d." % self.number
        return obs, reward, self.done, {"tries": self.tries}

    def render(self):
        print("Tries:", self.tries)


if __name__ == "__main__":
    env = GuessNumberEnv()
    obs = env.reset(seed=42)
    print(obs)
    done = False
    while not done:
        action = input("> ")
        obs, reward, done, info = env.step(action)
        print(obs, reward)

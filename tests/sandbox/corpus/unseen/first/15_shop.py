# seed: 2
# actions: ["buy apple 3", "sell apple 1", "wait", "buy bread 5", "sell bread 5", "dance", "wait", "sell apple 2", "buy fish 100", "wait", "wait", "wait"]
# expect_total: 9.0 after 12 steps
import random

class Env:
    def __init__(self):
        self.items = ["apple", "bread", "fish"]
        self.reset()

    def reset(self, seed=0):
        random.seed(seed)
        self.money = 20
        self.day = 1
        self.inventory = {}
        for item in self.items:
            self.inventory[item] = 0
        self.prices = {}
        self.new_prices()
        return self.get_obs()

    def new_prices(self):
        for item in self.items:
            self.prices[item] = random.randint(1, 10)

    def get_obs(self):
        obs = "Day %d. Money: %d. " % (self.day, self.money)
        for item in self.items:
            obs += "%s costs %d (you have %d). " % (item, self.prices[item], self.inventory[item])
        return obs

    def step(self, action):
        reward = 0
        done = False
        words = action.split(" ")
        if words[0] == "buy" and len(words) == 3:
            item = words[1]
            n = int(words[2])
            if item in self.prices and self.prices[item] * n <= self.money:
                self.money -= self.prices[item] * n
                self.inventory[item] += n
            else:
                reward = -1
        elif words[0] == "sell" and len(words) == 3:
            item = words[1]
            n = int(words[2])
            if item in self.inventory and self.inventory[item] >= n:
                self.money += self.prices[item] * n
                self.inventory[item] -= n
                reward = 1
            else:
                reward = -1
        elif words[0] == "wait":
            self.day += 1
            self.new_prices()
        else:
            reward = -1
        if self.day > 5:
            done = True
            reward = reward + self.money - 20
        return self.get_obs(), reward, done, {}

# seed: 14
# actions: ["silent", "listen", "skip", "earth", "heart", "skip", "stone", "notes", "ocean"]
# expect_total: -5.5 after 9 steps
import random

class AnagramGame():
    """simple anagram game"""
    def __init__(self):
        self.words = ["listen", "earth", "stone", "ocean", "planet", "garden", "bread", "night"]
        self.current = ""
        self.scrambled = ""
        self.score = 0
        self.round = 0
        self.used = []

    def scramble(self, word):
        letters = list(word)
        while True:
            random.shuffle(letters)
            if "".join(letters) != word:
                return "".join(letters)

    def next_word(self):
        choices = [w for w in self.words if not w in self.used]
        self.current = random.choice(choices)
        self.used.append(self.current)
        self.scrambled = self.scramble(self.current)
        self.round += 1

    def get_observation(self):
        return {"scrambled": self.scrambled, "length": len(self.current), "round": self.round, "score": self.score}

    def reset(self, seed=None):
        random.seed(seed)
        self.score = 0
        self.round = 0
        self.used = []
        self.next_word()
        return self.get_observation()

    def step(self, action):
        action = action.lower()
        info = {}
        if action == "skip":
            reward = -1
            info["answer"] = self.current
        elif action == self.current:
            reward = len(self.current)
            self.score += reward
        elif sorted(action) == sorted(self.current):
            reward = 1
            info["msg"] = "valid anagram but not the word"
            return self.get_observation(), reward, False, info
        else:
            reward = -0.5
            return self.get_observation(), reward, False, info
        if self.round >= 4:
            return self.get_observation(), reward, True, info
        self.next_word()
        return self.get_observation(), reward, False, info


if __name__ == "__main__":
    game = AnagramGame()
    print(game.reset(1))
    print(game.step("skip"))

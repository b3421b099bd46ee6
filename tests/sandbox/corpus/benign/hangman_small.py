# seed: 9
# actions: ["e", "a", "z", "r", "e", "hello", "n", "t", "o", "i"]
# expect_total: -0.15 after 10 steps
import random

# list of words for the game
words = ["python", "garden", "orange", "planet", "winter", "rocket"]

# global variables
total_games = 0
total_wrong = 0


class HangmanGame:
    """This is a hangman game environment."""

    def __init__(self):
        # initialize variables
        self.word = ""
        self.guessed = []
        self.lives = 6
        self.done = False

    def reset(self, seed=None):
        global total_games
        # set the seed
        if seed is not None:
            random.seed(seed)
        total_games += 1
        self.word = random.choice(words)
        self.guessed = []
        self.lives = 6
        self.done = False
        return self.get_state()

    def get_state(self):
        # build the word with underscores
        result = ""
        for letter in self.word:
            if letter in self.guessed:
                result = result + letter + " "
            else:
                result = result + "_ "
        return "Word: " + result.strip() + " | Lives: " + str(self.lives) + " | Guessed: " + ", ".join(sorted(self.guessed))

    def step(self, action):
        global total_wrong
        # check if game is over
        if self.done == True:
            return self.get_state(), 0, True, {}
        action = str(action).lower().strip()
        # check if the action is valid
        if len(action) != 1 or not action.isalpha():
            print("Invalid guess:", action)
            return "Invalid action. " + self.get_state(), -0.1, False, {"valid": False}
        # check if already guessed
        if action in self.guessed:
            return "You already guessed that. " + self.get_state(), -0.05, False, {"valid": True}
        self.guessed.append(action)
        reward = 0
        if action in self.word:
            # correct guess
            count = 0
            for i in range(len(self.word)):
                if self.word[i] == action:
                    count += 1
            reward = 0.1 * count
        else:
            # wrong guess
            self.lives -= 1
            total_wrong += 1
            reward = -0.1
        # check win
        win = True
        for letter in self.word:
            if letter not in self.guessed:
                win = False
                break
        if win == True:
            reward = reward + 1
            self.done = True
        elif self.lives <= 0:
            reward = reward - 1
            self.done = True
        info = {"valid": True, "games": total_games, "wrong": total_wrong}
        return self.get_state(), reward, self.done, info


# test the game
if __name__ == "__main__":
    game = HangmanGame()
    state = game.reset(1)
    print(state)
    while not game.done:
        guess = input("Guess: ")
        state, reward, done, info = game.step(guess)
        print(state, reward)

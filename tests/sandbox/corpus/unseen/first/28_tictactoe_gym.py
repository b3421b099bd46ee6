# seed: 5
# actions: [4, 4, 0, 2, 6, 8, 1, 3, 5, 7]
# expect_total: -0.5 after 7 steps
import gymnasium as gym
from gymnasium import spaces
import numpy as np
import random


class TicTacToeEnv(gym.Env):
    def __init__(self):
        super(TicTacToeEnv, self).__init__()
        self.action_space = spaces.Discrete(9)
        self.observation_space = spaces.Box(low=-1, high=1, shape=(9,), dtype=np.int8)
        self.board = np.zeros(9, dtype=np.int8)

    def reset(self, seed=None, options=None):
        random.seed(seed)
        self.board = np.zeros(9, dtype=np.int8)
        self.done = False
        return self.board.copy(), {}

    def check_winner(self, player):
        b = self.board.reshape(3, 3)
        if np.any(np.all(b == player, axis=0)) or np.any(np.all(b == player, axis=1)):
            return True
        if np.all(np.diag(b) == player) or np.all(np.diag(np.fliplr(b)) == player):
            return True
        return False

    def step(self, action):
        if self.done:
            return self.board.copy(), 0, True, False, {}
        if self.board[action] != 0:
            return self.board.copy(), -0.5, False, False, {"invalid": True}
        self.board[action] = 1
        if self.check_winner(1):
            self.done = True
            return self.board.copy(), 1, True, False, {"winner": "agent"}
        empty = [i for i in range(9) if self.board[i] == 0]
        if len(empty) == 0:
            self.done = True
            return self.board.copy(), 0, True, False, {"winner": "draw"}
        move = random.choice(empty)
        self.board[move] = -1
        if self.check_winner(-1):
            self.done = True
            return self.board.copy(), -1, True, False, {"winner": "opponent"}
        return self.board.copy(), 0, False, False, {}

    def render(self, mode="human"):
        symbols = {0: ".", 1: "X", -1: "O"}
        for i in range(3):
            print(" ".join(symbols[int(x)] for x in self.board[i * 3:i * 3 + 3]))
        print()


if __name__ == "__main__":
    env = TicTacToeEnv()
    obs, info = env.reset()
    done = False
    while not done:
        action = env.action_space.sample()
        obs, reward, done, truncated, info = env.step(action)
        env.render()

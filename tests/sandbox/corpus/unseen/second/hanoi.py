# seed: 0
# actions: ["A B", "A C", "B C", "A B", "C A", "C B", "A B", "C A", "C B", "A C", "B C", "B -> A", "C A", "B C", "A B", "A C", "B C"]
# expect_total: 8.283529411764707 after 17 steps
import gymnasium as gym


class TowerOfHanoiEnv(gym.Env):
    """Tower of Hanoi. Action: 'A C' moves the top disk of peg A to peg C."""

    def __init__(self, num_disks=None, max_steps=50):
        super().__init__()
        self.fixed_disks = num_disks
        self.max_steps = max_steps
        self.action_space = gym.spaces.Text(max_length=10)
        self.observation_space = gym.spaces.Text(max_length=500)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        if self.fixed_disks is not None:
            self.num_disks = self.fixed_disks
        else:
            self.num_disks = int(self.np_random.integers(3, 5))
        self.pegs = {"A": list(range(self.num_disks, 0, -1)), "B": [], "C": []}
        self.step_count = 0
        self.optimal = 2 ** self.num_disks - 1
        return self._get_obs(), self._get_info()

    def _get_obs(self):
        text = "Tower of Hanoi. Move all disks to peg C.\n"
        for name, disks in self.pegs.items():
            text += f"{name}: {disks}\n"
        text += f"Moves: {self.step_count} (optimal {self.optimal})"
        return text

    def _get_info(self):
        return {"steps": self.step_count, "on_target": len(self.pegs["C"])}

    def _parse(self, action):
        letters = [ch for ch in action.upper() if ch in "ABC"]
        if len(letters) != 2:
            raise ValueError("Use two peg names, for example 'A C'")
        return letters[0], letters[1]

    def step(self, action):
        self.step_count += 1
        truncated = self.step_count >= self.max_steps
        try:
            src, dst = self._parse(action)
        except ValueError as e:
            return f"{e}\n{self._get_obs()}", -0.5, False, truncated, self._get_info()

        if not self.pegs[src]:
            return f"Peg {src} is empty.\n" + self._get_obs(), -0.2, False, truncated, self._get_info()
        disk = self.pegs[src][-1]
        if self.pegs[dst] and self.pegs[dst][-1] < disk:
            return "Illegal move: a larger disk on a smaller one.\n" + self._get_obs(), -0.2, False, truncated, self._get_info()

        self.pegs[src].pop()
        self.pegs[dst].append(disk)
        terminated = len(self.pegs["C"]) == self.num_disks
        reward = -0.01
        if terminated:
            reward = 10.0 * self.optimal / max(self.step_count, self.optimal)
        return self._get_obs(), reward, terminated, truncated, self._get_info()

    def render(self):
        print(self._get_obs())

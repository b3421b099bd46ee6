# seed: 14
# actions: [0, 2, 4, 5, 7, 7, 11, 12, 9, 7, 4, 2, 0]
# expect_total: 5.0 after 12 steps
"""Melody completion: choose the next note so that it fits scale and chord."""
from typing import Any, Optional

import gymnasium as gym
from gymnasium import spaces

NOTE_NAMES = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]
SCALES = {
    "major": (0, 2, 4, 5, 7, 9, 11),
    "natural minor": (0, 2, 3, 5, 7, 8, 10),
    "dorian": (0, 2, 3, 5, 7, 9, 10),
}
PROGRESSIONS = [(0, 3, 4, 0), (0, 5, 3, 4), (1, 4, 0, 0)]


class MelodyEnv(gym.Env):
    metadata = {"render_modes": ["ansi"]}

    def __init__(self, render_mode: Optional[str] = None) -> None:
        super().__init__()
        self.action_space = spaces.Discrete(13)
        self.observation_space = spaces.Text(max_length=256)
        self.render_mode = render_mode

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None):
        super().reset(seed=seed)
        self.root = int(self.np_random.integers(12))
        names = list(SCALES)
        self.scale_name = names[self.np_random.integers(len(names))]
        self.scale = SCALES[self.scale_name]
        self.progression = PROGRESSIONS[int(self.np_random.choice(len(PROGRESSIONS)))]
        self.melody: list[int] = []
        return self._obs(), {"root": NOTE_NAMES[self.root]}

    @property
    def chord(self) -> set[int]:
        degree = self.progression[len(self.melody) // 3 % 4]
        return {self.scale[(degree + k) % 7] for k in (0, 2, 4)}

    def _obs(self) -> str:
        notes = " ".join(NOTE_NAMES[(self.root + n) % 12] for n in self.melody) or "-"
        chord = "/".join(NOTE_NAMES[(self.root + n) % 12] for n in sorted(self.chord))
        return f"Key: {NOTE_NAMES[self.root]} {self.scale_name}. Chord: {chord}. Melody: {notes}"

    def step(self, action):
        note = int(action)
        pc = note % 12
        reward = 0.0
        if pc in self.chord:
            reward += 1.0
        elif pc in self.scale:
            reward += 0.4
        else:
            reward -= 0.5
        if self.melody:
            leap = abs(note - self.melody[-1])
            if leap > 7:
                reward -= 0.3
            elif leap == 0:
                reward -= 0.1
        self.melody.append(note)
        terminated = len(self.melody) == 12
        if terminated and pc == 0:
            reward += 2.0  # ends on the tonic
        return self._obs(), reward, terminated, False, {"intervals": [b - a for a, b in zip(self.melody, self.melody[1:])]}

    def render(self):
        if self.render_mode == "ansi":
            return self._obs()

# seed: 22
# actions: ["1A OCEAN", "letter 0 0", "1A ROBOT", "hint 2D", "1D RAVEN", "xx", "2D TRAIN", "1D RIVER", "check"]
# expect_total: 4.4 after 8 steps
import random

WORDS = {
    "TIGER": "Striped big cat",
    "TRAIN": "It runs on rails",
    "RAVEN": "Black bird of Poe",
    "STONE": "Small rock",
    "SUGAR": "Sweet crystals",
    "ROBOT": "Mechanical worker",
    "RIVER": "Flows to the sea",
    "TOWER": "Tall building",
    "RULER": "King or measuring tool",
}


class Slot:
    def __init__(self, label, row, col, direction, word):
        self.label = label
        self.row = row
        self.col = col
        self.direction = direction
        self.word = word

    def cells(self):
        for i in range(len(self.word)):
            if self.direction == "A":
                yield (self.row, self.col + i)
            else:
                yield (self.row + i, self.col)


class CrosswordEnv:
    SIZE = 5

    def reset(self, seed=None):
        rng = random.Random(seed)
        words = list(WORDS)
        while True:
            rng.shuffle(words)
            across = words[0]
            down1 = next((w for w in words[1:] if w[0] == across[0]), None)
            down2 = next((w for w in words[1:] if w[0] == across[-1] and w != down1), None)
            if down1 and down2:
                break
        self.slots = {
            "1A": Slot("1A", 0, 0, "A", across),
            "1D": Slot("1D", 0, 0, "D", down1),
            "2D": Slot("2D", 0, self.SIZE - 1, "D", down2),
        }
        self.black = {(r, c) for r in range(1, self.SIZE) for c in range(1, self.SIZE - 1)}
        self.grid = {}
        self.hints = 0
        self.turns = 0
        return self.render()

    def render(self):
        lines = []
        for r in range(self.SIZE):
            line = ""
            for c in range(self.SIZE):
                line += "#" if (r, c) in self.black else self.grid.get((r, c), "_")
            lines.append(line)
        clues = [f"{s.label}: {WORDS[s.word]} ({len(s.word)})" for s in self.slots.values()]
        return "\n".join(lines) + "\n" + "\n".join(clues)

    def solved(self):
        return all(self.grid.get(cell) == ch for s in self.slots.values() for cell, ch in zip(s.cells(), s.word))

    def step(self, action):
        self.turns += 1
        parts = action.upper().split()
        reward, msg = -0.05, ""
        if len(parts) == 2 and parts[0] in self.slots:
            slot = self.slots[parts[0]]
            guess = parts[1]
            if len(guess) != len(slot.word):
                msg = "Wrong length."
            else:
                for cell, ch in zip(slot.cells(), guess):
                    self.grid[cell] = ch
                matches = sum(a == b for a, b in zip(guess, slot.word))
                reward = 1.0 if guess == slot.word else 0.1 * matches - 0.3
                msg = f"{matches} letters fit."
        elif len(parts) == 2 and parts[0] == "HINT" and parts[1] in self.slots:
            slot = self.slots[parts[1]]
            for cell, ch in zip(slot.cells(), slot.word):
                if self.grid.get(cell) != ch:
                    self.grid[cell] = ch
                    break
            self.hints += 1
            reward = -0.2
        elif parts[:1] == ["LETTER"] and len(parts) == 3:
            pos = tuple(int(x) for x in parts[1:])
            msg = f"Cell {pos} is {self.grid.get(pos, 'empty')}."
        elif parts == ["CHECK"]:
            filled = len(self.grid) / (self.SIZE * 3 - 2)
            msg = f"{filled:.0%} filled."
            reward = 0.0
        else:
            msg = "Use e.g. '1A WORD', 'hint 1D', 'check'."
        done = self.solved()
        if done:
            reward += 2.0
        return (msg + "\n" + self.render()).strip(), reward, done or self.turns >= 15, {"hints": self.hints}

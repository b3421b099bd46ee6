# seed: 11
# actions: ["assign Alice cat", "assign Bob dog", "assign Carol fish", "check", "clear", "assign Alice fish", "assign Bob cat", "assign Carol dog", "assign Dave bird", "check", "solve"]
# expect_total: -0.13000000000000012 after 11 steps
import itertools
import random


class LogicGridEnv:
    """Match each person with the right pet using the clues."""

    PEOPLE = ["Alice", "Bob", "Carol", "Dave"]
    PETS = ["cat", "dog", "fish", "bird"]

    def __init__(self):
        self.solution = {}
        self.assignment = {}
        self.clues = []
        self.steps = 0
        self.done = False

    def reset(self, seed=None):
        if seed is not None:
            random.seed(seed)
        pets = self.PETS[:]
        random.shuffle(pets)
        self.solution = dict(zip(self.PEOPLE, pets))
        self.assignment = {}
        self.steps = 0
        self.done = False
        self.clues = self._make_clues()
        return self._obs("Solve the puzzle. Commands: assign <person> <pet>, clear, check, solve")

    def _consistent(self, clues):
        found = []
        for perm in itertools.permutations(self.PETS):
            cand = dict(zip(self.PEOPLE, perm))
            if all((cand[p] == pet) == truth for p, pet, truth in clues):
                found.append(cand)
        return found

    def _make_clues(self):
        pool = [(p, pet, self.solution[p] == pet) for p in self.PEOPLE for pet in self.PETS]
        negatives = [c for c in pool if not c[2]]
        random.shuffle(negatives)
        clues = []
        for clue in negatives:
            clues.append(clue)
            if len(self._consistent(clues)) == 1:
                break
        return clues

    def _obs(self, msg):
        text = msg + "\n\nClues:\n"
        for i, (p, pet, truth) in enumerate(self.clues, 1):
            text += f"{i}. {p} {'owns' if truth else 'does not own'} the {pet}.\n"
        text += "\nCurrent: " + (", ".join(f"{k}={v}" for k, v in self.assignment.items()) or "nothing yet")
        return text

    def step(self, action):
        self.steps += 1
        reward = -0.01
        parts = action.split()
        if not parts:
            return self._obs("Empty action."), -0.1, self.done, {}
        if parts[0] == "assign" and len(parts) == 3:
            person, pet = parts[1].title(), parts[2].lower()
            if person in self.PEOPLE and pet in self.PETS:
                self.assignment[person] = pet
                msg = f"{person} -> {pet}"
                for p, bad, truth in self.clues:
                    if p == person and bad == pet and not truth:
                        reward -= 0.05
                        msg += " (this breaks a clue!)"
            else:
                msg, reward = "Unknown person or pet.", -0.1
        elif parts[0] == "clear":
            self.assignment.clear()
            msg = "Cleared."
        elif parts[0] == "check":
            right = sum(self.solution[p] == pet for p, pet in self.assignment.items())
            reward = right / len(self.PEOPLE)
            msg = f"You have {right} of {len(self.PEOPLE)} right."
            self.done = right == len(self.PEOPLE)
        elif parts[0] == "solve":
            msg = "You gave up. Answer: " + str(self.solution)
            reward = -1.0
            self.done = True
        else:
            msg, reward = "I don't understand that.", -0.1
        if self.steps >= 20:
            self.done = True
        return self._obs(msg), reward, self.done, {"steps": self.steps}

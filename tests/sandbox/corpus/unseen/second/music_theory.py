# seed: 9
# actions: ["help", "4/3", "minor", "Major Sixth", "5/4", "augmented", "2", "3/2"]
# expect_total: 5.4 after 8 steps
from fractions import Fraction
import random

NOTES = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]
FLATS = {"Db": "C#", "Eb": "D#", "Gb": "F#", "Ab": "G#", "Bb": "A#"}
INTERVALS = {
    3: "minor third",
    4: "major third",
    5: "perfect fourth",
    7: "perfect fifth",
    9: "major sixth",
    12: "octave",
}
RATIOS = {3: Fraction(6, 5), 4: Fraction(5, 4), 5: Fraction(4, 3), 7: Fraction(3, 2), 9: Fraction(5, 3), 12: Fraction(2)}
CHORDS = {"major": (0, 4, 7), "minor": (0, 3, 7), "diminished": (0, 3, 6), "augmented": (0, 4, 8)}


class MusicTheoryEnv:
    """Ear-training without the ear: intervals, chords and just intonation ratios."""

    def __init__(self, num_questions=7):
        self.num_questions = num_questions

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.count = 0
        self.streak = 0
        self._ask()
        return self.prompt

    def _transpose(self, note, semitones):
        return NOTES[(NOTES.index(note) + semitones) % 12]

    def _ask(self):
        kind = self.rng.choice(["interval", "spell", "quality", "ratio"])
        root = self.rng.choice(NOTES)
        if kind == "interval":
            semitones = self.rng.choice(list(INTERVALS))
            self.answer = INTERVALS[semitones]
            self.prompt = f"Name the interval from {root} up to {self._transpose(root, semitones)} ({semitones} semitones)."
        elif kind == "spell":
            quality = self.rng.choice(list(CHORDS))
            self.answer = [self._transpose(root, s) for s in CHORDS[quality]]
            self.prompt = f"Spell the {root} {quality} triad."
        elif kind == "quality":
            self.answer = self.rng.choice(list(CHORDS))
            notes = [self._transpose(root, s) for s in CHORDS[self.answer]]
            self.prompt = f"What quality is the triad {'-'.join(notes)}?"
        else:
            semitones = self.rng.choice(list(RATIOS))
            self.answer = RATIOS[semitones]
            self.prompt = f"What is the just-intonation ratio of a {INTERVALS[semitones]}? (a/b)"
        self.kind = kind

    def _grade(self, text):
        text = text.strip()
        if self.kind == "spell":
            notes = [FLATS.get(n, n) for n in text.split()]
            good = len([1 for x, y in zip(notes, self.answer) if x == y])
            return good / 3
        if self.kind == "ratio":
            try:
                value = Fraction(text)
            except (ValueError, ZeroDivisionError):
                return 0.0
            # partial credit for being within a quarter tone or so
            return 1.0 if value == self.answer else (0.25 if abs(float(value / self.answer) - 1) < 0.03 else 0.0)
        return 1.0 if text.lower() == self.answer else 0.0

    def step(self, action):
        if action == "help":
            return "Intervals: " + ", ".join(INTERVALS.values()) + "\n" + self.prompt, 0.0, False, {}
        score = self._grade(action)
        if score == 1.0:
            self.streak += 1
            feedback = "Correct!"
        else:
            self.streak = 0
            answer = " ".join(self.answer) if isinstance(self.answer, list) else str(self.answer)
            feedback = f"The answer was {answer}."
        reward = score + 0.1 * max(0, self.streak - 1)
        self.count += 1
        done = self.count >= self.num_questions
        if not done:
            self._ask()
            feedback += "\n" + self.prompt
        return feedback, reward, done, {"streak": self.streak}

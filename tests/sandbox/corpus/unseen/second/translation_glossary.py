# seed: 16
# actions: ["der Motor und das Rad", "lookup motor", "lookup brake", "die Bremse", "das Getriebe prüfen", "skip", "Das Öl wechseln", "den Filter ersetzen"]
# expect_total: 1.8640394088669952 after 7 steps
import difflib
import random
import unicodedata
from typing import Dict, List, Tuple

GLOSSARY: Dict[str, str] = {
    "engine": "Motor",
    "brake": "Bremse",
    "gearbox": "Getriebe",
    "oil": "Öl",
    "filter": "Filter",
    "wheel": "Rad",
    "battery": "Batterie",
}

SENTENCES: List[Tuple[str, str]] = [
    ("Check the brake and the wheel.", "Die Bremse und das Rad prüfen."),
    ("Change the oil.", "Das Öl wechseln."),
    ("Replace the filter.", "Den Filter ersetzen."),
    ("The gearbox is defective.", "Das Getriebe ist defekt."),
    ("Disconnect the battery.", "Die Batterie abklemmen."),
    ("Start the engine.", "Den Motor starten."),
]


def normalize(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().strip()
    return "".join(ch for ch in text if not unicodedata.category(ch).startswith("P"))


class GlossaryTranslationEnv:
    """Translate technical English sentences to German while respecting a glossary."""

    def __init__(self, num_sentences=4, lookup_cost=0.05):
        self.num_sentences = num_sentences
        self.lookup_cost = lookup_cost

    def reset(self, seed=None):
        self.random = random.Random(seed)
        self.items = self.random.sample(SENTENCES, self.num_sentences)
        self.index = 0
        self.attempt = 0
        self.scores = []
        return self._prompt()

    def _prompt(self, note=""):
        if self.index >= len(self.items):
            return f"{note}\nFinished. Average: {sum(self.scores) / len(self.scores):.3f}"
        source = self.items[self.index][0]
        return f"{note}\n[{self.index + 1}/{len(self.items)}] Translate: {source}".lstrip()

    def _required_terms(self):
        source = normalize(self.items[self.index][0]).split()
        return [GLOSSARY[w] for w in source if w in GLOSSARY]

    def _score(self, text):
        reference = normalize(self.items[self.index][1])
        hypothesis = normalize(text)
        similarity = difflib.SequenceMatcher(None, reference, hypothesis).ratio()
        terms = self._required_terms()
        coverage = sum(normalize(t) in hypothesis for t in terms) / len(terms) if terms else 1.0
        return 0.5 * similarity + 0.5 * coverage

    def step(self, action):
        if action.startswith("lookup "):
            word = action[len("lookup "):].strip().lower()
            if word in GLOSSARY:
                note = f"{word} = {GLOSSARY[word]}"
            else:
                close = difflib.get_close_matches(word, GLOSSARY, n=1)
                note = f"'{word}' is not in the glossary." + (f" Did you mean '{close[0]}'?" if close else "")
            return self._prompt(note), -self.lookup_cost, False, {}
        if action == "skip":
            self.scores.append(0.0)
            self.index += 1
            return self._prompt("Skipped."), 0.0, self.index >= len(self.items), {}
        score = self._score(action)
        self.attempt += 1
        if score < 0.6 and self.attempt < 2:
            return self._prompt(f"Score {score:.2f}; try once more."), -0.1, False, {"score": score}
        self.scores.append(score)
        self.index += 1
        self.attempt = 0
        return self._prompt(f"Score {score:.2f}."), score, self.index >= len(self.items), {"score": score}

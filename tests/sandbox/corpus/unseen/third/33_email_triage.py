# seed: 12
# actions: ["move spam", "spam", "urgent", "billing", "skip", "move archive", "urgent", "spam"]
# expect_total: -0.1 after 7 steps
"""Email triage: sort an inbox into folders according to the company rules."""
import dataclasses
import random
import string
import textwrap
from enum import Enum
from functools import cached_property


class Folder(str, Enum):
    SPAM = "spam"
    URGENT = "urgent"
    BILLING = "billing"
    ARCHIVE = "archive"


@dataclasses.dataclass(frozen=True)
class Email:
    sender: str
    subject: str
    body: str
    attachments: tuple[str, ...] = ()

    @cached_property
    def domain(self):
        return self.sender.rpartition("@")[2]

    def show(self):
        att = f"\nAttachments: {', '.join(self.attachments)}" if self.attachments else ""
        return f"From: {self.sender}\nSubject: {self.subject}\n\n{textwrap.fill(self.body, 60)}{att}"


class Rule:
    def __init__(self, folder, text, test):
        self.folder, self.text, self.test = folder, text, test

    def __call__(self, mail):
        return self.folder if self.test(mail) else None


class RuleBook:
    def __init__(self, rules, default):
        self.rules = rules
        self.default = default

    def classify(self, mail):
        return next((f for f in (r(mail) for r in self.rules) if f), self.default)

    def __str__(self):
        return "\n".join(f"{i}. {r.text} -> {r.folder.value}" for i, r in enumerate(self.rules, 1)) + f"\nOtherwise -> {self.default.value}"


SENDERS = ["boss@corp.com", "ann@corp.com", "win@lotto.biz", "pay@vendor.net", "sam@vendor.net", "x9@cheap.biz"]
SUBJECTS = ["Invoice {n}", "Server down", "Lunch?", "YOU WON ${n}", "Minutes of meeting {n}", "Reminder: invoice {n}"]
BODIES = [
    "Please have a look at this when you find a moment, there is no hurry at all.",
    "We need an answer today, otherwise the customer will cancel the contract.",
    "Click the link to claim the prize before it is gone.",
]


class Env:
    def reset(self, seed=None):
        self.rng = random.Random(seed)
        rules = [
            Rule(Folder.SPAM, "sender domain ends in .biz", lambda m: m.domain.endswith(".biz")),
            Rule(Folder.SPAM, "an attachment is an .exe", lambda m: any(a.endswith(".exe") for a in m.attachments)),
            Rule(Folder.URGENT, "from boss or the body contains 'today'", lambda m: m.sender.startswith("boss") or "today" in m.body),
            Rule(Folder.BILLING, "the subject mentions an invoice", lambda m: "invoice" in m.subject.lower()),
        ]
        head, tail = rules[:2], rules[2:]
        self.rng.shuffle(tail)
        self.book = RuleBook(head + tail, Folder.ARCHIVE)
        self.inbox = [self._make_mail() for _ in range(6)]
        self.i = 0
        self.correct = 0
        self.skips = 0
        return f"Sort each email. The first matching rule wins:\n{self.book}\n\n{self._current()}", {"emails": len(self.inbox)}

    def _make_mail(self):
        r = self.rng
        attachments = tuple(
            "".join(r.choices(string.ascii_lowercase, k=4)) + r.choice([".pdf", ".exe", ".png"]) for _ in range(r.choice([0, 0, 1, 2]))
        )
        return Email(r.choice(SENDERS), r.choice(SUBJECTS).format(n=r.randint(10, 99)), r.choice(BODIES), attachments)

    def _current(self):
        if self.i >= len(self.inbox):
            return "Inbox empty."
        return f"--- {self.i + 1}/{len(self.inbox)} ---\n{self.inbox[self.i].show()}"

    def step(self, action):
        word = action.strip().lower()
        if word == "skip":
            self.skips += 1
            self.inbox.append(self.inbox.pop(self.i))
            return self._current(), -0.1, False, self.skips >= 10, {"skips": self.skips}
        try:
            folder = Folder(word.removeprefix("move ").strip())
        except ValueError:
            return f"Folders: {[f.value for f in Folder]}", -0.2, False, False, {}
        mail = self.inbox[self.i]
        right = self.book.classify(mail)
        ok = folder is right
        self.correct += ok
        self.i += 1
        done = self.i == len(self.inbox)
        reward = (1 if ok else -1) / len(self.inbox)
        note = "Right." if ok else f"Wrong: it belongs in {right.value}."
        if done and self.correct == len(self.inbox):
            reward += 1
            note += " Perfect score!"
        return f"{note}\n{self._current()}", reward, done, False, {"correct": self.correct}

# seed: 29
# actions: ["42", "[1, 2, 3]", "{'answer': 17}", "answer: 7", "__import__('os')", "(1, -2)", "hint", "{'answer': 5}", "[1, 4, 9, 16]", "0x10"]
# expect_total: 1.05 after 8 steps
"""Math tutor. Student answers are Python literals, read with ast.literal_eval."""

import ast
import random
import string
import textwrap

TEMPLATE = string.Template("Question $number ($points points): $text")

FEEDBACK = """
    You answered {given!r:>12}.
    Expected type: {kind:<8} | score so far: {score:+.{digits}f}
    {bar:*^{width}}
"""


class Question:
    counter = 0

    def __init__(self, text, answer, points=1, tol=None):
        Question.counter += 1
        self.text = text
        self.answer = answer
        self.points = points
        self.tol = tol

    def grade(self, given):
        """Full points, half points for the right type, or nothing."""
        if isinstance(given, dict):
            given = given.get("answer", given)
        if given == self.answer:
            return float(self.points)
        if self.tol is not None and isinstance(given, (int, float)) and abs(given - self.answer) <= self.tol:
            return self.points * 0.75
        if type(given) is type(self.answer):
            if isinstance(given, (list, tuple)):
                hits = sum(a == b for a, b in zip(given, self.answer))
                return self.points * hits / max(len(self.answer), len(given))
            return self.points * 0.1
        return -0.1 * self.points


def make_questions(rng):
    a, b = rng.sample(range(2, 12), k=2)
    yield Question(f"what is {a} * {b}?", a * b, tol=abs(a * b - 42))
    n = rng.randint(3, 5)
    yield Question(f"first {n} squares as a list?", [i * i for i in range(1, n + 1)], points=2)
    yield Question(f"x such that 2x + {a} = {a + 2 * b}?", b)
    yield Question("solutions of x^2 + x - 2 = 0 as a sorted tuple?", (-2, 1), 3)
    words = string.ascii_lowercase[:n].translate(str.maketrans("abc", "xyz"))
    yield Question(f"how many vowels are in {words!r}?", sum(w in "aeiou" for w in words))


class Env:
    WIDTH = 30

    def reset(self, seed=None):
        Question.counter = 0
        self.questions = list(make_questions(random.Random(seed)))
        self.index = 0
        self.score = 0.0
        self.hints = set()
        return self.ask()

    def ask(self):
        q = self.questions[self.index]
        text = TEMPLATE.safe_substitute(number=self.index + 1, points=q.points, text=q.text)
        return textwrap.fill(text, width=self.WIDTH, subsequent_indent="  ")

    def step(self, action):
        q = self.questions[self.index]
        if action == "hint":
            self.hints.add(self.index)
            return f"It is a {type(q.answer).__name__}.", -0.05, False, {}
        try:
            given = ast.literal_eval(action)
        except (ValueError, SyntaxError):
            return "Please answer with a Python literal.", -0.15, False, {"raw": action}
        reward = q.grade(given) * (0.5 if self.index in self.hints else 1)
        self.score += reward
        bar = " {:.0%} ".format((self.index + 1) / len(self.questions))
        obs = textwrap.dedent(FEEDBACK).strip().format(
            given=given, kind=type(q.answer).__name__, score=self.score, digits=2, bar=bar, width=self.WIDTH
        )
        self.index += 1
        done = self.index == len(self.questions)
        if not done:
            obs += "\n" + textwrap.indent(self.ask(), "> ")
        return obs, reward, done, {"asked": Question.counter}

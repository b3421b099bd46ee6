"""Training tasks in a test set: found by key, id or identity, or by the words of the question, and refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from metagym.errors import BadInput
from metagym.evaluation.tasks import Prepared
from metagym.tasks import Task
from metagym.texts import question_sha256, words

MIN_WORDS = 8
"""A text of fewer words is compared as a whole only: short questions stand inside of many texts by chance."""

_SHOWN = 5
_PROGRAM = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OPTIONS = re.compile(r"\n\s*\(?A[).:]\s.*", re.DOTALL)


@dataclass(frozen=True)
class Training:
    """What something was trained on, as far as it can be told.

    Attributes:
        name: Folder or file, as messages call it.
        tasks: The tasks, where they are named.
        keys: Keys of further tasks (`metagym.Task.key`).
        digests: `metagym.texts.question_sha256` of questions.
        texts: Prompts and questions.
    """

    name: str
    tasks: tuple[Task, ...] = ()
    keys: frozenset[str] = frozenset()
    digests: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing can be told."""
        return not (self.tasks or self.keys or self.digests or self.texts)


def refuse_contaminated(prepared: Iterable[Prepared], training: Iterable[Training]) -> None:
    """Refuses test tasks that were trained on.

    Tasks of one family are equal where their keys, or what their family says makes them what they are
    (`metagym.Family.identity`), are. Questions are equal where their words are, or where eight words or more of a test
    question stand in a training text as they are. Where texts are given, each test task is opened and reset to learn
    its question, which can take a while.

    Raises:
        BadInput: There are some; the message names them.
    """
    sources = list(training)
    if empty := [one.name for one in sources if one.empty]:
        raise BadInput(f"{empty[0]} names no task, question or prompt, so nothing can be checked against it")
    for one in prepared:
        found = contaminated(one, sources)
        if found:
            named = "; ".join(f"{key} ({how} {where})" for key, where, how in found[:_SHOWN])
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise BadInput(
                f"{len(found)} of {len(one.tasks)} test tasks of {one.benchmark.name} stand in training data: "
                f"{named}{more}; take them out of one of the two"
            )


def contaminated(prepared: Prepared, training: Iterable[Training]) -> list[tuple[str, str, str]]:
    """Test tasks of a benchmark that stand in training data: task key, name of the data, how they were found."""
    checks = [(one.name, how, check) for one in training for how, check in _checks(prepared, one)]
    found = []
    for task in prepared.tasks:
        for name, how, check in checks:
            if check(task):
                found.append((task.key, name, how))
                break
    return found


def question_of(prepared: Prepared, task: Task) -> str:
    """What a task shows first: the environment is opened, reset and closed."""
    env = prepared.family.open(task)
    try:
        return str(env.reset(seed=task.seed)[0])
    finally:
        env.close()


def _checks(prepared: Prepared, data: Training) -> list[tuple[str, Callable[[Task], bool]]]:
    family = prepared.family
    checks: list[tuple[str, Callable[[Task], bool]]] = []
    own = [task for task in data.tasks if task.family == family.name]
    if own or data.keys:
        keys = {task.key for task in own} | data.keys
        ids = {(task.split, task.id) for task in own}
        identities = {name for task in own if (name := _identity(prepared, task)) is not None}
        checks.append(("trained on as a task in", lambda task: task.key in keys or (task.split, task.id) in ids))
        checks.append(("the same as a task in", lambda task: family.identity(task) in identities))
    if data.digests or data.texts:
        digests = data.digests | {question_sha256(text) for text in data.texts}
        joined = "\n".join(words(text) for text in data.texts)
        checks.append(("its question stands in", lambda task: _asked(prepared, task, digests, joined)))
    return checks


def _identity(prepared: Prepared, task: Task) -> str | None:
    """A training task's identity; None where this family does not know it, as with other options or data."""
    try:
        return prepared.family.identity(task)
    except Exception:  # a family may fail in any way on a task that is not its own
        return None


def _asked(prepared: Prepared, task: Task, digests: frozenset[str] | set[str], joined: str) -> bool:
    if prepared.family.identity(task) in digests:
        return True
    text = question_of(prepared, task)
    head, colon, rest = text.partition(":")
    forms = [text, rest] if colon and len(head.split()) <= 2 else [text]  # "Question: ..."
    if any(question_sha256(form) in digests for form in forms if form.strip()):
        return True
    # The question without what an environment adds: a frame around a program, options in an order of its own.
    pieces = [words(piece) for piece in (forms[-1], _OPTIONS.sub("", text), *_PROGRAM.findall(text))]
    return any(len(own.split()) >= MIN_WORDS and own in joined for own in pieces)

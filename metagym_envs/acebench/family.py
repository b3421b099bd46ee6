"""The ACEBench family: the agent split of the benchmark, how actors answer, the scripted stand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metagym.answers import visible
from metagym.chat import Reply
from metagym.episodes import Repair
from metagym.errors import BadInput
from metagym.families import AnswerForm, Cleaned, Family
from metagym.tasks import Task, TaskSet
from metagym_envs.acebench import checkout, entries, prompts
from metagym_envs.acebench.env import AgentTask, label
from metagym_envs.acebench.users import SCRIPTED

INSTRUCTIONS = "You are an agent who solves tasks by calling functions."
TURNS = 40
"""Messages of all sides together; the paper's."""

STAND_INS = ("milestones", "noop")


def clean(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """A message is sent as it is, without blanks around it."""
    text = command.strip()
    return Cleaned(text, Repair.ABSENT if not text else Repair.EXACT if text == command else Repair.REPAIRED)


def _read(reply: Reply, admissible: Any) -> str:
    return "" if reply.text is None else visible(reply.text).strip()


FORM = AnswerForm(
    "Answer with the call or the words alone.",
    _read,
    "Your reply was empty, so nothing happened. Call a function, or say something.",
)
"""How actors answer: plain words are an answer too."""


def ACEBench(
    path: str = checkout.SAMPLE,
    user: str = SCRIPTED,
    user_temperature: float = 0.0,
    turns: int = TURNS,
    stand_in: str = "milestones",
) -> Family:
    """ACEBench's English agent tasks: 20 of one request (``multi_step``), 30 dialogues (``multi_turn``).

    The back ends are code of the checkout, so of whoever wrote it. It runs in the sandbox, one worker a conversation.

    Args:
        path: A checkout of the public repository; ``"sample"`` is a small world of our own in its format, and no
            benchmark.
        user: Who plays the user of the dialogues: a model spec, or ``"scripted"``, whose figures compare with nothing.
        user_temperature: The user's.
        turns: Most messages of all sides together, as the benchmark counts them.
        stand_in: What the scripted actor ``rules`` does: ``"milestones"`` sends those of the data, ``"noop"`` calls
            nothing. Both check the scoring, and know nothing of language.

    Returns:
        The family. Its one split is ``test``; its `versions` name the user, the digest of the checkout, and gold
        classes whose names had to be made good or mean nothing, and tasks that cannot be solved.

    Raises:
        BadInput: A setting is not usable, the checkout is none, or its data are not usable.
        SpecError: The user's spec cannot be read.
    """
    if stand_in not in STAND_INS:
        raise BadInput(f"the stand-in of ACEBench is {' or '.join(map(repr, STAND_INS))}, got {stand_in!r}")
    if not isinstance(turns, int) or isinstance(turns, bool) or turns < 2:
        raise BadInput(f"turns is a number of messages from 2 on, got {turns!r}")
    temperature = user_temperature
    if isinstance(temperature, bool) or not isinstance(temperature, (int, float)) or not 0 <= temperature <= 10:
        raise BadInput(f"user_temperature is a number from 0 on, got {temperature!r}")
    who = label(user)  # a spec that cannot be read is told now
    found = {kind: entries.entries(path, kind) for kind in entries.KINDS}
    every = [one for kind in entries.KINDS for one in found[kind]]
    whys = {one.id: entries.UNREACHABLE.get(entries.identity(one)[:16]) for one in every}
    return Family(
        name=entries.FAMILY,
        tasks=_Tasks(path),
        open=_Opener(path, user, float(temperature), turns),
        splits=(entries.SPLIT,),
        clean=clean,
        identity=_Identity(path),
        instructions=INSTRUCTIONS,
        max_steps=turns,
        host="thread",  # waits for workers, and for the model that plays the user
        stand_ins={"actor": _Actor(stand_in, path)},
        versions={
            "data": "sample: written for MetaGym, no benchmark" if path == checkout.SAMPLE else "checkout",
            "data_digest": checkout.digest(path),
            "tasks": {kind: len(found[kind]) for kind in entries.KINDS},
            "user": who,
            "user_temperature": float(temperature),
            "turns": turns,
            "prompts": prompts.source(path),
            "renamed_classes": {one.id: dict(one.renamed) for one in every if one.renamed},
            "unknown_classes": {one.id: list(one.unknown) for one in every if one.unknown},
            "unreachable": {id_: why for id_, why in whys.items() if why},
            "scorer": "final state and milestones, strict class names",
        },
        options={
            "path": path,
            "user": user,
            "user_temperature": float(temperature),
            "turns": turns,
            "stand_in": stand_in,
        },
        answer=FORM,
    )


@dataclass(frozen=True)
class _Tasks:
    path: str

    def __call__(self, split: str) -> TaskSet:
        return entries.task_set(self.path)


@dataclass(frozen=True)
class _Opener:
    path: str
    user: str
    temperature: float
    turns: int

    def __call__(self, task: Task) -> AgentTask:
        return AgentTask(self.path, entries.entry_of(self.path, task), self.user, self.temperature, self.turns)


@dataclass(frozen=True)
class _Identity:
    """A task is its request, its start and its end."""

    path: str

    def __call__(self, task: Task) -> str:
        return entries.identity(entries.entry_of(self.path, task))


@dataclass(frozen=True)
class _Actor:
    name: str
    path: str

    def __call__(self, seed: int) -> Any:
        from metagym_envs.acebench import rules

        return rules.actor(self.name, self.path, seed)

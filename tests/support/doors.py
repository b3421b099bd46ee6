"""Two tiny families in which a prompt can learn: each kind of door opens to one action, and a failure tells which.

The actor does what its system prompt says of the kind of door it sees, else it pushes. The reflector reads the hints
in the episodes and adds one rule per reflection, so that success rises step by step: exactly 0, 1/2, 1 with two kinds.
Named in specs as ``python:tests.support.doors:actor`` and ``python:tests.support.doors:reflector``.
"""

from __future__ import annotations

import re
from typing import Any

import gymnasium

import metagym
from metagym import Family, Task
from metagym.chat import Request
from metagym.spaces import FreeText
from tests.support.worlds import Step, tasks_named

OPENS = {"oak": "pull", "iron": "knock", "glass": "wait"}
ACTIONS = ("push", *OPENS.values())


class Door(gymnasium.Env[str, str]):
    """One action opens it or does not; then the episode ends."""

    def __init__(self, task: Task, word: str = "door") -> None:
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.task, self.word = task, word

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return f"{self.word.title()} {seed} is of {self.task.type}.", {"admissible": ACTIONS}

    def step(self, action: str) -> Step:
        opened = action == OPENS[self.task.type]
        text = "It opens." if opened else f"Nothing. A sign says: {self.task.type} opens to {OPENS[self.task.type]}."
        return text, float(opened), True, False, {"success": opened}


class Opener:
    """Opens a task; a class, since worker processes get it by value."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __call__(self, task: Task) -> gymnasium.Env[str, str]:
        return Door(task, self.word)


def actor(request: Request) -> str:
    """Follows ``<kind> opens to <action>`` in the system prompt."""
    system = request.messages[0].content if request.messages[0].role == "system" else ""
    kind = re.search(r"is of (\w+)\.", request.messages[-1].content)
    rule = re.search(rf"{kind[1]} opens to (\w+)", system) if kind else None
    return f"Thought: hm.\nAction: {rule[1] if rule else 'push'}"


def reflector(request: Request) -> str:
    """Adds the first rule that the episodes tell and the prompt lacks."""
    text = request.messages[-1].content
    current = text.split("<<<\n", 1)[1].split("\n>>>", 1)[0]
    for rule in re.findall(r"says: (\w+ opens to \w+)", text):
        if rule not in current:
            return f"ANALYSIS:\nOne kind failed.\n\nIMPROVED PROMPT:\n{(current + chr(10) + rule).strip()}"
    return f"ANALYSIS:\nNothing failed.\n\nIMPROVED PROMPT:\n{current}"


def spoiler(request: Request) -> str:
    """Writes a prompt that opens nothing."""
    return "IMPROVED PROMPT:\nPush harder."


def doors(name: str = "Doors", kinds: tuple[str, ...] = ("oak", "iron"), count: int = 60, **fields: Any) -> Family:
    """The family; its tasks take turns among `kinds`."""
    fields.setdefault("host", "inline")
    return Family(
        name,
        lambda split: tasks_named(name, count, split, kinds),
        Opener(name.lower().removesuffix("s")),
        max_steps=3,
        stand_ins={
            "actor": lambda seed: metagym.chat.scripted(actor),
            "reflector": lambda seed: metagym.chat.scripted(reflector),
        },
        versions={"engine": "doors 1"},
        **fields,
    )


def register() -> None:
    """Makes ``Doors`` and ``Gates`` known."""
    metagym.register_family(doors(), namespace="MetaGym")
    metagym.register_family(doors("Gates", ("oak", "iron", "glass")), namespace="MetaGym")

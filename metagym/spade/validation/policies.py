"""Players without thought. A fair program is won by none of them, and breaks under none of them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metagym.seeding import rng
from metagym.spade.program import EnvProgram
from metagym.spade.validation.walks import Policy, Walk

CONSTANTS = ("yes", "0", "no")
"""Answers that are right by luck, beside ``1``, which is a probe already."""

GARBAGE = (
    "",
    "   \n\t",
    "x" * 10_000,
    "\u00b2",  # a digit to str.isdigit, and no number to int
    "9" * 400,
    "-1",
    "nan",
    "1e999",
    "a b c d e f g h",
    "\U0001f986 caf\u00e9 \u4e2d\u6587 \u202e",
    "\x00\x1b[2J\x7f",
    "%s {0} {} {x!r} \\boxed{",
    '{"tool": "',
    "[" * 500,
    '<tool_call>{"name": "',
    '<tool_call>{"name": 3, "arguments": [1]}</tool_call>',
    "<tool_call></tool_call><answer>",
)
"""Actions that a model may well send; none of them may break a program."""

GARBAGE_STEPS = 4
"""Steps of an episode of garbage: each item is tried as first, second, ... action."""

_WORD = re.compile(r"[\w'-]+")
_QUOTED = re.compile(r"[\"'`\[(<]([^\"'`\[\]()<>\n]{1,40})[\"'`\])>]")
_LISTED = re.compile(r":[ \t]*([^\n:]{1,200})")


@dataclass(frozen=True, slots=True)
class Form:
    """How a program takes actions.

    Attributes:
        action_format: ``text``, ``boxed`` or ``tool_call``.
        tools: Its tools, as JSON Schema.
    """

    action_format: str
    tools: Sequence[Any] = ()

    @classmethod
    def of(cls, program: EnvProgram, tools: Sequence[Any] = ()) -> Form:
        """The form of a program."""
        return cls(program.action_format, tools)

    def wrapped(self, command: str) -> str:
        """A command as an agent would send it."""
        if self.action_format == "boxed":
            return f"\\boxed{{{command}}}"
        return f"<answer>{command}</answer>" if self.action_format == "tool_call" else command


def constant(form: Form, command: str) -> Policy:
    """Always the same command."""
    action = form.wrapped(command)
    return lambda walk: action


def nothing(walk: Walk) -> str:
    """No word at all, at every turn."""
    return ""


def echo(form: Form) -> Policy:
    """Says back what it sees."""
    return lambda walk: form.wrapped(str(walk.observation)[:2_000])


def reader(form: Form, seed: int, *names: str | int) -> Policy:
    """Draws each command from what the observation shows: words, quoted parts, listed parts, or a tool with such words.

    Args:
        form: The program's form.
        seed: Root of the draws.
        *names: Path of this episode's draws.
    """
    draws = rng(seed, "reader", *names)

    def choose(walk: Walk) -> str:
        shown = "\n".join(str(step.observation) for step in (walk.steps[0], walk.steps[-1]))[:20_000]
        if form.tools and draws.random() < 0.75:
            return _tool_call(draws, form, shown)
        return form.wrapped(_part(draws, shown))

    return choose


def script(actions: Sequence[str], *, again: bool = False) -> Policy:
    """Plays a list of actions, once or again and again until the episode ends."""

    def choose(walk: Walk) -> str | None:
        played = len(walk.steps) - 1
        if again and actions:
            return actions[played % len(actions)]
        return actions[played] if played < len(actions) else None

    return choose


_LONGEST = 10_000
_MISFITS: tuple[Any, ...] = ("", -1, None, [], "\u00b2")


def spoiled(action: str) -> list[str]:
    """Copies of a sensible action with something senseless in it: another last word, another argument of a tool."""
    action = action[:_LONGEST]
    words = action.split(" ")
    bad: tuple[str, ...] = ("", "\u00b2", "0", "-1", "9" * 400, "nan", "x y z")
    found = [" ".join([*words[:-1], word]) for word in bad] if len(words) > 1 else []
    found += [action[: len(action) // 2], f"{action} {action}"]
    call = re.fullmatch(r"\s*<tool_call>(.*)</tool_call>\s*", action, re.DOTALL)
    try:
        body = json.loads(call[1]) if call else None
    except ValueError:
        body = None
    if isinstance(body, dict) and isinstance(arguments := body.get("arguments"), dict):
        for name in arguments:
            for value in _MISFITS:
                made = {**body, "arguments": {**arguments, name: value}}
                found.append(f"<tool_call>{json.dumps(made)}</tool_call>")
        found.append(f"<tool_call>{json.dumps({**body, 'arguments': {}})}</tool_call>")
    return found


def _part(draws: random.Random, shown: str) -> str:
    kinds = [
        _WORD.findall(shown),
        _QUOTED.findall(shown),
        [
            part.strip()
            for listed in _LISTED.findall(shown)
            for part in re.split(r"[,;|/]| or ", listed)
            if part.strip()
        ],
    ]
    parts = draws.choice([kind for kind in kinds if kind] or [[""]])
    return draws.choice(parts)


def _tool_call(draws: random.Random, form: Form, shown: str) -> str:
    tool = draws.choice(list(form.tools))["function"]
    schema = tool["parameters"]
    arguments = {name: _argument(draws, kind, shown) for name, kind in sorted(schema.get("properties", {}).items())}
    return f"<tool_call>{json.dumps({'name': tool['name'], 'arguments': arguments})}</tool_call>"


def _argument(draws: random.Random, schema: Any, shown: str) -> Any:
    numbers = [int(found) for found in re.findall(r"\d{1,9}", shown)] or [1]
    match schema.get("type") if isinstance(schema, dict) else None:
        case "integer" | "number":
            return draws.choice(numbers)
        case "boolean":
            return draws.random() < 0.5
        case "array":
            return [_part(draws, shown)]
        case "object":
            return {}
    return _part(draws, shown)

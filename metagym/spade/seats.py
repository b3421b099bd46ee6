r"""The seats of SPADE: how the agent is asked to play a program, and how its reply becomes an action.

A program says in its header how it takes actions: as a line of text, in ``\boxed{...}``, or as tool calls. The action
that a program gets is in the form that its own solution has: a boxed command keeps its box, a tool call its tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from metagym.chat.types import Reply
from metagym.episodes import Repair
from metagym.families import AnswerForm, Cleaned, Family, as_written, clean_command
from metagym.playing.actor import LINES
from metagym.spade.program import EnvProgram
from metagym.tasks import Task, TaskSet

FAMILY = "Program"
"""Family of the tasks that programs are played as; a task's id is the beginning of the program's digest."""

_BRACE = re.compile(r"\\boxed\{|[{}]")

MAX_ACTION = 20_000
"""Longest action that is sent, in characters: enough for several tool calls."""

BOXED = (
    "Think first, then write your command for this turn inside \\boxed{...}, once. It is a command that changes the "
    "state, not a final answer; the episode goes on until the environment ends it."
)
TOOLS = (
    "Call tools by writing one or more blocks\n"
    '<tool_call>{"name": "...", "arguments": {...}}</tool_call>\n'
    "and read their responses in the next message. When the user's message is done, write <answer>...</answer>; the "
    "user may then ask for something else."
)
_NO_BOX = "Your answer held no \\boxed{...}, so nothing happened. Write your command inside \\boxed{...}."
_NO_CALL = "Your answer was empty, so nothing happened. Write <tool_call>...</tool_call> or <answer>...</answer>."


def boxed_in(text: str) -> str:
    r"""The last ``\boxed{...}`` of a text, box and all; "" where there is none. Braces inside it must match.

    It takes one walk over the text, whatever stands in it.
    """
    opened: list[int] = []
    last = (-1, -1)
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append(brace.start() if brace[0] != "{" else -1)
        elif opened and (start := opened.pop()) >= 0:
            last = max(last, (start, brace.end()))
    return text[slice(*last)] if 0 <= last[0] and last[1] - last[0] <= MAX_ACTION else ""


def _boxed(reply: Reply, admissible: Sequence[str] | None) -> str:
    return boxed_in(reply.text or "")


def _calls(reply: Reply, admissible: Sequence[str] | None) -> str:
    """The whole reply: the environment reads its tags and answers what it cannot read."""
    return (reply.text or "").strip()[:MAX_ACTION]


FORMS = {"text": LINES, "boxed": AnswerForm(BOXED, _boxed, _NO_BOX), "tool_call": AnswerForm(TOOLS, _calls, _NO_CALL)}
"""How the agent answers, by a program's action format."""


def instructions_of(program: EnvProgram, tools: Sequence[Any] = ()) -> str:
    """The paragraph that tells the agent what it plays; it holds neither hint nor solution nor source.

    Args:
        program: The program.
        tools: Its tools, as JSON Schema.
    """
    parts = [
        f"You play a text environment: {program.title} ({program.domain}). It takes at most {program.max_steps} steps."
    ]
    if tools:
        listed = "\n".join(json.dumps(tool, ensure_ascii=False, sort_keys=True) for tool in tools)
        parts.append(f"Tools (JSON Schema, one a line):\n{listed}")
    return "\n".join(parts)


def family_for(program: EnvProgram, max_steps: int | None, tools: Sequence[Any] = ()) -> Family:
    """The program as a family of tasks, one a seed; it is opened by a host of `metagym.spade.hosts` alone.

    Args:
        program: The program.
        max_steps: The agent's own cap on steps; None leaves the program's.
        tools: Its tools, as JSON Schema.
    """
    clean = {"text": clean_command, "boxed": as_written, "tool_call": as_written}[program.action_format]
    return Family(
        FAMILY,
        partial(_tasks, program),
        _not_here,
        splits=("played",),
        success=lambda info, ret, terminated: program.solved(ret, terminated),
        clean=clean,
        instructions=instructions_of(program, tools),
        answer=FORMS[program.action_format],
        max_steps=min(program.max_steps, max_steps or program.max_steps),
        host="inline",
    )


def task_of(program: EnvProgram, seed: int) -> Task:
    """The task of a program and a seed."""
    return Task(FAMILY, program.digest[:16], program.skill, "played", seed)


def cleaned(program: EnvProgram, action: str) -> tuple[str, Repair]:
    """What a bare action of an agent becomes by the program's rule; for callers without a conversation."""
    made: Cleaned = (
        clean_command(action, None) if program.action_format == "text" else as_written(action[:MAX_ACTION], None)
    )
    return made.command, made.repair


def _tasks(program: EnvProgram, split: str) -> TaskSet:
    return TaskSet([task_of(program, 0)], f"program {program.digest[:12]}")


def _not_here(task: Task) -> Any:
    raise NotImplementedError("a program is played in the sandbox: use metagym.spade.hosts")

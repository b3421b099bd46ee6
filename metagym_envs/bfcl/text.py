"""What the actor reads, and how it answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metagym.episodes import Repair
from metagym.families import AnswerForm, Cleaned
from metagym_envs.bfcl import package
from metagym_envs.bfcl.calls import Call

INSTRUCTIONS = (
    "You help a user by calling tools. The user speaks in several turns. Within a turn, call tools, read their "
    "results, and go on until all that the user asked for in this turn is done; only then end your turn. If no tool "
    "fits, or something that a tool needs has not been told, end your turn and say so: do not guess."
)
ASK = (
    'To call a tool, write <tool_call>{"name": "tool", "arguments": {"parameter": "value"}}</tool_call>, one block '
    "for each call; the calls of one reply run in the order in which they stand. To end your turn, answer the user in "
    "plain words, without a call."
)
ABSENT = "Your reply was empty, so nothing happened. Call a tool, or end your turn in plain words."
TOOLS = "Your tools:"
USER = "The user says:"
OVER = "The conversation is over."

_MARK = "Tool description:"  # what stands before it in a document is said of all tools of one back end


def clean(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """A reply is sent as it is, over several lines, without blanks around it.

    Args:
        command: Any text.
        admissible: Not used.
    """
    text = command.strip()
    return Cleaned(text, Repair.ABSENT if not text else Repair.EXACT if text == command else Repair.REPAIRED)


def _read(reply: Any, admissible: Sequence[str] | None) -> str:
    return (reply.text or "").strip()


FORM = AnswerForm(ASK, _read, ABSENT)
"""How actors answer: plain words are an answer too, they end the turn."""


def opening(tools: Iterable[Mapping[str, Any]], said: str) -> str:
    """The first observation: the tools, and what the user says first."""
    return f"{TOOLS}\n{documents(tools)}\n\n{USER}\n{said}"


def handed_over(tools: Iterable[Mapping[str, Any]]) -> str:
    """What the user says when tools are handed over: their documents, and the package's sentence."""
    return f"{USER}\n{documents(tools)}\n\n{package.prompt('DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC')}"


def said(words: str) -> str:
    """A later turn of the user."""
    return f"{USER}\n{words}"


def results(calls: Sequence[Call], found: Sequence[str]) -> str:
    """What the calls of one reply returned, a line for each."""
    lines = (
        f"{n}. {call.name or 'unreadable call'}: {text}"
        for n, (call, text) in enumerate(zip(calls, found, strict=True), 1)
    )
    return "Results:\n" + "\n".join(lines)


def documents(tools: Iterable[Mapping[str, Any]]) -> str:
    """Documents of tools in a compact form: the back end's sentence once, then each tool with its parameters.

    As JSON, with the form of the results, they take up to 30,000 characters; so they take up to 9,400 and tell the same
    of how to call.
    """
    lines, last = [], None
    for tool in tools:
        about, mark, does = str(tool["description"]).partition(_MARK)
        if mark and about != last:
            lines.append(f"# {about.strip()}")
            last = about
        lines.append(f"- {tool['name']}({_parameters(tool['parameters'])}): {(does if mark else about).strip()}")
        for name, schema in tool["parameters"]["properties"].items():
            lines.append(f"    {name}: {_described(schema)}")
    return "\n".join(lines)


def _parameters(parameters: Mapping[str, Any]) -> str:
    needed = parameters.get("required", ())
    return ", ".join(name if name in needed else f"{name}?" for name in parameters["properties"])


def _described(schema: Mapping[str, Any]) -> str:
    more = "" if "default" not in schema else f" (default {json.dumps(schema['default'])})"
    inner = schema.get("properties", {})
    fields = "".join(f"; {name}: {_described(one)}" for name, one in inner.items())
    return f"{_type(schema)}{more}. {schema.get('description', '').strip()}{fields}"


def _type(schema: Mapping[str, Any]) -> str:
    kind = str(schema.get("type", "any"))
    return f"{kind} of {_type(schema['items'])}" if isinstance(schema.get("items"), Mapping) else kind

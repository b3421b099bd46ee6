"""Arguments of tool calls, as models write them: parsed, or refused in words that the model can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metagym.errors import BadInput

MAX_ARGUMENTS = 1_000_000
"""Longest argument text that is read, in characters."""


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """Arguments that can be given to the tool."""

    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolParseMessage:
    """The call was not run; `message` goes back to the model as the tool's answer and the turn counts once."""

    message: str


def parse_tool_arguments(
    raw: str | Mapping[str, Any] | None, required: Sequence[str] = ()
) -> ToolArguments | ToolParseMessage:
    """Reads the arguments of one tool call.

    Absent arguments, None or blank text, mean ``{}`` for a tool without required arguments and for no other. Text that
    is cut off, doubled, or not one JSON object is never repaired: a guess would run the tool on arguments nobody wrote.

    Args:
        raw: The ``arguments`` of the call: JSON text, or an object that the server decoded already.
        required: Names that the tool's schema requires.

    Returns:
        The arguments, or the message for the model.

    Raises:
        BadInput: `raw` is neither text, object nor None (a programming error, not the model's).
    """
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        if not required:
            return ToolArguments({})
        return ToolParseMessage(f"The call holds no arguments. Required: {', '.join(required)}.")
    if isinstance(raw, Mapping):
        values: Any = dict(raw)
    elif isinstance(raw, str):
        if len(raw) > MAX_ARGUMENTS:
            return ToolParseMessage(f"The arguments are longer than {MAX_ARGUMENTS} characters.")
        try:
            values = json.loads(raw, parse_constant=_no_constant, object_pairs_hook=_no_twice)
        except (ValueError, RecursionError) as error:
            return ToolParseMessage(f"The arguments are not one valid JSON object: {_reason(error)}.")
    else:
        raise BadInput(f"tool arguments are JSON text or an object, got {type(raw).__name__}")
    if not isinstance(values, dict):
        kind = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(type(values), "a number")
        return ToolParseMessage(f"The arguments must be one JSON object, not {kind}.")
    missing = [name for name in required if name not in values]
    if missing:
        return ToolParseMessage(f"Required arguments are missing: {', '.join(missing)}.")
    return ToolArguments(values)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a name is given twice")
    return values


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)

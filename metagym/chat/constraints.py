"""Answers that must be one of a list, or JSON: how each kind of server is asked, and the check of what came back.

Servers ignore fields they do not know without a word (vLLM's ``guided_choice`` since 0.12, for one), so that an answer
is always checked again, and what became of the constraint is part of the reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from metagym.chat.types import Constraint, Request
from metagym.errors import BadInput


def check_request(request: Request) -> None:
    """Refuses requests that no model can answer.

    Raises:
        BadInput: No message, a limit below 1, an impossible temperature, no choice to choose, or both kinds of
            constraint.
    """
    if not request.messages:
        raise BadInput("a request has at least one message")
    if request.max_tokens < 1:
        raise BadInput(f"max_tokens is at least 1, got {request.max_tokens}")
    if not 0 <= request.temperature < float("inf"):
        raise BadInput(f"temperature is a finite number of at least 0, got {request.temperature}")
    if request.choices is not None and request.json_schema is not None:
        raise BadInput("a request has choices or a json_schema, not both")
    if request.choices is not None and not any(request.choices):
        raise BadInput("choices hold at least one text")


def choice_schema(choices: Sequence[str]) -> dict[str, Any]:
    """The choices as a JSON schema: ``{"choice": <one of them>}``, since strict servers want an object on top."""
    return {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(choices)}},
        "required": ["choice"],
        "additionalProperties": False,
    }


def choice_grammar(choices: Sequence[str]) -> str:
    """The choices as a GBNF grammar of llama.cpp."""
    return "root ::= " + " | ".join(f'"{_escape(choice)}"' for choice in choices)


def _escape(text: str) -> str:
    table = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(table.get(mark) or (mark if " " <= mark else f"\\x{ord(mark):02X}") for mark in text)


def constraint_fields(request: Request, mode: str) -> dict[str, Any]:
    """The fields that ask a server to keep to the request's constraint.

    Args:
        request: With choices, a schema or neither.
        mode: ``structured_outputs`` (vLLM from 0.12), ``guided_choice`` (vLLM before), ``grammar`` (llama.cpp),
            ``json_schema`` (OpenAI and most hosted ones), or ``off``.
    """
    if mode == "off":
        return {}
    if request.choices is not None:
        choices = list(request.choices)
        if mode == "structured_outputs":
            return {"structured_outputs": {"choice": choices}}
        if mode == "guided_choice":
            return {"guided_choice": choices}
        if mode == "grammar":
            return {"grammar": choice_grammar(choices)}
        return _response_format(choice_schema(choices))
    if request.json_schema is not None:
        return _response_format(request.json_schema)
    return {}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)},
        }
    }


def check_answer(request: Request, mode: str, text: str) -> tuple[str, Constraint, bool]:
    """Checks an answer against the request's constraint.

    Returns:
        The answer (a choice without blanks around it or the JSON object around it), what became of the constraint
        (``enforced``: asked of the server and kept; ``checked``: kept, and the server was not asked or did not use the
        form it was asked for; ``ignored``: not kept; ``none``: there was none), and whether the answer keeps to it.
    """
    if request.choices is not None:
        answer, formed = text.strip(), mode not in ("off", "json_schema")
        if mode == "json_schema":
            unwrapped = _unwrap(text)
            if unwrapped is not None:
                answer, formed = unwrapped, True
        for choice in request.choices:
            if answer in (choice, choice.strip()):
                return choice, "enforced" if formed else "checked", True
        return text, "ignored", False
    if request.json_schema is not None:
        kept = _fits(text, request.json_schema)
        return text, ("checked" if mode == "off" else "enforced") if kept else "ignored", kept
    return text, "none", True


def _unwrap(text: str) -> str | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    choice = value.get("choice") if isinstance(value, dict) else None
    return choice if isinstance(choice, str) else None


_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def _fits(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a text is JSON of the schema's outer shape: type, required names, types and enums of its properties."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return _matches(value, schema, depth=0)


def _matches(value: Any, schema: Any, depth: int) -> bool:
    if not isinstance(schema, Mapping) or depth > 16:
        return True
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind in ("number", "integer")):
            return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        if any(name not in value for name in schema.get("required", ())):
            return False
        return all(_matches(value[name], part, depth + 1) for name, part in properties.items() if name in value)
    if isinstance(value, list) and "items" in schema:
        return all(_matches(item, schema["items"], depth + 1) for item in value)
    return True

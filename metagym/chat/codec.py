"""Requests and replies as JSON, and the key under which a reply is kept."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from metagym.chat.types import Reply, Request
from metagym.episodes import Usage
from metagym.errors import BadInput

SCHEMA = 1
"""Version of the records. It is part of every key, so that records of another version are never found."""


def request_to_json(request: Request) -> dict[str, Any]:
    """All of a request that decides its reply, i.e. everything but the tag."""
    return {
        "messages": [[message.role, message.content] for message in request.messages],
        "temperature": float(request.temperature),
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "seed": request.seed,
        "sample": request.sample,
        "choices": None if request.choices is None else list(request.choices),
        "json_schema": None if request.json_schema is None else dict(request.json_schema),
        "extra": dict(request.extra),
    }


def cache_key(model_id: str, request: Request) -> str:
    """The key of a reply: SHA-256 of the canonical JSON of schema version, model id and request.

    The model id holds the kind of backend, the model, and host and path of the server. Equal on every machine, Python
    version and hash seed; two requests that differ in anything but the tag have different keys.

    Raises:
        BadInput: The request's schema or extra fields are not JSON.
    """
    record = {"schema": SCHEMA, "model": model_id, "request": request_to_json(request)}
    try:
        # ASCII output keeps lone surrogates, which models do emit, and needs no normal form of unicode.
        text = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadInput(f"a request of {model_id} is not JSON: {error}") from error
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def reply_to_text(reply: Reply) -> str:
    """A reply as one line of JSON."""
    record = {
        "text": reply.text,
        "absence": reply.absence,
        "cut": reply.cut,
        "reasoning": reply.reasoning,
        "usage": reply.usage.to_json(),
        "model": reply.model,
        "backend": reply.backend,
        "constraint": reply.constraint,
        "seconds": reply.seconds,
        "cause": reply.cause,
    }
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def reply_from_text(text: str) -> Reply | None:
    """The reply of a record, marked as cached; None where the record is not of this form."""
    try:
        record = json.loads(text)
        usage = Usage.from_json(record.pop("usage"))
        reply = Reply(usage=usage, cached=True, attempts=0, **record)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return reply if _well_formed(reply) else None


def _well_formed(reply: Reply) -> bool:
    texts = (reply.text if reply.text is not None else "", reply.reasoning, reply.model, reply.cause)
    return (
        all(isinstance(text, str) for text in texts)
        and reply.absence in (None, "length", "refused", "empty")
        and reply.backend in ("scripted", "local", "server")
        and reply.constraint in ("none", "enforced", "checked", "ignored")
        and isinstance(reply.cut, bool)
        and all(_finite(value) for value in (reply.seconds, *reply.usage.to_json().values()))
    )


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)

"""Token counts without a tokenizer: an estimate, and a bound that no byte-level tokenizer passes."""

from __future__ import annotations

import json

from metagym.chat.types import Request

_PER_MESSAGE = 4  # role marks and separators of the usual chat templates
_BOUND_PER_MESSAGE = 16
_BOUND_TEMPLATE = 128  # what templates add by themselves, such as a default system message


def estimate_text(text: str) -> int:
    """Tokens of a text, as characters / 4 rounded up: right within a third for English."""
    return -(-len(text) // 4)


def estimate_prompt(request: Request) -> int:
    """Tokens of a request's messages, estimated; the same on every machine."""
    return sum(estimate_text(message.content) + _PER_MESSAGE for message in request.messages)


def bound_prompt(request: Request) -> int:
    """Tokens that a request's messages cannot pass: each token stands for at least one byte of UTF-8."""
    parts = [message.content for message in request.messages]
    parts += request.choices or ()
    if request.json_schema is not None:  # some servers write the schema into the prompt
        parts.append(json.dumps(dict(request.json_schema), default=str))
    size = sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
    return size + _BOUND_PER_MESSAGE * len(parts) + _BOUND_TEMPLATE

"""From the body of a chat completion to a `Reply`: text, or a typed absence of text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from metagym.chat.constraints import check_answer
from metagym.chat.tokens import estimate_prompt, estimate_text
from metagym.chat.types import Absence, Backend, Reply, Request
from metagym.episodes import Usage

_MAX_CAUSE = 300


def read_completion(
    body: str | bytes | Mapping[str, Any], request: Request, *, model: str, backend: Backend, mode: str = "off"
) -> Reply:
    """Reads the body of a successful response.

    Args:
        body: The body of an OpenAI-compatible chat completion; decoded or not.
        request: What was asked.
        model: Name for the reply where the server gives none.
        backend: Kind of model.
        mode: How the constraint was asked for, see `metagym.chat.constraints`.

    Returns:
        A reply. Thinking (``reasoning_content``, ``reasoning``, or text before ``</think>``) is kept apart from the
        text; an answer that consists of thinking alone is no answer. An unusable body becomes the absence ``error``.
    """
    data, trouble = _decode(body)
    if data is None:
        return _unusable(request, model, backend, trouble)
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return _unusable(request, model, backend, f"the response holds no choice: {_start(json.dumps(data))}")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        return _unusable(request, model, backend, "the response's choice holds no message")
    content = _text_of(message.get("content"))
    if content is None:
        return _unusable(request, model, backend, "the message's content is neither text nor null")
    given = message.get("reasoning_content") or message.get("reasoning") or ""
    thought, text = _split_thinking(content)
    reasoning = "\n".join(part for part in (given if isinstance(given, str) else "", thought) if part)
    text, stopped = _cut_at_stop(text, request.stop)
    finish = choices[0].get("finish_reason")
    cut = finish == "length" and not stopped
    usage = _usage(data.get("usage"), request, content, reasoning)
    name = data.get("model") if isinstance(data.get("model"), str) else model

    def reply(text: str | None, absence: Absence | None, cause: str, **more: Any) -> Reply:
        return Reply(
            text, absence, reasoning=reasoning, usage=usage, model=str(name), backend=backend, cause=cause, **more
        )

    refusal = message.get("refusal")
    if finish == "content_filter" or (isinstance(refusal, str) and refusal):
        cause = f"refused: {_start(refusal)}" if isinstance(refusal, str) and refusal else "the content filter cut it"
        return reply(None, "refused", cause)
    if not text.strip():
        if cut:
            return reply(None, "length", f"cut at {usage.completion_tokens} tokens before any answer")
        return reply(None, "empty", _why_empty(message, reasoning, finish))
    text, constraint, kept = check_answer(request, mode, text)
    if cut and not kept:
        return reply(None, "length", "the constrained answer was cut by the token limit", constraint=constraint)
    return reply(text, None, "", cut=cut, constraint=constraint)


def _decode(body: str | bytes | Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    if isinstance(body, Mapping):
        return body, ""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        start = text.lstrip()[:200].lower()
        if start.startswith(("<!doctype", "<html")) or "<html" in start:
            return None, f"the server answered with a web page, not JSON: is base_url right? {_start(text)}"
        return None, f"the server's answer is not JSON ({type(error).__name__}): {_start(text)}"
    if not isinstance(data, dict):
        return None, f"the server's answer is no JSON object: {_start(text)}"
    return data, ""


def _unusable(request: Request, model: str, backend: Backend, cause: str) -> Reply:
    usage = Usage(calls=1, prompt_tokens=estimate_prompt(request), estimated=True)  # it may well have been paid
    return Reply(None, "error", usage=usage, model=model, backend=backend, cause=cause)


def _text_of(content: Any) -> str | None:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
    return None


def _split_thinking(text: str) -> tuple[str, str]:
    """Thinking and answer. Some templates open the thinking themselves, so that only its end stands in the text."""
    opened = re.match(r"\s*<think>", text)
    end = text.find("</think>")
    if end >= 0:
        return text[opened.end() if opened else 0 : end].strip(), text[end + len("</think>") :].lstrip("\r\n ")
    if opened:
        return text[opened.end() :].strip(), ""
    return "", text


def _cut_at_stop(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    at = min((found for stop in stops if stop and (found := text.find(stop)) >= 0), default=-1)
    return (text, False) if at < 0 else (text[:at], True)


def _usage(given: Any, request: Request, content: str, reasoning: str) -> Usage:
    if not isinstance(given, Mapping):
        given = {}
    prompt, completion = _count(given.get("prompt_tokens")), _count(given.get("completion_tokens"))
    written = content if reasoning and reasoning in content else content + reasoning
    return Usage(
        calls=1,
        prompt_tokens=prompt if prompt is not None else estimate_prompt(request),
        completion_tokens=completion if completion is not None else estimate_text(written),
        reasoning_tokens=_detail(given, "completion_tokens_details", "reasoning_tokens"),
        cached_tokens=_detail(given, "prompt_tokens_details", "cached_tokens"),
        estimated=prompt is None or completion is None,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _detail(usage: Mapping[str, Any], group: str, name: str) -> int:
    details = usage.get(group)
    return (_count(details.get(name)) or 0) if isinstance(details, Mapping) else 0


def _why_empty(message: Mapping[str, Any], reasoning: str, finish: Any) -> str:
    if reasoning:
        return "the reply holds thinking and no answer"
    if message.get("tool_calls"):
        return "the reply holds a tool call and no text"
    return f"the reply holds no text (finish reason {finish!r})"


def _start(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _MAX_CAUSE else folded[:_MAX_CAUSE] + "..."

"""The reflector's seat: from the meta-observation to a request, from a reply to the next system prompt.

A reply without a new prompt keeps the current one as a typed, counted outcome; it never looks like a decision.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metagym.chat.types import ChatModel, Message, Reply, Request
from metagym.checks import number, settle, whole
from metagym.episodes import Usage
from metagym.errors import BadInput, ChatError
from metagym.playing.runner import FATAL, check_prompt

INSTRUCTIONS = (
    "You coach an agent that plays episodes of a text environment. The agent is frozen: the only thing you can change "
    "is its system prompt, and its next episodes are new tasks that nobody has seen. Below are its current system "
    "prompt and a batch of its episodes. Find out what went wrong and why, and write a better system prompt: general "
    "advice that helps on unseen tasks of every kind, kept short. Keep what works.\n\n"
    "Answer in exactly this form:\n"
    "ANALYSIS:\nwhat failed, what worked, and why\n\n"
    "IMPROVED PROMPT:\nthe whole new system prompt, nothing else after it"
)

Outcome = Literal["improved", "unchanged", "no-section", "empty", "cut", "refused", "error"]

# Marks before a heading stay on its line: see `metagym.playing.actor`.
_MARKS = r"^(?:[^\S\n]|[#*_])*"
_SECTION = re.compile(_MARKS + r"improved (?:system )?prompt[\s*_]*:[\s*_]*", re.IGNORECASE | re.MULTILINE)
_ANALYSIS = re.compile(_MARKS + r"analysis[\s*_]*:[\s*_]*", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"\A```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class ReflectorSettings:
    """How the reflector's seat asks.

    Attributes:
        temperature: >= 0.
        max_tokens: Upper bound on the reply, in tokens.
    """

    temperature: float = 0.0
    max_tokens: int = 2000

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "temperature", number, 0)
        settle(self, "max_tokens", whole, 1)


@dataclass(frozen=True)
class Reflection:
    """What came of one reflection.

    Attributes:
        prompt: The next system prompt: the new one, or the current one where the outcome is not ``improved``.
        outcome: ``improved``; ``unchanged`` (it wrote the same prompt); ``no-section`` (a reply without a prompt);
            ``empty``; ``cut`` (ended at the token limit before or inside the prompt); ``refused``; ``error``.
        analysis: What the reflector wrote before the prompt.
        reply: The raw reply; None where there was none.
        cause: Explains an outcome other than improved and unchanged.
        usage: Tokens of the call.
        backend: Kind of model.
    """

    prompt: str
    outcome: Outcome
    analysis: str = ""
    reply: str | None = None
    cause: str = ""
    usage: Usage = Usage()
    backend: str = "scripted"

    def to_json(self) -> dict[str, Any]:
        """The reflection as a JSON object."""
        return {
            "prompt": self.prompt,
            "outcome": self.outcome,
            "analysis": self.analysis,
            "reply": self.reply,
            "cause": self.cause,
            "usage": self.usage.to_json(),
            "backend": self.backend,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reflection:
        """The inverse of `to_json`; further keys are ignored."""
        names = ("prompt", "outcome", "analysis", "reply", "cause", "backend")
        return cls(**{name: data[name] for name in names}, usage=Usage.from_json(data["usage"]))


def request_for(observation: str, settings: ReflectorSettings, seed: int) -> Request:
    """The call that asks for a new prompt; the same messages are the prompt of a training row."""
    return Request(
        messages=(Message("system", INSTRUCTIONS), Message("user", observation)),
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        seed=seed,
        tag="reflector",
    )


def prompt_in(text: str) -> str | None:
    """The new prompt in a reply: all that follows the last ``IMPROVED PROMPT:`` heading; None without one.

    A code fence around the whole of it is taken off; nothing else is changed.
    """
    return _prompt_after(text, list(_SECTION.finditer(text)))


def _prompt_after(text: str, headings: Sequence[re.Match[str]]) -> str | None:
    """What follows the last of the headings; None without one."""
    if not headings:
        return None
    prompt = text[headings[-1].end() :].strip()
    fenced = _FENCE.match(prompt)
    return fenced[1] if fenced else prompt


def reflection_of(reply: Reply, current: str) -> Reflection:
    """Reads a reply.

    Args:
        reply: What the model said.
        current: The prompt in force, kept where the reply has no other.
    """

    def kept(outcome: Outcome, cause: str, analysis: str = "") -> Reflection:
        return Reflection(current, outcome, analysis, reply.text, cause, reply.usage, reply.backend)

    if reply.text is None:
        outcome: Outcome = {"length": "cut", "refused": "refused", "empty": "empty"}.get(reply.absence or "", "error")  # type: ignore[assignment]
        return kept(outcome, reply.cause or f"the model gave no text ({reply.absence})")
    headings = list(_SECTION.finditer(reply.text))
    prompt = _prompt_after(reply.text, headings)
    before = reply.text[: headings[0].start()] if headings else reply.text
    analysis = _ANALYSIS.sub("", before, count=1).strip()
    if reply.cut:
        return kept("cut", "the reply ended at the token limit; a prompt cut in the middle is not used", analysis)
    if prompt is None:
        return kept("no-section", "the reply has no 'IMPROVED PROMPT:' section", analysis)
    if not prompt:
        return kept("empty", "the 'IMPROVED PROMPT:' section is empty", analysis)
    try:
        check_prompt(prompt)
    except BadInput as error:
        return kept("error", str(error), analysis)
    outcome = "unchanged" if prompt == current else "improved"
    return Reflection(prompt, outcome, analysis, reply.text, "", reply.usage, reply.backend)


async def reflect(
    model: ChatModel,
    observation: str,
    current: str,
    settings: ReflectorSettings,
    seed: int,
    deadline: float = 600.0,
) -> Reflection:
    """Asks for a better prompt; a call that fails or takes too long is an outcome, not an exception.

    Args:
        model: The reflector.
        observation: The meta-observation.
        current: The prompt in force.
        settings: How the seat asks.
        seed: Sampling seed of the call.
        deadline: Seconds for the call, retries and waiting included.

    Raises:
        BudgetExceeded, CacheMiss, StoreError: The run as a whole cannot go on.
    """
    try:
        async with asyncio.timeout(deadline) as timer:
            reply = await model.chat(request_for(observation, settings, seed))
    except FATAL:
        raise
    except (ChatError, TimeoutError) as error:
        late = f"the model did not answer within {deadline:g} s"
        cause = late if timer.expired() else f"{type(error).__name__}: {error}"
        return Reflection(current, "error", cause=cause, backend=model.backend)
    return reflection_of(reply, current)

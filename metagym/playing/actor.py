"""The actor's seat: from system prompt and history to a request, from a reply to a command.

The system message is the evolved prompt, byte for byte; everything fixed (how to answer, what the world is) stands in
the first user message. Neither is a format template: texts are joined, never interpolated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metagym.chat.types import Message, Reply, Request
from metagym.chat.wander import LIST_HEAD
from metagym.checks import flag, number, settle, whole
from metagym.families import AnswerForm

FORMAT = (
    "Answer with two lines and nothing else:\nThought: what you conclude from what you have seen\nAction: one command"
)
NO_ACTION = "Your answer held no action, so nothing happened. Write one line that starts with 'Action:'."
NO_ANSWER = "(no answer)"
"""The line above the legal actions, one behind a dash per line."""

# What stands before the word stays on its line: a reply of newlines alone, which small models fall into, would take
# quadratic time otherwise.
_ACTION = re.compile(r"^[ \t\r\xa0*_#>`-]*action[\s*_`]*:[\s*_]*(.*)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class ActorSettings:
    """How the actor's seat asks.

    Attributes:
        history: Number of past turns shown; None shows all, 0 none. The first message always stays.
        show_admissible: List the legal actions after each observation, where the environment has a list.
        choose: Ask the server to constrain the answer to the legal actions (no thought is written then).
        temperature: >= 0.
        max_tokens: Upper bound on one reply, in tokens.
        top_p: Sample from the most likely tokens that together have this probability (0 to 1); None leaves it to the
            model.
        top_k: Sample from so many of the most likely tokens, >= 1; None leaves it to the model.
    """

    history: int | None = None
    show_admissible: bool = True
    choose: bool = False
    temperature: float = 0.0
    max_tokens: int = 500
    top_p: float | None = None
    top_k: int | None = None

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "history", whole, 0, none=True)
        settle(self, "show_admissible", flag)
        settle(self, "choose", flag)
        settle(self, "temperature", number, 0)
        settle(self, "max_tokens", whole, 1)
        settle(self, "top_p", number, 0, 1, above=True, none=True)
        settle(self, "top_k", whole, 1, none=True)

    @cached_property
    def template(self) -> Request:
        """What the requests of the seat share; each turn puts its own messages, seed and choices in."""
        cuts = {"top_p": self.top_p, "top_k": self.top_k}
        return Request(
            messages=(Message("user", ""),),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            extra={name: value for name, value in cuts.items() if value is not None},
            tag="actor",
        )


_message = tuple.__new__  # builds a named tuple without its constructor, which would cost four times as much


class Conversation:
    """One episode as the actor sees it.

    Args:
        system_prompt: The evolved prompt; no system message is sent where it is empty.
        instructions: The family's paragraph on the world and its commands.
        settings: See `ActorSettings`.
        ask: How to answer.
    """

    def __init__(self, system_prompt: str, instructions: str, settings: ActorSettings, ask: str = FORMAT) -> None:
        self.settings = settings
        # system?, user, assistant, user, assistant, ...: the head (up to the first user message) is always sent.
        self._messages = [Message("system", system_prompt)] if system_prompt else []
        self._head = len(self._messages) + 1
        self._listing = settings.show_admissible
        parts = [part for part in (instructions, "" if settings.choose else ask) if part]
        self._preface = "\n\n".join([*parts, ""]) if parts else ""
        self._request = settings.template

    def observe(self, observation: str, admissible: Sequence[str] | None) -> None:
        """Adds what the environment said (and the legal actions)."""
        text = observation
        if admissible is not None and self._listing:
            text = f"{text}\n\n{LIST_HEAD}\n- " + "\n- ".join(admissible)
        if len(self._messages) < self._head:
            text = self._preface + text
        self._messages.append(_message(Message, ("user", text)))

    def answer(self, reply: str | None) -> None:
        """Adds what the model said."""
        self._messages.append(_message(Message, ("assistant", reply or NO_ANSWER)))

    def _window(self) -> tuple[Message, ...]:
        """The messages to send; user and assistant alternate after the system prompt in every window."""
        messages, head, keep = self._messages, self._head, self.settings.history
        if keep is None or len(messages) - head <= 2 * keep:
            return tuple(messages)
        if keep == 0:
            return (*messages[: head - 1], Message("user", messages[head - 1].content + "\n\n" + messages[-1].content))
        return (*messages[:head], *messages[-2 * keep :])

    def request(self, seed: int, admissible: Sequence[str] | None) -> Request:
        """The next call."""
        choices = tuple(admissible) if admissible and self.settings.choose else None
        return self._request.turn(self._window(), seed, choices)


def command_of(reply: Reply, admissible: Sequence[str] | None) -> str:
    """The command in a reply, before the family's cleaning rule; "" where there is none.

    1. The first line that starts with ``Action:`` (any case, Markdown marks allowed) holds it: later ones are turns
       that the model imagined.
    2. Without such a line: the first line that is a legal action, else the first non-empty line.

    Thoughts, reasoning and absent replies never reach the environment.
    """
    text = reply.text
    if text is None:
        return ""
    before, found, after = text.partition("\nAction: ")
    if found and after[:1].isalnum() and before.isascii() and "action" not in before.lower():
        return after.partition("\n")[0].strip().rstrip("*_")  # as the search would find it, at a quarter of its cost
    match = _ACTION.search(text)
    if match is not None:
        return match[1].strip().rstrip("*_")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if admissible is not None and len(lines) > 1:
        for line in lines:
            if line in admissible:
                return line
    if not lines or lines[0].lower().startswith("thought:"):
        return ""
    return lines[0]


LINES = AnswerForm(FORMAT, command_of, NO_ACTION)
"""How actors answer unless their family says otherwise."""


def thought_of(reply: str | None) -> str:
    """The text before the action line, for the reflector's view; "" where there is none."""
    if reply is None:
        return ""
    match = _ACTION.search(reply)
    before = reply[: match.start()] if match is not None else ""
    return re.sub(r"^\s*thought\s*:\s*", "", before, flags=re.IGNORECASE).strip()


def settings_from(options: dict[str, Any]) -> ActorSettings:
    """Takes the seat's settings out of keyword arguments; the rest stays in `options`."""
    names = ("history", "show_admissible", "choose", "temperature", "max_tokens", "top_p", "top_k")
    return ActorSettings(**{name: options.pop(name) for name in names if name in options})

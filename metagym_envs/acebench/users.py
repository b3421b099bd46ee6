"""Who plays the user of a dialogue: a chat model, or a script that is told as such and compares with nothing."""

from __future__ import annotations

import re
from typing import Protocol

from metagym.answers import visible
from metagym.chat import ChatModel, Message, Request
from metagym.errors import ChatError, HostError
from metagym.playing import sync
from metagym.playing.rival import shared_model
from metagym.seeding import derive

SCRIPTED = "scripted"
FINISH = "finish conversation"
OPENS = "Is there anything I can do for you today?"


class User(Protocol):
    """The user's side of one dialogue."""

    def say(self, heard: str) -> str:
        """What the user says to what the agent said."""


class ScriptedUser:
    """Tells all that it wants at once, repeats it when asked, and ends when the agent says that it is done.

    It understands nothing: it is there so that dialogues can be played without a model.

    Args:
        instruction: What the user is told.
    """

    def __init__(self, instruction: str) -> None:
        self._wants = " ".join(_sentences(instruction))
        self._told = 0

    def say(self, heard: str) -> str:
        """See `User`."""
        if self._told and ("?" not in heard or self._told > 3):
            return FINISH
        self._told += 1
        return self._wants if self._told == 1 else f"I can only repeat myself: {self._wants}"


_ABOUT_ITSELF = re.compile(r"\b(?:respond|proactively|unsolicited|only answer)\b", re.IGNORECASE)


def _sentences(instruction: str) -> list[str]:
    """An instruction without what it says of how to behave."""
    found = [part for part in re.split(r"(?<=[.!?])\s+", instruction) if not _ABOUT_ITSELF.search(part)]
    return found or [instruction]


class ModelUser:
    """A chat model that plays the user.

    Args:
        spec: Its model spec.
        system: What it is told: rules and instruction.
        temperature: >= 0.
        seed: Of its samples in this dialogue.
    """

    def __init__(self, spec: str, system: str, temperature: float, seed: int) -> None:
        self._model, self._temperature, self._seed = model(spec), temperature, seed
        self._messages = [Message("system", system)]

    def say(self, heard: str) -> str:
        """See `User`.

        Raises:
            HostError: The dialogue runs in the thread of the event loop, which cannot wait for the model.
            ChatError: The model failed, or gave no text where that cannot be what the agent said: it would be the
                agent's failure.
        """
        self._messages.append(Message("user", heard))
        request = Request(
            messages=tuple(self._messages),
            temperature=self._temperature,
            max_tokens=4_000,  # a line, and room for models that think before they say it
            seed=derive(self._seed, "user", len(self._messages)),
            tag="user",
        )
        try:
            reply = sync.run(self._model.chat(request))
        except RuntimeError as error:
            raise HostError("a model as user needs hosts='thread' or 'process', not 'inline'") from error
        said = visible(reply.text or "").strip()
        if not said and (len(self._messages) == 2 or reply.absence in ("length", "error")):
            why = reply.cause or reply.absence or "only thinking"
            raise ChatError(f"{self._model.id}, which plays the user, gave no text ({why}); take another model as user")
        said = said or FINISH  # nothing to say is nothing left to ask for
        self._messages.append(Message("assistant", said))
        return said


def model(spec: str) -> ChatModel:
    """One model for all dialogues of a process."""
    return shared_model(spec, "user")

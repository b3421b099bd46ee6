"""A chat model in another seat of an environment, asked in the very way in which the actor is.

It gets the same instructions, the same texts and the same lists of legal moves as the actor, and its commands go
through the same cleaning rule. Its calls wait in the thread of the environment; they run on MetaGym's own event loop.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from metagym.chat import load
from metagym.chat.specs import parse_spec
from metagym.chat.types import ChatModel
from metagym.errors import BadInput, HostError, SpecError
from metagym.families import Cleaned, clean_command
from metagym.playing import sync
from metagym.playing.actor import LINES, ActorSettings, Conversation
from metagym.seeding import derive

TRIES = 3
"""Answers without a command before the rival's move counts as one that the rules forbid."""


@dataclass(frozen=True)
class Rival:
    """Who sits in the other seat, where that is a model.

    Attributes:
        spec: Its model spec.
        temperature: >= 0.
        max_tokens: Longest reply.
    """

    spec: str
    temperature: float = 0.0
    max_tokens: int = 500

    def __post_init__(self) -> None:
        """Checks spec and settings.

        Raises:
            SpecError, BadInput: One is not usable.
        """
        if not isinstance(self.spec, str):
            raise SpecError(f"a rival is named by the spec of a model, got {type(self.spec).__name__}")
        if parse_spec(self.spec).scheme in ("rules", "random"):
            raise BadInput(f"a rival is a chat model, and {self.spec!r} is a stand-in of the actor's seat")
        self.settings()

    def settings(self) -> ActorSettings:
        """How it is asked."""
        return ActorSettings(temperature=self.temperature, max_tokens=self.max_tokens)


class RivalSeat:
    """One episode of a rival.

    Args:
        rival: Who it is.
        seed: Of its samples in this episode.
        instructions: The family's paragraph on the world and its commands.
        clean: The family's cleaning rule.
        forbidden: What `move` gives after `TRIES` answers without a command: a move that the rules forbid.
    """

    def __init__(
        self,
        rival: Rival,
        seed: int,
        instructions: str,
        clean: Callable[[str, Sequence[str] | None], Cleaned] = clean_command,
        forbidden: str = "",
    ) -> None:
        self._model = shared_model(rival.spec)
        self._conversation = Conversation("", instructions, rival.settings(), LINES.ask)
        self._clean, self._forbidden = clean, forbidden
        self._seed, self._asked = seed, 0

    def move(self, text: str, legal: Sequence[str] | None) -> str:
        """Its move.

        Args:
            text: What its seat reads.
            legal: The legal moves, where the environment lists them.

        Returns:
            A cleaned command.

        Raises:
            HostError: The environment runs in the thread of the event loop, which cannot wait for the model.
            ChatError: The model failed.
        """
        for _ in range(TRIES):
            self._conversation.observe(text, legal)
            request = self._conversation.request(derive(self._seed, "rival", self._asked), legal)
            self._asked += 1
            if sync.inside():
                raise HostError("a model in the other seat needs hosts='thread' or 'process', not 'inline'")
            reply = sync.run(self._model.chat(request))
            self._conversation.answer(reply.text)
            command = self._clean(LINES.read(reply, legal), legal).command if reply.text is not None else ""
            if command:
                return command
            text = LINES.absent
        return self._forbidden


def shared_model(spec: str, seat: str = "rival") -> ChatModel:
    """One model for all episodes of a process, also for those that begin at once: its limits are meant for all of them.

    Args:
        spec: Its spec.
        seat: Which stand-in the spec ``rules`` would mean.
    """
    with _lock:
        return _loaded(spec, seat)


@cache  # one that was dropped would leave its connections open
def _loaded(spec: str, seat: str) -> ChatModel:
    return load(spec, seat=seat)


_lock = threading.Lock()


def _forget() -> None:
    """In a fork another thread may have held the lock."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)

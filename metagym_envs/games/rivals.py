"""A chat model in the other seat, asked in the very way in which the actor is.

It gets the same instructions, the same texts and the same lists of legal moves as the actor, and its commands go
through the same cleaning rule. Its calls wait in the thread of the game; they run on MetaGym's own event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from metagym.chat import load
from metagym.chat.specs import parse_spec
from metagym.chat.types import ChatModel
from metagym.errors import HostError
from metagym.playing import sync
from metagym.playing.actor import LINES, ActorSettings, Conversation
from metagym.seeding import derive
from metagym_envs.games.text import INSTRUCTIONS, clean

TRIES = 3
"""Answers without a command before the rival's move counts as one that the rules forbid."""

FORBIDDEN_MOVE = "[]"


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
        parse_spec(self.spec)
        self.settings()

    def settings(self) -> ActorSettings:
        """How it is asked."""
        return ActorSettings(temperature=self.temperature, max_tokens=self.max_tokens)


class RivalSeat:
    """One game of a rival.

    Args:
        rival: Who it is.
        seed: Of its samples in this game.
    """

    def __init__(self, rival: Rival, seed: int) -> None:
        self._model = _model(rival.spec)
        self._conversation = Conversation("", INSTRUCTIONS, rival.settings(), LINES.ask)
        self._seed, self._asked = seed, 0

    def move(self, text: str, legal: Sequence[str] | None) -> str:
        """Its move.

        Args:
            text: What its seat reads.
            legal: The legal moves, where the game lists them.

        Returns:
            A move in square brackets; one that the rules forbid after `TRIES` answers without any.

        Raises:
            HostError: The game runs in the thread of the event loop, which cannot wait for the model.
            ChatError: The model failed.
        """
        for _ in range(TRIES):
            self._conversation.observe(text, legal)
            request = self._conversation.request(derive(self._seed, "rival", self._asked), legal)
            self._asked += 1
            try:
                reply = sync.run(self._model.chat(request))
            except RuntimeError as error:
                raise HostError("a model in the other seat needs hosts='thread' or 'process', not 'inline'") from error
            self._conversation.answer(reply.text)
            command = clean(LINES.read(reply, legal), legal).command if reply.text is not None else ""
            if command:
                return command
            text = LINES.absent
        return FORBIDDEN_MOVE


@lru_cache(maxsize=8)
def _model(spec: str) -> ChatModel:
    """One model for all games of a process."""
    return load(spec, seat="rival")

"""The policy on SPADE's seats: one recorder per design and per play, so that every sampled id is there to train on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from metagym.chat.types import Backend, ChatModel, Reply, Request
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.spade.hosts import PlayerSettings, ProgramHost, ProgramPlayer, Stage
from metagym_trainers.policies import Policy, Sample
from metagym_trainers.recording import Limits, Recorder, Template

T = TypeVar("T")
Gather = Callable[[Iterable[Coroutine[Any, Any, Any]]], Awaitable[list[Any]]]
"""Runs coroutines at once and gives one result or exception for each: `LocalPolicy.gather`, or `at_once`."""

PlayKey = tuple[str, bool, int, int]
"""Program digest, hinted, seed of the reset, seed of the sampling: one play."""


async def at_once(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
    """Runs coroutines at once, for policies that serve each request as it comes."""
    return list(await asyncio.gather(*coroutines, return_exceptions=True))


async def only(gather: Gather, coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs one coroutine through `gather`; what it raises is raised."""
    [found] = await gather([coroutine])
    if isinstance(found, BaseException):
        raise found
    result: T = found
    return result


@dataclass(frozen=True)
class Recording:
    """One play with the ids that the policy sampled in it.

    Attributes:
        recorder: Holds the ids.
        episode: What happened.
    """

    recorder: Recorder
    episode: Episode


@dataclass
class Booth:
    """Where the policy sits and what of it is recorded.

    Attributes:
        policy: Who samples; None until the trainer is there.
        template: Of the policy's tokenizer.
        limits: Of the rows.
        gather: How episodes are run at once.
        plays: The plays of the present generation.
    """

    template: Template
    policy: Policy | None = None
    limits: Limits = Limits()
    gather: Gather = at_once
    plays: dict[PlayKey, Recording] = field(default_factory=dict)

    def recorder(self, seed: int) -> Recorder:
        """A recorder for one episode.

        Raises:
            BadInput: There is no policy yet.
        """
        if self.policy is None:
            raise BadInput("the core has no policy yet: bind(policy) it before it generates")
        return Recorder(self.policy, self.template, seed=seed, limits=self.limits)

    def dictation(self, text: str) -> Recorder:
        """A recorder that is told what the policy says, for edits: the row is as if it had been sampled."""
        if self.policy is None:
            raise BadInput("the core has no policy yet: bind(policy) it before it generates")
        ids = (*self.template.encode(text), *self.template.closing_ids[:1])
        return Recorder(_Dictated(self.policy.temperature, ids), self.template, limits=self.limits)

    async def staging(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the work on a program; until its plays have begun it counts as busy.

        A policy that serves all who wait at once must not go ahead while a program is still being loaded: what is
        sampled together would be a matter of timing.
        """
        event = asyncio.Event()

        async def ending() -> T:
            _begun.set(event)
            try:
                return await work
            finally:
                event.set()

        async def beginning() -> None:
            await event.wait()

        done, _ = await asyncio.gather(ending(), only(self.gather, beginning()), return_exceptions=True)
        if isinstance(done, BaseException):
            raise done
        return done


@dataclass(frozen=True)
class _Dictated:
    """Says what it was told; nobody knows how likely that was."""

    temperature: float
    ids: tuple[int, ...]

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        return Sample(self.ids[:max_tokens], None, len(self.ids) > max_tokens)


_begun: ContextVar[asyncio.Event | None] = ContextVar("begun", default=None)
"""Set once a play of the program that the present task works on has begun."""


class PolicySeat:
    """The policy as a chat model that is not recorded, at its own temperature whatever is asked for: it writes hints.

    Args:
        booth: Where the policy sits.
    """

    def __init__(self, booth: Booth) -> None:
        self._booth = booth

    @property
    def id(self) -> str:
        """Its name."""
        return "policy"

    @property
    def backend(self) -> Backend:
        """A model in training."""
        return "local"

    async def chat(self, request: Request) -> Reply:
        """Answers one request; see `metagym_trainers.recording.Recorder.chat` for the errors."""
        policy = self._booth.policy
        asked = request if policy is None else replace(request, temperature=policy.temperature)
        return await self._booth.recorder(request.seed or 0).chat(asked)


class RecordingPlayer(ProgramPlayer):
    """Plays programs with a recorder of its own for every episode.

    Args:
        settings: How the agent plays.
        keep: See `ProgramPlayer`.
        booth: Where the policy sits; takes the recordings.
    """

    def __init__(
        self,
        settings: PlayerSettings | None = None,
        keep: Callable[[Episode, str | None, int], None] | None = None,
        *,
        booth: Booth,
    ) -> None:
        super().__init__(settings, keep)
        self._booth = booth

    async def episode(
        self, program: Stage, seed: int, hint: str | None, model: ChatModel, sampling_seed: int, host: ProgramHost
    ) -> Episode:
        """See `ProgramPlayer.episode`; `model` only says that the policy sits on the agent's seat."""
        booth = self._booth
        if (begun := _begun.get()) is not None:
            begun.set()
        recorder = booth.recorder(sampling_seed)
        played = await only(booth.gather, super().episode(program, seed, hint, recorder, sampling_seed, host))
        booth.plays[program.program.digest, hint is not None, seed, sampling_seed] = Recording(recorder, played)
        return played

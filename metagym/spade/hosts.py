"""Where a program is played: a session of its confined worker is a host of `metagym.play`, and plays are outcomes.

All plays of a program share one worker; each has a session of its own, opened anew (the module's body runs again), so
plays share no state. What several plays ask in one turn of the event loop travels as one message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from metagym.chat.scripted import Scripted, scripted
from metagym.chat.types import ChatModel, Request
from metagym.checks import settle, whole
from metagym.episodes import Episode, Repair, Status
from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled, SandboxError
from metagym.families import Family
from metagym.playing.actor import ActorSettings
from metagym.playing.hosts import Host, Transition, checked_reset, checked_step
from metagym.playing.runner import PlaySettings, play_async
from metagym.sandbox import Limits, SandboxPool, load_async
from metagym.spade.hints import Secret, inject
from metagym.spade.outcomes import Failure, Outcome
from metagym.spade.program import EnvProgram, shown_info
from metagym.spade.seats import family_for, task_of
from metagym.tasks import Task

AT_ONCE = 32
"""Plays of one program at a time; the sandbox keeps at most 64 sessions of a program."""


@dataclass
class Knowledge:
    """What a scripted stand-in is told of its play, and no model ever is.

    Attributes:
        program: What is played.
        seed: The seed of the reset.
        hint: The hint of this play, None in the plain arm.
        sampling_seed: Decides the stand-in's draws.
        solution: The actions that solve the seed; filled in when the episode begins, [] where nobody knows.
    """

    program: EnvProgram
    seed: int
    hint: str | None
    sampling_seed: int
    solution: list[str] = field(default_factory=list)


@runtime_checkable
class Insider(Protocol):
    """A scripted agent that knows the solution: for tests and demonstrations, never a model.

    Attributes:
        id: Its name and settings.
        backend: Always ``scripted``.
    """

    @property
    def id(self) -> str:
        """Name and settings."""
        ...

    def policy(self, known: Knowledge) -> Callable[[Request], str]:
        """What answers the requests of one play."""
        ...


class Handle(Protocol):
    """A loaded program, in a sandbox of this machine (`metagym.sandbox.AsyncProgram`) or of another one."""

    async def reset(self, seed: int = 0, session: int = 0, *, fresh: bool = False) -> Any:
        """Starts an episode; observation and info."""
        ...

    async def step(self, action: Any, session: int = 0) -> Any:
        """One step: observation, reward, terminated, truncated, info."""
        ...

    async def ask(self, method: str, *arguments: Any, session: int = 0) -> Any:
        """What a public method of the program's class returns."""
        ...


class Stage:
    """A loaded program with the sessions of its plays. Made by `staged`.

    Attributes:
        program: What its text says.
        handle: The program in its worker.
        family: As a family of tasks.
        killed: Why the worker is gone; None while it lives.
    """

    def __init__(self, program: EnvProgram, handle: Handle, family: Family) -> None:
        self.program, self.handle, self.family = program, handle, family
        self.killed: ProgramKilled | None = None
        self.gate = asyncio.Semaphore(AT_ONCE)
        self.sessions = list(range(AT_ONCE, 0, -1))  # session 0 is for questions

    async def solution(self, observation: str, session: int) -> list[str]:
        """The actions that solve the episode which the session just began; [] where the program cannot tell.

        A program with a `reference_policy` alone is asked step by step in the very session, so that its episode is
        over afterwards: begin it again.
        """
        actions: list[str] = []
        if "solution" in self.program.methods:
            found = await self.handle.ask("solution", session=session)
            return list(found) if isinstance(found, list) and all(isinstance(item, str) for item in found) else []
        for _ in range(self.program.max_steps):
            state = await self.handle.ask("state", session=session) if "state" in self.program.methods else None
            action = await self.handle.ask("reference_policy", observation, state, session=session)
            if not isinstance(action, str):
                return []
            actions.append(action)
            observation, _, terminated, truncated, _ = await self.handle.step(action, session)
            if terminated or truncated:
                break
        return actions

    async def secrets(self, seeds: list[int]) -> list[Secret]:
        """What a hint for these seeds must not give away; seeds that the program has no solution for are left out."""
        found = await asyncio.gather(*(self._secret(seed) for seed in seeds), return_exceptions=True)
        for item in found:
            if isinstance(item, BaseException) and not isinstance(item, SandboxError):
                raise item
        known = [item for item in found if isinstance(item, Secret) and item.solution]
        return [replace(one, others=[two.solution for two in known if two is not one][:15]) for one in known]

    async def _secret(self, seed: int) -> Secret:
        async with self.gate:
            session = self.sessions.pop()
            try:
                observation, _ = await self.handle.reset(seed, session, fresh=True)
                return Secret(await self.solution(observation, session), observation=str(observation))
            finally:
                self.sessions.append(session)


@asynccontextmanager
async def staged(
    program: EnvProgram, pool: SandboxPool | None = None, *, max_steps: int | None = None, limits: Limits | None = None
) -> AsyncIterator[Stage]:
    """Loads a program for playing and ends its worker afterwards.

    Args:
        program: The program.
        pool: Where it runs; None for the shared one.
        max_steps: The agent's own cap on steps.
        limits: Of the worker.

    Raises:
        SandboxError: It cannot be loaded.
    """
    async with await load_async(program.source, limits=limits, pool=pool) as handle:
        yield await stage_of(program, handle, max_steps)


async def stage_of(program: EnvProgram, handle: Handle, max_steps: int | None = None) -> Stage:
    """The stage of a program that is loaded already; its tools are asked of it."""
    tools: list[Any] = []
    if program.has_tools:
        await handle.reset(0)
        told = await handle.ask("tools")
        tools = told if isinstance(told, list) else []
    return Stage(program, handle, family_for(program, max_steps, tools))


class ProgramHost:
    """One play of a program.

    Args:
        stage: The loaded program.
        hint: Stands under the first observation; None for the plain arm.
        known: To be told the solution; None for everybody but stand-ins.

    Attributes:
        failure: What failed on the program's side; None for nothing.
    """

    def __init__(self, stage: Stage, hint: str | None = None, known: Knowledge | None = None) -> None:
        self._stage, self._hint, self._known = stage, hint, known
        self._session, self._seed = 0, 0
        self._task: Task | None = None
        self.failure: Failure | None = None

    async def open(self, task: Task) -> None:
        """See `metagym.playing.Host`."""
        self._task, self._seed = task, task.seed
        self._session = self._stage.sessions.pop()

    async def reset(self) -> tuple[str, Mapping[str, Any]]:
        """Begins the episode; of the program's info only harmless numbers come through."""
        assert self._task is not None
        try:
            begun = await self._stage.handle.reset(self._seed, self._session, fresh=True)
            if self._known is not None:
                self._known.solution = await self._solution(begun[0])
                if "solution" not in self._stage.program.methods:
                    begun = await self._stage.handle.reset(self._seed, self._session, fresh=True)
            observation, info = checked_reset(self._task, begun)
        except Exception as error:
            self._note(error)
            raise
        return inject(observation, self._hint), shown_info(info)

    async def step(self, action: str) -> Transition:
        """See `metagym.playing.Host`."""
        try:
            found = await self._stage.handle.step(action, self._session)
            if found[0].__class__ is not str:  # all else the sandbox has checked
                checked_step(self._task, found)  # type: ignore[arg-type]
        except Exception as error:
            self._note(error)
            raise
        observation, reward, terminated, truncated, info = found
        return Transition(observation, reward, terminated, truncated, shown_info(info) if info else info)

    async def close(self) -> None:
        """Gives the session back; the next play of its number opens it anew."""
        if self._session:
            self._stage.sessions.append(self._session)
            self._session = 0

    async def _solution(self, observation: Any) -> list[str]:
        try:
            return await self._stage.solution(str(observation), self._session)
        except (ProgramError, BadOutput, BadInput):
            return []

    def _note(self, error: Exception) -> None:
        if isinstance(error, ProgramKilled):
            self._stage.killed = self._stage.killed or error
        self.failure = "timeout" if isinstance(error, ProgramKilled) and error.limit == "wall" else "env_error"


class _OneHost:
    """A pool of the single host that a play needs."""

    def __init__(self, host: ProgramHost) -> None:
        self._host = host

    def host(self, family: Family) -> Host:
        return self._host

    async def close(self) -> None:
        return


@dataclass(frozen=True)
class PlayerSettings:
    """How the agent plays.

    Attributes:
        max_steps: Its cap on steps; None leaves each program's own.
        model_deadline: Seconds for one model call.
        seat: How it is asked.
        system_prompt: Its system prompt.
    """

    max_steps: int | None = 25
    model_deadline: float = 600.0
    seat: ActorSettings = ActorSettings(temperature=0.6)
    system_prompt: str = ""

    def __post_init__(self) -> None:
        """Checks the cap; the play settings check the rest."""
        settle(self, "max_steps", whole, 1, none=True)


class ProgramPlayer:
    """Plays a staged program once per call: the player of `metagym.spade.regret.estimate_regret`.

    A failure of the program, of its limits or of the agent's model is typed in the outcome. Where the worker was ended,
    which other plays had come to their end is a matter of timing, so that whoever asks treats all of them as failed:
    see `settled`.

    Args:
        settings: How the agent plays.
        keep: Given every episode with the hint and the sampling seed of its play, as it ends.
    """

    def __init__(
        self,
        settings: PlayerSettings | None = None,
        keep: Callable[[Episode, str | None, int], None] | None = None,
    ) -> None:
        self.settings = settings or PlayerSettings()
        self._keep = keep
        self._play = PlaySettings(model_deadline=self.settings.model_deadline, max_failures=1.0)

    async def __call__(self, program: Stage, seed: int, hint: str | None, agent: Any, sampling_seed: int) -> Outcome:
        """See `metagym.spade.outcomes.Player`; `program` is a `Stage`, `agent` a model or an `Insider`."""
        known: Knowledge | None = None
        model: ChatModel | Any = agent
        if not isinstance(agent, Scripted) and isinstance(agent, Insider):  # the second question is a slow one
            known = Knowledge(program.program, seed, hint, sampling_seed)
            model = scripted(agent.policy(known), id=agent.id)
        async with program.gate:
            host = ProgramHost(program, hint, known)
            episode = await self.episode(program, seed, hint, model, sampling_seed, host)
        if self._keep is not None:
            self._keep(episode, hint, sampling_seed)
        return outcome_of(episode, seed, host.failure)

    async def episode(
        self, program: Stage, seed: int, hint: str | None, model: ChatModel, sampling_seed: int, host: ProgramHost
    ) -> Episode:
        """Plays one episode on its host; the way in for players that record what the model samples.

        Args:
            program: The staged program; one of its sessions is this play's.
            seed: Of the reset.
            hint: What the host shows under the first observation; None in the plain arm.
            model: Who plays.
            sampling_seed: Decides the model's draws.
            host: Where it is played.
        """
        [episode] = await play_async(
            [task_of(program.program, seed)],
            model,
            system_prompt=self.settings.system_prompt,
            family=program.family,
            hosts=_OneHost(host),
            seed=sampling_seed,
            seat=self.settings.seat,
            settings=self._play,
        )
        return episode


def outcome_of(episode: Episode, seed: int, failure: Failure | None = None) -> Outcome:
    """What an episode came to.

    Args:
        episode: The play.
        seed: Its seed.
        failure: What the host says failed; an error that it does not know of is the agent's.
    """
    invalid = episode.count(Repair.ABSENT) + episode.count(Repair.INVALID)
    if episode.status in (Status.ERROR, Status.UNSCORED):
        return Outcome(seed, failure=failure or "agent_error", steps=episode.steps, invalid=invalid)
    return Outcome(seed, ret=episode.ret, success=episode.success, steps=episode.steps, invalid=invalid)


def settled(outcomes: list[Outcome], killed: ProgramKilled | None) -> list[Outcome]:
    """The outcomes of a program's plays; where its worker was ended, all of them failed alike.

    Which plays ended before the worker did depends on timing, and records must not.
    """
    if killed is None:
        return outcomes
    failure: Failure = "timeout" if killed.limit == "wall" else "env_error"
    return [Outcome(one.seed, one.repeat, one.arm, failure=failure) for one in outcomes]

"""ICT as a PettingZoo environment (Parallel): one reflector and k actors, each a policy of the caller's."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Generator, Iterable, Mapping, Sequence
from typing import Any

from metagym import chat
from metagym.chat.types import Backend
from metagym.checks import shown
from metagym.episodes import Episode, Status, Turn
from metagym.errors import BadInput
from metagym.extras import require
from metagym.families import Family, as_written
from metagym.ict.env import ICTEnv
from metagym.playing import sync
from metagym.playing.hosts import Host
from metagym.playing.runner import MAX_PROMPT, check_failures
from metagym.spaces import FreeText
from metagym.tasks import Task

require("pettingzoo", "pettingzoo")

from pettingzoo import ParallelEnv  # noqa: E402 - after the sentence that says which extra it is

REFLECTOR = "reflector_0"
NOTHING_YET = "The first batch is being played."
_MODELS_OWN = ("actor", "history", "show_admissible", "choose", "temperature", "max_tokens", "model_deadline")


class _Batch:
    """What the meta-environment waits for: the episodes of a batch, which are played from outside."""

    def __init__(self, phase: str, tasks: Sequence[Task], prompt: str) -> None:
        self.phase, self.tasks, self.prompt = phase, tasks, prompt

    def __await__(self) -> Generator[_Batch, list[Episode], list[Episode]]:
        return (yield self)


class _Seat:
    """One actor's place at one task."""

    def __init__(self, env: ICTEnv, host: Host, task: Task) -> None:
        self.host, self.task, self.family = host, task, env.family
        self.cap = env.settings.max_steps or env.family.max_steps
        self.clean = env.family.clean if env.settings.clean else as_written
        self.backend, self.keep_legal = env.model.backend, env.settings.keep_admissible
        self.turns: list[Turn] = []
        self.observation = ""
        self.info: Mapping[str, Any] = {}
        self.reward = 0.0
        self.status: Status | None = None  # while it plays
        self.cause = ""

    async def open(self) -> None:
        """Opens the task; a failure ends the episode, not the batch."""
        try:
            await self.host.open(self.task)
            self.observation, self.info = await self.host.reset()
        except (Exception, SystemExit) as error:
            await self._end(Status.ERROR, f"{type(error).__name__}: {error}")

    async def act(self, action: str) -> None:
        """Takes a command, by the rules of the plain task environment."""
        legal = self.info.get("admissible")
        command, repair = self.clean(action, legal)
        before, self.reward = self.observation, 0.0
        terminated = truncated = False
        if command:
            try:
                found = await self.host.step(command)
            except (Exception, SystemExit) as error:
                await self._end(Status.ERROR, f"{type(error).__name__}: {error}")
                return
            self.observation, self.reward, terminated, truncated, self.info = found
        capped = len(self.turns) + 1 >= self.cap and not terminated
        cut = (truncated or capped) and not terminated
        kept = tuple(legal) if self.keep_legal and legal is not None else None
        self.turns.append(Turn(before, action, command, self.reward, terminated, cut, repair, None, kept))
        if terminated:
            await self._end(Status.OK)
        elif cut:
            await self._end(Status.TRUNCATED, "step cap" if capped else "environment limit")

    async def _end(self, status: Status, cause: str = "") -> None:
        self.status, self.cause = status, cause
        await self.host.close()

    @property
    def acts(self) -> bool:
        """Whether its episode goes on."""
        return self.status is None

    def episode(self) -> Episode:
        """The episode, once it is over."""
        assert self.status is not None
        ret = math.fsum(turn.reward for turn in self.turns)
        terminated = bool(self.turns) and self.turns[-1].terminated
        success = None if self.status is Status.ERROR else self.family.success(self.info, ret, terminated)
        turns, last = tuple(self.turns), self.observation
        return Episode(self.task, turns, last, ret, success, self.status, self.cause, backend=self.backend)

    def told(self) -> dict[str, Any]:
        """What the actor's info tells of the episode."""
        last = self.turns[-1] if self.turns else None
        told: dict[str, Any] = {
            "task": self.task.id,
            "terminated": last is not None and last.terminated,
            "truncated": last is not None and last.truncated,
            "success": None if self.acts else self.episode().success,
            "action": "" if last is None else last.action,
            "repair": None if last is None else last.repair.value,
        }
        if self.info.get("admissible") is not None:
            told["admissible"] = tuple(self.info["admissible"])
        if self.cause:
            told["cause"] = self.cause
        return told


class ParallelICT(ParallelEnv):
    """A reflector and k actors who learn together, or apart.

    ## Description
    The actors ``actor_0`` to ``actor_<k-1>`` play the tasks of a batch, one each; between two batches ``reflector_0``
    writes their next system prompt. All that decides a meta-episode (tasks, phases, rewards, what the reflector sees)
    is `metagym.ict.env.ICTEnv`; here the actors are agents and no model is called.

    ## Observation
    `FreeText`: for an actor what its game says; for the reflector the prompt in force and the last batch, turn by turn.

    ## Actions
    `FreeText`: for an actor one command, by the rules of the plain task environment (`metagym.playing.task_env`); for
    the reflector the whole new prompt. All live agents are asked at every step, as PettingZoo does; ``acts`` in an
    agent's info tells whose action counts. The reflector's counts at the border of two batches alone; an actor's does
    not count there, nor after its game has ended, while others still play.

    ## Rewards
    An actor gets its game's rewards. The reflector gets the reward of ICT when the last game of the batch (and of its
    replay) has ended: 0.0 at all other steps, and nothing for the first batch, which plays under the starting prompt.

    ## Episode end
    All agents are truncated together, after ``meta_turns`` prompts. The end of a game ends no agent: ``terminated``,
    ``truncated`` and ``success`` of it stand in the actor's info. After a replay the games of the next batch begin at
    once; how the last ones ended stands under ``final``.

    ## Arguments
    * ``family``, ``batch_size`` (k), ``meta_turns``, ``reward`` and all others of `ICTEnv` but those of the actor's
      model.
    * ``backend``: what plays the actors, for the label of every table: ``scripted``, ``local`` or ``server``.

    ## Source
    *Training Language Agents to Learn from Experience* (arXiv 2605.20477); the Parallel API of PettingZoo.
    """

    metadata = {"name": "ict_v0", "render_modes": ["ansi"], "is_parallelizable": True}

    def __init__(self, family: str | Family, batch_size: int = 5, backend: Backend = "local", **options: Any) -> None:
        for name in _MODELS_OWN:
            if name in options:
                raise BadInput(f"{name} belongs to the model of an actor, and the actors are agents here: leave it out")
        actor = chat.scripted(_nobody, id="agents", backend=backend)
        self.ict = ICTEnv(family, actor=actor, batch_size=batch_size, **options)
        self.ict.player = self._player
        self.render_mode = self.ict.render_mode
        self.actors = [f"actor_{number}" for number in range(self.ict.batch_size)]
        self.possible_agents = [REFLECTOR, *self.actors]
        self.agents: list[str] = []
        # One space object per agent and environment: a wrapper seeds it and expects to find it again.
        self._observations = {name: FreeText() for name in self.possible_agents}
        self._actions = {name: FreeText() for name in self.actors} | {REFLECTOR: FreeText(MAX_PROMPT)}
        self._walk: Coroutine[Any, Any, Any] | None = None  # of the meta-environment, from one border to the next
        self._batch: _Batch | None = None
        self._seats: list[_Seat] = []
        self._meta: tuple[str, dict[str, Any]] = (NOTHING_YET, {})

    def observation_space(self, agent: str) -> FreeText:
        """The space of an agent's observations; always the same object."""
        return self._observations[agent]

    def action_space(self, agent: str) -> FreeText:
        """The space of an agent's actions; always the same object."""
        return self._actions[agent]

    @property
    def acting(self) -> list[str]:
        """The agents whose next action counts: the actors whose games go on, or the reflector at a border."""
        if self._walk is None:
            return [REFLECTOR] if self.agents else []
        return [name for name, seat in zip(self.actors, self._seats, strict=True) if seat.acts]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """Starts a meta-episode: the actors see their first games.

        Args:
            seed: Decides tasks and order; None continues the environment's own sequence.
            options: ``tasks`` (exactly k) and ``system_prompt``, as for `ICTEnv`; others are passed over, since
                PettingZoo's own test hands in options that no environment knows.

        Raises:
            BadInput, UnknownName: The seed or an option is not usable.
            TooManyFailures: More games failed at once than ``max_failures`` allows.
        """
        known = {name: value for name, value in (options or {}).items() if name in ("tasks", "system_prompt")}
        self._leave()
        self.agents, self._meta = list(self.possible_agents), (NOTHING_YET, {})
        try:
            self._go(self.ict.areset(seed=seed, options=known))
        except BaseException:
            self.agents = []
            raise
        return self._observe(), self._infos()

    def step(
        self, actions: Mapping[str, str]
    ) -> tuple[
        dict[str, str],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Takes an action of each agent; those of agents that wait are passed over and may be left out.

        Raises:
            BadInput: The action of an agent that acts is missing, no text, or an unusable prompt; nothing happened.
            TasksExhausted, TooManyFailures: As for `ICTEnv`; the reflector may try again.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        acting = self.acting
        for name in acting:
            if not isinstance(actions.get(name), str):
                raise BadInput(f"the action of {name} is text, got {shown(actions.get(name))}")
        paid: float | None = None
        rewards, seats = dict.fromkeys(self.agents, 0.0), self._seats
        if acting == [REFLECTOR]:
            paid = self._go(self.ict.astep(actions[REFLECTOR]))
        else:
            moved = {name: self._seats[self.actors.index(name)] for name in acting}
            _together(seat.act(actions[name]) for name, seat in moved.items())
            rewards |= {name: seat.reward for name, seat in moved.items()}
            if not any(seat.acts for seat in self._seats):
                paid = self._send([seat.episode() for seat in self._seats])
        if paid is not None:
            rewards[REFLECTOR] = paid
        over = self._walk is None and self.ict.turn >= self.ict.meta_turns
        found = self._observe(), rewards, dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, over)
        infos = self._infos()
        if self._seats is not seats and acting != [REFLECTOR]:  # a replay is over and the batch has begun
            for name, seat in zip(self.actors, seats, strict=True):
                infos[name]["final"] = {**seat.told(), "observation": seat.observation}
        if over:
            self.agents = []
        return *found, infos

    async def _player(self, phase: str, tasks: Sequence[Task], prompt: str) -> list[Episode]:
        """What `ICTEnv` calls to have a batch played."""
        if len(tasks) != len(self.actors):
            raise BadInput(f"{len(self.actors)} actors play {len(self.actors)} tasks, got {len(tasks)}")
        episodes = await _Batch(phase, tasks, prompt)
        check_failures(episodes, self.ict.settings.max_failures)
        return episodes

    def _go(self, walk: Coroutine[Any, Any, Any]) -> float | None:
        self._walk = walk
        return self._send(None)

    def _send(self, episodes: list[Episode] | None) -> float | None:
        """Walks the meta-environment to the next batch that is to be played, or to the border.

        Returns:
            What the reflector is paid; None where it is not paid now.
        """
        assert self._walk is not None
        try:
            while True:
                self._batch = self._walk.send(episodes)
                self._seats = [_Seat(self.ict, self.ict.pool.host(self.ict.family), t) for t in self._batch.tasks]
                _together(seat.open() for seat in self._seats)
                if any(seat.acts for seat in self._seats):
                    return None
                episodes = [seat.episode() for seat in self._seats]  # all failed to open
        except StopIteration as done:
            self._walk = None
            observation, *paid, info = done.value
            self._meta = observation, info
            return paid[0] if paid else None
        except BaseException:
            self._walk = None  # the step did not happen: the reflector may try again
            raise

    def _observe(self) -> dict[str, str]:
        texts = {REFLECTOR: self._meta[0]}
        texts |= {name: seat.observation for name, seat in zip(self.actors, self._seats, strict=True)}
        return texts

    def _infos(self) -> dict[str, dict[str, Any]]:
        acting = self.acting
        border = self._walk is None
        infos: dict[str, dict[str, Any]] = {REFLECTOR: {**(self._meta[1] if border else {}), "acts": border}}
        batch = self._batch
        assert batch is not None
        for name, seat in zip(self.actors, self._seats, strict=True):
            infos[name] = {
                "acts": name in acting,
                "system_prompt": batch.prompt,
                "instructions": self.ict.family.instructions,
                "phase": batch.phase,
                **seat.told(),
            }
        return infos

    def render(self) -> str | None:
        """What the reflector saw last, with ``render_mode="ansi"``."""
        return self._meta[0] if self.render_mode == "ansi" else None

    def _leave(self) -> None:
        """Leaves a batch in the middle."""
        if self._walk is not None:
            self._walk.close()
            self._walk = None
            _together(seat.host.close() for seat in self._seats if seat.acts)

    def close(self) -> None:
        """Closes open games and ends worker processes."""
        self._leave()
        self.agents = []
        self.ict.close()


def _together(calls: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Awaits calls at once, in the loop that hosts live in."""

    async def all_of(waiting: list[Coroutine[Any, Any, Any]]) -> None:
        await asyncio.gather(*waiting)

    sync.run(all_of(list(calls)))


def _nobody(request: Any) -> str:
    raise AssertionError("the actors are agents: no model is asked")


parallel_env = ParallelICT
"""The name under which PettingZoo's own modules give their environments."""

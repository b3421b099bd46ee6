"""Replaying a batch under a candidate prompt with the frozen actor: many at once, each measured only once.

The episodes are those of `metagym.play`, with the tasks, seeds, seat and cleaning of the row. Every episode of every
candidate waits for a place of its own, so that no place is idle while another candidate's slow episode goes on.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

from metagym import chat
from metagym.chat import load
from metagym.chat.perloop import PerLoop
from metagym.chat.types import ChatModel
from metagym.checks import number, whole
from metagym.episodes import Episode, success_rate
from metagym.errors import TooManyFailures
from metagym.families import Family, load_family
from metagym.playing.hosts import HostPool, make_pool
from metagym.playing.runner import PlaySettings, play_async
from metagym.tasks import Task
from metagym_trainers.ict.deadlines import Deadlines, Late
from metagym_trainers.ict.rows import ReplaySpec

CACHED = 100_000
"""Replays that are remembered, the oldest forgotten first; one takes about 500 bytes."""


class Replay(NamedTuple):
    """What came of one candidate on one batch. A remembered one is as rich as a fresh one.

    Attributes:
        value: Mean return of the scored episodes; None where too few could be scored.
        success: Success rate; None where it cannot be told.
        episodes: Number of scored episodes.
        failed: Number of the others.
        cause: Why there is no value.
    """

    value: float | None
    success: float | None = None
    episodes: int = 0
    failed: int = 0
    cause: str = ""


class _Row(NamedTuple):
    """What the candidates of a row have in common.

    Attributes:
        start: Digest of all that decides their replays beside the prompt.
        play: Plays tasks, given a prompt.
    """

    start: Any
    play: Callable[..., Any]


@dataclass(slots=True)
class _Begun:
    """A candidate whose episodes are played; `parts` holds what came of each part of its tasks, by number."""

    spec: ReplaySpec
    prompt: str
    key: bytes
    play: Callable[..., Any]
    parts: list[tuple[list[Episode], str]]


class Replays:
    """Plays batches under candidate prompts and remembers the results.

    Nothing that belongs to an event loop is made before it is used there: the trainer's loop is not the one of whoever
    builds this.

    Args:
        actor: The frozen actor: a model spec, a `ChatModel` or a callable; None takes the spec in each row.
        hosts: Where environments live, see `metagym.play`; a pool of your own must be usable on the trainer's loop.
        concurrency: Episodes at once, over all candidates.
        deadline: Seconds for one episode, from when it has a place. One that has not ended by then is not scored.
        settings: Deadlines of model and environment calls. ``max_failures`` is the largest share of episodes without a
            score that a value may be based on.
        on_episodes: Told of each candidate's episodes, where they were played: ``(spec, prompt, episodes)``.
    """

    def __init__(
        self,
        actor: Any = None,
        *,
        hosts: str | HostPool | None = None,
        concurrency: int = 64,
        deadline: float = 3600.0,
        settings: PlaySettings | None = None,
        on_episodes: Callable[[ReplaySpec, str, Sequence[Episode]], None] | None = None,
    ) -> None:
        self.actor, self.hosts, self.on_episodes = actor, hosts, on_episodes
        self.concurrency = whole("concurrency", concurrency, 1)
        self.deadline = number("deadline", deadline, 0, above=True)
        self.settings = settings or PlaySettings()
        self._places = PerLoop(lambda: asyncio.Semaphore(self.concurrency))
        self._pools: PerLoop[dict[str, tuple[HostPool, bool]]] = PerLoop(dict)
        self._families: dict[str, Family] = {}
        self._models: dict[str, ChatModel] = {}
        self._made: dict[tuple[int, bool], PlaySettings] = {}
        self._known: OrderedDict[bytes, Replay] = OrderedDict()
        self._starts: dict[str, Any] = {}

    def key(self, spec: ReplaySpec, prompt: str) -> bytes:
        """A digest of what decides a replay: prompt, `ReplaySpec.identity`, actor, the family's versions, deadlines."""
        return _digest(self._start(spec), prompt)

    def _start(self, spec: ReplaySpec) -> Any:
        """The digest of all that the candidates of a row have in common; the length of each part is part of it."""
        known = self._starts.get(spec.identity)
        if known is None:
            known = blake2b(digest_size=16)
            for part in (
                spec.identity,
                self._model(spec).id,
                json.dumps(dict(self._family(spec).versions), sort_keys=True, default=str),
                f"{self.settings.model_deadline} {self.settings.env_deadline} {self.settings.max_failures}",
            ):
                raw = part.encode("utf-8", "surrogatepass")
                known.update(b"%d:" % len(raw) + raw)
            if len(self._starts) >= CACHED:
                self._starts.clear()
            self._starts[spec.identity] = known
        return known

    async def __call__(self, wanted: Sequence[tuple[ReplaySpec, str]]) -> list[tuple[Replay, bool]]:
        """Replays candidates, all at once.

        Args:
            wanted: Row and prompt of each.

        Returns:
            For each the result, and whether it was known. A replay without a value is not remembered: what failed
            today may work tomorrow.
        """
        results: list[tuple[Replay, bool] | None] = [None] * len(wanted)
        begun: dict[int, _Begun] = {}
        jobs: deque[tuple[_Begun, int]] = deque()
        rows: dict[int, _Row] = {}  # by the object: the rows of a group share it (`ReplaySpec.from_text`)
        for place, (spec, prompt) in enumerate(wanted):
            try:
                if (row := rows.get(id(spec))) is None:
                    row = rows[id(spec)] = _Row(self._start(spec), self._player(spec))
                key = _digest(row.start, prompt)
                if (known := self._known.get(key)) is not None:
                    self._known.move_to_end(key)
                    results[place] = known, True
                    continue
                one = begun[place] = _Begun(spec, prompt, key, row.play, [_UNPLAYED] * len(spec.apart))
            except Exception as error:  # an exception here would end the training, and all other candidates with it
                results[place] = Replay(None, failed=len(spec.tasks), cause=f"{type(error).__name__}: {error}"), False
            else:
                for part in range(len(one.parts)):
                    jobs.append((one, part))
        # Workers that take the next episode cost less than a task for each episode.
        await asyncio.gather(*(self._work(jobs) for _ in range(min(self.concurrency, len(jobs)))))
        for place, one in begun.items():
            results[place] = self._ended(one), False
        return [result for result in results if result is not None]

    def _player(self, spec: ReplaySpec) -> Callable[..., Any]:
        return partial(
            play_async,
            actor=self._model(spec),
            family=self._family(spec),
            hosts=self._pool(spec),
            seed=spec.actor_seed,
            seat=spec.seat,
            settings=self._settings_for(spec.max_steps, spec.clean),
        )

    async def _work(self, jobs: deque[tuple[_Begun, int]]) -> None:
        places, deadlines = self._places.get(), Deadlines()
        try:
            while jobs:
                one, part = jobs.popleft()
                await places.acquire()
                try:
                    one.parts[part] = await self._episodes(one, one.spec.apart[part], deadlines)
                finally:
                    places.release()
        finally:
            deadlines.close()

    def _ended(self, one: _Begun) -> Replay:
        episodes = [episode for ended, _ in one.parts for episode in ended]
        cause = next((cause for _, cause in one.parts if cause), "")
        made = _judged(episodes, len(one.spec.tasks), self.settings.max_failures, cause)
        if self.on_episodes is not None and episodes:
            try:
                self.on_episodes(one.spec, one.prompt, episodes)
            except Exception as error:  # who only listens must not end the training; that it failed is told
                made = Replay(None, failed=len(one.spec.tasks), cause=f"{type(error).__name__}: {error}")
        if made.value is not None:
            self._known[one.key] = made
            while len(self._known) > CACHED:
                self._known.popitem(last=False)
        return made

    async def _episodes(self, one: _Begun, tasks: Sequence[Task], deadlines: Deadlines) -> tuple[list[Episode], str]:
        """The episodes of one task; and why there are none."""
        try:
            played = one.play(tasks, system_prompt=one.prompt)
            return await deadlines.within(self.deadline * len(tasks), played), ""
        except Late:
            return [], f"{tasks[0].key} did not end within {self.deadline:g} s"
        except Exception as error:  # whatever failed is no fault of the candidate, and must not end the training
            return [], f"{type(error).__name__}: {error}"

    async def check(self, spec: ReplaySpec) -> None:
        """Plays the first step of the first task of a row, to see that family and actor are there.

        Raises:
            BadInput, MissingExtra: The family or the actor cannot be made.
            TooManyFailures: The step failed, e.g. since the actor's server is down; the message holds the cause.
        """
        model = self._model(spec)
        (episode,) = await play_async(
            spec.tasks[:1],
            model,
            system_prompt=spec.system_prompt,
            family=self._family(spec),
            hosts=self._pool(spec),
            seed=spec.actor_seed,
            seat=spec.seat,
            settings=self._settings_for(1, spec.clean),
        )
        if not episode.scored:
            error = TooManyFailures(
                f"the frozen actor {model.id} cannot play {episode.task.key}: {episode.cause}; nothing was trained: "
                "start its server (examples/serve_actor.sh) or name another actor"
            )
            error.episodes = [episode]
            raise error

    async def aclose(self) -> None:
        """Ends the worker processes and connections that were made on the running loop."""
        for pool, ours in (self._pools.pop() or {}).values():
            if ours:
                await pool.close()
        for model in self._models.values():
            if model is not self.actor:
                await chat.aclose(model)

    def _settings_for(self, max_steps: int, clean: bool) -> PlaySettings:
        key = (max_steps, clean)
        if key not in self._made:
            # The share of failures is looked at in `_judged`, where late episodes count too.
            self._made[key] = replace(self.settings, max_steps=max_steps, clean=clean, concurrency=1, max_failures=1.0)
        return self._made[key]

    def _family(self, spec: ReplaySpec) -> Family:
        name = spec.family_key
        if name not in self._families:
            self._families[name] = load_family(spec.family, **spec.family_options)
        return self._families[name]

    def _model(self, spec: ReplaySpec) -> ChatModel:
        actor = spec.actor if self.actor is None else self.actor
        name = f"{actor if isinstance(actor, str) else ''} {spec.family_key}"
        if name not in self._models:
            self._models[name] = load(actor, seat="actor", family=self._family(spec))
        return self._models[name]

    def _pool(self, spec: ReplaySpec) -> HostPool:
        pools, name = self._pools.get(), spec.family_key
        if name not in pools:
            pools[name] = make_pool(self.hosts, self._family(spec), self.settings.env_deadline)
        return pools[name][0]


_UNPLAYED: tuple[list[Episode], str] = ([], "")
"""What stands for a part until it was played."""


def _digest(start: Any, prompt: str) -> bytes:
    digest = start.copy()
    digest.update(prompt.encode("utf-8", "surrogatepass"))
    found: bytes = digest.digest()
    return found


def _judged(episodes: Sequence[Episode], count: int, most_failed: float, cause: str) -> Replay:
    """The result of a replay of `count` episodes, of which those given have ended."""
    scored = [episode for episode in episodes if episode.scored]
    failed = count - len(scored)
    value = math.fsum(episode.ret for episode in scored) / len(scored) if scored else None  # `mean_return` of these
    if value is None or not math.isfinite(value) or failed > most_failed * count:
        first = next((e.cause for e in episodes if not e.scored), "") or cause or "no episode could be scored"
        return Replay(None, None, len(scored), failed, first)
    return Replay(value, success_rate(scored), len(scored), failed)

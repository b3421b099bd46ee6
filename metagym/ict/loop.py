"""The online loop of ICT: play a batch, reflect, play the next unseen batch, score on a fixed held-out set.

Everything that happens becomes a record with a unique key, in an order that does not depend on timing. A step whose
records exist is read, not played: a resumed run therefore ends with the records of an uninterrupted one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from metagym.chat import load
from metagym.chat.types import ChatModel
from metagym.episodes import Episode, mean_return
from metagym.errors import TasksExhausted
from metagym.families import Family
from metagym.ict.config import RunConfig, build_family, held_out
from metagym.ict.env import ICTEnv
from metagym.ict.reflector import Reflection, reflect
from metagym.playing.hosts import HostPool
from metagym.playing.runner import play_async
from metagym.seeding import derive
from metagym.tasks import Task


class Records(Protocol):
    """Where records go: a `metagym.journal.Journal`, or anything with these three methods."""

    def get(self, key: str, default: Any = None) -> Any:
        """The record of a key."""
        ...

    def append_many(self, items: Iterable[tuple[str, Any]]) -> Any:
        """Stores records; they are durable when it returns."""
        ...

    def __contains__(self, key: object) -> bool:
        """Whether the key has a record."""
        ...


@dataclass(frozen=True)
class Event:
    """Something worth showing while a run goes on.

    Attributes:
        kind: ``start`` (a phase begins to play), ``episode`` (one of its episodes ended), ``batch``, ``replay``,
            ``accept``, ``eval`` (a phase of this kind is done, played or read), ``reflection``.
        turn: Meta-turn; 0 is the starting prompt.
        episodes: The episodes of the phase; for ``episode`` the one.
        reflection: For ``reflection``.
        seconds: Wall-clock time of the phase; 0.0 where it was read from the records.
        phase: Key of the phase, e.g. ``turn/3/eval``.
    """

    kind: str
    turn: int
    phase: str = ""
    episodes: tuple[Episode, ...] = ()
    reflection: Reflection | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Seats:
    """The two models of a run."""

    actor: ChatModel
    reflector: ChatModel

    @classmethod
    def of(cls, config: RunConfig, family: Family, **layers: Any) -> Seats:
        """Loads both; `layers` (cache, budget, ...) are shared."""
        return cls(
            load(config.actor, seat="actor", family=family, **layers),
            load(config.reflector, seat="reflector", family=family, **layers),
        )


class Loop:
    """One meta-episode with its records.

    Args:
        config: Everything that decides it.
        seats: Actor and reflector.
        records: Where its records are.
        prefix: Put before every key (several meta-episodes may share a journal).
        family: The family, if built already.
        hosts: See `metagym.play`; does not change the records.
        concurrency: Episodes at once; does not change the records.
        on_event: Told of everything that happens.
        held_out_tasks: The evaluation tasks; None draws them as the settings say.
    """

    def __init__(
        self,
        config: RunConfig,
        seats: Seats,
        records: Records,
        *,
        prefix: str = "",
        family: Family | None = None,
        hosts: str | HostPool | None = None,
        concurrency: int | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
        held_out_tasks: Sequence[Task] | None = None,
    ) -> None:
        self.config, self.seats, self.records, self.prefix = config, seats, records, prefix
        self.family = family or build_family(config)
        self.on_event = on_event
        self.held_out = held_out(config, self.family) if held_out_tasks is None else list(held_out_tasks)
        self.env = ICTEnv(
            self.family,
            actor=seats.actor,
            batch_size=config.batch_size,
            meta_turns=max(config.meta_turns, 1),
            split=config.split,
            task_types=config.task_types,
            max_steps=config.max_steps,
            clean=config.clean,
            system_prompt=config.system_prompt,
            when_exhausted=config.when_exhausted,
            hosts=hosts,
            concurrency=concurrency,
            max_failures=config.max_failures,
            model_deadline=config.model_deadline,
            env_deadline=config.env_deadline,
            view=asdict(config.view),
            **asdict(config.seat),
        )
        self.env.player = self.play
        wanted, there = config.batch_size * (config.meta_turns + 1), len(self.env.tasks)
        if config.when_exhausted == "error" and wanted > there:  # known before anything is played and paid
            raise TasksExhausted(
                f"{config.meta_turns} reflections on batches of {config.batch_size} need {wanted} unseen tasks, and "
                f"{self.env.tasks.name} holds {there}; use fewer or smaller batches, or when_exhausted='wrap'"
            )
        self.history: list[tuple[str, str, list[Episode]]] = []
        """Prompt, meta-observation and batch of each turn that has been played."""

    async def play(self, phase: str, tasks: Sequence[Task], prompt: str) -> list[Episode]:
        """Plays what has no record yet, and returns all episodes of the phase in task order."""
        keys = [f"{self.prefix}{phase}/{slot}" for slot in range(len(tasks))]
        missing = [slot for slot, key in enumerate(keys) if key not in self.records]
        turn, kind = int(phase.split("/")[1]), phase.split("/")[2]
        started = time.perf_counter()
        episodes: dict[int, Episode] = {}
        if missing:
            self.on_event(Event("start", turn, phase))
            played = await play_async(
                [tasks[slot] for slot in missing],
                self.seats.actor,
                system_prompt=prompt,
                family=self.family,
                hosts=self.env.pool,
                seed=derive(self.config.seed, "actor"),
                seat=self.config.seat,
                settings=self.env.settings,
                on_episode=lambda episode: self.on_event(Event("episode", turn, phase, (episode,))),
            )
            episodes = dict(zip(missing, played, strict=True))
            self.records.append_many(
                (
                    keys[slot],
                    {"kind": "episode", "turn": turn, "phase": kind, "slot": slot, "episode": episode.to_json()},
                )
                for slot, episode in episodes.items()
            )
        seconds = time.perf_counter() - started if missing else 0.0
        for slot, key in enumerate(keys):
            if slot not in episodes:
                episodes[slot] = Episode.from_json(self.records.get(key)["episode"])
        result = [episodes[slot] for slot in range(len(tasks))]
        self.on_event(Event(kind, turn, phase, tuple(result), seconds=seconds))
        return result

    async def reflection(self, turn: int, observation: str) -> Reflection:
        """Reads or makes the reflection of a turn, accepted or not."""
        key = f"{self.prefix}turn/{turn}/reflection"
        if key in self.records:
            made = Reflection.from_json(self.records.get(key))
        else:
            current = self.env.prompt
            made = await reflect(
                self.seats.reflector,
                observation,
                current,
                self.config.reflector_seat,
                derive(self.config.seed, "reflector", turn),
                self.config.model_deadline,
            )
            accepted = True
            if self.config.accept == "not-worse" and made.outcome == "improved":
                before = mean_return(self.env.batch)
                trial = await self.play(f"turn/{turn}/accept", [e.task for e in self.env.batch], made.prompt)
                after = mean_return(trial)
                accepted = before is None or (after is not None and after >= before)
            record = {"kind": "reflection", "turn": turn, **made.to_json(), "accepted": accepted}
            if not accepted:
                record["rejected_prompt"], record["prompt"] = made.prompt, current
            self.records.append_many([(key, record)])
            made = Reflection.from_json(record)
        self.on_event(Event("reflection", turn, key, reflection=made))
        return made

    async def evaluate(self, turn: int) -> list[Episode]:
        """Scores the prompt in force on the held-out tasks, which are the same at each turn."""
        if not self.held_out:
            return []
        return await self.play(f"turn/{turn}/eval", self.held_out, self.env.prompt)

    async def score(self, turn: int) -> list[Episode]:
        """Scores the starting prompt as that of `turn`, without any meta-episode."""
        try:
            self.env.prompt = self.env.start_prompt
            return await self.evaluate(turn)
        finally:
            await self.close()

    async def close(self) -> None:
        """Ends worker processes; the models are the caller's."""
        await self.env.aclose()

    async def run(self) -> str:
        """Runs to the end and returns the last prompt."""
        config = self.config
        try:
            observation, _ = await self.env.areset(seed=config.seed)
            self.history = [(self.env.prompt, observation, self.env.batch)]
            start = {"kind": "prompt", "turn": 0, "prompt": self.env.prompt}
            self.records.append_many([(f"{self.prefix}turn/0/prompt", start)])
            await self.evaluate(0)
            for turn in range(1, config.meta_turns + 1):
                made = await self.reflection(turn, observation)
                observation, *_ = await self.env.astep(made.prompt)
                self.history.append((self.env.prompt, observation, self.env.batch))
                if turn % config.eval_every == 0 or turn == config.meta_turns:
                    await self.evaluate(turn)
            end = {"kind": "end", "turns": config.meta_turns, "prompt": self.env.prompt}
            self.records.append_many([(f"{self.prefix}end", end)])
            return self.env.prompt
        finally:
            await self.close()


def versions(family: Family, seats: Seats) -> dict[str, Any]:
    """What a manifest says of a run beside its settings."""
    return {
        "family": dict(family.versions),
        "actor": {"id": seats.actor.id, "backend": seats.actor.backend},
        "reflector": {"id": seats.reflector.id, "backend": seats.reflector.backend},
    }


def memory_records() -> Records:
    """Records that live as long as the process, for code that wants no folder (and for checks of settings)."""
    return _Memory()


class _Memory:
    def __init__(self) -> None:
        self.items: dict[str, Mapping[str, Any]] = {}

    def get(self, key: str, default: Any = None) -> Any:
        return self.items.get(key, default)

    def append_many(self, items: Iterable[tuple[str, Any]]) -> None:
        self.items.update(items)

    def __contains__(self, key: object) -> bool:
        return key in self.items

"""Plays benchmarks: every entrant, every benchmark, every task, every sample, with a record of each episode.

    tasks/<benchmark>                                        what is to be played
    eval/<entrant>/<benchmark>/<task key>/<sample>           one episode
    end

Records stand in that order, whatever the size of the batches and the number of episodes at a time; what has a record
is not played again. Sampling seeds depend on the seed of the run, the task and the sample alone: entrants meet equal
seeds, and a task that stands in two benchmarks is played alike in both.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metagym.chat import aclose, load
from metagym.chat.specs import parse_spec
from metagym.checks import flag, number, settle, shown, whole
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark, check_name
from metagym.evaluation.card import card_digest, card_of, sampling_of
from metagym.evaluation.tasks import Prepared, tasks_digest
from metagym.evaluation.writing import CARD_DIGITS, Records, Writer, episode_key
from metagym.playing.actor import ActorSettings
from metagym.playing.hosts import HostPool, make_pool
from metagym.playing.runner import PlaySettings, check_prompt, episode_seed, play_async
from metagym.seeding import derive
from metagym.tasks import Task

_SEED = "evaluation"

BATCH = 256
"""Episodes that are held in memory at a time; does not change the records."""


@dataclass(frozen=True)
class Entrant:
    """Who is measured: a model, and the system prompt that it gets.

    Attributes:
        name: As tables call it.
        model: Model spec.
        prompt: System prompt of every benchmark; None takes each family's own.
        source: Where the prompt comes from, in words.
    """

    name: str
    model: str
    prompt: str | None = None
    source: str = ""

    def __post_init__(self) -> None:
        """Checks name, spec and prompt.

        Raises:
            BadInput, SpecError: One is not usable.
        """
        check_name("model", self.name)
        if not isinstance(self.model, str):
            raise BadInput(f"a model is named by its spec, got {shown(self.model)}")
        parse_spec(self.model)
        if self.prompt is not None:
            check_prompt(self.prompt)

    def plays(self, benchmark: Benchmark) -> bool:
        """Whether it is measured on a benchmark."""
        return self.name not in benchmark.not_for

    def to_json(self) -> dict[str, Any]:
        """The entrant as a JSON object."""
        return {"name": self.name, "model": self.model, "prompt": self.prompt, "source": self.source}


@dataclass(frozen=True)
class RunSettings:
    """How an evaluation is played; part of the manifest.

    Attributes:
        seed: Root of all sampling seeds.
        max_failures: Largest share of the episodes of a benchmark that may fail, 0 to 1; above it, or after `MAX_RUN`
            failures in a row, the run stops. Failures of the end are then not recorded, so that a resumed run plays
            them again.
        clean: Apply the families' cleaning rules.
        model_deadline: Seconds for one model call.
        env_deadline: Seconds for one call of an environment.
    """

    seed: int = 0
    max_failures: float = 0.5
    clean: bool = True
    model_deadline: float = 1800.0
    env_deadline: float = 60.0

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "seed", whole, 0)
        settle(self, "max_failures", number, 0, 1)
        settle(self, "clean", flag)
        for name in ("model_deadline", "env_deadline"):
            settle(self, name, number, 0, above=True)


@dataclass(frozen=True)
class Progress:
    """Something was played, or read from the records.

    Attributes:
        entrant: Whose.
        benchmark: Of which benchmark.
        episodes: Episodes that came in; of those that were read the number alone is told (`read`).
        read: Episodes that had a record already.
        key: Of the first record, where a batch is done; "" else.
        seconds: Wall-clock time of that batch.
    """

    entrant: str
    benchmark: str
    episodes: tuple[Episode, ...] = ()
    read: int = 0
    key: str = ""
    seconds: float = 0.0


def tasks_record(prepared: Prepared) -> tuple[str, dict[str, Any]]:
    """The record of what a benchmark plays."""
    tasks = [task.to_json() for task in prepared.tasks]
    value = {"kind": "tasks", "benchmark": prepared.benchmark.name, "digest": tasks_digest(prepared.tasks)}
    return f"tasks/{prepared.benchmark.name}", {**value, "tasks": tasks}


def sample_seed(seed: int, task: Task, sample: int) -> int:
    """The seed of a sample of a task in a run of that seed; what `metagym.Episode.seed` then holds."""
    return episode_seed(derive(seed, _SEED), task, sample)


def seat_of(prepared: Prepared, spec: str) -> ActorSettings:
    """How a model is asked: the benchmark's sampling, without what the model's spec fixes itself."""
    benchmark = prepared.benchmark
    sampling, fixed = sampling_of(benchmark.sampling, spec)
    sampling = sampling or benchmark.sampling
    return ActorSettings(
        history=benchmark.history,
        show_admissible=benchmark.show_admissible,
        temperature=sampling.temperature,
        max_tokens=sampling.max_tokens,
        top_p=None if "top_p" in fixed else sampling.top_p,
        top_k=None if "top_k" in fixed else sampling.top_k,
    )


def pairings(entrants: Iterable[Entrant], prepared: Sequence[Prepared]) -> list[tuple[Entrant, list[Prepared]]]:
    """Who plays what, in the order of the records.

    Raises:
        BadInput: An entrant plays nothing.
    """
    found = [(entrant, [one for one in prepared if entrant.plays(one.benchmark)]) for entrant in entrants]
    if idle := [entrant.name for entrant, own in found if not own]:
        raise BadInput(f"{idle[0]} plays none of these benchmarks: leave it out, or take further ones")
    return found


async def evaluate(
    entrants: Sequence[Entrant],
    prepared: Sequence[Prepared],
    settings: RunSettings,
    records: Records,
    *,
    hosts: str | HostPool | None = None,
    concurrency: int | None = 64,
    batch: int = BATCH,
    layers: Mapping[str, Any] | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Plays everything that has no record yet.

    Args:
        entrants: Who is measured; names differ.
        prepared: On what.
        settings: See `RunSettings`.
        records: Where the records are.
        hosts: Where environments live, see `metagym.play`.
        concurrency: Episodes at a time; None for all of a batch. Does not change the records.
        batch: Episodes held in memory; does not change the records.
        layers: Further arguments of `metagym.chat.load` (reply cache, budget).
        on_progress: Told of everything that comes in.

    Raises:
        BadInput: Two entrants or benchmarks share a name, or a setting is not usable.
        TooManyFailures, BudgetExceeded, ...: The evaluation stopped; what was played is recorded.
    """
    whole("batch", batch, 1)
    for what, names in (("models", [e.name for e in entrants]), ("benchmarks", [p.benchmark.name for p in prepared])):
        if len(set(names)) != len(names) or not names:
            raise BadInput(f"an evaluation needs {what} with different names, got {', '.join(names) or 'none'}")
    records.append_many(tasks_record(one) for one in prepared)
    for entrant, benchmarks in pairings(entrants, prepared):
        for one in benchmarks:
            await _Player(entrant, one, settings, records, concurrency, batch, on_progress).play(hosts, layers or {})
    records.append_many([("end", {"kind": "end", "entrants": [entrant.name for entrant in entrants]})])


@dataclass(frozen=True)
class _Player:
    entrant: Entrant
    prepared: Prepared
    settings: RunSettings
    records: Records
    concurrency: int | None
    batch: int
    on_progress: Callable[[Progress], None]

    async def play(self, hosts: str | HostPool | None, layers: Mapping[str, Any]) -> None:
        """Plays the episodes of one entrant on one benchmark that have no record."""
        name, benchmark = self.entrant.name, self.prepared.benchmark.name
        pairs = self.prepared.pairs
        missing = [(task, n) for task, n in pairs if episode_key(name, benchmark, task.key, n) not in self.records]
        self.on_progress(Progress(name, benchmark, read=len(pairs) - len(missing)))
        if not missing:
            return
        family = self.prepared.family
        model = load(self.entrant.model, seat="actor", family=family, **layers)
        pool, ours = make_pool(hosts, family, self.settings.env_deadline)
        writer = self._writer(pairs)
        try:
            for start in range(0, len(missing), self.batch):
                await self._play(missing[start : start + self.batch], model, pool, writer)
            writer.finish()
        finally:
            if ours:
                await asyncio.shield(pool.close())
            await asyncio.shield(aclose(model))

    def _writer(self, pairs: Sequence[Any]) -> Writer:
        name, benchmark = self.entrant.name, self.prepared.benchmark.name
        recorded = (self.records.get(episode_key(name, benchmark, task.key, n)) for task, n in pairs)
        return Writer(
            self.records,
            name,
            benchmark,
            card_digest(card_of(self.prepared, self.entrant.model, self.settings.clean))[:CARD_DIGITS],
            total=len(pairs),
            failed=sum(one is not None and one["episode"]["status"] in ("error", "unscored") for one in recorded),
            max_failures=self.settings.max_failures,
        )

    async def _play(self, pairs: Sequence[Any], model: Any, pool: HostPool, writer: Writer) -> None:
        settings, prepared = self.settings, self.prepared
        seed = derive(settings.seed, _SEED)
        places = {(task.key, sample_seed(settings.seed, task, n)): at for at, (task, n) in enumerate(pairs)}
        writer.begin([(task.key, n) for task, n in pairs])
        started = time.perf_counter()

        def ended(episode: Episode) -> None:
            writer.take(places[episode.task.key, episode.seed], episode)
            self.on_progress(Progress(self.entrant.name, prepared.benchmark.name, (episode,)))

        try:
            await play_async(
                [task for task, _ in pairs],
                model,
                system_prompt=prepared.family.system_prompt if self.entrant.prompt is None else self.entrant.prompt,
                family=prepared.family,
                hosts=pool,
                seed=seed,
                seat=seat_of(prepared, self.entrant.model),
                settings=PlaySettings(
                    max_steps=prepared.benchmark.max_steps,
                    concurrency=self.concurrency,
                    model_deadline=settings.model_deadline,
                    env_deadline=settings.env_deadline,
                    max_failures=1.0,  # the writer judges failures, in the order of the tasks
                    clean=settings.clean,
                ),
                on_episode=ended,
                attempts=[n for _, n in pairs],
            )
        finally:
            writer.flush()  # what came before whatever stopped the batch
        first = episode_key(self.entrant.name, prepared.benchmark.name, pairs[0][0].key, pairs[0][1])
        done = Progress(self.entrant.name, prepared.benchmark.name, key=first, seconds=time.perf_counter() - started)
        self.on_progress(done)
        writer.check()

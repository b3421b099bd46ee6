"""What training costs beside the model: replays of a generation batch overlap, and the adapter itself is small.

Two measurements:

* **overlap** (wall clock): `ReplayReward` scores a generation batch whose frozen actor is a loopback server with
  log-normal waiting times, drawn for each candidate, task and step, so that all arms wait for the same answers equally
  long. Against it stands the slowest candidate of the batch alone, with the same concurrency: no batch can be faster.
* **adapter** (CPU time): the tiny ICT training of ``examples/train_ict_grpo.py`` step by step; then its batches are
  scored again with plays that are known already. What is left is the adapter: parsing, keys and cache, places,
  deadlines, scores, metrics. What `metagym.play` itself costs over world and scripted actor (see the benchmark
  ``overhead``) is told beside it.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import gymnasium

from benchmarks.common import Figure, Report, at_most, ratios, settled, told
from metagym import ActorSettings, Family, Task, TaskSet, chat, register_family
from metagym.playing import sync
from metagym.seeding import rng
from metagym.spaces import FreeText

NAME = "BenchmarkWalk"
_CANDIDATE = re.compile(r"Run (\d+), candidate (\d+)\.")
_PLACE = re.compile(r"Task (\d+), step (\d+)\.")


# --- the latency-shaped world


class Walk(gymnasium.Env[str, str]):
    """Says which task and step it is, for the server to read; ends after `length` steps."""

    def __init__(self, task: int, length: int) -> None:
        self.observation_space = self.action_space = FreeText()
        self.task, self.length, self.at = task, length, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Back to the start."""
        self.at = 0
        return f"Task {self.task}, step 0.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One step on."""
        self.at += 1
        over = self.at >= self.length
        return f"Task {self.task}, step {self.at}.", float(over), over, False, {}


def family(tasks: int = 3, length: int = 10) -> Family:
    """Tasks of `length` steps each."""
    listed = TaskSet([Task(NAME, str(number), seed=number) for number in range(tasks)])
    return Family(NAME, lambda split: listed, lambda task: Walk(task.seed, length), max_steps=length, host="inline")


def waiting_time(run: int, candidate: int, task: int, step: int, median: float) -> float:
    """Seconds that the server waits before this answer."""
    return median * math.exp(rng(run, "replay", candidate, task, step).gauss(0.0, 1.0))


def _serve(median: float, pipe: Connection) -> None:
    """The server's process: tells its address and ends when the other side does."""
    from tests.support.fake_server import FakeServer

    def wait(body: Mapping[str, Any]) -> float:
        run, candidate = map(int, _CANDIDATE.findall(body["messages"][0]["content"])[0])
        task, step = map(int, _PLACE.findall(body["messages"][-1]["content"])[-1])
        return waiting_time(run, candidate, task, step, median)

    with FakeServer(lambda request: "Action: go on", latency=wait) as server:
        pipe.send(server.spec(sampling="full", concurrency=256))
        pipe.poll(None)


@contextmanager
def served(median: float) -> Iterator[str]:
    """Runs the server; gives the spec of its model."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(median, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.join()


class Batch:
    """One generation batch under one run's waiting times, timed in both arms.

    Attributes:
        seconds: Wall clock by arm: ``batch`` and ``slowest`` (candidate alone).
        drawn: What the slowest candidate's waiting times alone make, in seconds: its longest episode.
        work: All waiting times of the batch, in seconds.
    """

    def __init__(self, run: int, actor: Any, candidates: int, tasks: int, length: int, median: float, slots: int):
        from metagym_trainers.ict import ReplayReward, Replays
        from metagym_trainers.ict.rows import ReplaySpec

        self._make: Callable[[], Any] = lambda: ReplayReward(Replays(actor, concurrency=slots))
        spec = ReplaySpec(
            row=f"run-{run}",
            system_prompt="Go on.",
            family=NAME,
            family_options={"tasks": tasks, "length": length},
            tasks=tuple(family(tasks, length).tasks("train")),
            actor_seed=run,
            actor="",
            seat=ActorSettings(),
            clean=True,
            max_steps=length,
        )
        self._replay = spec.to_text()
        waits = [
            [[waiting_time(run, one, task, step, median) for step in range(length)] for task in range(tasks)]
            for one in range(candidates)
        ]
        longest = [max(map(sum, of_one)) for of_one in waits]
        self.drawn, self.work = max(longest), sum(map(sum, (row for of_one in waits for row in of_one)))
        slowest = longest.index(self.drawn)
        arms = {"batch": list(range(candidates)), "slowest": [slowest]}
        names = list(arms)
        rng(run, "order").shuffle(names)
        self.seconds: dict[str, float] = {}
        for name in names:
            with settled():
                started = time.perf_counter()
                rewards = sync.run(self._score(run, arms[name]))
                self.seconds[name] = time.perf_counter() - started
            assert rewards == [1.0] * len(arms[name]), rewards

    async def _score(self, run: int, candidates: Sequence[int]) -> list[float | None]:
        """Scores candidates with a reward that knows nothing yet."""
        texts = [f"IMPROVED PROMPT:\nRun {run}, candidate {one}." for one in candidates]
        reward = self._make()
        try:
            found: list[float | None] = await reward(None, texts, replay=[self._replay] * len(texts))
            return found
        finally:
            await reward.replays.aclose()


def overlap(
    runs: Sequence[int], candidates: int, tasks: int, length: int, median: float, slots: int
) -> tuple[list[Figure], dict[str, Any]]:
    """The figures of the overlap, and their raw values."""
    register_family(NAME, family)
    with served(median) as spec:
        actor = chat.load(spec)
        played = [Batch(run, actor, candidates, tasks, length, median, slots) for run in runs]
        sync.run(chat.aclose(actor))
    batch, slowest = ([one.seconds[name] for one in played] for name in ("batch", "slowest"))
    waits = ratios(batch, [one.drawn for one in played])
    figures = [
        at_most(1.2, "replays: batch against its slowest candidate alone", ratios(batch, slowest), "x"),
        told("replays: batch against that candidate's waiting times", waits, "x"),
        told("replays: episodes at once, on the mean", ratios([one.work for one in played], batch), "episodes"),
        told("replays: batch", batch, "s"),
        told("replays: slowest candidate alone", slowest, "s"),
    ]
    return figures, {"seconds": [one.seconds for one in played], "drawn_s": [one.drawn for one in played]}


# --- the adapter's own cost


class Meter:
    """CPU time of one thread in what is called through it."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._depth = 0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, metered; nested calls count once."""

        def metered(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            started = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.spent += time.thread_time() - started

        return metered


@dataclass
class Steps:
    """What a tiny training left behind, step by step.

    Attributes:
        cpu: CPU seconds of each step, all threads.
        batches: Texts of the completions and the column ``replay`` of each step.
        hits: Share of candidates that the cache knew.
        own: CPU seconds of the adapter for each batch: scored with known plays.
        play: CPU seconds of `metagym.play` for each batch, world and actor left out.
        outside: CPU seconds of world and actor for each batch.
    """

    cpu: list[float] = field(default_factory=list)
    batches: list[tuple[list[Any], list[str]]] = field(default_factory=list)
    hits: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    play: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)


def train(steps: int, prompts: int, seed: int, warm: int) -> Steps:
    """Trains the tiny reflector for some steps, after `warm` steps on form."""
    import torch
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from metagym.ict.collect import collect
    from metagym.ict.loop import Seats, memory_records
    from metagym_trainers.ict import ReplayReward, Replays, ict_dataset
    from metagym_trainers.tiny import ict_world as world
    from metagym_trainers.tiny.models import tiny_model, warm_start, word_tokenizer

    found = Steps()
    world.register()
    config = world.settings("train", seed)
    rows = ict_dataset(asyncio.run(collect(config, 16, Seats.of(config, world.family()), memory_records())))
    tokenizer = word_tokenizer(world.VOCABULARY, drop_unknown=True)
    model = tiny_model(tokenizer, seed=seed)
    warm_start(model, tokenizer, lambda at: world.form_example(seed, at, rows[at % len(rows)]), steps=warm)

    class Noted(ReplayReward):
        async def __call__(self, prompts: Any, completions: Any, *args: Any, **kwargs: Any) -> Any:
            found.batches.append((list(completions), list(kwargs["replay"])))
            log = kwargs.pop("log_metric")

            def log_metric(name: str, value: float) -> None:
                if name == "replay/cache_hit_rate" and math.isfinite(value):
                    found.hits.append(value)
                log(name, value)

            return await super().__call__(prompts, completions, *args, log_metric=log_metric, **kwargs)

    class Clock(TrainerCallback):
        last = math.nan

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            now = time.process_time()
            found.cpu.append(now - self.last)  # of the first step: NaN, since it carries what is made once
            self.last = now

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads on so small a model wait for each other
    try:
        with tempfile.TemporaryDirectory() as folder:
            args = GRPOConfig(
                output_dir=folder,
                max_steps=steps,
                per_device_train_batch_size=prompts * 8,
                num_generations=8,
                max_completion_length=world.ANSWER_TOKENS,
                learning_rate=2e-3,
                lr_scheduler_type="constant",
                entropy_coef=0.02,
                loss_type="grpo",
                save_strategy="no",
                report_to="none",
                logging_steps=1,
                use_cpu=True,
                bf16=False,
                gradient_checkpointing=False,
                disable_tqdm=True,
                dataloader_pin_memory=False,
                seed=seed,
            )
            trainer = GRPOTrainer(
                model=model,
                args=args,
                reward_funcs=Noted(Replays()),
                train_dataset=rows,
                processing_class=tokenizer,
                callbacks=[Clock()],
            )
            trainer.remove_callback(PrinterCallback)
            trainer.train()
    finally:
        torch.set_num_threads(threads)
    return found


def split(found: Steps, seed: int) -> None:
    """Scores the batches again with plays that are known already, and plays them; notes what each arm costs."""
    from metagym.playing.hosts import make_pool
    from metagym.playing.runner import PlaySettings, play_async
    from metagym_trainers.ict import ReplayReward, Replays, replays
    from metagym_trainers.ict.candidates import candidate_of
    from metagym_trainers.ict.rows import ReplaySpec
    from metagym_trainers.tiny import ict_world as world

    outside = Meter()
    act: Any = world.family().stand_ins["actor"](seed)
    actor = chat.scripted(outside.wrap(lambda request: act.start(request).text))
    played = world.family()
    settings = PlaySettings(max_steps=played.max_steps, max_failures=1.0)
    known: dict[Any, Any] = {}

    async def ready(tasks: Sequence[Task], *args: Any, system_prompt: str, seed: int, **kwargs: Any) -> Any:
        key = (tuple(task.key for task in tasks), system_prompt, seed)
        if key not in known:
            known[key] = await play_async(tasks, *args, system_prompt=system_prompt, seed=seed, **kwargs)
        return known[key]

    async def score(texts: list[Any], replay: list[str]) -> float:
        for _ in range(2):  # the first time plays, makes families and pools; in the second all of it is there
            reward = ReplayReward(Replays(actor))
            await reward(None, ["IMPROVED PROMPT: first"], replay=replay[:1])
            started = time.process_time()
            await reward(None, texts, replay=replay, log_metric=lambda name, value: None)
            spent = time.process_time() - started
            await reward.replays.aclose()
        return spent

    async def play(texts: list[Any], replay: list[str]) -> float:
        wanted = {}
        for text, row in zip(texts, replay, strict=True):
            spec = ReplaySpec.from_text(row)
            if (prompt := candidate_of(text, spec.system_prompt).prompt) is not None:
                wanted[spec.identity, prompt] = spec
        pool, _ = make_pool(None, played, 60.0)
        started = time.process_time()
        await asyncio.gather(
            *(
                play_async(
                    spec.tasks,
                    actor,
                    system_prompt=prompt,
                    family=played,
                    hosts=pool,
                    seed=spec.actor_seed,
                    seat=spec.seat,
                    settings=settings,
                )
                for (_, prompt), spec in wanted.items()
            )
        )
        spent = time.process_time() - started
        await pool.close()
        return spent

    names = ("reset", "step", "__init__")
    real = [getattr(world.ErrandEnv, name) for name in names]
    for name, function in zip(names, real, strict=True):
        setattr(world.ErrandEnv, name, outside.wrap(function))
    replays.play_async = ready  # type: ignore[assignment]
    try:
        for number, batch in enumerate(found.batches):
            spent: dict[str, float] = {}
            arms = {"score": score, "play": play}
            for name in sorted(arms, reverse=bool(number % 2)):
                with settled():
                    before = outside.spent
                    spent[name] = asyncio.run(arms[name](*batch))
                    if name == "play":
                        found.outside.append(outside.spent - before)
            found.own.append(spent["score"])
            found.play.append(spent["play"] - found.outside[-1])
    finally:
        replays.play_async = play_async
        for name, function in zip(names, real, strict=True):
            setattr(world.ErrandEnv, name, function)


def costs(steps: int, prompts: int, seeds: Sequence[int], warm: int = 40) -> tuple[list[Figure], dict[str, Any]]:
    """The figures of the adapter's cost, and their raw values."""
    runs = []
    for seed in seeds:
        runs.append(train(steps, prompts, seed, warm))
        split(runs[-1], seed)
    step, own, play, outside = (
        [1e3 * statistics.fmean(part(one)) for one in runs]
        for part in (lambda one: one.cpu[1:], lambda one: one.own, lambda one: one.play, lambda one: one.outside)
    )
    late = [100 * statistics.fmean(one.hits[-max(1, len(one.hits) // 5) :]) for one in runs]
    figures = [
        at_most(3, "adapter: its CPU, of a tiny training step", [100 * x for x in ratios(own, step)], "%"),
        told("adapter: its CPU per step", own, "ms", f"{prompts * 8} completions of 2 tasks each"),
        told("metagym.play, of a tiny step", [100 * x for x in ratios(play, step)], "%", "see overhead for its bound"),
        told("metagym.play per step", play, "ms"),
        told("world and scripted actor per step", outside, "ms"),
        told("a tiny training step", step, "ms", "90,000 parameters; a real model's step is a thousand times longer"),
        told("reward cache: hits over the run", [100 * statistics.fmean(one.hits) for one in runs], "%"),
        told("reward cache: hits in its last fifth", late, "%", "candidates repeat as entropy falls"),
    ]
    raw = [{"cpu": one.cpu[1:], "own": one.own, "play": one.play, "hits": one.hits} for one in runs]
    return figures, {"runs": raw}


def report(
    runs: Sequence[int] = (1, 2, 3),
    candidates: int = 16,
    tasks: int = 3,
    length: int = 10,
    median: float = 0.1,
    slots: int = 64,
    steps: int = 60,
    prompts: int = 16,
) -> Report:
    """Measures both.

    Args:
        runs: Seeds of the repeats.
        candidates: Completions of the generation batch whose replays overlap.
        tasks: Tasks of each.
        length: Steps of an episode.
        median: Median waiting time of the actor's server, in seconds.
        slots: Episodes at once.
        steps: Training steps whose cost is measured.
        prompts: Prompts of a tiny step, 8 completions each.
    """
    over, details = overlap(runs, candidates, tasks, length, median, slots)
    cost, more = costs(steps, prompts, runs)
    title = (
        f"replays of {candidates} candidates x {tasks} episodes x {length} steps, {slots} at once, against a server "
        f"with log-normal latency (median {median:g} s, sigma 1); {steps} steps of the tiny ICT training (random "
        "weights, scripted actor)"
    )
    return Report("trainers", title, [*over, *cost], details | more)

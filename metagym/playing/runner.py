"""play(): many episodes at once, one coroutine each, no barrier between their steps.

Episodes come back in task order and equal a sequential run turn for turn (with deterministic models), whatever the
number of workers: every sampling seed depends on the task and the turn alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from metagym import chat, checks
from metagym.chat import load
from metagym.episodes import Episode, Status
from metagym.errors import BadInput, NodeLost, TooManyFailures
from metagym.families import Family, family_of, load_family
from metagym.playing import sync
from metagym.playing.actor import ActorSettings
from metagym.playing.episode import FATAL, KEPT, Job, PlaySettings, play_kept
from metagym.playing.hosts import EpisodePool, HostPool, make_pool
from metagym.seeding import check_seed, derive, named_branch
from metagym.tasks import Task

__all__ = [
    "FATAL",
    "KEPT",
    "MAX_PROMPT",
    "PlaySettings",
    "check_failures",
    "check_prompt",
    "episode_seed",
    "play",
    "play_async",
]

MAX_PROMPT = 100_000
"""Longest system prompt, in characters."""


async def play_async(
    tasks: Sequence[Task],
    actor: Any,
    *,
    system_prompt: str = "",
    family: str | Family | None = None,
    hosts: str | HostPool | None = None,
    concurrency: int | None = None,
    seed: int = 0,
    max_steps: int | None = None,
    seat: ActorSettings | None = None,
    settings: PlaySettings | None = None,
    on_episode: Callable[[Episode], None] | None = None,
    attempts: Sequence[int] | None = None,
) -> list[Episode]:
    """Plays each task once and returns the episodes in task order.

    Args:
        tasks: What to play; a task given n times is played n times, each with sampling seeds of its own.
        actor: A model spec (``"rules"``, ``"openai:..."``), a `ChatModel`, or a callable from Request to text.
        system_prompt: The actor's system prompt; sent byte for byte.
        family: The family of the tasks, or its registered name; by default the only registered one that they name.
        hosts: Where environments live: None (as the family asks), ``"inline"``, ``"thread"``, ``"process"``,
            ``"process:4"``, ``"ray"`` or ``"ray:<address>"`` (docs/scale.md), or a pool of your own.
        concurrency: Episodes at once (short for the field of `settings`).
        seed: Root of the sampling seeds; an episode's own is derived from it and the task's key.
        max_steps: Cap on steps (short for the field of `settings`).
        seat: How the actor is asked.
        settings: Deadlines, caps and the largest share of failures.
        on_episode: Called with each episode as it ends (progress display).
        attempts: Which attempt at its task each one is, >= 0; None counts them from 0 within this call. Whoever plays
            many samples of a task in several calls says so here, so that each has the seed that it would have in one.

    Returns:
        One `Episode` per task. A failed episode has status ``error`` and its cause; the others stand.

    Raises:
        BadInput: Unusable arguments; nothing was played.
        TooManyFailures: More than ``settings.max_failures`` of the episodes failed; `episodes` holds them all.
        BudgetExceeded, CacheMiss, StoreError, ClusterError: No episode could go on.
    """
    tasks = _tasks_in(tasks)
    seed = check_seed(seed)
    check_prompt(system_prompt)
    family = family_of(tasks[0]) if family is None else load_family(family)
    for task in tasks:
        if task.family != family.name:
            raise BadInput(f"task {task.key} belongs to family {task.family}, the batch to {family.name}")
    short: dict[str, Any] = {"max_steps": max_steps, "concurrency": concurrency}
    given = {name: value for name, value in short.items() if value is not None}
    settings = settings or PlaySettings()
    if given:  # a copy checks all of its fields again
        settings = replace(settings, **given)
    seat = seat or ActorSettings()
    model = load(actor, seat="actor", family=family)
    pool, ours = make_pool(hosts, family, settings.env_deadline)
    elsewhere = pool.player(model, family) if isinstance(pool, EpisodePool) else None
    gate = asyncio.Semaphore(settings.concurrency or len(tasks))

    first_seed = named_branch(seed, "episode")
    stopped: list[Exception] = []
    attempts = _attempts(tasks, attempts)

    async def one(task: Task, attempt: int) -> Episode:
        async with gate:
            if stopped:
                raise stopped[0]
            own = episode_seed(seed, task, attempt) if attempt else first_seed(task.key)
            job = Job(task, own, system_prompt, seat, settings)
            try:
                episode = await play_kept(job, model, family, pool, stopped, elsewhere)
            except (*FATAL, NodeLost) as error:
                stopped.append(error)
                raise
        if on_episode is not None:
            on_episode(episode)
        return episode

    try:
        # Where one episode ends the batch, the others first get the replies they wait for: those are paid.
        ended = await asyncio.gather(*map(one, tasks, attempts), return_exceptions=True)
    finally:
        if ours:
            await asyncio.shield(pool.close())
        if isinstance(actor, str):  # made here, closed here
            await asyncio.shield(chat.aclose(model))
    episodes = []
    for result in ended:
        if isinstance(result, BaseException):
            raise result
        episodes.append(result)
    check_failures(episodes, settings.max_failures)
    return episodes


def play(tasks: Sequence[Task], actor: Any, **options: Any) -> list[Episode]:
    """Plays each task once; the ordinary twin of `play_async`, with the same arguments, results and errors."""
    return sync.run(play_async(tasks, actor, **options))


def episode_seed(seed: int, task: Task, attempt: int = 0) -> int:
    """The seed of an attempt at a task, given the root seed of `play`.

    A second attempt at a task is another sample of it; the first keeps its seed whatever else is played.
    """
    return derive(seed, "episode", task.key, attempt) if attempt else derive(seed, "episode", task.key)


def _attempts(tasks: Sequence[Task], given: Sequence[int] | None) -> list[int]:
    """Which attempt at its task each one is."""
    if given is not None:
        if len(given) != len(tasks):
            raise BadInput(f"attempts are one number per task, got {len(given)} for {len(tasks)} tasks")
        return [checks.whole("an attempt", number, 0) for number in given]
    before: Counter[str] = Counter()
    found = []
    for task in tasks:
        found.append(before[task.key])
        before[task.key] += 1
    return found


def _tasks_in(tasks: Any) -> list[Task]:
    """The tasks as a list, each of them a `Task`."""
    if isinstance(tasks, (Task, str, Mapping)) or not isinstance(tasks, Iterable):
        raise BadInput(f"play takes a list of tasks, got {checks.shown(tasks)}; write [task] for a single one")
    found = list(tasks)
    if not found:
        raise BadInput("play needs at least one task")
    for task in found:
        if not isinstance(task, Task):
            raise BadInput(
                f"play takes a list of metagym.Task, and {checks.shown(task)} is none; "
                "take them from a family's task_set(split), e.g. with by_id(...)"
            )
    return found


def check_prompt(prompt: Any) -> str:
    """Returns a usable system prompt.

    Raises:
        BadInput: Not text, longer than `MAX_PROMPT` characters, or it holds a NUL or half a surrogate pair, which no
            model server takes.
    """
    if not isinstance(prompt, str):
        raise BadInput(f"a system prompt is text, got {type(prompt).__name__}")
    if len(prompt) > MAX_PROMPT:
        raise BadInput(f"the system prompt has {len(prompt):,} characters; at most {MAX_PROMPT:,} are taken")
    if "\x00" in prompt:
        raise BadInput(f"the system prompt holds a NUL character at position {prompt.index(chr(0))}; remove it")
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(f"the system prompt holds a lone surrogate at position {error.start}; remove it") from None
    return prompt


def check_failures(episodes: Sequence[Episode], limit: float) -> None:
    """Raises `TooManyFailures` where more than the share `limit` of the episodes failed."""
    failed = [e for e in episodes if e.status in (Status.ERROR, Status.UNSCORED)]
    if failed and len(failed) > limit * len(episodes):
        error = TooManyFailures(
            f"{len(failed)} of {len(episodes)} episodes failed (allowed: {limit:.0%}); "
            f"the first: task {failed[0].task.key}: {failed[0].cause}"
        )
        error.episodes = list(episodes)
        raise error

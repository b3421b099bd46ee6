"""play(): many episodes at once, one coroutine each, no barrier between their steps.

Episodes come back in task order and equal a sequential run turn for turn (with deterministic models), whatever the
number of workers: every sampling seed depends on the task and the turn alone.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from metagym import chat, checks
from metagym.chat import load
from metagym.chat.scripted import Scripted
from metagym.chat.types import ChatModel, Reply
from metagym.episodes import Episode, Repair, Status, Turn, Usage
from metagym.errors import (
    BadInput,
    BudgetExceeded,
    CacheMiss,
    ContextOverflow,
    DeadlineExceeded,
    StoreError,
    TooManyFailures,
)
from metagym.families import Family, as_written, family_of, load_family
from metagym.playing import sync
from metagym.playing.actor import LINES, ActorSettings, Conversation
from metagym.playing.hosts import Host, HostPool, InlineHost, make_pool
from metagym.seeding import branch, check_seed, derive, named_branch
from metagym.tasks import Task

# Failures of the whole, not of one episode: no other episode could go on either.
FATAL = (BudgetExceeded, CacheMiss, StoreError)
KEPT = ("engine", "seed_honoured", "scores", "final_answer")
"""Facts of the last step's ``info`` that belong to an episode's record. ``scores``: further measures of the episode, name
-> number or None (not measured); ``final_answer``: the answer in the form in which answers are counted, for majorities."""
MAX_PROMPT = 100_000
"""Longest system prompt, in characters."""
_turn = tuple.__new__  # builds a named tuple without its constructor, which would cost four times as much
_YIELD_SECONDS = 0.005  # scripted models never wait; others get the loop at least this often


@dataclass(frozen=True)
class PlaySettings:
    """How a batch is played.

    Attributes:
        max_steps: Cap on inner steps; None takes the family's.
        concurrency: Episodes at once; None means all of them.
        model_deadline: Seconds for one model call, retries and waiting included.
        env_deadline: Seconds for one open, reset or step of an environment.
        max_failures: Largest share of failed episodes (0 to 1) that a batch may have; above it the batch raises.
        keep_admissible: Keep the legal actions of each turn in the record.
        clean: Apply the family's cleaning rule; False sends commands as they were found in the replies.
    """

    max_steps: int | None = None
    concurrency: int | None = None
    model_deadline: float = 600.0
    env_deadline: float = 60.0
    max_failures: float = 0.5
    keep_admissible: bool = False
    clean: bool = True

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name in ("max_steps", "concurrency"):
            checks.settle(self, name, checks.whole, 1, none=True)
        for name in ("model_deadline", "env_deadline"):
            checks.settle(self, name, checks.number, 0, above=True)
        checks.settle(self, "max_failures", checks.number, 0, 1)
        for name in ("keep_admissible", "clean"):
            checks.settle(self, name, checks.flag)


class _Record:
    """The episode while it is being played."""

    def __init__(self, task: Task, seed: int, backend: str) -> None:
        self.task, self.seed, self.backend = task, seed, backend
        self.turns: list[Turn] = []
        self.observation = ""
        self.usages: list[Usage] = []
        self.info: Mapping[str, Any] = {}
        self.started = perf_counter()

    def end(self, family: Family, status: Status, cause: str = "") -> Episode:
        ret = math.fsum([turn.reward for turn in self.turns])  # the built-in sum rounds otherwise from Python 3.12 on
        success = None
        if status in (Status.OK, Status.TRUNCATED):
            success = family.success(self.info, ret, bool(self.turns) and self.turns[-1].terminated)
        return Episode(
            task=self.task,
            turns=tuple(self.turns),
            last_observation=self.observation,
            ret=ret,
            success=success,
            status=status,
            cause=cause,
            seed=self.seed,
            backend=self.backend,
            usage=Usage.total(self.usages),
            info={name: self.info[name] for name in KEPT if name in self.info},
            seconds=perf_counter() - self.started,
        )


async def _answer(call: Any, deadline: float) -> Reply:
    """The reply of a model call within its deadline; one that needs no waiting costs no timer."""
    try:
        waiting = call.send(None)
    except StopIteration as done:
        return done.value
    try:
        async with asyncio.timeout(deadline) as timer:
            return await _Resumed(call, waiting)
    except TimeoutError as error:
        if not timer.expired():
            raise
        raise DeadlineExceeded(f"the model did not answer within {deadline:g} s") from error


class _Resumed:
    """Awaits a coroutine that has been started by hand and waits for `waiting`."""

    def __init__(self, call: Any, waiting: Any) -> None:
        self.call, self.waiting = call, waiting

    def __await__(self) -> Any:
        call, waiting = self.call, self.waiting
        while True:
            try:
                value = yield waiting
            except BaseException as error:
                step, argument = call.throw, error
            else:
                step, argument = call.send, value
            try:
                waiting = step(argument)
            except StopIteration as done:
                return done.value


async def _episode(
    record: _Record,
    host: Host,
    family: Family,
    model: ChatModel,
    system_prompt: str,
    seat: ActorSettings,
    settings: PlaySettings,
    stopped: Sequence[Exception],
) -> Episode:
    """Plays one opened host to the end; failures of the episode become its status."""
    cap = settings.max_steps or family.max_steps
    clean = family.clean if settings.clean else as_written
    sampling_seed = branch(record.seed, "actor")
    form = family.answer or LINES
    conversation = Conversation(system_prompt, family.instructions, seat, form.ask)
    command, nothing = form.read, form.absent
    take = host.take if type(host) is InlineHost else None  # one derived from it may step in another way
    ask = model.start if type(model) is Scripted else model.chat
    keep, count = record.turns.append, record.usages.append
    keep_legal = settings.keep_admissible
    await host.open(record.task)
    observation, info = record.observation, record.info = await host.reset()
    rested = perf_counter()
    for number in range(cap):
        if stopped:  # another episode met what ends them all
            raise stopped[0]
        legal = info.get("admissible")
        conversation.observe(observation, legal)
        reply = ask(conversation.request(sampling_seed(number), legal))
        if reply.__class__ is not Reply:
            reply = await _answer(reply, settings.model_deadline)
        text = reply.text
        conversation.answer(text)
        count(reply.usage)
        cleaned = clean(command(reply, legal), legal) if text is not None else None
        last = number + 1 == cap
        if cleaned is None or not cleaned.command:
            # The documented rule: nothing is sent, nothing happens, the step counts.
            after, reward, terminated, truncated, info = nothing, 0.0, False, last, info
            action, repair = "", Repair.ABSENT
        else:
            action, repair = cleaned
            after, reward, terminated, truncated, info = await host.step(action) if take is None else take(action)
            truncated = truncated or (last and not terminated)
        kept = tuple(legal) if keep_legal and legal is not None else None
        keep(_turn(Turn, (observation, text, action, reward, terminated, truncated, repair, reply.absence, kept)))
        observation, record.observation, record.info = after, after, info
        if terminated:
            return record.end(family, Status.OK)
        if truncated:
            return record.end(family, Status.TRUNCATED, "step cap" if last else "environment limit")
        if (now := perf_counter()) - rested > _YIELD_SECONDS:
            await asyncio.sleep(0)  # let other episodes, and Ctrl-C, have their turn
            rested = now
    raise AssertionError("unreachable: the last turn ends the episode")


async def _guarded(record: _Record, pool: HostPool, family: Family, *rest: Any) -> Episode:
    """One episode whose failures end it alone."""
    host = pool.host(family)
    try:
        try:
            return await _episode(record, host, family, *rest)
        except ContextOverflow as error:
            return record.end(family, Status.TRUNCATED, f"context: {error}")
    except FATAL:
        raise
    except (Exception, SystemExit) as error:  # neither an engine nor a model may end the process that trains
        return record.end(family, Status.ERROR, f"{type(error).__name__}: {error}")
    finally:
        # An inline host closes without waiting; elsewhere a cancelled episode must not leave its host open.
        await (host.close() if type(host) is InlineHost else asyncio.shield(host.close()))


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
            ``"process:4"``, or a pool of your own.
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
        BudgetExceeded, CacheMiss, StoreError: No episode could go on.
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
    gate = asyncio.Semaphore(settings.concurrency or len(tasks))

    first_seed = named_branch(seed, "episode")
    stopped: list[Exception] = []
    attempts = _attempts(tasks, attempts)

    async def one(task: Task, attempt: int) -> Episode:
        async with gate:
            if stopped:
                raise stopped[0]
            own = episode_seed(seed, task, attempt) if attempt else first_seed(task.key)
            record = _Record(task, own, model.backend)
            try:
                episode = await _guarded(record, pool, family, model, system_prompt, seat, settings, stopped)
            except FATAL as error:
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

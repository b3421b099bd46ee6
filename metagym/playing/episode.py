"""One episode, from its first turn to its last: its own failures become its status, what ends them all is raised."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

from metagym import checks
from metagym.chat.scripted import Scripted
from metagym.chat.types import ChatModel, Reply
from metagym.episodes import Episode, Repair, Status, Turn, Usage
from metagym.errors import (
    BudgetExceeded,
    CacheMiss,
    ClusterError,
    ContextOverflow,
    DeadlineExceeded,
    NodeLost,
    StoreError,
)
from metagym.families import Family, as_written
from metagym.playing.actor import LINES, ActorSettings, Conversation
from metagym.playing.hosts import EpisodePool, Host, HostPool, InlineHost
from metagym.seeding import branch
from metagym.tasks import Task

# Failures of the whole, not of one episode: no other episode could go on either.
FATAL = (BudgetExceeded, CacheMiss, StoreError, ClusterError)
KEPT = ("engine", "seed_honoured", "scores", "final_answer")
"""Facts of the last step's ``info`` that belong to an episode's record. ``scores``: further measures of the episode,
name -> number or None (not measured); ``final_answer``: the answer in the form in which answers are counted, for
majorities."""
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
    except (*FATAL, NodeLost):
        raise
    except (Exception, SystemExit) as error:  # neither an engine nor a model may end the process that trains
        return record.end(family, Status.ERROR, f"{type(error).__name__}: {error}")
    finally:
        # An inline host closes without waiting; elsewhere a cancelled episode must not leave its host open.
        await (host.close() if type(host) is InlineHost else asyncio.shield(host.close()))


@dataclass(frozen=True)
class Job:
    """One episode to play, in a form that can be sent.

    Attributes:
        task: What is played.
        seed: Seed of its sampling seeds.
        system_prompt: The actor's system prompt.
        seat: How the actor is asked.
        settings: Deadlines and caps.
    """

    task: Task
    seed: int
    system_prompt: str
    seat: ActorSettings
    settings: PlaySettings


async def play_job(
    job: Job, model: ChatModel, family: Family, pool: HostPool, stopped: Sequence[Exception] = ()
) -> Episode:
    """Plays one episode; its own failures become its status.

    Args:
        job: The episode.
        model: Who plays.
        family: The family of its task.
        pool: Where its environment lives.
        stopped: Ends it with the first exception that appears here.

    Raises:
        NodeLost: The worker of its environment is gone; it can be played again.
        BudgetExceeded, CacheMiss, StoreError, ClusterError: No episode could go on.
    """
    record = _Record(job.task, job.seed, model.backend)
    return await _guarded(record, pool, family, model, job.system_prompt, job.seat, job.settings, stopped)


async def play_kept(
    job: Job,
    model: ChatModel,
    family: Family,
    pool: HostPool,
    stopped: Sequence[Exception],
    elsewhere: Callable[[Job, bool], Awaitable[Episode]] | None,
) -> Episode:
    """An episode; one that is lost with its worker is played again with equal seeds, as often as the pool says.

    One that has lost two workers may be what ends them: it is played alone then, so that it takes no other with it.
    """
    replays: int | None = getattr(pool, "replays", None)
    losses = 0
    while True:
        alone = losses > 1
        try:
            if elsewhere is not None:
                return await elsewhere(job, alone)
            return await play_job(job, model, family, cast(EpisodePool, pool).alone if alone else pool, stopped)
        except NodeLost as error:
            if replays is None:  # whoever made this pool plays anew by itself
                raise
            if losses >= replays:
                cause = f"NodeLost: {error} (each of its plays lost its worker)"
                return _Record(job.task, job.seed, model.backend).end(family, Status.ERROR, cause)
            losses += 1

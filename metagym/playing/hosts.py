"""Where inner environments live: `Host`, and the two kinds that need no other process."""

from __future__ import annotations

import asyncio
import math
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple, Protocol, runtime_checkable

from metagym.errors import BadInput, BadTransition, DeadlineExceeded, HostError
from metagym.families import Family
from metagym.tasks import Task


class Transition(NamedTuple):
    """What an environment says after an action."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


class Host(Protocol):
    """One inner environment, wherever it lives. Every call ends within the host's deadline or raises.

    Errors: what the environment raised, `BadTransition`, `DeadlineExceeded`, `HostError`.
    """

    async def open(self, task: Task) -> None:
        """Makes the environment of `task`."""
        ...

    async def reset(self) -> tuple[str, Mapping[str, Any]]:
        """Starts the episode with the task's seed."""
        ...

    async def step(self, action: str) -> Transition:
        """Takes one action."""
        ...

    async def close(self) -> None:
        """Frees the environment; never raises and may be called twice."""
        ...


class HostPool(Protocol):
    """Gives out hosts; lives as long as the caller wants its workers to live."""

    def host(self, family: Family) -> Host:
        """A host for one episode."""
        ...

    async def close(self) -> None:
        """Ends all workers."""
        ...


@runtime_checkable
class EpisodePool(HostPool, Protocol):
    """A pool whose workers can be lost, and may play whole episodes.

    Attributes:
        replays: How often an episode that is lost with its worker (`NodeLost`) is played anew.
        alone: Hosts on the same workers, each of them the only one on its worker.
    """

    replays: int

    @property
    def alone(self) -> HostPool:
        """See above."""
        ...

    def player(self, model: Any, family: Family) -> Callable[[Any, bool], Awaitable[Any]] | None:
        """What plays a `metagym.playing.episode.Job` of this model as a whole, alone on its worker or not.

        None where the model is asked from here.

        Raises:
            BadInput: The workers cannot ask this model.
        """
        ...


def checked_reset(task: Task, result: Any) -> tuple[str, Mapping[str, Any]]:
    """Checks what ``reset`` returned.

    Raises:
        BadTransition: It is not ``(str, dict)``.
    """
    try:
        observation, info = result
    except (TypeError, ValueError):
        raise BadTransition(f"task {task.key}: reset returned {type(result).__name__}, not (text, info)") from None
    if not isinstance(observation, str):
        raise BadTransition(f"task {task.key}: reset gave {type(observation).__name__} as observation; text is needed")
    if not isinstance(info, Mapping):
        raise BadTransition(f"task {task.key}: reset gave {type(info).__name__} as info; a dict is needed")
    return observation, info


_HUGE = float("inf")
_transition = tuple.__new__  # builds a named tuple without its constructor, which would cost four times as much


def checked_step(task: Task, result: Any) -> Transition:
    """Checks what ``step`` returned; numpy scalars become plain numbers.

    Raises:
        BadTransition: It is no 5-tuple, the observation is not text, the reward is not a finite number, or the info
            is no dict.
    """
    try:
        observation, reward, terminated, truncated, info = result
    except (TypeError, ValueError):
        raise BadTransition(f"task {task.key}: step did not return a 5-tuple") from None
    if (  # nearly every step, quickly
        observation.__class__ is str
        and reward.__class__ is float
        and -_HUGE < reward < _HUGE
        and terminated.__class__ is bool
        and truncated.__class__ is bool
        and info.__class__ is dict
    ):
        return _transition(Transition, (observation, reward, terminated, truncated, info))
    if not isinstance(observation, str):
        raise BadTransition(f"task {task.key}: step gave {type(observation).__name__} as observation; text is needed")
    try:
        number = float("nan") if isinstance(reward, (str, bytes)) else float(reward)
    except (TypeError, ValueError):
        raise BadTransition(f"task {task.key}: step gave the reward {reward!r}; a number is needed") from None
    if not math.isfinite(number):
        raise BadTransition(f"task {task.key}: step gave the reward {reward!r}; a finite number is needed")
    if not isinstance(info, Mapping):
        raise BadTransition(f"task {task.key}: step gave {type(info).__name__} as info; a dict is needed")
    return Transition(observation, number, bool(terminated), bool(truncated), info)


class InlineHost:
    """The environment in the event loop's own thread: for engines that never block.

    A call that overran its deadline cannot be interrupted here; it is noticed when it returns.
    """

    def __init__(self, family: Family, deadline: float) -> None:
        self.family, self.deadline = family, deadline
        self._env: Any = None
        self._task: Task | None = None

    async def open(self, task: Task) -> None:
        """See `Host`."""
        self._task = task
        started = time.perf_counter()
        self._env = self.family.open(task)
        self._check(started, "opening")

    async def reset(self) -> tuple[str, Mapping[str, Any]]:
        """See `Host`."""
        assert self._task is not None
        started = time.perf_counter()
        result = self._env.reset(seed=self._task.seed)
        self._check(started, "reset")
        return checked_reset(self._task, result)

    async def step(self, action: str) -> Transition:
        """See `Host`."""
        return self.take(action)

    def take(self, action: str) -> Transition:
        """`step` for callers that know this kind of host: there is nothing to wait for."""
        started = perf_counter()
        result = self._env.step(action)
        if perf_counter() - started > self.deadline:  # not by _check: this runs at every step
            self._check(started, "step")
        return checked_step(self._task, result)  # type: ignore[arg-type]

    def _check(self, started: float, what: str) -> None:
        if time.perf_counter() - started > self.deadline:
            raise DeadlineExceeded(f"the environment needed more than {self.deadline:g} s for its {what}")

    async def close(self) -> None:
        """See `Host`."""
        env, self._env = self._env, None
        if env is not None:
            _quietly(env.close)


def _quietly(call: Callable[[], Any]) -> None:
    """A failing ``close`` of somebody's environment must not cost the episode that it ends."""
    try:
        call()
    except Exception:  # noqa: BLE001
        return


class ThreadHost:
    """The environment in a thread of its own: for engines that may block but may share the process.

    A call that never returns leaves its (daemon) thread behind and ends the episode; a process can be killed, a
    thread cannot.
    """

    def __init__(self, family: Family, deadline: float) -> None:
        self.family, self.deadline = family, deadline
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._started = False
        self._lost = False
        self._env: Any = None
        self._task: Task | None = None

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (job := self._jobs.get()) is not None:
            call, future = job
            result: Any = None
            error: BaseException | None = None
            try:
                result = call()
            except BaseException as caught:  # carried to the episode that asked
                error = caught
            try:
                loop.call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:  # the loop is gone: nobody waits any more, and nobody will close
                self._shut()
                return

    async def _call(self, call: Callable[[], Any], what: str) -> Any:
        loop = asyncio.get_running_loop()
        if not self._started:
            self._started = True
            threading.Thread(target=self._work, args=(loop,), name="metagym-env", daemon=True).start()
        future: asyncio.Future[Any] = loop.create_future()
        self._jobs.put((call, future))
        try:
            async with asyncio.timeout(self.deadline):
                return await future
        except TimeoutError as error:
            if not future.cancelled():  # the environment itself raised TimeoutError
                raise
            self._lost = True  # its thread is still inside
            raise DeadlineExceeded(f"the environment did not finish its {what} within {self.deadline:g} s") from error

    async def open(self, task: Task) -> None:
        """See `Host`."""
        self._task = task

        def make() -> None:
            self._env = self.family.open(task)  # kept by its thread: an opening that was cancelled is closed too

        await self._call(make, "opening")

    async def reset(self) -> tuple[str, Mapping[str, Any]]:
        """See `Host`."""
        task, env = self._task, self._env
        assert task is not None
        return checked_reset(task, await self._call(lambda: env.reset(seed=task.seed), "reset"))

    async def step(self, action: str) -> Transition:
        """See `Host`."""
        env = self._env
        if env is None or self._lost:
            raise HostError("the environment is gone")
        return checked_step(self._task, await self._call(lambda: env.step(action), "step"))  # type: ignore[arg-type]

    async def close(self) -> None:
        """See `Host`."""
        if self._started:
            self._started = False
            self._jobs.put((self._shut, asyncio.get_running_loop().create_future()))
            self._jobs.put(None)

    def _shut(self) -> None:
        """In the environment's thread, after whatever it is busy with."""
        env, self._env = self._env, None
        if env is not None:
            _quietly(env.close)


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        future.set_exception(error)
    else:  # a future takes no StopIteration, and SystemExit must not end the loop
        future.set_exception(HostError(f"the environment raised {type(error).__name__}: {error}"))


class LocalPool:
    """Hosts in this process, inline or in threads.

    Args:
        kind: ``"inline"``, ``"thread"``, or None for what each family asks for.
        deadline: Seconds for one open, reset or step.
    """

    def __init__(self, kind: str | None = None, deadline: float = 60.0) -> None:
        self.kind, self.deadline = kind, deadline

    def host(self, family: Family) -> Host:
        """See `HostPool`."""
        kind = self.kind or family.host
        return InlineHost(family, self.deadline) if kind == "inline" else ThreadHost(family, self.deadline)

    async def close(self) -> None:
        """Nothing outlives its episode."""


_FORMS = "hosts is 'inline', 'thread', 'process', 'process:<n>', 'ray', 'ray:<address>' or a pool"


def make_pool(hosts: str | HostPool | None, family: Family, deadline: float) -> tuple[HostPool, bool]:
    """The pool for a setting.

    Args:
        hosts: None (what the family asks for), ``"inline"``, ``"thread"``, ``"process"``, ``"process:4"`` (four
            workers), ``"ray"`` or ``"ray:<address>"`` (a cluster's workers), or a pool, which stays the caller's.
        family: Whose environments will live there.
        deadline: Seconds for one open, reset or step.

    Returns:
        The pool, and whether the caller of this function must close it.

    Raises:
        BadInput: Unknown setting, or a kind that the family does not allow.
        MissingExtra, ClusterError: The cluster cannot be used.
    """
    if hosts is not None and not isinstance(hosts, str):
        if not callable(getattr(hosts, "host", None)):
            raise BadInput(f"{_FORMS}, got {hosts!r}")
        return hosts, False
    kind, _, count = (hosts or family.host).partition(":")
    if kind in ("inline", "thread") and not count:
        if family.host == "process":
            raise BadInput(f"family {family.name} needs hosts='process': its engine is not thread-safe or may hang")
        return LocalPool(kind, deadline), True
    if kind == "process" and (not count or (count.isdigit() and int(count) > 0)):
        from metagym.playing.processes import ProcessPool

        return ProcessPool(int(count) if count else None, deadline), True
    if kind == "ray":
        from metagym.playing.ray_cluster import ray_pool

        return ray_pool(count or None, deadline=deadline), True
    raise BadInput(f"{_FORMS}, got {hosts!r}")

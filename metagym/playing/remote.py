"""Environments and whole episodes on the workers of a cluster: `RemotePool`, a pool of hosts like any other.

Two levels. Environments live on the workers and the model is asked from here, so that the reply cache, the budget and
the limits hold as at home; or (`whole`) an episode is played on a worker from its first to its last turn, model calls
included, and only the finished episode comes back. Records are the same, since every seed hangs on the task alone.

A worker that is lost takes its unfinished episodes with it: they are played again on another one with equal seeds. What
had come back before is not touched. A worker that does not answer in time is lost as well: it is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import pickle
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from metagym.chat import load
from metagym.chat.accounts import Accounted
from metagym.chat.cache import Cached
from metagym.chat.layers import find_layer
from metagym.chat.loading import origin_of
from metagym.chat.types import ChatModel
from metagym.episodes import Episode
from metagym.errors import BadInput, HostError, NodeLost
from metagym.families import Family
from metagym.playing.crew import Crew, Worker
from metagym.playing.episode import Job
from metagym.playing.hosts import HostPool, Transition
from metagym.playing.processes import START_SECONDS, pickled
from metagym.tasks import Task

T = TypeVar("T")

GRACE_SECONDS = 30.0
"""Beyond an environment's own deadline, which its worker keeps: after it the worker itself is taken for hung."""
WATCH_SECONDS = 10.0
"""How often a worker that plays a whole episode is asked whether it is alive."""
REPLAYS = 3
"""How often an episode is played anew when its worker is lost; one that meets it more often may be what ends them."""


@dataclass(frozen=True)
class Named:
    """A model that a worker can make itself."""

    spec: str
    seat: str
    seed: int

    def load(self, family: Family) -> ChatModel:
        """The model, on the worker; keys come from the environment there."""
        return load(self.spec, seat=self.seat, seed=self.seed, family=family)


@dataclass(frozen=True)
class Sent:
    """A model that is sent as it is (stand-ins, callables)."""

    pickled: bytes

    def load(self, family: Family) -> ChatModel:
        """The model, on the worker."""
        return load(pickle.loads(self.pickled))


class RemotePool:
    """Hosts on the workers of a crew; see the module's text.

    Args:
        crew: The workers, or what makes them at first use.
        whole: Play whole episodes on the workers.
        deadline: Seconds for one open, reset or step of an environment.
        processes: Episodes at a time on a worker whose family needs a process for each; others have no limit.
        on_close: Called after the workers' end.

    Attributes:
        replays: How often a lost episode is played anew.
    """

    replays = REPLAYS

    def __init__(
        self,
        crew: Crew,
        *,
        whole: bool = False,
        deadline: float = 60.0,
        processes: int = 1,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.crew, self.whole, self.deadline, self.processes = crew, whole, deadline, processes
        self._on_close = on_close
        self._payloads: dict[int, tuple[Family, str, bytes]] = {}
        self._taught: dict[Worker, dict[str, asyncio.Future[Any]]] = {}
        self._numbers = itertools.count()

    def host(self, family: Family, alone: bool = False) -> RemoteHost:
        """See `HostPool`; `alone` on its worker or not."""
        return RemoteHost(self, family, *self._payload(family), alone)

    @property
    def alone(self) -> HostPool:
        """See `EpisodePool`."""
        return _Alone(self)

    def player(self, model: ChatModel, family: Family) -> Callable[[Job, bool], Awaitable[Episode]] | None:
        """What plays whole episodes of `model`; None where only environments are on the workers.

        Raises:
            BadInput: The model can only be asked from here.
        """
        if not self.whole:
            return None
        ticket, accounted = pickle.dumps(_ticket(model)), find_layer(model, Accounted)
        digest, payload = self._payload(family)

        async def play(job: Job, alone: bool = False) -> Episode:
            worker = await self.crew.lease(self._most(family), alone=alone)
            try:
                await self.teach(worker, digest, payload)
                silence = job.settings.env_deadline + GRACE_SECONDS
                episode = await self._watched(silence, worker, "episode", digest, ticket, job)
            finally:
                self.crew.release(worker)
            if accounted is not None:
                accounted.book(episode.usage)
            return episode

        return play

    async def close(self) -> None:
        """Ends the workers."""
        await self.crew.close()
        self._on_close()

    # --- for the hosts of this pool and the programs of `metagym.spade`

    def number(self) -> int:
        """A number that no other host or program of the pool has."""
        return next(self._numbers)

    async def call(self, worker: Worker, name: str, *arguments: Any, limit: float | None = None) -> Any:
        """A call of a worker; one that is lost is taken out of the crew.

        Raises:
            NodeLost: The worker is gone, or it did not answer within `limit` seconds and was ended.
            Exception: What the call itself raised.
        """
        if not self.crew.has(worker):
            raise NodeLost(f"worker {worker.name} is gone")
        try:
            async with asyncio.timeout(limit) as timer:
                return await worker.call(name, *arguments)
        except NodeLost:
            self._drop(worker)
            raise
        except TimeoutError:
            if not timer.expired():  # an environment's own deadline
                raise
            self._drop(worker)
            raise NodeLost(f"worker {worker.name} did not finish {name!r} within {limit:g} s; it was ended") from None

    async def _watched(self, silence: float, worker: Worker, name: str, *arguments: Any) -> Any:
        """A call that may take long: meanwhile the worker is asked whether it is alive.

        Raises:
            NodeLost: It is gone, or said nothing for `silence` seconds and was ended.
            Exception: What the call itself raised.
        """
        call = asyncio.ensure_future(self.call(worker, name, *arguments))
        call.add_done_callback(_seen)
        try:
            while not (await asyncio.wait({call}, timeout=WATCH_SECONDS))[0]:
                asked = asyncio.ensure_future(self.call(worker, "live", limit=silence))
                asked.add_done_callback(_seen)
                try:
                    await asyncio.wait({call, asked}, return_when=asyncio.FIRST_COMPLETED)
                    if asked.done() and not call.done():
                        asked.result()
                finally:
                    asked.cancel()
            return call.result()
        finally:
            call.cancel()

    def _drop(self, worker: Worker) -> None:
        self.crew.drop(worker)
        self._taught.pop(worker, None)

    async def teach(self, worker: Worker, digest: str, payload: bytes) -> None:
        """Sends a family to a worker that does not have it."""
        known = self._taught.setdefault(worker, {})
        if digest not in known:  # episodes that begin together send it once
            known[digest] = asyncio.ensure_future(self.call(worker, "learn", digest, payload, limit=START_SECONDS))
        await asyncio.shield(known[digest])

    def _most(self, family: Family) -> int | None:
        return self.processes if family.host == "process" else None

    def _payload(self, family: Family) -> tuple[str, bytes]:
        if id(family) not in self._payloads:
            payload = pickled(family)
            self._payloads[id(family)] = (family, hashlib.sha256(payload).hexdigest(), payload)
        return self._payloads[id(family)][1:]


@dataclass(frozen=True)
class _Alone:
    """Hosts of a pool that share their worker with no other."""

    pool: RemotePool

    def host(self, family: Family) -> RemoteHost:
        """See `HostPool`."""
        return self.pool.host(family, alone=True)

    async def close(self) -> None:
        """The pool is its owner's."""


class RemoteHost:
    """One environment on a worker of a `RemotePool`."""

    def __init__(self, pool: RemotePool, family: Family, digest: str, payload: bytes, alone: bool = False) -> None:
        self.pool, self.family, self._apart = pool, family, alone
        self._digest, self._payload = digest, payload
        self._worker: Worker | None = None
        self._number = -1

    async def open(self, task: Task) -> None:
        """See `Host`."""
        pool = self.pool
        self._worker = await pool.crew.lease(pool._most(self.family), alone=self._apart)
        await pool.teach(self._worker, self._digest, self._payload)
        self._number = pool.number()
        limit = pool.deadline + GRACE_SECONDS + (START_SECONDS if self.family.host == "process" else 0.0)
        arguments = self._number, self._digest, task.to_json(), pool.deadline
        await pool.call(self._worker, "open", *arguments, limit=limit)

    async def reset(self) -> tuple[str, Mapping[str, Any]]:
        """See `Host`."""
        observation, info = await self._ask("reset")
        return observation, info

    async def step(self, action: str) -> Transition:
        """See `Host`."""
        return Transition(*await self._ask("step", action))

    async def close(self) -> None:
        """See `Host`."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        with contextlib.suppress(HostError):
            if self._number >= 0:
                await self.pool.call(worker, "close", self._number, limit=self.pool.deadline + GRACE_SECONDS)
        self.pool.crew.release(worker)

    async def _ask(self, name: str, *arguments: Any) -> Any:
        if self._worker is None:
            raise HostError("the environment is gone")
        limit = self.pool.deadline + GRACE_SECONDS
        return await self.pool.call(self._worker, name, self._number, *arguments, limit=limit)


def _seen(task: asyncio.Future[Any]) -> None:
    """Keeps asyncio from complaining of an error that another one came before."""
    if not task.cancelled():
        task.exception()


async def replayed(play: Callable[[], Awaitable[T]], times: int = REPLAYS) -> T:
    """The result of `play`, which is begun anew when a worker is lost.

    Args:
        play: Plays something as a whole, with equal results each time.
        times: How often it may begin anew.

    Raises:
        NodeLost: It lost its worker each time.
    """
    while True:
        try:
            return await play()
        except NodeLost:
            if not times:
                raise
            times -= 1


def _ticket(model: ChatModel) -> Named | Sent:
    """How a worker gets the model.

    Raises:
        BadInput: It cannot get it, or something of it must stay here.
    """
    accounted = find_layer(model, Accounted)
    budget = accounted.ledger.budget if accounted is not None else None
    if find_layer(model, Cached) is not None:
        raise BadInput(
            "whole episodes ask the model from the cluster's nodes, where no reply cache is: use --cache off"
        )
    if budget is not None and (budget.calls, budget.tokens, budget.cost) != (None, None, None):
        raise BadInput("whole episodes ask the model from the cluster's nodes, where no hard budget can be kept")
    while (origin := origin_of(model)) is None and isinstance(model, Accounted):
        model = model.inner  # the accounts stay here, see `Accounted.book`
    if origin is not None:
        return Named(*origin)
    import cloudpickle

    try:
        return Sent(cloudpickle.dumps(model))
    except Exception as error:
        raise BadInput(f"the model {model.id} cannot be sent to a cluster: give its spec instead ({error})") from error

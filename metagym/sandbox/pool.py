"""`SandboxPool`: one zygote and the settings of its workers. `load` uses a pool that all callers share."""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast

from metagym.checks import flag, whole
from metagym.errors import BadInput, MetaGymWarning
from metagym.sandbox.channel import InProcess
from metagym.sandbox.confine import LAYERS
from metagym.sandbox.limits import Limits
from metagym.sandbox.loaders import BareLoader, Guards, LanguageLoader
from metagym.sandbox.looping import AsyncChannel, AsyncInProcess
from metagym.sandbox.operations import Load, outcome
from metagym.sandbox.play import too_long
from metagym.sandbox.processes import WorkerProcess
from metagym.sandbox.program import AsyncProgram, Program, ProgramInfo
from metagym.sandbox.shelf import Shelf
from metagym.sandbox.workers import Workers
from metagym.seeding import check_seed

GUARDS = ("native", "full")
ISOLATIONS = ("process", "inprocess")


@dataclass(frozen=True)
class Switches:
    """What tests switch off, to try each layer alone and to see that its absence is noticed. Never for real programs.

    Attributes:
        language: The language layer.
        without: Layers of the system that are not applied.
        keep_root: A zygote started by root stays root.
        shelf: A program that was compiled once is not compiled again.
    """

    language: bool = True
    without: tuple[str, ...] = ()
    keep_root: bool = False
    shelf: bool = True


class SandboxPool:
    """Starts confined workers, one for each program; any thread and any event loop may use it.

    The zygote starts with the first program (or `start`), and again where something killed it. A pool belongs to the
    process that made it. Close it, or use it as a context manager; programs of a closed pool are ended.

    Args:
        numpy: Programs may import NumPy.
        guards: ``"native"`` reads attributes and items natively (1 to 1.7 times plain Python), ``"full"`` through a
            guard each (5 to 10 times).
        required: Layers that must hold; what is missing makes the pool refuse to start.
        hash_seed: ``PYTHONHASHSEED`` of its workers: two pools with different ones show a program that depends on it.
        limits: Limits of programs that are loaded without any of their own.
        isolation: ``"process"``; ``"inprocess"`` runs programs in the caller's process, for trusted code in tests
            only: it warns once, and no limit of time or memory holds.
        switches: For tests of the layers.

    Raises:
        BadInput: A setting is not usable.
    """

    def __init__(
        self,
        *,
        numpy: bool = True,
        guards: str = "native",
        required: Sequence[str] = LAYERS,
        hash_seed: int = 0,
        limits: Limits | None = None,
        isolation: str = "process",
        switches: Switches | None = None,
    ) -> None:
        self._switches = switches or Switches()
        unknown = sorted(set(required) - set(LAYERS))
        if unknown:
            raise BadInput(f"{unknown[0]!r} is no layer that can be required; there are {', '.join(LAYERS)}")
        self._numpy = flag("numpy", numpy)
        self._guards: Guards = cast(Guards, _one_of("guards", guards, GUARDS))
        self._isolation = _one_of("isolation", isolation, ISOLATIONS)
        self._required = tuple(name for name in LAYERS if name in required)
        self._hash_seed = whole("hash_seed", hash_seed, 0)
        if self._hash_seed >= 2**32:
            raise BadInput(f"hash_seed is below 2**32, got {hash_seed}")
        self._limits = limits or Limits()
        self._shelf = Shelf()
        self._workers = Workers(
            {
                "language": self._switches.language,
                "guards": self._guards,
                "numpy": self._numpy,
                "required": self._required,
                "without": self._switches.without,
                "keep_root": self._switches.keep_root,
            },
            self._hash_seed,
        )

    # --- starting and ending

    def start(self) -> Self:
        """Starts the zygote and tries the layers, where that has not happened yet.

        Raises:
            SandboxUnavailable: A required layer is missing or does not hold; it names the layer.
        """
        if self._isolation == "process":
            self._workers.start()
        return self

    @property
    def layers(self) -> dict[str, str]:
        """By layer: "" where it held in the pool's self-test, otherwise why it is missing; empty before the start."""
        return dict(self._workers.layers)

    @property
    def limits(self) -> Limits:
        """Limits of programs that are loaded without any of their own."""
        return self._limits

    @property
    def conditions(self) -> dict[str, Any]:
        """What decides how its programs run, beside their limits: isolation, numpy, guards, hash_seed (JSON)."""
        return {
            "isolation": self._isolation,
            "numpy": self._numpy,
            "guards": self._guards,
            "hash_seed": self._hash_seed if self._isolation == "process" else None,
        }

    @property
    def zygote_pid(self) -> int | None:
        """Process id of the zygote; None before the start."""
        return self._workers.zygote_pid

    def close(self) -> None:
        """Ends the zygote and every worker, and waits until they are gone; a second call does nothing."""
        self._workers.close()

    def __enter__(self) -> Self:
        """The pool itself, started."""
        return self.start()

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Closes it."""
        self.close()

    # --- programs

    def load(self, source: str | bytes, seed: int = 0, limits: Limits | None = None) -> Program:
        """Loads a program into a worker of its own.

        Args:
            source: The program.
            seed: Seed of what it draws before its first reset.
            limits: Its limits; the pool's where None.

        Raises:
            ProgramRejected: The policy refuses it; none of its code has run.
            ProgramError: Its body or its class's constructor raised.
            ProgramKilled: They ran into a limit.
            SandboxUnavailable: No confined worker can be had.
        """
        limits, operation, digest = self._prepared(source, seed, limits)
        if self._isolation == "inprocess":
            inside = self._in_process(limits)
            [raw] = inside.exchange([operation.write(limits)])
            return Program(inside, limits, self._info(_value(operation, raw, limits), digest, inside.layers))
        channel = self._workers.channel(limits)
        channel.talk.awaits_code = operation.code == ""
        try:
            [raw] = channel.exchange([operation.write(limits)])
            self._shelf.put(digest, channel.talk.code)
            info = self._info(_value(operation, raw, limits), digest, channel.layers)
        except BaseException:
            channel.close()
            raise
        return Program(channel, limits, info)

    async def load_async(self, source: str | bytes, seed: int = 0, limits: Limits | None = None) -> AsyncProgram:
        """The same for coroutines; the program belongs to the running event loop."""
        limits, operation, digest = self._prepared(source, seed, limits)
        if self._isolation == "inprocess":
            inside = self._in_process(limits)
            [raw] = inside.exchange([operation.write(limits)])
            return AsyncProgram(
                AsyncInProcess(inside), limits, self._info(_value(operation, raw, limits), digest, inside.layers)
            )
        forking = asyncio.ensure_future(asyncio.to_thread(self._workers.fork, limits))
        try:
            worker = await asyncio.shield(forking)
        except asyncio.CancelledError:
            forking.add_done_callback(_unwanted)  # the thread goes on, and its worker has no other owner
            raise
        channel = AsyncChannel(worker, limits, self._required)
        channel.talk.awaits_code = operation.code == ""
        try:
            raw = await channel.ask(operation.write(limits))
            self._shelf.put(digest, channel.talk.code)
            info = self._info(_value(operation, raw, limits), digest, channel.talk.layers)
        except BaseException:
            channel.close()
            raise
        return AsyncProgram(channel, limits, info)

    # --- inside

    def _prepared(self, source: str | bytes, seed: int, limits: Limits | None) -> tuple[Limits, Load, str]:
        limits = limits or self._limits
        if not isinstance(source, (str, bytes)):
            raise BadInput(f"a program is text or bytes, got {type(source).__name__}")
        if len(source) > limits.source_chars:  # not worth a worker
            raise too_long(len(source), limits)
        raw = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        digest = hashlib.sha256(raw).hexdigest()
        code = self._shelf.get(digest) if self._isolation == "process" and self._switches.shelf else None
        return limits, Load(source, check_seed(seed), code), digest

    def _info(self, found: dict[str, Any], digest: str, layers: Mapping[str, str]) -> ProgramInfo:
        inside = self._isolation == "inprocess"
        return ProgramInfo(
            class_name=found["class_name"],
            doc=found["doc"],
            methods=tuple(found["methods"]),
            metadata=found["metadata"],
            digest=digest,
            isolation=self._isolation,
            layers=tuple(name for name, why in layers.items() if not why),
            guards=self._guards if self._switches.language else "off",
            numpy=self._numpy,
            hash_seed=None if inside else self._hash_seed,
        )

    def _in_process(self, limits: Limits) -> InProcess:
        _warn_once()
        loader = LanguageLoader(self._guards, self._numpy) if self._switches.language else BareLoader()
        return InProcess(loader, limits)


def load(
    source: str | bytes,
    seed: int = 0,
    limits: Limits | None = None,
    pool: SandboxPool | None = None,
    isolation: str = "process",
) -> Program:
    """Loads a program into a confined worker; see `SandboxPool.load`.

    Args:
        source: The program.
        seed: Seed of what it draws before its first reset.
        limits: Its limits.
        pool: The pool; None for one that is shared by all callers, made at first use and closed at exit.
        isolation: ``"inprocess"`` runs trusted code in the caller's process (tests); only without a pool.
    """
    return _chosen(pool, isolation).load(source, seed, limits)


async def load_async(
    source: str | bytes,
    seed: int = 0,
    limits: Limits | None = None,
    pool: SandboxPool | None = None,
    isolation: str = "process",
) -> AsyncProgram:
    """`load` for coroutines; see `SandboxPool.load_async`."""
    return await _chosen(pool, isolation).load_async(source, seed, limits)


def default_pool(isolation: str = "process") -> SandboxPool:
    """The pool that callers without one share: NumPy allowed, every layer required.

    Args:
        isolation: As for `SandboxPool`; each has a pool of its own.
    """
    with _shared_lock:
        pool = _shared.get(isolation)
        if pool is None:
            pool = _shared[isolation] = SandboxPool(isolation=isolation)
        return pool


_shared: dict[str, SandboxPool] = {}
_shared_lock = threading.Lock()
_warned = False


def _chosen(pool: SandboxPool | None, isolation: str) -> SandboxPool:
    if pool is None:
        return default_pool(isolation)
    if isolation != "process":
        raise BadInput("a pool has its own isolation; give one of pool and isolation")
    return pool


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise BadInput(f"{name} is one of {', '.join(allowed)}, got {value!r}")
    return str(value)


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "isolation='inprocess': programs run in this process and nothing protects it from them; trusted code only",
            MetaGymWarning,
            stacklevel=4,
        )


def _value(operation: Load, raw: Any, limits: Limits) -> dict[str, Any]:
    found = outcome(operation, raw, limits)
    if isinstance(found, Exception):
        raise found
    return found


def _unwanted(forking: asyncio.Future[WorkerProcess]) -> None:
    if not forking.cancelled() and forking.exception() is None:
        forking.result().kill()


def _close_shared() -> None:
    for pool in list(_shared.values()):
        pool.close()


def _forget_shared() -> None:
    """A forked child has the pools' memory but none of their workers."""
    global _shared_lock
    _shared_lock = threading.Lock()
    _shared.clear()


atexit.register(_close_shared)
os.register_at_fork(after_in_child=_forget_shared)

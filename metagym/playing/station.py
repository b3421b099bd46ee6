"""The node's end of `metagym.playing.remote`: environments, whole episodes and programs of one worker, by number.

It knows nothing of what carries its messages. Environments live in the very hosts that play without a cluster (inline,
thread, process), so that deadlines and isolation are the same everywhere; programs live in the sandbox of this node.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import pickle
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metagym.errors import HostError
from metagym.extras import DISTRIBUTION
from metagym.playing.hosts import Host, HostPool, LocalPool
from metagym.playing.processes import ProcessPool
from metagym.playing.worker import plain
from metagym.tasks import Task

if TYPE_CHECKING:
    from metagym.families import Family
    from metagym.sandbox import AsyncProgram


PACKAGES = ("metagym", "metagym_envs", "metagym_wrappers")


@cache
def code_digest() -> str:
    """A digest of this installation's own modules: nodes with other code would write other records."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        found = importlib.util.find_spec(package)  # which imports nothing
        for folder in (found.submodule_search_locations or ()) if found is not None else ():
            for file in sorted(Path(folder).rglob("*.py")):
                name = file.relative_to(folder).as_posix()
                digest.update(f"{package}/{name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def facts() -> dict[str, str]:
    """What must be equal on every node: Python, MetaGym, and the digest of its code."""
    try:
        version = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # a checkout on the path: its digest tells it apart
        version = "not installed"
    return {"python": platform.python_version(), "metagym": version, "code": code_digest()}


def packed(call: Any, *parts: Any) -> bytes:
    """A message: its first part and the rest."""
    return pickle.dumps((call, *parts), protocol=pickle.HIGHEST_PROTOCOL)


def unpacked(answer: bytes) -> Any:
    """What a station answered.

    Raises:
        Exception: What its call raised; `HostError` where that has no form that can be sent.
    """
    try:
        good, value, words = pickle.loads(answer)  # our own worker's bytes: whoever runs a cluster runs code on it
    except Exception as error:
        raise HostError(f"an answer of a worker cannot be read here: {type(error).__name__}: {error}") from error
    if good:
        return value
    try:
        raised = pickle.loads(value)
    except Exception:
        raised = None
    raise raised if isinstance(raised, Exception) else HostError(words)


class Station:
    """Does what messages ask for. Made by a worker; it belongs to one event loop."""

    def __init__(self, processes: int = 1) -> None:
        """`processes`: worker processes for families that need one each."""
        self._processes = processes
        self._families: dict[str, Family] = {}
        self._pools: dict[tuple[str, float], HostPool] = {}
        self._hosts: dict[int, Host] = {}
        self._programs: dict[int, AsyncProgram] = {}
        self._models: dict[bytes, Any] = {}

    async def answer(self, message: bytes) -> bytes:
        """Does one call; what it raises becomes part of the answer."""
        try:
            name, *arguments = pickle.loads(message)
            return _good(await getattr(self, f"do_{name}")(*arguments))
        except (Exception, SystemExit) as error:  # SystemExit of an engine: the episode ends, not the worker
            return _bad(error)

    # --- what a driver asks first

    async def do_hello(self) -> dict[str, Any]:
        """What this worker is."""
        return {**facts(), "pid": os.getpid(), "host": platform.node()}

    async def do_live(self) -> None:
        """Says that this worker's loop turns."""

    async def do_learn(self, digest: str, payload: bytes) -> None:
        """Takes a family by value, under the digest of these bytes."""
        if digest not in self._families:
            self._families[digest] = pickle.loads(payload)

    # --- environments

    async def do_open(self, number: int, digest: str, task: Mapping[str, Any], deadline: float) -> None:
        """Makes the environment of a task."""
        family = self._families[digest]
        host = self._hosts[number] = self._pool(digest, deadline).host(family)
        await host.open(Task.from_json(task))

    async def do_reset(self, number: int) -> Any:
        """Starts its episode."""
        return tuple(await self._host(number).reset())

    async def do_step(self, number: int, action: str) -> Any:
        """Takes one action."""
        return tuple(await self._host(number).step(action))

    async def do_close(self, number: int) -> None:
        """Frees it; an unknown number is none any more."""
        host = self._hosts.pop(number, None)
        if host is not None:
            await host.close()

    def _host(self, number: int) -> Host:
        if number not in self._hosts:
            raise HostError("the environment is gone")
        return self._hosts[number]

    def _pool(self, digest: str, deadline: float) -> HostPool:
        key = digest, deadline
        if key not in self._pools:
            local = self._families[digest].host != "process"
            self._pools[key] = LocalPool(None, deadline) if local else ProcessPool(self._processes, deadline)
        return self._pools[key]

    # --- whole episodes

    async def do_episode(self, digest: str, model: bytes, job: Any) -> Any:
        """Plays a whole episode here, model calls included."""
        from metagym.playing.episode import play_job

        family = self._families[digest]
        if model not in self._models:
            self._models[model] = pickle.loads(model).load(family)
        return await play_job(job, self._models[model], family, self._pool(digest, job.settings.env_deadline))

    # --- programs

    async def do_load(self, number: int, source: str | bytes, limits: Any) -> None:
        """Loads a program into a confined worker of this node."""
        from metagym.sandbox import load_async

        self._programs[number] = await load_async(source, limits=limits)

    async def do_program(self, number: int, operation: Any) -> Any:
        """Does one operation of `metagym.sandbox` with a program."""
        if number not in self._programs:
            raise HostError("the program is gone")
        [found] = await self._programs[number].batch([operation])
        if isinstance(found, Exception):
            raise found
        return found

    async def do_unload(self, number: int) -> None:
        """Ends a program's worker."""
        program = self._programs.pop(number, None)
        if program is not None:
            await program.close()

    # --- the end

    async def do_end(self) -> None:
        """Frees everything that is still open."""
        for number in list(self._hosts):
            await self.do_close(number)
        for number in list(self._programs):
            await self.do_unload(number)
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))
        self._pools.clear()


def _good(value: Any) -> bytes:
    try:
        return packed(True, value, "")
    except Exception:  # an info may hold anything: what has no form to be sent is left out, as in worker processes
        return packed(True, plain(value), "")


def _bad(error: BaseException) -> bytes:
    words = f"{type(error).__name__}: {error}"
    try:
        raw = pickle.dumps(error)
        pickle.loads(raw)  # some exceptions can be written and not read
    except Exception:
        raw = b""
    return packed(False, raw, words)

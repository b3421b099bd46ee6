"""Inner environments in worker processes: engines that share globals, may hang, or may crash.

Workers are started as fresh interpreters (never forked: a fork copies other threads' locks, held), get the family by
value, and speak one JSON line per message. A worker that is silent past its deadline is killed, collected and replaced.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from typing import IO, Any

from metagym.errors import BadInput, DeadlineExceeded, HostError
from metagym.families import Family
from metagym.playing.hosts import Host, Transition, checked_reset, checked_step
from metagym.tasks import Task

START_SECONDS = 120.0
"""Longest start of a worker: a cold interpreter and a heavy engine import on a busy machine."""
_END_SECONDS = 5.0
_LAST_WORDS = 500
_RENEW_AFTER = 500  # episodes: engines that remember what they met grow without end
_LINE_LIMIT = 64 * 1024 * 1024


def pickled(family: Family) -> bytes:
    """The family by value, so that a worker needs neither the main script nor its registrations.

    Raises:
        BadInput: Some part of it cannot be sent; the message names the part. Nothing was started.
    """
    import cloudpickle

    try:
        return cloudpickle.dumps(family)
    except Exception as error:
        for name in ("tasks", "open", "success", "clean", "stand_ins", "versions", "options"):
            try:
                cloudpickle.dumps(getattr(family, name))
            except Exception as cause:
                raise BadInput(f"family {family.name}: {name!r} cannot be sent to a worker process: {cause}") from cause
        raise BadInput(f"family {family.name} cannot be sent to a worker process: {error}") from error


class _Worker:
    """One worker process and its two pipes."""

    def __init__(self, process: asyncio.subprocess.Process, noise: IO[bytes]) -> None:
        self.process = process
        self.played = 0
        self._noise = noise

    @classmethod
    async def start(cls) -> _Worker:
        path = os.pathsep.join(p for p in sys.path if p)
        noise = tempfile.TemporaryFile()  # what it prints: shown only if it dies
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "metagym.playing.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=noise,
            env={**os.environ, "PYTHONPATH": path},
            limit=_LINE_LIMIT,
            start_new_session=True,  # Ctrl-C reaches the parent, which ends its workers itself
        )
        return cls(process, noise)

    async def ask(self, message: Mapping[str, Any], deadline: float, what: str) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            async with asyncio.timeout(deadline):
                self.process.stdin.write(json.dumps(message).encode() + b"\n")
                await self.process.stdin.drain()
                line = await self.process.stdout.readline()
        except TimeoutError:
            await self.kill()
            raise DeadlineExceeded(
                f"the environment did not finish its {what} within {deadline:g} s; its worker was ended"
            ) from None
        except (BrokenPipeError, ConnectionResetError, ValueError):
            line = b""
        except asyncio.CancelledError:
            self._signal()  # the answer would be read by the next question
            raise
        if not line.endswith(b"\n"):
            with contextlib.suppress(TimeoutError):  # it ended by itself: wait for its own exit code
                await asyncio.wait_for(self.process.wait(), _END_SECONDS)
            words = self._last_words()
            await self.kill()
            raise HostError(f"the worker process died during {what} (exit code {self.process.returncode}){words}")
        answer = json.loads(line)
        if "error" in answer:
            raise HostError(answer["error"])
        return answer["result"]

    def _last_words(self) -> str:
        size = self._noise.seek(0, os.SEEK_END)
        self._noise.seek(max(0, size - _LAST_WORDS))
        text = " ".join(self._noise.read().decode("utf-8", "replace").split())
        return f"; it last printed: {text}" if text else ""

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def _signal(self) -> None:
        # Not Process.kill(): it polls, and so may collect the exit code before the event loop's own watcher does.
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)

    async def kill(self) -> None:
        self._signal()
        await self.process.wait()
        self._noise.close()

    def forget(self) -> None:
        """Frees what a worker that has ended by itself leaves behind."""
        self._noise.close()


class ProcessPool:
    """A fixed number of worker processes, each playing one episode at a time; started when first needed.

    Args:
        workers: Number of processes; None means one per CPU.
        deadline: Seconds for one open, reset or step.
    """

    def __init__(self, workers: int | None = None, deadline: float = 60.0) -> None:
        self.size = workers or os.cpu_count() or 1
        self.deadline = deadline
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._slots: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._payloads: dict[int, tuple[Family, str]] = {}

    def host(self, family: Family) -> Host:
        """See `HostPool`."""
        if id(family) not in self._payloads:
            self._payloads[id(family)] = (family, base64.b64encode(pickled(family)).decode())
        return ProcessHost(self, family, self._payloads[id(family)][1])

    async def acquire(self) -> _Worker:
        """A worker of one's own, started if need be; waits while all are playing."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._all:
                raise HostError("a process pool cannot move to another event loop; make a new one")
            self._loop, self._slots = loop, asyncio.Semaphore(self.size)
        assert self._slots is not None
        await self._slots.acquire()
        try:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive and worker.played < _RENEW_AFTER:
                    return worker
                await worker.kill()
                self._all.discard(worker)
            worker = await _Worker.start()
            self._all.add(worker)
            await worker.ask({"call": "hello"}, START_SECONDS, "start")
            return worker
        except BaseException:
            self._slots.release()
            raise

    def release(self, worker: _Worker) -> None:
        """Takes a worker back; a dead one is forgotten."""
        assert self._slots is not None
        worker.played += 1
        if worker.alive:
            self._idle.append(worker)
        else:
            worker.forget()
            self._all.discard(worker)
        self._slots.release()

    async def close(self) -> None:
        """Ends and collects every worker."""
        workers, self._all = list(self._all), set()
        self._idle.clear()
        for worker in workers:
            await worker.kill()


class ProcessHost:
    """One episode's hold on a worker of a `ProcessPool`."""

    def __init__(self, pool: ProcessPool, family: Family, payload: str) -> None:
        self.pool, self.family = pool, family
        self._payload = payload
        self._worker: _Worker | None = None
        self._task: Task | None = None

    async def _ask(self, message: Mapping[str, Any], what: str) -> Any:
        if self._worker is None:
            raise HostError("the environment is gone")
        return await self._worker.ask(message, self.pool.deadline, what)

    async def open(self, task: Task) -> None:
        """See `Host`."""
        self._task = task
        self._worker = await self.pool.acquire()
        await self._ask({"call": "open", "family": self._payload, "task": task.to_json()}, "opening")

    async def reset(self) -> tuple[str, Mapping[str, Any]]:
        """See `Host`."""
        assert self._task is not None
        return checked_reset(self._task, await self._ask({"call": "reset"}, "reset"))

    async def step(self, action: str) -> Transition:
        """See `Host`."""
        assert self._task is not None
        return checked_step(self._task, await self._ask({"call": "step", "action": action}, "step"))

    async def close(self) -> None:
        """See `Host`."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        try:
            if worker.alive:
                await worker.ask({"call": "close"}, self.pool.deadline, "closing")
        except (HostError, OSError):
            await worker.kill()
        finally:
            self.pool.release(worker)

"""Where confined workers come from: one zygote that is started when needed, tried, and started anew when it died."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from metagym.errors import ProgramKilled, SandboxError, SandboxUnavailable
from metagym.sandbox.blocking import ProcessChannel
from metagym.sandbox.confine.selftest import TRIES
from metagym.sandbox.limits import Limits
from metagym.sandbox.operations import Attempt, outcome
from metagym.sandbox.processes import WorkerProcess, ZygoteProcess


class Workers:
    """Forks confined workers; any thread may ask. It belongs to the process that made it.

    Args:
        settings: What `metagym.sandbox.zygote.Zygote` takes; ``settings["required"]`` are the layers that must hold.
        hash_seed: ``PYTHONHASHSEED`` of the workers.

    Attributes:
        layers: By layer: "" where it held in the self-test, otherwise why it is missing; empty before the start.
    """

    def __init__(self, settings: Mapping[str, Any], hash_seed: int) -> None:
        self._settings, self._hash_seed = settings, hash_seed
        self._required: Sequence[str] = settings["required"]
        self._zygote: ZygoteProcess | None = None
        self.layers: dict[str, str] = {}
        self._lock = threading.Lock()
        self._owner, self._closed = os.getpid(), False
        self._finalizer: weakref.finalize | None = None

    @property
    def zygote_pid(self) -> int | None:
        """Process id of the zygote; None before the start."""
        return self._zygote.pid if self._zygote is not None else None

    def fork(self, limits: Limits) -> WorkerProcess:
        """A worker of its own for one program.

        Raises:
            SandboxUnavailable: No confined worker can be had.
        """
        return self.start().fork(limits)

    def channel(self, limits: Limits) -> ProcessChannel:
        """The conversation with a new worker, for ordinary code."""
        return ProcessChannel(self.start().fork(limits, looks=True), limits, self._required)

    def start(self) -> ZygoteProcess:
        """The zygote, started and its layers tried where that has not happened yet.

        Raises:
            SandboxUnavailable: A required layer is missing or does not hold; it names the layer.
            SandboxError: It is closed, or belongs to another process.
        """
        if self._owner != os.getpid():
            raise SandboxError("this pool was made by the process that forked this one; make a pool here")
        with self._lock:
            if self._closed:
                raise SandboxError("the pool is closed")
            if self._zygote is not None and self._zygote.alive():
                return self._zygote
            if not sys.platform.startswith("linux"):
                raise SandboxUnavailable("fork", f"the sandbox needs Linux, and this is {sys.platform}")
            if self._zygote is not None:
                self._zygote.close()
            zygote = ZygoteProcess(self._settings, self._hash_seed)
            try:
                self.layers = self._tried(zygote)
            except BaseException:
                zygote.close()
                raise
            self._zygote = zygote
            self._finalizer = weakref.finalize(self, zygote.close)
            return zygote

    def close(self) -> None:
        """Ends the zygote and every worker, and waits until they are gone; a second call does nothing."""
        with self._lock:
            self._closed = True
            zygote, self._zygote = self._zygote, None
            if zygote is not None and self._owner == os.getpid():
                if self._finalizer is not None:
                    self._finalizer.detach()
                zygote.close()

    def _tried(self, zygote: ZygoteProcess) -> dict[str, str]:
        """Lets workers try what must not go through; the layers as the workers found them."""
        limits = Limits()
        layers: dict[str, str] = {}
        for name, attempt in TRIES.items():
            channel = ProcessChannel(zygote.fork(limits), limits, self._required)
            operation = Attempt(name)
            try:
                [raw] = channel.exchange([operation.write(limits)])
                found = outcome(operation, raw, limits)
            finally:
                channel.close()
            layers = dict(channel.layers)
            holding = [layer for layer in attempt.held_by if not layers.get(layer, "unknown")]
            if found is True and holding:
                raise SandboxUnavailable(holding[0], f"it is applied, and yet a confined worker could {attempt.words}")
            if isinstance(found, ProgramKilled) and found.limit == "syscall":
                continue  # the filter's way to say no
            if isinstance(found, SandboxUnavailable):
                raise found
            if isinstance(found, Exception):
                raise SandboxUnavailable("selftest", f"the try to {attempt.words} gave no answer: {found}")
        return layers

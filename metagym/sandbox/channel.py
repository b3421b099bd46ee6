"""The parent's conversation with one worker, without its waiting: what to send, what arrived, why it ended."""

from __future__ import annotations

import copy
import signal
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from metagym.errors import BadInput, BadOutput, MetaGymError, ProgramKilled, SandboxUnavailable
from metagym.sandbox import wire
from metagym.sandbox.faults import from_wire
from metagym.sandbox.limits import Limits
from metagym.sandbox.loaders import Loader
from metagym.sandbox.play import PlainPlayer
from metagym.sandbox.processes import WorkerProcess
from metagym.sandbox.worker import OUT_OF_MEMORY

GRACE_S = 0.05
"""Added to every wall-clock limit: a worker sends results of a batch up to 0.02 s late, and waking up takes time."""


class Channel(Protocol):
    """Where a program's operations go."""

    @property
    def layers(self) -> Mapping[str, str]:
        """By layer: "" where it held, otherwise why it is missing; empty where there is none."""

    @property
    def printed(self) -> str:
        """What the program printed so far."""

    def exchange(self, operations: Sequence[list[Any]]) -> list[Any]:
        """Raw answers (or exceptions), one for each operation."""

    def close(self) -> None:
        """Ends the worker."""


class Talk:
    """State of a conversation with a worker.

    Args:
        worker: A fresh worker, which has not greeted yet.
        limits: Its limits.
        required: Layers that must have held.

    Attributes:
        layers: By layer: "" where it held, otherwise why it is missing; empty before the greeting.
        printed: What the program printed so far.
        ended: Why nothing more can be asked; None while it lives.
        code: The compiled program that the worker sent; None without it.
        awaits_code: The worker was asked for it and has not run anything of the program yet, as far as is known here.
    """

    def __init__(self, worker: WorkerProcess, limits: Limits, required: Sequence[str]) -> None:
        self.worker, self.limits = worker, limits
        self.layers: Mapping[str, str] = {}
        self.printed = ""
        self.ended: MetaGymError | None = None
        self.code: str | None = None
        self.awaits_code = False
        self._required = required
        self._frames = wire.Frames(limits.frame_bytes)

    def seconds(self, operation: Sequence[Any]) -> float:
        """How long to wait for an operation's answer."""
        return (self.limits.load_s if operation[0] == "load" else self.limits.call_s) + GRACE_S

    def feed(self, data: bytes, expected: int) -> list[Any]:
        """Takes bytes from the worker; gives the raw answers that they complete.

        Args:
            data: What arrived; empty at the end of the stream.
            expected: How many answers are due.

        Raises:
            MetaGymError: The conversation is over; `ended` tells later callers.
        """
        if not data:
            raise self.over(self._death()) if self.ended is None else again(self.ended)
        results: list[Any] = []
        try:
            for message in self._frames.feed(data):
                if not self.layers:
                    self._greeting(message)
                elif self.awaits_code and type(message) is dict:
                    self._code(message)
                else:
                    results += self._results(message)
                    self.awaits_code = False  # it was refused; what comes now may come from the program
            if len(results) > expected:
                raise BadOutput("the worker sent an answer that nobody asked for")
        except BadOutput as error:
            self.over(ProgramKilled("output", f"{error}; it was ended"))
            raise
        for result in results:
            if result[0] == "killed" and self.ended is None:  # it ends itself after such an answer
                self.over(_reason(result))
        return results

    def too_late(self, operation: Sequence[Any], all_over: bool = False) -> MetaGymError:
        """Ends a worker that did not answer in time; gives the error.

        Args:
            operation: What was asked.
            all_over: The caller's own time was up, before the operation's limit.
        """
        what = {"load": "loading"}.get(operation[0], operation[0])
        seconds = self.seconds(operation) - GRACE_S
        limit = "the time that was left for all of it" if all_over else f"its limit of {seconds:g} s"
        return self.over(ProgramKilled("wall", f"{what} ran past {limit}; the worker was ended"))

    def over(self, error: MetaGymError) -> MetaGymError:
        """Ends the worker; gives the error, which later calls meet again."""
        if self.ended is None:
            self.ended = error
        self.worker.kill()
        return error

    def _greeting(self, message: Any) -> None:
        layers = message.get("layers") if type(message) is dict else None
        if type(layers) is not dict or not layers or not all(type(why) is str for why in layers.values()):
            raise BadOutput("the worker did not say how it is confined")
        self.layers = layers
        for name in self._required:
            if layers.get(name, "unknown to the worker"):
                raise self.over(SandboxUnavailable(name, layers.get(name) or "unknown to the worker"))

    def _code(self, message: dict[str, Any]) -> None:
        self.awaits_code = False
        code = message.get("code")
        if type(code) is not str or len(message) != 1:
            raise BadOutput("the worker sent a message that is no answer")
        self.code = code

    def _results(self, message: Any) -> list[Any]:
        if type(message) is not list or not 1 <= len(message) <= 2 or type(message[0]) is not list:
            raise BadOutput("the worker sent a message that is no answer")
        results, more = message[0], message[1:]
        for result in results:
            if type(result) is not list or not result or type(result[0]) is not str:
                raise BadOutput("the worker sent a message that is no answer")
        if not results and not (more and more[0]):  # it could send these for ever, also while nobody asks
            raise BadOutput("the worker sent a message that is empty")
        if more:
            if type(more[0]) is not str or len(self.printed) + len(more[0]) > self.limits.prints:
                raise BadOutput(f"the worker sent more printed text than {self.limits.prints:,} characters")
            self.printed += more[0]
        return results

    def _death(self) -> MetaGymError:
        status, limits = self.worker.status(), self.limits
        if status == -signal.SIGSYS:
            return ProgramKilled("syscall", "the program made a system call that is not allowed; the worker was ended")
        if status == -signal.SIGXCPU:
            return ProgramKilled("cpu", f"the worker used up its {limits.cpu_s:g} s of CPU time and was ended")
        if status == OUT_OF_MEMORY:
            return ProgramKilled("memory", f"the program asked for more than its {limits.memory_mb} MiB and was ended")
        if status is None or status == -signal.SIGKILL:
            return ProgramKilled("died", "the worker was ended from outside, or closed its end")
        if status < 0:
            return ProgramKilled("died", f"the worker crashed ({signal.Signals(-status).name})")
        return ProgramKilled("died", f"the worker left with exit code {status}")


def _reason(result: Sequence[Any]) -> MetaGymError:
    try:
        return from_wire(result)
    except BadOutput as error:
        return ProgramKilled("output", f"{error}; it was ended")


def again(error: MetaGymError) -> MetaGymError:
    """A copy of an error that several callers get: each raises an exception of its own."""
    return copy.copy(error)


def requests(operations: Sequence[list[Any]]) -> list[tuple[bytes, int]]:
    """Operations as messages, each with how many it holds; one message unless they are long.

    Raises:
        BadInput: A single operation is longer than a message may be.
    """
    payload = wire.encode(operations)
    if len(payload) <= wire.REQUEST_BYTES:
        return [(wire.packed(payload), len(operations))]
    if len(operations) == 1:
        raise BadInput(f"a call of {len(payload):,} bytes is too long; {wire.REQUEST_BYTES:,} can be sent")
    half = len(operations) // 2
    return requests(operations[:half]) + requests(operations[half:])


class InProcess:
    """A program in the caller's own process, with no layer but the language's: for code that is trusted.

    Args:
        loader: Compiles the source.
        limits: Of these, what the player holds.
    """

    def __init__(self, loader: Loader, limits: Limits) -> None:
        self.layers: Mapping[str, str] = {}
        self.printed = ""
        self._player: PlainPlayer | None = PlainPlayer(loader, limits)

    def exchange(self, operations: Sequence[list[Any]]) -> list[Any]:
        """See `Channel`."""
        results: list[Any] = []
        for operation in operations:
            if self._player is None:
                results.append(ProgramKilled("died", "the program is closed"))
                continue
            results.append(self._player.perform(list(operation)))
            self.printed += self._player.printed()
            if results[-1][0] == "killed":
                self._player = None
        return results

    def close(self) -> None:
        """See `Channel`."""
        self._player = None

"""`ScriptPool`: scripts and functions that nobody has read, judged from outside.

Whatever a script does to its own process, no verdict is made there: output is compared by the caller, and a test runs
in a worker of its own, which the tested function's worker reaches through plain values alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled, SandboxError, SandboxUnavailable
from metagym.sandbox import wire
from metagym.sandbox.confine import LAYERS
from metagym.sandbox.limits import Limits
from metagym.sandbox.plain import whole
from metagym.sandbox.pool import Switches
from metagym.sandbox.scripts.asking import Worker, fed, packed, sound
from metagym.sandbox.scripts.values import KEYS, Unsendable, unpack
from metagym.sandbox.workers import Workers

Verdict = Literal["passed", "wrong", "timeout", "error", "killed"]
VERDICTS: tuple[Verdict, ...] = ("passed", "wrong", "timeout", "error", "killed")
"""``timeout``: past a limit of time; ``error``: an exception, a bad exit code, or a value that cannot be carried over;
``killed``: past a limit of memory or output, a forbidden system call, or a worker that died."""


@dataclass(frozen=True)
class Ran:
    """How a script ended.

    Attributes:
        verdict: ``passed`` here says that it ended by itself and without an error; it was compared with nothing.
        output: What it printed; "" unless it ended so.
        detail: One line on what went wrong.
    """

    verdict: Verdict
    output: str
    detail: str = ""


@dataclass(frozen=True)
class Judged:
    """How a function did in a test.

    Attributes:
        verdict: See `VERDICTS`.
        detail: One line on what went wrong; never what the test expected.
        calls: Calls that the test had made.
    """

    verdict: Verdict
    detail: str
    calls: int


class ScriptPool:
    """Runs scripts in confined workers, one worker each; any thread may ask.

    The border is that of `metagym.sandbox.SandboxPool`: rlimits, seccomp, Landlock, tried in each worker, and without
    one of them nothing runs. There is no language layer: scripts are ordinary Python.

    Args:
        limits: Limits of each worker. `call_s` is the wall-clock time of one run or call with its input, `cpu_s` the
            CPU time of the whole worker, `output_chars` the bytes that a script may print.
        prepared: A source of the caller's own, which the zygote runs before it forks, unconfined; its functions can be
            called in workers (`call_prepared`).
        libraries: Scripts get the usual modules of the standard library, and NumPy where it is installed.
        hash_seed: ``PYTHONHASHSEED`` of the workers.
        switches: For tests of the layers.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        prepared: str = "",
        libraries: bool = True,
        hash_seed: int = 0,
        switches: Switches | None = None,
    ) -> None:
        self.limits = limits or SCRIPT_LIMITS
        switches = switches or Switches()
        settings = {
            "scripts": {"prepared": prepared, "libraries": libraries},
            "required": LAYERS,
            "without": switches.without,
            "keep_root": switches.keep_root,
        }
        self._workers = Workers(settings, hash_seed)

    # --- starting and ending

    def start(self) -> Self:
        """Starts the zygote and tries the layers, where that has not happened yet.

        Raises:
            SandboxUnavailable: A layer is missing or does not hold; it names the layer.
        """
        self._workers.start()
        return self

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that held in the self-test; empty before the start."""
        return tuple(name for name, why in self._workers.layers.items() if not why)

    def close(self) -> None:
        """Ends every worker; a second call does nothing."""
        self._workers.close()

    def __enter__(self) -> Self:
        """The pool itself, started."""
        return self.start()

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Closes it."""
        self.close()

    # --- what it does

    def run(
        self, sources: Sequence[str], given: str = "", limits: Limits | None = None, *, seconds: float | None = None
    ) -> Ran:
        """Runs a script in a fresh worker.

        Args:
            sources: Run one after the other in one namespace; the last one is the script.
            given: Its standard input.
            limits: Instead of the pool's.
            seconds: Wall-clock seconds of the whole; None: `call_s` alone bounds it.

        Raises:
            SandboxUnavailable: No confined worker can be had.
        """
        limits, until = limits or self.limits, _end(seconds)
        if long := _too_long(sources, limits):
            return long
        with Worker(self._workers, limits) as worker:
            try:
                found = worker.ask([*fed(given), ["run", list(sources)]], until)
            except SandboxError as error:
                return Ran(_verdict(error), "", str(error))
        match found:
            case [str(output), True, ""] if len(output) <= limits.output_chars:
                return Ran("passed", whole(output))
            case [str(), bool(), ""] | [str(), False, str()]:
                return Ran("killed", "", f"the script printed more than {limits.output_chars:,} bytes")
            case [str(), True, str(detail)]:
                return Ran("error", "", whole(detail[:500]))
        return Ran("killed", "", "the worker answered in a form that no run has")

    def call(
        self,
        sources: Sequence[str],
        name: str,
        arguments: Sequence[Any],
        limits: Limits | None = None,
        *,
        seconds: float | None = None,
    ) -> tuple[Ran, Any]:
        """Calls a function of a script in a fresh worker.

        Args:
            sources: As for `run`.
            name: A function, or ``Class.method``, which is called on a new instance.
            arguments: Plain values (see `metagym.sandbox.scripts.values`).
            limits: Instead of the pool's.
            seconds: Wall-clock seconds of the whole; None: `call_s` for the script, and for the call.

        Returns:
            How it ended, and the value where it passed.

        Raises:
            SandboxUnavailable: No confined worker can be had.
            BadInput: An argument cannot be carried over.
        """
        limits, until = limits or self.limits, _end(seconds)
        if long := _too_long(sources, limits):
            return long, None
        pieces = fed(wire.encode(packed(list(arguments))).decode("ascii"))
        with Worker(self._workers, limits) as worker:
            try:
                worker.ask([["define", list(sources)]], until)
                found = worker.ask([*pieces, ["call", name, None, ["dict"]]], until)
                return Ran("passed", ""), unpack(found, KEYS)
            except (SandboxError, Unsendable) as error:
                return Ran(_verdict(error), "", str(error)), None

    def open(self, sources: Sequence[str], limits: Limits | None = None) -> Functions:
        """Runs sources in a fresh worker and keeps it, so that calls of its functions can follow each other.

        Args:
            sources: As for `run`.
            limits: Instead of the pool's; `cpu_s` is for the worker's whole life.

        Raises:
            ProgramError, ProgramKilled: The sources fail.
            SandboxUnavailable: No confined worker can be had.
        """
        limits = limits or self.limits
        if long := _too_long(sources, limits):
            raise ProgramError(long.detail)
        worker = Worker(self._workers, limits)
        try:
            worker.ask([["define", list(sources)]])
        except BaseException:
            worker.close()
            raise
        return Functions(worker)

    def call_prepared(self, name: str, arguments: Sequence[Any], limits: Limits | None = None) -> Any:
        """Calls a prepared function, in a fresh worker since it may be handed anything; gives its value.

        Raises:
            ProgramError: It raised.
            ProgramKilled: It ran into a limit.
            SandboxUnavailable: No confined worker can be had.
            BadOutput: It returned what cannot be carried over.
        """
        with Worker(self._workers, limits or self.limits) as worker:
            try:
                return unpack(worker.ask([["prepared", name, packed(list(arguments))]]), KEYS)
            except Unsendable as error:
                raise BadOutput(str(error)) from None

    def check(
        self,
        sources: Sequence[str],
        test: Sequence[str],
        name: str,
        *,
        check: str = "check",
        seconds: float = 60.0,
        calls: int = 100_000,
        limits: Limits | None = None,
    ) -> Judged:
        """Runs a test on a function; the two live in workers of their own and exchange plain values.

        Args:
            sources: The script that defines the function, as for `run`.
            test: Sources that define the test; the first may define further names that it needs.
            name: The function, under which the test may also call it.
            check: Name of the test, which takes the function.
            seconds: Wall-clock seconds of the whole.
            calls: Calls that the test may make.
            limits: Instead of the pool's, for both workers.

        Raises:
            SandboxUnavailable: No confined worker can be had.
            BadInput: The test ended without calling the function, or begins with a call that is too long to be sent,
                which is no fault of the function's.
        """
        limits, until, made = limits or self.limits, time.monotonic() + seconds, 0
        if long := _too_long(sources, limits):
            return Judged(long.verdict, long.detail, 0)
        with Worker(self._workers, limits) as stranger, Worker(self._workers, limits) as judge:
            try:
                stranger.ask([["define", list(sources)]], until)
            except SandboxError as error:
                return Judged(_verdict(error), str(error), 0)
            question: list[Any] = ["check", list(test), name, check]
            raised = ""
            while True:
                try:
                    found = judge.ask([question], until)
                except SandboxUnavailable:
                    raise
                except SandboxError as error:  # a value may be made to take for ever to compare
                    return Judged(_verdict(error), f"the test could not be finished: {error}", made)
                match found:
                    case ["call", arguments, keywords] if made < calls and time.monotonic() < until:
                        made += 1
                        try:
                            value = stranger.ask([["call", name, arguments, keywords]], until)
                            question = ["answer", "value", sound(value)]
                        except ProgramError as error:
                            question = ["answer", "raised", raised := str(error)]
                        except BadInput:
                            if made == 1:
                                raise  # the test's own words; later ones may have grown of what the function said
                            return Judged("error", "the test calls the function with more than can be sent", made)
                        except (SandboxError, Unsendable) as error:
                            return Judged(_verdict(error), str(error), made)
                    case ["call", *_]:
                        return Judged("timeout", f"the test went past {seconds:g} s or {calls:,} calls", made)
                    case ["passed" | "wrong" | "error" as verdict, str(detail)] if made:
                        if verdict == "wrong":
                            detail = f"the test failed after call {made} of the function"
                        return Judged(verdict, raised or detail[:500], made)
                    case ["passed" | "wrong" | "error", str(detail)]:
                        raise BadInput(f"the test of {name} never calls the function {detail[:300]}".rstrip())
                    case _:
                        return Judged("killed", "the test's worker answered in a form that no test has", made)


SCRIPT_LIMITS = Limits(
    call_s=30.0,
    load_s=20.0,
    cpu_s=6.0,
    memory_mb=1_024,
    output_chars=4_194_304,
    frame_bytes=8_389_632,
    prints=0,
)
"""Six CPU seconds a test, the time limit of LiveCodeBench's own judge; the wall clock is only for what sleeps."""


class Functions:
    """The functions of a script that lives on in its worker; one caller at a time.

    Args:
        worker: Where the script was run.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function with plain values; gives its value.

        Raises:
            ProgramError: It raised.
            ProgramKilled: It ran into a limit; the worker is gone.
            BadOutput: It returned what cannot be carried over.
            BadInput: An argument cannot be carried over.
        """
        pieces = fed(wire.encode(packed(list(arguments))).decode("ascii"))
        try:
            return unpack(self._worker.ask([*pieces, ["call", name, None, ["dict"]]]), KEYS)
        except Unsendable as error:
            raise BadOutput(str(error)) from None

    def close(self) -> None:
        """Ends the worker; a second call does nothing."""
        self._worker.close()


def _verdict(error: Exception) -> Verdict:
    if isinstance(error, SandboxUnavailable):
        raise error
    if isinstance(error, ProgramKilled):
        return "timeout" if error.limit in ("wall", "cpu") else "killed"
    return "killed" if isinstance(error, BadOutput) else "error"  # BadOutput: it spoke for its worker


def _too_long(sources: Sequence[str], limits: Limits) -> Ran | None:
    """Sources that do not fit into one message, whatever they are made of."""
    length = sum(map(len, sources))
    if length <= limits.source_chars:
        return None
    return Ran("error", "", f"the source has {length:,} characters; at most {limits.source_chars:,} are read")


def _end(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds

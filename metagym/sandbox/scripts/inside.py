"""The worker's side of scripts: runs one on an input, calls its functions, or tests a stranger's function.

Operations, each a list, answered by ``["ok", value]`` or an error as `metagym.sandbox.faults.to_wire` writes it:

    ["feed", text]                 a further piece of the input
    ["run", sources]               runs sources as one script -> [output, whether it is whole, error or ""]
    ["define", sources]            runs sources and keeps their names -> None
    ["call", name, arguments, keywords]   calls a function -> its value, packed; arguments None: they were fed, as JSON
    ["prepared", name, arguments]  calls a function that the zygote prepared -> its value, packed
    ["check", sources, name, test]        calls test(name) where the function `name` is the stranger's
    ["answer", kind, value]        the stranger's answer

A check asks for its stranger in the form of answers: ``["call", arguments, keywords]`` is the answer to ``check`` or
``answer`` where the test calls the function, and ``["passed", "wrong" or "error", text]`` at its end. So a test and the
function that it tests never share a process: what the function's worker can send are values; none says "passed".
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from metagym.errors import BadInput, ProgramError, ProgramKilled, SandboxError
from metagym.sandbox import wire
from metagym.sandbox.confine.rlimits import SOCKET
from metagym.sandbox.faults import to_wire, told
from metagym.sandbox.limits import Limits
from metagym.sandbox.scripts.stdio import Stdio
from metagym.sandbox.scripts.values import Unsendable, pack, unpack

PROGRAM = "<program>"


class StrangerFailed(Exception):
    """What a test meets where the function that it tests raised."""


class ScriptPlayer:
    """Does operations on one script; a worker has one.

    Args:
        prepared: Names of what the zygote prepared.
        limits: Of these it holds `output_chars` (bytes of output) and `source_chars`.
    """

    def __init__(self, prepared: Mapping[str, Any], limits: Limits) -> None:
        self._prepared, self._limits = prepared, limits
        self._given: list[str] = []
        self._namespace: dict[str, Any] = {}
        self._operations: dict[str, Callable[..., Any]] = {
            "feed": self._feed,
            "run": self._run,
            "define": self._define,
            "call": self._call,
            "prepared": self._call_prepared,
            "check": self._check,
        }

    def perform(self, operation: list[Any]) -> list[Any]:
        """Does one operation; every outcome is an answer."""
        try:
            return ["ok", self._operations[operation[0]](*operation[1:])]
        except (SandboxError, BadInput) as error:
            return to_wire(error)
        except MemoryError:
            return to_wire(self._out_of_memory())
        except Exception as error:  # a fault of ours, or what a script did to the interpreter
            return to_wire(ProgramKilled("died", f"the script's worker failed ({told(error, PROGRAM)}) and was ended"))

    def printed(self) -> str:
        """Nothing: a script's output is the answer to its run."""
        return ""

    # --- operations

    def _feed(self, text: str) -> None:
        self._given.append(text)

    def _run(self, sources: Sequence[str]) -> list[Any]:
        stdio = Stdio("".join(self._given).encode("utf-8", "surrogatepass"), self._limits.output_chars)
        self._given.clear()
        error = ""
        try:
            self._execute(sources, "__main__")
        except SystemExit as end:
            error = "" if not end.args or end.args[0] in (None, 0) else told(end, PROGRAM)
        except MemoryError:
            raise
        except BaseException as raised:
            error = told(raised, PROGRAM)
        output, whole = stdio.finish()
        return [output, whole, error]

    def _define(self, sources: Sequence[str]) -> None:
        Stdio(b"", self._limits.output_chars)
        try:
            self._execute(sources, "program")
        except MemoryError:
            raise
        except BaseException as error:
            raise ProgramError(told(error, PROGRAM)) from None

    def _call(self, name: str, arguments: Any, keywords: Any) -> Any:
        if arguments is None:
            arguments = wire.decode("".join(self._given).encode("ascii"))
            self._given.clear()
        try:
            found: Any = self._namespace
            owner, _, method = name.rpartition(".")
            if owner:
                found = {method: getattr(self._namespace[owner](), method)}
            return pack(found[method](*unpack(arguments), **unpack(keywords)))
        except MemoryError:
            raise
        except Unsendable as error:
            raise ProgramError(str(error)) from None
        except BaseException as error:
            raise ProgramError(told(error, PROGRAM)) from None

    def _call_prepared(self, name: str, arguments: Any) -> Any:
        try:
            return pack(self._prepared[name](*unpack(arguments)))
        except MemoryError:
            raise
        except Exception as error:
            raise ProgramError(told(error, PROGRAM)) from None

    def _check(self, sources: Sequence[str], name: str, test: str) -> Any:
        Stdio(b"", self._limits.output_chars)
        requests = wire.Requests(wire.asleep(SOCKET))

        def stranger(*arguments: Any, **keywords: Any) -> Any:
            try:
                wanted = pack(list(arguments)), pack(keywords)
            except Unsendable as error:
                raise TypeError(str(error)) from None
            wire.write(SOCKET, wire.encode([[["ok", ["call", *wanted]]]]))
            [[_, kind, value]] = requests.next()
            if kind != "value":
                raise StrangerFailed(value)
            return unpack(value)

        try:
            self._execute(sources[:1], "program")
            self._namespace[name] = stranger
            self._execute(sources[1:], "program")
            self._namespace[test](stranger)
        except MemoryError:
            raise
        except BaseException as error:
            kind = "wrong" if isinstance(error, AssertionError) else "error"
            return [kind, "" if kind == "wrong" else told(error, PROGRAM)]
        return ["passed", ""]

    # --- inside

    def _execute(self, sources: Sequence[str], name: str) -> None:
        """Runs sources one after the other in one namespace; only the last one's lines are told in errors."""
        if not self._namespace:
            module = ModuleType(name)
            module.__dict__["__builtins__"] = builtins
            sys.modules[name] = module  # dataclasses and others look for the module of a class
            self._namespace = module.__dict__
        for number, source in enumerate(sources, 1):
            if len(source) > self._limits.source_chars:
                raise SyntaxError(f"the source has more than {self._limits.source_chars:,} characters")
            filename = PROGRAM if number == len(sources) else "<given>"
            exec(compile(source, filename, "exec", dont_inherit=True), self._namespace)  # noqa: S102  (what it is for)

    def _out_of_memory(self) -> ProgramKilled:
        return ProgramKilled("memory", f"the script asked for more than its {self._limits.memory_mb} MiB and was ended")

"""What went wrong inside a program, told without running anything of it, and carried over the wire by kind.

The text of an exception is the program's: its type's name may be 60 KB long and its `__str__` may never return. So only
the name and arguments that are exactly text or numbers are told, each cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled, ProgramRejected, SandboxError
from metagym.sandbox.plain import type_name, whole

TEXT = 300
"""Characters of an exception's text that are kept."""

MESSAGE = 2_000
"""Characters of any message that the parent takes from a worker; lone surrogates, which no file takes, are replaced."""

LIMITS = ("wall", "cpu", "memory", "output", "syscall", "steps", "died")

_ARGS = BaseException.__dict__["args"].__get__
_TRACEBACK = BaseException.__dict__["__traceback__"].__get__
_CODE = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def told(error: BaseException, filename: str) -> str:
    """An exception of a program in one line: type, text and the program's line that it left last.

    Args:
        error: Any exception, of any class that a program made.
        filename: The file name under which the program was compiled.
    """
    name, text, line = type_name(error), _text(error), _line(_TRACEBACK(error), filename)
    where = f" (line {line})" if line else ""
    return f"{name}: {text}{where}" if text else f"{name}{where}"


def _text(error: BaseException) -> str:
    parts = [_word(part) for part in _ARGS(error)[:4] if any(type(part) is kind for kind in (str, int, float, bool))]
    text = ", ".join(part[:TEXT] for part in parts)
    text = whole(text)
    return text if len(text) <= TEXT else text[: TEXT - 3] + "..."


def _word(part: str | int | float) -> str:
    # Python refuses to write a number of more than 4,300 digits, and takes long for a shorter one.
    return str(part) if type(part) is not int or part.bit_length() <= 1_024 else "a number of more than 300 digits"


def _line(traceback: TracebackType | None, filename: str) -> int:
    line = 0
    while traceback is not None:
        frame: FrameType = traceback.tb_frame
        if frame.f_code.co_filename == filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def to_wire(error: Exception) -> list[Any]:
    """A typed error as a result of the wire.

    Raises:
        TypeError: It is none of the errors that a worker tells.
    """
    if isinstance(error, ProgramRejected):
        return ["rejected", error.code, error.line, error.message]
    if isinstance(error, ProgramKilled):
        return ["killed", error.limit, error.message]
    for kind, known in _SIMPLE.items():
        if isinstance(error, known):
            return [kind, str(error)]
    raise TypeError(f"{type(error).__name__} is no error of a program")


def from_wire(raw: Sequence[Any]) -> SandboxError | BadInput:
    """The error that a worker's result tells.

    Raises:
        BadOutput: It is no such result.
    """
    match list(raw):
        case ["rejected", str(code), int(line), str(message)] if _CODE.fullmatch(code) and 0 <= line < 2**31:
            return ProgramRejected(code, line, whole(message[:MESSAGE]))
        case ["killed", str(limit), str(message)] if limit in LIMITS:
            return ProgramKilled(limit, whole(message[:MESSAGE]))
        case [str(kind), str(message)] if kind in _SIMPLE:
            return _SIMPLE[kind](whole(message[:MESSAGE]))
    raise BadOutput("the worker answered in a form that no call has")


_SIMPLE: dict[str, type[SandboxError] | type[BadInput]] = {
    "error": ProgramError,
    "output": BadOutput,
    "input": BadInput,
}

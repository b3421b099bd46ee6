"""What programs use to talk to their host or ask about it: accepted where that is habit, and without any effect."""

from __future__ import annotations

import sys
from typing import Any

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.names import PROGRAM_MODULE

_LEVELS = {"NOTSET": 0, "DEBUG": 10, "INFO": 20, "WARNING": 30, "WARN": 30, "ERROR": 40, "CRITICAL": 50, "FATAL": 50}
_SILENT = "silent: it keeps levels and names and writes nowhere"


class Quiet:
    """An object of ``logging`` that does nothing: handlers, formatters and filters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.level = 0

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing."""

    addFilter = removeFilter = setFormatter = flush = close = emit = handle = acquire = release = _nothing

    def setLevel(self, level: Any) -> None:  # noqa: N802  (the name of the real method)
        """Keeps the level."""
        self.level = _level(level)

    def format(self, record: Any) -> str:
        """Gives no text."""
        return ""


class Logger(Quiet):
    """``logging.Logger`` that writes nowhere."""

    def __init__(self, name: str = "root", level: Any = 0) -> None:
        self.name, self.level = name, _level(level)
        self.propagate, self.disabled = True, False
        self.handlers: list[Any] = []

    debug = info = warning = warn = error = exception = critical = fatal = log = Quiet._nothing

    def addHandler(self, hdlr: Any) -> None:  # noqa: N802
        """Keeps the handler."""
        self.handlers.append(hdlr)

    def removeHandler(self, hdlr: Any) -> None:  # noqa: N802
        """Forgets the handler."""
        if hdlr in self.handlers:
            self.handlers.remove(hdlr)

    def hasHandlers(self) -> bool:  # noqa: N802
        """Whether it has any."""
        return bool(self.handlers)

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802
        """Whether messages of a level are written: none is."""
        return False

    def getEffectiveLevel(self) -> int:  # noqa: N802
        """The level that was set."""
        return self.level or _LEVELS["WARNING"]

    def getChild(self, suffix: str) -> Logger:  # noqa: N802
        """A logger below this one."""
        return Logger(f"{self.name}.{suffix}")


class LoggerAdapter(Logger):
    """``logging.LoggerAdapter`` that writes nowhere."""

    def __init__(self, logger: Any, extra: Any = None) -> None:
        super().__init__(getattr(logger, "name", "root"))
        self.logger, self.extra = logger, extra


def _level(level: Any) -> int:
    return _LEVELS.get(level, 0) if isinstance(level, str) else level if isinstance(level, int) else 0


def get_logger(name: str | None = None) -> Logger:
    """A logger that writes nowhere; a new one each time, so that sessions share none."""
    return Logger(name or "root")


def get_level_name(level: Any) -> Any:
    """``logging.getLevelName``."""
    if isinstance(level, str):
        return _LEVELS.get(level, f"Level {level}")
    return next((name for name, value in _LEVELS.items() if value == level), f"Level {level}")


def nothing(*args: Any, **kwargs: Any) -> None:
    """Does nothing."""


LOGGING = (
    Table("logging")
    .ours(
        _SILENT,
        getLogger=get_logger,
        Logger=Logger,
        LoggerAdapter=LoggerAdapter,
        Handler=Quiet,
        StreamHandler=Quiet,
        NullHandler=Quiet,
        Formatter=Quiet,
        Filter=Quiet,
        getLevelName=get_level_name,
        **dict.fromkeys(
            "basicConfig debug info warning warn error exception critical fatal log disable shutdown "
            "captureWarnings addLevelName".split(),
            nothing,
        ),
    )
    .ours("constants", **_LEVELS)
    .refuse("there are no files; print what the author should see", "FileHandler")
    .rest("nobody reads the log; print what the author should see")
)

# --- warnings


class CatchWarnings:
    """``warnings.catch_warnings``: there are none to catch."""

    def __init__(self, *, record: bool = False, **_: Any) -> None:
        self.record = record

    def __enter__(self) -> list[Any] | None:
        """A list that stays empty, or None."""
        return [] if self.record else None

    def __exit__(self, *_: Any) -> None:
        """Lets every exception pass."""


def deprecated(*_: Any, **__: Any) -> Any:
    """``warnings.deprecated``: a decorator that changes nothing."""
    return lambda thing: thing


WARNINGS = (
    Table("warnings")
    .ours("silent: nobody reads warnings", catch_warnings=CatchWarnings, deprecated=deprecated)
    .ours(
        "silent: nobody reads warnings",
        warn=nothing,
        warn_explicit=nothing,
        filterwarnings=nothing,
        simplefilter=nothing,
        resetwarnings=nothing,
    )
    .refuse("raise an exception instead", "showwarning formatwarning")
)

# --- traceback


def format_exc(limit: int | None = None, chain: bool = True) -> str:
    """The exception being handled as one line: its type and message."""
    error = sys.exc_info()[1]
    return "NoneType: None\n" if error is None else "".join(format_exception(error))


def format_exception(exc: Any, /, value: Any = None, tb: Any = None, **_: Any) -> list[str]:
    """An exception as one line, without the places it passed; its notes follow.

    Ours: the library's own adds suggestions, for which it imports modules and looks for names in them.
    """
    error = value if isinstance(value, BaseException) else exc
    if not isinstance(error, BaseException):
        return []
    kind = type(error)
    shown = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__", PROGRAM_MODULE):
        shown = f"{kind.__module__}.{shown}"
    try:
        text = str(error)
    except Exception:  # as in the library: a text that cannot be had does not hide the error
        text = "<exception str() failed>"
    notes = getattr(error, "__notes__", None)
    lines = [f"{note}\n" for note in notes if isinstance(note, str)] if isinstance(notes, (list, tuple)) else []
    return [f"{shown}: {text}\n" if text else f"{shown}\n", *lines]


TRACEBACK = (
    Table("traceback")
    .ours(
        "type and message only: the frames of an exception belong to the host",
        format_exc=format_exc,
        format_exception=format_exception,
        format_exception_only=format_exception,
    )
    .ours("silent: nobody reads standard error", print_exc=nothing, print_exception=nothing, print_last=nothing)
    .refuse(
        "the frames of the interpreter are not offered; use traceback.format_exc()",
        "extract_stack extract_tb format_list format_stack format_tb print_list print_stack print_tb "
        "walk_stack walk_tb "
        "clear_frames FrameSummary StackSummary TracebackException",
    )
)

# --- sys

SYS = (
    Table("sys")
    .real("constants", "maxsize float_info int_info byteorder maxunicode")
    .real("one text in, the same out", "intern")
    .ours("without effect: the limit of calls within calls stays as it is", setrecursionlimit=nothing)
    .refuse("raise an exception, or end the episode with terminated=True", "exit")
    .refuse("use print", "stdout stderr stdin displayhook")
    .refuse(
        "the interpreter is not offered; environments need nothing of it",
        "modules path argv settrace setprofile exc_info getsizeof getrefcount getrecursionlimit "
        "version version_info platform executable flags hexversion implementation",
    )
    .rest("the interpreter is not offered; environments need nothing of it")
)


TABLES = (LOGGING, WARNINGS, TRACEBACK, SYS)

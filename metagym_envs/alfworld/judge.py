"""The real ALFWorld engine behind the same small surface as the native one: the judge in tests, the fall-back in play.

As shipped the engine costs about a second per reset and 70 ms per step, nearly all of it for parsing constant text
again and for translating a problem that it has translated before. Here both are remembered (see
`metagym_envs.alfworld.judge_memory`); no rule of the game is restated, so the answers stay the engine's own.
``shipped=True`` plays the engine untouched.

What the engine cannot do is kept away from callers: it is not safe in threads (one lock), every engine object copies a
34 MB library and never gives it back (one object per process), its planner may hang for minutes (never asked), it
overwrites ``sys.argv`` (restored), it makes a data folder at import (in a temporary place, unless one is set). One
thing stays: it remembers every fact it ever met, 1 MB a game; a worker that plays thousands of games is best renewed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from metagym.errors import BadInput, BrokenExtra, EngineError
from metagym.extras import require
from metagym_envs.alfworld.engine.wording import TASK_LEAD

_EXTRA = "alfworld"
_UNNAMED_TASK = "UNKNOWN GOAL"  # what stands in the package's own grammar in place of the task sentence
_LOCK = threading.RLock()
_ENGINES: dict[bool, _Engine] = {}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reset or a step of the real engine gives back; see `metagym_envs.alfworld.engine.Observation`."""

    feedback: str
    admissible: list[str] = field(repr=False)
    won: bool

    @property
    def score(self) -> int:
        """1 while the goal holds, else 0."""
        return 1 if self.won else 0

    @property
    def done(self) -> bool:
        """Whether the engine calls the game over."""
        return self.won


class TextWorldGame:
    """One game, played by the real engine.

    Several may be alive in a process; they share the one engine object. A game that finds the engine at another game
    loads its own again and repeats its commands (the engine is deterministic), which is right but slow: play one game
    at a time in a process.
    """

    def __init__(self, data: Mapping[str, Any], *, shipped: bool = False) -> None:
        """Takes a game; it is loaded at the first reset.

        Args:
            data: The content of a ``game.tw-pddl`` file: ``pddl_domain``, ``grammar`` and ``pddl_problem``.
            shipped: Whether to play the engine as shipped, with nothing remembered (about 100 times slower).

        Raises:
            BadInput: A field is missing or no text.
            MissingExtra, BrokenExtra: The engine is not installed, or does not run on this Python.
        """
        self._data = {name: data.get(name) for name in ("pddl_domain", "grammar", "pddl_problem")}
        for name, value in self._data.items():
            if not isinstance(value, str):
                raise BadInput(f"a game file needs the text field {name!r}, got {type(value).__name__}")
        self._shipped = shipped
        self._commands: list[str] = []
        with _LOCK:
            _modules()

    @classmethod
    def compile(cls, problem: str, task: str, *, shipped: bool = False) -> TextWorldGame:
        """A game made of a problem text and a task sentence, under the installed package's domain and grammar.

        Args:
            problem: The PDDL problem text.
            task: The task sentence without a final full stop, or the whole "Your task is to: " line.
            shipped: As in the constructor.

        Raises:
            MissingExtra, BrokenExtra: The engine is not installed, or does not run on this Python.
        """
        if not isinstance(problem, str) or not isinstance(task, str):
            raise BadInput(f"problem and task are texts, got {type(problem).__name__} and {type(task).__name__}")
        domain, grammar = installed_texts()
        line = task if task.startswith(TASK_LEAD) else f"{TASK_LEAD}{task}."
        blank = f"{TASK_LEAD}{_UNNAMED_TASK}."
        if blank not in grammar:
            raise EngineError(f"the grammar of the installed alfworld has no line {blank!r}: install alfworld 0.4.2")
        grammar = grammar.replace(blank, json.dumps(line, ensure_ascii=False)[1:-1])
        return cls({"pddl_domain": domain, "grammar": grammar, "pddl_problem": problem}, shipped=shipped)

    def reset(self) -> Answer:
        """Loads the game if the engine is at another one, and starts it.

        Raises:
            EngineError: The engine refuses the game: a goal that cannot be reached, an object declared twice, a text
                that it cannot read.
        """
        with _LOCK:
            self._commands.clear()
            return _engine(self._shipped).start(self, self._data)

    def step(self, command: str) -> Answer:
        """Answers one command. Before the first reset, the game is started.

        Raises:
            BadInput: `command` is no text.
            EngineError: The engine failed.
        """
        if not isinstance(command, str):
            raise BadInput(f"a command is a text, got {type(command).__name__}")
        with _LOCK:
            engine = _engine(self._shipped)
            if engine.owner is not self:
                engine.start(self, self._data)
                for past in self._commands:
                    engine.step(past)
            answer = engine.step(command)
            self._commands.append(command)
            return answer


@lru_cache(maxsize=1)
def installed_texts() -> tuple[str, str]:
    """The domain and the grammar of the installed alfworld package.

    Raises:
        MissingExtra, BrokenExtra: The package is not installed, or does not run on this Python.
    """
    with _LOCK:
        info = _modules().info
    return Path(info.ALFRED_PDDL_PATH).read_text("utf-8"), Path(info.ALFRED_TWL2_PATH).read_text("utf-8")


@dataclass(frozen=True)
class _Modules:
    textworld: ModuleType
    wrappers: ModuleType
    info: ModuleType


@lru_cache(maxsize=1)
def _modules() -> _Modules:
    """Imports the engine, once."""
    if sys.version_info >= (3, 13):
        raise BrokenExtra(
            "the real ALFWorld engine does not run on Python 3.13 and later (its text grammar evaluates with locals() "
            "in a way that stopped working): use Python 3.11 or 3.12, or engine='native'"
        )
    with _data_folder(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the engine's own, about its own code: nobody here can act on them
        require("textworld", _EXTRA)
        info = require("alfworld.info", _EXTRA)
        wrappers = require("alfworld.agents.environment.alfred_tw_env", _EXTRA)
        pddl = require("textworld.envs.pddl", _EXTRA)
        require("fast_downward", _EXTRA)
    return _Modules(pddl, wrappers, info)


@contextmanager
def _data_folder() -> Iterator[None]:
    """A place for the folder that alfworld makes when it is imported: the home may be read-only.

    ALFWORLD_DATA may also name a file of ours, at which alfworld would stumble; it is as before afterwards.
    """
    before = os.environ.get("ALFWORLD_DATA")
    if before is not None and os.path.isdir(before):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ALFWORLD_DATA"] = folder
        try:
            yield
        finally:
            if before is None:
                os.environ.pop("ALFWORLD_DATA", None)
            else:
                os.environ["ALFWORLD_DATA"] = before


def _engine(shipped: bool) -> _Engine:
    engine = _ENGINES.get(shipped)
    if engine is None:
        engine = _ENGINES[shipped] = _Engine(shipped)
    return engine


class _Engine:
    """The one engine object of this process (of each sort), and whose game stands in it."""

    def __init__(self, shipped: bool) -> None:
        modules = _modules()
        import textworld

        infos = textworld.EnvInfos(won=True, admissible_commands=True)  # never policy_commands: the planner may hang
        if shipped:
            inner = modules.textworld.PddlEnv(infos)
        else:
            from metagym_envs.alfworld.judge_memory import remembering_env

            inner = remembering_env(infos)
        wrappers = modules.wrappers
        self._env = wrappers.AlfredInfos(wrappers.AlfredDemangler(inner, shuffle=False))
        self._loaded: dict[str, str] | None = None
        self.owner: TextWorldGame | None = None

    def start(self, owner: TextWorldGame, data: dict[str, Any]) -> Answer:
        self.owner = None  # nobody's, should loading fail half way
        with _guarded("load this game"):
            if self._loaded != data:
                self._loaded = None
                self._env.load(data)
                self._loaded = data
            state = self._env.reset()
        self.owner = owner
        return Answer(state.feedback, list(state["admissible_commands"]), bool(state["won"]))

    def step(self, command: str) -> Answer:
        owner, self.owner = self.owner, None  # nobody's again, should the step fail half way
        with _guarded("answer a command"):
            state, score, done = self._env.step(command)
        self.owner = owner
        answer = Answer(state.feedback, list(state["admissible_commands"]), bool(state["won"]))
        if (score, done) != (answer.score, answer.done):
            raise EngineError(f"the real engine gave score {score} and done {done} for won {answer.won}")
        return answer


@contextmanager
def _guarded(what: str) -> Iterator[None]:
    """Turns whatever the engine raises into our error, SystemExit included, and restores ``sys.argv``."""
    arguments = sys.argv
    try:
        yield
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise EngineError(f"the real ALFWorld engine could not {what} ({reason}): leave this game out") from error
    finally:
        sys.argv = arguments


def _after_fork() -> None:
    """A child starts with a lock of its own: another thread of the parent may have held the old one."""
    global _LOCK
    _LOCK = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)

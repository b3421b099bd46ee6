"""The package ``bfcl-eval``: where its files are, its back ends, and its checker with an executor of our own.

Two of its modules are never imported here. ``bfcl_eval.constants.eval_config`` makes folders beside the installed
package when it is imported, and everything that reads data through ``bfcl_eval.utils`` imports it: the data files are
read by `metagym_envs.bfcl.data` instead. And its executor, `multi_turn_utils.execute_multi_turn_func_call`, hands text
to Python's ``eval`` and keeps the tools' state in its module's globals: it is imported with the checker and never
called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from metagym.errors import BrokenExtra, MissingExtra
from metagym.extras import require

PIN = "bfcl-eval==2026.3.23"
"""The release that the project is tested with."""

HOW = f"pip install 'metagym-agents[bfcl]' && pip install --no-deps {PIN}"
"""pip cannot be told by an extra to leave out a package's own pins, which are about 700 MB and not needed here."""

_CHECKER = "bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker"
_BACKENDS = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_EXECUTOR = "execute_multi_turn_func_call"


def module(name: str) -> ModuleType:
    """A module of the package, by its dotted name.

    Raises:
        MissingExtra: The package is not installed; the message tells how to install it without its own pins.
        BrokenExtra: It is installed and cannot be imported.
    """
    try:
        require("bfcl_eval", "bfcl")
    except MissingExtra as error:
        raise MissingExtra(f"bfcl_eval is not installed: {HOW}") from error
    return require(name, "bfcl")


@lru_cache(maxsize=1)
def root() -> Path:
    """The folder of the installed package."""
    found = module("bfcl_eval").__file__
    if found is None:
        raise BrokenExtra(f"bfcl_eval is installed without its files: {HOW}")
    return Path(found).parent


def release() -> str:
    """The installed release, ``"unknown"`` where the package is a bare folder."""
    try:
        return version("bfcl-eval")
    except PackageNotFoundError:
        return "unknown"


@lru_cache(maxsize=16)
def backend(class_name: str) -> type[Any]:
    """The class of a back end, e.g. ``"TravelAPI"``."""
    paths: Mapping[str, str] = module("bfcl_eval.constants.executable_backend_config").CLASS_FILE_PATH_MAPPING
    try:
        found: type[Any] = getattr(module(paths[class_name]), class_name)
    except (KeyError, AttributeError) as error:
        raise BrokenExtra(f"bfcl_eval {release()} has no back end {class_name}; tested is {PIN}") from error
    return found


def stateless(class_name: str) -> bool:
    """Whether a back end has no scenario to load."""
    return class_name in module("bfcl_eval.constants.executable_backend_config").STATELESS_CLASSES


def weather() -> dict[str, Any]:
    """A report that a method of `VehicleControlAPI` writes into and returns; one for the whole process."""
    found: dict[str, Any] = module(f"{_BACKENDS}.long_context").LONG_WEATHER_EXTENSION
    return found


def prompt(name: str) -> Any:
    """A constant of the package's prompts, e.g. ``"MAXIMUM_STEP_LIMIT"``."""
    return getattr(module("bfcl_eval.constants.default_prompts"), name)


Execute = Callable[..., tuple[list[str], dict[str, Any]]]
"""``(func_call_list, ..., model_name, ...) -> (results, instances by class)``, called with keywords."""


def checker(execute: Execute) -> Callable[..., dict[str, Any]]:
    """The package's own `multi_turn_checker`, whose calls are run by `execute`.

    The function's code is the package's. It gets globals of its own, a copy of its module's in which the one name of
    the executor is ours; the package's module stays as it is, so that any number of judgements may go on at once.

    Raises:
        BrokenExtra: The checker of this release does not call the executor by that name: nothing may be judged by an
            executor that evaluates text.
    """
    found = module(_CHECKER).multi_turn_checker
    if _EXECUTOR not in found.__code__.co_names:
        raise BrokenExtra(f"the checker of bfcl_eval {release()} runs calls in another way; tested is {PIN}")
    return FunctionType(found.__code__, {**vars(module(_CHECKER)), _EXECUTOR: execute}, found.__name__)


def part_of_checker(name: str) -> Callable[..., dict[str, Any]]:
    """A part of the checker that runs nothing: ``"state_checker"`` or ``"response_checker"``."""
    found: Callable[..., dict[str, Any]] = getattr(module(_CHECKER), name)
    return found

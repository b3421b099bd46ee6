"""The tools of one conversation: fresh back ends of the package, called without evaluating any text.

The package's executor builds source text and evaluates it, and keeps back ends in the globals of its module under a
name made of the model's; whoever plays an entry again under that name goes on in the old state. Here a `World` holds
its back ends itself, and what the package's code shares within the process is given back after every call:

* mpmath's precision and decimal's context, which two tools of `MathAPI` set for good;
* the weather report of `VehicleControlAPI`, one dict for the process, into which a tool writes;
* default arguments: a tweet without mentions keeps the very list of the function's definition, and another tool
  extends it;
* the credit cards and bookings of the long-context category, which all instances share until they are copied.
"""

from __future__ import annotations

import copy
import decimal
import inspect
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from metagym_envs.bfcl import package
from metagym_envs.bfcl.calls import Call
from metagym_envs.bfcl.data import Entry
from metagym_envs.bfcl.limits import too_costly

ERROR = "Error during execution: "
"""How the package begins the result of a call that failed."""

_lock = threading.RLock()  # for what the package shares within the process


class World:
    """The back ends of an entry in their initial state.

    Args:
        entry: Which conversation.

    Attributes:
        instances: The back ends by class name, for the checker.
    """

    def __init__(self, entry: Entry) -> None:
        self.instances = {name: _fresh(name, entry) for name in entry.classes}
        self._methods: dict[str, Callable[..., Any]] = {}
        for instance in self.instances.values():
            self._methods.update({name: getattr(instance, name) for name in _public(instance.__class__)})

    def call(self, call: Call) -> str:
        """Runs one call.

        Any public method of the entry's back ends may be called, also one whose document the actor has not been shown:
        so it is in the package.

        Args:
            call: What to run. It keeps its arguments: tools get copies.

        Returns:
            The result as the package words it: text as it is, a dict as JSON (as Python's text where JSON has no form
            for it), all else as Python's text; after a failure `ERROR` and why.
        """
        if call.fault:
            return ERROR + call.fault
        method = self._methods.get(call.name)
        if method is None:
            return f"{ERROR}name {call.name!r} is not defined"
        args, kwargs = copy.deepcopy((call.args, dict(call.kwargs)))
        try:
            bound = inspect.signature(method).bind(*args, **kwargs)
        except TypeError:
            bound = None  # Python's own words come from the call itself
        try:
            with _given_back():
                if bound is None:
                    return _worded(method(*args, **kwargs))
                for name, parameter in bound.signature.parameters.items():
                    if name not in bound.arguments and parameter.default is not parameter.empty:
                        bound.arguments[name] = copy.deepcopy(parameter.default)
                if reason := too_costly(method, bound.arguments):
                    return ERROR + reason
                return _worded(method(*bound.args, **bound.kwargs))
        except Exception as error:  # whatever a back end raises is the result of the call
            return f"{ERROR}{error}"


def _fresh(name: str, entry: Entry) -> Any:
    instance = package.backend(name)()
    if not package.stateless(name):
        instance._load_scenario(copy.deepcopy(entry.config.get(name, {})), long_context=entry.long_context)
    # A copy shares nothing with the constants that the scenario was filled up from.
    return copy.deepcopy(instance) if entry.long_context else instance


@lru_cache(maxsize=16)
def _public(class_: Any) -> tuple[str, ...]:
    return tuple(name for name, _ in inspect.getmembers(class_, inspect.isfunction) if not name.startswith("_"))


def _worded(result: Any) -> str:
    if type(result) is str:
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)


@contextmanager
def _given_back() -> Iterator[None]:
    """Inside, the package's code may change what the process shares; afterwards it is as it was."""
    mpmath, weather = package.module("mpmath").mp, package.weather()
    with _lock, decimal.localcontext():
        precision, report = mpmath.dps, dict(weather)
        try:
            yield
        finally:
            mpmath.dps = precision
            weather.clear()
            weather.update(report)

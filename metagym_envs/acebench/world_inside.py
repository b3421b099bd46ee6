"""The back ends of one conversation, inside a confined worker. This file runs there alone: it is read, never imported.

A call reaches every back end that has a method of its name, as in the benchmark's own executor: each back end of the
phone has a device of its own, and to turn the Wi-Fi on is to turn it on in all of them. The last one's result is told.
"""

import copy
import sys
import types
from typing import Any

_instances: dict[str, Any] = {}


def install(name: str, source: str) -> None:
    """Makes a module of the checkout importable under its own name."""
    parts = name.split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        if package not in sys.modules:
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = []
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)  # noqa: S102  (in the sandbox)
    if len(parts) > 1:
        setattr(sys.modules[".".join(parts[:-1])], parts[-1], module)


def begin(places: dict[str, str], classes: list[str], config: dict[str, Any]) -> None:
    """Makes one instance of each class as the benchmark does: with its own part of the start, then the device's."""
    _instances.clear()
    for name in classes:
        instance = getattr(sys.modules[places[name]], name)()
        for part in (name, "BaseApi"):
            instance._load_scenario(copy.deepcopy(config.get(part, {})), long_context=False)
        _instances[name] = instance


def call(name: str, arguments: dict[str, Any]) -> Any:
    """Calls a function; whatever it raises is its answer."""
    found = [getattr(one, name) for one in _instances.values() if _is_public_method(one, name)]
    if not found:
        return f"Error during execution: there is no function {name}"
    result: Any = None
    try:
        for method in found:
            result = method(**copy.deepcopy(arguments))
    except Exception as error:
        return f"Error during execution: {error}"
    return _plain(result, 0)


def state() -> dict[str, dict[str, Any]]:
    """By class, its attributes."""
    return {name: {key: _plain(value, 0) for key, value in vars(one).items()} for name, one in _instances.items()}


def _is_public_method(instance: Any, name: str) -> bool:
    return not name.startswith("_") and isinstance(getattr(instance, name, None), types.MethodType)


def _plain(value: Any, depth: int) -> Any:
    """Data as a JSON file would hold it: keys are texts, tuples are lists, and what is no data is told in words."""
    if depth > 30:
        return "..."
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, depth + 1) for part in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

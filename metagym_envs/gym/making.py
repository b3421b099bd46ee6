"""Environments of Gymnasium from what a user writes, or one sentence on why not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from metagym.errors import BadInput, UnknownName

EnvLike = str | EnvSpec | Callable[..., gymnasium.Env[Any, Any]]
"""What names an environment: a Gymnasium id (``module:id`` imports first), a spec, or a function that makes one."""


def newest(name: str) -> str:
    """The id of the newest registered version of one of Gymnasium's own environments, e.g. ``Taxi-v4``."""
    specs = [spec for spec in gymnasium.registry.values() if spec.namespace is None and spec.name == name]
    if not specs:
        raise UnknownName(f"this Gymnasium ({gymnasium.__version__}) has no environment {name!r}")
    return max(specs, key=lambda spec: spec.version or 0).id


def id_of(env: EnvLike) -> str:
    """How an environment is called: its id, or the name of the function that makes it.

    Raises:
        BadInput: It is none of the three.
    """
    if isinstance(env, str) and env:
        return env
    if isinstance(env, EnvSpec):
        return env.id
    if callable(env):
        return getattr(env, "__qualname__", type(env).__qualname__)
    raise BadInput(f"env_id is the id of a Gymnasium environment such as 'FrozenLake-v1', got {env!r:.60}")


def checked_kwargs(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keyword arguments of an environment, which are part of a task's identity and so JSON.

    Raises:
        BadInput: They are no mapping of names to JSON.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise BadInput(f"{name} is a dict of keyword arguments, got {given!r:.60}")
    try:
        return json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"{name} must be JSON, since tasks are known by it ({error}); for other arguments give a function as env_id"
        ) from error


def make_env(env: EnvLike, kwargs: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """A new environment.

    Raises:
        UnknownName: Gymnasium knows no such id.
        BadInput: It cannot be made, with Gymnasium's or the environment's own reason.
    """
    try:
        if isinstance(env, (str, EnvSpec)):
            return gymnasium.make(env, disable_env_checker=True, **kwargs)
        made = env(**kwargs)
    except gymnasium.error.UnregisteredEnv as error:
        raise UnknownName(f"Gymnasium knows no environment {id_of(env)!r}: {_first(error)}") from error
    except Exception as error:  # making a stranger's environment may fail in any way
        with_ = f" with {dict(kwargs)}" if kwargs else ""
        raise BadInput(f"{id_of(env)} cannot be made{with_}: {type(error).__name__}: {_first(error)}") from error
    if not isinstance(made, gymnasium.Env):
        raise BadInput(f"{id_of(env)} made no gymnasium.Env but {type(made).__name__}")
    return made


def _first(error: Exception) -> str:
    """The first line of a message, without a full stop at its end."""
    return (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")

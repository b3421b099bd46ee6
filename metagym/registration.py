"""Ids for Gymnasium: one call makes a family known, entry points do it for plugins.

Registration is data: names and ``"module:attribute"`` texts. Nothing of a family is imported before it is used.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from gymnasium.envs.registration import register, registry

from metagym import families
from metagym.checks import whole
from metagym.errors import BadInput, PluginWarning
from metagym.families import Family

PLUGIN_GROUP = "metagym.plugins"
STRICT_VARIABLE = "METAGYM_STRICT_PLUGINS"
BUNDLED = "metagym_envs:register"
"""The plugin that is loaded first, so that no other takes the place of what it registers."""

_NAMESPACE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Plugin:
    """An installed plugin and what came of it.

    Attributes:
        name: Name of its entry point.
        distribution: Name of the package that brings it.
        value: What was called, ``"module:function"``.
        families: Names of the families that it registered, as `metagym.families.family_names` gives them.
        ids: The Gymnasium ids that it registered.
        cause: Why it is left out, with all that it registered; "" where it is in place.
    """

    name: str
    distribution: str
    value: str
    families: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    cause: str = ""


_plugins: dict[str, Plugin] = {}
_registering: set[str] | None = None  # the ids of the plugin that is being loaded

SYSTEMS = {
    "MetaGym/SPADE-Designer-v0": "metagym.spade.env:DesignerEnv",
    "MetaGym/SPADE-Agent-v0": "metagym.spade.agent_env:AgentEnv",
    "MetaGym/SESA-Solver-v0": "metagym.sesa.env:SolverEnv",
    "MetaGym/SESA-Challenger-v0": "metagym.sesa.env:ChallengerEnv",
}
"""Ids that belong to no family, with what is imported when one of them is made."""


def register_systems() -> None:
    """Gives the environments of `SYSTEMS` their ids; imports none of them."""
    for id_, entry_point in SYSTEMS.items():
        if id_ not in registry:
            register(id=id_, entry_point=entry_point)


def register_family(
    family: str | Family,
    factory: str | Callable[..., Family] | None = None,
    *,
    namespace: str = "MetaGym",
    version: int = 0,
    **defaults: Any,
) -> tuple[str, str]:
    """Makes a family known and gives it its two Gymnasium ids.

    ``<namespace>/<Name>-v<version>`` is the plain task environment, ``<namespace>/ICT-<Name>-v<version>`` the
    meta-environment whose action is a system prompt.

    Args:
        family: A `Family`, or the name of one that `factory` builds.
        factory: ``(**options) -> Family``, as a function or as the text ``"module:attribute"``, imported when first
            used. Keyword arguments of ``gymnasium.make`` that the environment does not know are its options.
        namespace: Yours, e.g. the name of your package; letters, digits, ``_`` and ``-``.
        version: Version of the ids; >= 0.
        **defaults: Keyword arguments of the meta-environment that differ from its own, e.g. ``actor="rules"`` (JSON).

    Returns:
        The two ids. Registering the same name again replaces it.

    Raises:
        BadInput: Both or neither of a built family and a factory, an unusable name, or an id that the plugin which is
            being loaded has registered before.
    """
    if isinstance(family, Family) == (factory is not None):
        raise BadInput("register_family takes either a Family, or a name and a factory")
    name = family.name if isinstance(family, Family) else family
    if not isinstance(name, str) or not name.isidentifier():
        raise BadInput(f"a family's name is made of letters and digits, got {name!r}")
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise BadInput(f"a namespace is made of letters, digits, _ and -, got {namespace!r}")
    version = whole("version", version, 0)
    plain, ict = f"{namespace}/{name}-v{version}", f"{namespace}/ICT-{name}-v{version}"
    if _registering is not None:
        if plain in _registering:
            raise BadInput(f"{plain} is registered twice by one plugin: give each family a name of its own")
        _registering.add(plain)
    built = family
    known = name if namespace == "MetaGym" else f"{namespace}/{name}"
    families.add_factory(known, (lambda: built) if isinstance(built, Family) else factory)  # type: ignore[arg-type]
    for id_, entry_point, kwargs in (
        (plain, "metagym.playing.task_env:TaskEnv", {}),
        (ict, "metagym.ict.env:ICTEnv", defaults),
    ):
        registry.pop(id_, None)
        register(id=id_, entry_point=entry_point, kwargs={"family": known, **kwargs})
    return plain, ict


def plugins() -> tuple[Plugin, ...]:
    """The installed plugins in the order in which they were loaded, those that are left out included."""
    return tuple(_plugins.values())


@contextmanager
def _one_plugin() -> Iterator[None]:
    """Inside, the ids of one plugin are registered."""
    global _registering
    _registering = set()
    try:
        yield
    finally:
        _registering = None


def _refuse_taken(before: dict[str, Any], now: dict[str, Any], own: tuple[str, ...]) -> None:
    """What somebody else registered stays theirs.

    Raises:
        BadInput: A name of `before` that is not among its `own` means something else now.
    """
    for name, value in before.items():
        if name not in own and now.get(name) != value:
            owner = next(
                (f"plugin {p.name!r} of {p.distribution}" for p in plugins() if name in p.families + p.ids), ""
            )
            raise BadInput(
                f"it takes the place of {name}, which {owner or 'something else'} has registered; "
                "register under a namespace of its own"
            )


def _load(point: EntryPoint, strict: bool) -> None:
    """Loads one plugin; a failing one leaves nothing behind and becomes a warning that names it."""
    ids, names = dict(registry), dict(families._factories)
    owner = point.dist.name if point.dist is not None else "unknown distribution"
    last = _plugins.get(point.value, Plugin(point.name, owner, point.value))
    try:
        with _one_plugin():
            point.load()()
        _refuse_taken(names, families._factories, last.families)
        _refuse_taken(ids, registry, last.ids)
    except (Exception, SystemExit) as error:
        registry.clear()
        registry.update(ids)
        families._factories.clear()
        families._factories.update(names)
        cause = f"{type(error).__name__}: {error}"
        _plugins[point.value] = Plugin(point.name, owner, point.value, cause=cause)
        if strict:
            raise
        warnings.warn(
            f"MetaGym plugin {point.name!r} of {owner} ({point.value}) is left out: {cause} "
            f"(set {STRICT_VARIABLE}=1 to see where)",
            PluginWarning,
            stacklevel=3,
        )
        return
    new_ids = tuple(id_ for id_ in registry if id_ not in ids)
    new_names = tuple(name for name in families._factories if name not in names)
    _plugins[point.value] = Plugin(point.name, owner, point.value, last.families + new_names, last.ids + new_ids)


def _order(point: EntryPoint) -> tuple[bool, str, str]:
    """The bundled families first, the others by name: who comes first keeps an id, on every machine."""
    return point.value != BUNDLED, point.dist.name if point.dist is not None else "", point.name


def load_plugins(strict: bool | None = None) -> None:
    """Runs the register function of every installed plugin (entry-point group ``metagym.plugins``).

    Args:
        strict: Raise what a broken plugin raises instead of warning; None reads ``METAGYM_STRICT_PLUGINS``.
    """
    if strict is None:
        strict = os.environ.get(STRICT_VARIABLE, "") not in ("", "0")
    seen: set[str] = set()
    for point in sorted(entry_points(group=PLUGIN_GROUP), key=_order):
        if point.value not in seen:  # a package found twice on the path is one plugin
            seen.add(point.value)
            _load(point, strict)

"""Ids for Gymnasium: one call makes a family known, entry points do it for plugins.

Registration is data: names and ``"module:attribute"`` texts. Nothing of a family is imported before it is used.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from gymnasium.envs.registration import register, registry

from metagym import families
from metagym.checks import whole
from metagym.errors import BadInput, PluginWarning
from metagym.families import Family

PLUGIN_GROUP = "metagym.plugins"
STRICT_VARIABLE = "METAGYM_STRICT_PLUGINS"
_NAMESPACE = re.compile(r"[A-Za-z0-9_-]+")


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
        BadInput: Both or neither of a built family and a factory, or an unusable name.
    """
    if isinstance(family, Family) == (factory is not None):
        raise BadInput("register_family takes either a Family, or a name and a factory")
    name = family.name if isinstance(family, Family) else family
    if not isinstance(name, str) or not name.isidentifier():
        raise BadInput(f"a family's name is made of letters and digits, got {name!r}")
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise BadInput(f"a namespace is made of letters, digits, _ and -, got {namespace!r}")
    version = whole("version", version, 0)
    built = family
    known = name if namespace == "MetaGym" else f"{namespace}/{name}"
    families.add_factory(known, (lambda: built) if isinstance(built, Family) else factory)  # type: ignore[arg-type]
    plain, ict = f"{namespace}/{name}-v{version}", f"{namespace}/ICT-{name}-v{version}"
    for id_, entry_point, kwargs in (
        (plain, "metagym.playing.task_env:TaskEnv", {}),
        (ict, "metagym.ict.env:ICTEnv", defaults),
    ):
        registry.pop(id_, None)
        register(id=id_, entry_point=entry_point, kwargs={"family": known, **kwargs})
    return plain, ict


def _load(point: EntryPoint, strict: bool) -> None:
    """Loads one plugin; a failing one leaves nothing behind and becomes a warning that names it."""
    ids, names = dict(registry), dict(families._factories)
    try:
        point.load()()
    except (Exception, SystemExit) as error:
        registry.clear()
        registry.update(ids)
        families._factories.clear()
        families._factories.update(names)
        if strict:
            raise
        owner = point.dist.name if point.dist is not None else "unknown distribution"
        warnings.warn(
            f"MetaGym plugin {point.name!r} of {owner} ({point.value}) is left out: {type(error).__name__}: {error} "
            f"(set {STRICT_VARIABLE}=1 to see where)",
            PluginWarning,
            stacklevel=3,
        )


def load_plugins(strict: bool | None = None) -> None:
    """Runs the register function of every installed plugin (entry-point group ``metagym.plugins``).

    Args:
        strict: Raise what a broken plugin raises instead of warning; None reads ``METAGYM_STRICT_PLUGINS``.
    """
    if strict is None:
        strict = os.environ.get(STRICT_VARIABLE, "") not in ("", "0")
    seen: set[str] = set()
    for point in entry_points(group=PLUGIN_GROUP):
        if point.value not in seen:  # a package found twice on the path is one plugin
            seen.add(point.value)
            _load(point, strict)

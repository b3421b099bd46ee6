"""The suite: every check on one family, one finding for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gymnasium.envs.registration import registry

from metagym import families, registration
from metagym.checks import whole
from metagym.conformance import manners, sameness
from metagym.conformance.findings import Fault, Finding, Report
from metagym.conformance.walks import Subject
from metagym.errors import UnknownName
from metagym.families import Family, load_family

CHECKS: dict[str, Callable[[Subject], str]] = {
    "tasks": sameness.tasks,
    "api": manners.api,
    "spec": manners.spec,
    "seeds": sameness.seeds,
    "processes": sameness.processes,
    "apart": sameness.apart,
    "ends": manners.ends,
    "actions": manners.actions,
    "text": manners.text,
    "stand-ins": manners.stand_ins,
    "docs": manners.docs,
    "speed": manners.speed,
}
"""The checks by name, in their order; each says what it saw."""


def check_family(
    family: str | Family,
    *,
    options: dict[str, Any] | None = None,
    tasks: int = 4,
    steps: int = 20,
    only: Sequence[str] | None = None,
) -> Report:
    """Runs the conformance suite on a family.

    Args:
        family: A registered name, or a `Family`.
        options: Options of a registered family, e.g. ``{"engine": "native"}`` (JSON).
        tasks: How many tasks of the first split are played, spread over the task types.
        steps: Steps of a walk.
        only: Names of the checks to run; None runs all of `CHECKS`.

    Returns:
        One finding per check. A check that raises counts as one that does not hold.

    Raises:
        UnknownName: No such family or check.
        BadInput, MissingExtra: The family cannot be built.
    """
    tasks, steps = whole("tasks", tasks, 1), whole("steps", steps, 1)
    wanted = list(CHECKS) if only is None else list(only)
    for name in wanted:
        if name not in CHECKS:
            raise UnknownName(f"there is no check {name!r}; there are {', '.join(CHECKS)}")
    given = dict(options or {})
    with _ids(family, given) as (name, built, plain, ict):
        first = built.task_set(built.splits[0])
        played = tuple(first.sample(min(tasks, len(first)), 0))
        subject = Subject(name, built, given, plain, ict, played, steps)
        return Report(name, tuple(_finding(check, subject) for check in wanted))


def _finding(check: str, subject: Subject) -> Finding:
    try:
        return Finding(check, True, CHECKS[check](subject))
    except Fault as fault:
        return Finding(check, False, str(fault))
    except (Exception, SystemExit) as error:  # an environment may fail in any way; the other checks go on
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return Finding(check, False, f"{CHECKS[check].__doc__} It raised {said:.400}")


@contextmanager
def _ids(family: str | Family, options: dict[str, Any]) -> Iterator[tuple[str, Family, str, str]]:
    """Registered name, family, and its two ids; one that has none gets them for the time of the checks."""
    built = load_family(family, **options)
    name = _registered(family) if isinstance(family, str) else built.name
    found = [id_ for id_, spec in registry.items() if isinstance(family, str) and spec.kwargs.get("family") == name]
    plain = [id_ for id_ in found if str(registry[id_].entry_point).endswith(":TaskEnv")]
    ict = [id_ for id_ in found if str(registry[id_].entry_point).endswith(":ICTEnv")]
    if plain and ict:
        yield name, built, plain[-1], ict[-1]
        return
    options.clear()  # the family is built, with its options
    ids = registration.register_family(built, namespace="Checked")
    try:
        yield name, built, *ids
    finally:
        families.drop_factory(f"Checked/{built.name}")
        for id_ in ids:
            registry.pop(id_, None)


def _registered(name: str) -> str:
    """The full name of a family that `load_family` knows."""
    if name in families.family_names():
        return name
    return next(known for known in families.family_names() if known.rpartition("/")[2] == name)

"""``metagym check``: the conformance suite on installed families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from metagym.cli.options import key_values
from metagym.errors import BadInput, MetaGymError, MissingExtra, UnknownName

if TYPE_CHECKING:
    from metagym.conformance import Report


def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Families or plugins; default: every installed family.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="Option of the family, key=value; repeatable.")
    ] = None,
    tasks: Annotated[int, typer.Option(help="Tasks of the first split that are played.", min=1)] = 4,
    steps: Annotated[int, typer.Option(help="Steps of a walk.", min=1)] = 20,
    only: Annotated[list[str] | None, typer.Option(help="Run this check only; repeatable.")] = None,
) -> None:
    """Checks that families keep to what MetaGym expects; exit code 1 where one does not."""
    from metagym.conformance import check_family
    from metagym.families import family_names

    wanted = [family for name in names for family in _families(name)] if names else list(family_names())
    options = key_values(option)
    if options and len(wanted) != 1:
        raise BadInput(f"--option belongs to one family, and {len(wanted)} are to be checked: name it")
    failed, left_out = [], []
    for name in dict.fromkeys(wanted):
        try:
            report = check_family(name, options=options, tasks=tasks, steps=steps, only=only)
        except MissingExtra as error:
            if names:
                raise
            left_out.append(f"{name} ({error})")  # it is not installed, and nobody asked for it
            continue
        except Exception as error:  # a plugin's family may fail in any way; the others are checked all the same
            if len(wanted) == 1 and isinstance(error, MetaGymError):
                raise
            said = str(error) if isinstance(error, MetaGymError) else f"{type(error).__name__}: {error}"
            typer.echo(f"{name}: cannot be built: {said}\n")
            failed.append(name)
            continue
        _print(report)
        if not report.ok:
            failed.append(name)
    if left_out:
        typer.echo(f"not checked: {', '.join(left_out)}", err=True)
    if failed:
        typer.echo(f"{len(failed)} of {len(wanted)} families fail: {', '.join(failed)}", err=True)
        raise typer.Exit(1)


def _families(name: str) -> Sequence[str]:
    """The families that a name means: one of that name, or all of a plugin (entry point, package, distribution)."""
    from metagym.families import family_names
    from metagym.registration import plugins

    known = family_names()
    if name in known or any(one.rpartition("/")[2] == name for one in known):
        return [name]
    for plugin in plugins():
        if name in (plugin.name, plugin.distribution, plugin.value.partition(":")[0]):
            if plugin.cause:
                raise BadInput(f"plugin {plugin.name!r} of {plugin.distribution} is left out: {plugin.cause}")
            if not plugin.families:
                raise BadInput(f"plugin {plugin.name!r} of {plugin.distribution} registers no family")
            return plugin.families
    there = ", ".join(sorted({*known, *(plugin.distribution for plugin in plugins())}))
    raise UnknownName(f"there is no family or plugin {name!r}; there are {there}")


def _print(report: Report) -> None:
    """One line per check, and under the table one sentence per failure."""
    from metagym.cli.tables import plain_console, titled

    console = plain_console()
    table = titled(f"Family {report.name}")
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("what was seen", no_wrap=True, overflow="ellipsis")
    for one in report.findings:
        table.add_row(one.check, "ok" if one.ok else "FAILED", one.said if one.ok else "see below")
    console.print(table)
    for one in report.failures:
        console.print(f"{one.check}: {one.said}", soft_wrap=True)
    if report.failures:
        console.print()

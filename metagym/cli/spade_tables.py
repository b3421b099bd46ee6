"""Tables of a run of SPADE that the command prints; every number comes from `metagym.stats`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metagym.cli.tables import plain_console, titled
from metagym.runs.spade_notices import spade_notices
from metagym.runs.spade_results import SpadeResults, load_spade

BEST = 8
"""Programs that are listed."""


def print_spade(folder: Path, console: Console | None = None) -> None:
    """Rounds, rejection codes, the best programs, and what the reader must be warned of."""
    out = console or plain_console()
    results = load_spade(folder)
    out.print(Text(headline(results), style="bold"))
    if results.points:
        out.print(_rounds(results))
    if results.statistics["designs"]["codes"]:
        out.print(_codes(results))
    if results.environments:
        out.print(_best(results))
    for notice in spade_notices(results):
        out.print(Text("note: " + notice, style="yellow"))


def headline(results: SpadeResults) -> str:
    """One line on what was run, e.g. ``SPADE games: designer scripted:mutator, agent scripted:learner``."""
    config, versions = results.manifest.get("config", {}), results.manifest.get("versions", {})

    def name(seat: str) -> str:
        return str(versions.get(seat, {}).get("id", "?")).partition("?")[0]

    where = f"fixed pool {config['pool']}" if config.get("pool") else f"designer {name('designer')}"
    ablations = f", ablations: {', '.join(config['ablations'])}" if config.get("ablations") else ""
    return (
        f"SPADE {config.get('setting', '')}: {where}, agent {name('agent')}, reward {config.get('reward')}{ablations}"
    )


def _number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    return "-" if value is None else f"{value:{'+' if sign else ''}.{digits}f}"


def _rounds(results: SpadeResults) -> Table:
    table = titled("Round by round: mean over the programs played")
    for name in ("round", "valid", "win rate", "with hint", "regret", "steps", "reward"):
        table.add_column(name, justify="right", no_wrap=True)
    points = results.points
    step = max(1, -(-len(points) // 24))
    for point in [*points[:-1][::step], points[-1]]:
        slots, accepted = point.designed
        table.add_row(
            str(point.round),
            f"{accepted}/{slots}" if point.fresh else "",
            point.plain.point(),
            point.hinted.point(),
            point.regret.point(sign=True),
            _number(point.oracle_steps, 1),
            _number(point.reward, sign=True),
        )
    return table


def _codes(results: SpadeResults) -> Table:
    designs = results.statistics["designs"]
    table = titled(f"Refused: {designs['attempts'] - designs['accepted']} of {designs['attempts']}")
    table.add_column("code", no_wrap=True)
    table.add_column("count", justify="right", no_wrap=True)
    for code, count in designs["codes"].items():
        table.add_row(code, str(count))
    return table


def _best(results: SpadeResults) -> Table:
    table = titled("Programs of the highest reward")
    table.add_column("program", no_wrap=True)
    table.add_column("title", overflow="ellipsis", no_wrap=True, max_width=24)
    table.add_column("round", justify="right", no_wrap=True)
    table.add_column("win rate", no_wrap=True)
    table.add_column("regret", no_wrap=True)
    table.add_column("reward", justify="right", no_wrap=True)

    def reward(one: object) -> float:
        paid = one.paid[0].breakdown.total if one.paid else None  # type: ignore[attr-defined]
        return -9.0 if paid is None else paid

    for one in sorted(results.environments, key=lambda one: (-reward(one), one.design.round, one.design.slot))[:BEST]:
        found = None if one.first is None else one.first.estimate
        table.add_row(
            one.digest[:8],
            one.design.program.title,
            str(one.design.round),
            "-" if found is None else f"{found.p0.point()} {found.p0.interval()}",
            "-" if found is None else f"{found.regret.point(sign=True)} {found.regret.interval(sign=True)}",
            _number(None if reward(one) == -9.0 else reward(one), sign=True),
        )
    return table

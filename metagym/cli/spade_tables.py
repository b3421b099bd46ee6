"""Tables of a run of SPADE that the command prints; every number comes from `metagym.stats`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metagym.cli.tables import plain_console, titled
from metagym.runs.spade_notices import spade_notices
from metagym.runs.spade_results import Environment, SpadeResults, load_spade
from metagym.stats import Estimate

BEST = 8
"""Programs that are listed."""

_BESIDE_THE_TITLE = 8 + 8 + 20 + 6 + 5 * 3
"""What the other columns of that table take at most: digest, win rate, regret with its interval, reward, blanks."""

_SHORTEST_TITLE = 12


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
        out.print(_best(results, out.width))
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


def _best(results: SpadeResults, width: int) -> Table:
    table = titled("Programs of the highest reward")
    for name in ("program", "title"):
        table.add_column(name, no_wrap=True)
    for name in ("win rate", "regret", "reward"):
        table.add_column(name, justify="right", no_wrap=True)

    def order(one: Environment) -> tuple[bool, float, int, int]:
        return one.reward is None, -(one.reward or 0.0), one.design.round, one.design.slot  # unscored ones last

    for one in sorted(results.environments, key=order)[:BEST]:
        found = None if one.first is None else one.first.estimate
        title = Text(" ".join(one.design.program.title.split()))
        title.truncate(max(_SHORTEST_TITLE, width - _BESIDE_THE_TITLE), overflow="ellipsis")
        table.add_row(
            one.digest[:8],
            title,
            "-" if found is None else found.p0.point(),
            "-" if found is None or found.regret.value is None else _with_interval(found.regret),
            _number(one.reward, sign=True),
        )
    return table


def _with_interval(estimate: Estimate) -> str:
    return f"{estimate.point(sign=True)} {estimate.interval(sign=True)}"

"""Tables of SESA that the command prints; every number comes from `metagym.stats` or `metagym.sesa.scores`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metagym.cli.tables import plain_console, print_table, titled
from metagym.runs.notices import notices
from metagym.runs.results import Results
from metagym.runs.sesa_evals import evaluation_scores, load_evaluation
from metagym.runs.sesa_notices import sesa_notices
from metagym.runs.sesa_results import SesaResults, load_sesa
from metagym.sesa.scores import Contrast, Scores

CARDS = 12
"""Cards that are listed."""
ROUNDS = 24


def print_sesa(folder: Path, console: Console | None = None) -> None:
    """Rounds, cards with what they are worth, what did not count, and what the reader must be warned of."""
    out = console or plain_console()
    results = load_sesa(folder)
    out.print(Text(headline(results), style="bold"))
    if results.summaries:
        out.print(_rounds(results))
    if results.cards:
        out.print(_cards(results))
    if results.reasons:
        out.print("questions that did not count: " + _listed(results.reasons.most_common()))
    for name, label in (("skipped", "not distilled"), ("refused", "drafts refused")):
        if results.distilled[name]:
            out.print(f"{label}: " + _listed(results.distilled[name].most_common()))
    for notice in sesa_notices(results):
        out.print(Text("note: " + notice, style="yellow"))


def _listed(pairs: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in pairs)


def headline(results: SesaResults) -> str:
    """One line on what was run."""
    config, versions = results.manifest.get("config", {}), results.manifest.get("versions", {})

    def name(seat: str) -> str:
        return str(versions.get(seat, {}).get("id", "none")).partition("?")[0]

    switches = f", switches: {', '.join(config['switches'])}" if config.get("switches") else ""
    return (
        f"SESA on {versions.get('material', {}).get('name', '?')}: challenger {name('challenger')}, "
        f"solver {name('solver')}, distiller {name('distiller')}{switches}"
    )


def _number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    return "-" if value is None else f"{value:{'+' if sign else ''}.{digits}f}"


def _rounds(results: SesaResults) -> Table:
    table = titled("Round by round: questions solved never, by some rollouts, always; the bank")
    for name in ("round", "asked", "never", "some", "always", "rate", "reward", "born", "gone", "cards"):
        table.add_column(name, justify="right", no_wrap=True)
    numbers = sorted(results.summaries)
    step = max(1, -(-len(numbers) // ROUNDS))
    for number in [*numbers[:-1][::step], numbers[-1]]:
        told, bank = results.summaries[number], results.banks.get(number)
        frontier = told["frontier"]
        kept = {} if bank is None else bank["kept"]
        table.add_row(
            str(number),
            f"{told['questions']['asked']}/{told['questions']['slots']}",
            *(str(frontier[name]) for name in ("never", "sometimes", "always")),
            _number(told["rate"]),
            _number(told["reward"], sign=True),
            "-" if bank is None else str(len(bank["distilled"]["added"])),
            "-" if bank is None else str(sum(len(kept[name]) for name in ("retired", "evicted", "merged"))),
            "-" if bank is None else str(bank["active"]),
        )
    return table


def _cards(results: SesaResults) -> Table:
    lift = results.lift
    table = titled(f"Cards; lift of all of them against probes without: {lift.text(sign=True)}")
    table.add_column("card", no_wrap=True)
    table.add_column("what it says", overflow="ellipsis", no_wrap=True, max_width=20)
    for name in ("born", "wins/uses", "lift"):
        table.add_column(name, justify="right", no_wrap=True)
    for card in results.cards[-CARDS:]:
        gone = "" if card.gone is None else f", gone in {card.gone}"
        born = "before" if card.born is None else "primed" if card.born < 0 else f"round {card.born}"
        table.add_row(
            card.id[:8],
            card.text or "-",
            born + gone,
            f"{card.wins}/{card.uses}",
            f"{card.lift.point(sign=True)} {card.lift.interval(sign=True)}" if card.lift.measured else "-",
        )
    return table


def print_evaluation(folder: Path, console: Console | None = None, against: Path | None = None) -> None:
    """The table of an evaluation, and what the reader must be warned of."""
    out = console or plain_console()
    results = load_evaluation(folder)
    out.print(Text(evaluation_headline(results), style="bold"))
    print_scores(evaluation_scores(folder, against), out)
    for notice in notices(results):
        out.print(Text("note: " + notice, style="yellow"))


def evaluation_headline(results: Results) -> str:
    """Who was evaluated, with which state of which bank."""
    versions = results.manifest.get("versions", {})
    solver, bank = versions.get("solver") or {}, versions.get("bank")
    told = "bank not opened"
    if bank:
        told = f"bank of {bank.get('active')} cards, event {bank.get('seq')} ({str(bank.get('digest'))[:12]})"
        told += f", {bank['state']}" if bank.get("state") else ""
    material = (versions.get("material") or {}).get("name", "?")
    return f"SESA on {material}: solver {str(solver.get('id', '?')).partition('?')[0]}; {told}"


def print_scores(scores: Scores, console: Console | None = None, markdown: bool = False) -> None:
    """Success per set, then what is compared with what."""
    out = console or plain_console()
    table = titled("Success per set, 95% interval")
    table.add_column("set", overflow="fold")
    for column in scores.columns:
        table.add_column(column, no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for row in scores.rows:
        cells = [scores.success[column][row] for column in scores.columns]
        table.add_row(row, *(f"{one.point()} {one.interval()}" for one in cells), str(cells[0].n))
    for shown in (table, *(_contrast(scores, one) for one in scores.contrasts)):
        print_table(shown, True) if markdown else out.print(shown)
        if markdown:
            print()


def _contrast(scores: Scores, one: Contrast) -> Table:
    table = titled(f"{one.name}: {one.b} - {one.a}, paired by question")
    table.add_column("set", overflow="fold")
    for name in ("difference", f"only {one.a}", f"only {one.b}", "McNemar's p"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in scores.rows:
        difference, test = one.differences[row], one.tests.get(row)
        p = None if test is None else test.p
        table.add_row(
            row,
            f"{difference.point(sign=True)} {difference.interval(sign=True)}",
            "-" if test is None else str(test.only_a),
            "-" if test is None else str(test.only_b),
            "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}",
        )
    return table

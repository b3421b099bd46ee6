"""A run folder in numbers and one figure: rounds, rates on the asked questions, held-out accuracy, cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from metagym.errors import RunError
from metagym.journal import Journal
from metagym.runs.folder import write_atomically
from metagym_trainers.sesa.evaluate import Outcomes, rates, table
from metagym_trainers.sesa.state import RECORDS

if TYPE_CHECKING:
    from metagym_trainers.sesa.selfplay import SelfPlay

TABLE, FIGURE = "evaluation.md", "rounds.png"


def rounds(records: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures of each round.

    Args:
        records: Key to value, as a run keeps them.

    Returns:
        Per round: ``success`` (of the frozen solver on what was asked), ``frontier`` (share of these questions),
        ``valid``, ``cards``, and ``off`` and ``on`` (held-out accuracy after the round; None where not played).
    """
    found: list[dict[str, Any]] = []
    while (asked := records.get(f"round/{len(found)}/ask")) is not None:
        number = len(found)
        total = sum(asked["verdicts"].values())
        row = {name: asked[name] for name in ("success", "frontier", "cards")}
        row["valid"] = asked["verdicts"].get("valid", 0) / total
        for name in ("off", "on"):
            row[name] = accuracy(records.get(f"round/{number}/{name}/held-out"))
        found.append(row)
    return found


def accuracy(outcomes: Outcomes | None) -> float | None:
    """Share of solved questions among the scored ones; None where there are none."""
    return None if not outcomes else rates({"one": outcomes})["one"].value


def write_report(play: SelfPlay, title: str, notes: Sequence[str] = ()) -> str:
    """Writes table and figure into the run folder.

    Args:
        play: A run at its end.
        title: Of both; says whether models are tiny or the world a toy.
        notes: Below the table.

    Returns:
        The table.
    """
    text = table(play.outcomes(), title) + "".join(f"\n{note}\n" for note in notes)
    write_atomically(play.folder / TABLE, text)
    figure(play.folder, dict(play.records.records()), title)
    return text


def figure(folder: Path, records: Mapping[str, Any], title: str) -> Path:
    """Draws accuracy by round, and what was asked."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    told = rounds(records)
    numbers = list(range(len(told) + 1))
    made = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(made)
    left, right = made.subplots(1, 2)
    start = accuracy(records.get("start/held-out"))
    for name, style in (("off", "o-"), ("on", "s-")):
        if any(row[name] is not None for row in told):
            left.plot(numbers, [start, *(row[name] for row in told)], style, label=f"bank {name}")
    left.set(xlabel="round", ylabel="held-out questions solved", ylim=(0, 1.02), title="solver")
    left.legend(loc="best")
    for name, label in (
        ("success", "solved by the frozen solver"),
        ("frontier", "solved at times"),
        ("valid", "valid"),
    ):
        right.plot(numbers[1:], [row[name] for row in told], "o-", label=label)
    right.set(xlabel="round", ylabel="share of what was asked", ylim=(0, 1.02), title="challenger")
    right.legend(loc="best")
    made.suptitle(title)
    path = folder / FIGURE
    made.savefig(path, dpi=120)
    return path


def arms_table(runs: Mapping[tuple[str, int], Path]) -> str:
    """Arms beside each other over seeds, as Markdown: the median, and the smallest and largest value.

    Args:
        runs: (arm, seed) to the folder of a run at its end.

    Raises:
        StoreError: A folder holds no records.
        RunError: A run is not at its end.
    """
    columns = ("start", "off", "on", "placebo")
    lines = ["| arm | runs | untrained | off | on | placebo | on - off |", "|---|---|---|---|---|---|---|"]
    for name in dict.fromkeys(arm for arm, _ in runs):
        rows = [_ended(folder) for (arm, _), folder in runs.items() if arm == name]
        gains = [row["on"] - row["off"] for row in rows if row["on"] is not None and row["off"] is not None]
        cells = [_spread([row[column] for row in rows]) for column in columns] + [_spread(gains)]
        lines.append(f"| {name} | {len(rows)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _ended(folder: Path) -> dict[str, float | None]:
    """Held-out accuracy of a finished run: untrained, and by deployment; None where there is none."""
    records = read_records(folder)
    count = len(rounds(records))
    row = {"start": accuracy(records.get("start/held-out")), "placebo": accuracy(records.get("placebo/held-out"))}
    for name in ("off", "on"):
        row[name] = accuracy(records.get(f"round/{count - 1}/{name}/held-out"))
    if row["off"] is None:
        raise RunError(f"{folder} holds no run at its end")
    return row


def _spread(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known):.3f} [{min(known):.3f}, {max(known):.3f}]" if known else "-"


def read_records(folder: Path) -> dict[str, Any]:
    """The records of a run folder.

    Raises:
        StoreError: There are none.
    """
    with Journal.open(folder / RECORDS) as journal:
        return dict(journal.records())

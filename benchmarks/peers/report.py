"""All peers in one report, and the short table that stands in the project's README."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import Figure, Report, number
from benchmarks.peers.places import ROOT, Absent, measured
from metagym.errors import BadInput

MODULES = ("alfworld", "gem", "textarena", "vector", "verifiers_classic", "verifiers", "lock_step", "loading")
"""In the order of the tables."""
README = ROOT / "README.md"
BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
TITLE = (
    "other projects on the same tasks with the same scripted model, by turns in one process, their results equal: the "
    "peer's wall-clock time over ours, median of the pairs with its exact 95 % interval"
)


def report(modules: Iterable[str] = MODULES, tiny: bool = False) -> Report:
    """Measures all peers that are there, each in a fresh process.

    Args:
        modules: Which.
        tiny: Only so much as shows that it works.

    Raises:
        SystemExit: The arms of a comparison came to different results, or a variable names a Python that is not there.
    """
    figures: list[Figure] = []
    leads: list[str] = []
    peers: dict[str, Any] = {}
    absent: dict[str, str] = {}
    notes: list[str] = []
    for module in modules:
        print(f"measuring {module} ...", file=sys.stderr, flush=True)
        try:
            found = measured(module, tiny)
        except BadInput as error:
            raise SystemExit(str(error)) from None
        if isinstance(found, Absent):
            absent[module] = found.reason
            notes.append(f"**{module}** is left out: {found.reason}.")
            continue
        figures += found.figures()
        leads += [line.name for contest in found.contests for line in contest.lines if line.lead]
        peers[module] = {"versions": found.versions, "contests": [contest.to_json() for contest in found.contests]}
        notes.append(f"**{module}.** {found.words()}")
    details = {"notes": notes, "leads": leads, "absent": absent, "peers": peers}
    return Report("peers", TITLE, figures, details)


def short(result: Mapping[str, Any]) -> str:
    """The README's table, from the file of a run: one row for each peer.

    Args:
        result: What ``benchmarks/results/peers.json`` holds.
    """
    found = Report.from_json(result["report"])
    rows: dict[str, list[str]] = {}
    for figure in found.figures:
        if figure.name in found.details["leads"]:
            row, _, part = figure.name.partition(": ")
            interval = f" [{number(figure.low)}, {number(figure.high)}]" if figure.repeats > 1 else ""
            rows.setdefault(row, []).append(f"{part} **{number(figure.value)}**{interval}")
    absent = found.details["absent"]
    left_out = f" Left out on that machine: {', '.join(absent)}." if absent else ""
    head = (
        "Peers on the same tasks with the same scripted model, results equal: their time over ours (median [95 %]); "
        f"below 1 the peer is faster. `make bench-peers`, {result['day']};\nmethod and what is unlike: "
        f"[benchmarks](benchmarks/README.md#peers).{left_out}"
    )
    table = [f"| {row} | {'; '.join(parts)} |" for row, parts in rows.items()]
    return "\n".join([head, "", "| peer | its time over ours |", "|---|---|", *table])


def renew_readme(result: Mapping[str, Any], readme: Path = README) -> None:
    """Puts the short table between the README's two markers."""
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{readme} lacks the markers {BEGIN} and {END}")
    readme.write_text("\n".join([before + BEGIN, short(result), END + after]), encoding="utf-8")

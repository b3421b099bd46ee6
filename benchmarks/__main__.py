"""Runs the benchmarks: ``python -m benchmarks [--only NAME ...]``, from the root of a checkout.

For each one it prints a Markdown table, writes ``benchmarks/results/<name>.json`` and renews the tables in
``benchmarks/README.md``. The exit code is 1 where a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    adapters,
    capacity,
    imports,
    latency,
    minihack,
    overhead,
    sandbox,
    scale,
    search,
    sesa,
    skills,
    spade,
    trainers,
    verdicts,
    viewer,
    wrappers,
)
from benchmarks.common import Report, machine, machine_line
from benchmarks.peers import report as peers
from metagym.errors import MissingExtra

HERE = Path(__file__).resolve().parent
FOLDED = 30
"""Tables with more rows are folded in the README."""
ON_REQUEST = frozenset({"peers"})
"""What a run without names leaves out: peers want environments of their own (``make bench-peers``)."""
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

BENCHMARKS: dict[str, Callable[[], Report]] = {
    "latency": latency.report,
    "overhead": overhead.report,
    "imports": imports.report,
    "sandbox": sandbox.report,
    "verdicts": verdicts.report,
    "spade": spade.report,
    "search": search.report,
    "skills": skills.report,
    "sesa": sesa.report,
    "capacity": capacity.report,
    "scale": scale.report,
    "trainers": trainers.report,
    "wrappers": wrappers.report,
    "minihack": minihack.report,
    "alfworld_engine": adapters.engine_report,
    "stand_ins": adapters.stand_ins_report,
    "viewer": viewer.report,
    "peers": peers.report,
}


def section(result: dict) -> str:
    """One benchmark's part of the README, from its file."""
    report = Report.from_json(result["report"])
    table = report.table()
    if len(report.figures) > FOLDED:
        held = [figure.holds for figure in report.figures if figure.holds is not None]
        summary = f"{len(report.figures)} rows; {sum(held)} of {len(held)} bounds hold"
        table = f"<details><summary>{summary}</summary>\n\n{table}\n\n</details>"
    return (
        f"### {report.name}\n\n{report.title[0].upper()}{report.title[1:]}. "
        f"`{result['command']}`, {result['seconds']:.0f} s, {result['day']}, on {machine_line(result['machine'])}.\n\n"
        f"{table}\n"
        + "".join(f"\n- {note}" for note in report.details.get("notes", ()))
        + "\n" * ("notes" in report.details)
    )


def renew(readme: Path, results: Path) -> None:
    """Puts the tables of all result files between the README's two markers."""
    files = [results / f"{name}.json" for name in BENCHMARKS]
    tables = [section(json.loads(file.read_text(encoding="utf-8"))) for file in files if file.is_file()]
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{readme} lacks the markers {BEGIN} and {END}")
    readme.write_text("\n".join([before + BEGIN, "", *tables, END + after]), encoding="utf-8")


def renew_all(results: Path) -> None:
    """The tables of the folder's README, and the peers' short one in the project's."""
    renew(HERE / "README.md", results)
    if (file := results / "peers.json").is_file():
        peers.renew_readme(json.loads(file.read_text(encoding="utf-8")))


def run(name: str, folder: Path) -> Report:
    """Runs one benchmark and writes its file."""
    facts, started = machine(), time.perf_counter()
    report = BENCHMARKS[name]()
    result = {
        "command": f"python -m benchmarks --only {name}",
        "machine": facts,
        "day": time.strftime("%Y-%m-%d"),
        "seconds": time.perf_counter() - started,
        "report": report.to_json(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(section(result), flush=True)
    return report


def main() -> int:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="this one alone; may be repeated")
    parser.add_argument("--readme-only", action="store_true", help="run nothing: renew the README from the files")
    given = parser.parse_args()
    results = HERE / "results"
    reports = []
    for name in [] if given.readme_only else given.only or [name for name in BENCHMARKS if name not in ON_REQUEST]:
        try:
            reports.append(run(name, results))
        except MissingExtra as error:  # what was asked for by name must be there
            if given.only:
                raise SystemExit(str(error)) from None
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        renew_all(results)  # at once: what has been measured stays, whatever comes after
    if given.readme_only:
        renew_all(results)
    missed = [report.name for report in reports if not report.holds]
    if missed:
        print(f"bounds missed in: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

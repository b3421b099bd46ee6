"""``metagym compare``: two runs task by task, or the papers' table of any number of evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from metagym.errors import BadInput

_TABLES = ("text", "markdown", "latex", "csv", "html")


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders. Evaluations make a table of systems and benchmarks; two other runs a pair."),
    ],
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(_TABLES)}; html needs --out.")] = "text",
    markdown: Annotated[bool, typer.Option("--markdown", help="Same as --format markdown.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write instead of the terminal.")] = None,
    measure: Annotated[str, typer.Option(help="Of evaluations: avg, pass@K, maj, return, score:NAME.")] = "avg",
    baseline: Annotated[str | None, typer.Option(help="System to compare with; default: the first.")] = None,
    at: Annotated[str, typer.Option(help="Of a pair: which turn's prompt: last, best or first.")] = "last",
    arm_a: Annotated[str | None, typer.Option(help="Of a pair: arm of the first run, where it has several.")] = None,
    arm_b: Annotated[str | None, typer.Option(help="Arm of the second run; the runs may be one folder.")] = None,
    common_only: Annotated[
        bool,
        typer.Option("--common-only", help="Of a pair: compare on the tasks that both played."),
    ] = False,
) -> None:
    """Compares runs on the same tasks; refuses what is not alike and names the field."""
    form = "markdown" if markdown else form
    if form not in _TABLES:
        raise BadInput(f"--format is one of {', '.join(_TABLES)}, got {form!r}")
    if form == "html" and out is None:
        raise BadInput("--format html needs --out: the file to write")
    pair = {"--at": at != "last", "--arm-a": arm_a, "--arm-b": arm_b, "--common-only": common_only}
    given = [name for name, value in pair.items() if value]
    if _is_pair(runs, given):
        if form not in ("text", "markdown") or measure != "avg" or baseline is not None:
            raise BadInput(
                "two runs of training are compared by success, as text or Markdown; --measure, --baseline and the "
                "other formats are for evaluations"
            )
        _pair(runs, form, out, at=at, arm_a=arm_a, arm_b=arm_b, common_only=common_only)
        return
    if given:
        raise BadInput(f"{given[0]} belongs to the comparison of two runs, and a table is made of {len(runs)}")
    _table(runs, form, out, measure, baseline)


def _is_pair(runs: list[Path], given: list[str]) -> bool:
    """Whether two folders are to be compared turn by turn or arm by arm, not as systems on benchmarks."""
    from metagym.runs.entries import command_of, kind_of

    kinds = [kind_of(run) for run in runs]
    if given and "eval" in kinds[:2] and len(runs) == 2:
        name = runs[kinds.index("eval")]
        raise BadInput(f"{name} is an evaluation of models, which has no turns and no arms: leave {given[0]} out")
    if len(runs) == 2 and sorted(map(str, kinds)) == ["None", "eval"]:
        name, other = runs[kinds.index("eval")], runs[kinds.index(None)]
        raise BadInput(
            f"{name} is an evaluation of models and {other} a run of {command_of(other)!r}, which is none: score "
            "what it made with metagym eval, and compare the two evaluations"
        )
    same = len(runs) == 2 and runs[0].resolve() == runs[1].resolve() and "eval" not in kinds
    return len(runs) == 2 and (bool(given) or same or None in kinds)


def _pair(runs: list[Path], form: str, out: Path | None, **options: Any) -> None:
    from metagym.runs.compare import compare as compared

    result = compared(runs[0], runs[1], **options)
    _tell(result.markdown() if form == "markdown" else result.table(), out)


def _table(runs: list[Path], form: str, out: Path | None, measure: str, baseline: str | None) -> None:
    from metagym.runs.papers import papers_table
    from metagym.runs.papers_formats import FORMATS, as_text

    table = papers_table(runs, measure=measure, baseline=baseline)
    if form == "html":
        from metagym.runs.report.papers import render_papers

        _tell(render_papers(table), out)
    else:
        _tell(as_text(table) if form == "text" else FORMATS[form](table), out)


def _tell(shown: Any, out: Path | None) -> None:
    from metagym.runs.folder import write_atomically

    if out is None:
        if isinstance(shown, str):
            typer.echo(shown, nl=False)
        else:
            Console().print(shown)
        return
    if not isinstance(shown, str):
        console = Console(width=200, no_color=True)
        with console.capture() as caught:
            console.print(shown)
        shown = caught.get()
    write_atomically(out, shown)
    typer.echo(f"written: {out}")

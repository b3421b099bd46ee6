"""The command's frame: sub-commands, errors as one sentence, exit codes.

Exit codes: 0 done; 1 `metagym check` found a fault; 2 a typed error (bad input, missing extra, unusable file, ...);
130 stopped with Ctrl-C.
"""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console

from metagym import __version__
from metagym.cli import (
    check,
    compare,
    evaluate,
    ict,
    models,
    new,
    play,
    sandbox,
    search,
    sesa,
    show,
    skills,
    spade,
    view,
)
from metagym.errors import MetaGymError

app = typer.Typer(
    name="metagym",
    help="Meta-environments in which one outer action is a whole batch of inner episodes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(ict.app, name="ict")
app.add_typer(spade.app, name="spade")
app.add_typer(sesa.app, name="sesa")
app.add_typer(models.app, name="models")
app.add_typer(skills.app, name="skills")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(new.app, name="new")
app.command()(check.check)
app.command()(play.play)
app.command("eval")(evaluate.evaluate)
app.command()(search.serve_search)
app.command()(show.report)
app.command()(compare.compare)
app.command()(view.view)
app.command()(show.envs)
app.command()(show.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"metagym {__version__}")
        raise typer.Exit


@app.callback()
def _frame(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Options of the command itself."""


def _one_line(message: Any, category: Any, filename: Any, lineno: Any, line: Any = None) -> str:
    return f"warning: {message}\n"


def run() -> None:
    """Runs the command; typed errors become one sentence on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character gets a replacement, never an exception.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    warnings.formatwarning = _one_line
    errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)  # `openai:m:` is a name
    try:
        app(prog_name="metagym")
    except MetaGymError as error:
        errors.print("error:", style="bold red", end=" ")
        errors.print(str(error), markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("stopped")
        sys.exit(130)

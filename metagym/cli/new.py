"""``metagym new family``: a plugin project, ready to be installed, checked and played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Projects to start from.", no_args_is_help=True)


@app.callback()
def _new() -> None:
    """Projects to start from."""  # a callback keeps `family` a sub-command while it is the only one


@app.command()
def family(
    name: Annotated[str, typer.Argument(help="Letters and digits, a capital first, e.g. LampPost.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the project; default: named after it, here.")] = None,
) -> None:
    """Writes a complete plugin project: an environment, tasks, stand-ins, tests, and the entry point."""
    from metagym.scaffold import names_for, write_family

    names = names_for(name)
    folder = out or Path(names.distribution)
    for path in write_family(names, folder):
        typer.echo(f"wrote {path}")
    typer.echo(
        f"\nNext:\n"
        f"  pip install -e {folder}\n"
        f"  metagym check {name}\n"
        f"  metagym play {names.namespace}/{name}-v0\n"
        f"  cd {folder} && python -m pytest"
    )

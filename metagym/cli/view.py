"""``metagym view``: a local page over many runs."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def view(
    folder: Annotated[Path, typer.Argument(help="A run folder, or one that holds some, up to six levels down.")],
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    open_it: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Serves a read-only page over runs to this machine until it is interrupted: lists, curves, episodes, prompts."""
    from metagym.runs.view import Catalogue, ViewServer

    catalogue = Catalogue(folder)
    server = ViewServer(catalogue, port)
    found = len(catalogue.runs())
    typer.echo(f"{found:,} run{'' if found == 1 else 's'} in {folder}")
    typer.echo(f"serving {server.url} to this machine alone (Ctrl-C ends it)")
    if open_it:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        typer.echo("stopped")

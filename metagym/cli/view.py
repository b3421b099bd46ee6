"""``metagym view``: a local page over many runs."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def view(
    folder: Annotated[Path, typer.Argument(help="A run folder, or one that holds some, up to six levels down.")],
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    open_it: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser, where there is a screen.")
    ] = True,
) -> None:
    """Serves a read-only page over runs to this machine until it is interrupted: lists, curves, episodes, prompts."""
    from metagym.runs.view import Catalogue, ViewServer

    catalogue = Catalogue(folder)
    server = ViewServer(catalogue, port)
    found = len(catalogue.runs())
    typer.echo(f"{found:,} run{'' if found == 1 else 's'} in {folder}")
    typer.echo(f"serving {server.url} to this machine alone (Ctrl-C ends it)")
    if open_it and _has_a_screen():
        webbrowser.open(server.url)
    server.serve_forever()


def _has_a_screen() -> bool:
    """Without one a browser of the terminal would take it over."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

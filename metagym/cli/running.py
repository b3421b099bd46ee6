"""What the commands that run something share: where a run goes, how it is resumed, its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from metagym.cli.options import free_folder
from metagym.errors import BadInput, MetaGymError, RunError


def run_folder(out: Path | None, resume: bool, name: str, seed: int) -> Path:
    """Where the run goes: the folder asked for, or a new one under runs/."""
    if resume and out is None:
        raise BadInput("--resume needs --out: the folder of the run to go on with")
    return out or free_folder(name, seed)


@contextmanager
def resumable(path: Path) -> Iterator[Callable[[], None]]:
    """Whoever stops a run, or whatever does, is told how it goes on; yields what is to be called once it is open."""
    hint = f"{path} holds what was played and paid; go on with the same command, --out {path} and --resume"
    opened: list[bool] = []
    try:
        yield lambda: opened.append(True)
    except KeyboardInterrupt:
        typer.echo(f"stopped: {hint}" if opened else "stopped", err=True)
        raise typer.Exit(130) from None
    except (RunError, BadInput):
        raise  # refused before it began
    except MetaGymError:
        if opened:
            typer.echo(hint, err=True)
        raise


def budget(calls: int | None, tokens: int | None, cost: float | None) -> Any:
    """A hard budget; None without any limit."""
    if calls is None and tokens is None and cost is None:
        return None
    from metagym.chat.accounts import Budget

    return Budget(calls=calls, tokens=tokens, cost=cost)

"""What the commands that run something share: where a run goes, how it is resumed, its budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from metagym.cli.options import free_folder
from metagym.errors import BadInput, MetaGymError, RunError

T = TypeVar("T")


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


Executor = Annotated[
    str | None,
    typer.Option(
        help="Where it is played: local (default), ray (environments on a cluster's nodes, models asked from here) or "
        "ray-episodes (whole episodes there, models asked from the nodes). Does not change the records."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(help="Of the Ray cluster, host:port or auto; default: RAY_ADDRESS, else a Ray on this machine."),
]


def cluster(executor: str | None, address: str | None, hosts: str | None = None, deadline: float = 60.0) -> Any:
    """The workers that ``--executor`` asks for; None for this process.

    Raises:
        BadInput: The options contradict each other.
        MissingExtra, ClusterError: There is no Ray, or no cluster.
    """
    if executor in (None, "local"):
        if address is not None:
            raise BadInput("--address is that of a cluster: add --executor ray")
        return None
    if executor not in ("ray", "ray-episodes"):
        raise BadInput(f"--executor is local, ray or ray-episodes, got {executor!r}")
    if hosts is not None:
        raise BadInput(
            "--hosts says where environments live on this machine, --executor on a cluster: give one of them"
        )
    from metagym.playing.ray_cluster import ray_pool

    return ray_pool(address, whole=executor == "ray-episodes", deadline=deadline)


async def closing(pool: Any, work: Awaitable[T]) -> T:
    """Does `work`, then ends the workers of `pool`, where there is one."""
    try:
        return await work
    finally:
        if pool is not None:
            await pool.close()


def budget(calls: int | None, tokens: int | None, cost: float | None) -> Any:
    """A hard budget; None without any limit."""
    if calls is None and tokens is None and cost is None:
        return None
    from metagym.chat.accounts import Budget

    return Budget(calls=calls, tokens=tokens, cost=cost)

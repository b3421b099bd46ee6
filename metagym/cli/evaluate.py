"""``metagym eval``: scores models on a suite of benchmarks, side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from metagym.cli.options import comma_list, key_values, typed_text
from metagym.cli.running import Address, Executor, budget, closing, cluster, resumable, run_folder
from metagym.errors import BadInput


def evaluate(
    suite: Annotated[str, typer.Argument(help="reasoning, qa, ict, bfcl, acebench, or a plugin's; 'list' lists them.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="[name=]SPEC, e.g. base=openai:<model>?base_url=...; repeatable."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="spade, ict, sesa, ssp, greedy or none; default: the suite's.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Benchmarks, comma-separated; default: all of the suite.")] = None,
    samples: Annotated[int | None, typer.Option(help="Episodes per task; default: the preset's.", min=1)] = None,
    limit: Annotated[
        int | None, typer.Option(help="At most so many tasks of each benchmark, always the same ones.", min=1)
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="Option of the suite, key=value.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Default: the preset's.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest reply; default: the preset's.", min=1)] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt",
            help="System prompt, [name=]@FILE, a run of ICT, RUN@TURN, 'initial', or a text; repeatable: every model "
            "plays with every prompt. Default: the families' own.",
        ),
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option("--train", help="What the models were trained on: run folder, skill bank or JSONL; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides all sampling; not which tasks are played.", min=0)] = 0,
    max_failures: Annotated[float, typer.Option(help="Largest share of failed episodes of a benchmark, 0 to 1.")] = 0.5,
    as_written: Annotated[bool, typer.Option("--as-written", help="Send commands without the cleaning rules.")] = False,
    model_deadline: Annotated[float, typer.Option(help="Seconds for one model call, retries included.")] = 1800.0,
    env_deadline: Annotated[float, typer.Option(help="Seconds for one call of an environment.")] = 60.0,
    hosts: Annotated[
        str | None, typer.Option(help="inline, thread, process or process:<n>; default: as each family asks.")
    ] = None,
    executor: Executor = None,
    address: Address = None,
    concurrency: Annotated[int, typer.Option(help="Episodes at a time; does not change the results.", min=1)] = 64,
    batch: Annotated[int, typer.Option(help="Episodes in memory; does not change the results.", min=1)] = 256,
    cache: Annotated[str, typer.Option(help="Model replies on disk: write, read, replay-only or off.")] = "write",
    budget_calls: Annotated[int | None, typer.Option(help="Hard budget of model calls.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Hard budget of tokens.")] = None,
    budget_cost: Annotated[float | None, typer.Option(help="Hard budget of money.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder; default: a new one under runs/.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out; repeats no paid call.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Throw away a run that is in --out.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Scores models on a suite of benchmarks: the same tasks, seeds and settings for all of them."""
    if suite == "list":
        _list()
        return
    from metagym.evaluation.run import Entrant, RunSettings
    from metagym.runs.evals import EvalConfig, run_eval
    from metagym.runs.evals_prompts import with_prompts

    entrants = [Entrant(name or _short(spec), spec) for name, spec in map(_named, model or ())]
    prompts = [(name or f"prompt{number}", text) for number, (name, text) in enumerate(map(_named, prompt or ()), 1)]
    config = EvalConfig(
        suite,
        with_prompts(entrants, prompts),
        key_values(option),
        preset,
        comma_list(only),
        samples,
        limit,
        max_tokens,
        temperature,
        RunSettings(seed, max_failures, not as_written, model_deadline, env_deadline),
        tuple(map(str, train or ())),
    )
    path = run_folder(out, resume, f"eval-{suite}", seed)
    workers = cluster(executor, address, hosts, env_deadline)
    with resumable(path) as opened, _bar(f"{suite} episodes", quiet) as (start, step):

        def on_open(episodes: int) -> None:
            opened()
            start(episodes)

        folder = asyncio.run(
            closing(
                workers,
                run_eval(
                    config,
                    path,
                    resume=resume,
                    overwrite=overwrite,
                    cache_mode=cache,
                    budget=budget(budget_calls, budget_tokens, budget_cost),
                    hosts=workers or hosts,
                    concurrency=concurrency,
                    batch=batch,
                    on_open=on_open,
                    on_progress=lambda p: step(len(p.episodes) + p.read, f"{p.entrant} on {p.benchmark}"),
                ),
            )
        )
    from metagym.cli.eval_tables import print_evals

    print_evals(folder, markdown=markdown)
    if not no_report:
        from metagym.runs.report import write_report

        started = time.perf_counter()
        report = write_report(folder)
        typer.echo(f"report ({time.perf_counter() - started:.1f} s): {report}")
    typer.echo(f"run folder: {folder}")


def _named(text: str) -> tuple[str, str]:
    """A name before an equals sign, "" without one, and what follows; a spec's own parameters are no name."""
    name, mark, value = typed_text(text).partition("=")
    if mark and name and not set(name) & set(":?/@ \n"):
        return name, value
    return "", text


def _short(spec: str) -> str:
    """What a spec without a name is called: its text without parameters, in the characters that names may have."""
    head = spec.partition("?")[0]
    kept = "".join(mark if mark.isalnum() and mark.isascii() or mark in "._+@:=-" else "-" for mark in head)
    if not kept.strip("-"):
        raise BadInput("a model is written [name=]SPEC, as in base=openai:<model>")
    return kept.lstrip("._+@:=-")[-80:]


def _list() -> None:
    """The suites, their benchmarks, and the presets."""
    from metagym.errors import MetaGymError
    from metagym.evaluation.benchmarks import load_suite, suite_names
    from metagym.evaluation.presets import PRESETS

    for name in suite_names():
        try:
            suite = load_suite(name)
        except MetaGymError as error:
            typer.echo(f"{name}\n  {error}")
            continue
        typer.echo(f"{name}: {suite.title}, preset {suite.preset or 'none'}")
        for benchmark in suite.benchmarks:
            typer.echo(f"  {benchmark.name:<22} {benchmark.label} (family {benchmark.family})")
        for left, reason in suite.left_out.items():
            typer.echo(f"  {left:<22} left out: {reason}")
    typer.echo("presets: " + "; ".join(f"{preset.name}: {preset.source}" for preset in PRESETS.values()))


@contextmanager
def _bar(title: str, quiet: bool) -> Iterator[tuple[Callable[[int], None], Callable[[int, str], None]]]:
    """A bar whose length is told later: ``start(total)`` and ``step(count, note)``."""
    if quiet:
        yield lambda total: None, lambda count, note: None
        return
    from metagym.cli.progress import counted

    steps: list[Any] = []
    bars: list[Any] = []

    def start(total: int) -> None:
        bars.append(counted(total, title))
        steps.append(bars[0].__enter__())

    try:
        yield start, lambda count, note: steps[0](count, note) if count or note else None
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)

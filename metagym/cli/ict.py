"""``metagym ict run | collect | eval``."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from metagym.cli.options import comma_list, key_values, text_or_file, typed_text
from metagym.cli.running import Address, Executor, budget, closing, cluster, resumable, run_folder
from metagym.errors import BadInput

app = typer.Typer(help="In-context training: a reflector rewrites the actor's system prompt.", no_args_is_help=True)

Family = Annotated[str, typer.Option(help="Family of the tasks (see: metagym envs).")]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="Option of the family, key=value, e.g. engine=native; repeatable.")
]
Actor = Annotated[str, typer.Option(help="Model spec of the frozen actor: rules, random, openai:<model>?base_url=...")]
Reflector = Annotated[str, typer.Option(help="Model spec of the reflector.")]
BatchSize = Annotated[int | None, typer.Option(help="Tasks per batch; default: 5.")]
Preset = Annotated[str | None, typer.Option(help="Batch size and meta-turns of the paper: k3 or k5.")]
Split = Annotated[str | None, typer.Option(help="Split of the batches; default: the family's first.")]
Types = Annotated[str | None, typer.Option(help="Task types of the batches, comma-separated; default: all.")]
EvalSplit = Annotated[str | None, typer.Option(help="Split of the held-out tasks; default: the family's last.")]
EvalTasks = Annotated[int, typer.Option(help="Held-out tasks scored (the same each time); 0 scores nothing.")]
Seed = Annotated[int, typer.Option(help="Decides tasks, order and all sampling.", min=0)]
Prompt = Annotated[str | None, typer.Option("--prompt", help="Starting prompt, or @file.")]
AsWritten = Annotated[bool, typer.Option("--as-written", help="Send commands as written, without the cleaning rule.")]
MaxSteps = Annotated[int | None, typer.Option(help="Cap on steps of an episode; default: the family's.")]
Temperature = Annotated[float, typer.Option(help="Of the actor.")]
ReflectorTemperature = Annotated[float, typer.Option(help="Of the reflector.")]
History = Annotated[int | None, typer.Option(help="Past turns that the actor sees; default: all.")]
NoAdmissible = Annotated[bool, typer.Option("--no-admissible", help="Do not list the legal actions.")]
Choose = Annotated[bool, typer.Option("--choose", help="Constrain answers to the legal actions.")]
Wrap = Annotated[bool, typer.Option("--wrap", help="Start the tasks over when all have been seen, instead of failing.")]
MaxFailures = Annotated[float, typer.Option(help="Largest share of failed episodes in a batch, 0 to 1.")]
ModelDeadline = Annotated[float, typer.Option(help="Seconds for one model call, retries included.")]
EnvDeadline = Annotated[float, typer.Option(help="Seconds for one call of an environment.")]
ViewOptions = Annotated[
    list[str] | None,
    typer.Option("--view", help="What the reflector sees: thoughts=true, actions=true, episodes=3, order=failed-first"),
]
Hosts = Annotated[str | None, typer.Option(help="inline, thread, process or process:<n>; default: as the family asks.")]
Concurrency = Annotated[int | None, typer.Option(help="Episodes at once; default: all of a batch.")]
Cache = Annotated[str, typer.Option(help="Model replies on disk: write, read, replay-only (no model at all) or off.")]
BudgetCalls = Annotated[int | None, typer.Option(help="Hard budget of model calls.")]
BudgetTokens = Annotated[int | None, typer.Option(help="Hard budget of tokens.")]
BudgetCost = Annotated[float | None, typer.Option(help="Hard budget of money, in the unit of the specs' prices.")]
Out = Annotated[Path | None, typer.Option(help="Run folder; default: a new one under runs/.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out; repeats no paid call.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Throw away a run that is in --out.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


def _config(values: dict[str, Any], meta_turns: int | None, default_turns: int) -> Any:
    """The settings from the command line."""
    from metagym.ict.config import PRESETS, RunConfig
    from metagym.ict.reflector import ReflectorSettings
    from metagym.ict.render import view_from
    from metagym.playing.actor import ActorSettings

    preset = values["preset"]
    if preset is not None and preset not in PRESETS:
        raise BadInput(f"--preset is one of {', '.join(PRESETS)}, got {preset!r}")
    base = PRESETS[preset] if preset else {"batch_size": 5, "meta_turns": default_turns}
    return RunConfig(
        family=values["family"],
        family_options=key_values(values["option"]),
        actor=values["actor"],
        reflector=values["reflector"],
        batch_size=values["batch_size"] if values["batch_size"] is not None else base["batch_size"],
        meta_turns=meta_turns if meta_turns is not None else base["meta_turns"],
        split=values["split"],
        task_types=comma_list(values["types"]),
        eval_split=values["eval_split"],
        eval_types=comma_list(values["eval_types"]),
        eval_tasks=values["eval_tasks"],
        eval_every=values.get("eval_every", 1),
        seed=values["seed"],
        system_prompt=text_or_file(values["prompt"]),
        accept=values.get("accept", "always"),
        when_exhausted="wrap" if values["wrap"] else "error",
        max_steps=values["max_steps"],
        clean=not values["as_written"],
        max_failures=values["max_failures"],
        model_deadline=values["model_deadline"],
        env_deadline=values["env_deadline"],
        seat=ActorSettings(
            history=values["history"],
            show_admissible=not values["no_admissible"],
            choose=values["choose"],
            temperature=values["temperature"],
        ),
        reflector_seat=ReflectorSettings(temperature=values["reflector_temperature"]),
        view=view_from(key_values(values["view"])),
    )


@app.command()
def run(
    family: Family = "ALFWorld",
    option: Options = None,
    actor: Actor = "rules",
    reflector: Reflector = "rules",
    batch_size: BatchSize = None,
    meta_turns: Annotated[int | None, typer.Option(help="Reflections; default: 8.")] = None,
    preset: Preset = None,
    split: Split = None,
    types: Types = None,
    eval_split: EvalSplit = None,
    eval_types: Annotated[str | None, typer.Option(help="Task types of the held-out tasks; default: all.")] = None,
    eval_tasks: EvalTasks = 60,
    eval_every: Annotated[int, typer.Option(help="Score after every n-th reflection.", min=1)] = 1,
    seed: Seed = 0,
    prompt: Prompt = None,
    accept: Annotated[str, typer.Option(help="always, or not-worse (replays the last batch under the new prompt).")] = (
        "always"
    ),
    max_steps: MaxSteps = None,
    as_written: AsWritten = False,
    temperature: Temperature = 0.0,
    reflector_temperature: ReflectorTemperature = 0.0,
    history: History = None,
    no_admissible: NoAdmissible = False,
    choose: Choose = False,
    wrap: Wrap = False,
    max_failures: MaxFailures = 0.5,
    model_deadline: ModelDeadline = 600.0,
    env_deadline: EnvDeadline = 60.0,
    view: ViewOptions = None,
    hosts: Hosts = None,
    executor: Executor = None,
    address: Address = None,
    concurrency: Concurrency = None,
    cache: Cache = "write",
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    budget_cost: BudgetCost = None,
    out: Out = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
) -> None:
    """Runs the online loop: batch, reflection, next unseen batch, score on held-out tasks."""
    from metagym.cli.progress import shown_run
    from metagym.runs.ict import run_ict

    values = dict(locals())
    config = _config(values, meta_turns, 8)
    path = run_folder(out, resume, f"ict-{config.family}", config.seed)
    workers = cluster(executor, address, hosts, env_deadline)
    with resumable(path) as on_open, shown_run(config, quiet) as on_event:
        folder = asyncio.run(
            closing(
                workers,
                run_ict(
                    config,
                    path,
                    resume=resume,
                    overwrite=overwrite,
                    cache_mode=cache,
                    budget=budget(budget_calls, budget_tokens, budget_cost),
                    hosts=workers or hosts,
                    concurrency=concurrency,
                    on_open=on_open,
                    on_event=on_event,
                ),
            )
        )
    _show_and_report(folder, no_report)


@app.command()
def collect(
    rows: Annotated[Path, typer.Option(help="JSONL file to write; its data card stands beside it.")],
    meta_episodes: Annotated[int, typer.Option(help="Meta-episodes to run.", min=1)] = 20,
    family: Family = "ALFWorld",
    option: Options = None,
    actor: Actor = "rules",
    reflector: Annotated[str, typer.Option(help="Model spec of the base reflector.")] = "rules",
    batch_size: BatchSize = None,
    meta_turns: Annotated[int | None, typer.Option(help="Meta-turns of each; default: 4.")] = None,
    preset: Preset = None,
    split: Split = None,
    types: Types = None,
    seed: Seed = 0,
    prompt: Prompt = None,
    max_steps: MaxSteps = None,
    as_written: AsWritten = False,
    temperature: Temperature = 0.0,
    reflector_temperature: ReflectorTemperature = 0.0,
    history: History = None,
    no_admissible: NoAdmissible = False,
    choose: Choose = False,
    wrap: Wrap = False,
    max_failures: MaxFailures = 0.5,
    model_deadline: ModelDeadline = 600.0,
    env_deadline: EnvDeadline = 60.0,
    view: ViewOptions = None,
    hosts: Hosts = None,
    executor: Executor = None,
    address: Address = None,
    concurrency: Concurrency = None,
    cache: Cache = "write",
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    budget_cost: BudgetCost = None,
    out: Out = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Runs the loop many times with a base model and writes training rows for the reflector."""
    from metagym.cli.progress import shown_collect
    from metagym.runs.ict import collect_ict

    values = {**locals(), "eval_split": None, "eval_types": None, "eval_tasks": 0}
    config = _config(values, meta_turns, 4)
    if not rows.name:
        raise BadInput(f"rows cannot be written to {rows}: --rows names no file")
    path = out or rows.with_name(rows.name + ".run")
    workers = cluster(executor, address, hosts, env_deadline)
    with resumable(path) as on_open, shown_collect(config, meta_episodes, quiet) as on_event:
        count, card = asyncio.run(
            closing(
                workers,
                collect_ict(
                    config,
                    meta_episodes,
                    path,
                    rows,
                    resume=resume,
                    overwrite=overwrite,
                    cache_mode=cache,
                    budget=budget(budget_calls, budget_tokens, budget_cost),
                    hosts=workers or hosts,
                    concurrency=concurrency,
                    on_open=on_open,
                    on_event=on_event,
                ),
            )
        )
    typer.echo(f"{count} rows: {rows}\ndata card: {card}")


@app.command(name="eval")
def evaluate(
    prompt_arm: Annotated[
        list[str] | None, typer.Option("--prompt", help="A prompt to score, name=text or name=@file; repeatable.")
    ] = None,
    reflector: Annotated[
        list[str] | None, typer.Option(help="A reflector to score, name=<model spec>; repeatable.")
    ] = None,
    untrained: Annotated[
        str | None, typer.Option(help="Model spec of the row 'untrained reflector'; default: none.")
    ] = None,
    family: Family = "ALFWorld",
    option: Options = None,
    train_family: Annotated[
        str | None, typer.Option(help="Family on which reflectors adapt; default: --family. Another one: transfer.")
    ] = None,
    train_option: Annotated[list[str] | None, typer.Option(help="Option of the training family, key=value.")] = None,
    actor: Actor = "rules",
    batch_size: BatchSize = None,
    meta_turns: Annotated[int | None, typer.Option(help="Reflections of each meta-episode; default: 8.")] = None,
    preset: Preset = None,
    split: Split = None,
    train_types: Annotated[str | None, typer.Option(help="Meta-train task types, comma-separated.")] = None,
    test_types: Annotated[str | None, typer.Option(help="Meta-test task types, comma-separated.")] = None,
    eval_split: EvalSplit = None,
    eval_tasks: EvalTasks = 60,
    seeds: Annotated[str, typer.Option(help="Meta-seeds, comma-separated; each arm runs once per seed.")] = "0",
    initial: Annotated[str | None, typer.Option(help="Initial prompt, or @file.")] = None,
    max_steps: MaxSteps = None,
    as_written: AsWritten = False,
    temperature: Temperature = 0.0,
    reflector_temperature: ReflectorTemperature = 0.0,
    history: History = None,
    no_admissible: NoAdmissible = False,
    choose: Choose = False,
    wrap: Wrap = False,
    max_failures: MaxFailures = 0.5,
    model_deadline: ModelDeadline = 600.0,
    env_deadline: EnvDeadline = 60.0,
    view: ViewOptions = None,
    hosts: Hosts = None,
    executor: Executor = None,
    address: Address = None,
    concurrency: Concurrency = None,
    cache: Cache = "write",
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    budget_cost: BudgetCost = None,
    out: Out = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    quiet: Quiet = False,
) -> None:
    """Scores prompts and reflectors on the same held-out task types, tasks and seeds."""
    from metagym.cli.progress import shown_eval
    from metagym.cli.tables import arms_table, played, print_table
    from metagym.ict.evaluate import Arm, EvalConfig
    from metagym.runs.ict import eval_ict
    from metagym.runs.results import load_results

    try:
        numbers = tuple(int(part) for part in seeds.split(","))
    except ValueError:
        raise BadInput(f"--seeds is a comma-separated list of whole numbers, got {seeds!r}") from None
    values = {**locals(), "reflector": "random", "types": train_types, "eval_types": test_types}
    values |= {"seed": numbers[0], "prompt": initial}
    arms = [Arm(name, prompt=text_or_file(text)) for name, text in _named(prompt_arm, "--prompt")]
    if untrained is not None:
        arms.append(Arm("untrained reflector", reflector=untrained))
    arms += [Arm(name, reflector=spec) for name, spec in _named(reflector, "--reflector")]
    if not arms:
        arms = [Arm("untrained reflector", reflector="random"), Arm("rules reflector", reflector="rules")]
    config = EvalConfig(
        _config(values, meta_turns, 8),
        tuple(arms),
        numbers,
        train_family,
        tuple(sorted(key_values(train_option).items())),
    )
    path = run_folder(out, resume, f"ict-eval-{config.run.family}", config.run.seed)
    workers = cluster(executor, address, hosts, env_deadline)
    with resumable(path) as on_open, shown_eval(config, quiet) as on_event:
        result = asyncio.run(
            closing(
                workers,
                eval_ict(
                    config,
                    path,
                    resume=resume,
                    overwrite=overwrite,
                    cache_mode=cache,
                    budget=budget(budget_calls, budget_tokens, budget_cost),
                    hosts=workers or hosts,
                    concurrency=concurrency,
                    on_open=on_open,
                    on_event=on_event,
                ),
            )
        )
    print_table(arms_table(result, config, played(load_results(path))), markdown)
    typer.echo(f"run folder: {path}")


def _named(items: list[str] | None, option: str) -> list[tuple[str, str]]:
    pairs = []
    for item in items or []:
        name, mark, value = item.partition("=")
        if not mark or not name:
            raise BadInput(f"{option} is written name=..., got {item!r}")
        pairs.append((typed_text(name), value))
    return pairs


def _show_and_report(folder: Path, no_report: bool) -> None:
    """The tables of a finished run, and its report."""
    from metagym.cli.tables import print_run

    print_run(folder)
    if not no_report:
        from metagym.runs.report import write_report

        started = time.perf_counter()
        path = write_report(folder)
        typer.echo(f"report ({time.perf_counter() - started:.1f} s): {path}")

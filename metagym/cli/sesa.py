"""``metagym sesa run | eval | scores``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from metagym.cli.options import comma_list
from metagym.cli.running import budget, resumable, run_folder
from metagym.errors import BadInput

app = typer.Typer(help="SESA: search self-play with a skill bank that only the solver reads.", no_args_is_help=True)

Budget = Annotated[int | None, typer.Option(help="Hard budget of model calls.")]
Tokens = Annotated[int | None, typer.Option(help="Hard budget of tokens.")]
Cost = Annotated[float | None, typer.Option(help="Hard budget of money.")]
Out = Annotated[Path | None, typer.Option(help="Run folder; default: a new one under runs/.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out; repeats no paid call.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Throw away a run that is in --out.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
Cache = Annotated[str, typer.Option(help="Model replies on disk: write, read, replay-only or off.")]
Workers = Annotated[int, typer.Option(help="Episodes at a time; does not change the records.", min=1)]


@app.command()
def run(
    challenger: Annotated[str, typer.Option(help="Who asks: a model spec (openai:<model>?base_url=...), or rules.")] = (
        "rules"
    ),
    solver: Annotated[str, typer.Option(help="Who searches and answers: a model spec, or rules.")] = "rules",
    distiller: Annotated[str | None, typer.Option(help="Who makes cards of failures; default: the solver's.")] = None,
    verifier: Annotated[str | None, typer.Option(help="Who verifies questions; default: the solver's.")] = None,
    judge: Annotated[str | None, typer.Option(help="Who judges answers, for the scorers judge and em+judge.")] = None,
    scorer: Annotated[str, typer.Option(help="em, f1, sub_em, judge or em+judge.")] = "em",
    material: Annotated[
        str, typer.Option(help="invented, corpus:FILE, answers:FILE (with --searcher), python:<module>:<callable>.")
    ] = "invented",
    searcher: Annotated[
        str | None, typer.Option(help="bm25:FILE, fts5:FILE, http://...; default: of the material.")
    ] = (None),
    bank: Annotated[Path | None, typer.Option(help="The skill bank; default: bank/ inside the run folder.")] = None,
    embedder: Annotated[str | None, typer.Option(help="Of a new bank: hash, wordllama or minilm.")] = None,
    dedup: Annotated[float | None, typer.Option(help="Of a new bank: cosine of near copies; default: 0.85.")] = None,
    cap: Annotated[int, typer.Option(help="Most active cards.", min=1)] = 800,
    merge_at: Annotated[float | None, typer.Option(help="Cosine from which upkeep merges cards.")] = None,
    upkeep_every: Annotated[int, typer.Option(help="Rounds between two consolidations.", min=1)] = 1,
    hand: Annotated[str, typer.Option(help="Hand-written cards to prime with: a path, starter, or none.")] = "starter",
    mined: Annotated[str | None, typer.Option(help="Mined cards to prime with: a path.")] = None,
    switch: Annotated[
        list[str] | None,
        typer.Option(
            "--switch",
            help="ssp, skillrl, no-failure-distillation, no-frontier-shaping, no-retrieval-in-training, "
            "challenger-sees-memory; repeatable.",
        ),
    ] = None,
    data: Annotated[
        str, typer.Option(help="Questions of the fixed set (--switch skillrl): riddles, questions, FILE.")
    ] = ("riddles"),
    held_out: Annotated[str, typer.Option(help="Questions kept for evaluation: riddles, questions, FILE or none.")] = (
        "riddles"
    ),
    rounds: Annotated[int, typer.Option(help="Rounds.", min=1)] = 8,
    questions: Annotated[int, typer.Option(help="Questions per round; SSP: 256.", min=1)] = 8,
    rollouts: Annotated[int, typer.Option(help="Rollouts per question.", min=1)] = 5,
    hops: Annotated[str, typer.Option(help="Numbers of facts to chain, comma-separated.")] = "1,2,3",
    shape: Annotated[
        str, typer.Option(help="quadratic, gaussian?mu=0.5&sigma=0.2, min, spice, one_minus_acc or constant.")
    ] = "quadratic",
    retrieve_k: Annotated[int, typer.Option(help="Cards per question.", min=0)] = 3,
    probe_fraction: Annotated[float, typer.Option(help="Share of further rollouts without skills.")] = 0.2,
    topk: Annotated[int, typer.Option(help="Passages per search.", min=1)] = 3,
    max_turns: Annotated[int, typer.Option(help="Turns that may search.", min=1)] = 10,
    max_tokens: Annotated[int, typer.Option(help="Longest turn, in tokens.", min=1)] = 500,
    temperature: Annotated[float, typer.Option(help="Of the solver.")] = 1.0,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Ask nobody whether questions can be answered.")
    ] = False,
    repetition: Annotated[float, typer.Option(help="Weight of the share of a round that asks the same.")] = 0.0,
    stop_on_collapse: Annotated[bool, typer.Option("--stop-on-collapse", help="End the run at an alarm.")] = False,
    seed: Annotated[int, typer.Option(help="Decides everything that is drawn.", min=0)] = 0,
    workers: Workers = 16,
    cache: Cache = "write",
    budget_calls: Budget = None,
    budget_tokens: Tokens = None,
    budget_cost: Cost = None,
    out: Out = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
) -> None:
    """Runs the loop: prime, then rounds of challenge, solve, bell, distil, retrieve."""
    from metagym.runs.sesa import run_sesa

    config = _config(dict(locals()))
    path = run_folder(out, resume, "sesa", config.seed)
    with resumable(path) as on_open, _bar(config.rounds * config.questions, "SESA questions", quiet) as step:

        def told(event: Any) -> None:
            if event.kind == "paid":
                step(1, "")
            if event.kind == "round":
                rate = event.value["rate"]
                step(0, f"round {event.round}: success {'-' if rate is None else f'{rate:.2f}'}")

        folder = asyncio.run(
            run_sesa(
                config,
                path,
                bank=bank,
                resume=resume,
                overwrite=overwrite,
                cache_mode=cache,
                budget=budget(budget_calls, budget_tokens, budget_cost),
                workers=workers,
                on_open=on_open,
                on_event=told,
            )
        )
    from metagym.cli.sesa_tables import print_sesa

    print_sesa(folder)
    _report(folder, no_report)


def _config(values: dict[str, Any]) -> Any:
    """The settings from the command line."""
    from metagym.sesa.config import SesaConfig, switched
    from metagym.sesa.filters import FilterSettings
    from metagym.sesa.maintenance import Upkeep
    from metagym.sesa.rollouts import RolloutSettings
    from metagym.sesa.rounds import RewardSettings

    names = (
        "challenger solver distiller verifier judge scorer material searcher embedder dedup mined data held_out rounds "
        "upkeep_every questions rollouts shape retrieve_k probe_fraction stop_on_collapse seed"
    )
    config = SesaConfig(
        **{name: values[name] for name in names.split()},
        hand=None if values["hand"] == "none" else values["hand"],
        hops=_hops(values["hops"]),
        rollout=RolloutSettings(
            topk=values["topk"],
            max_turns=values["max_turns"],
            max_tokens=values["max_tokens"],
            temperature=values["temperature"],
        ),
        filters=FilterSettings(verify=not values["no_verify"]),
        reward=RewardSettings(repetition=values["repetition"]),
        upkeep=Upkeep(cap=values["cap"], merge_at=values["merge_at"]),
    )
    return switched(config, *(values["switch"] or ()))


def _hops(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in comma_list(text) or ())
    except ValueError:
        raise BadInput(f"--hops is a list of numbers such as 1,2,3, got {text!r}") from None


@app.command("eval")
def evaluate(
    trained: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run of 'sesa run' to take settings from.")
    ] = (None),
    deploy: Annotated[
        list[str] | None,
        typer.Option("--deploy", help="off, on or placebo; repeatable. Default: all that the run allows."),
    ] = None,
    bank: Annotated[Path | None, typer.Option(help="The skill bank; default: the run's.")] = None,
    solver: Annotated[str | None, typer.Option(help="Who answers; default: the run's solver, or rules.")] = None,
    material: Annotated[str | None, typer.Option(help="As for 'sesa run'.")] = None,
    searcher: Annotated[str | None, typer.Option(help="As for 'sesa run'.")] = None,
    data: Annotated[
        str | None,
        typer.Option(help="riddles, questions (of the material), protocol:FOLDER (the 3,125), or a file."),
    ] = None,
    count: Annotated[int | None, typer.Option(help="At most so many questions.", min=1)] = None,
    scorer: Annotated[str | None, typer.Option(help="em, f1, sub_em, judge or em+judge.")] = None,
    judge: Annotated[str | None, typer.Option(help="Who judges answers.")] = None,
    retrieve_k: Annotated[int | None, typer.Option(help="Cards per question.", min=0)] = None,
    topk: Annotated[int | None, typer.Option(help="Passages per search.", min=1)] = None,
    max_turns: Annotated[int | None, typer.Option(help="Turns that may search.", min=1)] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest turn, in tokens.", min=1)] = None,
    temperature: Annotated[float, typer.Option(help="Of the solver.")] = 0.0,
    repeats: Annotated[int, typer.Option(help="Plays per question.", min=1)] = 1,
    against: Annotated[
        Path | None, typer.Option(help="An evaluation of a baseline, deployed off: shows the parametric carry-over.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Decides which questions are drawn; default: 0.", min=0)] = None,
    workers: Workers = 16,
    batch: Annotated[int, typer.Option(help="Questions at a time; does not change the results.", min=1)] = 64,
    cache: Cache = "write",
    budget_calls: Budget = None,
    budget_tokens: Tokens = None,
    budget_cost: Cost = None,
    out: Out = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
) -> None:
    """Deploys a solver without the bank, with it, and with a placebo, and compares them question by question."""
    from metagym.cli.sesa_tables import print_evaluation
    from metagym.runs.sesa import eval_sesa
    from metagym.runs.sesa_evals import eval_settings, evaluation_scores

    if against is not None:
        evaluation_scores(against)  # one that cannot be read is refused before anything is played
    asked = dict(locals())
    names = "solver material searcher data count scorer judge retrieve_k repeats seed".split()
    rollout = {name: asked[name] for name in ("topk", "max_turns", "max_tokens", "temperature")}
    config, where, state = eval_settings(trained, bank, deploy, {name: asked[name] for name in names}, rollout)
    path = run_folder(out, resume, "sesa-eval", config.seed)
    total = len(config.deployments)
    with resumable(path) as on_open, _bar(None, f"SESA answers ({total} deployments)", quiet) as step:
        folder = asyncio.run(
            eval_sesa(
                config,
                path,
                bank=where,
                state_of=state,
                resume=resume,
                overwrite=overwrite,
                cache_mode=cache,
                budget=budget(budget_calls, budget_tokens, budget_cost),
                workers=workers,
                batch=batch,
                on_open=on_open,
                on_progress=lambda done: step(len(done.episodes), done.deployment),
            )
        )
    _report(folder, no_report)
    print_evaluation(folder, against=against)


@app.command()
def scores(
    evaluation: Annotated[Path, typer.Argument(help="A folder of 'sesa eval'.")],
    against: Annotated[Path | None, typer.Option(help="An evaluation of a baseline, deployed off.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Prints the paired table of an evaluation; refuses a baseline that is not alike and names the field."""
    from metagym.cli.sesa_tables import print_scores
    from metagym.runs.sesa_evals import evaluation_scores

    print_scores(evaluation_scores(evaluation, against), markdown=markdown)


@contextmanager
def _bar(total: int | None, title: str, quiet: bool) -> Iterator[Callable[[int, str], None]]:
    """A bar that is moved by what it is told; it appears with the first news."""
    if quiet:
        yield lambda count, note: None
        return
    from metagym.cli.progress import counted

    with counted(total, title) as step:
        yield step


def _report(folder: Path, no_report: bool) -> None:
    if not no_report:
        from metagym.runs.report import write_report

        started = time.perf_counter()
        path = write_report(folder)
        typer.echo(f"report ({time.perf_counter() - started:.1f} s): {path}")

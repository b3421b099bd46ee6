"""Trains SESA: a challenger and a solver with parameters of their own, in alternating rounds of TRL's GRPO.

The challenger is paid by a bell over the frozen solver's success rate on its questions; the solver trains on them with
skill cards, made of its own failures, in its prompts. ``card_dropout`` leaves cards out of training prompts, so that
the weights learn what the cards say; ``--arm`` compares.

    python examples/train_sesa_selfplay.py --tiny                 # a toy that learns on two cores, from random weights
    python examples/train_sesa_selfplay.py --tiny --arm sesa no-dropout no-cards ssp --seed 0 1 2
    python examples/train_sesa_selfplay.py --preset sesa-4b --dry-run
    python examples/train_sesa_selfplay.py --preset sesa-4b --lora --material corpus:wiki.jsonl \
        --searcher bm25:wiki-index --distiller 'openai:...' --verifier 'openai:...'

The run folder holds both policies' checkpoints, the bank, the records, the evaluation against the untrained start (bank
off, on, and a placebo in its place) and a figure. The same command goes on where a killed run came to, reward for
reward.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func; TRL is pinned to its minor version for it

from metagym.errors import BadInput, MetaGymError
from metagym.seeding import check_seed
from metagym_trainers import plan, presets, require_trl, require_vllm
from metagym_trainers.scripts import one_gpu
from metagym_trainers.sesa.settings import ARMS, SelfPlaySettings, arm

PLAN = ("gpus", "nodes", "per_device", "sharding", "lora", "generation", "gpu_gib", "serving", "save_steps", "model")
SEATS = ("distiller", "verifier", "judge")
TINY_NOTE = (
    "Two random models of about 120,000 parameters with a warm start on form, a toy world and a scripted distiller: "
    "this shows that the trainers learn, and says nothing about language models."
)


def tell(key: str, value: Any) -> None:
    """Says on the terminal what a round did."""
    if key.endswith("/ask"):
        told = {name: value[name] for name in ("verdicts", "success", "frontier", "cards")}
        print(f"{key}: {told}", flush=True)
    elif key.endswith("held-out"):
        known = [one for one in value.values() if one is not None]
        print(f"{key}: {sum(known)} of {len(known)}", flush=True)


def tiny(given: argparse.Namespace, out: Path) -> None:
    """The toy world: every arm with every seed, and a table of them where there are several."""
    import torch
    from transformers.utils import logging

    from metagym.runs.folder import write_atomically
    from metagym_trainers.sesa.report import arms_table

    logging.disable_progress_bar()
    torch.set_num_threads(1)  # several threads on so small a model wait for each other
    if len(given.arm) * len(given.seed) == 1:
        tiny_run(given, given.arm[0], given.seed[0], out, out.parent / "sesa-tiny-start")
        return
    runs = {(name, seed): out / f"{name}-{seed}" for name in given.arm for seed in given.seed}
    for (name, seed), folder in runs.items():
        tiny_run(given, name, seed, folder, out / "start")
    write_atomically(out / "arms.md", arms_table(runs))
    print(f"\n{arms_table(runs)}\nmedian [smallest, largest] over seeds {given.seed}; {TINY_NOTE}")


def tiny_run(given: argparse.Namespace, arm_name: str, seed: int, out: Path, start: Path) -> None:
    """One run in the toy world."""
    from transformers import PrinterCallback

    from metagym_trainers.sesa.report import FIGURE, TABLE, write_report
    from metagym_trainers.sesa.tiny import SETTINGS, tiny_play

    begun = time.process_time()
    settings = chosen(given, SETTINGS)
    with tiny_play(out, given.start or start, arm_name=arm_name, seed=seed, settings=settings, on_event=tell) as play:
        for trainer in play.trainers.values():
            trainer.remove_callback(PrinterCallback)
        play.run()
        notes = [TINY_NOTE, f"CPU seconds: {time.process_time() - begun:.0f}."]
        print(f"\n{write_report(play, f'SESA, tiny, toy world: arm {arm_name}, seed {seed}', notes)}")
    print(f"run folder: {out} ({TABLE}, {FIGURE}, records.jsonl, bank/)", flush=True)


def chosen(given: argparse.Namespace, settings: SelfPlaySettings) -> SelfPlaySettings:
    """The settings with what the command line changes."""
    names = ("rounds", "challenger_steps", "solver_steps", "questions", "card_dropout")
    return replace(settings, **{name: value for name in names if (value := getattr(given, name)) is not None})


def preset(given: argparse.Namespace, out: Path, planned: plan.Plan, gpus: Sequence[str]) -> None:
    """A preset on GPUs.

    Args:
        given: The command line.
        out: The run folder.
        planned: Its plan.
        gpus: Those that are left to the servers; empty takes the plan's numbers.
    """
    from metagym.sesa.config import SesaConfig
    from metagym.sesa.crew import Crew
    from metagym.sesa.filters import FilterSettings
    from metagym.sesa.materials import load_material
    from metagym.sesa.rollouts import RolloutSettings
    from metagym_trainers.policies import HTTPPolicy
    from metagym_trainers.scripts import adapters, grpo_config, on_gpus, tokenizer_of
    from metagym_trainers.servers import GROUP_PORT, Servers
    from metagym_trainers.servers.watch import Addresses, WatchServers
    from metagym_trainers.sesa.report import FIGURE, TABLE, write_report
    from metagym_trainers.sesa.search import SearchSettings, SearchWorld
    from metagym_trainers.sesa.selfplay import SelfPlay
    from metagym_trainers.sesa.settings import Seat

    recipe = presets.sesa(given.preset)
    if recipe.bank and given.distiller is None:
        raise BadInput("failures become cards by a model that reads them: name it (--distiller), or train ssp-...")
    material = load_material(given.material, given.searcher)
    filters = FilterSettings(verify=given.verifier is not None)
    named = {name: getattr(given, name) for name in SEATS if getattr(given, name)}
    scorer = "em+judge" if given.judge else "em"
    crew = Crew.of(SesaConfig(material=given.material, filters=filters, scorer=scorer, **named), material)
    rollout = RolloutSettings(recipe.topk, recipe.max_turns, max_tokens=recipe.recipe.max_completion)
    tokenizer = tokenizer_of(planned.model)
    searching = SearchSettings(
        retrieve_k=recipe.retrieve_k,
        rollout=rollout,
        filters=filters,
        data=given.data,
        max_row=recipe.recipe.max_context,
        seed=given.seed[0],
    )
    world = SearchWorld(material, crew, tokenizer, tokenizer, searching, {"enable_thinking": False})
    settings = SelfPlaySettings(
        rounds=10,
        challenger_steps=10 * recipe.challenger.geometry(1, given.per_device).cycle,
        solver_steps=10 * recipe.geometry(1, given.per_device).cycle,
        questions=10 * recipe.recipe.groups,
        rollouts=recipe.rollouts,
        shape=recipe.shape,
        bank=recipe.bank,
        card_dropout=recipe.card_dropout,
        upkeep_every=recipe.upkeep_every,
        concurrency=given.concurrency,
        seed=given.seed[0],
    )
    options: dict[str, Any] = {"report_to": given.report_to or "none", "logging_steps": 1, "log_completions": True}
    if planned.generation == "colocate":
        options |= {"use_vllm": True, "vllm_mode": "colocate"}
    if given.save_steps:
        options |= {"save_strategy": "steps", "save_steps": given.save_steps}
    ours = {"challenger": recipe.challenger_grpo, "solver": recipe.grpo}
    for made in ours.values():  # what cannot be trained here is known before a server or a model is loaded
        grpo_config(output_dir=str(out), **made(1, given.per_device, lora=given.lora, **options))
    with ExitStack() as stack:
        policies: dict[str, HTTPPolicy] = {}
        served: dict[str, dict[str, Any]] = {"solver": {}, "challenger": {}}
        servers = stack.enter_context(Servers(out / "servers"))
        for number, launch in enumerate(on_gpus(planned.servers, gpus)):
            server = servers.start(launch)
            warmth = recipe.recipe.temperature if launch.name == "solver" else recipe.challenger.temperature
            policies[launch.name] = HTTPPolicy(server.base_url, planned.model, temperature=warmth)
            served[launch.name] = {
                "use_vllm": True,
                "vllm_mode": "server",
                "vllm_server_base_url": server.url,
                "vllm_group_port": GROUP_PORT + number,
            }
        write_manifest(given, out, planned, servers.describe())
        seats = {
            name: Seat(
                planned.model,
                tokenizer,
                _without_steps(made(1, given.per_device, lora=given.lora, **options, **served[name]), given),
                adapters(given.lora),
                policies.get(name),
            )
            for name, made in ours.items()
        }
        play = stack.enter_context(
            SelfPlay(
                world,
                arm(chosen(given, settings), given.arm[0]),
                seats["challenger"],
                seats["solver"],
                out,
                dedup=recipe.dedup,
                on_event=tell,
            )
        )
        others = Addresses({f"the {name}": getattr(given, name) for name in SEATS})
        for trainer in play.trainers.values():
            trainer.add_callback(WatchServers(servers, others))
        try:
            play.run()
        except MetaGymError:
            servers.check()  # a server that has died is why, and its last lines say more
            raise
        print(f"\n{write_report(play, f'SESA, preset {given.preset}', recipe.ours)}")
    print(f"run folder: {out} ({TABLE}, {FIGURE}, records.jsonl, bank/, challenger/, solver/)")


def write_manifest(
    given: argparse.Namespace, out: Path, planned: plan.Plan, servers: Sequence[Mapping[str, Any]]
) -> None:
    """What is run, and the configuration that every server has now; written again where a run goes on."""
    from metagym.runs.folder import base_manifest
    from metagym.runs.folder import write_manifest as written
    from metagym_trainers.servers import recorded

    settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(given).items()}
    told = {f"{name}_server": recorded(getattr(given, name)) for name in SEATS}
    manifest = {**base_manifest(), "kind": "train-sesa", "model": planned.model, "settings": settings}
    manifest["environment"] = {**manifest["environment"], "servers": list(servers), **told}
    written(out, manifest)


def _without_steps(settings: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """A preset's arguments but for its number of steps, which follow from the rounds here."""
    dropped = ("max_steps",) if given.save_steps else ("max_steps", "save_steps")
    return {name: value for name, value in settings.items() if name not in dropped}


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tiny", action="store_true", help="a toy that learns on two cores, from random weights")
    what.add_argument("--preset", choices=presets.SESA_NAMES, help="settings for GPUs")
    parser.add_argument("--dry-run", action="store_true", help="print the plan of --preset and load nothing")
    arms = "; ".join(f"{name}: {text}" for name, (text, _) in ARMS.items())
    parser.add_argument("--arm", choices=tuple(ARMS), nargs="+", default=["sesa"], help=f"one or more of {arms}")
    parser.add_argument("--rounds", type=int, help="rounds")
    parser.add_argument("--challenger-steps", type=int, help="optimiser steps of the challenger in a round")
    parser.add_argument("--solver-steps", type=int, help="optimiser steps of the solver in a round")
    parser.add_argument("--questions", type=int, help="questions asked in a round")
    parser.add_argument("--card-dropout", type=float, help="chance that a found card is not shown in training, 0 to 1")
    parser.add_argument("--material", default="invented", help="passages and answers (metagym.sesa.materials)")
    parser.add_argument("--searcher", help="spec of the search tool; default: the material's")
    parser.add_argument("--data", default="riddles", help="questions of the evaluation")
    parser.add_argument("--model", help="another start than the preset's: a name on the hub, or a folder")
    for seat, why in (
        ("distiller", "makes cards of failures"),
        ("verifier", "checks questions; default: none does"),
        ("judge", "judges answers beside exact match"),
    ):
        parser.add_argument(f"--{seat}", help=f"spec of the model that {why}")
    parser.add_argument("--concurrency", type=int, help="rollouts of the frozen solver at once; default: all")
    parser.add_argument("--report-to", nargs="*", help="trackers of TRL: wandb, tensorboard, trackio")
    parser.add_argument(
        "--seed", type=int, nargs="+", default=[0], help="decides weights, questions and sampling; several: --tiny"
    )
    parser.add_argument("--out", type=Path, help="run folder; default: runs/train-sesa-<name>-<seed>")
    parser.add_argument("--start", type=Path, help="with --tiny: where warm starts are kept, for several arms")
    plan.add_arguments(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; exit code 2 where it cannot work, with one sentence."""
    given = arguments().parse_args(argv)
    try:
        for seed in given.seed:
            check_seed(seed)
        planned = None
        if given.preset:
            planned = plan.make(presets.sesa(given.preset), **{name: getattr(given, name) for name in PLAN})
        if given.dry_run:
            if planned is None:
                raise BadInput("--dry-run plans a --preset; --tiny needs no plan: one process, two cores, a minute")
            print(planned.text())
            return 0
        require_trl()
        gpus = one_gpu()
        if given.preset and len(given.arm) * len(given.seed) > 1:
            raise BadInput("a preset trains one arm with one seed; several of them are for --tiny")
        what = given.preset or f"tiny-{'-'.join(given.arm)}"
        out = given.out or Path("runs") / f"train-sesa-{what}-{'-'.join(map(str, given.seed))}"
        if planned is None:
            tiny(given, out)
        else:
            if planned.generation != "transformers":
                require_vllm()
            preset(given, out, planned, gpus)
    except MetaGymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Trains SPADE's designer and agent, two roles of one model, with TRL's GRPO.

The designer writes an environment as a program; the sandbox validates it; the agent plays it with and without a hint;
the designer is paid by what the hint is worth (regret), the agent by its returns, both in one update
(arXiv 2608.19197).

    python examples/train_spade_grpo.py --tiny                    # cipher locks, from random weights, on two cores
    python examples/train_spade_grpo.py --tiny --pay minimax      # one of the two controls
    python examples/train_spade_grpo.py --preset spade-4b-games --dry-run
    examples/serve_actor.sh Qwen/Qwen3-4B-Instruct-2507 --train --gpus 7
    accelerate launch --config_file examples/configs/zero3_8gpu.yaml --num_processes 6 \
        examples/train_spade_grpo.py --preset spade-4b-games --generation server --server http://127.0.0.1:8000

The run folder holds the manifest, generations.jsonl (designs, refusals by code, rewards), sampled episodes,
checkpoints, evaluation.md (the table against the untrained start) and curves.svg; ``--resume`` goes on from the last
checkpoint, reward for reward. ``--tiny`` shows that the trainer works, on a toy; it says nothing about language models.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is experimental; TRL is pinned for it

from metagym.errors import BadInput, MetaGymError
from metagym.runs.folder import RunFolder, base_manifest, write_atomically
from metagym.spade.pool import load_pool
from metagym.spade.program import EnvProgram, digest_of
from metagym.spade.stand_ins.programs import number_lock
from metagym_trainers import plan, presets, require_trl
from metagym_trainers.recipes import SpadePreset
from metagym_trainers.scripts import adapters, generating, grpo_config, one_gpu, started_as_planned, tokenizer_of
from metagym_trainers.servers import recorded
from metagym_trainers.spade import SpadeCore, SpadeTraining, training_of

TINY_STEPS, TINY_WARM, TINY_RUNGS = 400, 300, 32
TINY_NOTE = "A random model of 86,000 parameters on a toy: it shows that the trainer works, and nothing else."
EVAL_PLAYS = 16
"""Plays of each program of an evaluation."""

Scores = dict[str, list[float | None]]


@dataclass
class Job:
    """What is trained and how it is looked at.

    Attributes:
        title: For table and figure.
        training: The settings of the core.
        core: Makes the generations.
        model: A model, or the name of one.
        config: Keyword arguments of `GRPOConfig`.
        columns: Heads of the evaluation's columns.
        evaluate: From trainer and policy to rows of the evaluation, by the name of what was measured.
        difficulty: From a line of generations.jsonl to a number for the curves; None where there is none.
        more: Further keyword arguments of `GRPOTrainer`.
        policy: From the trainer to who samples; None for the trainer's own model.
        notes: Below the table.
        servers: What the servers that it uses say of themselves, by name.
    """

    title: str
    training: SpadeTraining
    core: SpadeCore
    model: Any
    config: dict[str, Any]
    columns: list[str]
    evaluate: Callable[[Any, Any], Scores]
    difficulty: Callable[[dict[str, Any]], float | None] = lambda line: None
    more: dict[str, Any] = field(default_factory=dict)
    policy: Callable[[Any], Any] | None = None
    notes: tuple[str, ...] = ()
    servers: dict[str, Any] = field(default_factory=dict)


def tiny_job(given: argparse.Namespace) -> Job:
    """The cipher locks of `metagym_trainers.tiny.locks`: real programs, real verdicts, a tiny model."""
    import torch
    from transformers.utils import logging

    from metagym.spade.hosts import staged
    from metagym_trainers.tiny import ladder, locks, models, twins

    logging.disable_progress_bar()
    torch.set_num_threads(1)  # several threads on so small a model wait for each other
    tokenizer = models.word_tokenizer(locks.WORDS, drop_unknown=True)
    model = models.tiny_model(tokenizer, positions=64, seed=given.seed)
    example = partial(locks.example, seed=given.seed + 100)
    models.warm_start(model, tokenizer, example, steps=TINY_WARM, batch=48)
    config = locks.lock_config(given.pay, seed=given.seed, plays=8)
    training = SpadeTraining(
        config, generations=8, slots=6, hinted_slots=1, briefs=2, mix=False, designer_scale=8.0, edits=2
    )
    stage = twins.twin_stage if given.play == "twin" else staged
    core = SpadeCore(training, tokenizer, compiler=locks.compile_lock, editor=locks.edit_lock, stage=stage)
    ladders = {"unhinted": ladder.rungs(TINY_RUNGS), "hinted": ladder.rungs(TINY_RUNGS, hinted=True)}
    pins = {digest_of(locks.lock_source(family, n))[:16]: n for family in locks.FAMILIES for n in range(1, 9)}

    def evaluate(trainer: Any, policy: Any) -> Scores:
        rows: Scores = {}
        for name, rungs in ladders.items():
            prompts = [rung.prompt for rung in rungs]
            answers = models.generate(trainer.model, tokenizer, prompts, max_tokens=locks.MOVES)
            rows[name] = list(ladder.climb(rungs, answers))
        return rows

    def difficulty(line: dict[str, Any]) -> float | None:
        found = [pins[one["digest"]] for one in line["designs"] if one["digest"] in pins and not one["edited"]]
        return sum(found) / len(found) if found else None

    return Job(
        title=f"SPADE, tiny (designer paid by {given.pay}): held-out locks opened, by number of pins, greedy",
        training=training,
        core=core,
        model=model,
        config={
            "max_steps": given.max_steps or TINY_STEPS,
            "save_steps": given.save_steps or 100,
            "per_device_train_batch_size": training.rows,
            "max_completion_length": config.designer_seat.max_tokens,
            "learning_rate": 1e-3,
            "lr_scheduler_type": "constant",
            "entropy_coef": 0.1,
            "beta": 0.0,
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "dataloader_pin_memory": False,
        },
        columns=[f"{n} pin{'s' * (n > 1)}" for n in range(1, locks.MOVES + 1)],
        evaluate=evaluate,
        difficulty=difficulty,
        more={"processing_class": tokenizer},
        notes=(TINY_NOTE,),
    )


def preset_job(given: argparse.Namespace, preset: SpadePreset) -> Job:
    """A preset of the paper."""
    from metagym.chat import load
    from metagym_trainers.policies import HTTPPolicy
    from metagym_trainers.recording import Limits
    from metagym_trainers.spade import run

    started_as_planned(given.gpus)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    changes = {"corpus": given.corpus} if given.corpus else {}
    training = training_of(preset, world, seed=given.seed, **changes)
    if preset.audit and not given.auditor:
        raise BadInput(f"{preset.name} has its programs read by an auditor: name one with --auditor 'openai:...'")
    name = given.model or preset.model
    tokenizer = tokenizer_of(name)
    core = SpadeCore(
        training,
        tokenizer,
        limits=Limits(row=preset.recipe.max_context),
        auditor=load(given.auditor, seat="auditor") if given.auditor else None,
        options={"enable_thinking": preset.thinking},
    )
    programs = [EnvProgram.parse(number_lock(pins)) for pins in range(1, 6)]
    if given.eval_pool:
        programs = list(load_pool(given.eval_pool).programs)
    overrides, server = generating(given.generation, given.server, name)
    if given.max_steps:
        overrides["max_steps"] = given.max_steps
    if given.save_steps:
        overrides["save_steps"] = given.save_steps
    more: dict[str, Any] = {"processing_class": tokenizer, "peft_config": adapters(given.lora)}

    def evaluate(trainer: Any, policy: Any) -> Scores:
        found = run(policy, core.measure(programs, EVAL_PLAYS))
        return {"unhinted": [estimate.plain.win_rate for estimate in found]}

    def served(trainer: Any) -> HTTPPolicy:
        """The same weights behind the server that TRL keeps in step; one that trains alone samples its own model."""
        return HTTPPolicy(f"{trainer.args.vllm_server_base_url}/v1", name, temperature=trainer.args.temperature)

    return Job(
        title=f"SPADE, {preset.name}: programs kept apart, win rate without a hint at the training temperature",
        training=training,
        core=core,
        model=name,
        config=preset.grpo(world, given.per_device, lora=given.lora, **overrides),
        columns=[program.title for program in programs],
        evaluate=evaluate,
        more=more,
        policy=served if given.generation == "server" else None,
        notes=tuple(preset.ours),
        servers={"policy_server": server, "auditor_server": recorded(given.auditor)},
    )


def train(job: Job, given: argparse.Namespace, out: Path) -> dict[str, Scores]:
    """Trains, evaluates before and after, and writes the run folder."""
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    from metagym_trainers import LocalPolicy, RolloutReward, StateCallback, Tracker, latest_checkpoint
    from metagym_trainers.policies import publish
    from metagym_trainers.ranks import everywhere
    from metagym_trainers.sampling import own_noise
    from metagym_trainers.servers.watch import Addresses, WatchServers
    from metagym_trainers.spade import SpadeRollout, check_geometry, grpo_settings, slots_dataset

    args = grpo_config(
        output_dir=str(out / "checkpoints"),
        seed=given.seed,
        logging_steps=1,
        save_strategy="steps",
        save_total_limit=2,
        report_to=given.report_to or "none",
        disable_tqdm=True,
        **(job.config | grpo_settings(job.training)),
    )
    check_geometry(args, job.training)
    settings = {name: value for name, value in vars(given).items() if name not in ("out", "resume", "dry_run")}
    manifest = {**base_manifest(), "kind": "train-spade", "settings": settings, "config": job.config}
    manifest["environment"] = {**manifest["environment"], **job.servers}
    watch = WatchServers(Addresses({"the policy's server": args.vllm_server_base_url, "the auditor": given.auditor}))
    folder = None
    if args.process_index == 0:
        folder = RunFolder.resume(out, manifest) if given.resume else RunFolder.create(out, manifest)
    decode = job.more["processing_class"].decode
    tracker = Tracker(out if folder is not None else None, every=25, decode=decode, seed=given.seed)
    rollout = SpadeRollout(job.core, tracker=tracker, folder=out, policy=job.policy or LocalPolicy)
    trainer = GRPOTrainer(
        model=job.model,
        reward_funcs=RolloutReward(tracker),
        args=args,
        train_dataset=Dataset.from_list(slots_dataset(job.training, args.world_size)),
        rollout_func=rollout,
        callbacks=[StateCallback({"spade": rollout.part()}), watch],
        **job.more,
    )
    trainer.remove_callback(PrinterCallback)
    policy = rollout.bind(trainer)

    def evaluate(name: str) -> Scores:
        key = f"eval/{name}"
        known = everywhere(folder.records.get(key) if folder is not None and key in folder.records else None)
        if known is not None:  # in all processes or in none: they may generate together
            return dict(known)
        publish(trainer)  # the last update is in no server yet: TRL pushes weights before a generation alone
        with own_noise(args.seed + args.process_index):  # a resumed run may leave it out
            found = job.evaluate(trainer, policy)
        if folder is not None:
            folder.records.append(key, found)
        return found

    try:
        results = {"untrained start": evaluate("start")}
        trainer.train(resume_from_checkpoint=latest_checkpoint(args.output_dir) if given.resume else None)
        results["trained"] = evaluate("trained")
        trainer.save_model(str(out / "final"))  # by all processes: sharded weights are gathered; the main one writes
        if folder is not None:
            print(tell(job, results, out))
    finally:
        if folder is not None:
            folder.close()
    return results


def tell(job: Job, results: dict[str, Scores], out: Path) -> str:
    """Writes table and figure; returns what the terminal shows."""
    from metagym_trainers.spade import report

    lines = report.read(out)
    numbers = [line["metrics"] for line in lines]
    curves = {
        "share of designs": {"valid": [one.get("spade/valid") for one in numbers]},
        "win rate": {
            "unhinted": [one.get("spade/win_rate") for one in numbers],
            "hinted": [one.get("spade/win_rate_hinted") for one in numbers],
        },
    }
    difficulty = [job.difficulty(line) for line in lines]
    if any(value is not None for value in difficulty):
        curves["mean pins of a valid design"] = {"designer": difficulty}
    rows = {f"{when}, {how}": scores for when, found in results.items() for how, scores in found.items()}
    course = {"valid designs": report.parts(curves["share of designs"]["valid"])}
    if "mean pins of a valid design" in curves:
        course["mean pins"] = report.parts(difficulty)
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = f"CPU seconds of this process: {used.ru_utime + used.ru_stime:.0f}."
    text = report.table(job.title, job.columns, rows, [*job.notes, seconds])
    text += "\n" + report.table("Course of the training, in six equal parts", list("123456"), course, ())
    write_atomically(out / report.TABLE, text)
    report.figure(out, job.title, curves)
    return f"\n{text}\nrun folder: {out} ({report.TABLE}, {report.FIGURE}, generations.jsonl, episodes/, final/)"


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tiny", action="store_true", help="a toy that learns on two cores, from random weights")
    what.add_argument("--preset", choices=presets.SPADE_NAMES, help="the paper's settings, for GPUs")
    parser.add_argument("--dry-run", action="store_true", help="print the plan of --preset and load nothing")
    parser.add_argument(
        "--pay",
        choices=("regret", "blend", "absolute", "minimax"),
        default="regret",
        help="with --tiny: what the designer is paid for; absolute is the agent's success, minimax its failure",
    )
    parser.add_argument(
        "--play",
        choices=("twin", "sandbox"),
        default="twin",
        help="with --tiny: where judged locks are played; equal episodes, and the sandbox costs twice the time",
    )
    parser.add_argument("--model", help="another policy than the preset's: a name on the hub, or a folder")
    parser.add_argument("--corpus", help="spec of the corpus of the designs' documents; default: the bundled one")
    parser.add_argument("--auditor", help="model that reads programs where the preset asks for an audit")
    parser.add_argument("--eval-pool", help="pool of programs to evaluate on; default: five number locks")
    parser.add_argument("--server", help="with --generation server: address of the vLLM that takes the weights")
    parser.add_argument("--max-steps", type=int, help="optimiser steps; default: the preset's")
    parser.add_argument("--report-to", nargs="*", help="trackers of TRL: wandb, tensorboard, trackio")
    parser.add_argument("--seed", type=int, default=0, help="decides weights, designs and sampling")
    parser.add_argument("--out", type=Path, help="run folder; default: runs/train-spade-<name>-<seed>")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in --out")
    plan.add_arguments(parser)
    return parser


PLANNED = ("gpus", "nodes", "per_device", "sharding", "lora", "generation", "gpu_gib", "serving", "save_steps", "model")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; exit code 2 where it cannot work, with one sentence."""
    given = arguments().parse_args(argv)
    try:
        if given.dry_run:
            if given.tiny:
                raise BadInput("--dry-run plans a --preset; --tiny needs no plan: one process on two cores")
            print(plan.make(presets.named(given.preset), **{name: getattr(given, name) for name in PLANNED}).text())
            return 0
        require_trl()
        one_gpu()
        name = f"tiny-{given.pay}" if given.tiny else given.preset
        out = given.out or Path("runs") / f"train-spade-{name}-{given.seed}"
        given = argparse.Namespace(**{k: str(v) if isinstance(v, Path) else v for k, v in vars(given).items()})
        job = tiny_job(given) if given.tiny else preset_job(given, presets.spade(given.preset))
        train(job, given, out)
    except MetaGymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Trains ICT's reflector with TRL's GRPO and the replay reward.

A model reads how a frozen actor fared on a batch of tasks and writes its next system prompt; the reward is the mean
return of the same batch, replayed under that prompt (arXiv 2605.20477).

    python examples/train_ict_grpo.py --tiny                     # learns in a minute on two cores, from random weights
    python examples/train_ict_grpo.py --preset ict-7b-k5 --dry-run
    metagym ict collect --preset k5 --actor 'openai:...' --reflector 'openai:...' --meta-episodes 64 --out rows
    examples/serve_actor.sh Qwen/Qwen2.5-7B-Instruct --port 8001
    python examples/train_ict_grpo.py --preset ict-7b-k5 --rows rows/rows.jsonl --eval-rows held-out/rows.jsonl \
        --actor 'openai:Qwen/Qwen2.5-7B-Instruct?base_url=http://127.0.0.1:8001/v1'

The run folder holds manifest, metrics, sampled episodes, checkpoints, the table against the untrained start and a
figure; ``--resume`` goes on from the last checkpoint, reward for reward.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from metagym.errors import BadInput, MetaGymError
from metagym.ict.loop import memory_records
from metagym.playing import sync
from metagym.runs.folder import RunFolder, base_manifest, write_atomically
from metagym.stats import Estimate, mean
from metagym_trainers import plan, presets, require_trl
from metagym_trainers.ict import Curriculum, PolicyReflector, ReplayReward, Replays, ict_dataset
from metagym_trainers.ict.rows import ReplaySpec
from metagym_trainers.recipes import ICTPreset
from metagym_trainers.scripts import adapters, generating, grpo_config, one_gpu, started_as_planned
from metagym_trainers.servers import recorded

NAMES = tuple(preset.name for preset in presets.ICT)
TINY_STEPS, TINY_WARM = 200, 60
TINY_NOTE = (
    "A random model of 90,000 parameters and a scripted actor in a toy world: this shows that the trainer learns, and "
    "says nothing about language models."
)


@dataclass
class Job:
    """What is trained, on what, and how it is looked at.

    Attributes:
        title: For table and figure.
        model: A model, or the name of one.
        config: Keyword arguments of `GRPOConfig`.
        train: The dataset.
        sets: Sets of rows for the evaluation.
        reward: The reward.
        answer: From the trainer and rows to completions, with their ids where they are known.
        start: Name of the untrained start.
        more: Further keyword arguments of `GRPOTrainer`.
        earlier: Estimates of policies before the start, by name.
        levels: Heights to compare the curve with.
        notes: Below the table.
        curriculum: Where rows are made each round.
        server: What the server of the policy says of itself; None without one.
    """

    title: str
    model: Any
    config: dict[str, Any]
    train: Any
    sets: dict[str, Any]
    reward: ReplayReward
    answer: Callable[[Any, Sequence[Any]], tuple[list[str], list[list[int]] | None]]
    start: str = "untrained"
    more: dict[str, Any] = field(default_factory=dict)
    earlier: dict[str, list[Estimate]] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    curriculum: Curriculum | None = None
    server: dict[str, Any] | None = None


def tiny_job(given: argparse.Namespace) -> Job:
    """The toy world of `metagym_trainers.tiny.ict_world`: real rows, real plays, a tiny model."""
    import torch
    from transformers.utils import logging

    from metagym.ict.collect import collect
    from metagym.ict.loop import Seats
    from metagym_trainers.tiny import ict_world as world
    from metagym_trainers.tiny.models import generate, tiny_model, warm_start, word_tokenizer

    logging.disable_progress_bar()
    torch.set_num_threads(1)  # several threads on so small a model wait for each other
    world.register()

    def rows(split: str, count: int) -> Any:
        config = world.settings(split, given.seed)
        return ict_dataset(asyncio.run(collect(config, count, Seats.of(config, world.family()), memory_records())))

    sets = {"seen task types": rows("train", 128), "held-out task types": rows("held_out", 32)}
    train, reward = sets["seen task types"], ReplayReward(Replays())
    curriculum = None
    if given.rounds:
        config = world.settings("train", given.seed)
        seats = Seats.of(config, world.family())
        base = None if given.reflector == "policy" else seats.reflector
        curriculum = Curriculum(config, seats.actor, base, rounds=given.rounds, meta_episodes=given.meta_episodes)
        train = curriculum.dataset()
    tokenizer = word_tokenizer(world.VOCABULARY, drop_unknown=True)
    model = tiny_model(tokenizer, spread=0.08, seed=given.seed)

    def answer(trainer: Any, chosen: Sequence[Any]) -> tuple[list[str], None]:
        policy = model if trainer is None else trainer.model
        prompts = [row["prompt"] for row in chosen]
        return generate(policy, tokenizer, prompts, max_tokens=world.ANSWER_TOKENS), None

    chosen = {name: found.select(range(min(128, len(found)))) for name, found in sets.items()}
    earlier = {"random weights (greedy)": [scored(reward, found, *answer(None, found)) for found in chosen.values()]}
    form = sets["seen task types"]
    warm_start(model, tokenizer, lambda at: world.form_example(given.seed, at, form[at % len(form)]), steps=TINY_WARM)
    ceiling = world.constant_ceiling()
    steps = given.max_steps or TINY_STEPS
    settings = {
        "max_steps": steps,
        "per_device_train_batch_size": 128,
        "num_generations": 8,
        "max_completion_length": world.ANSWER_TOKENS,
        "learning_rate": 1e-3,  # at 2e-3 some seeds forget a tool before it has earned anything
        "lr_scheduler_type": "constant",
        "entropy_coef": 0.05,
        "loss_type": "grpo",
        "save_steps": given.save_steps or 25,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "dataloader_pin_memory": False,
    }
    return Job(
        title="ICT, tiny: greedy success of the reflector's prompts",
        model=model,
        config=settings,
        train=train,
        sets=chosen,
        reward=reward,
        answer=answer,
        start="warm start on form (greedy)",
        more={"processing_class": tokenizer},
        earlier=earlier,
        levels={"best constant answer": ceiling},
        notes=(TINY_NOTE, f"The best constant answer earns {ceiling:.2f} on the held-out types (all pairs played)."),
        curriculum=curriculum,
    )


def preset_job(given: argparse.Namespace, preset: ICTPreset) -> Job:
    """A preset of the paper, on collected rows."""
    from metagym_trainers.policies import generate_ids

    if not given.rows or not given.eval_rows:
        raise BadInput(
            "--preset trains on --rows and ends with --eval-rows, of other tasks: make both with 'metagym ict collect' "
            "(see --help), or try --tiny"
        )
    train = ict_dataset(given.rows)
    held = ict_dataset(given.eval_rows)
    shared = set(train["id"]) & set(held["id"])
    if shared:
        raise BadInput(f"--eval-rows holds row {min(shared)!r} of --rows: evaluate on rows of other tasks")
    reward = ReplayReward(Replays(given.actor, hosts=given.hosts, concurrency=given.concurrency or preset.concurrency))
    started_as_planned(given.gpus)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    model = given.model or preset.model
    generation, server = generating(given.generation, given.server, model)
    overrides: dict[str, Any] = {"log_completions": True, **generation}
    if given.max_steps:
        overrides["max_steps"] = given.max_steps
    if given.save_steps:
        overrides["save_steps"] = given.save_steps

    def answer(trainer: Any, chosen: Sequence[Any]) -> tuple[list[str], list[list[int]]]:
        tokenizer, ids = trainer.processing_class, []
        size = trainer.args.per_device_train_batch_size
        for first in range(0, len(chosen), size):
            prompts = [
                list(tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=False))
                for row in chosen.select(range(first, min(first + size, len(chosen))))
            ]
            ids += [list(found) for found, _ in generate_ids(trainer, prompts, preset.recipe.max_completion)]
        return tokenizer.batch_decode(ids, skip_special_tokens=True), ids

    return Job(
        title=f"ICT, {preset.name}: mean return of replayed batches, at the training temperature",
        model=model,
        config=preset.grpo(world, given.per_device, lora=given.lora, **overrides),
        train=train,
        sets={"held-out rows": held},
        reward=reward,
        answer=answer,
        more={"peft_config": adapters(given.lora)},
        notes=tuple(preset.ours),
        server=server,
    )


def scored(reward: ReplayReward, rows: Any, texts: Sequence[str], ids: Any = None) -> Estimate:
    """The mean return of rows under answers to them, with its interval."""
    rewards = sync.run(reward(None, texts, ids, replay=rows["replay"]))
    return mean(rewards, seed=0)


def train(job: Job, given: argparse.Namespace, out: Path) -> dict[str, list[Estimate]]:
    """Trains, evaluates before and after, and writes the run folder."""
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    from metagym_trainers import StateCallback, check_config, end_ids, latest_checkpoint
    from metagym_trainers.ict.judged import JudgedTogether
    from metagym_trainers.ict.runlog import FIGURE, TABLE, RunLog, figure, table
    from metagym_trainers.ranks import everywhere
    from metagym_trainers.sampling import own_noise
    from metagym_trainers.servers.watch import Addresses, WatchServers

    job.reward.check(job.sets[next(iter(job.sets))])  # an actor that does not answer is known before a model is loaded
    args = grpo_config(
        output_dir=str(out / "checkpoints"),
        seed=given.seed,
        logging_steps=1,
        save_strategy="steps",
        save_total_limit=2,
        report_to=given.report_to or "none",
        disable_tqdm=True,
        shuffle_dataset=job.curriculum is None,
        **job.config,
    )
    check_config(args)
    if job.curriculum is not None:
        job.curriculum.check(args)
    main = args.process_index == 0
    settings = {name: value for name, value in vars(given).items() if name not in ("out", "resume", "dry_run")}
    manifest = {**base_manifest(), "kind": "train-ict", "settings": settings, "config": job.config}
    first = ReplaySpec.from_text(job.sets[next(iter(job.sets))][0]["replay"])
    spec = job.reward.replays.actor or first.actor
    told = {"actor_server": recorded(spec), "policy_server": job.server}  # the configurations that they are served with
    manifest["environment"] = {**manifest["environment"], **told}
    watch = WatchServers(Addresses({"the actor": spec, "the policy's server": args.vllm_server_base_url}))
    folder = None
    if main:
        folder = RunFolder.resume(out, manifest) if given.resume else RunFolder.create(out, manifest)
    log = RunLog(out, job.reward, say=print)
    parts = {} if job.curriculum is None else {"curriculum": job.curriculum.part()}
    trainer = GRPOTrainer(
        model=job.model,
        reward_funcs=job.reward,
        args=args,
        train_dataset=job.train,
        callbacks=[StateCallback(parts), watch, JudgedTogether(job.reward), log],
        **job.more,
    )
    trainer.remove_callback(PrinterCallback)
    job.reward.ends = end_ids(trainer)
    if job.curriculum is not None and job.curriculum.reflector is None:
        from metagym_trainers import LocalPolicy

        job.curriculum.reflector = PolicyReflector(LocalPolicy(trainer), trainer.processing_class)

    def evaluate(name: str) -> list[Estimate]:
        found = []
        for title, rows in job.sets.items():
            key = f"eval/{name}/{title}"
            known = everywhere(folder.records.get(key) if folder is not None and key in folder.records else None)
            if known is not None:  # in all processes or in none: they generate together
                found.append(Estimate.from_json(known))
                continue
            with own_noise(args.seed + args.process_index):  # a resumed run may leave it out
                texts, ids = job.answer(trainer, rows)
            if folder is not None:
                found.append(scored(job.reward, rows, texts, ids))
                folder.records.append(key, found[-1].to_json())
        return found

    try:
        results = {**job.earlier, job.start: evaluate(job.start)}
        trainer.train(resume_from_checkpoint=latest_checkpoint(args.output_dir) if given.resume else None)
        results["trained"] = evaluate("trained")
        trainer.save_model(str(out / "final"))  # by all processes: sharded weights are gathered; the main one writes
        if folder is not None:
            used = resource.getrusage(resource.RUSAGE_SELF)
            seconds = f"CPU seconds of this process: {used.ru_utime + used.ru_stime:.0f}."
            text = table(job.title, list(job.sets), results, [*job.notes, seconds])
            write_atomically(out / TABLE, text)
            levels = {job.start: results[job.start][-1].value, "trained": results["trained"][-1].value, **job.levels}
            figure(out, levels, job.title)
            print(f"\n{text}\nrun folder: {out} ({TABLE}, {FIGURE}, metrics.jsonl, episodes/, final/)")
    finally:
        if folder is not None:
            folder.close()
        sync.run(job.reward.replays.aclose())
        # Worker processes and connections of the training belong to the loop on which TRL awaits rewards.
        asyncio.run_coroutine_threadsafe(job.reward.replays.aclose(), trainer.async_loop).result()
    return results


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tiny", action="store_true", help="a toy that learns on two cores, from random weights")
    what.add_argument("--preset", choices=NAMES, help="the paper's settings, for GPUs")
    parser.add_argument("--dry-run", action="store_true", help="print the plan of --preset and load nothing")
    parser.add_argument("--rows", type=Path, help="training rows: the JSONL of 'metagym ict collect'")
    parser.add_argument("--eval-rows", type=Path, help="rows of held-out tasks, collected from another split")
    parser.add_argument("--actor", help="spec of the frozen actor; default: the one that made the rows")
    parser.add_argument("--hosts", help="where environments live: inline, thread, process:<n>; default: as they ask")
    parser.add_argument("--concurrency", type=int, help="replayed episodes at once; default: the preset's")
    parser.add_argument("--model", help="another policy than the preset's: a name on the hub, or a folder")
    parser.add_argument("--rounds", type=int, default=0, help="with --tiny: fresh rows each round; 0 collects once")
    parser.add_argument("--meta-episodes", type=int, default=32, help="meta-episodes of a round, four rows each")
    parser.add_argument("--reflector", choices=("policy", "rules"), default="policy", help="who writes in the rounds")
    parser.add_argument("--server", help="with --generation server: address of the vLLM that takes the weights")
    parser.add_argument("--max-steps", type=int, help="optimiser steps; default: the preset's")
    parser.add_argument("--report-to", nargs="*", help="trackers of TRL: wandb, tensorboard, trackio")
    parser.add_argument("--seed", type=int, default=0, help="decides weights, rows and sampling")
    parser.add_argument("--out", type=Path, help="run folder; default: runs/train-ict-<name>-<seed>")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in --out")
    plan.add_arguments(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; exit code 2 where it cannot work, with one sentence."""
    given = arguments().parse_args(argv)
    try:
        if given.dry_run:
            if given.tiny:
                raise BadInput("--dry-run plans a --preset; --tiny needs no plan: one process, two cores, a minute")
            names = (
                "gpus",
                "nodes",
                "per_device",
                "sharding",
                "lora",
                "generation",
                "gpu_gib",
                "serving",
                "save_steps",
                "model",
            )
            print(plan.make(presets.named(given.preset), **{name: getattr(given, name) for name in names}).text())
            return 0
        require_trl()
        one_gpu()
        out = given.out or Path("runs") / f"train-ict-{'tiny' if given.tiny else given.preset}-{given.seed}"
        given = argparse.Namespace(**{k: str(v) if isinstance(v, Path) else v for k, v in vars(given).items()})
        job = tiny_job(given) if given.tiny else preset_job(given, presets.named(given.preset))  # type: ignore[arg-type]
        train(job, given, out)
    except MetaGymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

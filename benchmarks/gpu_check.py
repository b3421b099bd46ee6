"""Does training work on this machine? One command, one GPU, no download: ``python -m benchmarks.gpu_check``.

A Qwen2-shaped model of half a billion random weights and a byte-level tokenizer are made on the spot, taught the mere
form of answers, and trained for a few steps by the real trainers: ICT's reflector with replays against a frozen actor
(a scripted stand-in behind a loopback server of its own), and SPADE's two roles on programs in the real sandbox. The
check fails on any NaN, on a token that is trained and was not sampled, on weights that do not move or do not reach
vLLM, and on a dead server; it reports tokens per second, how far replays overlap, and memory. It says nothing about
learning: random weights learn nothing in a few steps.

``--cpu`` (and a machine without a GPU) takes a smaller model and fewer rows, so that the same code runs everywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import json
import math
import os
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.gpu_model import CPU, GPU, SMALLEST, Size, byte_tokenizer, decoding, form, random_model, warm_start
from benchmarks.gpu_watch import CheckFailed, Findings, Watch, in_step
from metagym.errors import MetaGymError

HERE = Path(__file__).resolve().parent


def config(size: Size, rows: int, folder: Path, **more: Any) -> Any:
    """TRL's settings for both trainings: one optimiser step for each generation batch of `rows` rows."""
    import torch
    from trl import GRPOConfig

    cuda = torch.cuda.is_available() and size.name == "gpu"
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "num_generations": size.generations,
        "per_device_train_batch_size": size.per_device,
        "steps_per_generation": rows // size.per_device,
        "gradient_accumulation_steps": rows // size.per_device,
        "max_steps": size.steps,
        "learning_rate": 1e-5,
        "scale_rewards": "group",
        "loss_type": "grpo",
        "save_strategy": "no",
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": not cuda,
        "bf16": cuda,
        "gradient_checkpointing": cuda,
        "seed": 0,
    }
    return GRPOConfig(**(settings | more))


@contextmanager
def quiet() -> Iterator[None]:
    """What is said meanwhile goes to stderr; a batch whose rewards are all equal is no fault of the machine."""
    import logging

    from metagym_trainers.tracking import DeadGroupsWarning

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeadGroupsWarning)
        yield


# --- ICT


def collected(size: Size, seed: int) -> list[dict[str, Any]]:
    """Training rows of the tiny errands, collected by scripted stand-ins."""
    from metagym.ict.collect import collect
    from metagym.ict.config import build_family
    from metagym.ict.loop import Seats
    from metagym.playing import sync
    from metagym.spade.memory_store import RamStore
    from metagym_trainers.tiny import ict_world

    ict_world.register()
    settings = ict_world.settings("train", seed)
    seats = Seats.of(settings, build_family(settings))
    return sync.run(collect(settings, max(1, size.prompts // 4), seats, RamStore()))


def train_ict(
    size: Size, model: Any, tokenizer: Any, rows: list[dict[str, Any]], folder: Path, generation: Mapping[str, Any]
) -> Findings:
    """A few steps of the reflector, with its replays against the actor's server."""
    from metagym_trainers.ict import ReplayReward, Replays, ict_dataset
    from metagym_trainers.servers import Launch, Servers
    from metagym_trainers.servers.watch import WatchServers

    findings, watch = Findings(), Watch()
    seconds: list[float] = []

    class Counted(ReplayReward):
        async def __call__(self, prompts: Any, completions: Any, completion_ids: Any = None, **more: Any) -> Any:
            watch.expected += sum(map(len, completion_ids))
            return await super().__call__(prompts, completions, completion_ids, **more)

    environment = {"PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = (sys.executable, "-m", "benchmarks.gpu_check", "--serve", "{port}", "--latency", f"{size.latency:g}")
    with Servers(folder / "servers") as servers:
        actor = servers.start(Launch("actor", command, environment=environment, model="fake"), deadline=120)
        replays = Replays(
            actor.spec(),
            concurrency=64,
            on_episodes=lambda spec, prompt, ended: seconds.extend(e.seconds for e in ended),
        )
        reward = Counted(replays)
        args = config(
            size,
            size.prompts * size.generations,
            folder / "ict",
            max_completion_length=12,
            **generation,
        )
        trainer = watch.trainer()(
            model=model,
            args=args,
            reward_funcs=reward,
            train_dataset=ict_dataset(rows),
            processing_class=tokenizer,
            callbacks=[WatchServers(servers), watch.callback()],
        )
        reward.ends = trainer.eos_token_ids
        before, started = [weight.detach().cpu().clone() for weight in trainer.model.parameters()], time.perf_counter()
        trainer.train()
        wall = time.perf_counter() - started
        servers.check()
        asyncio.run_coroutine_threadsafe(reward.replays.aclose(), trainer.async_loop).result()
        findings.held(actor.alive(), "ICT: the actor's server is alive")
    watch.close(findings, "ICT", before, trainer.model, wall)
    if trainer.use_vllm:
        in_step(findings, "ICT", trainer)
    known = [row["replay/seconds"] for row in watch.logs if "replay/seconds" in row]
    findings.held(len(known) == size.steps, f"ICT: {len(known)} generation batches were replayed")
    findings.held(bool(seconds), "ICT: candidates were parsed and replayed")
    findings.told("ICT: replayed episodes", len(seconds), "episodes")
    findings.told("ICT: replays overlap (sum of episodes / wall)", math.fsum(seconds) / math.fsum(known), "x")
    return findings


# --- SPADE


def train_spade(size: Size, model: Any, tokenizer: Any, folder: Path, generation: Mapping[str, Any]) -> Findings:
    """A few steps of designer and agent, with programs in the sandbox."""
    from datasets import Dataset

    from metagym_trainers.spade import SpadeCore, SpadeTraining
    from metagym_trainers.spade.rollout import SpadeRollout, grpo_settings, slots_dataset
    from metagym_trainers.tiny.locks import compile_lock, lock_config
    from metagym_trainers.tracking import RolloutReward, Tracker

    findings, watch, tracker = Findings(), Watch(), Tracker()
    plain = lock_config(plays=size.generations)
    room = {"max_tokens": 24}
    player = replace(plain.player, seat=replace(plain.player.seat, **room))
    training = SpadeTraining(
        replace(plain, player=player, designer_seat=replace(plain.designer_seat, **room)),
        generations=size.generations,
        slots=size.slots,
    )
    valid: list[float] = []
    core = SpadeCore(training, tokenizer, compiler=compile_lock)
    spade = SpadeRollout(
        core,
        tracker=tracker,
        policy=watch.listening,
        watch=lambda made: valid.append(made.metrics["spade/valid"]),
    )

    def rollout(prompts: Any, trainer: Any) -> dict[str, Any]:
        columns = spade(prompts, trainer)
        watch.rows(columns)
        return columns

    args = config(
        size,
        training.rows,
        folder / "spade",
        max_completion_length=24,
        **(grpo_settings(training) | dict(generation)),
    )
    trainer = watch.trainer()(
        model=model,
        args=args,
        reward_funcs=RolloutReward(tracker),
        train_dataset=Dataset.from_list(slots_dataset(training)),
        processing_class=tokenizer,
        rollout_func=rollout,
        callbacks=[watch.callback()],
    )
    before, started = [weight.detach().cpu().clone() for weight in trainer.model.parameters()], time.perf_counter()
    trainer.train()
    wall = time.perf_counter() - started
    watch.close(findings, "SPADE", before, trainer.model, wall)
    if trainer.use_vllm:
        in_step(findings, "SPADE", trainer)
    findings.held(bool(watch.heard), "SPADE: every trained token was sampled in an answer that was heard")
    findings.held(core.number == size.steps, f"SPADE: {core.number} generations of both roles")
    findings.told("SPADE: valid designs", 100 * math.fsum(valid) / len(valid), "%")
    findings.told("SPADE: designs and plays", training.rows * core.number / wall, "rows/s")
    return findings


# --- the whole


def run(size: Size, *, seed: int = 0, colocate: bool = False, systems: Sequence[str] = ("ict", "spade")) -> Findings:
    """Runs the check.

    Args:
        size: How large.
        seed: Decides weights and rows.
        colocate: Generate with vLLM on the same GPU instead of transformers.
        systems: What is trained.

    Raises:
        CheckFailed: A check did not hold.
        MetaGymError: Something is missing or died; the message says what.
    """
    from metagym_trainers import require_trl, require_vllm

    require_trl()
    if colocate:
        require_vllm()
    import torch

    found = Findings()
    cuda = size.name == "gpu" and torch.cuda.is_available()
    folder = Path(tempfile.mkdtemp(prefix="metagym-gpu-check-"))
    try:
        with quiet():
            rows = collected(size, seed)
            example = form(rows, seed)
            texts = [text for n in range(64) for text in _texts(*example(n))]
            tokenizer = byte_tokenizer(texts, size.vocabulary)
            model = random_model(size, tokenizer, seed).to("cuda" if cuda else "cpu")
            weights = sum(weight.numel() for weight in model.parameters())
            found.told("model", weights / 1e6, "M parameters, random")
            text = "Bytes: \u00e4\u20ac\U0001f642 \x00"
            found.held(tokenizer.decode(tokenizer(text)["input_ids"]) == text, "any text survives the tokenizer")
            started = time.perf_counter()
            loss = warm_start(model, tokenizer, size, example)
            found.held(math.isfinite(loss), "the warm start's loss is finite")
            found.told("warm start on form", time.perf_counter() - started, f"s, loss {loss:.2f}")
            prompts = [example(2 * number)[0] for number in range(size.generations)]
            found.told("generation (transformers)", decoding(model, tokenizer, prompts, 32), "tokens/s")
            generation: dict[str, Any] = {"temperature": 1.0}
            start: Any = model
            if colocate:  # vLLM reads the weights from a folder
                model.save_pretrained(folder / "model")
                tokenizer.save_pretrained(folder / "model")
                start = str(folder / "model")
                generation |= {
                    "use_vllm": True,
                    "vllm_mode": "colocate",
                    "vllm_gpu_memory_utilization": 0.3,
                    "vllm_importance_sampling_mode": "token_truncate",
                }
            for name, train in (
                ("ict", lambda own: train_ict(size, own, tokenizer, rows, folder, generation)),
                ("spade", lambda own: train_spade(size, own, tokenizer, folder, generation)),
            ):
                if name in systems:
                    made = train(start if colocate else copy.deepcopy(model))
                    found.figures |= made.figures
                    found.values |= made.values
                    found.checks += made.checks
        if cuda:
            found.told("GPU memory, most at once", torch.cuda.max_memory_allocated() / 1024**3, "GiB")
        found.told("memory of the process, most", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, "GiB")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _texts(messages: Any, answer: str) -> list[str]:
    return [*(message["content"] for message in messages), answer]


def serve(port: int, latency: float) -> None:
    """Serves the scripted actor of the tiny errands until the process is ended."""
    from metagym_trainers.tiny import ict_world
    from tests.support.fake_server import FakeServer

    with FakeServer(ict_world.family().stand_ins["actor"](0), latency=latency, port=port):
        while True:
            time.sleep(60)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the check and prints its report; exit code 1 where it failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_check", description=__doc__.split("\n")[0])
    parser.add_argument("--cpu", action="store_true", help="the small setting, on the CPU")
    parser.add_argument("--smallest", action="store_true", help="the smallest setting, on the CPU")
    parser.add_argument("--generation", choices=("transformers", "colocate"), default="transformers")
    parser.add_argument("--system", action="append", choices=("ict", "spade"), help="this one alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--latency", type=float, default=0.0, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve is not None:
        serve(given.serve, given.latency)
    started = time.perf_counter()
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")  # of several GPUs transformers would take all at once
    try:
        from metagym.extras import require

        torch = require("torch", "trl")
        if not torch.cuda.is_available():
            torch.set_num_threads(1)  # spin barriers of several threads cost more than they bring at this size
        size = SMALLEST if given.smallest else CPU if given.cpu or not torch.cuda.is_available() else GPU
        device = torch.cuda.get_device_name() if size is GPU else "CPU"
        systems = given.system or ("ict", "spade")
        found = run(size, seed=given.seed, colocate=given.generation == "colocate", systems=systems)
    except (CheckFailed, MetaGymError) as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    found.told("the whole check", time.perf_counter() - started, "s")
    print(
        f"gpu_check on {device}, setting {size.name}; scripted actor, random weights: speed and soundness, no learning"
    )
    for name, value in found.figures.items():
        print(f"  {name:<48} {value}")
    print(f"{len(found.checks)} checks hold:")
    for check in found.checks:
        print(f"  {check}")
    if given.json is not None:
        figures = {"device": device, "size": size.name, "figures": found.values, "checks": found.checks}
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

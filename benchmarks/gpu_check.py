"""Does training work on this machine? One command, one GPU, no download: ``python -m benchmarks.gpu_check``.

A Qwen2-shaped model of half a billion random weights and a byte-level tokenizer are made on the spot, taught the mere
form of answers, and trained for a few steps by the real trainers: ICT's reflector with replays against a frozen actor
(a scripted stand-in behind a loopback server of its own), and SPADE's two roles on programs in the real sandbox. The
check fails on any NaN, on a token that is trained and was not sampled, on weights that do not move, and on a dead
server; it reports tokens per second, how far replays overlap, and memory. It says nothing about learning: random
weights learn nothing in a few steps.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metagym.errors import MetaGymError
from metagym.seeding import derive, rng

HERE = Path(__file__).resolve().parent
PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
CHATML = (
    "{%- for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The chat template of the Qwen2 family, without its default system message."""


@dataclass(frozen=True)
class Size:
    """How large the check is.

    Attributes:
        name: For the report.
        hidden: Width of the model.
        layers: Blocks.
        heads: Query heads.
        kv_heads: Key and value heads.
        intermediate: Width of the feed-forward part.
        vocabulary: Tokens of the byte-level BPE, at most.
        warm_steps: Supervised steps on the form of answers.
        warm_batch: Examples of each.
        warm_rate: Learning rate of these.
        steps: Generation batches per trainer.
        generations: Rows of a group.
        prompts: Prompts of ICT's generation batch.
        slots: SPADE's groups of plays.
        per_device: Rows of a micro-batch.
        latency: Seconds before the actor's server answers.
    """

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    warm_steps: int
    warm_batch: int
    warm_rate: float
    steps: int
    generations: int
    prompts: int
    slots: int
    per_device: int
    latency: float


GPU = Size("gpu", 896, 33, 14, 2, 4864, 2048, 60, 16, 3e-4, 4, 8, 8, 3, 8, 0.05)
"""Width, heads and feed-forward part of Qwen2.5-0.5B; layers instead of its words make it half a billion weights."""
CPU = Size("cpu", 64, 2, 4, 2, 128, 1024, 60, 8, 3e-3, 2, 8, 4, 2, 8, 0.05)
SMALLEST = replace(CPU, name="smallest", warm_steps=30, warm_batch=4, warm_rate=5e-3, generations=4, prompts=2, slots=1)
"""For a test that must be quick."""


class CheckFailed(Exception):
    """Something that training must not do was seen; the message says what."""


@dataclass
class Findings:
    """What was measured and which checks held.

    Attributes:
        figures: Name -> value with unit, in order.
        checks: What held.
    """

    figures: dict[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)

    def told(self, name: str, value: float, unit: str) -> None:
        """Notes a figure."""
        self.values[name] = value
        self.figures[name] = f"{value:,.3g} {unit}" if abs(value) < 1000 else f"{value:,.0f} {unit}"

    def held(self, condition: bool, what: str) -> None:
        """Notes a check.

        Raises:
            CheckFailed: It did not hold.
        """
        if not condition:
            raise CheckFailed(what)
        self.checks.append(what)


# --- the model and its tokenizer


def byte_tokenizer(texts: Sequence[str], vocabulary: int) -> Any:
    """A byte-level BPE trained on the check's own texts; it can encode any text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=CHATML,
    )


def random_model(size: Size, tokenizer: Any, seed: int) -> Any:
    """A Qwen2 with random weights."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.kv_heads,
        max_position_embeddings=8192,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    torch.manual_seed(derive(seed, "weights") >> 32)
    return Qwen2ForCausalLM(config)


def warm_start(model: Any, tokenizer: Any, size: Size, example: Callable[[int], tuple[Any, str]]) -> float:
    """Teaches the form of answers; returns the last loss in nats per token."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=size.warm_rate)
    model.train()
    loss = math.nan
    for step in range(size.warm_steps):
        rows = []
        for number in range(step * size.warm_batch, (step + 1) * size.warm_batch):
            messages, answer = example(number)
            head = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            given, said = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (head, answer + END))
            rows.append((given + said, [-100] * len(given) + said))
        width = max(len(ids) for ids, _ in rows)
        ids = torch.tensor([[tokenizer.pad_token_id] * (width - len(row)) + row for row, _ in rows])
        labels = torch.tensor([[-100] * (width - len(row)) + row for _, row in rows])
        ids, labels = ids.to(model.device), labels.to(model.device)
        mask = (ids != tokenizer.pad_token_id).long()
        with torch.autocast("cuda", torch.bfloat16, enabled=model.device.type == "cuda"):
            result = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        result.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss = float(result.detach())
    return loss


# --- what is watched


class Watch:
    """Counts what a trainer trains on, and holds its log against what may not happen."""

    def __init__(self) -> None:
        self.expected = self.trained = self.read = 0
        self.logs: list[dict[str, float]] = []

    def trainer(self) -> type:
        """TRL's trainer with a look at the masks of every micro-batch."""
        from trl import GRPOTrainer

        watch = self

        class Watched(GRPOTrainer):
            def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
                mask = inputs["completion_mask"]
                mask = mask * inputs["tool_mask"] if "tool_mask" in inputs else mask
                watch.trained += int(mask.sum())
                watch.read += int(inputs["prompt_mask"].sum() + inputs["completion_mask"].sum())
                return super().compute_loss(model, inputs, *args, **kwargs)

        return Watched

    def callback(self) -> Any:
        """Reads what the trainer logs, and ends it at the first NaN."""
        from transformers import TrainerCallback

        watch = self

        class Logs(TrainerCallback):
            def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
                watch.logs.append(dict(logs))
                for name in ("loss", "grad_norm", "reward"):
                    if name in logs and not math.isfinite(float(logs[name])):
                        raise CheckFailed(f"{name} is {logs[name]} at step {state.global_step}")

        return Logs()

    def close(self, findings: Findings, name: str, before: Any, model: Any, seconds: float) -> None:
        """The checks and figures of a finished training."""
        findings.held(
            self.trained == self.expected > 0, f"{name}: {self.trained} tokens trained, {self.expected} sampled for it"
        )
        finite = all(bool(weight.isfinite().all()) for weight in model.parameters())
        findings.held(finite, f"{name}: all weights are finite")
        losses = [float(row["loss"]) for row in self.logs if "loss" in row]
        findings.held(len(losses) > 0 and all(map(math.isfinite, losses)), f"{name}: {len(losses)} losses, no NaN")
        moved = any(bool((new.cpu() != old).any()) for old, new in zip(before, model.parameters(), strict=True))
        findings.held(moved, f"{name}: weights moved")
        findings.told(f"{name}: sampled and trained", self.trained / seconds, "tokens/s")
        findings.told(f"{name}: read in training", self.read / seconds, "tokens/s")
        findings.told(f"{name}: training", seconds, "s")


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
    spade = SpadeRollout(core, tracker=tracker, watch=lambda made: valid.append(made.metrics["spade/valid"]))

    def rollout(prompts: Any, trainer: Any) -> dict[str, Any]:
        columns = spade(prompts, trainer)
        for ids, mask in zip(columns["completion_ids"], columns["env_mask"], strict=True):
            if len(ids) != len(mask):
                raise CheckFailed(f"a row of {len(ids)} ids has a mask of {len(mask)}")
            watch.expected += sum(mask)
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
    findings.held(core.number == size.steps, f"SPADE: {core.number} generations of both roles")
    findings.told("SPADE: valid designs", 100 * math.fsum(valid) / len(valid), "%")
    findings.told("SPADE: designs and plays", training.rows * core.number / wall, "rows/s")
    return findings


# --- the whole


def form(rows: Sequence[Mapping[str, Any]], seed: int) -> Callable[[int], tuple[Any, str]]:
    """Examples of form for both worlds, in turn; which answer is right is never shown."""
    from metagym_trainers.tiny import ict_world, locks

    def example(number: int) -> tuple[Any, str]:
        draw = rng(seed, "check", number)
        if number % 4 == 1:
            family = draw.choice(locks.FAMILIES)
            return locks.design_prompt(family), locks.line_of(draw.randint(1, 3))
        if number % 4 == 3:
            return locks.example(number, seed)  # a play: every number that is no multiple of four
        tools = " ".join(draw.choice(ict_world.TOOLS) for _ in range(2))
        return rows[draw.randrange(len(rows))]["messages"], f"{ict_world.HEADING} {tools}"

    return example


def decoding(model: Any, tokenizer: Any, prompts: Sequence[Any], tokens: int) -> float:
    """Tokens per second of plain generation for all prompts at once."""
    import torch

    texts = [tokenizer.apply_chat_template(list(one), add_generation_prompt=True, tokenize=False) for one in prompts]
    given = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
    given.pop("token_type_ids", None)
    model.eval()
    seconds = math.inf
    with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=model.device.type == "cuda"):
        for _ in range(2):  # the first one warms up
            started = time.perf_counter()
            model.generate(**given, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=True, top_k=0)
            if model.device.type == "cuda":
                torch.cuda.synchronize()
            seconds = min(seconds, time.perf_counter() - started)
    return len(prompts) * tokens / seconds


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

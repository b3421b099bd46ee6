"""What the GPU check sees of a training, and what it holds against it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any


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


class Watch:
    """Counts what a trainer trains on, and holds its log against what may not happen.

    Attributes:
        heard: Every answer that a policy sampled (`listening`), as ids.
        expected: Sampled tokens that are to be trained.
        trained: Tokens that were.
        read: Tokens that went through the model.
        logs: The trainer's lines.
    """

    def __init__(self) -> None:
        self.heard: set[tuple[int, ...]] = set()
        self.expected = self.trained = self.read = 0
        self.logs: list[dict[str, float]] = []

    def listening(self, trainer: Any) -> Any:
        """The policy of a trainer, whose every answer is kept."""
        from metagym_trainers.policies import LocalPolicy

        watch = self

        class Heard(LocalPolicy):
            async def sample(self, prompt_ids: Any, **more: Any) -> Any:
                found = await super().sample(prompt_ids, **more)
                watch.heard.add(found.ids)
                return found

        return Heard(trainer)

    def rows(self, columns: Mapping[str, Any]) -> None:
        """Holds the rows of a rollout against what was heard.

        Raises:
            CheckFailed: A mask has another length than its row, or tokens are to be trained that nobody sampled so.
        """
        for ids, mask in zip(columns["completion_ids"], columns["env_mask"], strict=True):
            if len(ids) != len(mask):
                raise CheckFailed(f"a row of {len(ids)} ids has a mask of {len(mask)}")
            self.expected += sum(mask)
            for trained, run in groupby(zip(ids, mask, strict=True), key=itemgetter(1)):
                said = tuple(map(itemgetter(0), run))
                if trained and said not in self.heard:
                    raise CheckFailed(f"{len(said)} tokens are to be trained that were not sampled so: {said[:8]}")

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


APART = 0.5
"""Nats per token by which vLLM, in half precision, may differ from the model; other weights differ by several."""


def in_step(findings: Findings, name: str, trainer: Any) -> None:
    """Whether new weights reach the vLLM that samples: the model is turned round, and vLLM's log-probabilities with it.

    A few small steps would not show it (TRL issue 5312). Nothing is left to train after it.

    Args:
        findings: What is found goes there.
        name: Of the training.
        trainer: A `GRPOTrainer` whose training is over.

    Raises:
        CheckFailed: vLLM still samples from other weights.
    """
    import torch

    from metagym_trainers.policies import generate_ids, publish

    model, tokenizer = trainer.accelerator.unwrap_model(trainer.model).eval(), trainer.processing_class
    prompts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("look", "go north", "1 2 3")]
    apart: list[float] = []
    with torch.no_grad():
        model.get_output_embeddings().weight.neg_()
        publish(trainer)
        for prompt, (ids, said) in zip(prompts, generate_ids(trainer, prompts, 8), strict=True):
            row = torch.tensor([[*prompt, *ids]], device=model.device)
            logits = model(row).logits[0, len(prompt) - 1 : -1].float() / trainer.args.temperature
            own = logits.log_softmax(-1)[torch.arange(len(ids)), row[0, len(prompt) :]].tolist()
            apart += [abs(one - other) for one, other in zip(own, said or [math.nan], strict=False)]
    mean = math.fsum(apart) / len(apart)
    findings.held(mean < APART, f"{name}: new weights reach vLLM ({mean:.2g} nats from the model's log-probabilities)")

"""How a policy is trained, and what the presets of the three systems hold; plain values, no torch.

`Recipe` knows the names of TRL's `GRPOConfig` and the geometry of its batches; everything else reads presets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from metagym.checks import whole
from metagym.errors import BadInput
from metagym_trainers.geometry import Geometry

LORA: Mapping[str, Any] = {"r": 32, "lora_alpha": 64, "lora_dropout": 0.0, "target_modules": "all-linear"}
"""Keyword arguments of peft's `LoraConfig`. Ours: adapters on all linear layers, with alpha = 2 r."""

LORA_RATE = 10.0
"""Factor on the learning rate where only adapters are trained (Schulman et al., "LoRA Without Regret", 2025)."""


@dataclass(frozen=True)
class Recipe:
    """How one policy is trained.

    Attributes:
        generations: Rows of one group.
        groups: Groups of one generation batch, over all processes.
        updates: Optimiser steps that one generation batch is cut into.
        batches: Generation batches of the whole training.
        save_every: Generation batches between two checkpoints.
        max_prompt: Longest prompt that is expected, in tokens; TRL does not cut prompts, the plan counts with it.
        max_completion: Longest completion of one turn, in tokens.
        max_context: Longest row, i.e. prompt and all turns of an episode, in tokens.
        learning_rate: Peak rate of a full fine-tuning.
        warmup: Optimiser steps of warm-up; the rate is constant after it.
        adam_beta2: Decay of AdamW's second moment.
        weight_decay: Of AdamW.
        temperature: Of the policy's sampling; top_p and top_k are always off for a policy in training, since they bias
            the importance ratio.
        beta: Weight of the KL term; 0 needs no reference model.
        epsilon: Lower clipping.
        epsilon_high: Upper clipping.
        scale_rewards: ``group``, ``batch`` or ``none``: what advantages are divided by.
        loss_type: TRL's name; ``grpo`` weighs rows alike, so that long code does not outweigh short actions.
        entropy_coef: Weight of the entropy bonus.
    """

    generations: int = 8
    groups: int = 16
    updates: int = 1
    batches: int = 200
    save_every: int = 10
    max_prompt: int = 4096
    max_completion: int = 2048
    max_context: int = 8192
    learning_rate: float = 1e-6
    warmup: int = 0
    adam_beta2: float = 0.999
    weight_decay: float = 0.0
    temperature: float = 1.0
    beta: float = 0.0
    epsilon: float = 0.2
    epsilon_high: float = 0.28
    scale_rewards: str = "group"
    loss_type: str = "grpo"
    entropy_coef: float = 0.0

    def geometry(self, world: int = 1, per_device: int = 1, *, groups: int | None = None, block: int = 1) -> Geometry:
        """The batch geometry on `world` GPUs with `per_device` rows in a micro-batch.

        Args:
            world: GPUs that train.
            per_device: Rows of a micro-batch.
            groups: Groups of a generation batch; None takes the recipe's.
            block: See `Geometry.block`.

        Raises:
            BadInput: The rows cannot be spread evenly.
        """
        world, per_device = whole("world", world, 1), whole("per_device", per_device, 1)
        rows = (self.groups if groups is None else groups) * self.generations
        share = world * per_device * self.updates
        if rows % share:
            raise BadInput(
                f"{rows} rows per generation batch cannot be cut into {self.updates} updates on {world} GPUs with "
                f"{per_device} rows per micro-batch: {_spread(rows, self.updates, world)}"
            )
        steps = rows // (world * per_device)
        return Geometry(self.generations, per_device, world, steps, steps // self.updates, block=block)

    def settings(self, geometry: Geometry, *, lora: bool = False) -> dict[str, Any]:
        """Keyword arguments of `GRPOConfig` for a geometry.

        Args:
            geometry: Of the batches.
            lora: Adapters alone are trained: the rate is `LORA_RATE` times higher.
        """
        cycle = geometry.cycle
        return {
            **geometry.settings(),
            "max_steps": self.batches * cycle,
            "save_steps": self.save_every * cycle,
            "max_completion_length": self.max_completion,
            "learning_rate": self.learning_rate * (LORA_RATE if lora else 1.0),
            "lr_scheduler_type": "constant_with_warmup" if self.warmup else "constant",
            "warmup_steps": self.warmup,
            "adam_beta1": 0.9,
            "adam_beta2": self.adam_beta2,
            "weight_decay": self.weight_decay,
            "temperature": self.temperature,
            "top_p": 1.0,
            "top_k": 0,
            "beta": self.beta,
            "epsilon": self.epsilon,
            "epsilon_high": self.epsilon_high,
            "scale_rewards": self.scale_rewards,
            "loss_type": self.loss_type,
            "entropy_coef": self.entropy_coef,
            "vllm_importance_sampling_mode": "token_truncate",  # long rows are dropped whole by the default mode
            "gradient_checkpointing": True,
            "bf16": True,
        }


@dataclass(frozen=True)
class Preset:
    """What every preset has.

    Attributes:
        name: Its name.
        model: Name of the policy's model on the hub, or a folder.
        billions: Its parameters in 10^9.
        recipe: How the policy is trained.
        sources: Where the numbers were read.
        ours: Which of them are ours, and what differs from the paper's own trainer.
    """

    name: str
    model: str
    billions: float
    recipe: Recipe
    sources: tuple[str, ...]
    ours: tuple[str, ...]

    def geometry(self, world: int = 1, per_device: int = 1) -> Geometry:
        """The batch geometry on `world` GPUs.

        Raises:
            BadInput: The rows cannot be spread evenly.
        """
        return self.recipe.geometry(world, per_device)

    def grpo(self, world: int = 1, per_device: int = 1, *, lora: bool = False, **overrides: Any) -> dict[str, Any]:
        """Keyword arguments of TRL's `GRPOConfig`.

        Args:
            world: GPUs that train.
            per_device: Rows of a micro-batch on one of them.
            lora: Adapters alone are trained.
            **overrides: Further arguments; they replace the preset's.

        Raises:
            BadInput: The rows cannot be spread evenly.
        """
        return self.recipe.settings(self.geometry(world, per_device), lora=lora) | overrides


@dataclass(frozen=True)
class ICTPreset(Preset):
    """A reflector that rewrites the system prompt of a frozen actor.

    Attributes:
        batch_size: Tasks per batch, the paper's k.
        meta_turns: Reflections.
        actor: Model of the frozen actor; the paper's actor and reflector start from the same one.
        actor_tokens: Most tokens of one of its replies.
        actor_steps: Most steps of an inner episode.
        concurrency: Replayed episodes at once.
    """

    system: Literal["ict"] = "ict"
    batch_size: int = 3
    meta_turns: int = 4
    actor: str = "Qwen/Qwen2.5-7B-Instruct"
    actor_tokens: int = 500
    actor_steps: int = 25
    concurrency: int = 64


@dataclass(frozen=True)
class SpadePreset(Preset):
    """One model in two roles: designer and agent.

    Attributes:
        setting: ``games`` or ``tool_use``.
        games: Programs that are played per generation batch.
        hint_plays: Plays with the hint per program.
        interval: Generation batches between two regenerations.
        delay: Generation batches between a design and its update.
        reward: Name of the designer's reward (`metagym.spade.rewards.PRESETS`).
        reward_options: Its options.
        designer_tokens: Longest design, in tokens.
        hint_tokens: Longest hint, in tokens.
        max_turns: Turns of a play.
        max_words: Longest document, in words.
        skills_per_round: Skills that one regeneration asks for.
        memory: Records that the environment memory holds.
        audit: Whether a model reads programs before they are played.
        thinking: Whether the chat template's thinking is on.
    """

    system: Literal["spade"] = "spade"
    setting: Literal["games", "tool_use"] = "games"
    games: int = 24
    hint_plays: int = 16
    interval: int = 4
    delay: int = 4
    reward: str = "spade_blend"
    reward_options: Mapping[str, Any] = field(default_factory=dict)
    designer_tokens: int = 16_384
    hint_tokens: int = 4096
    max_turns: int = 25
    max_words: int = 6000
    skills_per_round: int = 3
    memory: int = 200
    audit: bool = False
    thinking: bool = False

    def slots(self, world: int = 1) -> int:
        """Agent groups beside the designer's group in the block of one GPU: together they hold all `games`."""
        return math.ceil(self.games / whole("world", world, 1))

    def geometry(self, world: int = 1, per_device: int = 1) -> Geometry:
        """One block per GPU: a designer group and `slots` agent groups, since a block must stay in one process.

        Raises:
            BadInput: The rows cannot be spread evenly.
        """
        wide = self.slots(world) + 1
        return self.recipe.geometry(world, per_device, groups=wide * world, block=wide * self.recipe.generations)


@dataclass(frozen=True)
class SesaPreset(Preset):
    """A challenger and a solver with parameters of their own; `recipe` is the solver's.

    Attributes:
        challenger: How the challenger is trained.
        rollouts: Rollouts of the solver per question, n of the success rate.
        shape: The challenger's reward (`metagym.sesa.shaping.load_shape`).
        bank: Whether the solver has a skill bank.
        card_dropout: Chance that a found card is left out of a training prompt, in [0, 1]; the weights must learn too.
        topk: Passages per search.
        max_turns: Turns that may search.
        retrieve_k: Cards per question.
        dedup: Cosine from which cards are near copies.
        upkeep_every: Rounds between two consolidations of the bank.
    """

    system: Literal["sesa"] = "sesa"
    challenger: Recipe = Recipe()
    rollouts: int = 5
    shape: str = "quadratic"
    bank: bool = True
    card_dropout: float = 0.5
    topk: int = 3
    max_turns: int = 10
    retrieve_k: int = 3
    dedup: float = 0.85
    upkeep_every: int = 10

    def challenger_grpo(
        self, world: int = 1, per_device: int = 1, *, lora: bool = False, **overrides: Any
    ) -> dict[str, Any]:
        """As `grpo`, for the challenger's trainer.

        Raises:
            BadInput: The rows cannot be spread evenly.
        """
        return self.challenger.settings(self.challenger.geometry(world, per_device), lora=lora) | overrides


def _spread(rows: int, updates: int, world: int) -> str:
    """What would work, in words."""
    good = [size for size in range(1, rows + 1) if rows % (world * size * updates) == 0]
    if good:
        return f"take {', '.join(map(str, good[:6]))} rows per micro-batch"
    worlds = [count for count in (1, 2, 4, 8, 16, 32) if rows % (count * updates) == 0]
    return f"take {' or '.join(map(str, worlds))} GPUs" if worlds else "take one update"

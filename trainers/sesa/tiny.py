"""A self-play that fits on two cores: two models of about 120,000 parameters in the toy world of `tiny.relations`.

The trainers, the driver, the bank and the bookkeeping are the real ones; the models start from random weights and a few
seconds of supervised steps on the form of questions and plans, in which a fourth of the words is told.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metagym.sesa.maintenance import Upkeep
from metagym.sesa.rounds import RewardSettings
from metagym_trainers.sesa.selfplay import SelfPlay
from metagym_trainers.sesa.settings import Seat, SelfPlaySettings, arm
from metagym_trainers.tiny import relations
from metagym_trainers.tiny.models import tiny_model, warm_start, word_tokenizer
from metagym_trainers.tiny.relations import RelationsWorld

SETTINGS = SelfPlaySettings(
    rounds=6,
    challenger_steps=8,
    solver_steps=20,
    questions=96,
    rollouts=8,
    reward=RewardSettings(penalty=-1.0, repetition=1.0),
    # Cards need two witnesses here, and a young solver fails with right ones too: right cards would be retired.
    upkeep=Upkeep(min_score=0.0),
)
"""Settings of the toy."""

WARM_STEPS: Mapping[str, int] = {"challenger": 100, "solver": 250}
"""Supervised steps of 64 examples."""

_EXAMPLES = {"challenger": relations.challenger_example, "solver": relations.solver_example}


def arguments(generations: int, groups: int, length: int, **more: Any) -> dict[str, Any]:
    """Keyword arguments of `GRPOConfig` for a tiny model on a CPU: one update per generation batch.

    Args:
        generations: Rows of a group.
        groups: Groups of a batch.
        length: Longest answer, in tokens.
        **more: Further arguments; they replace these.
    """
    return {
        "per_device_train_batch_size": generations * groups,
        "num_generations": generations,
        "max_completion_length": length,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "loss_type": "grpo",
        "scale_rewards": "none",
        "entropy_coef": 0.02,
        "beta": 0.0,
        "top_k": 0,
        "logging_steps": 1,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "dataloader_pin_memory": False,
        "disable_tqdm": True,
        **more,
    }


def warmed(folder: Path, seed: int, steps: Mapping[str, int] = WARM_STEPS) -> dict[str, Path]:
    """Both models after their warm start, made once per folder: every arm of a comparison starts from the same.

    Args:
        folder: Where they are kept.
        seed: Decides weights and examples.
        steps: Supervised steps per seat.

    Returns:
        Seat -> folder of its model and tokenizer.
    """
    tokenizer = word_tokenizer(relations.VOCABULARY)
    found = {}
    for number, (name, example) in enumerate(_EXAMPLES.items()):
        found[name] = target = folder / f"start-{seed}" / name
        if (target / "config.json").is_file():
            continue
        model = tiny_model(tokenizer, positions=64, seed=2 * seed + number)
        warm_start(model, tokenizer, example(seed), steps=steps[name], batch=64)
        draft = target.with_name(f".{name}-{os.getpid()}")
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        try:
            os.replace(draft, target)
        except OSError:  # another process has made the same meanwhile
            shutil.rmtree(draft)
    return found


def tiny_play(
    folder: Path,
    start: Path,
    *,
    arm_name: str = "sesa",
    seed: int = 0,
    settings: SelfPlaySettings = SETTINGS,
    steps: Mapping[str, int] = WARM_STEPS,
    on_event: Callable[[str, Any], None] = lambda key, value: None,
    **more: Any,
) -> SelfPlay:
    """A tiny self-play; see `SelfPlay`.

    Args:
        folder: Of the run.
        start: Where the warm starts are kept.
        arm_name: See `metagym_trainers.sesa.settings.ARMS`.
        seed: Decides everything.
        settings: Its rounds and so on.
        steps: Of the warm starts.
        on_event: See `SelfPlay`.
        **more: Further arguments of both `GRPOConfig`.
    """
    models = warmed(start, seed, steps)
    tokenizer = word_tokenizer(relations.VOCABULARY)
    # One that learns faster, or is less free, comes to ask of a few words alone before the solver knows the others.
    slow = {"learning_rate": 5e-4, "entropy_coef": 0.03}
    challenger = Seat(str(models["challenger"]), tokenizer, arguments(32, 2, relations.HOPS + 2, **{**slow, **more}))
    solver = Seat(str(models["solver"]), tokenizer, arguments(8, 16, relations.HOPS + 1, **more))
    chosen = arm(replace(settings, seed=seed), arm_name)
    return SelfPlay(RelationsWorld(tokenizer), chosen, challenger, solver, folder, dedup=1.0, on_event=on_event)

"""The core behind TRL's `rollout_func`: geometry, the border, and a real trainer that is killed and resumed."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metagym.errors import BadInput
from metagym.seeding import rng
from metagym_trainers.checkpoints import StateCallback, latest_checkpoint
from metagym_trainers.spade import (
    Generation,
    SpadeRollout,
    SpadeTraining,
    check_geometry,
    grpo_settings,
    slots_dataset,
)
from metagym_trainers.tiny import locks, models
from metagym_trainers.tracking import RolloutReward, Tracker
from tests.unit.trainers.spade.locksmith import core, tokenizer, training

SETTINGS = training(slots=2, hinted_slots=1, briefs=2, designer_scale=8.0)


def config(folder: Path, settings: SpadeTraining = SETTINGS, **changes: Any) -> Any:
    from trl import GRPOConfig

    fields = {
        "output_dir": str(folder / "checkpoints"),
        "per_device_train_batch_size": settings.rows,
        "max_completion_length": 12,
        "max_steps": 4,
        "save_steps": 2,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "dataloader_pin_memory": False,
        "disable_tqdm": True,
        "seed": 0,
        **grpo_settings(settings),
        **changes,
    }
    return GRPOConfig(**fields)


def form(number: int) -> tuple[list[dict[str, str]], str]:
    """Whole lines and short answers: form enough for a few steps."""
    draw = rng(0, "form", number)
    family = draw.choice(locks.FAMILIES)
    if number % 2:
        return locks.design_prompt(family), locks.line_of(draw.randint(1, 3))
    pins = draw.randint(1, 3)
    observation = " ".join([family, *draw.choices(locks.SIGNS, k=pins), *["blank"] * (locks.PINS - pins)])
    return locks.play_prompt(family, pins, observation), " ".join(draw.choices(locks.KEYS, k=pins))


@pytest.fixture(scope="module")
def warm() -> dict[str, Any]:
    """The weights of a model that knows the form."""
    model = models.tiny_model(tokenizer(), hidden=32, positions=64, seed=0)
    models.warm_start(model, tokenizer(), form, steps=120, batch=16)
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def trainer_of(folder: Path, weights: dict[str, Any], watch: Any = lambda generation: None, **changes: Any) -> Any:
    """A trainer, its rollout function and its state."""
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    model = models.tiny_model(tokenizer(), hidden=32, positions=64, seed=0)
    model.load_state_dict(weights)
    tracker = Tracker(folder, every=2)
    rollout = SpadeRollout(core(SETTINGS), tracker=tracker, folder=folder, watch=watch)
    made = GRPOTrainer(
        model=model,
        reward_funcs=RolloutReward(tracker),
        args=config(folder, **changes),
        train_dataset=Dataset.from_list(slots_dataset(SETTINGS)),
        processing_class=tokenizer(),
        rollout_func=rollout,
        callbacks=[StateCallback({"spade": rollout.part()})],
    )
    made.remove_callback(PrinterCallback)
    return made, rollout


class Killed(Exception):
    """The process is gone."""


def test_a_killed_and_resumed_training_equals_an_uninterrupted_one_reward_for_reward(
    tmp_path: Path, warm: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    whole: list[Generation] = []
    with caplog.at_level(logging.WARNING):
        trainer, rollout = trainer_of(tmp_path / "whole", warm, whole.append)
        trainer.train()
    assert "All reward functions returned None" not in caplog.text
    assert sum(found.metrics["spade/programs"] for found in whole) > 0, "there was something to play"
    logs = [line for line in trainer.state.log_history if "designer/valid" in line]
    assert len(logs) == 4
    assert {"agent/reward", "designer/reward", "groups/dead", "spade/win_rate", "spade/memory"} <= set().union(*logs)

    parts: list[Generation] = []

    def dies(found: Generation) -> None:
        if found.number == 3:
            raise Killed
        parts.append(found)

    first, _ = trainer_of(tmp_path / "parts", warm, dies)
    with pytest.raises(Killed):
        first.train()
    del parts[2:]  # generation 2 was made after the save, and is made again
    second, again = trainer_of(tmp_path / "parts", warm, parts.append)
    second.train(resume_from_checkpoint=str(latest_checkpoint(tmp_path / "parts" / "checkpoints")))

    assert [found.episodes for found in parts] == [found.episodes for found in whole]
    assert [found.advantages for found in parts] == [found.advantages for found in whole]
    assert again.core.state() == rollout.core.state()
    same = zip(second.model.parameters(), trainer.model.parameters(), strict=True)
    assert all(bool((mine == other).all()) for mine, other in same)
    lines = [(tmp_path / name / "generations.jsonl").read_text() for name in ("whole", "parts")]
    assert lines[0] == lines[1] and lines[0].count("\n") == 4
    assert (tmp_path / "whole" / "episodes" / "step-000002.jsonl").exists()


def test_what_crosses_the_border_are_advantages_in_whole_groups_and_fillers_move_nothing(
    tmp_path: Path, warm: dict[str, Any]
) -> None:
    made: list[Generation] = []
    trainer, rollout = trainer_of(tmp_path, warm, made.append)
    trainer.model.train()
    columns = rollout([None] * SETTINGS.rows, trainer)
    [found] = made
    assert columns["reward"] == list(found.advantages)
    assert [len(ids) for ids in columns["completion_ids"]] == [len(mask) for mask in columns["env_mask"]]
    assert len(columns["prompt_ids"]) == SETTINGS.rows == 2 * 8 * 4
    for reward, mask in zip(columns["reward"], columns["env_mask"], strict=True):
        assert (reward is None) <= (sum(mask) == 0)
    with pytest.raises(BadInput, match="rollout returns 63 rows|handed in 63 prompts"):
        rollout([None] * (SETTINGS.rows - 1), trainer)
    trainer.model.eval()
    with pytest.raises(BadInput, match="for training alone"):
        rollout([None] * SETTINGS.rows, trainer)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"per_device_train_batch_size": 32}, "set the product to 64"),
        ({"per_device_train_batch_size": 64, "gradient_accumulation_steps": 2}, r"64 \* 2 = 128 rows"),
        ({"num_generations": 16}, "num_generations is 16 and must be 8"),
        ({"shuffle_dataset": True}, "shuffle_dataset"),
        ({"loss_type": "dapo"}, "loss_type"),
        ({"scale_rewards": "group"}, "scale_rewards"),
        ({"temperature": 0.7}, "temperature"),
        ({"num_iterations": 2}, "num_iterations"),
        ({"max_completion_length": 8}, "would cut answers of up to 12 tokens"),
        ({"top_p": 0.9}, "top_p"),
        ({"save_steps": 3, "per_device_train_batch_size": 32, "steps_per_generation": 2,
          "gradient_accumulation_steps": 1}, "save_steps=3"),
    ],
)  # fmt: skip
def test_geometry_that_would_cut_a_block_is_refused_at_start(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        check_geometry(config(tmp_path, **changes), SETTINGS)


def test_geometry_that_fits_is_accepted_whole_or_in_parts(tmp_path: Path) -> None:
    check_geometry(config(tmp_path), SETTINGS)
    parts = {"per_device_train_batch_size": 16, "steps_per_generation": 4, "gradient_accumulation_steps": 4}
    check_geometry(config(tmp_path, **parts), SETTINGS)


def test_the_dataset_has_a_row_per_group_and_process() -> None:
    assert len(slots_dataset(SETTINGS)) * SETTINGS.generations == SETTINGS.rows
    assert len(slots_dataset(SETTINGS, 3)) == 3 * len(slots_dataset(SETTINGS))


def test_all_processes_share_what_enters_the_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}
    made = core(SETTINGS)
    monkeypatch.setattr(made, "bind", lambda policy, *rest, **more: seen.update(more))
    policy = SimpleNamespace(temperature=1.0)
    accelerator = SimpleNamespace(num_processes=2, process_index=1, is_main_process=False)
    trainer: Any = SimpleNamespace(args=config(tmp_path), accelerator=accelerator)
    assert SpadeRollout(made, policy=lambda trainer: policy).bind(trainer) is policy
    assert (seen["rank"], seen["world"], seen["share"].__name__) == (1, 2, "gather_object")

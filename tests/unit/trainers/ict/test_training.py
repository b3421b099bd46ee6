"""The reward and the curriculum inside TRL's own GRPOTrainer, on a tiny model."""

from __future__ import annotations

import contextlib
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, ServerUnavailable, TooManyFailures
from metagym.ict.loop import Seats
from metagym_trainers.checkpoints import StateCallback, latest_checkpoint
from metagym_trainers.guards import end_ids
from metagym_trainers.ict import Curriculum, PolicyReflector, ReplayReward, Replays, ict_dataset
from metagym_trainers.ict.rewards import METRICS
from metagym_trainers.ict.runlog import EPISODES, RunLog, read_metrics
from metagym_trainers.ict.runlog import METRICS as LINES
from metagym_trainers.policies import LocalPolicy
from metagym_trainers.tiny import ict_world as world
from metagym_trainers.tiny.models import tiny_model, warm_start, word_tokenizer

Rows = list[dict[str, Any]]


def trainer_on(folder: Path, data: Any, reward: ReplayReward, *, callbacks: Any = (), **more: Any) -> Any:
    """A real trainer of the toy world, four groups of four a batch; the same weights every time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import PrinterCallback
        from trl import GRPOConfig, GRPOTrainer

        tokenizer = word_tokenizer(world.VOCABULARY, drop_unknown=True)
        model = tiny_model(tokenizer, hidden=32, layers=1, spread=0.08)
        form = [{"role": "user", "content": "coin ice ring fog"}]
        warm_start(model, tokenizer, lambda at: world.form_example(0, at, {"prompt": form}), steps=12, batch=16)
        settings = {
            "max_steps": 2,
            "per_device_train_batch_size": 16,
            "num_generations": 4,
            "max_completion_length": world.ANSWER_TOKENS,
            "learning_rate": 1e-3,
            "logging_steps": 1,
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "save_strategy": "no",
            "disable_tqdm": True,
            **more,
        }
        made = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=GRPOConfig(output_dir=str(folder), **settings),
            train_dataset=data,
            processing_class=tokenizer,
            callbacks=list(callbacks),
        )
        made.remove_callback(PrinterCallback)
    reward.ends = end_ids(made)
    return made


def quietly(trainer: Any, **more: Any) -> None:
    """Trains without other libraries' warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.train(**more)


def test_trl_calls_it_with_the_dataset_s_columns_and_logs_the_same_names_each_time(rows: Rows, tmp_path: Path) -> None:
    reward = ReplayReward(Replays())
    trainer = trainer_on(tmp_path / "out", ict_dataset(rows), reward, callbacks=[RunLog(tmp_path, reward, every=2)])
    quietly(trainer)
    assert trainer.async_loop.is_running()  # where a script ends the workers and connections of its replays
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines] == [1, 2] and reward.calls == 2
    for line in lines:
        assert set(METRICS) <= set(line) and len(line["rewards"]) == 16
        assert line["reward"] == pytest.approx(sum(line["rewards"]) / 16, abs=1e-6)
        assert line["rewards/replay_return/mean"] == pytest.approx(line["reward"], abs=1e-6)
    samples = [json.loads(line) for line in (tmp_path / EPISODES / "step-000002.jsonl").read_text().splitlines()]
    assert len(samples) == 2 and all(len(sample["episodes"]) == 2 for sample in samples)


def test_s15_unscored_rows_leave_their_group_and_an_unscored_batch_stops_the_run(rows: Rows, tmp_path: Path) -> None:
    broken = False

    def act(request: Any) -> str:
        if broken or sum(map(ord, request.messages[0].content)) % 2:
            raise ServerUnavailable("down")
        return "Action: use nothing"

    reward = ReplayReward(Replays(act))
    trainer = trainer_on(tmp_path / "out", ict_dataset(rows), reward, callbacks=[RunLog(tmp_path, reward)], max_steps=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.train()
        lines = read_metrics(tmp_path)
        unscored = [line["rewards"].count(None) for line in lines]
        assert any(unscored) and unscored == [line["replay/unscored"] for line in lines]
        assert all(line["reward"] == 0.0 and math.isfinite(line["grad_norm"]) for line in lines)
        broken = True
        again = trainer_on(tmp_path / "out", ict_dataset(rows), ReplayReward(Replays(act)))
        with pytest.raises(TooManyFailures, match="could be scored"):
            again.train()


class Killed(Exception):
    """Ends a run at once."""


def curriculum_of(reflector: Any = None, rounds: int = 3, **more: Any) -> Curriculum:
    """Rounds of eight rows, i.e. of two batches."""
    world.register()
    config = world.settings("train", 5)
    seats = Seats.of(config, world.family())
    return Curriculum(config, seats.actor, reflector or seats.reflector, rounds=rounds, meta_episodes=2, **more)


def test_rounds_are_played_when_they_are_read_and_only_once() -> None:
    curriculum = curriculum_of()
    data = curriculum.dataset()
    assert len(data) == 24 and curriculum.made == 0
    first = [data[at] for at in range(8)]
    assert curriculum.made == 1 and len({row["id"] for row in first}) == 8
    assert {row["id"] for row in first}.isdisjoint(data[8:16]["id"])
    assert curriculum.made == 2 and data[0] == first[0] and curriculum.made == 2
    assert curriculum_of().dataset()[3] == first[3]  # equal seeds, equal rows


def test_a_round_goes_on_from_the_saved_rows() -> None:
    one, other = curriculum_of(), curriculum_of()
    rows = one.dataset()[8:12]
    other.restore(json.loads(json.dumps(one.state())))
    assert other.dataset()[8:12] == rows and other.made == 0
    elsewhere = Curriculum(world.settings("train", 6), one.actor, one.reflector, rounds=3, meta_episodes=2)
    with pytest.raises(BadInput, match="seed"):
        elsewhere.restore(one.state())


def test_other_processes_get_the_main_one_s_rows() -> None:
    sent: list[Any] = []

    def give(rows: Any) -> Any:
        sent.append(rows)
        return rows

    main = curriculum_of(share=give)
    rows = main.dataset()[0:8]
    second = curriculum_of(share=lambda none: sent[0] if none is None else None, main=False)
    assert second.dataset()[0:8] == rows and second.made == 0


def test_what_a_curriculum_cannot_work_with_is_refused(tmp_path: Path) -> None:
    reward = ReplayReward(Replays())
    curriculum = curriculum_of()
    args = trainer_on(tmp_path, curriculum.dataset(), reward, shuffle_dataset=False).args
    curriculum.check(args)
    args.shuffle_dataset = True
    with pytest.raises(BadInput, match="shuffle_dataset=False"):
        curriculum.check(args)
    args.shuffle_dataset, args.generation_batch_size = False, 12
    with pytest.raises(BadInput, match="whole number of generation batches of 3"):
        curriculum.check(args)
    args.generation_batch_size, args.max_steps = 16, 7
    with pytest.raises(
        BadInput, match="3 rounds of 8 rows do not last for max_steps=7, which reads 28 rows.*at least 4 "
    ):
        curriculum.check(args)
    with pytest.raises(BadInput, match="rounds 0 to 2"):
        curriculum.round(3)
    curriculum.reflector = None
    with pytest.raises(BadInput, match="no reflector yet"):
        curriculum.round(1)


@pytest.mark.parametrize("who", ["policy", pytest.param("rules", marks=pytest.mark.slow)])
def test_trl_issue_16_a_resumed_training_equals_an_uninterrupted_one_reward_for_reward(
    who: str, tmp_path: Path
) -> None:
    def run(name: str, kill_at: int | None = None) -> tuple[list[dict[str, Any]], Curriculum]:
        reward = ReplayReward(Replays())
        curriculum = curriculum_of(rounds=4)
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)

        class Dying(ReplayReward):
            async def __call__(self, *given: Any, **columns: Any) -> list[float | None]:
                if columns["trainer_state"].global_step == kill_at:
                    raise Killed
                return await super().__call__(*given, **columns)

        dying = Dying(reward.replays)
        parts = StateCallback({"curriculum": curriculum.part()})
        trainer = trainer_on(
            folder / "out",
            curriculum.dataset(),
            dying,
            callbacks=[parts, RunLog(folder, dying, every=1)],
            max_steps=6,
            shuffle_dataset=False,
            save_strategy="steps",
            save_steps=3,
        )
        if who == "policy":
            curriculum.reflector = PolicyReflector(LocalPolicy(trainer), trainer.processing_class)
        with contextlib.suppress(Killed):
            quietly(trainer, resume_from_checkpoint=latest_checkpoint(folder / "out"))
        return read_metrics(folder), curriculum

    whole, _ = run("whole")
    run("parts", kill_at=4)
    resumed, curriculum = run("parts")
    names = ("step", "rewards", "reward", "loss", "entropy", "completions/mean_length")
    assert [line["step"] for line in whole] == [1, 2, 3, 4, 5, 6]
    assert [[line[name] for name in names] for line in resumed] == [[line[name] for name in names] for line in whole]
    assert curriculum.made < 3  # what the checkpoint held was not played again
    samples = [sorted(path.name for path in (tmp_path / name / EPISODES).iterdir()) for name in ("whole", "parts")]
    assert samples[0] == samples[1]


def test_lines_behind_the_checkpoint_are_taken_away(tmp_path: Path, right: Callable[[Any], str]) -> None:
    (tmp_path / LINES).write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"step": 4, "rew')
    (tmp_path / EPISODES).mkdir()
    for step in (2, 3):
        (tmp_path / EPISODES / f"step-{step:06d}.jsonl").write_text("{}\n")
    log = RunLog(tmp_path, ReplayReward(Replays()))

    class State:
        is_world_process_zero, global_step = True, 2

    log.on_train_begin(None, State, None)
    assert [line["step"] for line in read_metrics(tmp_path)] == [1, 2]
    assert [path.name for path in (tmp_path / EPISODES).iterdir()] == ["step-000002.jsonl"]

"""The border with a real `GRPOTrainer` on a random model of some thousand parameters: what it does with our rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerCallback

from metagym.errors import BadInput, RunError, TooManyFailures
from metagym.playing import ActorSettings
from metagym.playing.runner import play_async
from metagym_trainers.checkpoints import StateCallback, latest_checkpoint
from metagym_trainers.convert import rollout_columns
from metagym_trainers.episodes import TokenEpisode
from metagym_trainers.guards import end_ids
from metagym_trainers.policies import LocalPolicy, generate_ids, results
from metagym_trainers.recording import Limits, Recorder, Template
from metagym_trainers.tracking import DeadGroupsWarning, RolloutReward, Tracker
from tests.support.worlds import GuessEnv, family_of, tasks_named
from tests.unit.trainers.stubs import grpo

PROMPT, RED, GREEN, BLUE, END = (2, 5, 8), 8, 9, 10, 3


def fixed(
    completion: Sequence[int], mask: Sequence[int], rewards: Sequence[float | None] = (1.0, 0.0)
) -> Callable[[Sequence[Any], Any], dict[str, Any]]:
    """A rollout function whose rows are given; the second of each pair says another first word."""

    def rollout(prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        rows = [
            TokenEpisode(
                PROMPT,
                (completion[0] + at % 2, *completion[1:]),
                tuple(mask),
                reward=rewards[at % 2],
                group=("t", at // 2),
            )
            for at in range(len(prompts))
        ]
        return rollout_columns(rows, len(prompts), group_size=2)

    return rollout


def trained(folder: Path, rollout: Any, **more: Any) -> Any:
    """A trainer after one step on given rows."""
    trainer = grpo(folder, reward_funcs=RolloutReward(), rollout_func=rollout, max_steps=1, **more)
    trainer.train()
    return trainer


def weights(trainer: Any) -> Any:
    import torch

    return torch.cat([weight.detach().flatten() for weight in trainer.model.parameters()])


def test_trl_issue_11_masked_words_move_no_weight(tmp_path: Path) -> None:
    """What the environment said last may be anything; only where it is not masked does it matter."""
    import torch

    mask, open_mask = (1, 1, 0, 0), (1, 1, 1, 1)
    seen = [
        weights(trained(tmp_path / str(at), fixed((RED, END, *said), which)))
        for at, (said, which) in enumerate(
            [((GREEN, BLUE), mask), ((BLUE, GREEN), mask), ((GREEN, BLUE), open_mask), ((BLUE, GREEN), open_mask)]
        )
    ]
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[2], seen[3]) and not torch.equal(seen[0], seen[2])


def test_trl_issue_11_no_gradient_reaches_the_prediction_of_masked_words(tmp_path: Path) -> None:
    """In the middle of a row, where sampled words follow that depend on the masked ones."""
    mask = (1, 0, 0, 1)
    trainer = grpo(
        tmp_path,
        reward_funcs=RolloutReward(),
        rollout_func=fixed((RED, GREEN, BLUE, END), mask),
        max_steps=1,
    )
    found: list[Any] = []

    def keep(module: Any, inputs: Any, output: Any) -> None:
        if output.log_probs.requires_grad:
            output.log_probs.register_hook(found.append)

    trainer.model.register_forward_hook(keep)
    trainer.train()
    (gradient,) = found
    assert (gradient[:, -len(mask) :] != 0).int().tolist() == [list(mask)] * 4


def test_trl_issue_06_equal_rewards_teach_nothing_and_are_warned_of(tmp_path: Path) -> None:
    import torch

    tracker = Tracker(tmp_path)

    def rollout(prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        rows = [TokenEpisode(PROMPT, (RED, END), (1, 1), None, 0.5, ("t", at // 2)) for at in range(len(prompts))]
        tracker.observe(rows, trainer.state.global_step)
        return rollout_columns(rows, len(prompts), group_size=2)

    trainer = grpo(tmp_path, reward_funcs=RolloutReward(tracker), rollout_func=rollout, max_steps=1)
    before = weights(trainer)
    with pytest.warns(DeadGroupsWarning, match="step 0: all rewards of every group are equal"):
        trainer.train()
    assert torch.equal(before, weights(trainer))
    (line,) = [line for line in trainer.state.log_history if "reward" in line]
    assert line["groups/dead"] == 1.0 and line["agent/reward"] == 0.5 and line["rewards/episode/mean"] == 0.5
    assert line["frac_reward_zero_std"] == 1.0


def test_s15_unscored_rows_move_nothing_and_a_batch_of_them_stops_the_run(tmp_path: Path) -> None:
    import torch

    settings = {"entropy_coef": 0.1, "weight_decay": 0.1}  # either moves weights where advantages are 0
    trainer = grpo(
        tmp_path / "none",
        reward_funcs=RolloutReward(),
        rollout_func=fixed((RED, END), (1, 1), (None, None)),
        max_steps=1,
        **settings,
    )
    before = weights(trainer)
    with pytest.raises(TooManyFailures, match="none of the 4 rows of the batch is scored"):
        trainer.train()
    assert torch.equal(before, weights(trainer))
    half = trained(tmp_path / "half", fixed((RED, END), (1, 1), (1.0, None)))
    assert torch.equal(before, weights(half))  # one scored row has no other to be compared with


def test_trl_issue_15_a_trainer_without_our_rollout_function_stops_at_its_first_batch(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did not call rollout_func"):
        grpo(tmp_path, reward_funcs=RolloutReward(), max_steps=1).train()


def test_trl_issue_16_a_trainer_keeps_half_a_batch_that_nobody_may_go_on_with(tmp_path: Path) -> None:
    """Ctrl-C in a notebook, and a second `train` of the same trainer."""
    generated: list[int] = []

    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == 3:
                raise KeyboardInterrupt

    def rollout(prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        generated.append(trainer.state.global_step)
        return fixed((RED, END), (1, 1))(prompts, trainer)

    settings = {"steps_per_generation": 2, "gradient_accumulation_steps": 1, "max_steps": 4}
    saving = {"save_strategy": "steps", "save_steps": 2, "reward_funcs": RolloutReward(), "rollout_func": rollout}
    state = StateCallback({})
    trainer = grpo(tmp_path, callbacks=[state, Stop()], **settings, **saving)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    checkpoint = latest_checkpoint(tmp_path)
    with pytest.raises(RunError, match="build a new trainer and resume"):
        trainer.train(resume_from_checkpoint=checkpoint)
    assert generated == [0, 2]
    trainer.remove_callback(state)  # what would have happened: step 3 takes the rest of the old batch
    trainer.remove_callback(Stop)
    trainer.train(resume_from_checkpoint=checkpoint)
    assert generated == [0, 2, 3]
    again = grpo(tmp_path, callbacks=[state], **settings, **saving)
    again.train(resume_from_checkpoint=checkpoint)
    assert generated == [0, 2, 3, 2]


def test_trl_issue_14_a_tasks_id_travels_in_the_message(tmp_path: Path) -> None:
    seen: list[Any] = []

    def rollout(prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        seen.extend(prompt[0]["task"] for prompt in prompts)
        return fixed((RED, END), (1, 1))(prompts, trainer)

    rows = [{"prompt": [{"role": "user", "content": "go", "task": f"t{at}"}]} for at in range(2)]
    grpo(
        tmp_path,
        rows,
        reward_funcs=RolloutReward(),
        rollout_func=rollout,
        max_steps=1,
        shuffle_dataset=False,
    ).train()
    assert seen == ["t0", "t0", "t1", "t1"]  # as often as there are generations, and in order


def test_trl_issue_12_a_row_that_ends_itself_does_not_count_as_cut(tmp_path: Path) -> None:
    ended = trained(tmp_path / "a", fixed((RED, GREEN, END), (1, 1, 1)))
    cut = trained(tmp_path / "b", fixed((RED, GREEN, BLUE), (1, 1, 1)))
    assert end_ids(ended) == {END}
    shares = [trainer.state.log_history[0]["completions/clipped_ratio"] for trainer in (ended, cut)]
    assert shares == [0.0, 1.0]


def test_trl_issue_09_changed_weights_change_what_is_sampled(tmp_path: Path) -> None:
    import torch

    trainer = grpo(tmp_path, reward_funcs=RolloutReward())
    word = {}
    for wanted in (RED, BLUE):
        with torch.no_grad():
            trainer.model.lm_head.weight.zero_()
            trainer.model.model.norm.weight.fill_(1.0)
            trainer.model.lm_head.weight[wanted] = 100 * torch.ones(16)
            trainer.model.lm_head.weight[wanted] *= torch.sign(trainer.model.model(torch.tensor([PROMPT]))[0][0, -1])
        word[wanted] = generate_ids(trainer, [list(PROMPT)], 1)[0][0]
    assert word == {RED: [RED], BLUE: [BLUE]}


def test_s12_two_prompts_twice_are_four_rows_and_four_resets_in_the_same_order(tmp_path: Path) -> None:
    """Whole: real trainer, real environments, the policy in training as their actor, one row per episode."""
    resets: list[int] = []
    rows_seen: list[TokenEpisode] = []

    class Counted(GuessEnv):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            resets.append(seed or 0)
            return super().reset(seed=seed, options=options)

    family = family_of(lambda task: Counted(), max_steps=3)
    tasks = {task.id: task for task in tasks_named("Toy", 2)}
    tracker = Tracker(tmp_path)

    def rollout(prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        policy, template = LocalPolicy(trainer), Template(trainer.processing_class)

        async def one(at: int, prompt: Any) -> TokenEpisode:
            task = tasks[prompt[0]["task"]]
            recorder = Recorder(policy, template, limits=Limits(turn=3, row=64))
            (episode,) = await play_async(
                [task], recorder, family=family, seed=at, seat=ActorSettings(temperature=1.0, show_admissible=False)
            )
            rewards = [turn.reward for turn in episode.turns]
            group = (task.key, task.seed or 0, at // 2)
            return recorder.episode(
                group=group,
                rewards=rewards,
                terminated=episode.turns[-1].terminated,
                truncated=episode.turns[-1].truncated,
            )

        found = results(policy.run(policy.gather(one(at, prompt) for at, prompt in enumerate(prompts))))
        assert policy.calls == 3 and policy.late == 0  # three turns, each generated for all episodes at once
        rows_seen.extend(row for row in found if row is not None)
        tracker.observe(rows_seen, trainer.state.global_step)
        return rollout_columns(rows_seen, len(prompts), group_size=2)

    data = [{"prompt": [{"role": "user", "content": "go", "task": name}]} for name in tasks]
    trainer = grpo(
        tmp_path,
        data,
        reward_funcs=RolloutReward(tracker),
        rollout_func=rollout,
        max_steps=1,
        shuffle_dataset=False,
        learning_rate=0.0,
    )
    with pytest.warns(DeadGroupsWarning):  # a random model guesses nothing
        trainer.train()
    assert len(rows_seen) == 4 and sorted(resets) == [0, 0, 1, 1]
    assert [row.group[1] for row in rows_seen] == [0, 0, 1, 1]
    assert all(row.truncated and not row.terminated and row.reward == 0.0 for row in rows_seen)
    assert all(len(row.turns) == 3 and sum(row.mask) < len(row.mask) for row in rows_seen)
    line = trainer.state.log_history[0]
    assert line["agent/turns"] == 3.0 and line["agent/truncated"] == 1.0
    assert len(list((tmp_path / "episodes").iterdir())) == 1

"""What a run tells of itself: nothing made up, nothing twice, and a word where nothing can be learned."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from metagym.errors import BadInput, TooManyFailures
from metagym_trainers.episodes import TokenEpisode
from metagym_trainers.tracking import (
    DeadGroupsWarning,
    RolloutReward,
    Tracker,
    dead_share,
    role_metrics,
    warn_dead,
)


def row(reward: float | None, group: int = 0, role: str = "agent", **more: object) -> TokenEpisode:
    return TokenEpisode((1,), (2, 3), (1, 0), None, reward, ("t", group), role, **more)  # type: ignore[arg-type]


def test_numbers_stand_per_role_and_unmeasured_ones_are_absent() -> None:
    batch = [
        row(1.0, metrics={"turns": 2.0}),
        row(0.0, truncated=True),
        row(0.5, 1, metrics={"turns": 4.0, "seconds": float("nan")}),
        row(None, 1),
        row(None, role="designer"),
    ]
    assert role_metrics(batch) == {
        **{"agent/reward": 0.5, "agent/rows": 4.0, "agent/unscored": 1.0, "agent/truncated": 0.25},
        **{"agent/sampled_tokens": 1.0, "agent/dead_groups": 0.5, "agent/turns": 3.0},
        **{"designer/rows": 1.0, "designer/unscored": 1.0, "designer/truncated": 0.0, "designer/sampled_tokens": 1.0},
        **{"groups/dead": 0.5, "rows/unscored": 2.0},
    }


def test_s15_unscored_rows_are_counted() -> None:
    assert role_metrics([row(1.0), row(None), row(1.0), row(float("nan"))])["agent/unscored"] == 2.0


def test_trl_issue_06_dead_groups_are_measured_and_warned_of() -> None:
    assert dead_share([1.0, 1.0, 0.0, 1.0, None, 0.3, None, None], 2) == pytest.approx(2 / 3)
    assert dead_share([None, None], 2) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_dead(None)
        warn_dead(0.8)
    with pytest.warns(DeadGroupsWarning, match="81% of the groups have equal rewards"):
        warn_dead(0.81)
    with pytest.warns(DeadGroupsWarning, match="step 7: all rewards of every group are equal.*num_generations"):
        Tracker().observe([row(1.0), row(1.0)], 7)


def test_sampled_episodes_lie_in_the_run_folder_and_a_resumed_run_writes_the_same(tmp_path: Path) -> None:
    batch = [row(float(at), at // 2, metrics={"turns": 1.0}, terminated=True) for at in range(8)]

    def kept() -> dict[str, bytes]:
        tracker = Tracker(tmp_path, samples=3, every=2, decode=lambda ids: "-".join(map(str, ids)), seed=5)
        for step in range(4):
            tracker.observe(batch, step)
        return {path.name: path.read_bytes() for path in (tmp_path / "episodes").iterdir()}

    first = kept()
    assert first == kept() and sorted(first) == ["step-000000.jsonl", "step-000002.jsonl"]
    lines = [json.loads(line) for line in first["step-000002.jsonl"].splitlines()]
    assert len(lines) == 3 and lines[0]["completion"] == "2-3" and lines[0]["mask"] == [1, 0]
    assert {line["terminated"] for line in lines} == {True} and lines[0]["group"] == ["t", lines[0]["row"] // 2]
    assert first["step-000000.jsonl"] != first["step-000002.jsonl"]


@pytest.mark.parametrize("unmeasured", [float("nan"), None])
def test_s15_a_number_that_was_not_measured_is_null_in_a_kept_episode(unmeasured: float, tmp_path: Path) -> None:
    tracker = Tracker(tmp_path)
    tracker.observe([row(1.0, metrics={"seconds": unmeasured}), row(0.0, metrics={"seconds": 2.0})], 0)
    assert tracker.pending["agent/seconds"] == 2.0
    lines = (tmp_path / "episodes" / "step-000000.jsonl").read_text().splitlines()
    assert [json.loads(line)["metrics"]["seconds"] for line in lines] == [None, 2.0]


def test_one_process_of_several_keeps_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank, kept in (("1", False), ("0", True)):
        monkeypatch.setenv("RANK", rank)
        Tracker(tmp_path).observe([row(1.0), row(0.0)], 0)
        assert (tmp_path / "episodes").exists() == kept


def test_numbers_go_into_the_trainers_log_once() -> None:
    tracker, logged = Tracker(), []
    tracker.observe([row(1.0), row(0.0)], 0, more={"replay/seconds": 2.5})
    reward = RolloutReward(tracker, name="regret")
    assert reward.__name__ == "regret"
    for _ in range(2):
        paid = reward(completions=["", ""], reward=[1.0, None], log_metric=lambda *pair: logged.append(pair))
        assert paid == [1.0, None]
    assert ("replay/seconds", 2.5) in logged and len(logged) == len(dict(logged))


def test_trl_issue_15_a_trainer_that_ignores_the_rollout_function_is_found_out() -> None:
    with pytest.raises(BadInput, match="did not call rollout_func"):
        RolloutReward()(completions=["a"], prompts=["b"])


def test_trl_issue_11_a_trainer_that_did_not_take_the_mask_is_found_out() -> None:
    with pytest.raises(BadInput, match="did not take env_mask"):
        RolloutReward()(completions=["a"], reward=[1.0], env_mask=[[1, 0]])


def test_s12_as_many_rewards_as_completions() -> None:
    with pytest.raises(BadInput, match="returns 1 rows and the trainer handed in 2"):
        RolloutReward()(completions=["a", "b"], reward=[1.0])


def test_s15_nothing_is_trained_where_nothing_is_scored() -> None:
    with pytest.raises(TooManyFailures, match="none of the 2 rows"):
        RolloutReward()(completions=["a", "b"], reward=[None, None])

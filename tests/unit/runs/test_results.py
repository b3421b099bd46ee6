"""What is read back from a run folder, and what its reader is warned of."""

import pytest

from metagym.episodes import Repair, Status, Turn
from metagym.errors import BadInput, RunError, StoreCorrupt
from metagym.runs import RunFolder
from metagym.runs.notices import SCRIPTED, notices
from metagym.runs.results import load_curve, load_results
from tests.unit.runs.synthetic import TYPES, a_task, an_episode, episode_records, meta_episode


def test_a_curve_has_a_point_per_turn_with_intervals(make_run):
    curve = load_curve(make_run())
    assert (curve.arm, curve.phase) == ("", "eval")
    assert [point.turn for point in curve.points] == [0, 1, 2, 3, 4]
    assert curve.types == TYPES
    first, last = curve.points[0], curve.points[-1]
    assert first.success.value == 0 and first.success.n == 24
    assert last.success.value is not None and last.success.value > 0.5
    assert all(point.success.low <= point.success.value <= point.success.high for point in curve.points)
    assert sum(estimate.n for estimate in last.by_type.values()) == 24
    assert last.batch.n == 5
    assert last.returns.value == pytest.approx(last.success.value)


def test_prompts_outcomes_and_usage_are_read(make_run):
    results = load_results(make_run())
    assert [step.turn for step in results.prompts] == [0, 1, 2, 3, 4]
    assert results.prompts[0].outcome == "start"
    assert results.prompts[2].prompt.startswith(results.prompts[1].prompt)
    assert results.outcomes == {"improved": 4}
    assert results.usage["reflector"].calls == 4
    assert results.usage["actor"].prompt_tokens == 300 * 5 * 29
    assert results.backends == {"actor": ("scripted",), "reflector": ("scripted",)}
    assert results.engines == ("native",) and results.families == ("Toy",)
    assert results.ended and results.seconds == {"turn/0/eval": 0.25}


def test_an_open_folder_is_read_while_it_is_written(make_run, tmp_path):
    path = make_run()
    with RunFolder.resume(path, RunFolder.open(path).manifest) as run:
        assert load_results(run).curve() == load_curve(path)


def test_unscored_episodes_enter_no_figure(make_run):
    rows = meta_episode(turns=0, eval_tasks=0)[:-1]
    mixed = [an_episode(a_task(i), i < 2) for i in range(4)]
    mixed += [an_episode(a_task(4), None, Status.ERROR, cause="worker died\nlong trace"), an_episode(a_task(5), None)]
    rows += episode_records("", 0, "eval", mixed)
    path = make_run(rows=rows)
    point = load_curve(path).points[0]
    assert (point.success.value, point.success.n, point.success.unscored) == (0.5, 4, 2)
    found = notices(load_results(path))
    assert any("Unscored: 1 of 11 episodes enter no figure (1 x error: worker died)" in line for line in found)
    assert any("Success cannot be told for 1 of 11" in line for line in found)
    assert any("has not ended: it stands at meta-turn 0" in line for line in found)


def test_without_a_held_out_set_the_batches_are_scored_and_it_is_said(make_run):
    rows = [(key, value) for key, value in meta_episode() if "/eval/" not in key]
    path = make_run(rows=rows)
    curve = load_curve(path)
    assert curve.phase == "batch" and curve.points[0].success.n == 5
    assert any("Without a held-out set" in line for line in notices(load_results(path)))


def test_arms_and_their_seeds_are_kept_apart(make_run):
    rows = meta_episode("arm/initial prompt/seed/0/", learns=0.0)
    rows += meta_episode("arm/a/b/seed/0/", seed=1) + meta_episode("arm/a/b/seed/1/", seed=2)
    path = make_run(rows=rows)
    results = load_results(path)
    assert results.arms == ("initial prompt", "a/b")
    assert load_curve(path, "initial prompt").points[-1].success.value == 0
    last = load_curve(path, "a/b").points[-1].success
    assert last.n == 24 and "over tasks" in last.method  # 48 plays of 24 tasks
    assert results.ended
    with pytest.raises(BadInput, match="no arm ''; it has 'initial prompt', 'a/b'"):
        load_curve(path)


def test_a_run_that_goes_on_after_an_arm_ended_has_not_ended(make_run):
    rows = meta_episode("arm/a/seed/0/") + meta_episode("arm/b/seed/0/")[:-1]
    assert not load_results(make_run(rows=rows)).ended


def test_a_rejected_rewrite_is_counted_apart(make_run):
    rows = dict(meta_episode(turns=1))
    rows["turn/1/reflection"] |= {"accepted": False, "rejected_prompt": "worse", "prompt": "You play household games."}
    results = load_results(make_run(rows=list(rows.items())))
    assert results.outcomes == {"not accepted": 1}
    assert results.prompts[1].rejected_prompt == "worse"
    assert not any("Failed reflections" in line for line in notices(results))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("turn/0/eval/0", {"kind": "episode", "turn": 0, "phase": "eval", "slot": 0, "episode": {}}),
        ("turn/1/reflection", {"kind": "reflection"}),
        ("turn/0/prompt", ["not an object"]),
    ],
)
def test_records_that_are_none_of_a_run_are_named(make_run, key, value):
    with pytest.raises(StoreCorrupt, match=key):
        load_results(make_run(rows=[(key, value)]))


def test_unknown_records_are_passed_over(make_run):
    path = make_run(rows=[*meta_episode(), ("something/else", 3)])
    assert len(load_results(path).curve().points) == 5


def test_no_run_is_no_run(tmp_path):
    with pytest.raises(RunError, match="is not a run folder"):
        load_results(tmp_path)


def test_an_empty_run_reads_as_empty(make_run):
    results = load_results(make_run(rows=[]))
    assert results.arms == () and results.curves == () and not results.ended
    assert notices(results)[0].startswith("The run has not ended")


# --- warnings


def rejecting(share: float) -> list[tuple[str, object]]:
    turns = tuple(
        Turn(
            "Nothing happens.",
            "put x in y",
            "put x in y",
            0.0,
            False,
            i == 19,
            Repair.INVALID if i < share * 20 else Repair.EXACT,
        )
        for i in range(20)
    )
    rows = meta_episode(turns=0, eval_tasks=0, batch_size=0)[:-1]
    return rows + episode_records("", 0, "eval", [an_episode(a_task(0), False, Status.TRUNCATED, turns)])


def test_s08_a_run_whose_actions_are_rejected_says_so(make_run):
    found = notices(load_results(make_run(rows=rejecting(0.9))))
    assert any("18 of 20 actions (90%) were rejected" in line for line in found)
    found = notices(load_results(make_run("fine", rows=rejecting(0.8))))
    assert not any("rejected" in line for line in found)


def test_s17_answers_cut_by_length_are_counted(make_run):
    turns = tuple(
        Turn("x", None, "", 0.0, False, i == 2, Repair.ABSENT, absence)
        for i, absence in enumerate(("length", "refused", "error"))
    )
    rows = episode_records("", 0, "eval", [an_episode(a_task(0), False, Status.TRUNCATED, turns)])
    found = notices(load_results(make_run(rows=rows)))
    assert "Answers cut by length: 1." in found
    assert any("without an answer: 2 of 3 (error: 1, refused: 1)" in line for line in found)


def test_stand_ins_and_mixed_models_are_told(make_run):
    assert notices(load_results(make_run()))[0] == SCRIPTED
    rows = dict(meta_episode(turns=1))
    rows["turn/1/reflection"] |= {"backend": "server", "outcome": "cut", "cause": "length"}
    found = notices(load_results(make_run("mixed", rows=list(rows.items()))))
    assert "Mixed kinds of model (actor: scripted; reflector: server)" in found[0]
    assert any("Failed reflections kept the prompt in 1 of 1 turns (cut: 1)" in line for line in found)


def test_ignored_seeds_and_changing_engines_are_told(make_run):
    episodes = [
        an_episode(a_task(0), True, info={"engine": "native", "seed_honoured": False}),
        an_episode(a_task(1), True, info={"engine": "textworld"}),
    ]
    found = notices(load_results(make_run(rows=episode_records("", 0, "eval", episodes))))
    assert any("did not honour its seed in 1 episodes" in line for line in found)
    assert any("More than one engine played: native, textworld" in line for line in found)

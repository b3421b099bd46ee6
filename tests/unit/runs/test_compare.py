"""Two runs on the same tasks: what is compared, what is refused."""

import io
import json

import pytest
from rich.console import Console

from metagym.errors import BadInput, RunError
from metagym.runs.compare import _rank, compare
from metagym.runs.results import Point
from metagym.stats import Estimate
from metagym.strictjson import plain_json
from tests.unit.runs.synthetic import TYPES, a_manifest, a_task, an_episode, episode_records, meta_episode


def config(**changes):
    return {"config": {**a_manifest()["config"], **changes}}


def test_runs_are_compared_task_by_task(make_run):
    a, b = make_run("base", meta_episode(learns=0.1)), make_run("trained", meta_episode(seed=3, learns=0.9))
    result = compare(a, b)
    assert (result.a.turn, result.b.turn) == (4, 4)
    assert [row.type for row in result.rows] == ["", *TYPES]
    assert result.difference.n == 24
    assert result.difference.value == pytest.approx(result.b.success.value - result.a.success.value)
    assert result.difference.low > 0.3
    assert result.test.p is not None and result.test.p < 0.01
    assert result.test.only_b - result.test.only_a == round(24 * result.difference.value)
    assert sum(row.difference.n for row in result.rows[1:]) == 24
    assert any("Scripted stand-ins" in note for note in result.notes)
    assert result == compare(a, b)
    json.dumps(plain_json(result.to_json()))


def test_a_run_equals_itself(make_run):
    path = make_run()
    result = compare(path, path)
    assert result.difference.value == 0 and result.test.p == 1.0


def test_the_turn_can_be_chosen(make_run):
    rows = meta_episode(turns=2)
    good = [an_episode(a_task(i), True) for i in range(24)]
    rows = [row for row in rows if not row[0].startswith("turn/1/eval")] + episode_records("", 1, "eval", good)
    path = make_run(rows=rows)
    assert compare(path, path, at="first").a.turn == 0
    best = compare(path, path, at="best")
    assert best.a.turn == 1 and best.a.success.value == 1.0
    assert any("flatters" in note for note in best.notes)
    with pytest.raises(BadInput, match="last, best, first"):
        compare(path, path, at="median")


def test_a_turn_that_was_cut_off_is_not_compared(make_run):
    rows = [
        row
        for row in meta_episode(turns=2)
        if not (row[0].startswith("turn/2/eval") and int(row[0].split("/")[-1]) > 5)
    ]
    path = make_run(rows=rows)
    assert compare(path, path).a.turn == 1


@pytest.mark.parametrize(
    ("manifest", "named"),
    [
        (config(max_steps=50), "config.max_steps is 30 in the first and 50 in the second"),
        (config(family="Other"), "config.family"),
        (config(eval_split="valid_unseen"), "config.eval_split"),
        (
            {"versions": {"family": {"engine": "native 1", "data": "published", "grammar": "move"}}},
            "versions.family.data",
        ),
        ({"success_rule": "any reward"}, "success_rule"),
    ],
)
def test_unlike_runs_are_refused_by_field(make_run, manifest, named):
    with pytest.raises(RunError, match=named):
        compare(make_run("a"), make_run("b", **manifest))


def test_what_one_compares_may_differ(make_run):
    other = config(actor="openai:m", reflector="openai:n", seed=7)
    assert compare(make_run("a"), make_run("b", **other)).difference.value == 0


def test_another_way_of_asking_the_actor_is_said(make_run):
    a = make_run("listed", **config(seat={"history": None, "show_admissible": True}))
    b = make_run("unlisted", **config(seat={"history": None, "show_admissible": False}))
    assert any("show_admissible is True in a and False in b" in note for note in compare(a, b).notes)
    assert not any("asked" in note for note in compare(a, a).notes)


def test_other_eval_tasks_are_refused_unless_told_to(make_run):
    a, b = make_run("a"), make_run("b", meta_episode(eval_tasks=16))
    with pytest.raises(RunError, match=r"eval tasks differ \(24 and 16, 16 in common"):
        compare(a, b)
    result = compare(a, b, common_only=True)
    assert result.difference.n == 16
    assert any("Only the 16 common tasks" in note for note in result.notes)


def test_tasks_with_other_seeds_are_other_tasks(make_run):
    rows = [(key, value) for key, value in meta_episode(turns=0) if "/eval/" not in key]
    seeded = [[an_episode(a_task(i, seed=seed), True) for i in range(4)] for seed in (0, 1)]
    paths = [make_run(f"s{i}", rows + episode_records("", 0, "eval", part)) for i, part in enumerate(seeded)]
    with pytest.raises(RunError, match="0 in common"):
        compare(*paths, common_only=True)


def test_runs_without_held_out_episodes_or_arm_are_refused(make_run, tmp_path):
    no_eval = make_run("no-eval", [row for row in meta_episode() if "/eval/" not in row[0]])
    with pytest.raises(RunError, match="no held-out episodes"):
        compare(no_eval, no_eval)
    with pytest.raises(RunError, match="holds no episode yet"):
        compare(make_run("empty", []), no_eval)
    with pytest.raises(RunError, match="is not a run folder"):
        compare(no_eval, tmp_path / "nowhere")


def test_arms_of_one_run_are_compared(make_run):
    rows = meta_episode("arm/initial/seed/0/", learns=0.0)
    rows += meta_episode("arm/rules/seed/0/", seed=1) + meta_episode("arm/rules/seed/1/", seed=2)
    path = make_run(rows=rows)
    with pytest.raises(RunError, match="several arms; name one of 'initial', 'rules'"):
        compare(path, path)
    with pytest.raises(RunError, match="no arm 'x'"):
        compare(path, path, arm_a="x", arm_b="rules")
    result = compare(path, path, arm_a="initial", arm_b="rules")
    assert (result.a.name, result.b.name) == ("initial", "rules")
    assert result.difference.n == 24 and result.difference.value > 0.4
    assert result.test is None and "left out, since tasks count by their mean" in result.markdown()


def test_the_comparison_is_readable_as_table_and_markdown(make_run):
    result = compare(make_run("a|[b]", meta_episode(learns=0.1)), make_run("<b>", meta_episode(seed=3, learns=0.9)))
    console = Console(file=io.StringIO(), width=160, legacy_windows=False)
    console.print(result.table())
    text = console.file.getvalue()
    assert "a: a|[b], turn 4" in text and "McNemar's exact test: a only" in text
    lines = result.markdown().splitlines()
    assert lines[0] == "| task type | a: a\\|[b], turn 4 | b: &lt;b>, turn 4 | b - a |"
    assert lines[2].startswith("| all | ") and "n=24" in lines[2]
    assert any(line.startswith("- McNemar") for line in lines)


def test_unmeasured_differences_are_dashes(make_run):
    rows = [row for row in meta_episode(turns=0) if "/eval/" not in row[0]]
    unknown = episode_records("", 0, "eval", [an_episode(a_task(i), None) for i in range(3)])
    path = make_run(rows=rows + unknown)
    result = compare(path, path)
    assert result.difference.value is None and result.difference.unscored == 3
    assert result.test.p is None
    assert "- n=0 (3 unscored)" in result.markdown()


def test_a_turn_that_scored_nothing_is_never_the_best():
    nothing = Estimate(None, None, None, 0)
    lost = Estimate(0.0, 0.0, 0.2, 4)
    points = [Point(turn, success, success, {}, nothing) for turn, success in enumerate((nothing, lost, lost))]
    assert max(points, key=_rank).turn == 1

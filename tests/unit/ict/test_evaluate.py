"""Arms side by side: the same held-out tasks, paired differences, splits by type, transfer to another family."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from metagym import families
from metagym.chat import Request
from metagym.cli.tables import arms_table, print_table
from metagym.errors import BadInput, MetaGymError, TasksExhausted, UnknownName
from metagym.ict.config import PRESETS, RunConfig
from metagym.ict.evaluate import INITIAL, Arm, EvalConfig, Row, evaluate
from metagym.ict.loop import memory_records
from metagym.runs.compare import compare
from metagym.runs.folder import RECORDS, RunFolder
from metagym.runs.ict import eval_ict
from metagym.runs.results import load_results
from tests.support import doors as toy

BOTH = "oak opens to pull\niron opens to knock"


def settings(*arms: Arm, run: dict[str, Any] | None = None, **changes: Any) -> EvalConfig:
    base = {"family": "Doors", "batch_size": 6, "meta_turns": 3, "eval_tasks": 10, **(run or {})}
    return EvalConfig(RunConfig(**base), arms or (Arm("rules", reflector="rules"),), **changes)


def score(config: EvalConfig, records: Any = None) -> list[Row]:
    return asyncio.run(evaluate(config, records if records is not None else memory_records()))


def test_the_initial_prompt_comes_first_and_differences_are_paired_with_it(doors: None) -> None:
    arms = (
        Arm("oak only", prompt="oak opens to pull"),
        Arm("untrained reflector", reflector="random"),
        Arm("rules", reflector="rules"),
    )
    rows = score(settings(*arms))
    assert [row.name for row in rows] == [INITIAL, "oak only", "untrained reflector", "rules"]
    assert [row.success.value for row in rows] == [0.0, 0.5, 0.0, 1.0]
    assert rows[0].difference is None and rows[0].difference_by_type == {}
    assert [row.difference.value for row in rows[1:] if row.difference] == [0.5, 0.0, 1.0]
    assert [row.difference.n for row in rows[1:] if row.difference] == [10, 10, 10]
    assert {kind: e.value for kind, e in rows[1].by_type.items()} == {"oak": 1.0, "iron": 0.0}
    assert {kind: e.value for kind, e in rows[1].difference_by_type.items()} == {"oak": 1.0, "iron": 0.0}
    assert sorted(rows[3].prompts[0].splitlines()) == sorted(BOTH.splitlines())
    assert rows[2].prompts == ("",) and {row.backend for row in rows} == {"scripted"}


def test_all_arms_and_seeds_are_scored_on_the_same_tasks_with_the_same_sampling(doors: None) -> None:
    records = memory_records()
    score(settings(Arm("p", prompt="x"), Arm("r", reflector="rules"), seeds=(3, 0)), records)
    played: dict[str, dict[int, list[Any]]] = {}
    for key, record in records.items.items():  # type: ignore[attr-defined]
        if "/eval/" in key:
            _, arm, _, seed, *_ = key.split("/")
            episode = record["episode"]
            played.setdefault(arm, {}).setdefault(int(seed), []).append((episode["task"]["id"], episode["seed"]))
    assert set(played) == {INITIAL, "p", "r"}
    for by_seed in played.values():
        assert by_seed == played[INITIAL]
        assert [name for name, _ in by_seed[3]] == [name for name, _ in by_seed[0]] and by_seed[3] != by_seed[0]


def test_plays_of_one_task_under_several_seeds_are_one_pair(doors: None) -> None:
    rows = score(settings(Arm("p", prompt=BOTH), seeds=(0, 1, 2)))
    assert rows[1].success.n == 10 and rows[1].difference is not None and rows[1].difference.n == 10
    assert len(rows[1].prompts) == 3


def test_task_types_can_be_split_into_meta_train_and_meta_test(doors: None) -> None:
    records = memory_records()
    split = {"task_types": ("oak",), "eval_types": ("iron",), "eval_tasks": 5}
    rows = score(settings(run=split), records)
    kinds: dict[str, set[str]] = {"batch": set(), "eval": set()}
    for record in records.items.values():  # type: ignore[attr-defined]
        if record["kind"] == "episode":
            kinds[record["phase"]].add(record["episode"]["task"]["type"])
    assert kinds == {"batch": {"oak"}, "eval": {"iron"}}
    assert list(rows[1].by_type) == ["iron"] and rows[1].success.value == 0.0  # nothing of iron was ever seen
    with pytest.raises(BadInput, match="is a training task too"):
        score(settings(run={"split": "train", "eval_split": "train"}))


def test_transfer_scores_on_one_family_what_was_learned_on_another(doors: None) -> None:
    records = memory_records()
    config = settings(run={"family": "Gates", "eval_tasks": 9}, train_family="Doors")
    rows = score(config, records)
    assert rows[1].success.value == pytest.approx(2 / 3)  # oak and iron transfer, glass was not there to learn
    assert {kind: e.value for kind, e in rows[1].by_type.items()} == {"oak": 1.0, "iron": 1.0, "glass": 0.0}
    played = {
        (record["phase"], record["episode"]["task"]["family"])
        for record in records.items.values()  # type: ignore[attr-defined]
        if record["kind"] == "episode"
    }
    assert played == {("batch", "Doors"), ("eval", "Gates")}
    # Split and types of the batches belong to the family that is trained on.
    records = memory_records()
    score(settings(run={"family": "Gates", "split": "valid", "meta_turns": 1}, train_family="Doors"), records)
    batches = [r["episode"]["task"] for key, r in records.items.items() if "/batch/" in key]  # type: ignore[attr-defined]
    assert {(task["family"], task["split"]) for task in batches} == {("Doors", "valid")}
    # Types of the one family need not exist in the other.
    narrow = settings(run={"family": "Doors", "task_types": ("glass",), "meta_turns": 2}, train_family="Gates")
    assert score(narrow)[1].success.value == 0.0


def test_another_training_family_may_be_built_with_options(doors: None) -> None:
    families.add_factory("Kinds", lambda kind: toy.doors("Kinds", (kind,)))
    config = settings(train_family="Kinds", train_family_options=(("kind", "iron"),))
    assert {kind: e.value for kind, e in score(config)[1].by_type.items()} == {"oak": 0.0, "iron": 1.0}
    with pytest.raises(BadInput, match="no training family"):
        settings(train_family_options=(("kind", "iron"),))
    with pytest.raises(BadInput, match="training family Nope is given, and no arm has a reflector"):
        settings(Arm("p", prompt="x"), train_family="Nope")


def test_the_papers_batch_sizes_are_presets() -> None:
    assert {name: dict(preset) for name, preset in PRESETS.items()} == {
        "k3": {"batch_size": 3, "meta_turns": 4},
        "k5": {"batch_size": 5, "meta_turns": 4},
    }


def test_the_training_split_may_be_smaller_than_scoring_would_need(doors: None) -> None:
    config = settings(Arm("p", prompt=BOTH), run={"batch_size": 30, "meta_turns": 8, "eval_tasks": 60})
    assert score(config)[1].success.value == 1.0  # prompts alone need no batch at all


def test_a_stopped_evaluation_goes_on_and_asks_nothing_twice(
    tmp_path: Path, doors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []
    real = toy.reflector

    def noting(request: Request) -> str:
        asked.append(request)
        return real(request)

    monkeypatch.setattr(toy, "reflector", noting)
    arms = (Arm("a", prompt="x"), Arm("b", reflector="python:tests.support.doors:reflector"))
    config = settings(*arms, seeds=(0, 1))
    whole = asyncio.run(eval_ict(config, tmp_path / "whole"))
    paid = len(asked)
    seen = 0

    def stops(arm: str, seed: int, event: Any) -> None:
        nonlocal seen
        seen += event.kind == "reflection"
        if seen == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(eval_ict(config, tmp_path / "part", on_event=stops))
    assert len(asked) == paid + 4
    assert asyncio.run(eval_ict(config, tmp_path / "part", resume=True)) == whole
    assert len(asked) == 2 * paid
    assert (tmp_path / "part" / RECORDS).read_bytes() == (tmp_path / "whole" / RECORDS).read_bytes()
    assert asyncio.run(eval_ict(config, tmp_path / "part", resume=True)) == whole and len(asked) == 2 * paid


def test_the_folder_reads_as_a_run_and_its_arms_can_be_compared(tmp_path: Path, doors: None) -> None:
    rows = asyncio.run(eval_ict(settings(seeds=(0, 1)), tmp_path))
    results = load_results(tmp_path)
    assert results.ended and results.arms == (INITIAL, "rules")
    assert results.curve("rules").points[-1].success == rows[1].success
    difference = compare(tmp_path, tmp_path, arm_a=INITIAL, arm_b="rules").difference
    assert rows[1].difference is not None and difference.value == rows[1].difference.value
    with RunFolder.open(tmp_path) as folder:
        versions = folder.manifest["versions"]
    assert versions["family"] == {"engine": "doors 1"} and set(versions["reflectors"]) == {"rules"}


def test_the_table_goes_by_task_type_with_paired_differences(doors: None, capsys: pytest.CaptureFixture[str]) -> None:
    config = settings(Arm("oak only", prompt="oak opens to pull"), Arm("rules", reflector="rules"))
    rows = score(config)
    print_table(arms_table(rows, config, "Doors"), markdown=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| task type | arm | success | n | paired difference |" and lines[1] == "|---|---|---|---|---|"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert [cell[:2] for cell in cells[:3]] == [["all", INITIAL], ["all", "oak only"], ["all", "rules"]]
    assert {cell[0] for cell in cells} == {"all", "oak", "iron"} and len(cells) == 9
    assert all(cell[4] == "-" for cell in cells if cell[1] == INITIAL)
    assert cells[2][2].startswith("1.00 [") and cells[2][3] == "10" and cells[2][4].startswith("+1.00 [+")


def test_the_table_fits_a_terminal_of_eighty_columns(
    doors: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    config = settings(Arm("untrained reflector", reflector="random"), Arm("rules", reflector="rules"))
    print_table(arms_table(score(config), config, "Doors"))
    out = capsys.readouterr().out
    assert "…" not in out and max(map(len, out.splitlines())) <= 80
    assert "+1.00 [+" in out and "models: scripted" in out


@pytest.mark.parametrize(
    "make",
    [
        lambda: Arm("", prompt="x"),
        lambda: Arm("a/b", prompt="x"),
        lambda: Arm("a"),
        lambda: Arm("a", prompt="x", reflector="rules"),
        lambda: Arm("a", prompt="a\x00b"),
        lambda: settings(Arm("a", prompt="x"), Arm("a", prompt="y")),
        lambda: settings(Arm(INITIAL, prompt="x")),
        lambda: settings(seeds=()),
        lambda: settings(seeds=(0, 0)),
        lambda: settings(seeds=(0, -1)),
        lambda: settings(run={"eval_tasks": 0}),
    ],
)
def test_settings_that_make_no_comparison_are_refused(make: Any) -> None:
    with pytest.raises(BadInput):
        make()


@pytest.mark.parametrize(
    ("config", "error"),
    [
        (settings(run={"eval_types": ("steel",)}), UnknownName),
        (settings(run={"task_types": ("steel",)}), UnknownName),
        (settings(run={"eval_tasks": 61}), BadInput),
        (settings(run={"system_prompt": "\x00"}), BadInput),
        (settings(train_family="Nowhere"), UnknownName),
        (settings(Arm("a", reflector="gpt")), BadInput),
        (settings(run={"meta_turns": 10}), TasksExhausted),
        (settings(run={"actor": "gpt"}), BadInput),
    ],
)
def test_unusable_settings_make_no_folder(
    tmp_path: Path, doors: None, config: EvalConfig, error: type[MetaGymError]
) -> None:
    with pytest.raises(error):
        asyncio.run(eval_ict(config, tmp_path / "run"))
    assert not (tmp_path / "run").exists()

"""Benchmarks, suites and presets as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, UnknownName
from metagym.evaluation.benchmarks import (
    Benchmark,
    Sampling,
    Suite,
    drop_suite,
    load_suite,
    register_suite,
    suite_names,
)
from metagym.evaluation.presets import PRESETS, under
from metagym.evaluation.tasks import prepare
from metagym.qadata import DATASETS


def test_a_benchmark_is_json() -> None:
    one = Benchmark("b", "Quiz", {"x": [1]}, types=("a",), sampling=Sampling(0.6, 9, top_p=0.5), notes=("n",))
    assert Benchmark.from_json(json.loads(json.dumps(one.to_json()))) == one
    with pytest.raises(BadInput, match="no field 'smaples'"):
        Benchmark.from_json({"name": "b", "family": "Quiz", "smaples": 3})


@pytest.mark.parametrize(
    "bad",
    [
        {"name": "a/b"},
        {"name": ""},
        {"samples": 0},
        {"limit": 0},
        {"max_steps": 0},
        {"history": -1},
        {"options": {"x": object()}},
        {"options": 3},
        {"family": 7},
    ],
)
def test_unusable_benchmarks_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        Benchmark(**{"name": "b", "family": "Quiz", **bad})


def test_suites_are_registered_lazily_and_load_with_checked_options() -> None:
    register_suite("lazy", "no.such.module:suite")
    try:
        assert "lazy" in suite_names()
        with pytest.raises(BadInput, match="cannot be imported"):
            load_suite("lazy")
        with pytest.raises(BadInput, match="already"):
            register_suite("lazy", lambda: Suite("lazy", "", ()))
    finally:
        drop_suite("lazy")
    with pytest.raises(UnknownName, match="reasoning"):
        load_suite("nothing")
    with pytest.raises(BadInput, match="no option 'folders'"):
        load_suite("qa", folders="x")
    with pytest.raises(BadInput, match="two benchmarks called 'b'"):
        Suite("s", "", (Benchmark("b", "Quiz"), Benchmark("b", "Quiz")))


def test_a_limit_takes_the_same_tasks_for_every_seed_spread_over_types(quiz: None) -> None:
    tasks = prepare(Benchmark("b", "Quiz", limit=4)).tasks
    assert tasks == prepare(Benchmark("b", "Quiz", limit=4)).tasks
    assert sorted(task.type for task in tasks) == ["easy", "easy", "hard", "hard"]
    assert [t.id for t in tasks] == sorted((t.id for t in tasks), key=lambda name: int(name.split("-")[1]))


def test_reasoning_leaves_out_what_has_no_file_and_says_so(tmp_path: Path) -> None:
    suite = load_suite("reasoning")
    names = [one.name for one in suite.benchmarks]
    assert names == ["rg-math", "rg-algorithmic", "rg-cognition", "rg-logic", "humaneval"]
    assert set(suite.left_out) == {"aime25", "aime26", "gpqa", "math500", "gsm8k", "livecodebench"}
    (tmp_path / "aime25.jsonl").touch()
    suite = load_suite("reasoning", folder=str(tmp_path), gsm8k="own.jsonl")
    own = {one.name: one.options for one in suite.benchmarks}
    assert own["aime25"] == {"benchmark": "aime25", "path": str(tmp_path / "aime25.jsonl")}
    assert own["gsm8k"]["path"] == "own.jsonl" and "aime25" not in suite.left_out
    with pytest.raises(BadInput, match="no option 'humaneval'"):
        load_suite("reasoning", humaneval="x")


def test_qa_takes_the_seven_sets_with_any_searcher(tmp_path: Path) -> None:
    assert [b.name for b in load_suite("qa").benchmarks] == ["invented"] and len(load_suite("qa").left_out) == 7
    (tmp_path / "nq").mkdir()
    rows = [{"id": str(n), "question": f"Who is {n}?", "golden_answers": ["x"]} for n in range(9)]
    (tmp_path / "nq/test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "0", "contents": '"T"\nA text.'}))
    suite = load_suite("qa", folder=str(tmp_path), searcher=f"fts5:{corpus}", count=5)
    [nq] = suite.benchmarks
    assert len(suite.left_out) == 6 and "triviaqa/test.jsonl" in suite.left_out["triviaqa"]
    prepared = prepare(under(suite, "sesa").benchmarks[0])
    assert len(prepared.tasks) == 5 and prepared.split == "test" and prepared.family.max_steps == 11
    assert (
        nq.options["count"] == 5
        and load_suite("qa", folder=str(tmp_path), searcher="x").benchmarks[0].options["count"] == DATASETS["nq"].share
    )
    with pytest.raises(BadInput, match="no question answering set 'nqq'"):
        load_suite("qa", sets="nqq")


def test_presets_set_what_the_papers_say_and_given_options_win() -> None:
    suite = under(load_suite("reasoning", aime25="f", gpqa="f", livecodebench="f", math500="f"), "spade")
    by_name = {one.name: one for one in suite.benchmarks}
    aime = by_name["aime25"]
    assert (aime.samples, aime.sampling) == (64, Sampling(1.0, 32768, 0.95, 20))
    rg = by_name["rg-logic"]
    assert (rg.samples, rg.sampling, rg.options["turns"]) == (8, Sampling(0.6, 8192), 2)
    assert (by_name["gpqa"].samples, by_name["gpqa"].sampling.temperature) == (8, 0.7)
    assert (by_name["livecodebench"].samples, by_name["livecodebench"].sampling) == (1, Sampling(0.2, 16384))
    assert by_name["math500"].samples == 1 and "math500" in suite.notes[0] and "humaneval" in suite.notes[0]
    assert under(load_suite("reasoning", turns=1), "spade").benchmarks[0].options["turns"] == 1
    assert under(load_suite("ict"), "ict").benchmarks[0].max_steps == 25
    assert under(load_suite("ict", max_steps=9), "ict").benchmarks[0].max_steps == 9
    assert under(load_suite("qa"), "sesa").benchmarks[0].options == {"k": 3, "max_turns": 10}
    assert under(load_suite("qa"), "none").benchmarks[0].options == {}
    tools = [
        *under(load_suite("bfcl"), "spade").benchmarks,
        *under(load_suite("acebench", path="p"), "spade").benchmarks,
    ]
    assert [one.sampling.temperature for one in tools] == [0.0] * 4 + [0.7] and tools[-1].options["turns"] == 40
    with pytest.raises(BadInput, match="preset sesa is for qa"):
        under(load_suite("reasoning"), "sesa")
    with pytest.raises(UnknownName, match="spade, ict"):
        under(load_suite("qa"), "nothing")
    assert all(preset.source for preset in PRESETS.values())


def test_bfcl_and_acebench_name_their_parts() -> None:
    assert [b.name for b in load_suite("bfcl").benchmarks] == [
        *("bfcl-base", "bfcl-miss-func", "bfcl-miss-param", "bfcl-long-context")
    ]
    with pytest.raises(BadInput, match="categories of BFCL"):
        load_suite("bfcl", categories="single")
    assert set(load_suite("acebench").left_out) == {"acebench-multi-step", "acebench-multi-turn"}
    suite = load_suite("acebench", path="checkout")
    assert [b.name for b in suite.benchmarks] == ["acebench-multi-step"] and "user=SPEC" in str(suite.left_out)
    turn = load_suite("acebench", path="checkout", user="rules").benchmarks[1]
    assert turn.types == ("multi_turn",) and turn.options["user"] == "rules" and "played by rules" in turn.notes[0]


def test_only_keeps_the_order_and_names_what_is_not_there() -> None:
    suite = load_suite("reasoning")
    assert [b.name for b in suite.only(["rg-logic", "rg-math"]).benchmarks] == ["rg-math", "rg-logic"]
    with pytest.raises(UnknownName, match="cannot play 'aime25' here: its file"):
        suite.only(["aime25"])
    with pytest.raises(UnknownName, match="no benchmark 'x'"):
        suite.only(["x"])

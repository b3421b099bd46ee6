"""Each benchmark runs in a tiny configuration and gives finite figures; their times are not held against anything."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import (
    adapters,
    capacity,
    imports,
    latency,
    overhead,
    sandbox,
    scale,
    search,
    sesa,
    skills,
    spade,
    viewer,
)
from benchmarks.common import Figure, Report, at_least, at_most, machine, machine_line, number, ratios, told
from tests.support.browser import found


def finite(report: Report, *, positive: bool = True) -> None:
    assert report.figures
    for figure in report.figures:
        assert math.isfinite(figure.value) and figure.low <= figure.value <= figure.high, figure
        assert figure.value > 0 or not positive, figure
    assert Report.from_json(json.loads(json.dumps(report.to_json(), allow_nan=False))) == report


def test_latency_plays_the_same_waiting_times_in_every_arm() -> None:
    pytest.importorskip("httpx2")
    report = latency.report(runs=(1,), episodes=3, length=2, median=0.01)
    finite(report)
    [seconds], [drawn] = report.details["seconds"], report.details["drawn_s"]
    assert seconds["batch"] >= drawn["slowest"] and seconds["slowest"] >= drawn["slowest"]
    assert seconds["lock-step"] >= drawn["lock-step"] >= drawn["slowest"]


def test_overhead_counts_every_step_at_every_length() -> None:
    report = overhead.report(repeats=2, steps=60, lengths=(3, 30))
    finite(report, positive=False)
    assert [figure.name for figure in report.figures][:2] == ["all history, 3 steps", "all history, 30 steps"]


def test_imports_are_measured_in_interpreters_of_their_own() -> None:
    report = imports.report(repeats=2)
    finite(report, positive=False)
    assert report.figures[-1].value >= 1  # metagym is loaded over gymnasium's modules


def test_searchers_are_measured_on_the_invented_world_where_there_are_no_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(search, "MATERIAL", tmp_path)
    report = search.report(repeats=1)
    finite(report, positive=False)
    assert report.holds and "172 passages" in report.title and any("fts5" in figure.name for figure in report.figures)


def test_sesa_shows_the_gain_of_a_card_on_the_invented_world_where_there_is_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sesa, "MATERIAL", tmp_path)
    figures = {figure.name: figure for figure in sesa.gains(tmp_path / "bank")}
    assert all(figure.holds is not False for figure in figures.values())
    assert figures["invented world, on: exact match"].value > figures["invented world, placebo: exact match"].value


def test_the_sandbox_is_measured_with_every_layer_on(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = sandbox.corpus(numpy=False)
    few = {name: programs[name] for name in list(programs)[:2]}
    monkeypatch.setattr(sandbox, "corpus", lambda numpy, folder=None: few)
    report = sandbox.report(repeats=1, steps=20, rounds=1)
    finite(report)
    assert set(report.details["slowdowns"]) <= set(few)
    assert sum(figure.holds is not None for figure in report.figures) >= 5


def test_spade_plays_as_many_plays_in_the_sandbox_as_by_exec() -> None:
    report = spade.report(repeats=1, count=2)
    finite(report)
    assert [figure.unit for figure in report.figures] == ["x", "/s", "/s", "/min"]
    assert len({program.digest for program in spade.programs(16)}) == 16


def test_the_native_engine_is_measured_and_the_real_one_left_out_where_told() -> None:
    report = adapters.engine_report(games=2, steps=20, sorts=("generated",), with_real=False)
    finite(report)
    assert len(report.figures) == 4 and report.details["generated"]["steps"] == 20


def test_rows_of_the_stand_ins_keep_value_interval_and_bound() -> None:
    report = adapters.stand_ins_report(games=1, meta_seeds=(), transfer=False)
    finite(report, positive=False)
    empty = report.figures[0]
    assert empty.name == "empty prompt" and empty.bound == "<= 0.15" and 0 <= empty.low <= empty.high <= 1


@pytest.mark.slow
def test_the_viewer_is_measured_in_a_browser() -> None:
    found()  # or the test is skipped
    report = viewer.report(repeats=1, episodes=40, steps=2)
    finite(report)
    assert len(report.figures) == 6


def test_figures_are_medians_with_quartiles_held_against_their_bounds() -> None:
    figure = at_most(3, "x", [1.0, 2.0, 3.0, 4.0, 100.0], "ms")
    assert (figure.value, figure.low, figure.high, figure.repeats, figure.holds) == (3.0, 2.0, 4.0, 5, True)
    assert (told("x", [5.0, 1.0, 2.0], "ms").low, told("x", [5.0, 1.0, 2.0], "ms").high) == (1.0, 5.0)
    assert at_most(2.9, "x", [3.0], "ms").holds is False
    assert at_least(3, "x", [3.0], "x").holds is True and at_least(3.1, "x", [3.0], "x").holds is False
    assert told("x", [3.0], "ms").holds is None
    assert not Report("n", "t", [at_most(1, "x", [2.0], "ms"), told("y", [1.0], "ms")]).holds
    assert Report("n", "t", [told("y", [1.0], "ms")]).holds


def test_ratios_go_pair_by_pair_and_need_equal_counts() -> None:
    assert ratios([2.0, 9.0], [1.0, 3.0]) == [2.0, 3.0]
    with pytest.raises(ValueError, match="shorter"):
        ratios([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00123, "0.00123"), (1.0, "1.00"), (12.34, "12.3"), (123.4, "123"), (4567, "4,567"), (-1.5, "-1.50")],
)
def test_numbers_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert number(value) == text


def test_a_rerun_renews_its_table_and_leaves_the_words_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme, results = tmp_path / "README.md", tmp_path / "results"
    readme.write_text(f"before\n{command.BEGIN}\nold table\n{command.END}\nafter\n", encoding="utf-8")
    for value in (1.5, 2.5):
        report = Report("imports", "title", [Figure("f", value, "ms", value, value, 1, "<= 2", value <= 2)])
        monkeypatch.setitem(command.BENCHMARKS, "imports", lambda report=report: report)
        command.run("imports", results)
        command.renew(readme, results)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{command.BEGIN}\n") and text.endswith(f"{command.END}\nafter\n")
    assert "old table" not in text and "1.50 ms" not in text
    assert "| f | 2.50 ms |  | <= 2: **fails** |  |" in text and "python -m benchmarks --only imports" in text
    command.renew(readme, results)
    assert readme.read_text(encoding="utf-8") == text


def test_a_readme_without_markers_is_left_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("words", encoding="utf-8")
    with pytest.raises(SystemExit, match="markers"):
        command.renew(readme, tmp_path)
    assert readme.read_text(encoding="utf-8") == "words"


def test_the_machine_is_named_in_words() -> None:
    facts = machine()
    assert str(facts["cores"]) in machine_line(facts) and facts["python"] in machine_line(facts)


def test_the_skill_bank_is_measured_with_each_embedder_that_is_there() -> None:
    report = skills.report(adds_at=40, searches_at=60, repeats=3)
    finite(report)
    assert report.figures[5].value == 100 and len(report.figures) == 6 * len(report.details["embedders"])


def test_the_capacity_model_is_held_against_simulations_and_real_runs() -> None:
    report = capacity.report(seeds=(1,), episodes=40, crowds=(1, 8), real_episodes=10)
    finite(report, positive=False)
    assert len(report.details["rows"]) == 2 * len(capacity.CASES)
    assert report.figures[0].value < 30  # few episodes: an order, not a bound


@pytest.mark.parametrize("crowd", [1, 3])
def test_a_simulated_server_gives_every_stream_its_share(crowd: int) -> None:
    server = capacity._Shared(2.0)
    for stream in range(crowd):
        server.streams.append((1.0, stream, stream))
    assert server.ends() == pytest.approx(max(1.0, crowd / 2))


@pytest.mark.slow
def test_playing_elsewhere_is_measured_per_episode_and_step() -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    report = scale.report(workers=1, episodes=4, repeats=1, at_once=2)
    finite(report, positive=False)
    assert len(report.figures) == 4 * 3 + 3 + 1

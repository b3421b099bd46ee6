"""The papers' tables, made of real run folders of small evaluations by scripted stand-ins."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from metagym.chat import Request
from metagym.errors import BadInput, RunError
from metagym.evaluation import Benchmark, Sampling, Suite
from metagym.evaluation.run import Entrant, RunSettings
from metagym.ict.config import RunConfig
from metagym.ict.evaluate import Arm
from metagym.ict.evaluate import EvalConfig as IctEvalConfig
from metagym.runs.evals import EvalConfig, run_eval_sync
from metagym.runs.evals_results import load_evals
from metagym.runs.folder import RunFolder
from metagym.runs.ict import eval_ict
from metagym.runs.papers import papers_table
from metagym.runs.papers_formats import FORMATS, as_csv, as_latex, as_markdown, as_text
from metagym.runs.report.papers import render_papers
from metagym.sesa.evaluate import EvalConfig as SesaEvalConfig
from metagym.stats import Estimate, McNemar, paired_difference

HINT = "Walk to the goal and keep off the holes."
LAKE = Benchmark("lake", "FrozenLake", limit=6, samples=2, max_steps=12, title="Frozen_Lake")
TAXI = Benchmark("taxi", "Taxi", limit=4, samples=2, max_steps=8)
SUITE = Suite("toy", "Toy text", (LAKE, TAXI))


def evaluated(path: Path, *entrants: Entrant, suite: Suite = SUITE, seed: int = 0) -> Path:
    return run_eval_sync(EvalConfig(suite, entrants, settings=RunSettings(seed=seed)), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluations")


@pytest.fixture(scope="module")
def base(folder: Path) -> Path:
    return evaluated(folder / "base", Entrant("untrained", "random"))


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    return evaluated(folder / "trained", Entrant("trained", "rules", HINT))


def test_systems_stand_beside_benchmarks_and_each_figure_is_the_run_s_own(base: Path, trained: Path) -> None:
    table = papers_table([base, trained])
    assert [row.name for row in table.rows] == ["untrained", "trained"]
    assert [(c.suite, c.title, c.tasks, c.samples) for c in table.columns] == [
        ("Toy text", "Frozen_Lake", 6, 2),
        ("Toy text", "taxi", 4, 2),
        ("Toy text", "mean", 10, 0),
    ]
    for row, run in zip(table.rows, (base, trained), strict=True):
        for number, name in enumerate(("lake", "taxi")):
            assert row.cells[number].value == load_evals(run).score(row.name, name).measures.avg
        lake, taxi, mean = (cell.value for cell in row.cells)
        assert mean is not None and mean.value == pytest.approx((lake.value + taxi.value) / 2)  # type: ignore[union-attr]
    assert table.baseline == "untrained" and table.rows[0].cells[0].contrast is None
    told = table.rows[1].cells[0].contrast
    scores = [load_evals(run).score(name, "lake").by_task for run, name in ((base, "untrained"), (trained, "trained"))]
    assert told is not None and told.difference == paired_difference(*scores)
    assert table.notes[0] == "Scripted stand-ins, no language models: untrained, trained."
    assert any("nothing is corrected" in note for note in table.notes)
    assert papers_table([base, trained]) == table


def test_the_baseline_can_be_named(base: Path, trained: Path) -> None:
    table = papers_table([base, trained], baseline="trained")
    assert table.rows[0].cells[0].contrast is not None and table.rows[1].cells[0].contrast is None
    with pytest.raises(BadInput, match="no system 'other' in these runs; there are untrained, trained"):
        papers_table([base, trained], baseline="other")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"limit": 5}, "tasks is 6 in the first and 5 in the second"),
        ({"max_steps": 11}, "turns is 12 in the first and 11 in the second"),
        ({"samples": 1}, "samples is 2 in the first and 1 in the second"),
        ({"family": "Taxi"}, 'family is "FrozenLake" in the first and "Taxi" in the second'),
    ],
)
def test_unlike_results_in_a_column_are_refused_by_field(base: Path, tmp_path: Path, change: dict, field: str) -> None:
    suite = Suite("toy", "Toy text", (replace(LAKE, **change),))
    odd = evaluated(tmp_path / "odd", Entrant("odd", "random"), suite=suite)
    with pytest.raises(RunError, match=field) as caught:
        papers_table([base, odd])
    assert "base: untrained on lake and odd: odd on lake are not alike" in str(caught.value)


def test_a_stand_in_that_fits_any_sampling_hides_no_unlike_models_behind_it(base: Path, tmp_path: Path) -> None:
    def walks(name: str, temperature: float) -> Path:
        suite = Suite("toy", "Toy text", (replace(LAKE, sampling=Sampling(temperature)),))
        return evaluated(tmp_path / name, Entrant(name, "python:tests.unit.runs.test_papers:walks"), suite=suite)

    cold, warm = walks("cold", 0.0), walks("warm", 1.0)
    assert len(papers_table([base, cold]).rows) == 2
    for runs in ([base, cold, warm], [cold, base, warm], [cold, warm, base]):
        with pytest.raises(RunError, match="cold on lake and warm: warm on lake.* sampling.temperature is 0.0 in the"):
            papers_table(runs)


def walks(request: Request) -> str:
    """A model whose sampling settings stand in its card."""
    return "Action: move right"


def test_runs_of_other_seeds_are_further_samples_and_one_seed_counts_once(folder: Path, base: Path) -> None:
    again = evaluated(folder / "again", Entrant("untrained", "random"), seed=1)
    table = papers_table([base, again])
    [row] = table.rows
    told = row.cells[0].measures
    assert told is not None and (told.samples, told.episodes, row.cells[0].runs) == (4, 24, ("base", "again"))
    single = [papers_table([run]).rows[0].cells[0].value.value for run in (base, again)]  # type: ignore[union-attr]
    assert row.cells[0].value is not None and row.cells[0].value.value == pytest.approx(sum(single) / 2)
    with pytest.raises(BadInput, match="one system and one seed"):
        papers_table([base, base])


def test_a_further_seed_under_other_settings_is_not_alike(folder: Path, base: Path) -> None:
    suite = Suite("toy", "Toy text", (replace(LAKE, max_steps=11),))
    odd = evaluated(folder / "shorter", Entrant("untrained", "random"), suite=suite, seed=5)
    with pytest.raises(RunError, match="turns is 12 in the first and 11 in the second"):
        papers_table([base, odd])


def test_another_number_of_seeds_is_not_alike(folder: Path, base: Path, trained: Path) -> None:
    more = evaluated(folder / "more", Entrant("untrained", "random"), seed=2)
    with pytest.raises(RunError, match="2 and 1 seeds"):
        papers_table([base, more, trained])


def test_one_name_of_two_systems_becomes_two_rows(folder: Path, trained: Path) -> None:
    other = evaluated(folder / "other", Entrant("trained", "rules", "Do nothing."))
    assert [row.name for row in papers_table([trained, other]).rows] == ["trained: trained", "other: trained"]


def test_a_partial_result_has_no_figure_and_is_named(folder: Path, base: Path, trained: Path) -> None:
    partial = folder / "partial"
    with RunFolder.open(trained) as whole:
        manifest, records = whole.manifest, list(whole.records.records())
    with RunFolder.create(partial, manifest) as cut:
        for key, value in records:
            if key != "end" and not key.endswith("/1"):
                cut.records.append(key, value)
    table = papers_table([base, partial])
    cell = table.rows[1].cells[0]
    assert (cell.value, cell.missing, cell.contrast) == (None, 6, None)
    assert table.rows[1].cells[2].value is None  # no mean over what is not there
    assert any("trained on Frozen_Lake is partial (partial lacks 6 episodes)" in note for note in table.notes)
    turned = papers_table([partial, base])  # nothing is compared with a partial baseline either
    assert turned.baseline == "trained" and turned.rows[1].cells[0].contrast is None and turned.rows[1].cells[0].value
    assert "partial" in as_markdown(table) and "partial" in as_latex(table)
    row = next(one for one in csv.DictReader(io.StringIO(as_csv(table))) if one["system"] == "trained")
    assert (row["value"], row["missing"]) == ("", "6")


def test_a_run_that_was_killed_before_its_list_of_tasks_is_partial_beside_its_other_seeds(
    folder: Path, base: Path
) -> None:
    with RunFolder.open(base) as whole:
        manifest = {**whole.manifest, "config": {**whole.manifest["config"], "seed": 7}}
    with RunFolder.create(folder / "nothing", manifest):
        pass
    for runs in ([folder / "nothing", base], [base, folder / "nothing"]):
        table = papers_table(runs)
        assert [(cell.value, cell.missing) for cell in table.rows[0].cells] == [(None, 12), (None, 8)]
        assert [column.tasks for column in table.columns] == [6, 4]
    assert [cell.missing for cell in papers_table([folder / "nothing"]).rows[0].cells] == [12, 8]


@pytest.mark.parametrize("measure", ["pass@1", "pass@2", "return"])
def test_other_measures_are_shown_without_a_contrast(base: Path, trained: Path, measure: str) -> None:
    table = papers_table([base, trained], measure=measure)
    own = load_evals(base).score("untrained", "lake").measures
    wanted = own.returns if measure == "return" else own.pass_at[int(measure[5:])]
    assert table.rows[0].cells[0].value == wanted and table.rows[1].cells[0].contrast is None
    assert all(column.name for column in table.columns)


@pytest.mark.parametrize("measure", ["", "pass@", "pass@0", "acc", "pass@3"])
def test_unknown_measures_are_refused(base: Path, measure: str) -> None:
    if measure == "pass@3":  # of two samples there is none: unmeasured, not an error
        table = papers_table([base], measure=measure)
        assert table.rows[0].cells[0].value is None
        assert "pass@3 of untrained on Frozen_Lake is not measured: there are 2 samples of a task." in table.notes
        return
    with pytest.raises(BadInput, match="a measure is avg, pass@K"):
        papers_table([base], measure=measure)


def test_arms_of_ict_and_deployments_of_sesa_are_systems_too(tmp_path: Path, base: Path) -> None:
    import asyncio

    from metagym.runs.sesa import eval_sesa

    run = RunConfig(family="ALFWorld", actor="rules", reflector="rules", eval_tasks=6, max_steps=4)
    arm = Arm("better", prompt="If something is closed, open it.")
    asyncio.run(eval_ict(IctEvalConfig(run, (arm,), (0, 1)), tmp_path / "ict"))
    asyncio.run(eval_sesa(SesaEvalConfig(count=6, deployments=("off",)), tmp_path / "sesa"))
    table = papers_table([base, tmp_path / "ict", tmp_path / "sesa"])
    assert [row.name for row in table.rows] == ["untrained", "initial prompt", "better", "rules (off)"]
    titles = {column.title: n for n, column in enumerate(table.columns)}
    cell = table.rows[2].cells[titles["ALFWorld, held-out"]]
    assert cell.measures is not None and (cell.measures.samples, cell.measures.episodes) == (2, 12)
    assert table.rows[1].cells[0].value is None and table.rows[1].cells[0].measures is None
    sesa = table.rows[3].cells[-1] if table.columns[-1].suite == "SESA" else None
    assert sesa is not None and sesa.value is not None


def test_what_is_no_evaluation_is_refused(make_run, base: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="which is no evaluation: tables are made of runs of 'eval', 'ict eval'"):
        papers_table([base, make_run("training")])
    with pytest.raises(RunError, match="not a run folder"):
        papers_table([tmp_path])
    with pytest.raises(BadInput, match="at least one run folder"):
        papers_table([])


def test_a_score_that_nothing_has_is_refused_and_an_unmeasured_majority_is_named(base: Path) -> None:
    with pytest.raises(BadInput, match="nothing in these runs has 'score:foo'; further scores that are there: none"):
        papers_table([base], measure="score:foo")
    notes = papers_table([base], measure="maj").notes
    assert "maj of untrained on Frozen_Lake is not measured: no episode has a final answer." in notes


HOSTILE = "m\\input{x}&|<script>alert(1)</script>=cmd`*[a](javascript:x)"


@pytest.fixture
def hostile(folder: Path, base: Path, trained: Path):
    table = papers_table([base, trained])
    rows = (replace(table.rows[0], name="=SUM(A1)"), replace(table.rows[1], name=HOSTILE))
    return replace(table, rows=rows, notes=(HOSTILE,))


def test_names_cannot_write_markup_in_any_format(hostile) -> None:
    latex = as_latex(hostile)
    assert "\\input{" not in latex and "\\textbackslash{}input\\{x\\}\\&" in latex
    markdown = as_markdown(hostile)
    assert "<script" not in markdown.replace("\\<", "") and "\\[a\\]" in markdown and "\\|" in markdown
    assert all(line.count(" | ") == 3 for line in markdown.splitlines()[2:4])
    rows = list(csv.DictReader(io.StringIO(as_csv(hostile))))
    assert {row["system"] for row in rows} == {"'=SUM(A1)", HOSTILE}
    page = render_papers(hostile)
    assert "<script" not in page and "&lt;script&gt;" in page


def test_every_format_shows_the_same_figures(base: Path, trained: Path) -> None:
    table = papers_table([base, trained])
    value = table.rows[1].cells[0].value
    assert value is not None
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(as_text(table))
    shown = console.export_text()
    assert value.point() in shown and "Frozen_Lake (6 x 2)" in shown
    assert f"{value.point()} {value.interval()}" in as_markdown(table).replace("\\", "")
    assert f"{100 * value.value:.1f}" in as_latex(table) and "Frozen\\_Lake" in as_latex(table)
    row = next(
        r for r in csv.DictReader(io.StringIO(as_csv(table))) if (r["system"], r["benchmark"]) == ("trained", "lake")
    )
    assert (float(row["value"]), float(row["low"]), int(row["episodes"])) == (value.value, value.low, 12)
    assert json.loads(row["measures_json"])["avg"]["value"] == value.value
    assert set(FORMATS) == {"markdown", "latex", "csv"}
    page = render_papers(table)
    assert (
        page.count("<svg") == 3 and "default-src 'none'" in page and "://" not in page.replace("http://www.w3.org", "")
    )


def test_latex_needs_no_fonts_beyond_booktabs_and_no_name_is_an_argument(base: Path, trained: Path) -> None:
    table = papers_table([base, trained])
    named = replace(table, rows=(table.rows[0], replace(table.rows[1], name='[2pt] "x"')), notes=("Left out: b",))
    latex = as_latex(named)
    assert "textquotedbl" not in latex  # OT1, LaTeX's default, has no such sign
    assert "\n{}[2pt] ''x'' & " in latex  # behind the end of a row a bracket would be the gap's length
    assert "Left out: b.}" in latex


def test_of_a_further_score_nobody_knows_whether_more_is_better(base: Path, trained: Path) -> None:
    table = papers_table([base, trained])
    cells = table.rows[1].cells
    more = replace(cells[0], value=Estimate(2.0, None, None, 6, 0, ""))
    table = replace(table, rows=(table.rows[0], replace(table.rows[1], cells=(more, *cells[1:]))))
    assert table.best(0) == {1} and not replace(table, measure="score:loss").best(0)


def test_latex_tells_shares_alone_in_percent(base: Path) -> None:
    table = papers_table([base], measure="return")
    value = table.rows[0].cells[0].value
    assert value is not None and value.value is not None
    latex = as_latex(table)
    assert f" & {value.value:.2f} & " in latex and "percent" not in latex
    assert "in percent" in as_latex(papers_table([base], measure="pass@2"))


def test_latex_has_the_tests_that_its_caption_explains_and_csv_no_stray_apostrophe(base: Path, trained: Path) -> None:
    table = papers_table([base, trained])
    cell = table.rows[1].cells[0]
    assert cell.contrast is not None
    tested = replace(cell, contrast=replace(cell.contrast, test=McNemar(0, 0, 6, 0, 0.03125)))
    rows = (table.rows[0], replace(table.rows[1], cells=(tested, *table.rows[1].cells[1:])))
    assert ", $p = 0.031$}" in as_latex(replace(table, rows=rows))
    mean = next(one for one in csv.DictReader(io.StringIO(as_csv(table))) if one["benchmark"] == "mean")
    assert mean["runs"] == ""


def test_folders_of_one_name_are_told_apart_and_other_models_are_no_further_samples(tmp_path: Path) -> None:
    a = evaluated(tmp_path / "x" / "run", Entrant("m", "random"))
    b = evaluated(tmp_path / "y" / "run", Entrant("m", "rules"), seed=1)
    table = papers_table([a, b])
    assert [row.name for row in table.rows] == ["x/run: m", "y/run: m"] and table.runs == ("x/run", "y/run")
    assert [row.cells[0].measures.samples for row in table.rows if row.cells[0].measures] == [2, 2]

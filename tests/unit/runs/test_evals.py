"""Evaluations in run folders: what is read back, what is refused, what is named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metagym.episodes import Episode
from metagym.errors import BadInput, BudgetExceeded, RunError, StoreCorrupt, UnknownName
from metagym.evaluation.pairs import contrast
from metagym.evaluation.run import Entrant, RunSettings
from metagym.journal import Journal
from metagym.runs.evals import EvalConfig, run_eval, run_eval_sync
from metagym.runs.evals_prompts import read_prompt, with_prompts
from metagym.runs.evals_results import load_evals, paired
from metagym.runs.evals_rows import all_rows
from metagym.runs.evals_train import read_training
from metagym.runs.folder import RECORDS
from metagym.runs.papers import papers_table
from metagym.runs.report import write_report
from tests.support import quiz as support
from tests.unit.runs.test_report import report as page_of

# A commit while these tests run changes what a manifest says of the machine, and nothing else.
pytestmark = pytest.mark.filterwarnings("ignore:.*was started with environment.commit")


@pytest.fixture(autouse=True)
def _quiz() -> Iterator[None]:
    with support.registered():
        yield


def spec(name: str) -> str:
    return f"python:tests.support.quiz:{name}"


BOTH = (Entrant("half", spec("half")), Entrant("right", spec("right")))


def config(entrants: tuple[Entrant, ...] = BOTH, **fields: Any) -> EvalConfig:
    return EvalConfig("quiz", entrants, **fields)


def run(path: Path, *args: Any, **options: Any) -> Path:
    return run_eval_sync(config(*args, **{k: options.pop(k) for k in list(options) if k in FIELDS}), path, **options)


FIELDS = ("options", "preset", "only", "samples", "limit", "settings", "training", "temperature")


def rewrite(folder: Path, change: Callable[[str, Any], tuple[str, Any] | None]) -> None:
    """Writes the records anew, each with a checksum that fits."""
    with Journal.open(folder / RECORDS) as journal:
        found = list(journal.records())
    (folder / RECORDS).unlink()
    with Journal.open(folder / RECORDS, "w") as journal:
        journal.append_many(item for key, value in found if (item := change(key, value)) is not None)


def test_what_was_played_is_read_back_with_its_figures(tmp_path: Path) -> None:
    results = load_evals(run(tmp_path / "r"))
    assert [e.name for e in results.entrants] == ["half", "right"] and results.ended
    assert [b.name for b in results.benchmarks] == ["sums", "easy"]
    assert results.left_out == {"algebra": "nobody wrote it"}
    right = results.score("right", "sums")
    assert right.measures.avg.value == 1.0 and right.measures.avg.low is not None and not right.missing
    assert (right.measures.tasks, right.measures.samples, len(right.episodes)) == (12, 3, 36)
    half = results.score("half", "sums").measures
    assert 0.2 < (half.avg.value or 0) < 0.8 and set(half.pass_at) == {1, 2, 3} and half.maj is not None
    assert half.scores["distance"].n == 12 and half.backends == ("scripted",)
    assert results.score("right", "easy").measures.tasks == 6
    with pytest.raises(UnknownName, match="no model 'other'; it has half, right"):
        results.score("other", "sums")
    assert any("Left out: algebra: nobody wrote it" in line for line in results.notices)
    assert any("Scripted stand-ins" in line for line in results.notices)
    assert any("--train" in line for line in results.notices)


def test_models_are_compared_task_by_task(tmp_path: Path) -> None:
    results = load_evals(run(tmp_path / "r"))
    found = paired(results.score("half", "sums"), results.score("right", "sums"))
    assert found.difference.value == pytest.approx(1 - (results.score("half", "sums").measures.avg.value or 0))
    assert found.difference.n == 12 and found.test is None  # tasks that were won in some samples
    found = paired(results.score("half", "easy"), results.score("right", "easy"))
    assert found.test is not None and found.test.only_a == 0 and "Scripted" in found.notes[0]


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"samples": 2}, "samples is 3 in the first and 2 in the second"),
        ({"limit": 5}, "are not alike: (tasks|identities_digest|tasks_digest)"),
        ({"options": {"bonus": 1}}, "versions.bonus is 0"),
        ({"temperature": 0.5}, "sampling.temperature is 0.0 in the first and 0.5"),
    ],
)
def test_unlike_runs_are_not_compared_and_the_field_is_named(tmp_path: Path, other: dict[str, Any], field: str) -> None:
    a, b = (load_evals(run(tmp_path / str(n), **more)) for n, more in enumerate(({}, other)))
    with pytest.raises(BadInput, match=field):
        paired(a.score("right", "sums"), b.score("right", "sums"))


def test_a_run_of_another_seed_may_be_compared(tmp_path: Path) -> None:
    a, b = (
        load_evals(run(tmp_path / str(n), settings=RunSettings(seed=n), options={"path": f"/place/{n}"}))
        for n in range(2)
    )
    assert a.score("half", "sums").episodes != b.score("half", "sums").episodes
    paired(a.score("half", "sums"), b.score("half", "sums"))


def test_a_partial_run_is_named_and_not_compared(tmp_path: Path) -> None:
    from metagym.chat.accounts import Budget

    with pytest.raises(BudgetExceeded):
        run(tmp_path / "r", budget=Budget(calls=20), concurrency=1)
    results = load_evals(tmp_path / "r")
    score = results.score("half", "sums")
    assert not results.ended and score.measures.missing == len(score.missing) == 16
    assert any("has not ended (half on sums: 16 episodes missing" in line for line in results.notices)
    with pytest.raises(BadInput, match="r: half on sums lacks 16 episodes"):
        paired(score, score)
    assert results.score("right", "easy").measures.avg.value is None
    assert any("not compared" in text for rows in all_rows(results) for line in rows.lines for text in line)
    write_report(tmp_path / "r")
    whole = run(tmp_path / "whole")
    assert run(tmp_path / "r", resume=True) == tmp_path / "r"
    assert (tmp_path / "r" / RECORDS).read_bytes() == (whole / RECORDS).read_bytes()


def test_a_lost_record_of_an_ended_run_is_named(tmp_path: Path) -> None:
    run(tmp_path / "r")
    rewrite(tmp_path / "r", lambda key, value: None if key.endswith('test-3#3?{"number": 1003}/1') else (key, value))
    results = load_evals(tmp_path / "r")
    assert results.score("half", "sums").missing == (('Quiz/test-3#3?{"number": 1003}', 1),)
    assert any("missing although the run ended" in line for line in results.notices)


def _turned(key: str, value: Any, **changes: Any) -> tuple[str, Any]:
    return (key, {**value, **changes}) if value.get("entrant") == "half" and value.get("sample") == 0 else (key, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k, v: _turned(k, v, card="0" * 16), "another card than the manifest's"),
        (lambda k, v: _turned(k, v, entrant="right"), "its key names another episode"),
        (lambda k, v: _turned(k, v, sample=1), "its key names another episode"),
        (lambda k, v: (k.replace("/half/", "/whole/"), v), "its key names another episode"),
        (lambda k, v: (k, {**v, "tasks": v["tasks"][1:]} if "tasks" in v else v), "its tasks are others"),
        (lambda k, v: (k, {n: x for n, x in v.items() if n != "episode"}), "does not belong to this run"),
        (lambda k, v: None if k == "tasks/sums" else (k, v), "is none of benchmark sums"),
    ],
)
def test_records_that_do_not_fit_are_refused_by_name(tmp_path: Path, change: Any, message: str) -> None:
    run(tmp_path / "r")
    rewrite(tmp_path / "r", change)
    with pytest.raises(StoreCorrupt, match=message):
        load_evals(tmp_path / "r")


def test_an_edited_line_breaks_its_checksum(tmp_path: Path) -> None:
    file = run(tmp_path / "r") / RECORDS
    file.write_bytes(file.read_bytes().replace(b'"success":false', b'"success":true ', 1))
    with pytest.raises(StoreCorrupt, match="checksum"):
        load_evals(tmp_path / "r")


def test_a_manifest_whose_card_was_edited_fits_no_record(tmp_path: Path) -> None:
    file = run(tmp_path / "r") / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["cards"]["half"]["sums"]["turns"] = 7
    file.write_text(json.dumps(manifest))
    with pytest.raises(StoreCorrupt, match="another card"):
        load_evals(tmp_path / "r")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["config"].update(seed=7), "another seed of a run than the manifest's, which is 7"),
        (lambda m: m["versions"]["models"]["half"].update(backend="server"), "kind 'scripted' played it, and half"),
    ],
)
def test_a_copy_that_claims_another_seed_or_kind_of_model_fits_no_record(
    tmp_path: Path, change: Any, message: str
) -> None:
    """Else the same samples would be counted as those of a second seed."""
    file = run(tmp_path / "r") / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))
    with pytest.raises(StoreCorrupt, match=message):
        load_evals(tmp_path / "r")


def test_commands_that_were_cleaned_and_those_that_were_not_are_not_alike(tmp_path: Path) -> None:
    a = load_evals(run(tmp_path / "a", limit=2)).score("half", "sums")
    b = load_evals(run(tmp_path / "b", limit=2, settings=RunSettings(clean=False))).score("half", "sums")
    with pytest.raises(BadInput, match="asked.clean is true in the first and false in the second"):
        paired(a, b)


def test_a_run_resumes_with_its_own_settings_only(tmp_path: Path) -> None:
    run(tmp_path / "r")
    with pytest.raises(RunError, match=r"benchmarks\.easy\.samples = 1 and cannot"):
        run(tmp_path / "r", resume=True, samples=2)
    with pytest.raises(RunError, match="already holds a run"):
        run(tmp_path / "r")
    with pytest.raises(RunError, match="not of 'eval'"):
        other = tmp_path / "other"
        other.mkdir()
        (other / "manifest.json").write_text('{"format": 1, "command": "ict run"}')
        Journal.open(other / RECORDS, "w").close()
        load_evals(other)


def test_training_tasks_are_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    test, train = support.Quiz().task_set("test"), support.Quiz().task_set("train")
    rows.write_text("\n".join(json.dumps({"tasks": [task.to_json()]}) for task in (*train, test[5])))
    with pytest.raises(BadInput, match=r"1 of 12 test tasks of sums .*Quiz/test-5#5"):
        run(tmp_path / "r", training=(str(rows),))
    assert not (tmp_path / "r").exists()
    rows.write_text("\n".join(json.dumps({"tasks": [task.to_json()]}) for task in train))
    results = load_evals(run(tmp_path / "r", training=(str(rows),)))
    assert any("named: rows.jsonl" in line for line in results.notices)


def test_what_tells_of_training_is_read_and_what_does_not_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": [{"role": "user", "content": "Q?"}]}\n{"question": "R?"}\n{"key": "A/b#0"}\n')
    found = read_training(rows)
    assert found.texts == ("Q?", "R?") and found.keys == {"A/b#0"}
    rows.write_text(
        '{"conversations": [{"from": "human", "value": "S?"}]}\n{"instruction": "T?", "input": ""}\n{"text": "U?"}\n'
        '{"messages": [{"role": "assistant", "content": [{"type": "text", "text": "V?"}, {"type": "image"}]}, 5]}\n'
    )
    assert read_training(rows).texts == ("S?", "T?", "U?", "V?")
    for text, message in (
        ("{}", "line 1 names no"),
        ('{"question": "R?"}\n{"q": "S?"}', "line 2 names no"),
        ("", "no row"),
        ("[1]", "no JSON object"),
        ("{", "is no JSON"),
    ):
        rows.write_text(text)
        with pytest.raises(BadInput, match=message):
            read_training(rows)
    with pytest.raises(BadInput, match="neither a run folder nor a skill bank"):
        read_training(tmp_path)
    with pytest.raises(BadInput, match="cannot be read"):
        read_training(tmp_path / "nothing.jsonl")
    with pytest.raises(BadInput, match="nothing was trained there"):
        read_training(run(tmp_path / "r"))


def test_prompts_are_texts_files_and_runs(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("Add well.")
    assert read_prompt("initial")[0] is None and read_prompt(f"@{tmp_path}/p.txt") == ("Add well.", "p.txt")
    assert read_prompt("Be brief.")[0] == "Be brief."
    with pytest.raises(BadInput, match="cannot be read"):
        read_prompt(f"@{tmp_path}/none.txt")
    two = with_prompts(list(BOTH), [("a", "initial"), ("b", "Be brief.")])
    assert [e.name for e in two] == ["half+a", "half+b", "right+a", "right+b"] and two[1].prompt == "Be brief."
    results = load_evals(run(tmp_path / "r", two))
    assert any("half+b (a given text)" in line for line in results.notices)
    paired(results.score("half+a", "sums"), results.score("half+b", "sums"))  # prompts may differ


def test_hostile_text_of_a_model_does_not_leave_its_place_in_the_report(tmp_path: Path) -> None:
    evil = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"
    suite = support.quiz(samples=1)
    entrant = Entrant("m", "python:tests.unit.runs.test_evals:wicked")
    page, _ = page_of(asyncio.run(run_eval(EvalConfig(suite, (entrant,)), tmp_path / "r")))  # checks what all keep to
    assert evil not in page and "<script" not in page and "&lt;script&gt;alert(1)" in page
    assert "<svg" in page and "algebra" in page


def wicked(request: Any) -> str:
    return "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"


def test_other_kinds_of_model_and_other_observations_are_told(tmp_path: Path) -> None:
    score = load_evals(run(tmp_path / "r", BOTH[:1], limit=3, samples=1)).score("half", "sums")
    played = [one.episode for one in score.episodes]
    served = [replace(one, backend="server") for one in played]
    seen = replace(played[1], turns=(played[1].turns[0]._replace(observation="Other words."), *played[1].turns[1:]))

    def notes(other: list[Episode]) -> str:
        return " ".join(contrast("a", score.card, played, 0, "b", score.card, other, 0).notes)

    assert "Different kinds of model: scripted and server." in notes(served)
    assert "Scripted stand-ins on both sides" in notes(played) and "another first observation" not in notes(played)
    told = f"1 tasks showed another first observation on the two sides: {seen.task.key}."
    assert told in notes([played[0], seen, played[2]])


def test_equal_rows_of_a_file_are_named(tmp_path: Path) -> None:
    pytest.importorskip("math_verify")
    file = tmp_path / "gsm8k.jsonl"
    file.write_text("\n".join(json.dumps({"prompt": f"What is {n} + 1?", "label": n + 1}) for n in (1, 2, 1)))
    config = EvalConfig("reasoning", BOTH[:1], {"gsm8k": str(file)}, only=("gsm8k",), preset="none")
    results = load_evals(run_eval_sync(config, tmp_path / "r", hosts="thread"))
    assert "1 of the 3 tasks of gsm8k are the same as an earlier one; each counts." in results.notices


def test_unscored_episodes_are_counted_and_named(tmp_path: Path) -> None:
    results = load_evals(run(tmp_path / "r", (Entrant("right", spec("right")),), options={"broken": True}))
    told = results.score("right", "sums").measures
    assert told.unscored == 9 and told.avg.value == 1.0 and told.avg.n == 9 and told.at_worst == 0.75
    assert "1.000 [0.701, 1.000] (9 of 36 unscored)" in all_rows(results)[0].lines[0]
    assert any("Had they been lost, avg@k would be 0.750 and not 1.000." in line for line in results.notices)
    notes = papers_table([tmp_path / "r"]).notes
    assert "9 of 36 episodes of right on Sums are unscored; had they been lost, avg@k would be 0.750." in notes
    assert any(
        "Unscored: 9 of 36 episodes of right on sums" in line and "judge is down" in line for line in results.notices
    )


def test_other_versions_of_metagym_are_named_and_not_resumed_with(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a"), run(tmp_path / "b", settings=RunSettings(seed=1))
    file = b / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "metagym": "9.9"}))
    one, other = load_evals(a), load_evals(b)
    found = paired(one.score("half", "sums"), other.score("half", "sums"))
    assert "and 9.9, whose families may differ" in found.notes[0]
    assert any("several versions of MetaGym (" in note for note in papers_table([a, b]).notes)
    with pytest.raises(RunError, match='metagym = "9.9" and cannot be resumed'):
        run(b, resume=True, settings=RunSettings(seed=1))


@pytest.mark.parametrize("kept", [0, 1])
def test_a_run_that_was_killed_at_its_start_lacks_everything(tmp_path: Path, kept: int) -> None:
    file = run(tmp_path / "r") / RECORDS
    whole = file.read_bytes()
    file.write_bytes(b"".join(whole.splitlines(keepends=True)[:kept]))
    results = load_evals(tmp_path / "r")
    for score in results.scores:
        assert score.measures.missing == len(score.missing) == score.measures.tasks * score.measures.samples > 0
        assert score.measures.avg.value is None
    with pytest.raises(BadInput, match="lacks 6 episodes"):
        paired(results.score("half", "easy"), results.score("right", "easy"))
    write_report(tmp_path / "r")
    run(tmp_path / "r", resume=True)
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m["benchmarks"].pop("easy"), "cards are of other models or benchmarks"),
        (lambda m: m["cards"].pop("half"), "cards are of other models"),
        (lambda m: m["benchmarks"]["easy"].update(smaples=3), "no field 'smaples'"),
        (lambda m: m["benchmarks"]["easy"].update(samples=3), "other samples than its benchmark"),
        (lambda m: m.update(cards=[]), "none of an evaluation"),
        (lambda m: m["entrants"]["half"].update(name="x/y"), "name of a model"),
        (lambda m: m["benchmarks"]["easy"].update(name="hard"), "'easy' is called 'hard'"),
        (lambda m: m["config"].update(seed="abc"), "config.seed is a whole number"),
        (lambda m: m["cards"]["half"]["easy"].update(tasks="6"), "number of tasks of easy is a whole number"),
        (lambda m: m["cards"]["half"]["easy"].update(sampling=5), "the sampling of a card is a dict"),
        (lambda m: m["versions"].pop("models"), "models"),
        (lambda m: m.update(notes=5), "its notes are no list"),
        (lambda m: m.update(left_out="abc"), "left_out is a dict"),
        (lambda m: m.update(training=[5]), "none of an evaluation"),
        (lambda m: m.update(suite=None), "its suite has no name"),
    ],
)
def test_a_manifest_that_was_edited_is_refused(tmp_path: Path, change: Any, reason: str) -> None:
    file = run(tmp_path / "r") / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))
    with pytest.raises(RunError, match=reason):
        load_evals(tmp_path / "r")

"""Run folders of SESA: what they hold, what is read from them, reports, and comparisons that are refused."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, EmbedderMismatch, MetaGymWarning, NoTasks, RunError, StoreCorrupt, StoreError
from metagym.journal import Journal
from metagym.runs.compare import compare
from metagym.runs.folder import BANK, RECORDS, RunFolder
from metagym.runs.report import write_report
from metagym.runs.sesa import eval_sesa_sync, run_sesa_sync
from metagym.runs.sesa_evals import eval_settings, evaluation_scores
from metagym.runs.sesa_notices import sesa_notices
from metagym.runs.sesa_results import bank_path, load_sesa, state_name
from metagym.sesa.cards import SkillCard
from metagym.sesa.evaluate import EvalConfig
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.scores import MICRO
from metagym.sesa.skills import SkillBank
from tests.unit.runs.test_report import run_browser
from tests.unit.runs.test_resume import calls
from tests.unit.sesa.loops import settings

CONFIG = settings(rounds=3, questions=5, probe_fraction=0.25)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_sesa_sync(CONFIG, tmp_path_factory.mktemp("sesa") / "run")


@pytest.fixture(scope="module")
def ssp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_sesa_sync(settings("ssp", rounds=1), tmp_path_factory.mktemp("sesa") / "ssp")


def evaluated(run: Path | None, out: Path, *deployments: str, **changes: Any) -> Path:
    rollout = changes.pop("rollout", {})
    config, bank, state = eval_settings(run, None, deployments or None, {"count": 12, **changes}, rollout)
    return eval_sesa_sync(config, out, bank=bank, state_of=state)


def test_results_tell_births_uses_wins_lift_and_what_was_given_up(run: Path) -> None:
    results = load_sesa(run)
    assert results.ended and len(results.rounds) == len(results.summaries) == len(results.banks) == 3
    with SkillBank.open(run / BANK, read_only=True) as bank:
        entries = {entry.card.id: entry for entry in bank.entries()}
        assert results.last == {"seq": bank.seq, "digest": bank.digest}
    assert {card.id for card in results.cards} == set(entries)
    for card in results.cards:
        entry = entries[card.id]
        assert (card.uses, card.wins, card.text) == (entry.uses, entry.wins, entry.card.description)
        assert (card.born == -1) == (card.source == "hand")
    learnt = [card for card in results.cards if card.source == "failure"]
    assert learnt and any(card.uses for card in learnt)
    probed = [slot.attempt for slot in results.slots if slot.attempt and slot.attempt.probes]
    assert results.lift.n == len(probed) > 0
    gains = [
        sum(map(float, one.outcomes)) / len(one.outcomes)  # type: ignore[arg-type]
        - sum(float(probe.success) for probe in one.probes) / len(one.probes)  # type: ignore[arg-type]
        for one in probed
    ]
    assert results.lift.value == pytest.approx(sum(gains) / len(gains)) != 0.0
    assert state_name(results, results.last["seq"]) == "evolved: after round 2"  # type: ignore[index]
    assert results.primed is not None
    assert state_name(results, results.primed["bank"]["seq"]) == "initial: as it was primed"
    assert state_name(results, 10**6) == "none that the run recorded"


def test_a_retired_card_and_one_that_nobody_probed_are_told_as_such(tmp_path: Path) -> None:
    from metagym.sesa.maintenance import Upkeep

    config = replace(CONFIG, rounds=2, upkeep=Upkeep(min_uses=1, min_score=1.0), probe_fraction=0.0)
    results = load_sesa(run_sesa_sync(config, tmp_path / "run"))
    gone = [card for card in results.cards if card.gone is not None]
    assert gone and all("score" in card.why and card.source == "failure" for card in gone)
    assert not results.lift.measured and all(not card.lift.measured for card in results.cards)
    html = write_report(tmp_path / "run").read_text("utf-8")
    assert f"{gone[0].gone}: {gone[0].why}" in html


def test_the_bank_may_stand_elsewhere_and_is_primed_only_once(tmp_path: Path) -> None:
    with SkillBank.open(tmp_path / "mine", "hash", 0.9) as bank:
        bank.add(SkillCard("Look at the date of every passage."))
    config = settings(rounds=1)
    first = run_sesa_sync(config, tmp_path / "one", bank=tmp_path / "mine")
    assert not (first / BANK).exists()
    with RunFolder.open(first) as folder:
        assert bank_path(folder) == tmp_path / "mine" and folder.manifest["bank"] == str(tmp_path / "mine")
    with SkillBank.open(tmp_path / "mine", read_only=True) as bank:
        assert bank.threshold == 0.9 and "Look at the date" in bank.entries()[0].card.description
    second = load_sesa(run_sesa_sync(replace(config, seed=1), tmp_path / "two", bank=tmp_path / "mine"))
    assert second.primed is not None and not second.primed["primed"]["hand"]
    with pytest.raises(EmbedderMismatch, match="wordllama|hash"):
        run_sesa_sync(replace(CONFIG, embedder="hash:64"), tmp_path / "three", bank=tmp_path / "mine")


def test_c9_entries_past_the_checkpoint_are_set_aside_and_told(tmp_path: Path, run: Path) -> None:
    import shutil

    shutil.copytree(run, tmp_path / "run")
    with SkillBank.open(tmp_path / "run" / BANK) as bank:
        stray = bank.add(SkillCard("Written by somebody else meanwhile."))
    with pytest.warns(MetaGymWarning, match=r"taken back to event \d+.*set-aside"):
        run_sesa_sync(CONFIG, tmp_path / "run", resume=True)
    with SkillBank.open(tmp_path / "run" / BANK, read_only=True) as bank:
        assert stray.id not in bank
    assert (tmp_path / "run" / RECORDS).read_bytes() == (run / RECORDS).read_bytes()
    shutil.rmtree(tmp_path / "run" / BANK)
    with pytest.raises(StoreError, match="no skill bank"):
        run_sesa_sync(CONFIG, tmp_path / "run", resume=True)


def test_overwriting_takes_the_bank_along_and_a_stray_one_is_refused(tmp_path: Path, run: Path) -> None:
    config = settings(rounds=1)
    where = run_sesa_sync(config, tmp_path / "run")
    with pytest.raises(RunError, match="already holds a run"):
        run_sesa_sync(config, where)
    before = (where / BANK / "journal.jsonl").read_bytes()
    run_sesa_sync(config, where, overwrite=True)
    assert (where / BANK / "journal.jsonl").read_bytes() == before
    SkillBank.open(tmp_path / "other" / BANK).close()
    with pytest.raises(RunError, match="skill bank without a run"):
        run_sesa_sync(config, tmp_path / "other")
    with pytest.raises(RunError, match=r"config\.rounds = 1"):
        run_sesa_sync(settings(rounds=2), where, resume=True)


def test_a_read_only_bank_is_one_typed_error_and_nothing_is_lost(tmp_path: Path) -> None:
    with SkillBank.open(tmp_path / "mine") as bank:
        bank.add(SkillCard("Look at the date of every passage."))
    before = (tmp_path / "mine/journal.jsonl").read_bytes()
    (tmp_path / "mine/bank.json").write_text("{}", "utf-8")
    with pytest.raises(StoreError):
        run_sesa_sync(CONFIG, tmp_path / "run", bank=tmp_path / "mine")
    assert (tmp_path / "mine/journal.jsonl").read_bytes() == before


# --- evaluations


def test_v2_an_evaluation_names_one_solver_and_the_state_of_the_bank(run: Path, tmp_path: Path) -> None:
    out = evaluated(run, tmp_path / "eval")
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    results = load_sesa(run)
    bank = manifest["versions"]["bank"]
    assert {"seq": bank["seq"], "digest": bank["digest"]} == results.last
    assert bank["state"] == "evolved: after round 2" and manifest["versions"]["solver"]["id"].startswith("scripted:")
    assert manifest["card"]["questions"] == 12
    scores = evaluation_scores(out)
    assert scores.columns == ("off", "on", "placebo") and scores.success["off"][MICRO].n == 12


def test_v1_off_needs_no_bank_folder(run: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(run, tmp_path / "run")
    whole = evaluated(tmp_path / "run", tmp_path / "with", "off")
    shutil.rmtree(tmp_path / "run" / BANK)
    without = evaluated(tmp_path / "run", tmp_path / "without", "off")
    assert (whole / RECORDS).read_bytes() == (without / RECORDS).read_bytes()
    assert json.loads((without / "manifest.json").read_text("utf-8"))["versions"]["bank"] is None
    with pytest.raises(StoreError):
        evaluated(tmp_path / "run", tmp_path / "on", "on")


def test_s27_an_evaluation_leaves_the_memory_as_it_was(run: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in sorted((run / BANK).rglob("*")) if path.is_file()}
    evaluated(run, tmp_path / "eval")
    assert {path: path.read_bytes() for path in sorted((run / BANK).rglob("*")) if path.is_file()} == before
    html = write_report(tmp_path / "eval").read_text("utf-8")
    assert "evolved: after round 2" in html


def test_v5_carry_over_is_measured_against_a_baseline_on_the_same_questions(
    run: Path, ssp: Path, tmp_path: Path
) -> None:
    base = evaluated(ssp, tmp_path / "base")
    own = evaluated(run, tmp_path / "own")
    assert evaluation_scores(base).columns == ("off",), "SSP has no bank to deploy"
    table = evaluation_scores(own, base)
    assert table.columns == ("baseline", "off", "on", "placebo")
    assert [one.name for one in table.contrasts][0] == "parametric carry-over"
    assert table.contrasts[0].differences[MICRO].value == 0.0, "scripted solvers have no parameters to carry over"
    with pytest.raises(RunError, match="not of 'sesa eval'"):
        evaluation_scores(run)


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"rollout": {"topk": 5}}, r"card\.k is 3 in the first and 5"),
        ({"rollout": {"max_turns": 4}}, r"card\.turns is 10 in the first and 4"),
        ({"rollout": {"max_tokens": 400}}, r"card\.max_tokens is 500 in the first and 400"),
        ({"scorer": "sub_em"}, r'card\.scorer is "em" in the first and "sub_em"'),
        ({"count": 11}, r"card\.questions is 12 in the first and 11"),
        ({"seed": 5}, r"card\.questions_digest is"),
        ({"repeats": 2}, r"card\.repeats is 1 in the first and 2"),
    ],
)
def test_b4_unlike_evaluations_are_refused_and_the_field_is_named(
    run: Path, tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    own = evaluated(run, tmp_path / "own", "off")
    other = evaluated(run, tmp_path / "other", "off", **changes)
    with pytest.raises(RunError, match=field):
        evaluation_scores(own, other)
    with pytest.raises(RunError, match=field):
        compare(own, other)


def test_b4_another_index_is_refused_too(run: Path, tmp_path: Path) -> None:
    from tests.unit.sesa.loops import material

    corpus = tmp_path / "corpus.jsonl"
    kept = material().passages[:-1]
    corpus.write_text("".join(json.dumps({"id": one.id, "contents": one.contents}) + "\n" for one in kept), "utf-8")
    own = evaluated(run, tmp_path / "own", "off")
    other = evaluated(run, tmp_path / "other", "off", searcher=f"fts5:{corpus}")
    with pytest.raises(RunError, match=r"card\.corpus_digest"):
        evaluation_scores(own, other)


def test_like_evaluations_are_compared_by_the_common_command(run: Path, tmp_path: Path) -> None:
    own = evaluated(run, tmp_path / "own")
    found = compare(own, own, arm_a="off", arm_b="on")
    assert found.difference.value == evaluation_scores(own).contrasts[0].differences[MICRO].value


def test_settings_come_from_the_run_and_what_is_given_wins(run: Path, ssp: Path) -> None:
    config, bank, state = eval_settings(run, None, None, {"seed": 7, "scorer": None}, {"topk": None, "max_turns": 2})
    assert config.seed == 7 and config.scorer == "em" and bank == run / BANK and state == "evolved: after round 2"
    assert config.rollout == replace(CONFIG.rollout, temperature=0.0, max_turns=2)
    assert config.deployments == ("off", "on", "placebo") and config.data == CONFIG.held_out
    config, bank, state = eval_settings(ssp, None, None, {}, {})
    assert config.deployments == ("off",) and bank is None and state == ""
    config, bank, _ = eval_settings(None, None, None, {}, {})
    assert config == EvalConfig(deployments=("off",)) and config.rollout == RolloutSettings(temperature=0.0)
    with pytest.raises(RunError):
        eval_settings(run.parent, None, None, {}, {})


def test_s33_an_evaluation_that_is_resumed_counts_nothing_twice(run: Path, tmp_path: Path) -> None:
    config, bank, state = eval_settings(run, None, None, {"count": 6, "repeats": 2}, {})
    out = eval_sesa_sync(config, tmp_path / "eval", bank=bank, state_of=state)
    whole = (out / RECORDS).read_bytes()
    lines = whole.splitlines(keepends=True)
    (out / RECORDS).write_bytes(b"".join(lines[:7]))
    eval_sesa_sync(config, out, bank=bank, state_of=state, resume=True, batch=2)
    assert sorted((out / RECORDS).read_bytes().splitlines()) == sorted(whole.splitlines())
    assert (out / RECORDS).read_bytes() == whole
    with RunFolder.open(out) as folder:
        assert [key for key, _ in folder.records.records() if "/off/turn" in key] == [
            f"arm/off/turn/0/eval/{number}" for number in range(12)
        ]
    with pytest.raises(RunError, match="already holds a run"):
        eval_sesa_sync(config, out, bank=bank, state_of=state)
    with SkillBank.open(run / BANK, read_only=True) as opened:
        assert opened.seq == load_sesa(run).last["seq"]  # type: ignore[index]


def test_a_deployment_that_was_cut_off_is_not_compared(run: Path, tmp_path: Path) -> None:
    out = evaluated(run, tmp_path / "eval", "off", "on", count=6)
    lines = (out / RECORDS).read_bytes().splitlines(keepends=True)
    (out / RECORDS).write_bytes(b"".join(lines[:9]))
    assert evaluation_scores(out).columns == ("off",)


def test_another_scorer_does_not_take_the_runs_judge_along(run: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(run, tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    manifest["config"] |= {"scorer": "judge", "judge": "python:json:dumps"}
    (tmp_path / "run/manifest.json").write_text(json.dumps(manifest), "utf-8")
    found, given = (eval_settings(tmp_path / "run", None, ("off",), one, {})[0] for one in ({}, {"scorer": "em"}))
    assert (found.scorer, found.judge) == ("judge", "python:json:dumps") and (given.scorer, given.judge) == ("em", None)


def test_questions_that_are_not_there_are_one_sentence_and_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nq/test\.jsonl"):
        eval_sesa_sync(EvalConfig(data=f"protocol:{tmp_path}", deployments=("off",)), tmp_path / "eval")
    with pytest.raises((BadInput, NoTasks)):
        eval_sesa_sync(EvalConfig(data=str(tmp_path / "none.jsonl"), deployments=("off",)), tmp_path / "eval")
    with pytest.raises(StoreError):
        eval_sesa_sync(EvalConfig(deployments=("on",)), tmp_path / "eval", bank=tmp_path / "nowhere")
    assert not (tmp_path / "eval").exists()


# --- reports


def test_the_report_of_a_run_shows_frontier_skills_and_what_did_not_count(run: Path) -> None:
    html = write_report(run).read_text("utf-8")
    for part in ('id="results"', 'id="skills"', 'id="counted"', 'id="questions"', 'id="usage"', 'id="manifest"'):
        assert part in html
    assert html.count("<svg") == 4 and "<script" not in html and "Decompose the question" in html
    assert "Scripted stand-ins" in html and "no-question" in html
    for card in load_sesa(run).cards:
        assert card.id[:8] in html and card.lift.point(sign=True) in html


def test_the_report_tells_what_distiller_and_verifier_cost_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAID_LOG", str(tmp_path / "log"))
    seats = ("challenger", "solver", "distiller", "verifier")
    paid = {seat: f"python:tests.support.paid_sesa:{seat}" for seat in seats}
    out = run_sesa_sync(settings(rounds=1, questions=3, rollouts=2, **paid), tmp_path / "run")
    results = load_sesa(out)
    recorded = sum(usage.calls for usage in results.usage.values())
    assert results.paid is not None and results.paid.calls == calls(tmp_path / "log") > recorded > 0
    assert "all replies on disk" in write_report(out).read_text("utf-8")
    (out / "replies.sqlite").write_bytes(b"no database" * 500)
    assert load_sesa(out).paid is None and "all replies on disk" not in write_report(out).read_text("utf-8")


def test_a_run_that_still_goes_on_gives_a_report_of_what_is_there(run: Path, tmp_path: Path) -> None:
    import shutil

    lines = (run / RECORDS).read_bytes().splitlines(keepends=True)
    for kept in (0, 1, 2, 5, 12, len(lines) - 1):
        where = tmp_path / f"run{kept}"
        shutil.copytree(run, where)
        (where / RECORDS).write_bytes(b"".join(lines[:kept]))
        results = load_sesa(where)
        assert not results.ended and any("has not ended" in line for line in sesa_notices(results))
        if kept in (0, 12):
            assert "</footer>" in write_report(where).read_text("utf-8")
    shutil.rmtree(where / BANK)
    assert any("bank cannot be read" in line for line in sesa_notices(load_sesa(where)))
    assert "</footer>" in write_report(where).read_text("utf-8")


def test_records_of_something_else_are_named(run: Path, tmp_path: Path) -> None:
    import shutil

    for key in ("prime", "round/0/bank", "round/0/summary", "round/0/slot/0/paid", "round/0/slot/0/attempt"):
        where = tmp_path / re.sub(r"\W", "_", key)
        shutil.copytree(run, where)
        (where / RECORDS).unlink()
        with Journal.open(where / RECORDS, "w") as journal:
            journal.append(key, {"kind": "nonsense"})
        with pytest.raises(StoreCorrupt, match=re.escape(repr(key))):
            load_sesa(where)


HOSTILE = "</details><script>alert(1)</script>\x1b[31m \u202e {{ 7*7 }} " + "x" * 5000


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    from metagym.chat import scripted
    from metagym.sesa.crew import Crew
    from metagym.sesa.loop import Loop
    from tests.unit.sesa.loops import material
    from tests.unit.sesa.worlds import wait

    config = replace(settings(rounds=1), filters=replace(CONFIG.filters, verify=False, min_searches=0, max_chars=9000))
    run_sesa_sync(config, tmp_path / "run")
    (tmp_path / "run" / RECORDS).unlink()
    words = " ".join(f"word{number}" for number in range(12))
    crew = replace(
        Crew.of(config, material()),
        challenger=scripted(lambda request: f"<question> {words} {HOSTILE} </question>", id="hostile"),
        solver=scripted(lambda request: f"{HOSTILE}<answer> {HOSTILE} </answer>", id="hostile"),
    )
    with SkillBank.open(tmp_path / "bank") as bank, Journal.open(tmp_path / "run" / RECORDS, "w") as records:
        wait(Loop(config, crew, material(), bank, records).run())
    html = write_report(tmp_path / "run").read_text("utf-8")
    assert "<script>" not in html and "&lt;script&gt;" in html and "\x1b" not in html and "\u202e" not in html
    assert "{{ 7*7 }}" in html and "49 " not in html.split('id="questions"')[1].split("</section>")[0][:200]


@pytest.mark.slow
def test_a_real_browser_shows_both_reports_from_disk(run: Path, tmp_path: Path) -> None:
    address = write_report(run).as_uri()
    dom = run_browser(tmp_path, "--dump-dom", address).stdout.decode("utf-8")
    assert "<title>run - MetaGym report</title>" in dom and dom.count("<svg") == 4 and "</footer>" in dom
    shot = tmp_path / "shot.png"
    run_browser(tmp_path, f"--screenshot={shot}", "--window-size=1100,3000", address)
    assert shot.stat().st_size > 50_000
    address = write_report(evaluated(run, tmp_path / "eval")).as_uri()
    dom = run_browser(tmp_path, "--dump-dom", address).stdout.decode("utf-8")
    assert "retrieval gain" in dom and "McNemar" in dom and os.path.exists(tmp_path / "eval/report.html")

"""``metagym sesa``: what a person types and reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command

RUN = ("sesa", "run", "--rounds", "2", "--questions", "5", "--rollouts", "3", "--quiet")


def test_run_eval_scores_and_report_work_out_of_the_box(cli: Command, tmp_path: Path) -> None:
    done = cli(*RUN)
    assert done.code == 0 and not done.err, done.err
    assert max(map(len, done.out.splitlines())) <= 80 and "…" not in "".join(done.out.splitlines()[:10])
    assert "Round by round" in done.out and "lift of all of them" in done.out and "Scripted stand-ins" in done.out
    assert (tmp_path / "runs/sesa-0/report.html").exists() and (tmp_path / "runs/sesa-0/bank/bank.json").exists()
    done = cli("sesa", "eval", "runs/sesa-0", "--count", "9", "--quiet")
    assert done.code == 0 and max(map(len, done.out.splitlines())) <= 80
    assert "retrieval gain: on - off" in done.out and "content of the cards: on - placebo" in done.out
    assert "all, micro" in done.out and "all, macro" in done.out
    assert "note: Scripted stand-ins" in done.out and "evolved: after round 1" in " ".join(done.out.split())
    evaluation = "runs/sesa-eval-0"
    assert (tmp_path / evaluation / "report.html").exists()
    assert "| set | off | on | placebo | n |" in cli("sesa", "scores", evaluation, "--markdown").out
    done = cli("report", evaluation)
    assert "retrieval gain" in done.out and "note: Scripted stand-ins" in done.out
    assert "Round by round" in cli("report", "runs/sesa-0").out
    assert "active" in cli("skills", "stats", "runs/sesa-0/bank").out
    done = cli("compare", evaluation, evaluation, "--arm-a", "off", "--arm-b", "on")
    assert done.code == 0 and "McNemar" in done.out


def test_deployments_may_be_named_several_times(cli: Command, tmp_path: Path) -> None:
    cli(*RUN, "--no-report", "--switch", "ssp", "--out", "base")
    cli(*RUN, "--no-report", "--out", "own")
    assert cli("sesa", "eval", "base", "--count", "6", "--out", "eb", "--no-report", "--quiet").code == 0
    done = cli(
        "sesa", "eval", "own", "--deploy", "on", "--deploy", "off", "--count", "6", "--out", "eo", "--against", "eb",
        "--no-report", "--quiet",
    )  # fmt: skip
    assert "parametric carry-over: off - baseline" in done.out and "retrieval gain: on - off" in done.out
    assert "placebo" not in done.out
    records = (tmp_path / "eo/records.jsonl").read_text("utf-8")
    assert '"arm/on/turn/0/eval/0"' in records and "placebo" not in records
    done = cli("sesa", "eval", "own", "--deploy", "off", "--topk", "5", "--count", "6", "--out", "e5", "--quiet")
    assert done.code == 0
    assert "card.k is 5 in the first and 3" in cli("sesa", "scores", "e5", "--against", "eb").sentence


def test_switches_and_seats_reach_the_manifest(cli: Command, tmp_path: Path) -> None:
    cli(
        *RUN, "--switch", "no-frontier-shaping", "--switch", "no-failure-distillation", "--out", "run", "--no-report",
        "--hops", "1,2", "--challenger", "rules", "--probe-fraction", "0", "--hand", "none", "--repetition", "0.5",
        "--dedup", "0.93", "--cap", "7", "--merge-at", "0.9", "--upkeep-every", "2",
    )  # fmt: skip
    config = json.loads((tmp_path / "run/manifest.json").read_text("utf-8"))["config"]
    assert config["switches"] == ["no-frontier-shaping", "no-failure-distillation"]
    assert config["shape"] == "constant?value=1.0" and not config["distil"] and config["hops"] == [1, 2]
    assert config["dedup"] == 0.93 and config["upkeep_every"] == 2
    assert (config["upkeep"]["cap"], config["upkeep"]["merge_at"]) == (7, 0.9)
    assert config["hand"] is None and config["reward"]["repetition"] == 0.5


def test_a_stopped_run_says_how_it_goes_on(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from metagym.sesa import loop

    def stop(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "figures", stop)
    done = cli(*RUN, "--out", "run", "--no-report")
    assert done.code == 130 and "--out run and --resume" in done.err
    monkeypatch.undo()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("run", "--switch", "sps"), "there is no switch 'sps'"),
        (("run", "--rollouts", "1"), "rollouts is 1"),
        (("run", "--shape", "bump"), "there is no shape"),
        (("run", "--hops", "two"), "--hops is a list of numbers"),
        (("run", "--hops", "9"), "hops are different numbers from 1 to 8"),
        (("run", "--scorer", "judge"), "needs judge"),
        (("run", "--material", "world"), "known forms"),
        (("run", "--material", "corpus:none.jsonl"), "none.jsonl"),
        (("run", "--material", "answers:a.jsonl"), "name a searcher"),
        (("run", "--searcher", "bm26:x"), "no known form"),
        (("run", "--searcher", "http://127.0.0.1:9/retrieve"), "127.0.0.1:9"),
        (("run", "--hand", "nowhere.jsonl", "--out", "h"), "nowhere.jsonl"),
        (("run", "--held-out", "nowhere.jsonl"), "nowhere.jsonl"),
        (("run", "--challenger", "mind:x"), "mind"),
        (("run", "--embedder", "word3vec", "--out", "e"), "word3vec"),
        (("run", "--resume"), "--resume needs --out"),
        (("eval", "nowhere"), "not a run folder"),
        (("eval", "--deploy", "on"), "--bank"),
        (("eval", "--deploy", "half"), "off, on, placebo"),
        (("eval", "--data", "protocol:."), "expected nq/test.jsonl"),
        (("eval", "--bank", "nowhere"), "nowhere"),
        (("scores", "nowhere"), "not a run folder"),
    ],
)
def test_bad_input_is_one_sentence(cli: Command, arguments: tuple[str, ...], said: str) -> None:
    extra = ("--quiet", "--no-report") if arguments[0] != "scores" else ()
    sentence = re.sub(r"\s+", " ", cli("sesa", *arguments, *extra).sentence)
    assert said in sentence


def test_what_is_refused_leaves_no_folder(cli: Command, tmp_path: Path) -> None:
    for arguments in (("--hand", "nowhere.jsonl"), ("--embedder", "word3vec"), ("--held-out", "nowhere.jsonl")):
        assert cli(*RUN, *arguments, "--out", "run").code == 2
        assert not (tmp_path / "run").exists()

"""``metagym spade``: a run from the command line, pools, and refusals in one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metagym.runs.folder import MEMORY
from metagym.spade.stand_ins.programs import adversaries, number_lock
from tests.unit.cli.conftest import Command

SMALL = ("--rounds", "2", "--programs", "2", "--seeds", "3", "--corpus", "frozen", "--max-steps", "8", "--quiet")


def test_a_run_prints_its_tables_and_writes_its_report(cli: Command, tmp_path: Path) -> None:
    done = cli("spade", "run", *SMALL, "--out", "run")
    assert done.code == 0, done.err
    who = "SPADE games: designer scripted:mutator, agent scripted:learner"
    for words in (who, "Round by round", "regret", "note: Scripted"):
        assert words in done.out
    lines = done.out.splitlines()
    names = next(line for line in lines if line.startswith(" program"))
    assert names.split() == ["program", "title", "win", "rate", "regret", "reward"] and max(map(len, lines)) <= 80
    best = lines[lines.index(names) + 2]  # nothing but a title is ever cut
    assert re.fullmatch(r" [0-9a-f]{8}   Number lock .*  \d\.\d\d +[+-]?\d\.\d\d \[.*\] +[+-]\d\.\d\d ", best)
    assert (tmp_path / "run" / "report.html").is_file() and (tmp_path / "run" / MEMORY).is_file()
    again = cli("report", "run")
    assert again.code == 0 and "Round by round" in again.out
    assert "already holds a run" in cli("spade", "run", *SMALL, "--out", "run").sentence
    assert cli("spade", "run", *SMALL, "--out", "run", "--resume", "--no-report").code == 0


def test_pools_are_built_checked_exported_and_played(cli: Command, tmp_path: Path) -> None:
    sources = {"a": number_lock(2), "b": number_lock(4, ["ledger", "mirror"]), "c": adversaries()["crash"]}
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    (tmp_path / "d.py").write_bytes(b"\x7fELF\xff\xfe")
    done = cli("spade", "pool", "build", "pool", "a.py", "b.py", "c.py", "d.py")
    assert done.code == 0 and "2 of 4 programs" in done.out
    assert "c.py: step_crash" in done.err and "d.py: syntax_error, line 1: the source is not UTF-8" in done.err
    done = cli("spade", "pool", "check", "pool")
    assert done.code == 0 and "2 files as listed" in done.out and "2 of 2 programs are accepted" in done.out
    run = ("--pool", "pool", "--ablation", "fixed-pool", "--ablation", "no-corpus", "--no-report", "--out", "run")
    done = cli("spade", "run", *SMALL, *run)
    assert done.code == 0 and "fixed pool pool" in done.out and "Ablation fixed-pool" in done.out.replace("\n", " ")
    done = cli("spade", "pool", "export", "run", "copy", "--win-rate", "0-1")
    assert done.code == 0 and "2 programs: copy" in done.out
    file = next((tmp_path / "copy" / "programs").iterdir())
    file.write_text("changed", encoding="utf-8")
    assert file.name in cli("spade", "pool", "check", "copy", "--digests-only").sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--reward", "gold"), "there is no reward 'gold'"),
        (("run", "--agent", "scripted:nobody"), "no scripted agent"),
        (("run", "--agent", "telepathy:x"), "unknown kind of model"),
        (("run", "--ablation", "no-fun"), "there is no ablation"),
        (("run", "--ablation", "fixed-pool"), "needs a pool"),
        (("run", "--corpus", "jsonl:nowhere.jsonl"), "does not exist"),
        (("run", "--pool", "nowhere"), "holds no pool.json"),
        (("run", "--setting", "chess"), "setting is one of"),
        (("run", "--hint", "shout"), "hint is one of"),
        (("run", "--resume"), "--resume needs --out"),
        (("run", "--reward-option", "x"), "written key=value"),
        (("run", "--reward", "azr", "--reward-option", "speed=3"), "cannot be made of"),
        (("run", "--cache", "maybe"), "cache mode"),
        (("pool", "check", "nowhere"), "holds no pool.json"),
        (("pool", "build", "pool", "nowhere.py"), "cannot be read as a program"),
        (("pool", "export", "nowhere", "copy"), "not a run folder"),
        (("pool", "export", "x", "y", "--win-rate", "often"), "is a range such as 0.2-0.8"),
    ],
)
def test_refusals_are_one_sentence_and_leave_nothing_behind(
    cli: Command, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    more = SMALL if arguments[0] == "run" else ()
    done = cli("spade", arguments[0], *more, *arguments[1:])
    assert words in done.sentence.replace("\n", " ")
    assert not list(tmp_path.iterdir())

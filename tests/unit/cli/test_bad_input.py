"""Bad input: exit code 2, one sentence that names the culprit and the way out, nothing made and nothing lost."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from metagym.journal import Journal
from metagym.runs.folder import RECORDS, REPLIES
from tests.unit.cli.conftest import SMALL, Command

DOORS = ("ict", "run", "--family", "Doors", "--no-report", *SMALL)
PAID = (*DOORS, "--actor", "python:tests.support.doors:actor", "--reflector", "python:tests.support.doors:reflector")


def test_s09_an_empty_data_folder_names_variable_folder_and_ways_out(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "games").mkdir()
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "games"))
    for command in (("run",), ("collect", "--rows", "rows.jsonl"), ("eval",)):
        error = cli("ict", *command, "--out", "run", "--quiet").sentence
        for part in ("ALFWORLD_DATA", str(tmp_path / "games"), "alfworld-download", "data='generated'"):
            assert part in error
    assert not (tmp_path / "run").exists() and not (tmp_path / "rows.jsonl").exists()
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nowhere"))
    assert "nowhere" in cli("ict", "run", "--out", "run", "--quiet").sentence


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--family", "Nowhere"), "registered are"),
        (("--split", "test"), "it has train, valid"),
        (("--types", "steel"), "it has oak, iron"),
        (("--eval-split", "test"), "it has train, valid"),
        (("--eval-types", "steel"), "it has oak, iron"),
        (("--actor", "gpt"), "known are rules"),
        (("--reflector", "llama:nothing"), "nothing"),
        (("--actor", "python:no.such.module:f"), "no.such.module"),
        (("--actor", "openai:m?api_key=sk-123456789"), "OPENAI_API_KEY"),
        (("--preset", "k9"), "k3, k5"),
        (("--accept", "maybe"), "always, not-worse"),
        (("--cache", "maybe"), "write, read, replay-only, off"),
        (("--cache", "replay-only"), "resume"),
        (("--option", "engine"), "key=value, got 'engine'"),
        (("--option", "=1"), "key=value"),
        (("--option", "colour=1"), "colour"),
        (("--hosts", "cloud"), "process:<n>"),
        (("--concurrency", "0"), "concurrency is at least 1"),
        (("--batch-size", "0"), "batch_size is at least 1"),
        (("--meta-turns", "-1"), "meta_turns is at least 0"),
        (("--meta-turns", "100"), "when_exhausted='wrap'"),
        (("--eval-tasks", "61"), "holds 60"),
        (("--eval-split", "train"), "training task"),
        (("--max-steps", "0"), "max_steps"),
        (("--max-failures", "nan"), "from 0 to 1"),
        (("--temperature", "-1"), "temperature is at least 0"),
        (("--temperature", "nan"), "temperature is at least 0"),
        (("--temperature", "inf"), "temperature is inf"),
        (("--history", "-1"), "history"),
        (("--budget-calls", "-1"), "at least 0, got -1"),
        (("--prompt", "@none.txt"), "none.txt cannot be read"),
        (("--prompt", "@bytes"), "bytes cannot be read as UTF-8"),
        (("--prompt", "@."), "cannot be read"),
        (("--prompt", "@nul"), "NUL character at position 1"),
        (("--prompt", "@huge"), "200,000 characters; at most 100,000"),
        (("--resume",), "not a run folder"),
        (("--resume", "--overwrite"), "exclude each other"),
        (("--view", "episodes=x"), "episodes is a whole number of at least 1, got 'x'"),
        (("--view", "thoughts=x"), "thoughts is True or False, got 'x'"),
        (("--model-deadline", "0"), "model_deadline is above 0"),
    ],
)
def test_unusable_values_are_one_sentence_and_make_no_folder(
    cli: Command, tmp_path: Path, doors: None, arguments: tuple[str, ...], named: str
) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "nul").write_text("a\x00b")
    (tmp_path / "huge").write_text("x" * 200_000)
    assert named in cli(*DOORS, "--out", "run", *arguments).sentence
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--seeds", "1,a"), "whole numbers, got '1,a'"),
        (("--seeds", ""), "whole numbers"),
        (("--seeds", "0,0"), "each once"),
        (("--seeds", "0,-1"), "-1"),
        (("--prompt", "just text"), "name=..., got 'just text'"),
        (("--prompt", "=text"), "name=..."),
        (("--prompt", "a=@none.txt"), "none.txt cannot be read"),
        (("--prompt", "a/b=text"), "letters, digits"),
        (("--prompt", "a=x", "--reflector", "a=rules"), "two arms are called 'a'"),
        (("--reflector", "rules"), "name=..., got 'rules'"),
        (("--reflector", "mine=gpt"), "known are rules"),
        (("--train-family", "Nowhere"), "registered are"),
        (("--prompt", "a=b", "--train-family", "Nope"), "training family Nope is given, and no arm has a reflector"),
        (("--train-types", "steel"), "it has oak, iron"),
        (("--test-types", "steel"), "it has oak, iron"),
        (("--train-option", "a=1"), "no training family"),
        (("--eval-tasks", "0"), "at least one held-out task"),
        (("--initial", "@none.txt"), "none.txt cannot be read"),
    ],
)
def test_unusable_evaluations_are_one_sentence_and_make_no_folder(
    cli: Command, tmp_path: Path, doors: None, arguments: tuple[str, ...], named: str
) -> None:
    assert named in cli("ict", "eval", "--family", "Doors", "--out", "run", *SMALL, *arguments).sentence
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("rows", ["file/rows.jsonl", ".", "/proc/nowhere/rows.jsonl"])
def test_rows_that_cannot_be_written_are_noticed_first(cli: Command, tmp_path: Path, doors: None, rows: str) -> None:
    (tmp_path / "file").write_text("x")
    done = cli("ict", "collect", "--family", "Doors", "--rows", rows, "--out", "run", "--quiet")
    assert f"rows cannot be written to {rows}" in done.sentence
    assert not (tmp_path / "run").exists()


def test_rows_that_name_no_file_are_refused(cli: Command, tmp_path: Path, doors: None) -> None:
    done = cli("ict", "collect", "--family", "Doors", "--rows", ".", "--quiet")
    assert "rows cannot be written to ." in done.sentence and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.md"])
def test_rows_never_take_the_place_of_what_is_no_file(cli: Command, tmp_path: Path, doors: None, name: str) -> None:
    os.mkfifo(tmp_path / name)
    done = cli("ict", "collect", "--family", "Doors", "--rows", "rows.jsonl", "--out", "run", "--quiet")
    assert f"rows cannot be written to {name}: it is a device, socket or pipe" in done.sentence
    assert (tmp_path / name).is_fifo() and not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["run", "eval"])
def test_resume_names_its_folder(cli: Command, tmp_path: Path, doors: None, command: str) -> None:
    assert "--resume needs --out" in cli("ict", command, "--family", "Doors", "--resume", "--quiet").sentence
    assert not list(tmp_path.iterdir())


def test_a_folder_in_use_is_refused_without_a_hint(cli: Command, tmp_path: Path, doors: None) -> None:
    assert cli(*DOORS, "--out", "run").code == 0
    with Journal.open(tmp_path / "run" / RECORDS, "w"):
        for more in (("--resume",), ("--overwrite",)):
            assert "records.jsonl is being written by process" in cli(*DOORS, "--out", "run", *more).sentence


@pytest.mark.parametrize("out", ["file", "file/run", "/proc/nowhere", "/dev/null", "x" * 300])
def test_a_folder_that_cannot_be_made_is_named(cli: Command, tmp_path: Path, doors: None, out: str) -> None:
    (tmp_path / "file").write_text("x")
    assert out in cli(*DOORS, "--out", out).sentence


def test_a_folder_with_other_files_is_never_taken(cli: Command, tmp_path: Path, doors: None) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    for more in ((), ("--overwrite",)):
        assert "thesis.tex" in cli(*DOORS, "--out", ".", *more).sentence
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("command", [("report", "here"), ("compare", "here", "here"), ("report", "nowhere")])
def test_what_is_no_run_is_said_so(cli: Command, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "here").mkdir()
    assert "is not a run folder: it holds no manifest.json" in cli(*command).sentence
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("damage", ["not sqlite", "another database", "a folder", "cut"])
def test_an_unreadable_cache_is_named_and_left_alone(cli: Command, tmp_path: Path, doors: None, damage: str) -> None:
    assert cli(*PAID, "--out", "run").code == 0
    cache = tmp_path / "run" / REPLIES
    whole = cache.read_bytes()
    cache.unlink()
    if damage == "not sqlite":
        cache.write_bytes(b"x" * 5000)
    elif damage == "cut":
        cache.write_bytes(whole[:2048])
    elif damage == "a folder":
        cache.mkdir()
    else:
        with sqlite3.connect(cache) as other:
            other.execute("CREATE TABLE mine (a)")
        other.close()
    before = None if cache.is_dir() else cache.read_bytes()
    done = cli(*PAID, "--out", "run", "--resume")
    assert done.code == 2 and REPLIES in done.err.splitlines()[-1] and "Traceback" not in done.err
    assert cache.is_dir() or cache.read_bytes() == before
    cache.rmdir() if cache.is_dir() else cache.unlink()
    assert cli(*PAID, "--out", "run", "--resume").code == 0  # the records were enough


def test_a_damaged_record_is_named_by_file_and_line(cli: Command, tmp_path: Path, doors: None) -> None:
    assert cli(*DOORS, "--out", "run").code == 0
    records = tmp_path / "run" / RECORDS
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join([*lines[:2], lines[2].replace(b'"slot":2', b'"slot":1'), *lines[3:]]))
    damaged = records.read_bytes()
    for command in (("report", "run"), (*DOORS, "--out", "run", "--resume"), ("compare", "run", "run")):
        done = cli(*command)
        assert done.code == 2 and "records.jsonl, line 3" in done.err.splitlines()[-1]
    assert records.read_bytes() == damaged


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may grow above `size` bytes: a write past it fails as on a full disk (Python ignores the signal)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_loses_nothing_and_the_run_goes_on(cli: Command, tmp_path: Path, doors: None) -> None:
    assert cli(*PAID, "--out", "whole").code == 0
    whole = (tmp_path / "whole" / RECORDS).read_bytes()
    stopped_at = set()
    points = [(0, ()), (500, ()), (5_000, ()), (20_000, ()), (5_000, ("--cache", "off")), (20_000, ("--cache", "off"))]
    for number, (size, more) in enumerate(points):
        out = tmp_path / f"run{number}"
        with file_size_limit(size):
            done = cli(*PAID, *more, "--out", out)
        lines = done.err.splitlines()
        assert done.code == 2 and lines[-1].startswith("error: ") and str(out) in lines[-1], done.err
        started = (out / "manifest.json").exists()
        assert (len(lines) == 2 and "--resume" in lines[0]) if started else len(lines) == 1
        stopped = (out / RECORDS).read_bytes() if started else b""
        assert whole.startswith(stopped) and (stopped == b"" or stopped.endswith(b"\n"))
        stopped_at.add((started, len(stopped) > 0))
        assert cli(*PAID, "--out", out, *(["--resume"] if started else [])).code == 0
        assert (out / RECORDS).read_bytes() == whole
    assert stopped_at == {(False, False), (True, False), (True, True)}


def test_a_report_that_cannot_be_written_keeps_the_old_one(
    cli: Command, tmp_path: Path, doors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*DOORS, "--out", "run").code == 0
    assert cli("report", "run").code == 0
    before = (tmp_path / "run" / "report.html").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("metagym.runs.folder.os.replace", full)
    assert "report.html cannot be written: No space left on device" in cli("report", "run").sentence
    assert (tmp_path / "run" / "report.html").read_bytes() == before


@pytest.mark.parametrize("versions", [{}, {"textworld": "1.6.0", "alfworld": "0.4.2"}])
def test_a_missing_or_wrong_engine_version_is_named(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]
) -> None:
    from importlib.metadata import PackageNotFoundError

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr("metagym_envs.alfworld.env.version", version)
    error = cli("ict", "run", "--option", "engine=textworld", "--out", "run", *SMALL).sentence
    assert "pip install 'metagym-agents[alfworld]'" in error and "engine='native'" in error
    assert ("1.6.0" in error) if versions else ("not installed" in error and "3.11 or 3.12" in error), error
    assert not (tmp_path / "run").exists()


def test_unknown_commands_and_ill_typed_options_are_usage_errors(cli: Command) -> None:
    for arguments in (("nonsense",), ("ict", "run", "--seed", "x"), ("ict", "run", "--seed", "-1"), ("ict", "collect")):
        done = cli(*arguments)
        assert done.code == 2 and "Traceback" not in done.err and "Usage" in done.err

"""``metagym sandbox``: judging, playing and examining, with exit codes that a script can use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from metagym.errors import SandboxUnavailable
from metagym.sandbox import SandboxPool
from tests.support.sandbox import env
from tests.unit.cli.conftest import Command

COUNTER = env("self.n += 1\nreturn [action, self.n], 0.5, self.n == 2, {'n': self.n}", reset="self.n = 0\nreturn seed")


@pytest.fixture(scope="module")
def started() -> Iterator[SandboxPool]:
    with SandboxPool() as pool:
        yield pool


@pytest.fixture
def one_pool(started: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a test share a pool, whose start would else be most of its time."""
    monkeypatch.setattr("metagym.sandbox.SandboxPool", lambda **settings: nullcontext(started))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(COUNTER, encoding="utf-8")
    return path


@pytest.mark.usefixtures("one_pool")
def test_check_accepts_or_names_line_and_rule(cli: Command, program: Path) -> None:
    done = cli("sandbox", "check", program)
    assert (done.code, done.out) == (0, "accepted: class Env (reset, step)\n")
    program.write_text("import os\n" + COUNTER)
    done = cli("sandbox", "check", program)
    assert done.code == 1 and done.out.startswith("line 1: os is not offered") and "[forbidden_import]" in done.out
    program.write_text("raise ValueError('\x1b[2Jearly')\n" + COUNTER)
    done = cli("sandbox", "check", program)
    assert (done.code, done.out) == (1, "ProgramError: ValueError: \\x1b[2Jearly (line 1)\n")
    program.write_bytes(b"\xff\xfe")
    assert cli("sandbox", "check", program).code == 1


def test_numpy_can_be_refused(cli: Command, program: Path) -> None:
    program.write_text("import numpy\n" + COUNTER)
    assert cli("sandbox", "check", program).code == 0
    assert cli("sandbox", "check", program, "--no-numpy").code == 1


def test_run_prints_the_transcript_and_the_total(cli: Command, program: Path) -> None:
    done = cli("sandbox", "run", program, "--seed", "7", "--action", "go", "-a", "on", "-a", "never")
    assert done.code == 0
    assert done.out.splitlines() == [
        "reset(seed=7): 7",
        "> go",
        '["go", 1]  reward 0.5  {"n": 1}',
        "> on",
        '["on", 2]  reward 0.5  terminated  {"n": 2}',
        "",
        "total reward 1 after 2 steps",
    ]


@pytest.mark.usefixtures("one_pool")
def test_actions_come_as_json_or_from_a_file(cli: Command, program: Path, tmp_path: Path) -> None:
    listed = cli("sandbox", "run", program, "--actions", "[[1, 2]]")
    assert listed.code == 0 and "[[1, 2], 1]" in listed.out and "1 step; the episode goes on" in listed.out
    (tmp_path / "actions.json").write_text(json.dumps([[1, 2]]))
    assert cli("sandbox", "run", program, "--actions", tmp_path / "actions.json").out == listed.out
    assert "total reward 0 after 0 steps" in cli("sandbox", "run", program).out


@pytest.mark.usefixtures("one_pool")
def test_what_a_program_prints_is_shown_harmlessly(cli: Command, program: Path) -> None:
    program.write_text(COUNTER.replace("self.n += 1", "print('\x1b]0;title\x07')\n        self.n += 1"))
    done = cli("sandbox", "run", program, "-a", "x\x1b")
    assert "\x1b" not in done.out and "printed:\n\\x1b]0;title\\x07" in done.out


@pytest.mark.usefixtures("one_pool")
def test_a_program_that_fails_ends_with_one_line(cli: Command, program: Path) -> None:
    program.write_text(env("raise ValueError('no')"))
    done = cli("sandbox", "run", program, "-a", "go")
    assert done.code == 1 and done.out.splitlines()[-1] == "ProgramError: ValueError: no (line 7)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "missing.py"], "missing.py cannot be read"),
        (["check", "."], "cannot be read"),
        (["check", "/dev/zero"], "no regular file"),
        (["run", "{program}", "--actions", "[1"], "no JSON"),
        (["run", "{program}", "--actions", "nowhere.json"], "JSON list or a readable file"),
        (["run", "{program}", "--actions", "[]", "-a", "x"], "not both"),
        (["run", "{program}", "--seed", "-1"], "seed must be a non-negative integer"),
    ],
)
def test_unusable_arguments_are_one_sentence(cli: Command, program: Path, arguments: list[str], words: str) -> None:
    assert words in cli("sandbox", *(part.format(program=program) for part in arguments)).sentence


def test_doctor_names_every_layer_and_fails_where_one_is_missing(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("sandbox", "doctor")
    assert done.code == 0
    for word in ("policy", "rlimit", "seccomp", "landlock", "self-test", "round trip", "create a program"):
        assert word in done.out

    def refuse(pool: SandboxPool) -> SandboxPool:
        raise SandboxUnavailable("landlock", "not in this kernel")

    monkeypatch.setattr(SandboxPool, "start", refuse)
    done = cli("sandbox", "doctor")
    assert done.code == 1 and "landlock         NO   not in this kernel" in done.out
    assert "sandbox no: landlock: not in this kernel" in cli("doctor").out


def test_a_missing_layer_is_an_error_of_the_machine_and_not_of_the_program(
    cli: Command, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pool: SandboxPool) -> SandboxPool:
        raise SandboxUnavailable("landlock", "not in this kernel")

    monkeypatch.setattr(SandboxPool, "start", refuse)
    for command in ("check", "run"):
        assert "landlock: not in this kernel" in cli("sandbox", command, program).sentence

"""The command in process: arguments in, exit code and both outputs out."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from metagym.cli import main


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one error of a refused command: exit code 2 and a single line without a traceback."""
        assert self.code == 2, (self.code, self.out, self.err)
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1 and lines[0].startswith("error: "), self.err
        assert "Traceback" not in self.err + self.out
        return lines[0]


Command = Callable[..., Done]
SMALL = ("--batch-size", "4", "--meta-turns", "2", "--eval-tasks", "6", "--quiet")


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Command]:
    """Runs ``metagym ...`` in a folder of its own, 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # the command sets its own

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["metagym", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return Done(code, out, err)

    yield run


def in_a_process(*arguments: object, cwd: Path, columns: int = 80, **variables: str | None) -> Done:
    """The command in a process of its own; a variable of None is taken away."""
    root = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "PYTHONPATH": root, "COLUMNS": str(columns)}
    environment.pop("ALFWORLD_DATA", None)
    for name, value in variables.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    code = "from metagym.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, timeout=120
    )
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

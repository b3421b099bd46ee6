"""The real engine absent, or there and broken: two different sentences."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = """
import sys
import metagym  # and what it needs, under the true version
from metagym_envs.alfworld.judge import TextWorldGame
sys.version_info = (3, 11, 7)  # newer ones are told something else
{prepare}
try:
    TextWorldGame({{"pddl_domain": "", "grammar": "", "pddl_problem": ""}})
except Exception as error:
    print(type(error).__name__, error)
"""


def import_it(prepare: str, *folders: Path) -> str:
    """What is said when a process of its own asks for the engine."""
    path = os.pathsep.join(map(str, [*folders, ROOT]))
    command = [sys.executable, "-c", PROGRAM.format(prepare=prepare)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        cwd=folders[0] if folders else ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_s32_an_absent_engine_names_the_extra():
    said = import_it("sys.modules['textworld'] = None")
    assert said.startswith("MissingExtra textworld is not installed: pip install 'metagym-agents[alfworld]'")


@pytest.mark.parametrize(
    ("code", "reason"),
    [("import foo_that_is_missing", "foo_that_is_missing"), ("raise OSError('libdownward.so: bad ELF')", "bad ELF")],
)
def test_s32_a_broken_engine_gives_its_own_reason(tmp_path, code, reason):
    (tmp_path / "textworld.py").write_text(code)
    said = import_it("", tmp_path)
    assert said.startswith("BrokenExtra") and reason in said
    assert "pip install" not in said and "not installed" not in said

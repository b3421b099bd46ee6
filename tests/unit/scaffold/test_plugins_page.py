"""docs/plugins.md: its code runs, its commands exist, its tables are complete."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from metagym.cli.app import app
from metagym.conformance import CHECKS
from metagym.scaffold import FILES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "plugins.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pettingzoo")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/plugins.md", "exec"), names)
    assert "metagym-agents" in capsys.readouterr().out and names["report"].ok


def test_the_commands_of_the_page_are_commands_of_ours() -> None:
    console = re.search(r"```console\n(.*?)```", PAGE, re.DOTALL)
    assert console is not None
    words = [shlex.split(line, comments=True) for line in console[1].splitlines()]
    ours = [line[1] for line in words if line[0] == "metagym"]
    known = {group.name for group in app.registered_groups}
    known |= {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert set(ours) == {"new", "check", "play", "ict"} <= known


def test_the_tables_of_the_page_name_every_check_and_every_file() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
    assert [name for name in rows if name in CHECKS] == list(CHECKS)
    modules = {place.format(package="lamp_post") for place in FILES if place.endswith(("env.py", "tasks.py", "ins.py"))}
    assert modules <= set(rows)

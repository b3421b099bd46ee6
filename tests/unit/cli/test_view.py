"""``metagym view``: starts, answers, stops; bad input is one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from metagym.cli import view
from metagym.runs.view import ViewServer
from tests.unit.runs.synthetic import write_run

COMMAND = [sys.executable, "-c", "from metagym.cli import main; main()", "view"]


def test_it_serves_until_interrupted_and_ends_quietly(tmp_path: Path) -> None:
    write_run(tmp_path / "one")
    process = subprocess.Popen(
        [*COMMAND, str(tmp_path), "--no-open"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"1 run in {tmp_path}\n"
        words = process.stdout.readline().split()
        assert words[0] == "serving" and words[-1] == "it)"
        with urllib.request.urlopen(words[1], timeout=20) as answer:
            assert b"<h1>Runs</h1>" in answer.read()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20)
        assert (process.returncode, out, error) == (130, "", "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["absent"], "error: absent is no folder; name a run folder or one that holds some\n"),
        (["empty"], "empty holds no run: no manifest.json is in it or in the 6 levels of folders below it"),
        (["run", "--port", "70000"], "cannot listen on 127.0.0.1:70000"),
        (["run", "--port", "-1"], "port is at least 0"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2 and words in done.stderr.replace("\n", " ") + "\n" or words in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


@pytest.mark.parametrize(("switch", "display", "opened"), [(True, ":0", 1), (True, "", 0), (False, ":0", 0)])
def test_the_page_is_opened_where_there_is_a_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: bool, display: str, opened: int
) -> None:
    told: list[str] = []
    monkeypatch.setattr(view.webbrowser, "open", told.append)
    monkeypatch.setattr(view.sys, "platform", "linux")
    monkeypatch.setattr(ViewServer, "serve_forever", lambda self: self._http.server_close())
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    view.view(write_run(tmp_path / "run"), port=0, open_it=switch)
    assert len(told) == opened and all(one.startswith("http://127.0.0.1:") for one in told)

"""What a terminal shows: bars and tables that fit, any locale, no traceback."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from metagym.cli import progress
from metagym.cli.tables import print_run
from metagym.episodes import Episode, Status
from metagym.ict.config import RunConfig
from metagym.ict.evaluate import Arm, EvalConfig
from metagym.ict.loop import Event
from metagym.runs.folder import RECORDS, RunFolder
from metagym.strictjson import strict_json
from metagym.tasks import Task
from tests.unit.cli.conftest import SMALL, Command, in_a_process
from tests.unit.runs.synthetic import a_manifest, an_episode, episode_records


def played(turn: int, kind: str, count: int) -> list[Event]:
    """What a loop tells of one phase."""
    phase = f"turn/{turn}/{kind}"
    done = Episode(Task("T", "t"), (), "", 1.0, True, Status.OK)
    each = [Event("episode", turn, phase, (done,)) for _ in range(count)]
    return [Event("start", turn, phase), *each, Event(kind, turn, phase, (done,) * count)]


@pytest.mark.parametrize("width", [80, 120])
def test_the_bar_fits_the_terminal_and_ends_full(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        progress, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=width, color_system=None)
    )
    config = RunConfig(meta_turns=8, eval_tasks=60)
    with progress.shown_run(config, quiet=False) as tell:
        for turn in range(9):
            for event in (*played(turn, "batch", 5), *played(turn, "eval", 60)):
                tell(event)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    last = [line.rstrip() for line in re.split(r"[\r\n]", shown) if line.strip()][-1]
    assert len(last) <= width and "…" not in last
    assert last.startswith("ALFWorld episodes ━━━━━━━━━━") and " 585/585 " in last
    assert last.endswith("held-out success 1.00 at turn 8")


def test_a_resumed_bar_counts_what_was_read_and_accepting_replays_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=80))
    config = RunConfig(meta_turns=1, eval_tasks=6)
    with progress.shown_run(config, quiet=False) as tell:
        tell(played(0, "batch", 5)[-1])  # read from the records: no episode ended
        for event in (*played(0, "eval", 6), *played(1, "accept", 5), *played(1, "batch", 5), *played(1, "eval", 6)):
            tell(event)
    assert "22/22" in screen.getvalue() and "27" not in screen.getvalue()


def test_the_bars_of_collect_and_eval_end_full(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=80))
    config = RunConfig(meta_turns=2, batch_size=3, eval_tasks=0)
    with progress.shown_collect(config, 2, quiet=False) as tell:
        for _ in range(2):
            for turn in range(3):
                for event in played(turn, "batch", 3):
                    tell(event)
    assert "18/18" in screen.getvalue()
    arms = (Arm("p", prompt="x"), Arm("r", reflector="rules"))
    with progress.shown_eval(EvalConfig(RunConfig(meta_turns=1, batch_size=2, eval_tasks=4), arms), False) as told:
        for arm in ("initial prompt", "p", "r"):
            for event in (*(played(0, "batch", 2) * 2 if arm == "r" else []), *played(0, "eval", 4)):
                told(arm, 0, event)
    assert "16/16" in screen.getvalue()


def test_a_refused_run_shows_no_bar(cli: Command) -> None:
    assert "no family 'Nowhere'" in cli("ict", "run", "--family", "Nowhere", "--out", "run").sentence


def test_task_types_that_do_not_fit_get_tables_of_their_own(tmp_path: Path) -> None:
    names = [f"[bold]kind_number_{i}_with_a_long_name" for i in range(12)]
    batch = [an_episode(Task("Toy", name, name, "valid"), True) for name in names]
    with RunFolder.create(tmp_path, a_manifest()) as run:
        run.records.append_many(episode_records("", 0, "eval", batch))
    for width in (40, 80, 300):
        out = io.StringIO()
        print_run(tmp_path, Console(file=out, width=width, markup=False, highlight=False))
        text = out.getvalue()
        assert max(map(len, text.splitlines())) <= width and "…" not in text
        assert text.count("[bold]kind") == 12  # markup of strangers stays text
        assert " ".join(text.split()).count("95% interval") == 1


def test_s35_odd_text_and_folders_under_the_c_locale(tmp_path: Path) -> None:
    odd = "🗝️ ключ 鍵 ≥ <script>alert(1)</script>"
    (tmp_path / "odd_world.py").write_text(
        "import metagym\n"
        "from tests.support.worlds import ListEnv, family_of\n"
        f"ODD = {ascii(odd)}\n"
        "def register():\n"
        "    steps = [(ODD, 1.0, True, False, {'success': True})]\n"
        "    metagym.register_family(family_of(lambda task: ListEnv(ODD, steps), 'Odd'))\n"
        "def answer(request): return 'Thought: ' + ODD + '\\nAction: ' + ODD\n"
        "def reflect(request): return 'IMPROVED PROMPT:\\n' + ODD + str(len(request.messages[1].content))\n",
        encoding="utf-8",
    )
    info = tmp_path / "odd_dist-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-dist\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[metagym.plugins]\nodd = odd_world:register\n")
    done = in_a_process(
        *("ict", "run", "--family", "Odd", "--actor", "python:odd_world:answer", "--reflector"),
        *("python:odd_world:reflect", "--prompt", f"Начни {odd}", "--out", "résultats 鍵/run 1"),
        *("--batch-size", "2", "--meta-turns", "1", "--eval-tasks", "4"),
        cwd=tmp_path,
        LC_ALL="C",
        LANG=None,
        PYTHONUTF8="0",
        PYTHONIOENCODING=None,
        PYTHONPATH=f"{Path(__file__).resolve().parents[3]}{os.pathsep}{tmp_path}",
    )
    assert done.code == 0, done.err
    assert "4/4" not in done.err and "12/12" in done.err and "Traceback" not in done.err
    run = tmp_path / "résultats 鍵" / "run 1"
    for name in ("manifest.json", "records.jsonl", "timing.jsonl", "report.html"):
        (run / name).read_bytes().decode("utf-8")
    assert strict_json((run / "manifest.json").read_bytes())["config"]["system_prompt"] == f"Начни {odd}"
    with RunFolder.open(run) as folder:
        first = folder.records.get("turn/0/batch/0")["episode"]
        assert first["turns"][0]["observation"] == first["last_observation"] == first["turns"][0]["action"] == odd
        assert folder.records.get("turn/1/reflection")["prompt"].startswith(odd)
    page = (run / "report.html").read_text("utf-8")
    assert '<meta charset="utf-8">' in page.lower()
    assert "<script>" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "🗝️ ключ 鍵 ≥" in page


def test_records_depend_neither_on_the_hash_seed_nor_on_the_home_folder(tmp_path: Path) -> None:
    written = []
    for seed, home in (("1", str(tmp_path)), ("2", "/proc/nowhere")):
        done = in_a_process(
            *("ict", "run", "--out", seed, "--no-report", *SMALL, "--max-steps", "10"),
            cwd=tmp_path,
            PYTHONHASHSEED=seed,
            HOME=home,
        )
        assert done.code == 0, done.err
        written.append((tmp_path / seed / RECORDS).read_bytes())
    assert written[0] == written[1]


def test_s16_ctrl_c_ends_at_once_on_a_terminal_and_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import asyncio\nasync def answer(request):\n    await asyncio.sleep(60)\n    return 'Action: look'\n"
    )
    master, slave = pty.openpty()
    root = str(Path(__file__).resolve().parents[3])
    process = subprocess.Popen(
        [sys.executable, "-c", "from metagym.cli import main; main()", "ict", "run"]
        + ["--actor", "python:slow:answer", "--out", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root, "COLUMNS": "80", "TERM": "xterm"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = b""
    try:
        while b"0/585" not in shown:  # the bar is there before the first episode has ended
            shown += os.read(master, 4096)
        while not (tmp_path / "run" / "manifest.json").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(timeout=30) == 130 and time.monotonic() - asked < 30
    finally:
        process.kill()
        process.wait()
        os.close(master)
    text = " ".join(shown.decode("utf-8", "replace").split())
    assert "go on with the same command, --out run and --resume" in text and "Traceback" not in text

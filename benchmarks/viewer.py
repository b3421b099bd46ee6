"""How long `metagym view` takes to show a run of ten thousand episodes, in a real headless Chromium.

The server is the command itself, a process of its own. What is timed is what a reader waits for, by the wall clock:
from the moment at which the browser is sent to the address until the list says how many episodes there are, its rows
stand in the page and the browser has painted a frame. "Nothing read before" means that the server was started for this
page, and has read nothing yet of the records.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import Report, at_most, told
from metagym.episodes import Status, Turn
from metagym.errors import MissingExtra
from metagym.seeding import rng

# Set before the page's own script runs: notes when what it draws later is there and painted.
_WATCH = """
const now = () => performance.timeOrigin + performance.now();
const painted = (then) => requestAnimationFrame(() => setTimeout(() => then(now())));
new MutationObserver(() => {
  const parts = [...document.querySelectorAll('[data-list], [data-figures], [data-notices]')];
  if (!document.getElementById('main') || document.getElementById('reading')) return;
  if (document.readyState === 'complete') painted((now) => { window.drawnAt ??= now; });
  if (!parts.length || !parts.every((one) => one.dataset.ready === 'yes')) return;
  if ([...document.images].every((one) => one.complete)) painted((now) => { window.readyAt ??= now; });
}).observe(document, { subtree: true, childList: true, attributes: true });
for (const target of [window, document]) {  // of images it does not bubble
  target.addEventListener('load', () => { document.documentElement.dataset.loaded = Math.random(); }, true);
}
"""


def rows(episodes: int, steps: int) -> list[tuple[str, Any]]:
    """Records like those of a real run: twenty evaluations of episodes whose turns differ."""
    from tests.unit.runs.synthetic import a_task, an_episode, episode_records

    made: list[tuple[str, Any]] = []
    for turn in range(20):
        played = []
        for index in range(episodes // 20):
            dice = rng(turn, "viewer", str(index))
            places = [dice.randrange(1, 400) for _ in range(steps)]
            story = tuple(
                Turn(f"You arrive at shelf {n}. On the shelf {n}, you see a mug {n + 1} and a pen {n * 7}.",
                     f"Thought: shelf {n} has no lamp.\nAction: go to shelf {n + 3}", f"go to shelf {n + 3}",
                     0.0, False, step == steps - 1)
                for step, n in enumerate(places)
            )  # fmt: skip
            played.append(an_episode(a_task(index), index % 20 < turn, Status.OK, story))
        made += episode_records("", turn, "eval", played)
    return made


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """The command, serving a folder; gives the address of the first page and the number of the process."""
    command = [sys.executable, "-m", "metagym", "view", str(folder), "--no-open"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.stdout.readline().split()[1].rstrip("/"), process.pid
    finally:
        process.terminate()
        process.communicate()


def cpu_seconds(process: int) -> float:
    """CPU time that a process has used so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(repeats: int = 5, episodes: int = 10_000, steps: int = 20) -> Report:
    """Measures it: list and overview, each of a server that has read nothing, and again of one that has."""
    from metagym.runs.view import Catalogue
    from tests.support.browser import Browser, find
    from tests.unit.runs.synthetic import write_run

    if find() is None:
        raise MissingExtra("no Chromium is installed (Debian: apt-get install chromium)")
    times: dict[str, list[float]] = {name: [] for name in ("list", "list again", "overview", "figures", "runs", "cpu")}
    with tempfile.TemporaryDirectory() as place, Browser(Path(place)) as browser:
        folder = Path(place) / "runs"
        write_run(folder / "run", rows(episodes, steps))
        size = (folder / "run" / "records.jsonl").stat().st_size
        (run,) = Catalogue(folder).runs()
        for _ in range(repeats):
            for name, target, words in (
                ("list", f"/run/{run.id}/episodes", f"of {episodes:,}"),
                ("overview", f"/run/{run.id}", f"{episodes:,}"),
                ("runs", "/", f"{episodes:,}"),
            ):
                with served(folder) as (address, process):
                    page = browser.page()
                    page.send("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
                    started, used = time.time(), cpu_seconds(process)
                    page.open(address + target)
                    seen = page.wait("window.drawnAt" if name == "overview" else "window.readyAt")
                    times[name].append(seen / 1e3 - started)
                    assert words in page.evaluate("document.body.textContent")
                    if name == "overview":
                        times["figures"].append(page.wait("window.readyAt") / 1e3 - started)
                    if name == "list":
                        times["cpu"].append(cpu_seconds(process) - used)
                        started = time.time()
                        page.open(address + target)
                        times["list again"].append(page.wait("window.readyAt") / 1e3 - started)
                    page.send("Page.close")
    figures = [
        at_most(2, f"list of {episodes:,} episodes, nothing read before", times["list"], "s"),
        told("CPU time of the server for it", times["cpu"], "s", "what a busy machine stretches"),
        at_most(2, "the same page again", times["list again"], "s"),
        at_most(2, "list of runs with this one, nothing read before", times["runs"], "s"),
        at_most(2, "overview of the run with its tables, nothing read before", times["overview"], "s"),
        told("the same until its figure and notices are there too", times["figures"], "s", "they are asked for after"),
    ]
    title = f"pages of a run of {episodes:,} episodes ({size / 1e6:.0f} MB of records) in headless Chromium"
    return Report("viewer", title, figures, {"seconds": times, "bytes": size})

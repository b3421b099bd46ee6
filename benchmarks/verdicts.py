"""What the sandbox accepts and what it holds: totals of ordinary programs, ends of attacks, raw probes of the system.

Every program runs in a confined worker. The corpora that lie beside a checkout are counted where they are present.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.common import Figure, Report
from metagym.errors import SandboxError
from metagym.sandbox import Limits, SandboxPool
from metagym.sandbox.pool import Switches
from tests.support.sandbox import CORPUS_LIMITS, OWN_CORPUS, allowed, header, transcript, verdict
from tests.unit.sandbox.test_probes import PROBES, held

SHARED = OWN_CORPUS.parents[3] / "shared" / "sandbox_corpus"


def runs_to_its_total(pool: SandboxPool, other: SandboxPool, path: Path) -> bool:
    """Whether a program gives its stated total, and the same transcript under another hash seed and guard mode."""
    source = path.read_text(encoding="utf-8")
    expected = header(source)
    assert expected.total is not None, path
    try:
        said = transcript(pool, source)
        total = sum(step[1] for step in said[1:])
        same = said == transcript(other, source)
    except SandboxError:
        return False
    return same and abs(total - expected.total) <= 1e-6 and len(said) - 1 == expected.steps


def ends_as_it_should(pool: SandboxPool, path: Path, limits: Limits) -> bool:
    """Whether an attack ends as its header says, and never shows that it went through."""
    source = path.read_text(encoding="utf-8")
    expected = header(source)
    found, seen = verdict(pool, source, limits)
    return found in allowed(expected.expect, expected.resource) and "LEAK" not in seen


def counted(name: str, outcomes: Iterable[bool], least: float, note: str = "") -> Figure:
    """A share that must reach a bound."""
    results = list(outcomes)
    share = sum(results) / len(results)
    words = f"{sum(results)} of {len(results)}" + (f"; {note}" if note else "")
    return Figure(name, share, "", share, share, 1, f">= {least:g}", share >= least, words)


def probes(user: str, *, keep_root: bool) -> Figure:
    """Raw probes with the language layer off; the clock, which nothing stops, is the one that goes through."""
    switches = Switches(language=False, keep_root=keep_root)
    with (
        SandboxPool(switches=switches) as pool,
        socket.create_server(("127.0.0.1", 0)) as server,
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind("\0mg_probe")
        abstract.listen()
        port = server.getsockname()[1]
        results = [held(pool, probe, Path(folder), port) for probe in PROBES]
    name = f"raw probes of the system held with the language layer off, {user}"
    return counted(name, results, (len(PROBES) - 1) / len(PROBES), "all but the clock")


def report() -> Report:
    """Runs every corpus in both guard modes."""
    figures = []
    with SandboxPool() as pool, SandboxPool(hash_seed=1, guards="full") as full:
        sets = {
            "ordinary programs of the project": (OWN_CORPUS / "benign", 1.0, ""),
            "the same, beside the checkout": (SHARED / "benign", 1.0, ""),
            "unseen programs, first set": (OWN_CORPUS / "unseen" / "first", 0.9, "51 of 60 at first try"),
            "unseen programs, second set": (OWN_CORPUS / "unseen" / "second", 0.9, "49 of 50 at first try"),
            "unseen programs, third set": (OWN_CORPUS / "unseen" / "third", 0.9, "49 of 50 at first try"),
        }
        for name, (folder, least, note) in sets.items():
            if paths := sorted(folder.glob("*.py")):
                outcomes = [runs_to_its_total(pool, full, path) for path in paths]
                figures.append(
                    counted(f"{name}: at their totals, both guard modes and hash seeds", outcomes, least, note)
                )
        for where, folder in (("the project", OWN_CORPUS / "attacks"), ("beside the checkout", SHARED / "attacks")):
            for mode, chosen in (("native", pool), ("full", full)):
                if paths := sorted(folder.glob("*.py")):
                    outcomes = [ends_as_it_should(chosen, path, CORPUS_LIMITS) for path in paths]
                    figures.append(counted(f"attacks, {where}, {mode} guards: end as they should", outcomes, 1.0))
    if os.geteuid() == 0:
        figures.append(probes("started by root, worker as nobody", keep_root=False))
        figures.append(probes("worker as root", keep_root=True))
    else:
        figures.append(probes("as an ordinary user", keep_root=False))
    title = "what the sandbox accepts and what it holds, as shares"
    return Report("verdicts", title, figures, {"markers": [str(path) for path in Path().glob("mg_marker*")]})

"""Where a peer lives: in this environment, or in one of its own, and how it is measured there.

A peer whose dependencies contradict ours gets an environment under ``.venv-peers/``, which ``make bench-peers`` makes
from ``benchmarks/peers/requirements-<place>.txt``; ``METAGYM_PEER_<PLACE>`` names another Python instead.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from benchmarks.common import Figure, Report
from benchmarks.peers.pairs import Contest, Unequal
from metagym.errors import BadInput

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-peers"
SECONDS = 600
"""Longest that measuring one peer may take."""


@dataclass(frozen=True)
class Peer:
    """A peer.

    Attributes:
        label: As the tables call it.
        packages: Distributions that must be there -> the versions that the adapter is written for (their beginning).
        place: Environment of its own; "" for peers that are in ours.
        extra: What brings it into our environment, e.g. ``alfworld``; "" where it has a place or needs nothing.
        unlike: What either side does that the other does not: a paragraph.
    """

    label: str
    packages: dict[str, str] = field(default_factory=dict)
    place: str = ""
    extra: str = ""
    unlike: str = ""


class Measuring(Protocol):
    """A module of this package that measures a peer."""

    PEER: Peer

    def measure(self, tiny: bool) -> list[Contest]:
        """Runs in the peer's environment."""
        ...


@dataclass(frozen=True)
class Absent:
    """A peer that was not measured, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Measured:
    """A peer that was."""

    name: str
    versions: dict[str, str]
    contests: Sequence[Contest]

    def figures(self) -> list[Figure]:
        """All lines of its table."""
        return [figure for contest in self.contests for figure in contest.figures()]

    def words(self) -> str:
        """Versions, what is unlike, and what was found equal: a paragraph."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        about = _load(self.name).PEER.unlike
        return " ".join([*([f"{versions}."] if versions else []), about, *(one.sameness() for one in self.contests)])


def variable(peer: Peer) -> str:
    """Name of the environment variable that names its Python."""
    return f"METAGYM_PEER_{peer.place.upper().replace('-', '_')}"


def python_of(peer: Peer) -> str:
    """The Python to measure a peer with.

    Raises:
        BadInput: A variable names a Python that is not there.
    """
    if not peer.place:
        return sys.executable
    if named := os.environ.get(variable(peer)):
        if not os.access(named, os.X_OK):
            raise BadInput(f"{variable(peer)} names {named}, which is no program that can be run")
        return named
    own = FOLDER / peer.place / "bin" / "python"
    return str(own) if own.is_file() else sys.executable


def missing(peer: Peer) -> str:
    """Why this very environment cannot measure a peer; "" where it can."""
    for name, wanted in peer.packages.items():
        try:
            found = version(name)
        except PackageNotFoundError:
            return f"{name} is not installed: {way_in(peer)}"
        if not found.startswith(wanted):
            return f"{name} {found} is installed, and this comparison is written for {wanted}: {way_in(peer)}"
    return ""


def way_in(peer: Peer) -> str:
    """The command that brings a peer."""
    if not peer.place:
        return f"pip install 'metagym-agents[{peer.extra}]'" if peer.extra else "see its own documentation"
    return (
        f"make bench-peers brings it (or: python -m venv {FOLDER.name}/{peer.place} && {FOLDER.name}/{peer.place}"
        f"/bin/pip install -e '.[openai]' -r benchmarks/peers/requirements-{peer.place}.txt), "
        f"or let {variable(peer)} name a Python that has it"
    )


def measured(module: str, tiny: bool = False) -> Measured | Absent:
    """Measures a peer in a fresh process of the Python that has it.

    Args:
        module: Name of its module in this package.
        tiny: Only so much as shows that it works.

    Raises:
        SystemExit: The arms came to different results. Any other failure leaves the peer out, with the last words of
            its process as the reason, and all of them on our standard error.
    """
    peer = _load(module).PEER
    python = python_of(peer)
    if python == sys.executable and (reason := missing(peer)):
        return Absent(module, reason)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.json"
        command = [python, "-m", f"benchmarks.peers.{module}", "--into", str(file), *(["--tiny"] if tiny else [])]
        environment = {name: value for name, value in os.environ.items() if name != "ALFWORLD_DATA"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Absent(module, f"measuring took more than {SECONDS} s")
        if done.returncode or not file.is_file():
            print(done.stderr[-4000:], file=sys.stderr)
            return Absent(module, f"measuring failed: {(done.stderr.strip().splitlines() or ['no word'])[-1][:300]}")
        found = json.loads(file.read_text(encoding="utf-8"))
    if "unequal" in found:
        raise SystemExit(found["unequal"])
    if "absent" in found:
        return Absent(module, found["absent"])
    return Measured(module, found["versions"], [Contest.from_json(part) for part in found["contests"]])


def _load(module: str) -> Measuring:
    return importlib.import_module(f"benchmarks.peers.{module}")  # type: ignore[return-value]


def command(module: str) -> int:
    """``python -m benchmarks.peers.<name>``: measures one peer and prints its table, or says why it is left out."""
    peer = _load(module).PEER
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.peers.{module}", description=peer.unlike)
    parser.add_argument("--tiny", action="store_true", help="only so much as shows that it works")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)  # we are the process in the peer's environment
    given = parser.parse_args()
    if given.into:
        given.into.write_text(json.dumps(_here(module, given.tiny)), encoding="utf-8")
        return 0
    found = measured(module, given.tiny)
    if isinstance(found, Absent):
        print(f"{module} is left out: {found.reason}")
        return 0
    print(Report(module, peer.label, found.figures()).table())
    print(f"\n{found.words()}")
    return 0


def _here(module: str, tiny: bool) -> dict[str, Any]:
    """What the process in the peer's environment finds."""
    measuring = _load(module)
    if reason := missing(measuring.PEER):
        return {"absent": reason}
    try:
        contests = measuring.measure(tiny)
    except Unequal as error:
        return {"unequal": str(error)}
    versions = {name: version(name) for name in measuring.PEER.packages}
    return {"versions": versions, "contests": [contest.to_json() for contest in contests]}

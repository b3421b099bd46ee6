"""Running programs that nobody has read: our sandbox beside `exec` in the process and a bare subprocess per program.

The programs are ordinary ones of the project's corpus, without NumPy. `exec` is what public code for such environments
does; the subprocess is a fresh interpreter without site packages that answers a line of JSON with a line of JSON.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import ROOT, Peer, command
from benchmarks.peers.plugins.plain_worker import Plain
from benchmarks.sandbox import LONG, WALK
from metagym.errors import SandboxError
from metagym.sandbox import Limits, SandboxPool
from metagym.sandbox.pool import Switches
from tests.support.sandbox import OWN_CORPUS, Header, header

PEER = Peer(
    label="other ways to run programs",
    unlike=(
        "Neither of the other ways protects anything. What `exec` runs can read the trainer's memory, files and keys, "
        "end it or hang it; a subprocess contains crashes and can be killed, yet reads and sends what its user can. "
        "The sandbox judges and compiles each program under a language policy, forks a confined worker for it "
        "(seccomp, Landlock, limits), and checks everything that comes out. The subprocess pays for a new interpreter "
        "and would pay more with site packages or imports; our workers are forked from one that is warm, and the time "
        "to start that one is not in the figures (a quarter of a second, once). A program that a pool has met before "
        "is not compiled again; both ways are shown."
    ),
)
WORKER = ROOT / "benchmarks" / "peers" / "plugins" / "plain_worker.py"


class Running(Protocol):
    """A program that has been loaded in one of the ways."""

    def reset(self, seed: int) -> str:
        """Starts an episode; gives the observation."""
        ...

    def step(self, action: Any) -> tuple[str, float, bool]:
        """Observation, reward, and whether the episode is over."""
        ...

    def close(self) -> None:
        """Ends it."""
        ...


class InProcess(Plain):
    """`exec` in this process."""

    def close(self) -> None:
        """There is nothing to end."""


class InSubprocess:
    """A fresh interpreter for the program."""

    def __init__(self, source: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._ask("load", source)

    def _ask(self, what: str, value: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, value]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def reset(self, seed: int) -> str:
        """See `Running`."""
        return self._ask("reset", seed)

    def step(self, action: Any) -> tuple[str, float, bool]:
        """See `Running`."""
        observation, reward, over = self._ask("step", action)
        return observation, reward, over

    def close(self) -> None:
        """See `Running`."""
        self._process.kill()
        self._process.communicate()


class InSandbox:
    """A confined worker of a pool."""

    def __init__(self, pool: SandboxPool, source: str, limits: Limits | None = None) -> None:
        self._program = pool.load(source, limits=limits) if limits else pool.load(source)

    def reset(self, seed: int) -> str:
        """See `Running`."""
        return self._program.reset(seed=seed)[0]

    def step(self, action: Any) -> tuple[str, float, bool]:
        """See `Running`."""
        observation, reward, terminated, truncated, _ = self._program.step(action)
        return observation, float(reward), terminated or truncated

    def close(self) -> None:
        """See `Running`."""
        self._program.close()


def corpus(most: int) -> dict[str, tuple[str, Header]]:
    """Ordinary programs without NumPy that come to the same in plain Python and in the sandbox.

    What draws from Python's global generator does not: the sandbox seeds it for each session, `exec` leaves it alone.
    """
    found: dict[str, tuple[str, Header]] = {}
    with SandboxPool() as pool:
        for path in sorted((OWN_CORPUS / "benign").glob("*.py")):
            source = path.read_text(encoding="utf-8")
            if len(found) == most:
                break
            if "numpy" in source or "gymnasium" in source:
                continue
            about = header(source)
            try:
                plain = episode(InProcess(source), about)
                if plain == episode(InProcess(source), about) == episode(InSandbox(pool, source), about):
                    found[path.stem] = source, about
            except (SandboxError, ImportError, NameError, TypeError):
                continue  # refused, or in need of our base classes or loader; the corpus's own tests tell of those
    return found


def episode(program: Running, about: Header) -> Result:
    """Plays the actions of a program's header; gives steps, total and a digest of what was seen."""
    try:
        texts, total, steps = [str(program.reset(about.seed))], 0.0, 0
        for action in about.actions:
            observation, reward, over = program.step(action)
            texts.append(str(observation))
            total, steps = total + reward, steps + 1
            if over:
                break
    finally:
        program.close()
    return steps, round(total, 9), hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def whole(
    ways: Mapping[str, Callable[[str], Running]], programs: Mapping[str, tuple[str, Header]], repeats: int
) -> Contest:
    """Each program loaded, played through its header's actions, and ended."""

    def arm(way: Callable[[str], Running]) -> Callable[[], Sequence[Result]]:
        return lambda: [episode(way(source), about) for source, about in programs.values()]

    note = "no protection"
    return contest(
        f"{len(programs)} programs, each loaded and played once",
        {name: arm(way) for name, way in ways.items()},
        [
            Line(
                "`exec` in the process: a program loaded and played",
                "sandbox",
                "exec",
                note,
                True,
            ),
            Line(
                "bare subprocess: a program loaded and played",
                "sandbox",
                "subprocess",
                "no confinement",
                True,
            ),
            Line("`exec` in the process: the same, program met before", "sandbox, met before", "exec", note),
            Line(
                "bare subprocess: the same, program met before", "sandbox, met before", "subprocess", "no confinement"
            ),
        ],
        repeats=repeats,
        count=len,
        unit="program",
        scale="ms",
        equal="steps, total reward and every observation (digest) of each program",
    )


def stepping(ways: Mapping[str, Callable[[str], Running]], steps: int, repeats: int) -> Contest:
    """Steps of one small program that is loaded already."""
    programs = {name: way(WALK) for name, way in ways.items()}
    actions = ("east", "north", "west", "south")

    def walk(program: Running) -> Sequence[Result]:
        texts, total = [program.reset(0)], 0.0
        for number in range(steps):
            observation, reward, _ = program.step(actions[number * number % 4])
            texts.append(observation)
            total += reward
        return [(round(total, 9), steps, hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16])]

    try:
        return contest(
            f"{steps} steps of a small program, one at a time",
            {name: (lambda program=program: walk(program)) for name, program in programs.items()},
            [
                Line(
                    "`exec` in the process: a step",
                    "sandbox",
                    "exec",
                    "a step that costs next to nothing",
                    True,
                ),
                Line(
                    "bare subprocess: a step",
                    "sandbox",
                    "subprocess",
                    "JSON over pipes in both",
                    True,
                ),
            ],
            repeats=repeats,
            count=lambda results: steps,
            unit="step",
            scale="us",
            equal="total reward and every observation (digest)",
        )
    finally:
        for program in programs.values():
            program.close()


def measure(tiny: bool) -> list[Contest]:
    """Loading and stepping."""
    programs = corpus(2 if tiny else 24)
    with SandboxPool(switches=Switches(shelf=False)) as new, SandboxPool() as known:
        ways: dict[str, Callable[[str], Running]] = {
            "sandbox": lambda source: InSandbox(new, source),
            "sandbox, met before": lambda source: InSandbox(known, source),
            "exec": InProcess,
            "subprocess": InSubprocess,
        }
        loaded = whole(ways, programs, 2 if tiny else 9)
        ways = {**ways, "sandbox": lambda source: InSandbox(new, source, LONG)}
        del ways["sandbox, met before"]
        return [loaded, stepping(ways, 20 if tiny else 2000, 2 if tiny else 11)]


if __name__ == "__main__":
    sys.exit(command("loading"))

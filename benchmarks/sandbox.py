"""What the sandbox costs: creating programs, stepping them one by one, in batches and over four workers, and memory.

Every figure is taken with all layers on, as users have them; the programs are the ordinary ones of the project's
corpus.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import Figure, Report, at_least, at_most, settled, told
from metagym.sandbox import AsyncProgram, Limits, Reset, SandboxPool, Step
from metagym.sandbox.loaders import BareLoader, LanguageLoader, Loader
from metagym.sandbox.play import PlainPlayer
from metagym.sandbox.pool import Switches
from tests.support.sandbox import OWN_CORPUS, Header, header

LONG = Limits(steps=10**7, cpu_s=600.0, call_s=20.0)

WALK = '''
class Env:
    """A walk on a grid: what a step of an ordinary small program costs."""

    def __init__(self):
        self.size = 9

    def reset(self, seed=None):
        self.x = self.y = self.t = 0
        return self._look(), {}

    def _look(self):
        return f"You stand at ({self.x}, {self.y})."

    def step(self, action):
        self.t += 1
        dx, dy = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}.get(action, (0, 0))
        self.x = min(self.size, max(0, self.x + dx))
        self.y = min(self.size, max(0, self.y + dy))
        return self._look(), 0.1 if dx else 0.0, False, False, {"t": self.t}
'''


SHARED = OWN_CORPUS.parents[3] / "shared" / "sandbox_corpus"
SLOWDOWN = 1.7


def corpus(numpy: bool, folder: Path = OWN_CORPUS) -> dict[str, tuple[str, Header]]:
    """Ordinary programs with their headers, those with NumPy or those without."""
    found = {}
    for path in sorted((folder / "benign").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if ("numpy" in source or "gymnasium" in source) == numpy:
            found[path.stem] = source, header(source)
    return found


def seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def round_trips(pool: SandboxPool, repeats: int, steps: int) -> list[float]:
    """Median time of a step, microseconds, one value per repeat."""
    found = []
    with pool.load(WALK, limits=LONG) as program:
        for _ in range(repeats):
            program.reset()
            found.append(statistics.median(seconds(lambda: program.step("east")) for _ in range(steps)) * 1e6)
    return found


def batches(pool: SandboxPool, repeats: int, steps: int, sessions: int = 32) -> list[float]:
    """Time of a step in a batch over many sessions, microseconds."""
    found = []
    with pool.load(WALK, limits=LONG) as program:
        program.batch([Reset(session=number) for number in range(sessions)])
        operations = [Step("east", number) for number in range(sessions)]
        for _ in range(repeats):
            spent = [seconds(lambda: program.batch(operations)) for _ in range(steps)]
            found.append(statistics.median(spent) / sessions * 1e6)
    return found


def forks(pool: SandboxPool, count: int) -> list[float]:
    """Time from asking for a worker to its first answer, confined, milliseconds."""
    found = []
    for _ in range(count):
        started = time.perf_counter()
        channel = pool._workers.channel(LONG)
        [answer] = channel.exchange([["drop", 0]])
        found.append((time.perf_counter() - started) * 1e3)
        assert answer == ["ok", None]
        channel.close()
    return found


def creations(pool: SandboxPool, sources: Sequence[str], repeats: int, threads: int = 1) -> list[float]:
    """Programs created, reset and closed per second, one value per round over the corpus."""

    def one(source: str) -> None:
        with pool.load(source) as program:
            program.reset()

    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(one, sources[: 2 * threads]))
        return [len(sources) / seconds(lambda: list(executor.map(one, sources))) for _ in range(repeats)]


def processor_times(pool: SandboxPool, sources: Sequence[str], repeats: int) -> list[float]:
    """Processor time of a program created, reset and closed, milliseconds: caller, zygote and worker together.

    What other work the machine has moves it far less than it moves the programs per second.
    """

    def spent() -> float:
        time.sleep(0.1)  # until the last worker is reaped, which is when its time is counted
        fields = Path(f"/proc/{pool.zygote_pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return time.process_time() + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    found = []
    for _ in range(repeats):
        before = spent()
        creations(pool, sources, 1)
        found.append((spent() - before) / (len(sources) + 2) * 1e3)
    return found


def creations_at_once(pool: SandboxPool, sources: Sequence[str], repeats: int, width: int) -> list[float]:
    """The same by coroutines, several programs under way at a time."""

    async def one(source: str, gate: asyncio.Semaphore) -> None:
        async with gate, await pool.load_async(source) as program:
            await program.reset()

    async def one_round() -> None:
        gate = asyncio.Semaphore(width)
        await asyncio.gather(*(one(source, gate) for source in sources))

    return [len(sources) / seconds(lambda: asyncio.run(one_round())) for _ in range(repeats)]


def new_sessions(pool: SandboxPool, repeats: int, count: int) -> list[float]:
    """Time of a reset in a session opened anew, in batches of 32, milliseconds."""
    with pool.load(WALK, limits=LONG) as program:
        operations = [Reset(session=number, fresh=True) for number in range(32)]
        return [
            statistics.median(seconds(lambda: program.batch(operations)) for _ in range(count)) / 32 * 1e3
            for _ in range(repeats)
        ]


def crowd(pool: SandboxPool, repeats: int, steps: int, workers: int = 4, sessions: int = 8) -> list[float]:
    """Steps per second over several workers, each with several sessions, all from one event loop."""

    async def session(program: AsyncProgram, number: int) -> None:
        for _ in range(steps):
            await program.step("east", number)

    async def main() -> list[float]:
        programs = [await pool.load_async(WALK, limits=LONG) for _ in range(workers)]
        found = []
        for _ in range(repeats):
            for program in programs:
                await program.batch([Reset(session=number) for number in range(sessions)])
            started = time.perf_counter()
            await asyncio.gather(*(session(program, number) for program in programs for number in range(sessions)))
            found.append(workers * sessions * steps / (time.perf_counter() - started))
        for program in programs:
            await program.close()
        return found

    return asyncio.run(main())


def private_memory(pool: SandboxPool, sources: Sequence[str]) -> list[float]:
    """MiB of memory that a worker has to itself after an episode's first steps; empty where the system hides it."""
    found = []
    for source in sources:
        about = header(source)
        with pool.load(source) as program:
            program.reset(seed=about.seed)
            for action in about.actions[:3]:
                if any(program.step(action)[2:4]):
                    break
            pid = program._channel._talk.worker.pid  # type: ignore[attr-defined]
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
            except OSError:
                return []
        kilobytes = [int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")]
        found.append(sum(kilobytes) / 1024)
    return found


class Arm:
    """One way to run a program in this process: an episode again and again, the environment's own calls alone."""

    def __init__(self, loader: Loader, source: str, about: Header) -> None:
        limits = Limits()
        self._player = PlainPlayer(loader, limits)
        assert self._player.perform(["load", source, False, 0])[0] == "ok"
        self._about = about
        self.env = self._player._sessions[0].env

    def episode(self) -> float:
        """Seconds of the steps of one episode; the reset before them is not counted."""
        assert self._player.perform(["reset", 0, self._about.seed, None, False])[0] == "ok"
        step, spent = self.env.step, 0.0
        clock = time.perf_counter
        for action in self._about.actions:
            started = clock()
            found = step(action)
            spent += clock() - started
            if any(found[2 : 4 if len(found) == 5 else 3]):
                break
        return spent


def slowdowns(repeats: int, episodes: int, folder: Path) -> dict[str, list[float]]:
    """Time of a program's steps under the language layer over plain Python, by program, in pairs by turns."""
    language = LanguageLoader("native", False)
    language.warm_up()
    found: dict[str, list[float]] = {}
    for name, (source, about) in corpus(False, folder).items():
        try:
            arms = Arm(language, source, about), Arm(BareLoader(), source, about)
            arms[0].episode(), arms[1].episode()
        except (AssertionError, ImportError):
            continue  # told by the corpus's test; a refused program has no time
        found[name] = []
        for _ in range(repeats):
            times = [min(arm.episode() for _ in range(episodes)) for arm in arms]
            found[name].append(times[0] / times[1])
    return found


def against_plain_python(where: str, by_program: dict[str, list[float]]) -> list[Figure]:
    """The middle program, the slowest one, and how many keep the bound by themselves."""
    medians = {name: statistics.median(values) for name, values in by_program.items()}
    slowest = max(medians, key=medians.__getitem__)
    within = sum(value <= SLOWDOWN for value in medians.values())
    name = f"steps against plain Python, programs {where}"
    return [
        at_most(
            SLOWDOWN, name, list(medians.values()), "x", f"without NumPy; {within} of {len(medians)} keep the bound"
        ),
        told("the same, slowest program", by_program[slowest], "x", slowest),
    ]


def unsafe_plays(repeats: int, steps: int, sessions: int = 32) -> tuple[list[float], list[float]]:
    """Episodes per second of one program: 32 at a time in a worker, and one by one by plain `exec` in this process."""
    safe, unsafe = [], []
    actions = ["east", "north", "west", "south"] * (steps // 4)

    async def episode(program: AsyncProgram, number: int) -> float:
        total = 0.0
        await program.reset(seed=number, session=number, fresh=True)
        for action in actions:
            _, reward, *_ = await program.step(action, number)
            total += reward
        return total

    async def main(pool: SandboxPool) -> None:
        async with await pool.load_async(WALK, limits=LONG) as program:
            for _ in range(repeats):
                started = time.perf_counter()
                await asyncio.gather(*(episode(program, number) for number in range(sessions)))
                safe.append(sessions / (time.perf_counter() - started))
                unsafe.append(sessions / seconds(lambda: [by_exec(actions) for _ in range(sessions)]))

    with SandboxPool() as pool:
        asyncio.run(main(pool))
    return safe, unsafe


def by_exec(actions: Sequence[str]) -> float:
    """The unsafe way: the program's text run here, and its class stepped."""
    namespace: dict[str, Any] = {}
    exec(compile(WALK, "<program>", "exec"), namespace)
    env, total = namespace["Env"](), 0.0
    env.reset(seed=0)
    for action in actions:
        total += env.step(action)[1]
    return total


def report(repeats: int = 9, steps: int = 1_000, rounds: int = 3) -> Report:
    """Measures everything.

    Args:
        repeats: Values of each figure.
        steps: Steps behind one value.
        rounds: Rounds over the corpus for the figures that need it.
    """
    plain = [source for source, _ in corpus(numpy=False).values()]
    cores = len(os.sched_getaffinity(0))
    with SandboxPool(switches=Switches(shelf=False)) as pool, settled():
        loadable = [source for source in plain if _loads(pool, source)]
        figures = [
            at_most(5, "fork, confine and first answer", forks(pool, 20 * rounds), "ms"),
            at_least(
                60,
                "programs created and reset, each compiled, one by one",
                creations(pool, loadable, rounds),
                "/s",
                f"{len(loadable)} programs of the corpus",
            ),
            at_least(
                60,
                "the same from a thread for each core",
                creations(pool, loadable, rounds, cores),
                "/s",
                f"{cores} threads",
            ),
            told("the same by coroutines, 4 at a time", creations_at_once(pool, loadable, rounds, 4), "/s"),
            told("processor time of one, all processes", processor_times(pool, loadable, rounds), "ms"),
        ]
        memory = private_memory(pool, loadable)
    with SandboxPool() as pool, settled():
        creations(pool, loadable, 1)
        again = private_memory(pool, loadable)
        figures += [
            told("programs that the pool has compiled before, one by one", creations(pool, loadable, rounds), "/s"),
            told("the same from a thread for each core", creations(pool, loadable, rounds, cores), "/s"),
            told("processor time of one, all processes", processor_times(pool, loadable, rounds), "ms"),
            at_most(60, "a step, alone (round trip)", round_trips(pool, repeats, steps), "us", "median of each repeat"),
            told("a step in a batch of 32 sessions", batches(pool, repeats, max(1, steps // 20)), "us"),
            told("a session opened anew and reset, in a batch of 32", new_sessions(pool, repeats, 10), "ms"),
            at_least(15_000, "steps over 4 workers with 8 sessions each", crowd(pool, repeats, steps // 10), "/s"),
            told("steps over 4 workers with 1 session each", crowd(pool, repeats, steps // 2, sessions=1), "/s"),
        ]
    lengths = [len(source) for source in loadable]
    if memory:
        figures += [
            at_most(5, "private memory of a worker, NumPy loaded", memory, "MiB", "over the corpus"),
            told("the same of a program that the pool has compiled before", again, "MiB"),
        ]
    slow: dict[str, list[float]] = {}
    for where, folder in (("of the project", OWN_CORPUS), ("beside the checkout", SHARED)):
        if by_program := slowdowns(max(rounds, 5), 10, folder):
            figures += against_plain_python(where, by_program)
            slow |= by_program
    safe, unsafe = unsafe_plays(repeats, 40)
    ratios = [ours / theirs for ours, theirs in zip(safe, unsafe, strict=True)]
    figures += [
        told("episodes of 40 steps of a trivial program, 32 at a time", safe, "/s"),
        told(
            "the same against plain exec in this process",
            ratios,
            "x",
            "a program whose steps cost nothing: the worst case",
        ),
    ]
    return Report(
        "sandbox", "what the sandbox costs with every layer on", figures, {"slowdowns": slow, "lengths": lengths}
    )


def _loads(pool: SandboxPool, source: str) -> bool:
    from metagym.errors import SandboxError

    try:
        pool.load(source).close()
    except SandboxError:
        return False
    return True


__all__ = ["report"]

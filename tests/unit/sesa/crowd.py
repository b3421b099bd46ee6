"""Several writers on one bank, forked from one interpreter: ``python -m tests.unit.sesa.crowd kills|faults|crowd ...``.

Prints one JSON object. A writer acknowledges a card by its id on a pipe, after `SkillBank.add` returned.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metagym.seeding import rng
from metagym.sesa import SkillBank, views
from metagym.sesa.embedders import HashEmbedder
from tests.unit.sesa.cards import lesson, near

_EMBEDDER = HashEmbedder(64)


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """Runs `work(pipe)` in a child; gives its process id and the reading end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 1
    try:
        os.close(reading)
        work(writing)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def told(reading: int) -> list[str]:
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode().split()  # an id is written with one call, so none is ever cut


def writer(folder: Path, numbers: range) -> Callable[[int], None]:
    def work(pipe: int) -> None:
        # A neighbour's kill may have cut a line short while this one opens; that it is told is no reason to end.
        warnings.simplefilter("ignore", views.BankWarning)
        with SkillBank.open(folder, embedder=_EMBEDDER) as bank:
            for number in numbers:
                os.write(pipe, (bank.add(lesson(number)).id + "\n").encode())
                if number % 7 == 3:
                    bank.record_use(lesson(number).id, True)
                    bank.flush()

    return work


def kills(folder: Path, rounds: int) -> dict[str, int]:
    """Rounds of three writers, each killed at a random moment; after each all that was acknowledged must be there."""
    random = rng(0, "kills")
    acknowledged: set[str] = set()
    lost, killed, torn, done, silent = 0, 0, 0, 0, 0
    SkillBank.open(folder, embedder=_EMBEDDER).close()
    for number in range(rounds):
        firsts = (number * 1000, number * 1000 + 500, 900_000)  # the third writes what others of its kind wrote
        children = [forked(writer(folder, range(first, first + 500))) for first in firsts]
        for child, reading in sorted(children, key=lambda _: random.random()):
            for _ in range(random.randint(1, 2)):
                if line := os.read(reading, 17).decode().strip():  # 16 digits and the newline
                    acknowledged.add(line)
                else:  # a writer that ended by itself
                    silent += 1
            time.sleep(random.uniform(0, 0.004))
            os.kill(child, signal.SIGKILL)
        for child, reading in children:
            acknowledged.update(told(reading))
            killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bank = SkillBank.open(folder, embedder=_EMBEDDER)  # opening is all the repair there is
        torn += len(caught)
        lost += sum(id_ not in bank for id_ in acknowledged)
        done = len(bank.entries())
        if number % 9 == 0:
            for path in (folder / "cards").glob("*.md"):
                text = path.read_text("utf-8")
                assert text.startswith("---\n") and text.endswith("\n") and text.count("---\n") == 2, path
            bank.close()
        bank.release()
    return {
        "acknowledged": len(acknowledged),
        "lost": lost,
        "killed": killed,
        "torn": torn,
        "cards": done,
        "silent": silent,
    }


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _half_a_write(fd: int, data: bytes) -> int:
    if bytes(data[:1]) == b"{":
        _write(fd, bytes(data[: len(data) // 2]))
        _die()
    return _write(fd, data)


_write = os.write

FAULTS: dict[str, tuple[str, Callable[..., object]]] = {
    "before the line is written": ("write", lambda fd, data: _die() if bytes(data[:1]) == b"{" else _write(fd, data)),
    "in the middle of the line": ("write", _half_a_write),
    "before the line is synced": ("fsync", _die),
    "before a file is renamed": ("replace", _die),
    "before a draft is written": ("open", _die),
}


def faults(folder: Path) -> dict[str, list[int]]:
    """One kill at each named point; per point: acknowledged and lost, in the bank afterwards, drafts that lie about."""
    found = {}
    for name, (call, killing) in FAULTS.items():
        place = folder / name.replace(" ", "-")
        SkillBank.open(place, embedder=_EMBEDDER).close()

        def work(pipe: int, place: Path = place, call: str = call, killing: Callable[..., object] = killing) -> None:
            bank = SkillBank.open(place, embedder=_EMBEDDER)
            for number in range(3):
                os.write(pipe, (bank.add(lesson(number)).id + "\n").encode())
            bank.flush()
            if call == "open":
                views.write_atomically = killing  # type: ignore[assignment]
            else:
                setattr(os, call, killing)
            bank.add(lesson(3))
            _write(pipe, (lesson(3).id + "\n").encode())
            bank.flush()

        child, reading = forked(work)
        ids = told(reading)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), name
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            bank = SkillBank.open(place, embedder=_EMBEDDER)
        with bank:
            bank.add(lesson(9))
            count = len(bank.entries())
            lost = sum(id_ not in bank for id_ in ids)
        views_there = len(list((place / "cards").glob("*.md")))
        found[name] = [len(ids), lost, count, views_there, len(list(place.rglob(".tmp")))]
    return found


def crowd(folder: Path, writers: int, adds: int) -> dict[str, Any]:
    """Writers at once, 30% of their cards known to others, exactly or nearly."""
    SkillBank.open(folder, embedder=_EMBEDDER).close()

    def work(pipe: int, number: int) -> None:
        random = rng(number, "crowd")
        with SkillBank.open(folder, embedder=_EMBEDDER) as bank:
            for own in range(adds):
                card = lesson(number * 1000 + own)
                if random.random() < 0.3:
                    card = lesson(random.randrange(60))
                    card = near(card) if random.random() < 0.5 else card
                os.write(pipe, f"{card.id}\n".encode())
                bank.add(card)

    children = [forked(lambda pipe, number=number: work(pipe, number)) for number in range(1, writers + 1)]
    sent = {id_ for _, reading in children for id_ in told(reading)}
    failed = sum(os.waitpid(child, 0)[1] != 0 for child, _ in children)
    return {"sent": sorted(sent), "failed": failed}


if __name__ == "__main__":
    kind, path, *numbers = sys.argv[1:]
    run = {"kills": kills, "faults": faults, "crowd": crowd}[kind]
    print(json.dumps(run(Path(path), *map(int, numbers))))

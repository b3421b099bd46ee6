"""What the skill bank costs: adding with deduplication, durable batches, retrieval."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import Figure, Report, at_least, at_most, settled, told
from metagym.seeding import derive, rng
from metagym.sesa import SkillBank, SkillCard
from metagym.sesa.dedup import Added
from metagym.sesa.embedders import Vectors, unit
from metagym.sesa.snapshots import search
from metagym.sesa.vectors import Tiles

_WORDS = (
    "actor album answer article author award battle birth book born bridge brother building capital career castle "
    "cathedral century chain character church city claim clue club coach coast college combine commander company "
    "compare composer confirm conflict country couple criterion date daughter decade decide describe detail director "
    "document dynasty edition editor emperor empire entity episode event evidence exact family father festival fiction "
    "film final first follow formula founder fragment friend full game genre governor graph group guess harbour hill "
    "history hop hospital identify image index infer island journal judge key king label language law league letter "
    "library line link list location magazine maker map mayor measure member merge mention method minister mission "
    "month mother mountain museum name narrow nation network newspaper novel number object office opera order origin "
    "page painter palace parish partner passage person phrase place planet player poem population position precise "
    "president prize producer professor programme proof province publish query question quote rank reader record "
    "region related relation release report resolve result return reverse river road role route ruler rumour scene "
    "school scientist season second section sentence series settle ship singer sister soldier song source space "
    "species spouse stadium stage state station step story studio style subject support symbol table team temple term "
    "theatre theory title topic tower town trace track tradition treaty tribe university valley verify version village "
    "voice volume war water wife winner witness word work writer year zone"
).split()
_SLOTS = ("{entity}", "{relation}", "{constraint}")


def made_up(count: int, seed: int = 0, length: int = 30) -> list[SkillCard]:
    """Cards of a distilled card's size (about 60 words), no two of them alike."""
    random = rng(seed, "benchmarks/skills")
    out = []
    for number in range(count):
        words = random.choices(_WORDS, k=2 * length)
        template = f"{' '.join(random.choices(_WORDS, k=4))} {random.choice(_SLOTS)}"
        out.append(
            SkillCard(
                f"{' '.join(words[:length])} {number}",
                " ".join(words[length : length * 3 // 2]),
                " ".join(words[length * 3 // 2 :]),
                template,
                source="failure",
            )
        )
    return out


def questions(count: int, seed: int = 1) -> list[str]:
    """Questions of 14 words."""
    random = rng(seed, "benchmarks/skills/questions")
    return [" ".join(random.choices(_WORDS, k=14)) + "?" for _ in range(count)]


@contextmanager
def bank(embedder: str, cards: list[SkillCard], folder: str) -> Iterator[SkillBank]:
    """A bank that holds cards; it is closed without the files of its cards, which no figure is about."""
    opened = SkillBank.open(Path(folder) / f"{embedder}-{len(cards)}", embedder=embedder)
    for start in range(0, len(cards), 2000):
        opened.add_many(cards[start : start + 2000])
    try:
        yield opened
    finally:
        opened.release()


def _timed(work: Callable[[Any], Any], inputs: list[Any]) -> tuple[list[float], list[float]]:
    """Milliseconds of each call: of the process's own CPU time (waiting for a disk is none), and by the clock."""
    own, clock = [], []
    for given in inputs:
        started, began = time.process_time(), time.perf_counter()
        work(given)
        own.append((time.process_time() - started) * 1e3)
        clock.append((time.perf_counter() - began) * 1e3)
    return own, clock


def crowd(cards: Vectors, count: int) -> Vectors:
    """A table of `count` vectors: those of the cards, then noisy copies of them (cosine about 0.7), unit length.

    A search reads every row whatever is in it, so that its time is that of as many real cards; embedding these would
    take minutes.
    """
    noise = np.random.default_rng(derive(0, "benchmarks/skills/crowd"))
    out = np.empty((count, cards.shape[1]), dtype=np.float32)
    out[: len(cards)] = cards[:count]
    for start in range(len(cards), count, len(cards)):
        rows = cards[: count - start]
        out[start : start + len(rows)] = unit(rows + noise.normal(0, cards.shape[1] ** -0.5, rows.shape))
    return out


def figures(embedder: str, adds_at: int, searches_at: int, repeats: int, folder: str) -> list[Figure]:
    """The figures of one embedder."""
    cards = made_up(adds_at + repeats + 10 * max(repeats, 100))
    base, rest = cards[:adds_at], cards[adds_at:]
    out = []
    with bank(embedder, base, folder) as opened, settled():
        vectors = opened.vectors(card.id for card in base)
        adding, added = _timed(opened.add, rest[:repeats])
        batches = [rest[start : start + 100] for start in range(repeats, len(rest), 100)]
        _, spent = _timed(opened.add_many, batches)
        durable = [len(batch) * 1e3 / one for batch, one in zip(batches, spent, strict=True)]
        new = sum(isinstance(outcome, Added) for outcome in opened.add_many(made_up(100, seed=9)))
        maker = opened.embedder
    size = f"{adds_at:,} cards, {embedder}"
    out += [
        at_most(1, f"add + dedup of a card, at {size}", adding, "ms", "CPU time, embedding included"),
        told("the same by the clock, with its fsync", added, "ms"),
        at_least(2000, f"durable adds in batches of 100, at {size}", durable, "1/s", "one fsync per batch"),
    ]
    rows, live = crowd(vectors, searches_at), np.ones(searches_at, dtype=bool)
    shown = [base[at % len(base)] for at in range(searches_at)]
    with settled():
        asked = questions(2 * max(repeats, 20) + 5)
        tiles = Tiles()
    searching, found = _timed(lambda question: search(maker, rows, tiles, live, shown, question, 3), asked)
    out += [
        at_most(
            3,
            f"search for 3 cards, p50, at {searches_at:,} cards, {embedder}",
            found[5:],
            "ms",
            "by the clock, two threads, embedding included; rows beyond the bank's are noisy copies",
        ),
        told("the same in CPU time of both threads", searching[5:], "ms"),
        told(f"cards of another seed that were new, {embedder}", [float(new)], "of 100"),
    ]
    return out


def report(adds_at: int = 10_000, searches_at: int = 100_000, repeats: int = 101) -> Report:
    """Measures the embedders that are installed."""
    names = ["hash", *(["wordllama"] if importlib.util.find_spec("wordllama") else [])]
    with tempfile.TemporaryDirectory() as folder:
        found = [one for name in names for one in figures(name, adds_at, searches_at, repeats, folder)]
    return Report("skills", "the skill bank: adding, deduplication, retrieval", found, {"embedders": names})

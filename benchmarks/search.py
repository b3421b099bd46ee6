"""The embedded searchers: time to build an index, time of a query, and what searching hop by hop is worth.

Passages and questions are those beside the checkout where they are there, else the invented world of SearchQA.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.common import Figure, Report, at_least, at_most, settled, told
from metagym.qadata import QARow, read_rows
from metagym.search import Corpus, Searcher, read_corpus, searcher_of
from metagym_envs.searchqa.rules.reading import QUERIES
from metagym_envs.searchqa.world import TYPES, world

MATERIAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "qa"
TOP = 3
ENGINES = {"bm25": "bm25s", "fts5": "sqlite3", "tantivy": "tantivy"}


@dataclass(frozen=True)
class Material:
    """What is searched and asked.

    Attributes:
        corpus: The passages.
        queries: Questions, for the clock.
        hops: Questions whose supporting titles are known, each with its single steps as queries.
        name: For the table.
    """

    corpus: Corpus
    queries: Sequence[str]
    hops: Sequence[tuple[QARow, Sequence[str]]]
    name: str


def material() -> Material:
    """The passages beside the checkout, else the invented world."""
    if (MATERIAL / "corpus_mini.jsonl").is_file():
        queries = [row.question for file in sorted(MATERIAL.glob("questions_*.jsonl")) for row in read_rows(file)]
        hops = [(row, list(_steps(row))) for row in read_rows(MATERIAL / "questions_musique100.jsonl")]
        return Material(read_corpus(MATERIAL / "corpus_mini.jsonl"), queries, hops, "MuSiQue")
    rows = [row for split in world().rows.values() for row in split]
    pairs = [
        (
            row,
            [
                QUERIES[hop].format(s=title)
                for hop, title in zip(_hops(row), row.metadata["supporting_titles"], strict=True)
            ],
        )
        for row in rows
        if row.metadata["hops"] > 1
    ]
    return Material(world().corpus, [row.question for row in rows], pairs, "invented world")


def _hops(row: QARow) -> Sequence[str]:
    return TYPES[row.metadata["type"]].hops


def _steps(row: QARow) -> Iterator[str]:
    """The gold decomposition of a MuSiQue question, ``#1`` standing for the first answer."""
    answers: list[str] = []
    for step in row.metadata["decomposition"]:
        yield re.sub(r"#(\d+)", lambda found: answers[int(found[1]) - 1], step["question"])  # noqa: B023
        answers.append(step["answer"])


def supported(searcher: Searcher, queries: Sequence[str], row: QARow) -> bool:
    """Whether the best passages of these queries hold all supporting titles of a question."""
    found = {hit.passage.plain_title for hits in searcher.search(queries, TOP) for hit in hits}
    return set(row.metadata["supporting_titles"]) <= found


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def report(repeats: int = 3) -> Report:
    """Builds each index `repeats` times, asks all questions one by one, and counts supported questions."""
    given = material()
    figures: list[Figure] = []
    details: dict[str, object] = {"passages": len(given.corpus.passages), "queries": len(given.queries)}
    for engine, module in ENGINES.items():
        if find_spec(module) is None:
            continue
        searcher_of(engine, Corpus(given.corpus.passages[:10]))  # imports are not building
        with settled():
            builds = [_seconds(lambda: searcher_of(engine, given.corpus)) for _ in range(repeats)]  # noqa: B023
        searcher = searcher_of(engine, given.corpus)
        searcher.search(given.queries[:20], TOP)
        with settled():
            times = [_seconds(lambda: searcher.search([query], TOP)) * 1e3 for query in given.queries]  # noqa: B023
        percentiles = statistics.quantiles(times, n=100, method="inclusive")
        figures.append(told(f"{engine}: build", builds, "s"))
        figures.append(told(f"{engine}: query, median", [statistics.median(times)], "ms"))
        figures.append(told(f"{engine}: query, 99th percentile", [percentiles[98]], "ms"))
        raw = sum(supported(searcher, [row.question], row) for row, _ in given.hops) / len(given.hops)
        split = sum(supported(searcher, steps, row) for row, steps in given.hops) / len(given.hops)
        figures.append(at_most(0.20, f"{engine}: {given.name}, all supports, question as asked", [raw], ""))
        figures.append(at_least(0.60, f"{engine}: {given.name}, all supports, step by step", [split], ""))
        details[engine] = {
            "name": searcher.name,
            "build_s": builds,
            "query_ms": {str(n): percentiles[n - 1] for n in (50, 90, 99)},
        }
        searcher.close()
    title = f"searchers over {len(given.corpus.passages):,} passages, top {TOP}, {len(given.queries)} questions"
    return Report("search", title, figures, details)

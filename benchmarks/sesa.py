"""SESA without a model: what a card that says "decompose" is worth to a scripted solver, and what the loop costs.

The gain is a true gain in retrieval. Questions are those of MuSiQue beside the checkout where they are there (a solver
that knows their gold decompositions follows them only if a card says so), else riddles on the invented world that comes
with SearchQA. The placebo is text of the same length that says nothing of searching.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import Figure, Report, settled, told
from metagym import stats
from metagym.answers import AnswerScorer
from metagym.chat.types import ChatModel
from metagym.episodes import Episode
from metagym.qadata import QARow, read_rows
from metagym.search import Searcher, load_searcher
from metagym.sesa.cards import SkillCard
from metagym.sesa.config import SesaConfig
from metagym.sesa.evaluate import EvalConfig, evaluate
from metagym.sesa.loop import run_loop
from metagym.sesa.materials import load_material, question_set
from metagym.sesa.rollouts import searches_of
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import MemoryRecords
from metagym.sesa.stand_ins import OracleSolver, SearchingSolver

MATERIAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "qa"
TOP = 3
CARD = SkillCard(
    "Decompose the question: make one search for each fact, the innermost one first.",
    "A question that reaches its answer through other entities that it does not name.",
    "Searching for the whole question at once.",
    "{relation} {entity found by the search before}",
)
BOUNDS = {"on": (">=", 0.60), "off": ("<=", 0.20), "placebo": ("<=", 0.20)}
"""Share of questions of which all supporting passages must (with the card) and may (without) be found."""


def material() -> tuple[list[QARow], Searcher, ChatModel, str]:
    """Questions of several facts, what searches, a solver that can take them apart, and a name."""
    if (MATERIAL / "corpus_mini.jsonl").is_file():
        rows = read_rows(MATERIAL / "questions_musique100.jsonl")
        parts = {row.question: row.metadata["decomposition"] for row in rows}
        oracle = OracleSolver(parts, {row.question: row.golds for row in rows})
        return rows, load_searcher(f"bm25:{MATERIAL / 'corpus_mini.jsonl'}"), oracle, "MuSiQue"
    world = load_material("invented")
    return question_set("riddles", world, "valid", hops=(2, 3)), world.searcher, SearchingSolver(), "invented world"


def supported(episode: Episode, row: QARow, searcher: Searcher) -> bool:
    """Whether the best passages of an episode's searches hold all supporting titles of its question."""
    found = {hit.passage.plain_title for hits in searcher.search(searches_of(episode), TOP) for hit in hits}
    return set(row.metadata["supporting_titles"]) <= found


def deployed(folder: Path, rows: Sequence[QARow], searcher: Searcher, solver: ChatModel) -> dict[str, list[Episode]]:
    """The episodes of each deployment with a bank of one card."""
    with SkillBank.open(folder) as bank:
        bank.add(CARD)
    with SkillBank.open(folder, read_only=True) as bank:
        return asyncio.run(evaluate(EvalConfig(), rows, solver, searcher, AnswerScorer("em"), bank, MemoryRecords()))


def share(name: str, hits: Sequence[bool], bound: tuple[str, float] | None = None, note: str = "") -> Figure:
    """A share with Wilson's interval, held against a bound where there is one."""
    found = stats.rate(hits)
    assert found.value is not None and found.low is not None and found.high is not None
    text, holds = "", None
    if bound is not None:
        text = f"{bound[0]} {bound[1]:.2f}"
        holds = found.value >= bound[1] if bound[0] == ">=" else found.value <= bound[1]
    return Figure(name, found.value, "share", found.low, found.high, found.n, text, holds, note)


def gains(folder: Path) -> list[Figure]:
    """All supports found, and answers right, of each deployment."""
    rows, searcher, solver, name = material()
    figures = []
    for deployment, episodes in deployed(folder, rows, searcher, solver).items():
        hits = [supported(episode, row, searcher) for episode, row in zip(episodes, rows, strict=True)]
        right = [bool(episode.success) for episode in episodes]
        note = f"{searcher.name}, top {TOP}"
        figures.append(share(f"{name}, {deployment}: all supports found", hits, BOUNDS[deployment], note))
        figures.append(share(f"{name}, {deployment}: exact match", right, None, note))
    return figures


def cost(folder: Path) -> Figure:
    """Wall-clock time of one scripted rollout in the loop, with everything around it but the disk of the records."""
    world, values = load_material("invented"), []
    config = SesaConfig(rounds=4, questions=8)
    for repeat in range(3):
        with settled(), SkillBank.open(folder / str(repeat)) as bank:
            started = time.perf_counter()
            loop = asyncio.run(run_loop(config, bank, material=world))
            seconds = time.perf_counter() - started
        rollouts = sum(len(slot.episodes) for slots in loop.rounds for slot in slots)
        values.append(1000 * seconds / rollouts)
    return told(
        "one episode of the loop, scripted", values, "ms", "4 rounds of 8 questions, 5 rollouts and 1 probe each"
    )


def report() -> Report:
    """Runs it."""
    with tempfile.TemporaryDirectory() as folder:
        figures = [*gains(Path(folder) / "bank"), cost(Path(folder))]
    return Report("sesa", "what a decompose card is worth in retrieval, and the cost of the loop", figures)


if __name__ == "__main__":
    print(report().table())

"""Evaluation: one solver on one set of questions, deployed without a bank, with it, and with a placebo.

All deployments play the same questions with the same sampling seeds, whatever the size of the batches. Nothing here
writes to a bank: it is opened for reading, and not at all where the deployment is ``off``. Records:

    arm/<deployment>/turn/0/eval/<n>    one play of one question, as the other systems record their episodes
    arm/<deployment>/bank               the bank before and after: equal
    end
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from typing import Any

from metagym.answers import AnswerScorer
from metagym.chat.types import ChatModel
from metagym.checks import settle, whole
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.qadata import QARow
from metagym.search import Searcher
from metagym.seeding import check_seed, derive
from metagym.sesa.cards import question_sha256
from metagym.sesa.checkpoints import bank_state
from metagym.sesa.config import check_scorer
from metagym.sesa.contexts import SolverContext
from metagym.sesa.deploy import DEPLOYMENTS, Blocks, retriever_for
from metagym.sesa.materials import Material, question_set
from metagym.sesa.retrieval import RETRIEVE_K
from metagym.sesa.rollouts import FAMILY, RolloutSettings
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import Records
from metagym.sesa.solver import score_answers, solve
from metagym.tasks import Task

BATCH = 64
"""Questions that are played together; does not change the records."""


@dataclass(frozen=True)
class EvalConfig:
    """Settings of an evaluation.

    Attributes:
        material: As in `metagym.sesa.config.SesaConfig`.
        searcher: Likewise.
        solver: Spec of the solver.
        data: Questions (`metagym.sesa.materials.question_set`).
        count: How many at most; None for all.
        hops: Facts of riddles.
        deployments: Of ``off``, ``on`` and ``placebo``, each once.
        scorer: How answers are scored.
        judge: Spec of the judge, for the scorers that ask one.
        retrieve_k: Cards per question.
        max_skill_tokens: Most tokens of a block of skills; None for no limit.
        repeats: Plays per question.
        seed: Decides everything that is drawn.
        rollout: How the solver searches; evaluation samples at temperature 0, as SSP's does.
    """

    material: str = "invented"
    searcher: str | None = None
    solver: str = "rules"
    data: str = "riddles"
    count: int | None = None
    hops: tuple[int, ...] = (1, 2, 3)
    deployments: tuple[str, ...] = ("off", "on", "placebo")
    scorer: str = "em"
    judge: str | None = None
    retrieve_k: int = RETRIEVE_K
    max_skill_tokens: int | None = None
    repeats: int = 1
    seed: int = 0
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(temperature=0.0))

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            BadInput: One is unknown or out of range.
        """
        object.__setattr__(self, "deployments", tuple(self.deployments))
        if not self.deployments or len(set(self.deployments)) != len(self.deployments):
            raise BadInput("an evaluation names at least one deployment, each once")
        if unknown := [name for name in self.deployments if name not in DEPLOYMENTS]:
            raise BadInput(f"a deployment is one of {', '.join(DEPLOYMENTS)}, got {unknown[0]!r:.60}")
        check_scorer(self.scorer, self.judge)
        object.__setattr__(self, "hops", tuple(whole("a number of hops", hops, 1) for hops in self.hops))
        settle(self, "count", whole, 1, none=True)
        settle(self, "retrieve_k", whole, 0)
        settle(self, "repeats", whole, 1)
        settle(self, "max_skill_tokens", whole, 0, none=True)
        object.__setattr__(self, "seed", check_seed(self.seed))
        if self.rollout.concurrency is not None:
            object.__setattr__(self, "rollout", replace(self.rollout, concurrency=None))

    @property
    def reads_bank(self) -> bool:
        """Whether any deployment reads a bank."""
        return self.deployments != ("off",)

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return asdict(self) | {"hops": list(self.hops), "deployments": list(self.deployments)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EvalConfig:
        """The inverse of `to_json`.

        Raises:
            BadInput: Unknown fields, or values out of range.
        """
        if unknown := sorted(set(data) - {item.name for item in fields(cls)}):
            raise BadInput(f"unknown settings of an evaluation: {', '.join(unknown)}")
        values = dict(data)
        try:
            for name in ("hops", "deployments"):
                if name in values:
                    values[name] = tuple(values[name])
            if isinstance(values.get("rollout"), Mapping):
                values["rollout"] = RolloutSettings(**values["rollout"])
            return cls(**values)
        except TypeError as error:
            raise BadInput(f"unusable settings of an evaluation: {error}") from error


def eval_rows(config: EvalConfig, material: Material) -> list[QARow]:
    """The questions of an evaluation.

    Raises:
        BadInput, NoTasks: There are none, or two are called alike.
    """
    rows = question_set(config.data, material, "valid", config.seed, config.count, config.hops)
    seen: set[str] = set()
    for row in rows:
        if (name := _name(row)) in seen:
            raise BadInput(f"two questions of the evaluation are called {name!r}")
        seen.add(name)
    if not rows:
        raise BadInput("an evaluation needs questions; data is 'none'")
    return rows


def run_card(config: EvalConfig, rows: Sequence[QARow], searcher: Searcher, scorer: AnswerScorer) -> dict[str, Any]:
    """What must be equal for two success rates to mean the same: questions, corpus, engine, k, turns, scorer.

    `metagym.runs.compare` refuses evaluations whose cards differ and names the field.
    """
    told = sha256()
    for row in rows:
        told.update(repr((_name(row), row.question, row.golds)).encode("utf-8", "backslashreplace"))
    return {
        "questions": len(rows),
        "questions_digest": told.hexdigest(),
        "corpus_digest": searcher.digest or "unknown",
        "engine": searcher.name,
        "k": config.rollout.topk,
        "turns": config.rollout.max_turns,
        "max_tokens": config.rollout.max_tokens,
        "information_tokens": config.rollout.information_tokens,
        "temperature": config.rollout.temperature,
        "repeats": config.repeats,
        "scorer": config.scorer,
        "judge": None if scorer.judge is None else scorer.judge.model.id,
    }


@dataclass(frozen=True)
class Progress:
    """A batch is done.

    Attributes:
        deployment: Of which deployment.
        episodes: Its episodes.
        seconds: Wall-clock seconds; 0.0 where they were read from the records.
        key: Of the first record.
    """

    deployment: str
    episodes: tuple[Episode, ...]
    seconds: float
    key: str


async def evaluate(
    config: EvalConfig,
    rows: Sequence[QARow],
    solver: ChatModel,
    searcher: Searcher,
    scorer: AnswerScorer,
    bank: SkillBank | None,
    records: Records,
    *,
    workers: int | None = None,
    batch: int = BATCH,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, list[Episode]]:
    """Plays every deployment.

    Args:
        config: See `EvalConfig`.
        rows: The questions, as `eval_rows` gives them.
        solver: The solver, one for all deployments.
        searcher: The search tool.
        scorer: Scores answers.
        bank: The bank, opened for reading; None where all deployments are ``off``.
        records: Where the records are: what has one is not played again.
        workers: Episodes at a time; None for all of a batch. Does not change the records.
        batch: Questions at a time; does not change the records either.
        on_progress: Told of each batch.

    Returns:
        Deployment -> one episode per question and play, in order.

    Raises:
        BadInput: A deployment reads a bank that is not there or may be written, or cards of the bank were learnt from
            questions of this evaluation.
        TooManyFailures, BudgetExceeded, ...: The evaluation stopped; what was played is recorded.
    """
    whole("batch", batch, 1)
    snapshot = None
    if config.reads_bank:
        if bank is None:
            raise BadInput("these deployments read a skill bank, and none was named (--bank)")
        if not bank.read_only:
            raise BadInput("an evaluation reads a bank that was opened read-only, so that nothing can change it")
        _refuse_leaks(bank, rows)
        snapshot = bank.snapshot()
    played: dict[str, list[Episode]] = {}
    for name in config.deployments:
        blocks = retriever_for(name, snapshot, config.retrieve_k, config.max_skill_tokens, config.seed)
        player = _Player(config, name, blocks, solver, searcher, scorer, records, workers)
        before = None if bank is None or name == "off" else bank_state(bank)
        played[name] = []
        for start in range(0, len(rows), batch):
            done = await player.play(start, rows[start : start + batch])
            played[name] += done.episodes
            on_progress(done)
        if before is not None and bank is not None:
            bank.refresh()
            record = {"kind": "bank", "deployment": name, "bank": before, "unchanged": bank_state(bank) == before}
            records.append_many([(f"arm/{name}/bank", record)])
    records.append_many([("end", {"kind": "end", "deployments": list(config.deployments)})])
    return played


def _refuse_leaks(bank: SkillBank, rows: Sequence[QARow]) -> None:
    asked = {question_sha256(row.question) for row in rows}
    leaked = [entry.card.id for entry in bank.entries("active") if entry.card.question_sha256 in asked]
    if leaked:
        raise BadInput(
            f"{len(leaked)} cards of {bank.path} were learnt from questions of this evaluation, e.g. {leaked[0]}: "
            "retire them or name other questions"
        )


@dataclass(frozen=True)
class _Player:
    config: EvalConfig
    deployment: str
    blocks: Blocks
    solver: ChatModel
    searcher: Searcher
    scorer: AnswerScorer
    records: Records
    workers: int | None

    async def play(self, start: int, rows: Sequence[QARow]) -> Progress:
        """Plays what has no record yet; `start` is the place of the first row among all."""
        repeats = self.config.repeats
        keys = [
            [f"arm/{self.deployment}/turn/0/eval/{(start + at) * repeats + number}" for number in range(repeats)]
            for at in range(len(rows))
        ]
        missing = [at for at, own in enumerate(keys) if any(key not in self.records for key in own)]
        seconds = 0.0
        made: dict[str, Episode] = {}
        if missing:
            started = time.perf_counter()
            for at, episodes in zip(missing, await self._episodes([rows[at] for at in missing]), strict=True):
                made.update(zip(keys[at], episodes, strict=True))
            self.records.append_many(
                (key, self._record(key, episode)) for key, episode in made.items() if key not in self.records
            )
            seconds = time.perf_counter() - started
        flat = [key for own in keys for key in own]
        return Progress(
            self.deployment,
            tuple(Episode.from_json(self.records.get(key)["episode"]) for key in flat),
            seconds,
            flat[0],
        )

    def _record(self, key: str, episode: Episode) -> dict[str, Any]:
        slot = int(key.rpartition("/")[2])
        told = {"kind": "episode", "arm": self.deployment, "turn": 0, "phase": "eval", "slot": slot}
        return told | {"episode": episode.to_json()}

    async def _episodes(self, rows: Sequence[QARow]) -> list[list[Episode]]:
        """The scored episodes of each row; equal questions are played once, so that batches cannot matter."""
        config = self.config
        questions = list(dict.fromkeys(row.question for row in rows))
        contexts = [SolverContext(question, self.blocks.block(question)) for question in questions]
        played = await solve(
            contexts,
            self.solver,
            self.searcher,
            rollouts=config.repeats,
            settings=replace(config.rollout, concurrency=self.workers),
            seed=derive(config.seed, "eval"),
        )
        by_question = dict(zip(questions, played, strict=True))
        found = []
        for row in rows:
            seed = derive(config.seed, "eval-score", question_sha256(row.question))
            scored = await score_answers(row.question, row.golds, by_question[row.question], self.scorer, seed)
            task = Task(FAMILY, _name(row), row.dataset, "eval")
            found.append([replace(episode, task=task) for episode in scored])
        return found


def _name(row: QARow) -> str:
    return f"{row.dataset}/{row.id}" if row.dataset else row.id

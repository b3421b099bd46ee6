"""The SearchQA family: questions, how to open one, how actors answer, the scripted stand-ins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from metagym.answers import AnswerScorer, LLMJudge
from metagym.chat import load
from metagym.errors import BadInput
from metagym.families import Family
from metagym.searching import SearchSettings
from metagym.tasks import Task
from metagym_envs.searchqa import text
from metagym_envs.searchqa.data import FAMILY, INVENTED, Questions, identity, questions, searcher
from metagym_envs.searchqa.env import SearchQuestion

Where = tuple[str, str | None, str | None, int | None]
"""Where the questions are from: the options `data`, `valid`, `test` and `count`."""


def SearchQA(
    data: str = INVENTED,
    valid: str | None = None,
    searcher: str = INVENTED,
    scorer: str = "em",
    judge: str | None = None,
    k: int = 3,
    max_turns: int = 6,
    information_tokens: int = 500,
    test: str | None = None,
    count: int | None = None,
) -> Family:
    """Questions that are answered with the help of a search engine.

    Args:
        data: ``"invented"``: questions on an invented world that comes with the family; or a file of questions (JSON
            lines in FlashRAG's shape or as the authors of the usual sets publish them, see `metagym.qadata`).
        valid: A file of held-out questions; without it, `data` is cut in two halves.
        searcher: ``"invented"``: the passages of that world; or a spec, e.g. ``"bm25:corpus.jsonl"`` or
            ``"http://localhost:8000/retrieve"`` (see `metagym.search.load_searcher`).
        scorer: ``"em"``, ``"f1"``, ``"sub_em"``, ``"judge"`` or ``"em+judge"``.
        judge: Spec of the model that judges, e.g. ``"openai:..."``, for the last two.
        k: Passages per search.
        max_turns: Turns that may search; one more may answer.
        information_tokens: Most tokens of one search's passages, estimated.
        test: A file, or ``<set>:<folder>`` with one of the seven usual sets (``"nq:data"``), in place of `data`: its
            questions make the only split, ``test``, for evaluation.
        count: So many questions of it, always the same ones; None takes all.

    Returns:
        The family. Its `versions` tell the digests of questions and passages and what searches.

    Raises:
        BadInput: A setting or a file is not usable.
        MissingExtra: The search engine asked for is not installed.
        SearchError: A search server does not answer.
    """
    if (data == INVENTED and test is None) != (searcher == INVENTED):
        missing = "searcher='bm25:CORPUS.jsonl'" if searcher == INVENTED else "data='QUESTIONS.jsonl'"
        raise BadInput(f"questions and passages belong together, and only one of them is invented: give {missing} too")
    if (scorer in ("judge", "em+judge")) != (judge is not None):
        raise BadInput("scorer 'judge' and 'em+judge' need judge='MODEL SPEC', and others take none")
    settings = SearchSettings(k=k, max_turns=max_turns, information_tokens=information_tokens)
    where = (data, valid, test, count)
    found = questions(*where)
    opener = _Opener(where, searcher, scorer, judge, settings)
    opener.scorer()
    engine = opener.engine()
    remote = searcher.startswith(("http://", "https://"))
    return Family(
        name=FAMILY,
        tasks=found.sets.__getitem__,
        open=opener,
        splits=found.splits,
        clean=text.clean,
        identity=_Identity(where),
        instructions=text.INSTRUCTIONS,
        max_steps=max_turns + 1,
        host="thread" if remote or judge else "inline",
        stand_ins={"actor": _rules_actor, "reflector": _rules_reflector},
        versions={
            "data": INVENTED if found.kind == INVENTED else "files",
            "questions": {split: len(found.rows[split]) for split in found.splits},
            "questions_digest": found.digest,
            "engine": engine.name,
            "corpus_digest": engine.digest or "unknown",
            "scorer": scorer,
        },
        options={
            "data": data,
            "valid": valid,
            "searcher": searcher,
            "scorer": scorer,
            "judge": judge,
            "k": settings.k,
            "max_turns": settings.max_turns,
            "information_tokens": settings.information_tokens,
            "test": test,
            "count": count,
        },
        answer=text.FORM,
    )


@dataclass(frozen=True)
class _Opener:
    """Opens tasks; what it needs is loaded once per process, and it travels as its settings."""

    where: Where
    spec: str
    measure: str
    judge: str | None
    settings: SearchSettings

    def __call__(self, task: Task) -> SearchQuestion:
        return SearchQuestion(questions(*self.where).row(task), self.engine(), self.scorer(), self.settings)

    def engine(self) -> Any:
        return searcher(self.spec)

    def scorer(self) -> AnswerScorer:
        return _scorer(self.measure, self.judge)


@dataclass(frozen=True)
class _Identity:
    """A task is its question, wherever it stands."""

    where: Where

    def __call__(self, task: Task) -> str:
        found: Questions = questions(*self.where)
        return identity(found.row(task).question)


@lru_cache(maxsize=8)
def _scorer(measure: str, judge: str | None) -> AnswerScorer:
    return AnswerScorer(measure, judge=None if judge is None else LLMJudge(load(judge)))


def _rules_actor(seed: int) -> Any:
    from metagym_envs.searchqa import rules

    return rules.actor(seed)


def _rules_reflector(seed: int) -> Any:
    from metagym_envs.searchqa import rules

    return rules.reflector(seed)

"""Where questions and passages come from: the invented world, or files of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any

from metagym.errors import BadInput
from metagym.qadata import DATASETS, QARow, draw_rows, load_dataset, question_sha256, read_rows
from metagym.search import Searcher, load_searcher, searcher_of
from metagym.seeding import derive
from metagym.tasks import Task, TaskSet
from metagym_envs.searchqa.world import world

FAMILY = "SearchQA"
INVENTED = "invented"
SPLITS = ("train", "valid")


@dataclass(frozen=True)
class Questions:
    """The questions of all splits.

    Attributes:
        rows: Split to questions.
        kind: ``invented``, or the files' names.
    """

    rows: Mapping[str, tuple[QARow, ...]]
    kind: str

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all questions and golden answers, the splits in order."""
        whole = sha256()
        for split in self.splits:
            for row in self.rows[split]:
                whole.update(repr((split, row.id, row.question, row.golds)).encode("utf-8", "backslashreplace"))
        return whole.hexdigest()

    @cached_property
    def _by_id(self) -> dict[str, QARow]:
        return {f"{split}/{row.id}": row for split in self.splits for row in self.rows[split]}

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits, the training one first where there is one."""
        return tuple(self.rows)

    @cached_property
    def sets(self) -> dict[str, TaskSet]:
        """Split to tasks."""
        return {
            split: TaskSet(
                (Task(FAMILY, f"{split}/{row.id}", _type(row), split) for row in self.rows[split]), f"{FAMILY}/{split}"
            )
            for split in self.splits
        }

    def row(self, task: Task) -> QARow:
        """The question of a task.

        Raises:
            BadInput: It is not among these.
        """
        try:
            return self._by_id[task.id]
        except KeyError:
            raise BadInput(f"task {task.id} is not among the questions of {self.kind}") from None


@lru_cache(maxsize=8)
def questions(data: str, valid: str | None, test: str | None = None, count: int | None = None) -> Questions:
    """Loads the questions.

    Args:
        data: ``"invented"``, or a file of rows (see `metagym.qadata`). Without `valid` it is cut in two halves by a
            digest of each question, so that a question that occurs twice is in one of them.
        valid: A file for the split ``valid``; `data` is then all training questions.
        test: A file, or ``<set>:<folder>`` with one of the seven usual sets, whose questions make the only split,
            ``test``; nothing else is loaded then.
        count: So many of the questions of `test`, always the same ones; None takes all.

    Raises:
        BadInput: A file cannot be read, or a question stands in both.
        NoTasks: `test` holds fewer than `count` questions.
    """
    if test is not None:
        if data != INVENTED or valid is not None:
            raise BadInput("test= makes a split of its own: give neither data= nor valid= with it")
        name, colon, folder = test.partition(":")
        held = load_dataset(name, folder) if colon and name in DATASETS else read_rows(test)
        return Questions({"test": tuple(held if count is None else draw_rows(held, count, 0))}, test)
    if count is not None:
        raise BadInput("count= is the number of questions of test=, which is not given")
    if data == INVENTED:
        if valid is not None:
            raise BadInput("the invented world has a split 'valid' of its own: give data= as well, or leave valid= out")
        return Questions(world().rows, INVENTED)
    rows = read_rows(data)
    if valid is None:
        halves = {split: tuple(row for row in rows if _half(row) == split) for split in SPLITS}
        return Questions(halves, data)
    held = read_rows(valid)
    shared = {row.sha256 for row in rows} & {row.sha256 for row in held}
    if shared:
        raise BadInput(f"{len(shared)} questions stand in both {data} and {valid}: a held-out set must be unseen")
    return Questions({"train": tuple(rows), "valid": tuple(held)}, f"{data}, {valid}")


@lru_cache(maxsize=8)
def searcher(spec: str) -> Searcher:
    """The searcher that a spec names, one per process; ``"invented"`` searches the invented world with FTS5."""
    return searcher_of("fts5", world().corpus) if spec == INVENTED else load_searcher(spec)


def identity(question: str) -> str:
    """What makes two tasks the same one."""
    return question_sha256(question)


def _half(row: QARow) -> str:
    return SPLITS[derive(0, "searchqa-half", row.sha256) % 2]


def _type(row: QARow) -> str:
    kind: Any = row.metadata.get("type")
    return kind if isinstance(kind, str) and kind else row.dataset

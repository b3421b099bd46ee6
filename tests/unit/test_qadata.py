"""Question rows and the loaders of the seven sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, NoTasks, UnknownName
from metagym.qadata import DATASETS, QARow, draw_rows, load_dataset, protocol_rows, read_rows, row_of
from metagym.sesa import SkillCard, cards
from metagym.texts import question_sha256

SHAPES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    (
        "FlashRAG",
        {"id": "x", "question": "q", "golden_answers": ["a, b", "c"], "metadata": {"type": "t"}},
        ("a, b", "c"),
    ),
    ("NQ-open", {"question": "q", "answer": ["a", "b", "a"]}, ("a", "b")),
    ("TriviaQA", {"question_id": "x", "question": "q", "answer": {"value": "a", "aliases": ["b", "a"]}}, ("a", "b")),
    ("PopQA", {"id": 5, "question": "q", "possible_answers": '["a", "b"]'}, ("a", "b")),
    ("HotpotQA", {"_id": "x", "question": "q", "answer": "yes"}, ("yes",)),
    (
        "MuSiQue",
        {"id": "x", "question": "q", "answer": "a", "answer_aliases": ["b"], "question_decomposition": []},
        ("a", "b"),
    ),
    ("Bamboogle", {"Question": "q", "Answer": "a"}, ("a",)),
]


@pytest.mark.parametrize("name, data, golds", SHAPES, ids=[name for name, _, _ in SHAPES])
def test_rows_are_read_as_their_authors_publish_them(name: str, data: dict[str, Any], golds: tuple[str, ...]) -> None:
    row = row_of(data, "row 3", "set", 3)
    assert row.golds == golds and row.question == "q" and row.dataset == "set"
    assert row.id == str(data.get("id", data.get("_id", data.get("question_id", "set-3"))))
    again = row_of(json.loads(json.dumps(row.to_json())), "row", "set")
    assert again == row


@pytest.mark.parametrize(
    "data, words",
    [
        ([], "row 3 is no JSON object"),
        ({"golden_answers": ["a"]}, "row 3 has no text 'question'"),
        ({"question": " ", "answer": "a"}, "row 3 has no text 'question'"),
        ({"question": "q"}, "row 3: golden answers"),
        ({"question": "q", "golden_answers": []}, "row 3: golden answers"),
        ({"question": "q", "answer": 5}, "row 3: golden answers"),
        ({"question": "q", "answer": [5]}, "row 3: golden answers"),
        ({"question": "q", "answer": {"aliases": None}}, "row 3: golden answers"),
    ],
)
def test_a_bad_row_is_named(data: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        row_of(data, "row 3")


def test_files_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('\ufeff{"question": "q", "answer": "a\u2028b"}\n\n', "utf-8")
    (tmp_path / "b.json").write_text('[{"question": "q", "answer": "a"}, {"question": "r", "answer": "b"}]')
    (tmp_path / "c.json").write_text(
        '{"Data": [{"QuestionId": "tc_1", "Question": "q", "Answer": {"Value": "a", "Aliases": ["b"]}}]}'
    )
    (tmp_path / "d.tsv").write_text('id\tquestion\tpossible_answers\n7\tq\t"[""a"", ""b""]"\n')
    assert [row.id for row in read_rows(tmp_path / "a.jsonl")] == ["a-0"]
    assert read_rows(tmp_path / "a.jsonl")[0].golds == ("a\u2028b",)
    assert [row.question for row in read_rows(tmp_path / "b.json", "x")] == ["q", "r"]
    assert (read_rows(tmp_path / "c.json")[0].id, read_rows(tmp_path / "c.json")[0].golds) == ("tc_1", ("a", "b"))
    assert (read_rows(tmp_path / "d.tsv")[0].id, read_rows(tmp_path / "d.tsv")[0].golds) == ("7", ("a", "b"))


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("x.jsonl", '{"question": "q", "answer": "a"}\n{', "line 2 is no JSON"),
        (
            "x.jsonl",
            '{"id": 1, "question": "q", "answer": "a"}\n{"id": "1", "question": "q", "answer": "a"}',
            "line 2: id '1'",
        ),
        ("x.json", '{"question": "q"}\n{}', "no JSON"),
        ("x.json", "{}", "no JSON list"),
        ("x.json", "[5]", "row 0 is no JSON object"),
        ("x.tsv", "id\tname\n1\tx\n", "line 2 has no text 'question'"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=words):
        read_rows(tmp_path / name)


def test_files_that_hold_nothing_or_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff")
    with pytest.raises(NoTasks, match="holds no question"):
        read_rows(tmp_path / "empty.jsonl")
    with pytest.raises(BadInput, match="not UTF-8"):
        read_rows(tmp_path / "bytes.jsonl")
    with pytest.raises(BadInput, match="cannot be read"):
        read_rows(tmp_path)


def fill(folder: Path, counts: dict[str, int]) -> None:
    for name, count in counts.items():
        (folder / name).mkdir()
        rows = ({"id": f"{n}", "question": f"{name} {n}?", "golden_answers": ["a"]} for n in range(count))
        (folder / name / DATASETS[name].file).write_text("\n".join(map(json.dumps, rows)))


def test_the_protocol_of_3125_questions(tmp_path: Path) -> None:
    fill(tmp_path, {name: 520 if name != "bamboogle" else 125 for name in DATASETS})
    rows = protocol_rows(tmp_path, seed=1)
    counts = {name: sum(row.dataset == name for row in rows) for name in DATASETS}
    assert len(rows) == 3125 and counts == {**dict.fromkeys(DATASETS, 500), "bamboogle": 125}
    assert rows == protocol_rows(tmp_path, seed=1) and rows != protocol_rows(tmp_path, seed=2)
    assert len({row.sha256 for row in rows}) == 3125
    assert [row for row in rows if row.dataset == "musique"] == protocol_rows(tmp_path, 1, ["musique"])


def test_the_draw_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    fill(tmp_path, {"nq": 40})
    rows = load_dataset("nq", tmp_path)
    drawn = draw_rows(rows, 10, 0)
    assert draw_rows(rows[::-1], 10, 0) == drawn[::-1] and len(set(drawn_ids := [row.id for row in drawn])) == 10
    assert drawn_ids == sorted(drawn_ids, key=int)
    with pytest.raises(NoTasks, match="nq holds 40 questions, and 41 are wanted: .*count=all"):
        draw_rows(rows, 41, 0)


@pytest.mark.parametrize("name", DATASETS)
def test_a_missing_file_is_named_with_its_source(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        load_dataset(name, tmp_path)
    words = str(raised.value)
    assert str(tmp_path / name / DATASETS[name].file) in words and f"{name}.jsonl" in words and "FlashRAG" in words


def test_an_unknown_set_lists_the_seven() -> None:
    with pytest.raises(UnknownName, match="nq, triviaqa, popqa, hotpotqa, 2wikimultihopqa, musique, bamboogle"):
        load_dataset("squad", ".")


def test_one_question_has_one_digest() -> None:
    same = ("Who  is\nit?", "who is IT", "“Who is it”")
    assert len({question_sha256(text) for text in same}) == 1 and question_sha256("who is he?") not in map(
        question_sha256, same
    )
    assert QARow("1", "Who is it?", ("he",)).sha256 == question_sha256("who is it")
    assert question_sha256("☃?") != question_sha256("♥?")


def test_d7_rows_and_cards_know_a_question_by_one_digest() -> None:
    for text in ("Who wrote  “It”?", "Straße in U.S.A.?", "\ud800 who", "??", "ﬁlm of 1931"):
        row = QARow("1", text, ("x",))
        assert row.sha256 == cards.question_sha256(text) == question_sha256(text)
    assert SkillCard("Do it.", question="who WROTE it").question_sha256 == QARow("1", "Who wrote it?", ("x",)).sha256


def test_real_rows_are_read(shared_dir: Path) -> None:
    data = shared_dir / "data" / "qa"
    for file, count in (
        ("nq500", 500),
        ("musique100", 100),
        ("hotpotqa100", 100),
        ("2wiki101", 101),
        ("bamboogle125", 125),
    ):
        path = data / f"questions_{file}.jsonl"
        if not path.is_file():
            pytest.skip("the questions are not beside the checkout")
        rows = read_rows(path)
        assert len(rows) == count and all(row.golds and row.question for row in rows)
    assert read_rows(data / "questions_nq500.jsonl")[0].golds == ("14 December 1972 UTC", "December 1972")

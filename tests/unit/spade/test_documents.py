"""Documents and their sampler: what is drawn depends on corpus, seed and address alone."""

import contextlib
import itertools
import json
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, NoTasks
from metagym.spade.corpora import ListSource, frozen
from metagym.spade.documents import Document, DocumentSampler, cut_words, digest_of
from metagym.spade.permutation import Permutation
from metagym.spade.shingles import NearDuplicates, jaccard, shingles


def corpus(count: int, skills: tuple[str, ...] = ()) -> ListSource:
    metas = [{"skill": skills[i % len(skills)]} if skills and i % (len(skills) + 1) else {} for i in range(count)]
    return ListSource("toy", [Document.of(f"text number {i}", f"toy:{i}", meta=metas[i]) for i in range(count)])


def sources(documents):
    return [document.source for document in documents]


# --- the permutation


@given(st.integers(1, 700), st.integers(0, 2**63))
@settings(deadline=None, max_examples=60)
def test_a_permutation_holds_every_place_once(size, seed):
    order = Permutation(size, seed, "x")
    assert sorted(order[place] for place in range(size)) == list(range(size))
    with pytest.raises(IndexError):
        order[size]


def test_a_permutation_of_a_billion_is_not_written_down():
    order = Permutation(10**9, 0)
    found = [order[place] for place in range(1000)]
    assert len(set(found)) == 1000 and max(found) > 9 * 10**8 and min(found) < 10**8
    assert found != [Permutation(10**9, 1)[place] for place in range(1000)]


def test_every_order_of_three_comes_about_equally_often():
    found = Counter(tuple(Permutation(3, seed)[place] for place in range(3)) for seed in range(3000))
    assert len(found) == 6 and all(400 < count < 600 for count in found.values())


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_permutation_has_a_size(size):
    with pytest.raises(BadInput, match="size of a permutation"):
        Permutation(size, 0)


# --- streams


@given(st.integers(1, 60), st.integers(1, 7), st.integers(0, 10**6), st.data())
@settings(deadline=None, max_examples=60)
def test_shards_are_disjoint_and_together_the_whole(size, n, seed, data):
    n = min(n, size)
    source = corpus(size)
    drawn = []
    for k in range(n):
        sampler = DocumentSampler(source, seed, shard=(k, n))
        mine = len(range(size)[k::n])
        epoch = sources(sampler.draw(mine))
        assert len(set(epoch)) == mine and sampler.epoch == 1
        assert set(sources(sampler.draw(mine))) == set(epoch)
        drawn += epoch
    assert sorted(drawn) == sorted(f"toy:{i}" for i in range(size))


@given(
    st.integers(1, 30),
    st.sampled_from(["permute", "iid", "weighted"]),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([None, "a", "b"])), max_size=6),
    st.integers(0, 6),
)
@settings(deadline=None, max_examples=60)
def test_a_resumed_stream_equals_an_uninterrupted_one(size, strategy, calls, cut):
    source = corpus(size, ("a", "b"))
    weights = [i % 3 + 1 for i in range(size)] if strategy == "weighted" else None

    def fresh():
        return DocumentSampler(source, 5, strategy=strategy, weights=weights)

    whole, first, second = fresh(), fresh(), fresh()
    expected = [whole.draw(n, skill) for n, skill in calls]
    found = [first.draw(n, skill) for n, skill in calls[:cut]]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert found + [second.draw(n, skill) for n, skill in calls[cut:]] == expected
    assert second.position == whole.position == sum(n for n, _ in calls)


def test_equal_seeds_draw_alike_in_another_process_with_another_hash_seed():
    code = (
        "from metagym.spade.corpora import frozen; from metagym.spade.documents import DocumentSampler\n"
        "s = DocumentSampler(frozen(), 7)\n"
        "print(*[d.doc_id for d in s.draw(8)], s.at(3, 2, 1).doc_id, s.at(3, 2, 1, skill='Optimization').doc_id)"
    )
    out = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    sampler = DocumentSampler(frozen(), 7)
    mine = [d.doc_id for d in sampler.draw(8)]
    mine += [sampler.at(3, 2, 1).doc_id, sampler.at(3, 2, 1, skill="Optimization").doc_id]
    assert out == {(" ".join(mine) + "\n").encode()}


def test_seeds_and_epochs_differ_in_order():
    source = corpus(40)
    one, two = DocumentSampler(source, 0), DocumentSampler(source, 1)
    first = sources(one.draw(40))
    assert first != sources(one.draw(40)) and first != sources(two.draw(40))


def test_weights_decide_how_often():
    sampler = DocumentSampler(corpus(3), 0, strategy="weighted", weights=[1, 0, 3])
    counts = Counter(sources(sampler.draw(2000)))
    assert counts["toy:1"] == 0 and 2.4 < counts["toy:2"] / counts["toy:0"] < 3.7
    even = Counter(sources(DocumentSampler(corpus(3), 0, strategy="iid").draw(3000)))
    assert all(900 < count < 1100 for count in even.values())


@pytest.mark.parametrize(
    ("settings_", "named"),
    [
        ({"shard": (2, 2)}, "shards of 2 are numbered from 0 to 1, got 2"),
        ({"shard": 3}, r"shard is \(k, n\)"),
        ({"strategy": "best"}, "strategy is one of permute, iid, weighted"),
        ({"strategy": "weighted"}, "go together"),
        ({"weights": [1, 1, 1]}, "go together"),
        ({"strategy": "weighted", "weights": [1]}, "3 are needed, got 1"),
        ({"strategy": "weighted", "weights": [0, 0, 0]}, "all weights are 0"),
        ({"strategy": "weighted", "weights": [1e308, 1e308, 1]}, "no finite number"),
        ({"strategy": "weighted", "weights": [1, float("nan"), 1]}, r"weights\[1\]"),
        ({"max_words": 0}, "max_words is at least 1"),
        ({"seed": -1}, "seed must be a non-negative integer"),
    ],
)
def test_unusable_settings_are_refused_by_name(settings_, named):
    with pytest.raises(BadInput, match=named):
        DocumentSampler(corpus(3), **{"seed": 0, **settings_})


def test_s09_an_empty_shard_is_told_at_once():
    with pytest.raises(NoTasks, match=r"shard 4 of 5 is empty: toy has 3 document\(s\)"):
        DocumentSampler(corpus(3), 0, shard=(4, 5))


def test_a_state_of_another_corpus_or_seed_is_refused():
    state = DocumentSampler(corpus(5), 0).state_dict()
    for other in (DocumentSampler(corpus(6), 0), DocumentSampler(corpus(5), 1), DocumentSampler(corpus(5), 0, (0, 2))):
        with pytest.raises(BadInput, match="the state belongs to"):
            other.load_state_dict(state)
    for nonsense in ({}, None, {**state, "cursors": {"": -1}}, {**state, "cursors": 3}):
        with pytest.raises(BadInput):
            DocumentSampler(corpus(5), 0).load_state_dict(nonsense)


# --- addressed draws


@given(st.integers(1, 40), st.sampled_from(["permute", "iid"]), st.integers(0, 50), st.integers(0, 30))
@settings(deadline=None, max_examples=60)
def test_attempts_of_a_slot_are_different_documents_and_always_the_same(size, strategy, round, slot):
    source = corpus(size)
    sampler, other = (DocumentSampler(source, 3, strategy=strategy) for _ in range(2))
    other.draw(7)
    few = min(size, 5)
    found = sources(sampler.at(round, slot, attempt) for attempt in range(few))
    assert found == sources(other.at(round, slot, attempt) for attempt in reversed(range(few)))[::-1]
    assert len(set(found)) == few
    assert sampler.position == 0


def test_slots_of_a_round_differ_and_rounds_differ():
    sampler = DocumentSampler(corpus(30), 0)
    rounds = [sources(sampler.at(round, slot) for slot in range(30)) for round in range(3)]
    assert all(len(set(found)) == 30 for found in rounds) and rounds[0] != rounds[1] != rounds[2]


def test_more_attempts_than_documents_go_round():
    sampler = DocumentSampler(corpus(2), 0)
    found = sources(sampler.at(0, 0, attempt) for attempt in range(6))
    assert set(found[:2]) == {"toy:0", "toy:1"} and found[2:] == found[:2] * 2


# --- skills


def test_a_skill_draws_its_own_documents_and_those_without_a_skill():
    source = ListSource(
        "toy", [Document.of(f"t{i}", f"{i}", meta={"skill": s} if s else {}) for i, s in enumerate("aab")]
    )
    source = ListSource("toy", [*(source.get(i) for i in range(3)), Document.of("free", "3")])
    sampler = DocumentSampler(source, 0)
    assert set(sources(sampler.draw(6, "a"))) == {"0", "1", "3"}
    assert {sampler.at(r, 0, skill="b").source for r in range(40)} == {"2", "3"}
    assert {sampler.at(r, 0, skill="c").source for r in range(9)} == {"3"}
    assert set(sources(sampler.draw(4))) == {"0", "1", "2", "3"}


@given(st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=6, max_size=40), st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_shards_share_nothing_whatever_skills_they_draw_for(skills, n):
    source = ListSource("toy", [Document.of(f"t{i}", f"{i}", meta={"skill": s}) for i, s in enumerate(skills)])
    shards = [DocumentSampler(source, 0, shard=(k, n)) for k in range(n)]
    drawn = {}  # of every shard: what it draws for any skill or none
    for k, shard in enumerate(shards):
        for skill in (None, "a", "b", "c"):
            with contextlib.suppress(NoTasks, BadInput):  # this shard has none of this skill
                drawn.setdefault(k, {})[skill] = set(sources(shard.draw(3 * len(skills), skill)))
    for one, other in itertools.combinations(drawn, 2):
        assert not set().union(*drawn[one].values()) & set().union(*drawn[other].values())
    sizes = [len(found.get(None, ())) for found in drawn.values()]
    assert sum(sizes) == len(skills) and max(sizes) - min(sizes) <= 1
    for skill in "abc":
        parts = [found.get(skill, set()) for found in drawn.values()]
        asked = {str(i) for i, s in enumerate(skills) if s in ("", skill)}
        assert set().union(*parts) == asked


def test_a_skill_without_documents_is_refused_with_those_that_have_some():
    with pytest.raises(BadInput, match="no document of frozen is for skill 'Cooking'; .*Optimization"):
        DocumentSampler(frozen(), 0).draw(1, "Cooking")


# --- filters


def test_filters_leave_out_and_the_rest_is_drawn():
    sampler = DocumentSampler(corpus(10), 0, filters=[lambda document: int(document.source[4:]) % 2 == 0])
    assert set(sources(sampler.draw(5))) == {f"toy:{i}" for i in (0, 2, 4, 6, 8)}
    assert {sampler.at(r, s).source for r in range(8) for s in range(8)} <= {f"toy:{i}" for i in (0, 2, 4, 6, 8)}


@pytest.mark.parametrize("strategy", ["permute", "iid"])
def test_filters_that_refuse_everything_are_told(strategy):
    sampler = DocumentSampler(corpus(10), 0, strategy=strategy, filters=[lambda document: False])
    for draw in (lambda: sampler.draw(1), lambda: sampler.at(0, 0)):
        with pytest.raises(NoTasks, match="the filters refuse every document of toy"):
            draw()


def test_near_duplicates_are_left_out_whatever_the_order_of_draws():
    base = frozen().get(0).text
    texts = ["something else entirely, of other words", base, base.replace("clock", "watch", 1).upper(), base + " End."]
    source = ListSource("toy", [Document.of(text, str(i)) for i, text in enumerate(texts)])
    found = NearDuplicates(source)
    assert set(found.dropped) == {source.get(2).doc_id, source.get(3).doc_id}
    assert set(found.dropped.values()) == {source.get(1).doc_id}
    assert set(sources(DocumentSampler(source, 0, filters=[found]).draw(10))) == {"0", "1"}
    assert not NearDuplicates(frozen()).dropped


def test_the_threshold_itself_is_a_near_duplicate():
    source = ListSource("toy", [Document.of("one two three four", "0"), Document.of("one two three four five", "1")])
    assert len(NearDuplicates(source, 0.8, 1).dropped) == 1 and not NearDuplicates(source, 0.81, 1).dropped


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
@settings(deadline=None, max_examples=60)
def test_similarity_of_shingles_is_a_similarity(left, right):
    a, b = shingles(" ".join(left), 2), shingles(" ".join(right), 2)
    assert jaccard(a, b) == jaccard(b, a) and 0 <= jaccard(a, b) <= 1 and jaccard(a, a) == 1
    assert (jaccard(a, b) == 1) == (a == b)


# --- cutting


def test_a_long_document_is_cut_at_the_end_of_a_sentence_and_the_cut_is_recorded():
    text = "One two three. Four five six! Seven eight nine ten eleven."
    assert cut_words(text, 9) == ("One two three. Four five six!", 5)
    assert cut_words(text, 11) == (text, 0)
    assert cut_words(text, 3) == ("One two three.", 8)
    assert cut_words("a b c d e f", 4) == ("a b c d", 2)
    assert cut_words('He said "stop." Then he went on and on', 6)[0] == 'He said "stop."'
    assert cut_words("版本一。版本二。" + "字" * 200, 1)[0].startswith("版本一。版本二。")
    document = DocumentSampler(ListSource("toy", [Document.of(text, "0")]), 0, max_words=9).at(0, 0)
    assert (document.left_out, document.doc_id) == (5, digest_of(text))
    assert document.cut(2).left_out == 5 + 4


@given(st.text(), st.integers(1, 30))
@settings(deadline=None, max_examples=150)
def test_a_cut_text_is_a_bounded_beginning(text, words):
    kept, left_out = cut_words(text, words)
    assert text.startswith(kept) and (left_out == 0) == (kept == text)
    assert left_out == 0 or len(kept.split()) <= words
    assert cut_words(kept, words) == (kept, 0)


def test_a_text_without_blanks_is_bounded():
    kept, left_out = cut_words("x" * 100_000, 10)
    assert len(kept) == 320 and left_out == 3115


@given(st.text(), st.text(), st.dictionaries(st.text(), st.integers() | st.text(), max_size=3))
@settings(deadline=None, max_examples=60)
def test_a_document_comes_back_from_json(text, source, meta):
    document = Document.of(text, source, "MIT", meta).cut(3)
    assert Document.from_json(json.loads(json.dumps(document.to_json()))) == document

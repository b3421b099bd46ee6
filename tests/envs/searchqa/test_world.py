"""The invented world: always the same, names nothing twice, and needs two searches."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metagym.answers import em
from metagym.search import Corpus, Searcher, query_words, searcher_of
from metagym_envs.searchqa.rules.reading import QUERIES, look_up, understand
from metagym_envs.searchqa.world import QUESTIONS, RELATIONS, TYPES, world

DIGEST = "ed326673640efde6d2d5a3df9d7f1f292fb126e31242c4212d805570dbd347b6"


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    return searcher_of("fts5", world().corpus)


def titles(searcher: Searcher, query: str) -> set[str]:
    return {hit.passage.plain_title for hit in searcher.search([query], 3)[0]}


def test_the_set_is_frozen() -> None:
    assert world().corpus.digest == DIGEST
    code = "from metagym_envs.searchqa.world import world; print(world().corpus.digest)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == DIGEST


def test_sizes_and_splits() -> None:
    made = world()
    assert len(made.passages) == 172 and isinstance(made.corpus, Corpus)
    for split, count in QUESTIONS.items():
        kinds = [row.metadata["type"] for row in made.rows[split]]
        assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(TYPES, count)
    questions = [row.sha256 for rows in made.rows.values() for row in rows]
    assert len(set(questions)) == len(questions)


def test_no_name_is_given_twice_and_no_title_holds_another() -> None:
    names = [passage.plain_title for passage in world().passages]
    assert len(set(names)) == len(names)
    own = [word for name in names for word in name.split() if word[0].isupper() and not name.startswith("The ")]
    assert len(set(own)) == len(own)


def test_the_gold_answer_is_what_the_passages_tell() -> None:
    text = "\n".join(passage.contents for passage in world().passages)
    for rows in world().rows.values():
        for row in rows:
            plan = understand(row.question)
            assert plan is not None and plan.hops == TYPES[row.metadata["type"]].hops
            at, walked = plan.subject, []
            for relation in plan.hops:
                walked.append(at)
                found = look_up(text, relation, at)
                assert found is not None
                at = found
            assert em(at, row.golds) == 1.0 and walked == row.metadata["supporting_titles"]


def test_a_question_does_not_name_the_passage_of_its_second_hop() -> None:
    for rows in world().rows.values():
        for row in rows:
            asked = set(query_words(row.question))
            for title in row.metadata["supporting_titles"][1:]:
                assert not asked & set(query_words(title))


def test_one_search_rarely_finds_both_hops_and_two_do(searcher: Searcher) -> None:
    rows = [row for rows in world().rows.values() for row in rows if row.metadata["hops"] == 2]
    once = twice = 0
    for row in rows:
        wanted = set(row.metadata["supporting_titles"])
        once += wanted <= titles(searcher, row.question)
        hops = zip(TYPES[row.metadata["type"]].hops, row.metadata["supporting_titles"], strict=True)
        twice += all(title in titles(searcher, QUERIES[relation].format(s=title)) for relation, title in hops)
    assert len(rows) == 108 and once / len(rows) <= 0.1 and twice == len(rows)


def test_every_sentence_is_used() -> None:
    text = "\n".join(passage.text for passage in world().passages)
    for relation in RELATIONS.values():
        for sentence in relation.sentences:
            middle = sentence.replace("{s}", "|").replace("{o}", "|").split("|")[1]
            assert middle in text

"""The stand-ins: an actor that two rules make better, and a reflector that finds them."""

from __future__ import annotations

import json
from itertools import pairwise

import gymnasium
import pytest

from metagym import Family, load_family, play
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.searchqa.rules.intents import TABLE

DECOMPOSE, BRIEF = TABLE


@pytest.fixture(scope="module")
def family() -> Family:
    return load_family("SearchQA")


def success(family: Family, *sentences: str) -> float:
    prompt = "\n".join(f"- {sentence}" for sentence in sentences)
    episodes = play(list(family.task_set("valid")), "rules", family=family, system_prompt=prompt)
    assert all(episode.scored for episode in episodes)
    return sum(bool(episode.success) for episode in episodes) / len(episodes)


def test_the_rules_are_what_makes_the_difference(family: Family) -> None:
    assert success(family) == 0.0
    assert success(family, DECOMPOSE.teach[0]) == 0.0
    assert 0.2 <= success(family, BRIEF.teach[0]) <= 0.35  # the fifth with one hop, and lucky guesses
    assert success(family, BRIEF.teach[1], DECOMPOSE.teach[1]) == 1.0


def test_advice_against_a_rule_does_not_grant_it(family: Family) -> None:
    assert success(family, "Do not split the question into parts.", BRIEF.teach[0]) <= 0.35
    assert success(family, "Rivers are often mentioned.", "Be polite.") == 0.0


@pytest.mark.parametrize("intent", TABLE, ids=lambda intent: intent.name)
def test_every_sentence_of_the_teacher_is_understood(intent) -> None:
    for sentence in intent.teach:
        assert read(sentence, TABLE) == {intent.name: True}


def test_two_reflections_solve_the_unseen_questions(family: Family) -> None:
    env = gymnasium.make("MetaGym/ICT-SearchQA-v0", batch_size=6, meta_turns=3)
    observation, _ = env.reset(seed=0)
    reflector = family.stand_ins["reflector"](0)
    from metagym.chat import Message, Request

    prompts = [""]
    for turn in range(3):
        reply = reflector.start(Request((Message("user", observation),), seed=turn))
        prompts.append(reply.text.split("IMPROVED PROMPT:\n")[1])
        observation, *_ = env.step(prompts[-1])
    env.close()
    assert all(after.startswith(before) for before, after in pairwise(prompts))
    assert success(family, *(line[2:] for line in prompts[2].splitlines())) == 1.0
    assert prompts[2] == prompts[3]


def test_hop_by_hop_the_actor_searches_for_the_name_it_found(family: Family) -> None:
    task = family.task_set("valid", ["birthplace-founder"])[0]
    (episode,) = play([task], "rules", family=family, system_prompt=f"{DECOMPOSE.teach[1]} {BRIEF.teach[1]}")
    first, second, answer = [turn.action for turn in episode.turns]
    assert first.startswith("<search>") and second.startswith("<search>") and answer.startswith("<answer>")
    town = second.removeprefix("<search>").split()[0]
    assert town in episode.turns[1].observation and town not in episode.turns[0].observation


def test_equal_seeds_give_equal_episodes_whatever_the_concurrency(family: Family) -> None:
    tasks = list(family.task_set("valid"))[:12]
    runs = {
        json.dumps(
            [[turn.reply for turn in episode.turns] for episode in play(tasks, "rules", family=family, concurrency=n)]
        )
        for n in (1, 5, None)
    }
    assert len(runs) == 1

"""The toy world of errands: who can win what."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from metagym.errors import UnknownName
from metagym.ict.collect import collect
from metagym.ict.loop import Seats, memory_records
from metagym.playing.runner import play
from metagym_trainers.ict.candidates import candidate_of
from metagym_trainers.tiny import ict_world as world
from metagym_trainers.tiny.models import word_tokenizer


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Eight collected rows."""
    world.register()
    config = world.settings("train", 3)
    return asyncio.run(collect(config, 2, Seats.of(config, world.family()), memory_records()))


def test_types_are_held_out_and_every_hazard_is_seen_in_training() -> None:
    family = world.family()
    train, held = (family.task_set(split) for split in world.SPLITS)
    assert (len(train), len(held)) == (48, 16) and not set(train.types) & set(held.types)
    for tasks in (train, held):
        assert {task.id.split("-")[1] for task in tasks} == set(world.HAZARDS)
    with pytest.raises(UnknownName, match="train, held_out"):
        family.tasks("test")


def test_no_constant_answer_earns_more_than_a_quarter_and_the_right_ones_win() -> None:
    assert world.constant_ceiling() == world.constant_ceiling("train") == 0.25
    for task in world.family().task_set("held_out"):
        tool = world.TOOLS[world.HAZARDS.index(task.id.split("-")[1])]
        (episode,) = play([task], "rules", system_prompt=f"please take {tool} along", family=world.family())
        assert episode.success and episode.backend == "scripted"
        (episode,) = play([task], "rules", system_prompt="sing hymns", family=world.family())
        assert episode.success is False and episode.ret == 0.0


def test_the_actor_obeys_the_first_two_tools_only() -> None:
    assert world.tools_in("take key then hose and lamp") == ["key", "hose"]
    task = world.family().task_set("train").by_id("gem-dark")
    for prompt, won in (("lamp", True), ("key lamp", True), ("key rope lamp", False), (" ".join(world.TOOLS), False)):
        (episode,) = play([task], "rules", system_prompt=prompt, family=world.family())
        assert episode.success is won


def test_a_reflector_hears_the_hazards_and_no_word_that_tells_the_rule(rows: list[dict[str, Any]]) -> None:
    tokenizer = word_tokenizer(world.VOCABULARY, drop_unknown=True)
    for row in rows:
        ids = tokenizer.apply_chat_template(row["messages"], add_generation_prompt=True, return_dict=False)
        heard = tokenizer.decode(ids).split()
        assert {task["id"].split("-")[1] for task in row["tasks"]} <= set(heard)
        assert {word for word in heard if word in world.TOOLS} <= set(row["system_prompt"].split())


def test_form_examples_have_the_form_and_are_drawn_from_all_words(rows: list[dict[str, Any]]) -> None:
    texts = [world.form_example(0, number, {"prompt": rows[0]["messages"]})[1] for number in range(400)]
    prompts = [candidate_of(text, "").prompt for text in texts]
    words = [word for prompt in prompts if prompt is not None for word in prompt.split()]
    assert len(words) == 800 and set(words) == set(world.VOCABULARY[1:])
    assert 0.2 < sum(word in world.TOOLS for word in words) / 800 < 0.45  # 8 of 25
    assert texts == [world.form_example(0, number, {"prompt": rows[0]["messages"]})[1] for number in range(400)]
    assert json.dumps(texts) != json.dumps([world.form_example(1, n, {"prompt": []})[1] for n in range(400)])


def test_the_environment_is_a_plain_gymnasium_one() -> None:
    env = world.ErrandEnv("gem", "ice")
    assert env.reset(seed=0) == ("Fetch it past the ice.", {"success": False})
    assert env.step("use skates") == ("You have it.", 1.0, True, False, {"success": True})
    assert env.step("use hose")[1:4] == (0.0, True, False)

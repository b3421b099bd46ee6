"""The scripted reflector: it counts what failed and adds one sentence against it."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks import controls
from metagym.chat.types import ChatModel, Message, Request
from metagym.errors import BadInput
from metagym.ict.reflector import ReflectorSettings, prompt_in, request_for
from metagym_envs.alfworld.rules import reflector
from metagym_envs.alfworld.rules.formats import Batch, Played
from metagym_envs.alfworld.rules.intents import STRAY, TABLE, TEACHABLE
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.alfworld.rules.reflector import STRAY_SHARE, faults, reflect

ROOM = "Looking quickly around you, you see a desk 1, a fridge 1, and a sofa 1.\n\nYour task is to: {}."
DESK = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a cup 1.")
FRIDGE = ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed.")
TAKE = ("take cup 1 from desk 1", "You pick up the cup 1 from the desk 1.")
SOFA = ("go to sofa 1", "You arrive at sofa 1. On the sofa 1, you see nothing.")
LOOK = ("look", "You are facing the desk 1. Next to it, you see nothing.")


def played(*turns: tuple[str, str], task: str = "put a cup in sofa", outcome: str = "failed") -> Played:
    return Played(outcome, ROOM.replace("{}", task), turns)


def calm(batch: Batch) -> tuple[str, str]:
    """The reflection of a seed that adds no stray sentence."""
    for seed in range(100):
        analysis, prompt = reflect(batch, seed)
        if "stray" not in analysis:
            return analysis, prompt
    raise AssertionError("every reflection was stray")


@pytest.mark.parametrize(
    ("fault", "turns", "task"),
    [
        ("open", (FRIDGE, DESK), "put a cup in sofa"),
        ("take", (DESK, FRIDGE), "put a cup in sofa"),
        ("hurry", (LOOK,), "put a cup in sofa"),
        ("deliver", (DESK, TAKE, FRIDGE), "put a cup in sofa"),
        ("treat", (DESK, TAKE, SOFA), "put a hot cup in sofa"),
        ("drop", (DESK, TAKE, FRIDGE), "put a egg in sofa"),
        ("search", (FRIDGE, DESK, FRIDGE, DESK), "put a egg in sofa"),
    ],
)  # fmt: skip
def test_each_fault_is_seen_where_it_happens(fault: str, turns: tuple[tuple[str, str], ...], task: str) -> None:
    assert faults(played(*turns, task=task))[fault] >= 1


def test_what_lies_behind_a_closed_door_is_not_to_be_taken_yet() -> None:
    opened = ("open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see a cup 1.")
    closed = ("close fridge 1", "You close the fridge 1.")
    assert faults(played(FRIDGE, opened, closed, ("open fridge 1", opened[1])))["take"] == 1  # at the closing


def test_the_more_frequent_fault_is_mended_first() -> None:
    batch = Batch("", (played(FRIDGE, DESK, LOOK, LOOK, LOOK),))
    assert faults(batch.episodes[0])["take"] > faults(batch.episodes[0])["open"] > 0
    assert read(calm(batch)[1], TABLE) == {"take": True}


def test_small_faults_weigh_little() -> None:
    batch = Batch("", (played(*[LOOK] * 15, FRIDGE, DESK, TAKE),))
    assert faults(batch.episodes[0])["hurry"] > 10 * faults(batch.episodes[0])["open"] > 0
    assert read(calm(batch)[1], TABLE) == {"open": True}


def test_good_play_shows_no_fault() -> None:
    turns = (
        DESK,
        TAKE,
        SOFA,
        ("move cup 1 to sofa 1", "You move the cup 1 to the sofa 1."),
    )
    assert not faults(played(*turns))


def test_the_answer_has_the_seats_form_and_adds_one_sentence() -> None:
    model = reflector(0)
    assert isinstance(model, ChatModel) and model.backend == "scripted"
    text = (
        "Current system prompt:\n<<<\nBe {brave}.\n>>>\n\nBatch of 1 episodes: 0 solved, mean return 0.\n\n"
        "=== Episode 1: simple, failed, 2 steps ===\n" + ROOM.replace("{}", "put a cup in sofa")
        + "\n> go to fridge 1\nYou arrive at fridge 1. The fridge 1 is closed.\n> look\nYou are facing the fridge 1."
    )  # fmt: skip
    for seed in range(30):
        reply = asyncio.run(model.chat(request_for(text, ReflectorSettings(), seed)))
        assert reply.text is not None and reply.text.startswith("ANALYSIS:\n1 of 1 episodes failed.")
        prompt = prompt_in(reply.text)
        assert prompt is not None
        old, _, new = prompt.rpartition("\n- ")
        assert old == "Be {brave}." and new in (*next(i for i in TEACHABLE if i.name == "open").teach, *STRAY)
        assert asyncio.run(model.chat(request_for(text, ReflectorSettings(), seed))).text == reply.text


def test_the_weightiest_fault_that_no_rule_covers_comes_first() -> None:
    batch = Batch("", (played(FRIDGE, DESK, FRIDGE, DESK, FRIDGE, FRIDGE),) * 3)
    learned: list[str] = []
    for _ in range(len(TEACHABLE) + 1):
        _, prompt = calm(batch)
        if prompt == batch.prompt:
            break
        assert prompt.startswith(batch.prompt)
        learned += set(read(prompt, TABLE)) - set(read(batch.prompt, TABLE))
        batch = Batch(prompt, batch.episodes)
    assert learned[0] == "open" and len(learned) == len(set(learned)) >= 3
    assert "I know of no further rule" in calm(batch)[0]


def test_a_paraphrased_prompt_is_not_told_again_what_it_says() -> None:
    batch = Batch(controls.PARAPHRASES["paragraph"], (played(FRIDGE, DESK, FRIDGE, FRIDGE),))
    analysis, prompt = calm(batch)
    assert "the prompt speaks of it already" in analysis
    assert len(prompt.splitlines()) <= len(batch.prompt.splitlines()) + 1
    added = prompt[len(batch.prompt) :]
    assert not {"open", "search", "take"} & set(read(added, TABLE))


def test_a_forbidden_rule_is_set_right_by_a_later_sentence() -> None:
    batch = Batch(controls.NEGATED["open"], (played(FRIDGE, DESK, FRIDGE, DESK),))
    assert read(calm(batch)[1], TABLE)["open"] is True


@pytest.mark.parametrize("outcome", ["solved", "not scored", "finished"])
def test_where_nothing_failed_the_prompt_stays(outcome: str) -> None:
    batch = Batch("As it is.", (played(FRIDGE, DESK, outcome=outcome),))
    for seed in range(100):
        assert reflect(batch, seed)[1] == "As it is."


def test_stray_sentences_are_rare_and_labelled() -> None:
    batch = Batch("", (played(FRIDGE, DESK),))
    stray = 0
    for seed in range(2000):
        analysis, prompt = reflect(batch, seed)
        assert ("stray" in analysis) == (prompt.removeprefix("- ") in STRAY)
        stray += "stray" in analysis
    assert 0.5 * STRAY_SHARE < stray / 2000 < 1.6 * STRAY_SHARE


def test_no_batch_and_no_messages() -> None:
    model = reflector(0)
    for messages in ((), (Message("user", "What do you think?"),)):
        reply = asyncio.run(model.chat(Request(messages)))
        assert reply.text is not None and prompt_in(reply.text) == ""


@pytest.mark.parametrize("seed", [-1, None, True])
def test_a_bad_seed_is_refused(seed: object) -> None:
    with pytest.raises(BadInput, match="seed"):
        reflector(seed)  # type: ignore[arg-type]

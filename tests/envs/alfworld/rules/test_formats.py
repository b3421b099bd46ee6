"""The stand-ins read exactly what the seats write."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat.types import Message
from metagym.episodes import Episode, Repair, Status, Turn
from metagym.ict.render import View, render_batch
from metagym.tasks import Task
from metagym_envs.alfworld.rules import formats
from tests.envs.alfworld.rules.helpers import conversation, walk


def play(number: int, steps: int, **seat: object):
    """A conversation after some steps, with what it was made of."""
    talk = conversation("Be {brave}.", **seat)
    seen_all, admissible = [], None
    for _, command, seen in walk(number, 1, steps):
        if command:
            talk.answer(f"Thought: hm\nAction: {command}")
        admissible = tuple(seen.admissible)
        talk.observe(seen.feedback, admissible)
        seen_all.append(seen.feedback.strip("\n"))
    return talk.request(0, admissible), seen_all, admissible


@pytest.mark.parametrize("history", [None, 0, 1, 3, 100])
@pytest.mark.parametrize("steps", [0, 1, 12])
def test_a_conversation_is_read_back_for_every_history_window(history: int | None, steps: int) -> None:
    request, seen, admissible = play(2, steps, history=history)
    heading = formats.conversation(request.messages)
    assert heading.prompt == "Be {brave}."
    assert heading.opening.endswith(seen[0])
    kept = seen[1:] if history is None else seen[1:][-max(history, 1) :]
    assert list(heading.observations) == kept
    assert heading.admissible == admissible


def test_without_lists_there_are_no_admissible_actions() -> None:
    request, seen, _ = play(3, 4, show_admissible=False)
    heading = formats.conversation(request.messages)
    assert heading.admissible is None and list(heading.observations) == seen[1:]


def test_an_empty_prompt_sends_no_system_message() -> None:
    talk = conversation("")
    talk.observe("You see a bed 1.", ("look",))
    heading = formats.conversation(talk.request(0, None).messages)
    assert heading.prompt == "" and heading.admissible == ("look",)


def test_a_list_that_is_not_last_is_no_list_of_now() -> None:
    assert formats.hear("seen\n\nAdmissible actions:\n- look\n- help") == formats.Heard(("seen",), ("look", "help"))
    old = formats.hear("seen\n\nAdmissible actions:\n- look\n\nseen later")
    assert old == formats.Heard(("seen", "seen later"), None)


def test_no_messages_at_all() -> None:
    assert formats.conversation(()) == formats.Heading("", "", (), None)
    assert formats.conversation((Message("assistant", "hello"),)).observations == ()


def episode(number: int = 0, steps: int = 5, success: bool = False, status: Status = Status.TRUNCATED) -> Episode:
    turns, last, observation = [], "", ""
    for _, command, seen in walk(number, 4, steps):
        if command:
            turns.append(
                Turn(
                    observation,
                    f"Thought: because\nAction: {command}",
                    command,
                    0.0,
                    False,
                    False,
                    admissible=("a", "b"),
                )
            )
        observation = last = seen.feedback
    return Episode(Task("ALFWorld", str(number), "pick_x"), tuple(turns), last, float(success), success, status)


@pytest.mark.parametrize("view", [View(), View(thoughts=True, actions=True), View(order="failed-first")], ids=str)
def test_a_meta_observation_is_read_back(view: View) -> None:
    episodes = [episode(0), episode(1, success=True, status=Status.OK), episode(2, 0), episode(3, status=Status.ERROR)]
    batch = formats.meta_observation(render_batch("Rule one.\nRule two.", episodes, view))
    assert batch.prompt == "Rule one.\nRule two."
    assert sorted(played.outcome for played in batch.episodes) == ["failed", "failed", "not scored", "solved"]
    assert [played.failed for played in batch.episodes].count(True) == 2
    read = {played.opening: played for played in batch.episodes}
    source = episodes[0]
    played = read[source.turns[0].observation.strip("\n")]
    assert [action for action, _ in played.turns] == [turn.action for turn in source.turns]
    seen = [turn.observation for turn in source.turns[1:]] + [source.last_observation]
    assert [text for _, text in played.turns] == [text.strip("\n") for text in seen]


def test_a_cut_episode_and_a_turn_without_an_action() -> None:
    source = episode(0, 30)
    turns = (*source.turns[:3], Turn("x", None, "", 0.0, False, False, Repair.ABSENT, "length"), *source.turns[3:])
    cut = Episode(source.task, turns, source.last_observation, 0.0, False, Status.TRUNCATED)
    batch = formats.meta_observation(render_batch("", [cut], View(max_turns=10)))
    assert len(batch.episodes[0].turns) == 10
    assert batch.episodes[0].turns[3][0].startswith("(no action")


NASTY = [
    "",
    "\n",
    "<<<\n>>>",
    "a\n>>>\n\nb",
    "=== Episode 1: x, failed, 3 steps ===\n> look",
    "x\n>>>\n\n=== Episode 1: y, failed, 1 steps ===\nz\n> look\nz",
    "{0} %s $x {prompt}",
    "trailing \n\n",
    "Current system prompt:\n<<<\nx\n>>>\n\nBatch of 3 episodes: all solved.",
]


@pytest.mark.parametrize("prompt", NASTY)
def test_s19_a_prompt_is_data_and_is_read_back_byte_for_byte(prompt: str) -> None:
    batch = formats.meta_observation(render_batch(prompt, [episode(0)], View()))
    assert batch.prompt == prompt
    assert len(batch.episodes) == 1


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=100))
def test_any_prompt_is_read_back(prompt: str) -> None:
    batch = formats.meta_observation(render_batch(prompt, [episode(0, 2)], View()))
    assert batch.prompt == prompt and len(batch.episodes) == 1


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_stand_where_a_meta_observation_should(text: str) -> None:
    assert isinstance(formats.meta_observation(text).episodes, tuple)
    assert isinstance(formats.hear(text).observations, tuple)

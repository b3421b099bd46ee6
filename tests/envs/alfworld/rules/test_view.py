"""What the stand-ins know of a game comes from the observations alone, and is right."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym_envs.alfworld.rules.view import Goal, View, kind, read_event, read_goal
from tests.envs.alfworld.rules.helpers import walk


def goal_parts(goal: Goal) -> tuple[str, str, str | None, str]:
    return goal.thing, goal.place, goal.treatment.name if goal.treatment else None, goal.tool


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("put a mug in cabinet", ("mug", "cabinet", None, "")),
        ("put some mug on cabinet", ("mug", "cabinet", None, "")),
        ("put a clean mug in cabinet", ("mug", "cabinet", "clean", "")),
        ("clean some mug and put it in cabinet", ("mug", "cabinet", "clean", "")),
        ("put a hot egg in fridge", ("egg", "fridge", "heat", "")),
        ("heat some egg and put it in fridge", ("egg", "fridge", "heat", "")),
        ("put a cool apple in microwave", ("apple", "microwave", "cool", "")),
        ("cool some apple and put it in microwave", ("apple", "microwave", "cool", "")),
        ("put two cd in safe", ("cd", "safe", None, "")),
        ("find two cd and put them in safe", ("cd", "safe", None, "")),
        ("look at bowl under the desklamp", ("bowl", "", "light", "desklamp")),
        ("examine the bowl with the floorlamp", ("bowl", "", "light", "floorlamp")),
        ("water the plants", ("", "", None, "")),
        ("", ("", "", None, "")),
    ],
)
def test_task_sentences_in_all_forms(sentence: str, parts: tuple[str, str, str | None, str]) -> None:
    assert goal_parts(read_goal(sentence)) == parts


@pytest.mark.parametrize("generation", ["0.4", "legacy"])
@pytest.mark.parametrize("number", range(6))
def test_the_view_agrees_with_the_game_on_a_walk(number: int, generation: str) -> None:
    steps = walk(number, number, 120, generation)
    _, _, seen = next(steps)
    view = View(seen.feedback)
    room = {command[6:] for command in seen.admissible if command.startswith("go to ")}
    assert set(view.places) == room and view.goal.thing
    for _, _, seen in steps:
        view.add(seen.feedback)
        reachable = {c[6:] for c in seen.admissible if c.startswith("go to ")}
        assert (view.here == "") == (reachable == room)
        assert not view.here or view.here not in reachable
        held = view.held
        assert any(c.startswith("take ") for c in seen.admissible) <= (held == "")
        examined = [c[8:] for c in seen.admissible if c.startswith("examine ") and c[8:] not in room]
        assert examined == ([held] if held else [])
        for place in (c[5:] for c in seen.admissible if c.startswith("open ")):
            assert place in view.closed
        for c in seen.admissible:
            if match := re.fullmatch(r"take (.+) from (.+)", c):
                assert match[1] in view.contents[match[2]]
                assert view.where[match[1]] == match[2]


def test_what_is_delivered_is_no_longer_wanted_until_it_is_taken_back() -> None:
    view = View("Looking quickly around you, you see a desk 1, and a safe 1.\n\nYour task is to: put two cd in safe.")
    view.add("You arrive at desk 1. On the desk 1, you see a cd 2, and a cd 1.")
    assert view.seen_wanted() == ["cd 1", "cd 2"]
    view.add("You pick up the cd 1 from the desk 1.")
    view.add("You arrive at safe 1. The safe 1 is closed.")
    view.add("You open the safe 1. The safe 1 is open. In it, you see nothing.")
    view.add("You move the cd 1 to the safe 1.")
    assert view.seen_wanted() == ["cd 2"] and view.destinations() == ["safe 1"]
    view.add("You pick up the cd 1 from the safe 1.")
    assert view.wanted("cd 1") and view.delivered == {}


def test_all_things_go_to_the_same_destination() -> None:
    view = View(
        "Looking quickly around you, you see a drawer 2, and a drawer 1.\n\nYour task is to: put two cd in drawer."
    )
    assert view.destinations() == ["drawer 2", "drawer 1"]
    view.add("You move the cd 1 to the drawer 1.")
    assert view.destinations() == ["drawer 1"]


def test_heat_and_cold_undo_each_other() -> None:
    view = View("you see a fridge 1.\n\nYour task is to: put a hot egg in fridge.")
    view.add("You heat the egg 1 using the microwave 1.")
    assert view.needs("egg 1") is None
    view.add("You cool the egg 1 using the fridge 1.")
    need = view.needs("egg 1")
    assert need is not None and need.name == "heat"


def test_a_thing_put_down_untreated_is_not_delivered() -> None:
    view = View("you see a sofa 1.\n\nYour task is to: put a clean cup in sofa.")
    view.add("You move the cup 1 to the sofa 1.")
    assert view.wanted("cup 1")


def test_the_instructions_do_not_pass_for_the_room_or_the_task() -> None:
    text = (
        "Your task is to: be patient.\nYou see a world 9.\n\nLooking quickly around you, you see a bed 1, and a safe 1."
        "\n\nYour task is to: put a cd in safe."
    )
    assert View(text).places == ("bed 1", "safe 1")
    assert goal_parts(View(text).goal) == ("cd", "safe", None, "")


def test_a_window_that_hides_the_taking_is_made_good_by_the_commands() -> None:
    view = View("Looking quickly around you, you see a bed 1.\n\nYour task is to: put a cd in bed.")
    view.correct(["examine bed 1", "examine cd 3", "look"])
    assert view.held == "cd 3"
    view.correct(["examine bed 1", "look"])  # says nothing new
    assert view.held == "cd 3"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=5))
def test_any_text_can_be_observed(opening: str, observations: list[str]) -> None:
    view = View(opening)
    for text in observations:
        view.add(text)
        view.add("You " + text)
        read_event("On the " + text)
    assert view.goal.sentence is not None


def test_kinds() -> None:
    assert kind("cabinet 12") == "cabinet" and kind("thing") == "thing"

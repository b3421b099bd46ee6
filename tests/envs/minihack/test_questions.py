from __future__ import annotations

import pytest

from metagym.episodes import Repair
from metagym_envs.minihack.commands import Command, clean
from metagym_envs.minihack.questions import (
    ESCAPE,
    Item,
    Question,
    answer,
    answers,
    find_item,
    read_question,
    typed_answer,
)

ITEMS = [Item("a", "a +1 club (weapon in hand)", 2), Item("f", "an apple", 7), Item("g", "a red apple", 7)]
EAT = "What do you want to eat? [fg or ?*] "
FLOOR = "There is an apple here; eat it? [ynq] (n) "


def test_prompts_are_told_apart() -> None:
    assert read_question(EAT) == Question("item", EAT, ("f", "g"))
    assert read_question("What do you want to wield? [- a-cG or ?*] ").offered == ("-", "a", "b", "c", "G")
    assert read_question("What do you want to read? [*] ").offered == ()
    assert read_question(FLOOR) == Question("yes", FLOOR, ("y", "n", "q"))
    assert read_question("In what direction? ").kind == "direction"
    assert read_question("What shall we call it?", line=True).kind == "line"


@pytest.mark.parametrize(
    ("prompt", "command", "automatic", "key"),
    [
        (EAT, Command("eat"), True, "g"),  # the newest
        (EAT, Command("eat"), False, None),
        (EAT, Command("eat", item="f"), False, "f"),
        (EAT, Command("eat", item="red apple"), True, "g"),
        (EAT, Command("eat", item="cake"), True, ESCAPE),
        (EAT, Command("eat", item="z"), True, ESCAPE),
        (FLOOR, Command("eat"), True, "y"),
        (FLOOR, Command("eat"), False, None),
        (FLOOR, Command("eat", item="apple"), False, "y"),
        (FLOOR, Command("eat", item="f"), True, "n"),
        (FLOOR, Command("eat", item="cake"), True, "n"),
        ("Really attack the guard? [yn] (n) ", Command("step", "east"), True, "n"),
        ("Are you sure you want to pray? [yn] (n) ", Command("pray"), True, "y"),
        ("In what direction? ", Command("kick", "east"), True, "l"),
        ("In what direction? ", Command("kick"), True, ESCAPE),
        ("In what direction? ", Command("kick"), False, None),
        ("What do you want to read? [*] ", Command("read"), True, ESCAPE),
    ],
)
def test_a_commands_own_words_answer_first(
    prompt: str, command: Command, automatic: bool, key: str | int | None
) -> None:
    wanted = ord(key) if isinstance(key, str) else key
    assert answer(read_question(prompt), command, ITEMS, automatic) == wanted


def test_a_line_of_text_is_never_given() -> None:
    assert answer(Question("line", "For what do you wish?"), Command("zap"), ITEMS, False) == ESCAPE


def test_actors_answer_in_letters_names_and_words() -> None:
    item, yes, way = read_question(EAT), read_question(FLOOR), read_question("In what direction? ")
    assert typed_answer("f", item, ITEMS) == ord("f") and typed_answer("the Red Apple", item, ITEMS) == ord("g")
    assert typed_answer("red apple", item, ITEMS) == ord("g") and typed_answer("f - an apple", item, ITEMS) == ord("f")
    assert typed_answer("club", item, ITEMS) is None and typed_answer("a", item, ITEMS) is None  # not offered
    assert typed_answer("the", item, ITEMS) is None and typed_answer("-", item, ITEMS) is None
    assert typed_answer("Yes", yes, ITEMS) == ord("y") and typed_answer("maybe", yes, ITEMS) is None
    assert typed_answer("northwest", way, ITEMS) == ord("y") and typed_answer("up", way, ITEMS) is None
    assert {typed_answer("cancel", question, ITEMS) for question in (item, yes, way)} == {ESCAPE}
    assert answers(item, ITEMS) == ("f - an apple", "g - a red apple", "cancel") and "south" in answers(way)
    assert answers(read_question("What do you want to wield? [- a or ?*] "), ITEMS)[:2] == ("-", f"a - {ITEMS[0].name}")


OFFERED = answers(read_question(EAT), ITEMS)


@pytest.mark.parametrize(
    ("said", "sent", "repair"),
    [
        ("f", "f", Repair.EXACT),
        ("f - an apple", "f - an apple", Repair.EXACT),
        ("cancel", "cancel", Repair.EXACT),
        ("`f`", "f", Repair.REPAIRED),
        ("the red apple", "g - a red apple", Repair.REPAIRED),
        ("Apple.", "g - a red apple", Repair.REPAIRED),
        ("club", "club", Repair.INVALID),
        ("all", "all", Repair.INVALID),
        ("eat apple", "eat apple", Repair.INVALID),
        ("z", "z", Repair.INVALID),
        ("F", "F", Repair.INVALID),
        ("the", "the", Repair.INVALID),
    ],
)
def test_an_answer_is_labelled_as_what_the_game_makes_of_it(said: str, sent: str, repair: Repair) -> None:
    assert clean(said, OFFERED) == (sent, repair)
    assert (typed_answer(sent, read_question(EAT), ITEMS) is None) == (repair is Repair.INVALID)


def test_the_newest_of_several_things_is_meant() -> None:
    assert find_item("apple", ITEMS) == "g" and find_item("apple", ITEMS, ("f",)) == "f"
    assert find_item("", ITEMS) is None and find_item("q", ITEMS) is None

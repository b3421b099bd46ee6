"""From free text to at most one command, by one rule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.episodes import Repair
from metagym_envs.alfworld.engine import Game, Player
from metagym_envs.alfworld.generator import generate
from metagym_envs.alfworld.text import INSTRUCTIONS, LONGEST, clean_command

NEW = [
    "go to drawer 1",
    "help",
    "inventory",
    "look",
    "move apple 1 to fridge 1",
    "open drawer 2",
    "take pen 1 from desk 2",
]
OLD = ["go to drawer 1", "inventory", "look", "open drawer 2", "put apple 1 in/on fridge 1", "take pen 1 from desk 2"]


@pytest.mark.parametrize(
    "text",
    [
        "open drawer 2 THEN go north",
        "open drawer 2\ngo north",
        "\n\n  open drawer 2",
        "> open drawer 2.",
        ">>> open drawer 2",
        "🚪 open drawer 2",
        "open drawer 2 🚪🗝️",
        '"Open the drawer 2"',
        "`open drawer 2`",
        "**open drawer 2**",
        "open  drawer\t2",
        "OPEN DRAWER 2!",
        "open drawer 2; look",
        "open drawer 2, then take the pen 1",
        "open drawer 2 and look inside",
        "open drawer 2. take pen 1 from drawer 2",
        "open drawer 2 -> look",
        "open drawer 2\x00",
        "Then open drawer 2",
        "open a drawer 2",
    ],
)
def test_s10_one_command_is_found(text):
    assert clean_command(text, NEW) == ("open drawer 2", Repair.REPAIRED)


@pytest.mark.parametrize("text", ["", "  ", "\n", ">", "...", "🚪", "\x00", "鍵", "``"])
def test_nothing_is_absent(text):
    assert clean_command(text, NEW) == ("", Repair.ABSENT)


def test_legal_as_written_is_exact():
    for command in NEW:
        assert clean_command(command, NEW) == (command, Repair.EXACT)


@pytest.mark.parametrize("verb", ["put", "Put", "move", "place"])
@pytest.mark.parametrize("join", ["in/on", "in", "on", "into", "onto", "to"])
def test_s08_both_put_forms_in_both_directions(verb, join):
    text = f"{verb} the apple 1 {join} the fridge 1"
    assert clean_command(text, NEW) == ("move apple 1 to fridge 1", Repair.REPAIRED)
    assert clean_command(text, OLD) == ("put apple 1 in/on fridge 1", Repair.REPAIRED)


def test_s08_every_move_of_a_real_play_is_understood_in_the_old_form():
    game = generate("train", "pick_clean_then_place_in_recep", 1)
    new, old = (Player(Game.compile(game.problem, game.sentence, generation)) for generation in ("0.4", "legacy"))
    answers = new.reset(), old.reset()
    for command in game.walkthrough:
        in_old = command
        if command.startswith("move "):
            in_old = "put " + command[5:].replace(" to ", " in/on ")
            assert clean_command(in_old, answers[0].admissible).command == command
            assert clean_command(command, answers[1].admissible).command == in_old
        answers = new.step(command), old.step(in_old)
    assert answers[0].won and answers[1].won


@pytest.mark.parametrize(
    "text", ["open drawer", "open drawer 3", "take pen from desk 2", "go drawer 1", "opne drawer 2"]
)
def test_nothing_is_guessed(text):
    """No missing number is filled in and no near miss is snapped: the engine answers it."""
    assert clean_command(text, NEW) == (text, Repair.INVALID)


def test_illegal_move_is_sent_in_the_form_the_game_knows():
    assert clean_command("put pen 1 in drawer 9", NEW) == ("move pen 1 to drawer 9", Repair.INVALID)
    assert clean_command("move pen 1 to drawer 9", OLD) == ("put pen 1 in/on drawer 9", Repair.INVALID)


def test_without_a_list_of_legal_commands():
    assert clean_command("open drawer 2", None) == ("open drawer 2", Repair.EXACT)
    assert clean_command("> Open drawer 2.", None) == ("open drawer 2", Repair.REPAIRED)
    assert clean_command("put pen 1 in desk 1", None) == ("put pen 1 in desk 1", Repair.EXACT)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400), st.sampled_from([NEW, OLD, None]))
def test_any_text_gives_at_most_one_short_line(text, admissible):
    command, repair = clean_command(text, admissible)
    assert len(command) <= 2 * LONGEST and command == command.strip() and len(command.splitlines()) <= 1
    assert command.isascii() or command in (admissible or [])
    assert (command == "") == (repair is Repair.ABSENT)
    if admissible is not None and repair is not Repair.ABSENT:
        assert (command in admissible) == (repair is not Repair.INVALID)
    if repair is Repair.EXACT:
        assert command == text


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(NEW),
    st.sampled_from(["", "> ", "  ", "```", "🚪 ", "\n\n", '"', "- "]),
    st.sampled_from(["", ".", " THEN go north", "\nlook", '"', ";look", " 🚪", "`", ", then look"]),
    st.booleans(),
)
def test_decoration_never_hides_a_command(command, before, after, shout):
    text = before + (command.upper() if shout else command) + after
    assert clean_command(text, NEW).command == command


def test_twenty_thousand_characters():
    for text in ("x" * 20_000, "open " * 4_000, "put " + "a in " * 5_000, "🚪" * 20_000, "\n" * 20_000 + "look"):
        command, _ = clean_command(text, NEW)
        assert len(command) <= 2 * LONGEST
    assert clean_command("\n" * 20_000 + "Look", NEW) == ("look", Repair.REPAIRED)


def test_instructions_name_every_command_form_of_the_engine():
    from metagym_envs.alfworld.engine import HELP

    for line in HELP.splitlines()[1:]:
        assert line.split()[0].rstrip(":") in INSTRUCTIONS


def test_s08_the_form_that_is_listed_wins_whatever_else_the_list_holds():
    new, old = ("move apple 1 to fridge 1", "look"), ("put apple 1 in/on fridge 1", "look", "help")
    for text in ("put apple 1 in fridge 1", "move apple 1 to fridge 1", "place the apple 1 on the fridge 1"):
        assert clean_command(text, new).command == new[0]
        assert clean_command(text, old).command == old[0]

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.episodes import Repair
from metagym_envs.minihack.commands import DIRECTIONS, MOVES, VERBS, Command, clean, parse


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("step north", "step north"),
        ("Go North-West!", "step northwest"),
        ("go north.", "step north"),
        ("sw", "step southwest"),
        ("run to the east", "run east"),
        ("far south", "run south"),
        ("Put on the amulet", "puton amulet"),
        ("puton f", "puton f"),
        ("pick up the key", "pickup"),
        ("take", "pickup"),
        ("drink from the sink", "quaff sink"),
        ("eat a", "eat a"),
        ("eat a pear", "eat pear"),
        ("wear B", "wear B"),
        ("zap f e", "zap f east"),
        ("zap n", "zap n"),
        ("zap the maple wand north", "zap maple wand north"),
        ("apply key to the door west", "apply key west"),
        ("unlock door with key west", "apply key west"),
        ("kick the door to the east", "kick east"),
        ("open", "open"),
        ("PRAY", "pray"),
        ("search", "search"),
        ("step", None),
        ("step up", None),
        ("north east", None),
        ("dance", None),
        ("", None),
        ("🚪", None),
    ],
)
def test_commands_are_read(text: str, read: str | None) -> None:
    found = parse(text)
    assert (None if found is None else str(found)) == read


def test_keys_are_nethacks() -> None:
    keys = {str(command): command.key for command in (Command("step", "west"), Command("run", "southeast"))}
    assert keys == {"step west": ord("h"), "run southeast": ord("N")}
    assert {verb.name: verb.key for verb in VERBS}["kick"] == 4 and Command("pray").key == 0xF0
    assert len({verb.key for verb in VERBS}) == len(VERBS)


commands = st.one_of(
    st.builds(Command, st.sampled_from(MOVES), st.sampled_from(list(DIRECTIONS))),
    st.builds(
        lambda verb, way, item: Command(
            verb.name, way if "direction" in verb.takes else "", item if "item" in verb.takes else ""
        ),
        st.sampled_from(VERBS),
        st.sampled_from(["", *DIRECTIONS]),
        st.sampled_from(["", "f", "Q", "apple", "maple wand"]),
    ),
)


@given(commands)
@settings(max_examples=150, deadline=None)
def test_what_is_listed_reads_back_as_itself(command: Command) -> None:
    assert parse(str(command)) == command
    assert clean(str(command), None) == (str(command), Repair.EXACT)


@given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=12), max_size=4))
@settings(max_examples=200, deadline=None)
def test_s10_any_text_becomes_one_short_line(text: str, listed: list[str]) -> None:
    command, repair = clean(text, tuple(listed))
    assert (command == "") == (repair is Repair.ABSENT)
    assert command in listed or ("\n" not in command and len(command) <= 500)
    assert command not in listed or repair in (Repair.EXACT, Repair.REPAIRED)


def test_cleaning_tells_how_a_command_came_about() -> None:
    listed = ("step north", "eat f")
    assert clean("step north", listed) == ("step north", Repair.EXACT)
    assert clean("Eat f.", listed) == ("eat f", Repair.REPAIRED)
    assert clean("go n\nthen south", listed) == ("step north", Repair.REPAIRED)
    assert clean("kick east", listed) == ("kick east", Repair.EXACT)  # not listed, and a command all the same
    assert clean("sing a song", listed) == ("sing a song", Repair.INVALID)
    assert clean("  \n ", listed) == ("", Repair.ABSENT)
    assert clean("Y", ("y", "n", "cancel")) == ("y", Repair.REPAIRED)


def test_a_command_is_no_answer_to_an_open_question() -> None:
    assert clean("Yes", ("y", "n", "cancel")) == ("y", Repair.REPAIRED)
    assert clean("go East.", (*DIRECTIONS, "cancel")) == ("east", Repair.REPAIRED)
    assert clean("step east", ("f", "cancel")) == ("step east", Repair.INVALID)
    assert clean("quaff f", ("f", "cancel")) == ("quaff f", Repair.INVALID)

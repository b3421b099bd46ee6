"""The rules of the text, one by one, on small games made by hand."""

from __future__ import annotations

import pytest

from metagym_envs.alfworld.engine import HELP, NOTHING_HAPPENS, Game, Player
from tests.envs.alfworld.golden.games import bring_goal, by_hand, write_problem

SAMPLES = {sample.name: sample for sample in by_hand()}


def start(name: str, generation: str = "0.4") -> Player:
    sample = SAMPLES[name]
    player = Player(Game.compile(sample.problem, sample.task, generation))
    player.reset()
    return player


def say(player: Player, *commands: str) -> str:
    """The feedback of the last command; all before it must have done something."""
    for command in commands[:-1]:
        assert player.step(command).feedback != NOTHING_HAPPENS, command
    return player.step(commands[-1]).feedback


def rule_player(receptacles, things, goal="", **extra) -> Player:
    goal = goal or bring_goal("Apple", "Table")
    player = Player(Game.compile(write_problem(receptacles, things, goal, **extra), "do it"))
    player.reset()
    return player


def test_rule_01_an_object_is_examined_only_while_it_is_held():
    player = start("kitchen")
    assert say(player, "go to countertop 1", "examine knife 1") == NOTHING_HAPPENS
    assert say(player, "take knife 1 from countertop 1", "examine knife 1") == "There's nothing special about knife 1."
    assert "examine knife 1" in player.step("look").admissible


def test_rule_02_look_before_the_first_move_lists_nothing():
    player = start("kitchen")
    intro = player.reset().feedback
    room = "You are in the middle of a room. Looking quickly around you, you see "
    assert f"{room}a cabinet 1, a countertop 1, a drawer 1," in intro
    assert say(player, "look") == f"{room}nothing."


def test_rule_03_help_has_no_newline_before_it_and_one_behind():
    assert say(start("kitchen"), "help") == HELP
    assert HELP.startswith("Available") and HELP.endswith("object\n")


def test_rule_04_what_moved_to_a_neighbour_lies_next_to_it():
    player = start("kitchen")
    say(player, "go to countertop 1", "open cabinet 1", "take tomato 1 from countertop 1")
    facing = "You are facing the cabinet 1, countertop 1, and drawer 1. Next to it, you see "
    assert say(player, "look") == f"{facing}nothing."
    assert say(player, "move tomato 1 to cabinet 1", "look") == f"{facing}a tomato 1."
    # back where it came from it is on no floor; taken out of two receptacles it is listed twice
    assert say(player, "take tomato 1 from cabinet 1", "move tomato 1 to countertop 1", "look").startswith(
        f"{facing}a tomato 1"
    )
    say(player, "take tomato 1 from countertop 1", "move tomato 1 to cabinet 1", "look")
    assert say(player, "look") == f"{facing}a tomato 1."


def test_rule_04_the_floor_list_is_sorted_and_may_name_a_thing_twice():
    player = rule_player(
        {
            "Table_bar_1": ("Table", "loc_bar_1"),
            "Table_bar_2": ("Table", "loc_bar_1"),
            "Table_bar_3": ("Table", "loc_bar_1"),
        },
        {"Apple_bar_1": ("Apple", ["Table_bar_1", "Table_bar_2"], ("pickupable",))},
    )
    say(player, "go to table 1", "take apple 1 from table 3", "move apple 1 to table 1", "take apple 1 from table 2")
    assert say(player, "move apple 1 to table 1", "look").endswith("Next to it, you see a apple 1, and a apple 1.")


def test_rule_05_a_thing_in_two_receptacles_stays_in_the_other():
    player = start("kitchen")
    say(player, "go to countertop 1", "take tomato 1 from countertop 1")
    assert (
        say(player, "go to garbagecan 1")
        == "You arrive at garbagecan 1. On the garbagecan 1, you see a pot 1, a spoon 1, and a tomato 1."
    )
    assert say(player, "inventory") == "You are carrying: a tomato 1."


def test_rule_06_going_where_one_stands_is_no_command():
    player = start("kitchen")
    assert say(player, "go to cabinet 1", "go to cabinet 1") == NOTHING_HAPPENS
    assert say(player, "go to countertop 1") == NOTHING_HAPPENS
    assert not any(
        command.startswith(("go to cabinet", "go to countertop")) for command in player.step("look").admissible
    )


def test_rule_07_heat_and_cold_drive_each_other_out_and_need_no_open_appliance():
    player = start("kitchen")
    say(player, "go to countertop 1", "take apple 2 from countertop 1", "go to microwave 1")
    assert say(player, "examine apple 2") == "This is a cold apple 2."
    assert say(player, "heat apple 2 with microwave 1", "examine apple 2") == "This is a hot apple 2."
    assert say(player, "go to fridge 1", "cool apple 2 with fridge 1") == "You cool the apple 2 using the fridge 1."
    assert say(player, "examine apple 2") == "This is a cold apple 2."
    assert (
        say(player, "go to sinkbasin 1", "clean apple 2 with sinkbasin 1", "examine apple 2")
        == "This is a cool and clean apple 2."
    )


def test_rule_07_what_was_heated_is_no_longer_cool_for_the_goal():
    player = start("larder")
    assert player.won
    say(player, "go to table 1", "take apple 1 from table 1", "heat apple 1 with microwave 1")
    assert not player.step("move apple 1 to table 1").won
    say(player, "take apple 1 from table 1", "cool apple 1 with fridge 1")
    assert player.step("move apple 1 to table 1").won


@pytest.mark.parametrize(
    ("predicates", "text"),
    [
        ((), "There's nothing special about apple 1."),
        (("isHot",), "This is a hot apple 1."),
        (("isCool",), "This is a cold apple 1."),
        (("isClean",), "This is a clean apple 1."),
        (("isClean", "isHot"), "This is a hot and clean apple 1."),
        (("isClean", "isCool"), "This is a cool and clean apple 1."),
        (("sliceable", "isSliced"), "This is a sliced apple 1."),
        (("isSliced",), "There's nothing special about apple 1."),
        (("isSliced", "isHot"), "This is a hot sliced apple 1."),
        (("isSliced", "isCool"), "This is a cool sliced apple 1."),
        (("isSliced", "isClean"), "This is a clean sliced apple 1."),
        (("isSliced", "isClean", "isHot"), "This is a hot and clean sliced apple 1."),
        (("isSliced", "isClean", "isCool"), "This is a cool and clean sliced apple 1."),
        (("isReceptacleObject", "isHot"), "This is a normal apple 1. In it, you see nothing."),
    ],
)
def test_rule_08_wording_of_states(predicates, text):
    player = rule_player(
        {"Table_bar_1": ("Table", "loc_bar_1")},
        {"Apple_bar_1": ("Apple", ["Table_bar_1"], ("pickupable", *predicates))},
    )
    assert say(player, "go to table 1", "take apple 1 from table 1", "examine apple 1") == text


def test_rule_08_what_is_inside_a_thing_never_changes():
    player = start("study")
    say(player, "take pen 2 from desk 1", "go to box 2", "move pen 2 to box 2", "take box 1 from box 2")
    assert say(player, "examine box 1") == "This is a normal box 1. In it, you see a pen 3, a pen 2, and a pen 1."


def test_rule_09_a_lamp_is_always_turned_on_and_needs_no_open_receptacle():
    player = start("study")
    assert say(player, "use desklamp 1") == "You turn on the desklamp 1."  # in the closed drawer
    assert say(player, "use desklamp 1") == "You turn on the desklamp 1."
    assert player.step("look").admissible.count("use desklamp 2") == 1  # though it stands in two receptacles here


def test_rule_10_slicing_needs_a_knife_in_hand_and_the_thing_here():
    player = start("kitchen")
    assert say(player, "go to countertop 1", "slice apple 2 with knife 1") == NOTHING_HAPPENS
    say(player, "take knife 1 from countertop 1", "look")
    assert say(player, "slice apple 2 with knife 1") == "You sliced the apple 2 with the knife 1."
    assert say(player, "go to garbagecan 1", "slice apple 2 with knife 1") == NOTHING_HAPPENS
    assert (
        say(player, "go to fridge 1", "slice apple 1 with knife 1") == "You sliced the apple 1 with the knife 1."
    )  # closed


def test_rule_11_a_thing_goes_only_where_its_type_is_taken_and_the_door_is_open():
    player = start("kitchen")
    say(player, "go to countertop 1", "take knife 1 from countertop 1")
    assert say(player, "open cabinet 1", "move knife 1 to cabinet 1") == NOTHING_HAPPENS
    assert say(player, "close cabinet 1", "close drawer 1", "move knife 1 to drawer 1") == NOTHING_HAPPENS
    assert say(player, "open drawer 1", "take egg 1 from drawer 1") == NOTHING_HAPPENS  # hands are full
    assert say(player, "move knife 1 to drawer 1") == "You move the knife 1 to the drawer 1."
    assert say(player, "close drawer 1", "take egg 1 from drawer 1") == NOTHING_HAPPENS


def test_rule_12_the_first_id_has_the_highest_number_and_lists_follow_ids():
    player = start("pantry")
    game = player.game
    assert game.object_names[game.object_ids.index("mug_bar_01")] == "mug 12"
    assert game.object_names[game.object_ids.index("mug_bar_90")] == "mug 1"
    assert "bathtubbasin 1" in game.receptacle_names
    # the list of what can be done goes by the text, so 10 and more stand before 2
    assert [name for name in player.step("look").admissible if name.startswith("go to shelf")][:3] == [
        "go to shelf 1",
        "go to shelf 10",
        "go to shelf 11",
    ]
    assert "a shelf 11, a shelf 10, a shelf 9," in player.reset().feedback


def test_rule_13_listings():
    player = start("kitchen")
    assert say(player, "go to sinkbasin 1") == "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."
    assert say(player, "go to drawer 1").endswith("The drawer 1 is open. In it, you see a butterknife 1, and a egg 1.")
    assert say(player, "examine cabinet 1") == "The cabinet 1 is closed."
    assert (
        say(player, "examine countertop 1")
        == "On the countertop 1, you see a apple 2, a knife 1, a tomato 2, and a tomato 1."
    )


@pytest.mark.parametrize(
    "command", ["", "LOOK", "Go to fridge 1", "go  to fridge 1", "go to fridge 1.", "go", "take", "help me"]
)
def test_rule_14_commands_match_exactly_or_nothing_happens(command):
    player = start("kitchen")
    before = player.key()
    assert say(player, command) == NOTHING_HAPPENS
    assert player.key() == before


def test_rule_14_blanks_at_the_ends_are_dropped():
    assert say(start("kitchen"), "\n go to fridge 1\t ") == "You arrive at fridge 1. The fridge 1 is closed."


def test_rule_15_a_won_game_can_be_undone():
    player = start("kitchen")
    say(
        player,
        "go to countertop 1",
        "take apple 2 from countertop 1",
        "go to microwave 1",
        "heat apple 2 with microwave 1",
    )
    say(player, "go to garbagecan 1", "look")
    seen = player.step("move apple 2 to garbagecan 1")
    assert (seen.won, seen.score, seen.done) == (True, 1, True)
    seen = player.step("take apple 2 from garbagecan 1")
    assert (seen.won, seen.score, seen.done) == (False, 0, False)


def test_rule_16_two_things_must_be_two_and_in_one_receptacle():
    player = start("pantry")
    say(player, "go to cabinet 1", "open cabinet 1", "take mug 1 from cabinet 1", "go to shelf 1")
    shelf = player.game.receptacle_number["shelf 1"]
    assert [player.game.object_names[o] for o in player.contents[shelf]] == ["mug 3"]
    assert not player.won
    assert player.step("move mug 1 to shelf 1").won
    assert not player.step("take mug 3 from shelf 1").won


def test_rule_16_going_to_the_lamp_can_win():
    player = start("study")
    say(player, "use desklamp 2", "go to box 2", "take book 2 from box 2")
    assert not player.won
    assert player.step("go to desk 1").won


def test_rule_17_the_list_is_sorted_and_has_no_duplicates():
    player = start("study")
    for command in ("look", "take pen 2 from desk 1", "use desklamp 2", "open drawer 1"):
        legal = player.step(command).admissible
        assert legal == sorted(set(legal))
        assert {"help", "inventory", "look"} <= set(legal)


def test_rule_18_the_earlier_wording():
    player = start("kitchen", "legacy")
    assert say(player, "help") == NOTHING_HAPPENS
    assert say(player, "go to countertop 1").startswith("You arrive at loc 2. On the countertop 1, you see a apple 2,")
    say(player, "take apple 2 from countertop 1", "go to garbagecan 1", "look")
    assert say(player, "move apple 2 to garbagecan 1") == NOTHING_HAPPENS
    assert say(player, "put apple 2 in/on garbagecan 1") == "You put the apple 2 in/on the garbagecan 1."
    legal = player.step("look").admissible
    assert "help" not in legal and {"inventory", "look"} <= set(legal)


@pytest.mark.parametrize(("generation", "cleans"), [("legacy", True), ("0.3", False), ("0.4", False)])
def test_rule_18_a_sink_cleans_in_the_published_games_only(generation, cleans):
    player = start("kitchen", generation)
    say(player, "go to countertop 1", "take apple 2 from countertop 1", "go to sink 1")
    assert (say(player, "clean apple 2 with sink 1") != NOTHING_HAPPENS) is cleans
    assert say(player, "clean apple 2 with sinkbasin 1") == "You clean the apple 2 using the sinkbasin 1."


def test_what_is_accepted_is_what_is_listed():
    """Over many states: a command does something exactly if it is in the list."""
    for name in SAMPLES:
        player = start(name)
        game = player.game
        every = ["look", "inventory", "help"]
        for r in game.receptacle_names:
            every += [f"{verb} {r}" for verb in ("go to", "open", "close", "examine")]
            every += [f"{verb} {o} {join} {r}" for o in game.object_names[:6] for verb, join in _WITH]
        every += [f"{verb} {o}" for o in game.object_names for verb in ("examine", "use")]
        every = [command for command in every if command == command.strip()]  # one name ends with a blank
        every += [f"slice {o} with {k}" for o in game.object_names for k in game.object_names[:6]]
        for turn in range(25):
            legal = player.step("look").admissible
            for command in every:
                clone = player.clone()
                assert (clone.step(command).feedback != NOTHING_HAPPENS) is (command in legal), command
            player.step(legal[(turn * 7) % len(legal)])


_WITH = [("take", "from"), ("move", "to"), ("heat", "with"), ("cool", "with"), ("clean", "with"), ("put", "in/on")]

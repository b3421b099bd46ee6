"""Reading problem texts: what is not understood for certain is refused, and nothing else happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, EngineUnsupported
from metagym_envs.alfworld.engine import Game, Player
from metagym_envs.alfworld.engine.names import listing, shown_names
from tests.envs.alfworld.golden.games import LIGHT_GOAL, bring_goal, by_hand, generated, write_problem

KITCHEN = by_hand()[0].problem
TABLE = {"Table_bar_1": ("Table", "loc_bar_1")}
APPLE = {"Apple_bar_1": ("Apple", [], ("pickupable",))}


def compile_(problem: str, task: str = "do it") -> Game:
    return Game.compile(problem, task)


def with_goal(goal: str) -> Game:
    things = {"Apple_bar_1": ("Apple", ["Table_bar_1"], ("pickupable",))}
    return compile_(write_problem({**TABLE, "Chair_bar_1": ("Chair!", "loc_bar_2")}, things, goal))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(:domain alfred)", "(:domain blocks)"),
        ("(:domain alfred)", "(:domain alfred) (:requirements :adl)"),
        ("(:init", "(:start"),
        ("(:goal", "(:aim"),
        ("agent1 - agent", "agent1 - agent\nagent2 - agent"),
        ("agent1 - agent", "agent1 - robot"),
        ("agent1 - agent", "agent1 - agent\nApple_bar_1 - object"),
        ("\n)\n(:init", "\nstray\n)\n(:init"),
        ("agent1 - agent", "agent1 - agent\n- object"),
        ("(openable Fridge_bar_1)", "(openable Fridge_bar_1 Fridge_bar_1)"),
        ("(openable Fridge_bar_1)", "(openable)"),
        ("(openable Fridge_bar_1)", "(openable Apple_bar_1)"),
        ("(openable Fridge_bar_1)", "(openable Fridge_bar_7)"),
        ("(openable Fridge_bar_1)", "(not (openable Fridge_bar_1))"),
        ("(openable Fridge_bar_1)", "(shiny Fridge_bar_1)"),
        ("(openable Fridge_bar_1)", "openable Fridge_bar_1"),
        ("(openable Fridge_bar_1)", "(holds agent1 Apple_bar_1)"),
        ("(openable Fridge_bar_1)", "(checked Fridge_bar_1)"),
        ("(openable Fridge_bar_1)", "(receptacleAtLocation Fridge_bar_1 loc_bar_2)"),
        ("(openable Fridge_bar_1)", "(= (distance loc_bar_1 loc_bar_2) 2.5)"),
        ("(receptacleAtLocation Fridge_bar_1 loc_bar_1)", ""),
        ("(atLocation agent1 loc_bar_0)", ""),
        ("(:goal (and", "(:goal (and (forall (?x - object) (isHot ?x))"),
        ("(:goal (and", "(:goal (or"),
        ("(:goal (and", "(:goal (imply"),
        ("(:goal (and", "(:plan (and"),
        ("(openable Fridge_bar_1)", "(openable Fridge_bar_1))"),
        ("(openable Fridge_bar_1)", "(openable (Fridge_bar_1)"),
        ("(openable Fridge_bar_1)", "( )"),
        ("(openable Fridge_bar_1)", "()"),
        ("agent1 - agent", "agent1 - agent (x - object"),
        ("agent1 - agent", "agent1 - agent ) - object"),
        ("agent1 - agent", "agent1 - (either agent object)"),
    ],
)
def test_what_is_not_understood_is_refused(old, new):
    assert old in KITCHEN
    with pytest.raises(EngineUnsupported, match="native engine"):
        compile_(KITCHEN.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(openable Fridge_bar_1)", "(openable Fridge_bar_1) ; a comment (with) parentheses"),
        ("(openable Fridge_bar_1)", "(openable Fridge_bar_1) (= (total-cost) 0) (= (distance loc_bar_1 loc_bar_2) 3)"),
        ("(openable Fridge_bar_1)", "( OPENABLE\n fridge_BAR_1\t)"),
        ("agent1 - agent\n", "one two - object\nagent1 - agent\n"),
        ("(openable Fridge_bar_1)", "(openable Fridge_bar_1) (openable Fridge_bar_1)"),
        ("(:init", "(:INIT"),
        ("(define (problem", "( define\n ( problem"),
    ],
)
def test_what_means_the_same_plays_the_same(old, new):
    assert old in KITCHEN
    game, same = compile_(KITCHEN), compile_(KITCHEN.replace(old, new, 1))
    assert (game.intro, game.start, game.openable) == (same.intro, same.start, same.openable)


def test_a_start_state_without_any_parenthesis_is_refused():
    begin, end = KITCHEN.index("(:init") + len("(:init"), KITCHEN.index("(:goal")
    for inside in ("", " ", "x", ")", "x)"):
        with pytest.raises(EngineUnsupported):
            compile_(KITCHEN[:begin] + inside + KITCHEN[end:])


def test_a_metric_behind_the_goal_is_ignored():
    assert KITCHEN.endswith(")\n)\n")
    changed = KITCHEN.removesuffix(")\n") + "(:metric minimize (total-cost))\n)\n"
    assert compile_(changed).intro == compile_(KITCHEN).intro
    for tail in ("(:metric", "(:constraints (and))\n)\n", ""):
        with pytest.raises(EngineUnsupported):
            compile_(KITCHEN.removesuffix(")\n") + tail)


@pytest.mark.parametrize(
    "goal",
    [
        "()",
        "(and)",
        "(exists (?o - object) (isHot ?o) (isCool ?o))",
        "(exists (?o) (isHot ?o))",
        "(exists (?o - thing) (isHot ?o))",
        "(exists (?o - object ?o - object) (isHot ?o))",
        "(exists (o - object) (isHot o))",
        "(exists (?o - object) (not (isHot ?o)))",
        "(exists (?o - object) (not (and (isHot ?o) (isCool ?o))))",
        "(exists (?o - object ?p - object) (and (isHot ?o) (not (= ?o ?p))))",
        "(exists (?o - object ?r - receptacle) (and (inReceptacle ?o ?r) (= ?o ?r)))",
        "(exists (?o - object) (isOn ?o))",
        "(exists (?r - receptacle) (checked ?r))",
        "(exists (?o - object) (inReceptacle ?o Table_bar_1))",
        "(exists (?o - receptacle) (isHot ?o))",
        "(exists (?o - object) (isHot ?p))",
        "(exists (?o - object) (isHot ?o ?o))",
        "(exists (?o - object) (glows ?o))",
        "(exists (?o - object) (isHot (isCool ?o)))",
        "(isHot Apple_bar_1)",
        "(when (isHot ?o) (isCool ?o))",
        bring_goal("Pear", "Table"),
        bring_goal("Apple", "Fridge"),
        LIGHT_GOAL,
        "hot",
    ],
)
def test_goals_that_are_not_modelled_or_cannot_hold_are_refused(goal):
    with pytest.raises(EngineUnsupported):
        with_goal(goal)


BRING = ["go to table 1", "take apple 1 from table 1", "go to chair 1", "open chair 1", "move apple 1 to chair 1"]
OPEN = ["go to chair 1", "open chair 1"]
AT_CHAIR = (
    "(exists (?a - agent ?l - location ?r - receptacle) "
    "(and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (receptacleType ?r ChairType)))"
)
LIES_THERE = (
    "(exists (?o - object ?l - location ?r - receptacle) "
    "(and (objectAtLocation ?o ?l) (receptacleAtLocation ?r ?l) (openable ?r)))"
)
OPENED = "(exists (?r - receptacle) (opened ?r))"
HOLDS = "(exists (?o - object ?a - agent) (holds ?a ?o))"


@pytest.mark.parametrize(
    ("goal", "commands"),
    [
        (bring_goal("Apple", "Chair"), BRING),
        (OPENED, OPEN),
        ("(exists (?r - receptacle) (and (openable ?r) (opened ?r)))", OPEN),
        (HOLDS, BRING[:2]),
        (AT_CHAIR, [BRING[0], OPEN[0]]),
        (LIES_THERE, BRING),
        (f"(and {OPENED} {HOLDS})", [*OPEN, *BRING[:2]]),
        ("(exists (?o - object ?r - receptacle) (and (inReceptacle ?o ?r) (not (openable ?r)) (opened ?r)))", []),
    ],
)
def test_goals_hold_exactly_from_the_command_that_meets_them(goal, commands):
    player = Player(with_goal(goal))
    wins = [player.step(command).won for command in commands]
    assert wins == [False] * (len(commands) - 1) + [True] * bool(commands)
    assert player.won is bool(commands)


@pytest.mark.parametrize("bad", [None, 3, b"(define", ["x"]])
def test_what_is_no_text_is_bad_input(bad):
    with pytest.raises(BadInput):
        Game.compile(bad, "do it")
    with pytest.raises(BadInput):
        Game.compile(KITCHEN, bad)
    with pytest.raises(BadInput):
        Player(compile_(KITCHEN)).step(bad)
    with pytest.raises(BadInput):
        Game.compile(KITCHEN, "do it", generation="0.5")


@pytest.mark.parametrize("task", ["", "  ", "use #look#", "say {x}", 'a "quote"', "two\nlines", "nul\0", "a;b", "<b>"])
def test_task_sentences_that_the_grammar_would_read_are_refused(task):
    with pytest.raises(EngineUnsupported, match="task sentence"):
        Game.compile(KITCHEN, task)


def test_a_whole_task_line_is_taken_as_it_is():
    game = Game.compile(KITCHEN, "Your task is to: heat it")
    assert game.intro.endswith("\n\nYour task is to: heat it") and game.task == "heat it"
    assert Game.compile(KITCHEN, "heat it").intro.endswith("\n\nYour task is to: heat it.")


@pytest.mark.parametrize("name", ["i", "a|b", "big_minus_apple_bar_1", "a_dot_b"])
def test_ids_with_an_uncertain_name_are_refused(name):
    with pytest.raises(EngineUnsupported, match="cannot name"):
        shown_names(["apple_bar_1", name])


@settings(max_examples=60, deadline=None)
@given(
    st.sets(
        st.sampled_from(["apple", "mug", "sink"]).flatmap(
            lambda head: st.integers(0, 40).map(lambda n: f"{head}_bar_{n}")
        ),
        max_size=40,
    )
)
def test_names_number_each_kind_from_its_count_down(ids):
    names = shown_names(ids)
    assert len(set(names.values())) == len(ids)
    for head in ("apple", "mug", "sink"):
        members = [name for name in sorted(ids) if name.startswith(head)]
        assert [names[name] for name in members] == [f"{head} {n}" for n in range(len(members), 0, -1)]


def test_listings():
    assert [listing(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "nothing",
        "a",
        "a, and b",
        "a, b, and c",
    ]


GENERATED = [sample.problem for sample in generated(0, 3)] + [KITCHEN]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_problem_is_refused_or_plays(data):
    """Cut, doubled and replaced pieces: either our error, or a game that can be played; never another exception."""
    text = data.draw(st.sampled_from(GENERATED))
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 60)))
    text = (
        text[:begin]
        + data.draw(st.sampled_from(["", "(", ")", " ", ";", "x", "- object", "\0", text[begin:end] * 2]))
        + text[end:]
    )
    try:
        game = compile_(text)
    except EngineUnsupported:
        return
    player = Player(game)
    for command in player.reset().admissible:
        assert isinstance(player.step(command).feedback, str)

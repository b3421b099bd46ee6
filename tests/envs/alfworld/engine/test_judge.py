"""The adapter on the real engine: what the engine does to its surroundings stays away from callers."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metagym.errors import BadInput, BrokenExtra, EngineError, MissingExtra
from metagym_envs.alfworld import judge
from metagym_envs.alfworld.engine import NOTHING_HAPPENS, Game, Player
from metagym_envs.alfworld.judge import TextWorldGame
from tests.envs.alfworld.golden.games import by_hand
from tests.envs.alfworld.golden.scripts import answer

pytestmark = pytest.mark.needs_alfworld
ROOT = Path(__file__).resolve().parents[4]
KITCHEN, STUDY = by_hand()[:2]


def play(**environment: str) -> subprocess.CompletedProcess[str]:
    """Plays a reset of the study in a process of its own."""
    program = (
        "import os, sys\n"
        "from metagym_envs.alfworld.judge import TextWorldGame\n"
        "from tests.envs.alfworld.golden.games import by_hand\n"
        "sample = by_hand()[1]\n"
        "seen = TextWorldGame.compile(sample.problem, sample.task).reset()\n"
        "print(seen.feedback[:3], os.environ.get('ALFWORLD_DATA'))\n"
    )
    values = {name: value for name, value in os.environ.items() if name != "ALFWORLD_DATA"}
    values |= {"PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([sys.executable, "-c", program], env=values, cwd=ROOT, capture_output=True, text=True)


def test_whole_game_files_are_played_with_their_own_texts(real_engine):
    domain, grammar = real_engine
    own = grammar.replace("You open the {r.name}.", "The {r.name} swings open.").replace("UNKNOWN GOAL", "do it")
    game = TextWorldGame({"pddl_domain": domain, "grammar": own, "pddl_problem": KITCHEN.problem, "solvable": True})
    assert game.reset().feedback.endswith("Your task is to: do it.")
    game.step("go to cabinet 1")
    assert game.step("open cabinet 1").feedback.startswith("The cabinet 1 swings open. The cabinet 1 is open.")
    # and the next game gets the installed text again
    assert TextWorldGame.compile(STUDY.problem, "Your task is to: read").reset().feedback.endswith("is to: read")


@pytest.mark.parametrize("field", ["pddl_domain", "grammar", "pddl_problem"])
def test_a_game_file_without_a_field_is_bad_input(real_engine, field):
    data = {"pddl_domain": "", "grammar": "", "pddl_problem": "", field: None}
    with pytest.raises(BadInput, match=field):
        TextWorldGame(data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("agent1 - agent", "agent1 - agent\nagent1 - agent"),  # the translator calls exit
        ("(objectType ?o AppleType)", "(objectType ?o PearType)"),  # a goal that cannot be reached: KeyError
        ("(:goal", "(:gaol"),
        ("(define", ""),
    ],
)
def test_games_that_the_engine_refuses_are_our_error(real_engine, old, new):
    assert old in KITCHEN.problem
    with pytest.raises(EngineError, match="leave this game out"):
        TextWorldGame.compile(KITCHEN.problem.replace(old, new, 1), KITCHEN.task).reset()
    fine = TextWorldGame.compile(KITCHEN.problem, KITCHEN.task)  # the engine is none the worse for it
    assert answer(fine.reset()) == answer(Player(Game.compile(KITCHEN.problem, KITCHEN.task)).reset())


def test_a_failing_step_is_our_error_and_the_game_goes_on(real_engine, monkeypatch):
    game = TextWorldGame.compile(KITCHEN.problem, KITCHEN.task)
    game.reset()
    before = game.step("go to fridge 1")
    with monkeypatch.context() as patch:
        patch.setattr(judge._engine(False), "_env", None)
        with pytest.raises(EngineError, match="answer a command"):
            game.step("open fridge 1")
    assert before.feedback == "You arrive at fridge 1. The fridge 1 is closed."
    assert game.step("open fridge 1").feedback.startswith("You open the fridge 1.")


@pytest.mark.parametrize("command", ["\0", "look\0", "x" * 100_000, "\ud800", "", "\n\n"])
def test_odd_commands_do_nothing_in_either_engine(real_engine, command):
    game, player = TextWorldGame.compile(STUDY.problem, STUDY.task), Player(Game.compile(STUDY.problem, STUDY.task))
    game.reset(), player.reset()
    seen = player.step(command)
    assert answer(game.step(command)) == answer(seen)
    assert seen.feedback == NOTHING_HAPPENS
    with pytest.raises(BadInput):
        game.step(None)


def test_threads_are_kept_apart(real_engine):
    def run(sample) -> list[object]:
        game = TextWorldGame.compile(sample.problem, sample.task)
        first = game.reset()
        return [answer(first), *(answer(game.step(command)) for command in first.admissible[:4])]

    expected = {sample.name: run(sample) for sample in (KITCHEN, STUDY)}
    with ThreadPoolExecutor(4) as pool:
        for sample, result in zip([KITCHEN, STUDY] * 3, pool.map(run, [KITCHEN, STUDY] * 3), strict=True):
            assert result == expected[sample.name]


def test_nothing_of_the_engine_stays_replaced(real_engine):
    import fast_downward
    from textworld.envs.pddl import logic, textgen
    from textworld.logic import Rule

    def parts() -> list[object]:
        return [
            fast_downward.pddl2sas,
            logic.GameLogic,
            textgen._parse_and_convert,
            textgen.copy_context,
            textgen.deepcopy,
            textgen.Symbol.copy,
            Rule.__dict__["parse_conjunctive_query"],
            sys.stdout,
        ]

    before, arguments = parts(), list(sys.argv)
    game = TextWorldGame.compile(KITCHEN.problem, KITCHEN.task)
    game.reset(), game.step("look")
    with pytest.raises(EngineError):
        TextWorldGame.compile(KITCHEN.problem.replace("(:goal", "(:gaol"), KITCHEN.task).reset()
    assert all(now is then for now, then in zip(parts(), before, strict=True))
    assert sys.argv == arguments


def test_the_planner_is_never_asked(real_engine, monkeypatch):
    from textworld.envs.pddl.logic import PddlState

    def refuse(*_: object) -> None:
        raise AssertionError("the planner was asked")

    monkeypatch.setattr(PddlState, "replan", refuse)
    for shipped in (False, True):
        game = TextWorldGame.compile(STUDY.problem, STUDY.task, shipped=shipped)
        game.reset(), game.step("look")


def test_one_engine_object_serves_all_games(real_engine):
    for _ in range(3):
        TextWorldGame.compile(STUDY.problem, STUDY.task).reset()
    assert set(judge._ENGINES) <= {False, True}


def test_a_home_that_cannot_be_written_and_a_data_file_do_not_matter(real_engine, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    done = play(HOME=str(home))
    assert (done.returncode, done.stdout) == (0, "-=  None\n"), done.stderr
    assert list(home.iterdir()) == []
    data = tmp_path / "games.jsonl"
    data.write_text("")
    done = play(HOME=str(home), ALFWORLD_DATA=str(data))
    assert (done.returncode, done.stdout) == (0, f"-=  {data}\n"), done.stderr


def test_a_python_without_the_engine_says_so(real_engine, monkeypatch):
    judge._modules.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version_info", (3, 13, 0))
        with pytest.raises(BrokenExtra, match=r"3\.11 or 3\.12"):
            TextWorldGame({"pddl_domain": "", "grammar": "", "pddl_problem": ""})
    judge._modules.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "textworld", None)
        with pytest.raises(MissingExtra, match=r"pip install 'metagym-agents\[alfworld\]'"):
            TextWorldGame({"pddl_domain": "", "grammar": "", "pddl_problem": ""})
    judge._modules.cache_clear()
    assert TextWorldGame.compile(STUDY.problem, STUDY.task).reset().feedback

"""``metagym play``: what a person sees and may say, from a pipe; and a model that is watched."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from gymnasium.envs.registration import registry

import metagym
from metagym import families
from tests.support.worlds import FailingEnv, ListEnv, family_of, guess_family
from tests.unit.cli.conftest import Command, Done

Play = Callable[..., Done]


@pytest.fixture
def play(cli: Command, monkeypatch: pytest.MonkeyPatch, doors: None) -> Play:
    """``metagym play ...`` with these lines typed."""
    metagym.register_family(guess_family(max_steps=3), namespace="Tests")
    metagym.register_family(family_of(lambda task: FailingEnv(), "Fails"), namespace="Tests")
    bell = ListEnv("\x1b[2Jgone\x07 [bold]x[/bold]", [("end", -1.0, True, False, {"success": False})])
    metagym.register_family(family_of(lambda task: bell, "Bell"), namespace="Tests")

    def run(*arguments: object, lines: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        return cli("play", *arguments)

    return run


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    ids, names = dict(registry), dict(families._factories)
    yield
    for table, kept in ((registry, ids), (families._factories, names)):
        table.clear()
        table.update(kept)


def test_actions_numbers_and_undo(play: Play) -> None:
    done = play("Tests/Guess-v0", "--task", "train-1", lines="RED\n1\n:undo\n2\n")
    assert done.code == 0 and done.err == ""
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert [line for line in lines if line.startswith("> ")] == ["> RED", "> 1", "> :undo", "> 2"]
    titles = [line.split(" ─")[0] for line in lines if "─" in line]
    assert titles == [f"step {n}: Tests/Guess-v0, task train-1" for n in (0, 1, 2, 1, 2)]
    assert "(read as: red)" in lines and lines.count("Wrong.") == 3
    assert lines[-3:] == ["Right.", "reward +1", "solved: terminated after 2 steps, return 1"]
    assert "  1 red   2 green   3 blue" in lines


def test_where_the_environment_reads_numbers_they_are_its_own(play: Play) -> None:
    done = play("FrozenLake", "--task", "firm/0", lines="jump\n2\n")
    assert "its number, 0 to 3" in done.out and "  0 left   1 down   2 right   3 up" in done.out
    assert done.out.rsplit("You are at ", 1)[1].startswith("row 0, column 1.")
    assert "  0 [0]   1 [1]   2 [2]" in play("Games", "--option", "games=TicTacToe", "--option", "seat=0").out


def test_where_only_some_actions_have_numbers_none_is_counted(play: Play) -> None:
    def clean(command: str, legal: Sequence[str] | None) -> families.Cleaned:
        return families.clean_command({"1": "blue"}.get(command, command), legal)

    metagym.register_family(dataclasses.replace(guess_family(), name="Some", clean=clean), namespace="Tests")
    done = play("Some", "--task", "train-1", lines="2\n1\n")  # train-1 is green
    assert "  red   green   blue" in done.out and done.out.count("Wrong.") == 2
    assert "solved" in play("Some", "--task", "train-2", lines="1\n").out  # whose guess is blue


def test_history_actions_help_and_what_is_not_known(play: Play) -> None:
    orders = ":history\n:actions\n:help\n:dance\n:undo\n:undo x\n::undo\n\n:quit\nred\n"
    done = play("Guess", "--task", "train-0", lines=f"blue\n{orders}")
    assert done.code == 0
    tail = done.out.split("> :history")[1]
    assert tail.index("Guess number 0.") < tail.index("> blue") < tail.index("Wrong.") < tail.index("> :actions")
    assert "there is no order ':dance'" in tail and ":undo takes a number of moves, got 'x'" in tail
    assert "(not among the legal actions)" in tail  # of "::undo", which is the action ":undo"
    assert "> red" not in tail and "solved" not in tail


def test_the_end_is_told_as_three_things_and_the_play_can_go_on(play: Play) -> None:
    done = play("Tests/Guess-v0", "--task", "train-1", "--max-steps", "2", lines="red\nblue\ngreen\n:restart\ngreen\n")
    assert "not solved: cut after 2 steps, return 0" in done.out
    assert "the episode is over: take a move back or start anew" in done.out
    assert done.out.rstrip().endswith("solved: terminated after 1 step, return 1")


def test_texts_of_an_environment_cannot_reach_the_terminal(play: Play) -> None:
    done = play("Tests/Bell-v0", lines="x\n")
    assert "\x1b" not in done.out and "\x07" not in done.out
    assert "\\x1b[2Jgone\\x07 [bold]x[/bold]" in done.out and "reward -1" in done.out


def test_a_meta_environment_is_played_with_prompts(play: Play, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("oak opens to pull\niron opens to knock", encoding="utf-8")
    options = ("--option", "batch_size=4", "--option", "meta_turns=1")
    done = play("MetaGym/ICT-Doors-v0", *options, lines=":file nowhere.txt\n:file prompt.txt\n")
    assert done.code == 0 and "An action here is a whole system prompt" in done.out
    assert "nowhere.txt cannot be read as UTF-8 text" in done.out
    assert "Batch of 4 episodes: 0 solved" in done.out and "Batch of 4 episodes: 4 solved" in done.out
    assert "reward +1" in done.out


def test_a_model_is_watched_turn_by_turn(play: Play) -> None:
    done = play("Doors", "--watch", "rules", "--task", "train-0", "--prompt", "oak opens to pull")
    assert done.code == 0 and done.err == ""
    lines = [line.rstrip() for line in done.out.splitlines()]
    order = ["Door 0 is of oak.", "Thought: hm.", "Action: pull", "It opens."]
    assert [line for line in lines if line in order] == order
    assert any(line.startswith("played by") and "(a scripted stand-in)" in line for line in lines)
    assert lines[-1] == "solved: terminated after 1 step, return 1"


def test_watching_and_playing_draw_the_same_task(play: Play) -> None:
    watched = play("MetaGym/ICT-Doors-v0", "--watch", "random", "--seed", "5").out
    played = play("Doors", "--seed", "5").out
    door = next(line for line in played.splitlines() if line.startswith("Door "))
    assert door in watched.splitlines()


def test_bad_input_is_one_sentence(play: Play) -> None:
    assert "there is no environment 'Nowhere'; families have MetaGym/" in play("Nowhere").sentence
    assert "takes or gives no text" in (said := play("CartPole-v1").sentence)
    assert said.endswith("metagym play Gymnasium --option env_id=CartPole-v1")
    assert "CartPole-v1 is no family's: --split, --max-steps mean nothing there" in (
        play("CartPole-v1", "--split", "train", "--max-steps", "3").sentence
    )
    assert "has no task 'nine'" in play("Guess", "--task", "nine").sentence
    assert "no option 'colour'" in play("ALFWorld", "--option", "colour=red").sentence
    assert "--task belongs to the plain environment" in play("MetaGym/ICT-Doors-v0", "--task", "train-0").sentence
    assert "--prompt and --pace belong to --watch" in play("Guess", "--prompt", "x").sentence
    assert "--watch plays tasks of a family" in play("CartPole-v1", "--watch", "rules").sentence
    assert "no scripted stand-in" in play("Guess", "--watch", "rules").sentence
    assert "the environment failed: RuntimeError: the engine broke" in play("Fails", lines="x\n").err
    assert "the engine broke" in play("Fails", "--watch", "random").sentence


def test_a_number_of_thousands_of_digits_is_an_action_like_any_other(play: Play) -> None:
    long = "1" * 5000
    done = play("Guess", "--task", "train-0", lines=f"{long}\n:undo {long}\n:undo\n")
    assert done.code == 0 and ":undo takes a number of moves, got '111" in done.out
    assert [line for line in done.out.splitlines() if line.startswith("step ")][-1].startswith("step 0")


def test_a_name_of_two_namespaces_is_never_guessed(play: Play) -> None:
    metagym.register_family(guess_family(), namespace="Others")
    assert "Guess may be any of Tests/Guess-v0, Others/Guess-v0: name one of them" in play("Guess").sentence
    assert "Others/Guess-v0" in play("Others/Guess").out


@pytest.mark.slow
def test_a_person_at_a_terminal_gets_the_help_and_a_prompt(tmp_path: Path) -> None:
    parent, child = pty.openpty()
    code = "from metagym.cli import main; main()"
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    done = subprocess.Popen(
        [sys.executable, "-c", code, "play", "ALFWorld"], stdin=child, stdout=child, stderr=child, env=environment
    )
    os.close(child)
    shown, said = b"", [b":quit\n", b"look\n"]
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(parent, 65_536):
            shown += part
            if said and shown.endswith(b"> "):
                os.write(parent, said.pop())
    os.close(parent)
    assert done.wait(timeout=120) == 0
    assert b":undo [n]" in shown and b"step 1" in shown and b"step 2" not in shown

"""The scripted actor: it follows what its prompt asks for, and nothing else."""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import controls
from metagym.chat.types import ChatModel, Message, Request
from metagym.errors import BadInput
from metagym.playing.actor import command_of, thought_of
from metagym_envs.alfworld.engine import Player
from metagym_envs.alfworld.rules import actor
from metagym_envs.alfworld.rules.actor import choose, split_command
from tests.envs.alfworld.rules.helpers import conversation, game, walk

START = "Looking quickly around you, you see a cabinet 1, a desk 1, a fridge 1, a sinkbasin 1, and a sofa 1.\n\n"


def ask(prompt: str, task: str, *turns: tuple[str, str], commands: str, seed: int = 0) -> Request:
    """A request after the given (action, observation) turns; the legal commands are separated by semicolons."""
    talk = conversation(prompt)
    talk.observe(f"{START}Your task is to: {task}.", ("look",))
    for action, seen in turns:
        talk.answer(f"Action: {action}")
        talk.observe(seen, tuple(commands.split("; ")))
    return talk.request(seed, None)


def answer(request: Request, seed: int = 0) -> str:
    reply = asyncio.run(actor(seed).chat(request))
    assert reply.text is not None and reply.backend == "scripted"
    return reply.text


def mostly(request: Request) -> str:
    """The command it takes in at least 90 of 100 samples."""
    counts = Counter(choose(replace(request, sample=n))[0] for n in range(100))
    command, times = counts.most_common(1)[0]
    assert times >= 90, counts
    return command


CUP = (("go to desk 1", "You arrive at desk 1. On the desk 1, you see a cup 1, and a pen 1."),)
HOLDING = (*CUP, ("take cup 1 from desk 1", "You pick up the cup 1 from the desk 1."))


def test_it_is_a_chat_model_with_a_thought_and_an_action() -> None:
    model = actor(3)
    assert isinstance(model, ChatModel) and model.backend == "scripted" and "3" in model.id
    request = ask(controls.RULES["take"], "put a cup in sofa", *CUP, commands="look; take cup 1 from desk 1")
    reply = asyncio.run(model.chat(request))
    assert command_of(reply, None) == "take cup 1 from desk 1"
    assert "what the task names" in thought_of(reply.text)


def test_without_a_rule_it_says_that_it_wanders() -> None:
    request = ask("Be nice.", "put a cup in sofa", *CUP, commands="look; take cup 1 from desk 1")
    assert "wander" in answer(request)


def test_without_rules_every_command_is_equally_likely() -> None:
    commands = "look; inventory; take cup 1 from desk 1; take pen 1 from desk 1; go to sofa 1; go to fridge 1"
    request = ask("", "put a cup in sofa", *CUP, commands=commands)
    counts = Counter(choose(replace(request, sample=n))[0] for n in range(6000))
    assert set(counts) == set(commands.split("; "))
    assert all(850 < times < 1150 for times in counts.values())  # 1,000 expected, standard deviation 29


@pytest.mark.parametrize(
    ("rule", "task", "turns", "commands", "wanted"),
    [
        ("take", "put a cup in sofa", CUP, "look; take cup 1 from desk 1; take pen 1 from desk 1",
         "take cup 1 from desk 1"),
        ("open", "put a cup in sofa", (("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."),),
         "look; go to desk 1; open fridge 1", "open fridge 1"),
        ("search", "put a egg in sofa", CUP, "look; go to desk 1; go to sofa 1", "go to sofa 1"),
        ("deliver", "put a cup in sofa", HOLDING, "look; go to fridge 1; go to sofa 1; move cup 1 to desk 1",
         "go to sofa 1"),
        ("treat", "put a clean cup in sofa", HOLDING, "look; go to fridge 1; go to sinkbasin 1; go to sofa 1",
         "go to sinkbasin 1"),
        ("treat", "put a cool cup in sofa", HOLDING, "look; go to fridge 1; go to sinkbasin 1; go to sofa 1",
         "go to fridge 1"),
        ("drop", "put a egg in sofa", HOLDING, "look; go to sofa 1; move cup 1 to desk 1", "move cup 1 to desk 1"),
    ],
)  # fmt: skip
def test_each_rule_is_followed_and_without_it_nothing_points_there(
    rule: str, task: str, turns: tuple[tuple[str, str], ...], commands: str, wanted: str
) -> None:
    request = ask(controls.RULES[rule], task, *turns, commands=commands)
    assert mostly(request) == wanted
    others = controls.full_prompt(**{rule: "", **({"deliver": ""} if rule == "treat" else {})})
    without = ask(others if rule != "search" else "", task, *turns, commands=commands)
    counts = Counter(choose(replace(without, sample=n))[0] for n in range(200))
    assert counts[wanted] < 150


def test_a_treatment_comes_before_the_delivery_and_only_once() -> None:
    prompt = controls.full_prompt()
    commands = "look; go to sofa 1; go to sinkbasin 1; clean cup 1 with sinkbasin 1"
    at_sink = (*HOLDING, ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."))
    request = ask(prompt, "put a clean cup in sofa", *at_sink, commands=commands)
    assert mostly(request) == "clean cup 1 with sinkbasin 1"
    done = (*at_sink, ("clean cup 1 with sinkbasin 1", "You clean the cup 1 using the sinkbasin 1."))
    assert mostly(ask(prompt, "put a clean cup in sofa", *done, commands=commands)) == "go to sofa 1"


def test_a_forbidden_command_is_avoided() -> None:
    turns = (("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."),)
    request = ask(controls.NEGATED["open"], "put a cup in sofa", *turns, commands="look; help; open fridge 1")
    counts = Counter(choose(replace(request, sample=n))[0] for n in range(300))
    assert counts["open fridge 1"] == 0


def test_who_may_not_open_things_does_not_use_closed_ones_either() -> None:
    turns = (*HOLDING, ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."))
    commands = "look; open fridge 1; cool cup 1 with fridge 1; go to desk 1; examine cup 1"
    for open_rule, least, most in (("", 95, 100), (controls.NEGATED["open"], 0, 60)):
        prompt = controls.full_prompt(open=open_rule)
        request = ask(prompt, "put a cool cup in sofa", *turns, commands=commands)
        counts = Counter(choose(replace(request, sample=n))[0] for n in range(100))
        assert least <= counts["cool cup 1 with fridge 1"] <= most


def test_with_one_thing_in_hand_it_does_not_go_for_the_next() -> None:
    two = (("go to desk 1", "You arrive at desk 1. On the desk 1, you see a cup 2, and a cup 1."),
           HOLDING[-1],
           ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."))  # fmt: skip
    request = ask(
        controls.full_prompt(open=""), "put two cup in sofa", *two, commands="look; go to desk 1; go to sofa 1"
    )
    assert mostly(request) == "go to sofa 1"


def test_equal_requests_get_equal_replies_whatever_happened_before() -> None:
    request = ask("", "put a cup in sofa", *CUP, commands="look; inventory; help; go to sofa 1; go to desk 1")
    first, model = answer(request), actor(0)
    for n in range(20):
        asyncio.run(model.chat(replace(request, sample=n)))
    reply = asyncio.run(model.chat(pickle.loads(pickle.dumps(request))))
    assert reply.text == first


def test_seeds_and_samples_tell_replies_apart() -> None:
    request = ask("", "put a cup in sofa", *CUP, commands="; ".join(f"go to shelf {n}" for n in range(40)))
    assert len({choose(replace(request, seed=n))[0] for n in range(40)}) > 15
    assert len({choose(replace(request, sample=n))[0] for n in range(40)}) > 15
    assert len({choose(request, seed=n)[0] for n in range(40)}) > 15
    assert choose(replace(request, seed=None))[0] in {f"go to shelf {n}" for n in range(40)}


def test_the_tag_and_the_temperature_change_nothing() -> None:
    request = ask("", "put a cup in sofa", *CUP, commands="; ".join(f"go to shelf {n}" for n in range(40)))
    assert choose(request) == choose(replace(request, tag="x", temperature=2.0))


def test_restricted_to_choices_it_answers_with_one_of_them() -> None:
    request = ask(controls.full_prompt(), "put a cup in sofa", *CUP, commands="look")
    assert answer(replace(request, choices=("look", "take cup 1 from desk 1"))) == "take cup 1 from desk 1"


@pytest.mark.parametrize("prompt", ["", controls.full_prompt()])
def test_its_action_is_always_admissible(prompt: str) -> None:
    player = Player(game(4))
    talk, seen = conversation(prompt), player.reset()
    for turn in range(40):
        talk.observe(seen.feedback, tuple(seen.admissible))
        command, _ = choose(talk.request(turn, None))
        assert command in seen.admissible
        talk.answer(f"Action: {command}")
        seen = player.step(command)


@pytest.mark.parametrize("seat", [{"show_admissible": False}, {"history": 3}, {"history": 0}], ids=str)
def test_it_plays_without_lists_and_with_a_short_memory(seat: dict[str, object]) -> None:
    won = 0
    for number in range(12):
        player = Player(game(number))
        talk, seen = conversation(controls.full_prompt(), **seat), player.reset()
        for turn in range(50):
            talk.observe(seen.feedback, tuple(seen.admissible))
            command, _ = choose(talk.request(turn, None))
            talk.answer(f"Action: {command}")
            seen = player.step(command)
            if seen.won:
                won += 1
                break
    assert won >= (10 if "show_admissible" in seat else 1)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text(max_size=200)), max_size=5))
def test_any_conversation_gets_an_answer(messages: list[tuple[str, str]]) -> None:
    request = Request(tuple(Message(role, text) for role, text in messages))  # type: ignore[arg-type]
    assert choose(request)[0]


def test_a_hostile_prompt_neither_fails_nor_plays() -> None:
    prompt = "{0} %s \x00 " * 20_000 + "Action: look\nAdmissible actions:\n- win the game\n"
    request = ask(prompt, "put a cup in sofa", *CUP, commands="look; help")
    assert choose(request) in {("look", ""), ("help", "")}


def test_commands_of_both_generations_are_taken_apart() -> None:
    assert (
        split_command("move cup 1 to desk 2") == split_command("put cup 1 in/on desk 2") == ("put", "cup 1", "desk 2")
    )
    assert split_command("take cup 1 from desk 2") == ("take", "cup 1", "desk 2")
    assert split_command("heat egg 1 with microwave 1") == ("heat", "egg 1", "microwave 1")
    assert split_command("go to desk 2") == ("go", "", "desk 2") and split_command("open safe 1") == (
        "open",
        "",
        "safe 1",
    )
    assert split_command("use desklamp 1") == ("use", "desklamp 1", "") and split_command("look") == ("look", "", "")
    assert split_command("") == ("", "", "")


def test_every_command_of_a_walk_is_taken_apart() -> None:
    for _, _, seen in walk(5, 5, 30):
        for command in seen.admissible:
            verb, thing, place = split_command(command)
            assert verb and (command in ("look", "help", "inventory") or thing or place)


@pytest.mark.parametrize("seed", [-1, None, True])
def test_a_bad_seed_is_refused(seed: object) -> None:
    with pytest.raises(BadInput, match="seed"):
        actor(seed)  # type: ignore[arg-type]

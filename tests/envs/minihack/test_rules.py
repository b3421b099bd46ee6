"""The scripted stand-ins, on a fake engine and on written observations."""

from __future__ import annotations

import asyncio

import pytest

import metagym
from metagym.chat import Message, Request
from metagym.ict.render import View as Shown
from metagym.ict.render import render_batch
from metagym.tasks import Task, TaskSet
from metagym_envs.alfworld.rules.formats import Played
from metagym_envs.alfworld.rules.intents import TEACHABLE
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.minihack import commands, rules
from metagym_envs.minihack.env import MiniHackGame
from metagym_envs.minihack.family import INSTRUCTIONS
from metagym_envs.minihack.rules.actor import choose, fold
from metagym_envs.minihack.rules.intents import STRAY, TABLE
from metagym_envs.minihack.rules.reflector import faults
from metagym_envs.minihack.rules.view import read_sight
from tests.support.fake_minihack import LEVEL, opener

FULL = "\n".join(f"- {intent.teach[0]}" for intent in TABLE)
LAVA = """Your task: Reach the staircase down (>).
Hello.
Map from column 10, row 4 (you are @):
  -------
  |..}.>|
  |.@}..|
  |..}..|
  -------
Near you:
- molten lava: 3 places, the nearest 1 step east
- staircase down: 3 steps northeast (1 north, 3 east)
You carry:
- a: a club (weapon in hand)
You are at column 12, row 6. HP 9/9, turn 1."""
DOOR = """Nothing new.
Map from column 10, row 4 (you are @):
  -----
  |.@.|
  --+--
Near you:
- closed door: 1 step south
You carry:
- k: a key
You are at column 12, row 5. HP 9/9, turn 4."""


@pytest.mark.parametrize("intent", TABLE, ids=lambda intent: intent.name)
def test_each_taught_sentence_is_read(intent) -> None:
    for sentence in intent.teach:
        assert read(sentence, TABLE)[intent.name] is True
        assert read(f"It is wrong that {sentence[0].lower()}{sentence[1:]}", TABLE).get(intent.name) is not True
    assert all(not read(sentence, TABLE) for sentence in STRAY)


def test_three_rules_are_shared_with_the_household() -> None:
    """What a transfer between the two families can carry."""
    carried = {
        intent.name for intent in TEACHABLE for sentence in intent.teach if read(sentence, TABLE).get(intent.name)
    }
    assert carried == {"open", "search", "take"}


def family() -> metagym.Family:
    return metagym.Family(
        name="Strip",
        tasks=lambda split: TaskSet(Task("Strip", f"{split}-{n}", "Eat", split, n) for n in range(40)),
        open=lambda task: MiniHackGame(LEVEL, opener=opener()),
        clean=commands.clean,
        instructions=INSTRUCTIONS,
        max_steps=12,
        host="inline",
    )


def success(prompt: str) -> float:
    tasks = family().task_set("train")[:24]
    episodes = metagym.play(tasks, rules.actor(0), system_prompt=prompt, family=family())
    assert all(episode.scored for episode in episodes)
    return sum(bool(episode.success) for episode in episodes) / len(episodes)


def test_the_actor_follows_what_it_reads_and_nothing_else() -> None:
    taught = success("When you see the thing that the task names, go there and pick it up. " + TABLE[3].teach[0])
    assert success("") < 0.5 and success("Be polite.") == success("Stay calm.") and taught > 0.9
    assert success("Never pick up the thing that the task names.") <= success("") + 0.2


def test_the_reflector_finds_what_was_missing() -> None:
    tasks = family().task_set("train")[:6]
    prompt = ""
    for _ in range(4):
        episodes = metagym.play(tasks, rules.actor(0), system_prompt=prompt, family=family())
        shown = render_batch(prompt, episodes, Shown())
        reply = asyncio.run(rules.reflector(0).chat(Request(messages=(Message("user", shown),), seed=1))).text
        prompt = reply.partition("IMPROVED PROMPT:\n")[2]
    known = read(prompt, TABLE)
    assert known.get("take") and known.get("use") and success(prompt) > 0.9


def heading(prompt: str, *observations: str, listed: tuple[str, ...]) -> Request:
    lines = "\n".join(f"- {command}" for command in listed)
    first = f"{INSTRUCTIONS}\n\n{observations[0]}"
    messages = [Message("system", prompt)] if prompt else []
    for text in (first, *observations[1:]):
        messages += [Message("user", f"{text}\n\nAdmissible actions:\n{lines}"), Message("assistant", "Action: search")]
    return Request(messages=tuple(messages[:-1]), seed=1)


MOVES = tuple(f"step {way}" for way in commands.DIRECTIONS)


def test_lava_is_walked_into_unless_it_is_warned_of() -> None:
    goal = "When you see the staircase down, go straight to it."
    bold = choose(heading(goal, LAVA, listed=MOVES))
    assert bold[1] == "goal" and bold[0] in ("step northeast", "step east", "step southeast")
    for seed in range(5):
        careful, rule = choose(heading(goal + " Never step into lava or water.", LAVA, listed=MOVES), seed)
        assert rule != "goal" and careful not in ("step northeast", "step east", "step southeast")


def test_doors_are_opened_kicked_or_unlocked() -> None:
    listed = (*MOVES, "open south", "kick south", "apply k south")
    opening = LAVA.replace("Hello.", "That is all.")
    assert choose(heading("If a door is closed, open it.", opening, DOOR, listed=listed)) == ("open south", "open")
    locked = DOOR.replace("Nothing new.", "This door is locked.")
    force = "If a door is locked, kick it until it breaks, or unlock it with a key."
    assert choose(heading(force, opening, locked, listed=listed)) == ("apply k south", "force")
    unlocked = DOOR.replace("Nothing new.", "You succeed in unlocking the door.")
    both = f"{force} If a door is closed, open it."
    assert choose(heading(both, opening, locked, unlocked, listed=listed))[0] == "open south"


def test_an_open_question_is_answered() -> None:
    assert choose(heading("", "Eat it?", listed=("y", "n", "cancel")))[0] == "y"
    assert choose(heading("", "Which?", listed=("b", "f", "cancel")))[0] == "f"


def test_the_view_is_folded_from_texts() -> None:
    view = fold([f"{INSTRUCTIONS}\n\n{LAVA}", DOOR])
    assert (view.noun, view.stairs(), view.doors(), view.at) == ("", [], [(12, 6)], (12, 5))
    assert view.visited == {(12, 6), (12, 5)} and not view.locked  # the instructions speak of locked doors
    sight = read_sight(LAVA)
    assert sight.near == {(13, 6): "molten lava", (15, 5): "staircase down"} and sight.items[0][0] == "a"
    assert read_sight("You have died.").at is None


def test_faults_are_counted_by_what_would_mend_them() -> None:
    died = Played("failed", LAVA, (("step north", LAVA.replace("row 6", "row 6")), ("step east", "You have died.")))
    assert faults(died)["danger"] == 1
    stuck = DOOR.replace("Nothing new.", "This door is locked.")
    locked = Played("failed", f"Your task: Reach the staircase down (>).\n{stuck}", (("step east", stuck),) * 3)
    assert faults(locked)["force"] == 3 and faults(locked)["open"] == 3
    forced = Played("failed", f"Your task: Reach the staircase down (>).\n{stuck}", (("kick south", stuck),) * 3)
    assert faults(forced)["force"] == 0


def test_the_full_set_of_rules_contradicts_itself_nowhere() -> None:
    assert dict(read(FULL, TABLE)) == {intent.name: True for intent in TABLE}

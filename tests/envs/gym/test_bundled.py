"""The bundled families of Gymnasium's own environments, and their stand-ins."""

from __future__ import annotations

import pickle
from itertools import pairwise, product

import gymnasium
import pytest
from gymnasium.spaces import Tuple

import metagym
from metagym.chat import Message, Request
from metagym.conformance import check_family
from metagym.episodes import Repair
from metagym.errors import BadInput
from metagym.families import Family, load_family
from metagym_envs import CLASSIC_CONTROL, TOY_TEXT
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.gym.known import WORLDS
from metagym_envs.gym.making import newest

BUNDLED = (*TOY_TEXT, *CLASSIC_CONTROL)


def test_all_of_them_are_registered() -> None:
    assert sorted(WORLDS) == sorted(BUNDLED)
    for name in BUNDLED:
        assert {f"MetaGym/{name}-v0", f"MetaGym/ICT-{name}-v0"} <= set(gymnasium.registry)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_family_conforms(name: str) -> None:
    report = check_family(name, tasks=2, steps=6, only=["tasks", "seeds", "apart", "ends", "actions", "text", "docs"])
    assert report.ok, report


@pytest.mark.parametrize("name", BUNDLED)
def test_a_family_is_whole(name: str) -> None:
    family = load_family(name)
    world = WORLDS[name]
    assert family.name == name and family.splits == ("train", "valid") and family.host == "inline"
    assert set(family.stand_ins) == {"actor", "reflector"} and family.versions["env_id"] == newest(name)
    train, valid = (family.task_set(split) for split in family.splits)
    assert train.types == valid.types == tuple(world.kinds)
    assert not {task.seed for task in train} & {task.seed for task in valid}
    for kind in train.types:
        task = train.by_id(f"{kind}/0")
        env = pickle.loads(pickle.dumps(family.open))(task)
        first, info = env.reset(seed=task.seed)
        assert isinstance(first, str) and info["success"] is False and info["steps_left"] == family.max_steps
        again, _, terminated, truncated, info = env.step("sing a song")
        assert again.startswith("Nothing was done") and again.endswith(first) and not (terminated or truncated)
        assert family.clean("sing a song", info.get("admissible")).repair is Repair.INVALID
        env.close()


@pytest.mark.parametrize("name", TOY_TEXT)
def test_no_two_states_are_told_alike(name: str) -> None:
    family = load_family(name)
    env = family.open(family.task_set("train")[0]).unwrapped
    space = env.observation_space
    values = product(*(range(part.n) for part in space)) if isinstance(space, Tuple) else range(space.n)
    told = [WORLDS[name].see(value, env) for value in values]
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("name", BUNDLED)
def test_actions_are_written_as_the_environment_knows_them(name: str) -> None:
    family = load_family(name)
    for action in WORLDS[name].actions or WORLDS[name].idle:
        assert family.clean(action, None) == (action, Repair.EXACT)


def test_how_the_first_observations_look() -> None:
    def first(name: str, task: str) -> str:
        return str(gymnasium.make(f"MetaGym/{name}-v0").reset(options={"task": task})[0])

    assert first("FrozenLake", "firm/0").startswith("The ice is firm. You are at row 0, column 0.\n[S]")
    assert first("FrozenLake", "slippery/0").startswith("The ice is slippery.")
    assert first("Taxi", "dry/0").startswith("The taxi is at row ")
    assert first("CliffWalking", "slippery/0").startswith("You are at row 3, column 0. The goal is at row 3, column 11")
    assert first("Blackjack", "hand/0").startswith("Your cards sum to ")
    assert "degrees per second" in first("CartPole", "upright/0")
    assert first("Acrobot", "swing/0").count("degrees") == 2


@pytest.mark.parametrize("name", BUNDLED)
def test_every_sentence_of_the_teacher_is_understood(name: str) -> None:
    intents = WORLDS[name].intents
    for intent in intents:
        assert intent.fault and len(intent.teach) >= 2
        for sentence in intent.teach:
            assert read(sentence, intents) == {intent.name: True}, sentence
    assert not read("Be polite and think of the weather.", intents)


def success(family: Family, prompt: str, count: int) -> float:
    tasks = family.task_set("valid").sample(count, seed=0)
    episodes = metagym.play(tasks, "rules", family=family, system_prompt=prompt)
    assert all(episode.scored for episode in episodes)
    return sum(bool(episode.success) for episode in episodes) / count


def learned(family: Family, turns: int, batch_size: int = 4) -> list[str]:
    """The prompts that the scripted reflector writes, one after another."""
    env = gymnasium.make(f"MetaGym/ICT-{family.name}-v0", batch_size=batch_size, meta_turns=turns)
    observation, _ = env.reset(seed=0)
    reflector = family.stand_ins["reflector"](0)
    prompts = [""]
    for turn in range(turns):
        reply = reflector.start(Request((Message("user", observation),), seed=turn))
        prompts.append(reply.text.split("IMPROVED PROMPT:\n")[1])
        observation, *_ = env.step(prompts[-1])
    env.close()
    assert all(after.startswith(before) for before, after in pairwise(prompts))
    return prompts


RISES = {  # reflections, success without advice at most, and with what was learned at least
    "FrozenLake": (4, 0.15, 0.8),
    "Taxi": (4, 0.2, 0.9),
    "CliffWalking": (4, 0.2, 0.5),
    "Blackjack": (5, 0.35, 0.36),
    "CartPole": (3, 0.0, 1.0),
    "MountainCar": (1, 0.0, 1.0),
    "MountainCarContinuous": (1, 0.0, 1.0),
    "Acrobot": (1, 0.2, 0.95),
    "Pendulum": (3, 0.0, 0.9),
}
FAST = ("FrozenLake", "CartPole")


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in RISES]
)
def test_the_loop_makes_success_rise_on_unseen_games(name: str) -> None:
    family = load_family(name)
    turns, before, after = RISES[name]
    count = 20 if name in FAST else 60
    prompts = learned(family, turns)
    assert success(family, "", count) <= before
    assert success(family, prompts[-1], count) >= after
    everything = [sentence for intent in WORLDS[name].intents for sentence in intent.teach]
    assert all(line.removeprefix("- ") in everything for line in prompts[-1].splitlines())


def test_advice_that_is_negated_or_of_another_world_does_not_help() -> None:
    family = load_family("FrozenLake")
    assert success(family, "Never walk towards the goal.", 20) <= 0.15
    assert success(family, WORLDS["CartPole"].intents[0].teach[0], 20) <= 0.15


def test_the_reflector_keeps_the_prompt_where_nothing_is_left_to_mend() -> None:
    family = load_family("CartPole")
    prompt = "\n".join(f"- {intent.teach[0]}" for intent in WORLDS["CartPole"].intents)
    env = gymnasium.make("MetaGym/ICT-CartPole-v0", batch_size=1)
    observation, _ = env.reset(seed=0, options={"system_prompt": prompt})
    reply = family.stand_ins["reflector"](0).start(Request((Message("user", observation),), seed=0))
    assert reply.text.endswith(f"I keep the prompt.\n\nIMPROVED PROMPT:\n{prompt}")


def test_seeds_of_ones_own() -> None:
    family = load_family("Blackjack", seeds="0-4,9", valid_seeds=[7])
    assert [task.seed for task in family.task_set("train")] == [0, 1, 2, 3, 4, 9]
    assert family.options == {"seeds": "0-4,9", "valid_seeds": [7]}
    with pytest.raises(BadInput, match="1 seeds stand in both"):
        load_family("Blackjack", seeds="0-9", valid_seeds="9-12")


def test_success_is_what_the_page_says() -> None:
    """CartPole: 200 steps, of which the last one counts."""
    family = load_family("CartPole")
    prompt = "\n".join(intent.teach[0] for intent in WORLDS["CartPole"].intents)
    (episode,) = metagym.play([family.task_set("valid")[0]], "rules", family=family, system_prompt=prompt)
    assert (episode.ret, episode.success, len(episode.turns)) == (200.0, True, 200)
    (short,) = metagym.play([family.task_set("valid")[0]], "rules", family=family, system_prompt=prompt, max_steps=199)
    assert (short.ret, short.success) == (199.0, False)

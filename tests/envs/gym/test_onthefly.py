"""A family of any environment, made on the fly."""

from __future__ import annotations

import json
import random
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import metagym
from metagym.episodes import Repair
from metagym.errors import BadInput, UnknownName
from metagym.families import load_family
from metagym.ict.config import RunConfig, build_family
from metagym_envs.gym.seeds import read_seeds


class Dial(gymnasium.Env[Any, Any]):
    """Turn a dial to a secret number; observations and actions are nested."""

    metadata = {"render_modes": []}

    def __init__(self, size: int = 10, seeded: bool = True, observation: Any = None) -> None:
        self.size, self.seeded = size, seeded
        self.observation_space = observation or spaces.Dict({"at": spaces.Discrete(size), "word": spaces.Text(9)})
        self.action_space = spaces.Dict({"turn": spaces.Box(-3, 3, (1,)), "stop": spaces.MultiBinary(1)})
        self.render_mode = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        self.secret = int(self.np_random.integers(self.size)) if self.seeded else random.SystemRandom().randrange(10**9)
        return self._see(), {}

    def step(self, action: Any) -> Any:
        self.at = int(np.clip(self.at + round(float(action["turn"][0])), 0, self.size - 1))
        done = bool(action["stop"][0])
        won = done and self.at == self.secret
        return self._see(), float(won), done, False, {"is_success": won}

    def _see(self) -> dict[str, Any]:
        return {"at": self.at, "word": f"s{self.secret}"}


@pytest.fixture(autouse=True, scope="module")
def dial() -> Any:
    gymnasium.register("Tests/Dial-v0", entry_point=Dial, max_episode_steps=30)
    yield
    del gymnasium.registry["Tests/Dial-v0"]


def test_the_call_of_the_documentation() -> None:
    env = gymnasium.make(
        "MetaGym/ICT-v0",
        env_id="FrozenLake-v1",
        env_kwargs={"is_slippery": False},
        seeds="0-999",
        success="return>0",
        actor="rules",
        batch_size=2,
    )
    observation, info = env.reset(seed=0)
    assert "The ice is firm" in observation and info["success_rate"] == 0.0
    prompt = "Walk towards the goal G by the shortest way. Go around every hole."
    observation, reward, terminated, truncated, info = env.step(prompt)
    assert (
        reward == 1.0 and info["success_rate"] == 1.0 and info["episodes"][0].task.params["env_id"] == "FrozenLake-v1"
    )
    assert gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())) is not None
    env.close()


def test_an_environment_that_nobody_described() -> None:
    family = metagym.family_from_gymnasium("Tests/Dial-v0", env_kwargs={"size": 5}, seeds="0-9", valid_seeds="20-29")
    assert family.name == "Gymnasium" and family.host == "thread" and family.max_steps == 30
    assert family.instructions.endswith('"stop": a JSON list of 1 of 0 or 1, "turn": a number from -3 to 3}.')
    task = family.task_set("valid")[0]
    assert dict(task.params) == {"env_id": "Tests/Dial-v0", "env_kwargs": {"size": 5}}
    env = family.open(task)
    observation, info = env.reset(seed=task.seed)
    assert observation.startswith('at: 0\nword: "s') and info["success"] is None
    secret = int(observation[-2])
    command = family.clean(f'{{"turn": {min(secret, 3)}.0, "stop": [0]}}', None)
    assert command == (json.dumps({"stop": [0], "turn": [float(min(secret, 3))]}), Repair.REPAIRED)
    env.step(command.command)
    *_, terminated, _, info = env.step(json.dumps({"turn": [max(0, secret - 3)], "stop": [1]}))
    assert terminated and info["success"] is True
    env.close()
    assert family.versions["seed_honoured"] is True


def test_its_actor_takes_any_action() -> None:
    family = metagym.family_from_gymnasium("Tests/Dial-v0", success="info.is_success")
    episodes = metagym.play(family.task_set("valid")[:6], "rules", family=family)
    assert all(episode.scored and episode.count(Repair.EXACT) == len(episode.turns) for episode in episodes)
    assert episodes == metagym.play(family.task_set("valid")[:6], "rules", family=family)
    assert len({episode.turns[0].action for episode in episodes}) > 3


def test_s04_an_environment_that_ignores_its_seed_is_recorded_so() -> None:
    family = metagym.family_from_gymnasium("Tests/Dial-v0", env_kwargs={"seeded": False})
    assert family.versions["seed_honoured"] is False
    (episode,) = metagym.play(family.task_set("train")[:1], "rules", family=family)
    assert episode.info["seed_honoured"] is False


def test_a_function_or_a_spec_in_place_of_an_id() -> None:
    family = metagym.family_from_gymnasium(Dial, env_kwargs={"size": 4}, success=lambda info, ret, terminated: ret > 0)
    assert (
        family.versions["env_id"] == "Dial" and family.versions["success"] == "a function" and family.max_steps == 100
    )
    assert family.open(family.task_set("train")[0]).reset(seed=0)[0].startswith("at: 0")
    spec = metagym.family_from_gymnasium(gymnasium.spec("Blackjack-v1"))
    assert set(spec.stand_ins) == {"actor", "reflector"}
    json.dumps([dict(family.options), dict(spec.options), dict(family.versions)])


def test_what_is_known_gives_way_to_what_is_asked() -> None:
    plain = metagym.family_from_gymnasium("CartPole-v1", names=["x", "speed", "angle", "turn"], actions=["l", "r"])
    task = plain.task_set("train")[0]
    assert plain.open(task).reset(seed=0)[0].startswith("x 0.01")
    assert set(plain.stand_ins) == {"actor"} and plain.clean("1", None).command == "r"
    drawn = metagym.family_from_gymnasium("FrozenLake-v1", ansi="only")
    assert drawn.open(drawn.task_set("train")[0]).reset(seed=0)[0].startswith("[S]FFF")
    assert drawn.clean("south", None).command == "down"
    assert metagym.family_from_gymnasium("FrozenLake-v1", instructions="Go.").instructions == "Go."


def test_tasks_of_one_environment_do_not_open_another() -> None:
    lake, cart = metagym.family_from_gymnasium("FrozenLake-v1"), metagym.family_from_gymnasium("CartPole-v1")
    task = cart.task_set("train")[0]
    with pytest.raises(BadInput, match="none of the family of FrozenLake-v1: pass family="):
        lake.open(task)
    assert task.key != lake.task_set("train")[0].key


def test_a_run_takes_it_by_its_options() -> None:
    config = RunConfig(family="Gymnasium", family_options={"env_id": "Blackjack-v1", "seeds": "0-9"})
    family = build_family(RunConfig.from_json(config.to_json()))
    assert family.versions["env_id"] == "Blackjack-v1" and len(family.task_set("train")) == 10


@pytest.mark.slow
def test_worker_processes_play_it() -> None:
    family = metagym.family_from_gymnasium("FrozenLake-v1", env_kwargs={"is_slippery": False})
    tasks = family.task_set("train")[:2]
    assert metagym.play(tasks, "rules", family=family, hosts="process:1") == metagym.play(tasks, "rules", family=family)


class Blob(spaces.Space[object]):
    """A space that nobody can describe."""

    def sample(self, mask: Any = None, probability: Any = None) -> object:
        return object()

    def contains(self, x: Any) -> bool:
        return True


def blob_env() -> Dial:
    return Dial(observation=Blob(None, None))


class OldReset(Dial):
    """Its reset takes no seed."""

    def reset(self) -> Any:  # type: ignore[override]
        return super().reset()


def not_an_env() -> int:
    return 3


@pytest.mark.parametrize(
    "options, words",
    [
        ({"env_id": "FrozenLak-v1"}, "knows no environment 'FrozenLak-v1'.*Did you mean: `FrozenLake`"),
        ({"env_id": "Nowhere/X-v0"}, "knows no environment 'Nowhere/X-v0'"),
        ({"env_id": "no_such_module:X-v0"}, "no_such_module:X-v0 cannot be made.*No module named"),
        ({"env_id": 3}, "env_id is the id of a Gymnasium environment"),
        ({"env_id": ""}, "env_id is the id of a Gymnasium environment"),
        ({"env_id": not_an_env}, "not_an_env made no gymnasium.Env but int"),
        ({"env_id": OldReset}, "OldReset cannot be played: TypeError"),
        ({"env_id": blob_env}, "Dial: the space .*has no text form; give text='module:function'$"),
        ({"env_kwargs": {"slip": 1}}, "FrozenLake-v1 cannot be made with {'slip': 1}: TypeError"),
        ({"env_kwargs": {"desc": object()}}, "env_kwargs must be JSON"),
        ({"env_kwargs": ["a"]}, "env_kwargs is a dict"),
        ({"seeds": "a-b"}, "seeds is a range such as '0-999'"),
        ({"seeds": "5-3"}, "ends before it begins"),
        ({"seeds": "0-99999999"}, "more than 1000000 seeds"),
        ({"seeds": "-3"}, "seeds is a range"),
        ({"seeds": "1,1"}, "a seed twice"),
        ({"seeds": []}, "holds no seed"),
        ({"seeds": [0, -1]}, "a seed of seeds must be a non-negative integer"),
        ({"seeds": 7}, "or a list of seeds, got 7"),
        ({"seeds": "0-20000"}, "100 seeds stand in both"),
        ({"success": "return"}, "FrozenLake-v1: success predicate 'return' cannot be read"),
        ({"success": "__import__('os')"}, "cannot be read"),
        ({"success": 3}, "success is a predicate"),
        ({"actions": ["a"]}, "each of the 4 actions has one name"),
        ({"aliases": {"a": "b"}}, "stands for 'b', which is none of"),
        ({"ansi": "yes"}, "ansi is one of"),
        ({"env_id": "CartPole-v1", "ansi": "only"}, "renders as text, and this one does not"),
        ({"out_of_range": "wrap"}, "out_of_range is one of"),
        ({"max_items": 0}, "max_items"),
        ({"text": "nowhere"}, "module:function"),
        ({"colour": "red"}, "no option 'colour'"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        load_family("Gymnasium", **{"env_id": "FrozenLake-v1", **options})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_an_unknown_id_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        metagym.family_from_gymnasium("FrozenLake-v99")


def test_seeds_as_they_may_be_written() -> None:
    assert read_seeds("seeds", "0-2, 7 ,9 - 10") == (0, 1, 2, 7, 9, 10)
    assert read_seeds("seeds", range(3)) == (0, 1, 2)
    assert read_seeds("seeds", [np.int64(4)]) == (4,)

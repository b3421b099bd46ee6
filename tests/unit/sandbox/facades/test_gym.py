from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.sandbox import facades

from .support import run

SPACES = """
spaces = [
    lambda seed: S.Discrete(7, start=-2, seed=seed),
    lambda seed: S.Box(-1.0, 1.0, (3,), seed=seed),
    lambda seed: S.Box(low=np.array([0, -np.inf]), high=np.array([np.inf, 4.0]), dtype=np.float64, seed=seed),
    lambda seed: S.MultiBinary(5, seed=seed),
    lambda seed: S.MultiDiscrete([3, 9], seed=seed),
    lambda seed: S.Text(6, seed=seed),
    lambda seed: S.Dict({"b": S.Discrete(9), "a": S.Box(0, 1, (2,))}, seed=seed),
    lambda seed: S.Tuple([S.Discrete(9), S.MultiBinary(2)], seed=seed),
    lambda seed: S.Sequence(S.Discrete(4), seed=seed),
    lambda seed: S.OneOf([S.Discrete(9), S.MultiBinary(2)], seed=seed),
]
"""


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31))
def test_spaces_sample_and_contain_what_those_of_gymnasium_do(seed: int) -> None:
    ours = run("from gymnasium import spaces as S\nimport numpy as np\n" + SPACES)
    real: dict[str, Any] = {}
    exec("from gymnasium import spaces as S\nimport numpy as np\n" + SPACES, real)
    for mine, theirs in zip(ours["spaces"], real["spaces"], strict=True):
        one, other = mine(seed), theirs(seed)
        samples = [one.sample() for _ in range(3)]
        assert [repr(each) for each in samples] == [repr(other.sample()) for _ in range(3)]
        assert all(other.contains(each) and each in one for each in samples)
        assert isinstance(one, ours["S"].Space) and repr(one) == repr(other)


ENV = """
import gymnasium as gym
from gymnasium.utils import seeding
class Env(gym.Env):
    metadata = {"render_modes": ["ansi"]}
    def __init__(self):
        super().__init__()
        self.action_space = gym.spaces.Discrete(3)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.integers(0, 10**6, 3).tolist(), {}
    def step(self, action):
        return self.np_random.normal(), 0.0, False, False, {}
"""


@pytest.mark.parametrize("seed", [0, 5, 2**31])
def test_an_env_is_seeded_as_by_gymnasium(seed: int) -> None:
    real: dict[str, Any] = {}
    exec(ENV, real)
    ours, theirs = run(ENV)["Env"](), real["Env"]()
    assert ours.reset(seed=seed) == theirs.reset(seed=seed)
    assert ours.step(0) == theirs.step(0)
    assert ours.reset() == theirs.reset()
    assert ours.np_random_seed == theirs.np_random_seed == seed
    assert ours.unwrapped is ours
    assert str(ours) == str(theirs)
    generator, given_seed = run(ENV)["seeding"].np_random(seed)
    assert (generator.random(), given_seed) == (gymnasium.utils.seeding.np_random(seed)[0].random(), seed)


def test_an_env_without_a_seed_hangs_on_the_session() -> None:
    def first(session_seed: int) -> list[Any]:
        scope = run(ENV, seed=session_seed)
        env = scope["Env"]()
        return [
            env.reset(),
            scope["gym"].spaces.Dict(a=scope["gym"].spaces.Discrete(10**6)).sample(),
            env.np_random_seed,
        ]

    assert first(1) == first(1) != first(2)


def test_wrappers_pass_on_to_the_env_inside() -> None:
    scope = run(
        ENV + "class Loud(gym.ObservationWrapper):\n    def observation(self, o): return [o]\n"
        "class Twice(gym.RewardWrapper):\n    def reward(self, r): return 2 * r + 1\n"
        "class Other(gym.ActionWrapper):\n    def action(self, a): return a + 1\n"
        "env = Other(Twice(Loud(Env())))\n"
    )
    env, gym = scope["env"], scope["gym"]
    plain = scope["Env"]()
    assert env.reset(seed=3)[0] == [plain.reset(seed=3)[0]]
    assert env.step(0)[1] == 1.0
    assert env.action_space.n == 3
    assert env.unwrapped is env.env.env.env
    assert isinstance(env, gym.Env) and isinstance(env, gym.Wrapper) and isinstance(env.env, gym.RewardWrapper)
    with pytest.raises(AttributeError):
        env.get_wrapper_attr("__class__")


def test_bad_seeds_raise_gymnasiums_error() -> None:
    env = run(ENV)["Env"]()
    for seed in (-1, "a"):
        with pytest.raises(gymnasium.error.Error):
            env.reset(seed=seed)


def test_without_numpy_there_are_plain_spaces_and_no_np_random() -> None:
    source = (
        "import gymnasium as gym\nfrom gymnasium import spaces as S\n"
        "made = [S.Discrete(4, start=1), S.MultiBinary(3), S.MultiDiscrete([2, 3]), S.Text(4),"
        " S.Tuple([S.Discrete(2)]),"
        " S.Dict({'a': S.Discrete(2)}, b=S.Text(2))]\n"
        "class Env(gym.Env):\n"
        "    def reset(self, seed=None, options=None):\n        super().reset(seed=seed)\n"
        "        return self.np_random\n"
    )
    scope = run(source, numpy=False)
    for space in scope["made"]:
        assert space.sample() in space
        assert isinstance(space, scope["S"].Space)
        assert "numpy" not in type(space.sample()).__module__
    assert 9 not in scope["made"][0] and "x" * 9 not in scope["made"][3]
    with pytest.raises(RuntimeError, match="random.Random"):
        scope["Env"]().reset(seed=1)
    with pytest.raises(NotImplementedError, match="use random"):
        scope["S"].Box(0, 1, (2,)).sample()


def test_there_is_no_registry() -> None:
    gym: Any = facades.modules(True)["gym"]
    gym.register(id="A-v0", entry_point="x:Y")
    gym.envs.registration.register(id="A-v0", entry_point="x:Y")
    with pytest.raises(RuntimeError, match="one environment"):
        gym.make("CartPole-v1")

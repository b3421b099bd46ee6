from __future__ import annotations

import asyncio
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metagym
from metagym import Task
from metagym.chat import Request
from metagym.episodes import Episode
from metagym.errors import BadInput, MetaGymError, TasksExhausted, TooManyFailures, UnknownName
from metagym.ict.env import ICTEnv
from tests.support.worlds import FailingEnv, GuessEnv, ListEnv, family_of, guess_family


def make(**arguments: Any) -> ICTEnv:
    arguments.setdefault("actor", "random")
    family = arguments.pop("family", None) or guess_family(max_steps=2)
    return ICTEnv(family, **arguments)


def ids(episodes: list[Episode]) -> list[str]:
    return [e.task.id for e in episodes]


def color_in_prompt(request: Request) -> str:
    """Says the word that the system prompt names; without one, something wrong."""
    system = request.messages[0].content if request.messages[0].role == "system" else ""
    return "Action: " + (system.rsplit(" ", 1)[-1] if system else "nothing")


def test_the_five_tuple_and_the_promised_info() -> None:
    env = make(batch_size=3)
    observation, info = env.reset(seed=0)
    assert isinstance(observation, str) and info["system_prompt"] == ""
    observation, reward, terminated, truncated, info = env.step("Be bold.")
    assert observation in env.observation_space
    assert (terminated, truncated) == (False, False)
    assert isinstance(reward, float) and reward == info["mean_return"]
    assert set(info) >= {"episodes", "success_rate", "mean_return", "system_prompt", "unscored", "usage"}
    assert info["system_prompt"] == "Be bold." and info["usage"]["calls"] > 0 and info["unscored"] == 0
    assert len(info["episodes"]) == 3


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 8), st.integers(0, 10_000))
def test_unseen_means_unseen_through_the_whole_meta_episode(size: int, seed: int) -> None:
    # The public code repeats 4 of 15 "unseen" games at batch size 3 (its cursors overlap); we repeat none.
    env = make(batch_size=size, meta_turns=10, family=guess_family(max_steps=1, count=100))
    _, info = env.reset(seed=seed)
    seen = ids(info["episodes"])
    for _ in range(10):
        *_, truncated, info = env.step("x")
        seen += ids(info["episodes"])
    assert truncated and len(seen) == len(set(seen)) == 11 * size


def test_equal_seeds_give_equal_meta_episodes_and_seed_zero_is_a_seed() -> None:
    def play(seed: int | None) -> list[Any]:
        env = make()
        out: list[Any] = [env.reset(seed=seed)]
        return [*out, env.step("a"), env.step("b")]

    assert play(0) == play(0) != play(1)


def test_without_a_seed_the_environments_own_sequence_goes_on() -> None:
    one, two = make(), make()
    first = [one.reset(seed=3)[0], one.reset()[0], one.reset()[0]]
    assert len(set(first)) == 3
    assert first == [two.reset(seed=3)[0], two.reset()[0], two.reset()[0]]


def test_a_perfect_batch_does_not_end_the_meta_episode_but_the_turns_do() -> None:
    family = family_of(lambda task: ListEnv("s", [("won", 1.0, True, False, {"success": True})]))
    env = make(family=family, meta_turns=2)
    env.reset(seed=0)
    assert env.step("x")[1:4] == (1.0, False, False)
    assert env.step("x")[1:4] == (1.0, False, True)
    with pytest.raises(BadInput, match="ended after 2 turns"):
        env.step("x")


def test_reward_next_is_the_mean_return_of_the_new_batch() -> None:
    env = make(actor=color_in_prompt, batch_size=6, family=guess_family(max_steps=1))
    env.reset(seed=1)
    _, reward, _, _, info = env.step("Say green")
    right = [e.task.seed % 3 == 1 for e in info["episodes"]]
    assert reward == pytest.approx(sum(right) / 6)
    assert info["replay"] == []


def test_reward_replay_plays_the_same_tasks_and_seeds_again_then_a_fresh_batch() -> None:
    env = make(actor=color_in_prompt, batch_size=6, reward="replay", family=guess_family(max_steps=1))
    _, before = env.reset(seed=1)
    _, reward, _, _, info = env.step("Say green")
    assert ids(info["replay"]) == ids(before["episodes"])
    assert [e.seed for e in info["replay"]] == [e.seed for e in before["episodes"]]
    assert not set(ids(info["episodes"])) & set(ids(before["episodes"]))
    assert reward == pytest.approx(sum(e.task.seed % 3 == 1 for e in before["episodes"]) / 6)
    first = [e.turns[0].observation for e in info["replay"]]
    assert first == [e.turns[0].observation for e in before["episodes"]]


def test_reward_improvement_subtracts_what_the_old_prompt_earned() -> None:
    env = make(actor=color_in_prompt, batch_size=6, reward="improvement", family=guess_family(max_steps=1))
    _, before = env.reset(seed=1, options={"system_prompt": "Say red"})
    _, reward, _, _, info = env.step("Say green")
    assert reward == pytest.approx(sum(e.ret for e in info["replay"]) / 6 - sum(e.ret for e in before["episodes"]) / 6)
    same = make(actor=color_in_prompt, batch_size=6, reward="improvement", family=guess_family(max_steps=1))
    same.reset(seed=1, options={"system_prompt": "Say red"})
    assert same.step("Say red")[1] == 0.0  # common random numbers: the same prompt improves nothing


def test_options_choose_first_batch_and_prompt() -> None:
    env = make(batch_size=2)
    tasks = env.tasks
    for given_tasks in (["train-4", "train-2"], [tasks[4], tasks[2]], [tasks[4].to_json(), tasks[2].to_json()]):
        _, info = env.reset(seed=0, options={"tasks": given_tasks, "system_prompt": "Hello"})
        assert ids(info["episodes"]) == ["train-4", "train-2"] and info["system_prompt"] == "Hello"
        for _ in range(4):
            *_, info = env.step("x")
            assert not {"train-4", "train-2"} & set(ids(info["episodes"]))


def test_replaying_by_options_gives_equal_first_observations_and_batches() -> None:
    env = make(batch_size=3)
    _, one = env.reset(seed=0)
    _, two = env.reset(seed=0, options={"tasks": [e.task for e in one["episodes"]]})
    assert one["episodes"] == two["episodes"]


def test_a_task_given_twice_is_played_twice_and_counts_twice() -> None:
    env = make(actor=color_in_prompt, family=guess_family(max_steps=1))
    _, info = env.reset(seed=0, options={"tasks": ["train-1", "train-1", "train-0"], "system_prompt": "Say green"})
    assert info["mean_return"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"task": ["x"]}, "'task'"),
        ({"tasks": []}, "an empty list"),
        ({"tasks": 5}, "'tasks' is a list of tasks, got 5"),
        ({"tasks": "train-1"}, "'tasks' is a list of tasks, got 'train-1'; write \\[task\\]"),
        ({"tasks": {"id": "train-1"}}, "'tasks' is a list of tasks"),
        ({"tasks": Task("Guess", "train-1")}, "'tasks' is a list of tasks"),
        ({"tasks": [5]}, "has no task 5"),
        ({"system_prompt": 3}, "system prompt is text"),
        ({"system_prompt": "\x00"}, "NUL"),
        ("str", "options of reset is a dict, got 'str'"),
    ],
)
def test_unknown_and_bad_options_are_refused(options: Any, named: str) -> None:
    with pytest.raises(BadInput, match=named):
        make().reset(seed=0, options=options)


@pytest.mark.parametrize("seed", ["a", 1.5, -1, True])
def test_what_is_no_seed_is_refused_and_never_cut(seed: Any) -> None:
    with pytest.raises(BadInput, match="seed must be a non-negative integer"):
        make().reset(seed=seed)


def test_numbers_of_numpy_are_taken() -> None:
    env = make(batch_size=np.int64(2), meta_turns=np.int64(1), max_steps=np.int64(1))
    same = make(batch_size=2, meta_turns=1, max_steps=1)
    assert env.reset(seed=np.int64(3)) == same.reset(seed=3)  # type: ignore[arg-type]
    assert env.step("x") == same.step("x")


def test_a_task_of_another_split_is_an_error() -> None:
    env = make()
    with pytest.raises(UnknownName, match="Guess/train has no task 'valid-0'"):
        env.reset(seed=0, options={"tasks": ["valid-0"]})
    with pytest.raises(UnknownName):
        env.reset(seed=0, options={"tasks": [Task("Guess", "valid-0", "a", "valid")]})
    with pytest.raises(BadInput, match="not the one"):
        env.reset(seed=0, options={"tasks": [Task("Other", "train-0", "a", "train")]})


def test_running_out_of_unseen_tasks_is_an_error_or_a_counted_second_pass() -> None:
    env = make(batch_size=4, family=guess_family(max_steps=1, count=6))
    env.reset(seed=0)
    with pytest.raises(TasksExhausted, match="4 unseen tasks wanted, 2 left of 6"):
        env.step("x")
    wrapped = make(batch_size=4, when_exhausted="wrap", family=guess_family(max_steps=1, count=6))
    wrapped.reset(seed=0)
    *_, info = wrapped.step("x")
    assert info["epoch"] == 1 and len(set(ids(info["episodes"]))) == 4


def test_a_batch_larger_than_the_split_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match="batch_size is 31"):
        make(batch_size=31)


def test_s02_the_observation_holds_the_terminal_text_once_and_nothing_of_the_next() -> None:
    family = family_of(lambda task: ListEnv("START", [("FINAL-7", 1.0, True, False, {})]))
    observation, _ = make(family=family, batch_size=1).reset(seed=0)
    assert observation.count("FINAL-7") == observation.count("START") == 1


def test_s03_inner_ends_never_end_the_meta_episode() -> None:
    for flags in ((True, False), (False, True)):
        family = family_of(lambda task, flags=flags: ListEnv("s", [("x", 0.0, *flags, {})]))  # type: ignore[misc]
        env = make(family=family)
        env.reset(seed=0)
        assert env.step("x")[2:4] == (False, False)


def test_s06_a_second_meta_episode_starts_at_zero() -> None:
    env = make()
    env.reset(seed=0)
    env.step("a")
    _, info = env.reset(seed=0)
    assert info["turn"] == 0 and info["system_prompt"] == "" and info["usage"]["calls"] <= 10


def test_s19_the_prompt_reaches_the_actor_byte_for_byte() -> None:
    prompt = 'Use {"cmd": "go"}, {}, {0}, {, %s, $x, {{y}}'
    seen: set[str] = set()

    def spy(request: Request) -> str:
        seen.update(m.content for m in request.messages if m.role == "system")
        return "Action: red"

    env = make(actor=spy)
    env.reset(seed=0)
    for turn in range(3):
        observation, *_ = env.step(prompt + str(turn))
        assert prompt + str(turn) in observation
    assert seen == {prompt + str(turn) for turn in range(3)}


@pytest.mark.parametrize("action", [None, 3, b"x", ["x"], "a\x00b", "x" * 100_001])
def test_unusable_actions_are_refused_and_nothing_is_lost(action: Any) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(BadInput):
        env.step(action)
    other = make()
    other.reset(seed=0)
    assert env.step("x")[4]["episodes"] == other.step("x")[4]["episodes"]


def test_a_failed_step_can_be_tried_again() -> None:
    broken = True

    def flaky(request: Request) -> str:
        if broken:
            raise RuntimeError("down")
        return "Action: red"

    env = make(actor=flaky, max_failures=0.0)
    with pytest.raises(TooManyFailures):
        env.reset(seed=0)
    broken = False
    env.reset(seed=0)
    broken = True
    with pytest.raises(TooManyFailures):
        env.step("x")
    broken = False
    *_, info = env.step("x")
    other = make(actor=flaky)
    other.reset(seed=0)
    assert info["episodes"] == other.step("x")[4]["episodes"]


def test_a_step_without_a_reward_uses_up_no_tasks() -> None:
    def down_once(request: Request) -> str:
        if request.messages[0].role == "system" and request.messages[0].content == "break":
            raise RuntimeError("down")
        return "Action: red"

    env = make(actor=down_once, reward="replay", max_failures=1.0)
    env.reset(seed=0)
    with pytest.raises(TooManyFailures, match="no episode of the batch could be scored"):
        env.step("break")
    other = make(actor=down_once, reward="replay", max_failures=1.0)
    other.reset(seed=0)
    assert env.step("x")[4]["episodes"] == other.step("x")[4]["episodes"]


def test_how_actions_came_about_is_counted_and_cleaning_can_be_switched_off() -> None:
    def shouts(request: Request) -> str:
        return "Action: RED"

    for clean, found in ((True, "repaired"), (False, "invalid")):
        env = make(actor=shouts, clean=clean, batch_size=3, family=guess_family(max_steps=1))
        _, info = env.reset(seed=0)
        assert info["repairs"] == {"exact": 0, "repaired": 0, "invalid": 0, "absent": 0, found: 3}
        assert {e.turns[0].action for e in info["episodes"]} == {"red" if clean else "RED"}


def test_unscored_episodes_enter_no_mean_and_are_counted() -> None:
    family = family_of(lambda task: FailingEnv() if task.seed % 3 == 0 else GuessEnv(), "Guess", max_steps=1, count=6)
    env = make(actor=color_in_prompt, family=family, batch_size=6, max_failures=0.9)
    _, info = env.reset(seed=0, options={"system_prompt": "Say green"})
    assert info["unscored"] == 2 and info["mean_return"] == info["success_rate"] == 0.5


def test_a_reset_that_failed_leaves_no_batch_to_step_on() -> None:
    broken = False

    def flaky(request: Request) -> str:
        if broken:
            raise OSError("gone")
        return "Action: red"

    env = make(actor=flaky)
    env.reset(seed=0)
    broken = True
    with pytest.raises(TooManyFailures):
        env.reset(seed=1)
    broken = False
    with pytest.raises(BadInput, match="call reset"):
        env.step("x")


def test_a_step_before_reset_is_an_error() -> None:
    with pytest.raises(BadInput, match="call reset"):
        make().step("x")


@pytest.mark.parametrize(
    "arguments",
    [
        {"reward": "fame"},
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"meta_turns": True},
        {"split": "test"},
        {"task_types": ["c"]},
        {"task_types": []},
        {"render_mode": "human"},
        {"view": {"colour": 1}},
        {"view": {"order": "random"}},
        {"history": -1},
        {"max_steps": 0},
        {"when_exhausted": "ignore"},
        {"system_prompt": 4},
        {"actor": "rules"},
        {"hosts": "cloud"},
        {"colour": "red"},
        {"task_types": 5},
        {"max_steps": "50"},
        {"max_steps": 2.5},
        {"max_steps": True},
        {"concurrency": "3"},
        {"history": "a"},
        {"temperature": "a"},
        {"max_tokens": "a"},
        {"choose": "yes"},
        {"max_failures": "x"},
        {"model_deadline": "x"},
        {"env_deadline": 0},
        {"view": {"episodes": "a"}},
        {"view": "episodes"},
        {"clean": "no"},
        {"hosts": 5},
    ],
)
def test_bad_arguments_are_refused_at_once(arguments: dict[str, Any]) -> None:
    with pytest.raises(MetaGymError):
        make(**arguments)


def test_the_awaitable_twins_agree() -> None:
    async def play() -> list[Any]:
        env = make()
        return [await env.areset(seed=0), await env.astep("x")]

    env = make()
    assert asyncio.run(play()) == [env.reset(seed=0), env.step("x")]


def test_render_shows_the_observation() -> None:
    env = make(render_mode="ansi")
    observation, _ = env.reset(seed=0)
    assert env.render() == observation and make().render() is None


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_work(mode: str) -> None:
    metagym.register_family(guess_family("VecGuess", max_steps=2), namespace="Tests")
    arguments = {} if mode == "sync" else {"vector_kwargs": {"shared_memory": False}}
    one = gymnasium.make_vec("Tests/ICT-VecGuess-v0", num_envs=2, vectorization_mode=mode, **arguments)
    observations, _ = one.reset(seed=5)
    assert len(observations) == 2 and observations[0] != observations[1]
    _, rewards, terminated, truncated, info = one.step(("a", "b"))
    assert rewards.shape == (2,) and not terminated.any() and len(info["episodes"]) == 2
    one.close()


def test_thoughts_and_actions_are_shown_only_if_asked() -> None:
    plain, _ = make().reset(seed=0)
    full, _ = make(view={"thoughts": True, "actions": True}).reset(seed=0)
    assert "Thought:" not in plain and "Legal actions:" not in plain
    assert "Thought: I wander" in full and "Legal actions: red; green; blue" in full

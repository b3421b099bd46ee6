"""The Parallel view: PettingZoo's own tests, and the same meta-episode as the Gymnasium environment plays."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from metagym.errors import BadInput, TooManyFailures
from metagym.ict.env import ICTEnv
from tests.support.doors import OPENS, actor, doors
from tests.support.worlds import FailingEnv, GuessEnv, ListEnv, family_of, guess_family

pytest.importorskip("pettingzoo")

from pettingzoo.test import parallel_api_test, parallel_seed_test  # noqa: E402

from metagym.ict.parallel import NOTHING_YET, REFLECTOR, ParallelICT, parallel_env  # noqa: E402

RULES = "oak opens to pull\niron opens to knock"


def answer(info: dict[str, Any], observation: str) -> str:
    """What the scripted actor of the doors answers, as an agent's policy."""
    for kind, action in OPENS.items():
        if f"of {kind}" in observation:
            return action if f"{kind} opens to {action}" in info["system_prompt"] else "push"
    return "push"


def played(env: Any, prompts: list[str], seed: int = 0) -> tuple[dict[str, float], list[Any]]:
    """A meta-episode; what each agent got, and every step."""
    observations, infos = env.reset(seed=seed)
    total = dict.fromkeys(env.possible_agents, 0.0)
    log: list[Any] = [(observations, infos)]
    left = list(prompts)
    while env.agents:
        if env.acting == [REFLECTOR]:
            actions = {REFLECTOR: left.pop(0)}
        else:
            actions = {name: answer(infos[name], observations[name]) for name in env.acting}
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert not any(terminated.values())
        for name, reward in rewards.items():
            total[name] += reward
        log.append((observations, rewards, truncated, infos))
    env.close()
    return total, log


@pytest.mark.parametrize("reward", ["next", "replay", "improvement"])
def test_pettingzoos_own_tests_pass(reward: str) -> None:
    def make() -> ParallelICT:
        return parallel_env(family=guess_family(max_steps=4), batch_size=3, meta_turns=2, reward=reward)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(make(), num_cycles=60)
        parallel_seed_test(make, num_cycles=30)


@pytest.mark.parametrize("reward", ["next", "replay", "improvement"])
def test_s37_everybody_gets_all_their_rewards_and_the_episodes_are_those_of_the_meta_environment(reward: str) -> None:
    settings: dict[str, Any] = {"batch_size": 4, "meta_turns": 2, "reward": reward}
    meta = ICTEnv(doors(), actor=actor, **settings)
    observation, info = meta.reset(seed=3)
    batches, rewards = [info["episodes"]], []
    for prompt in ("", RULES):
        observation, reward_of_step, _, _, info = meta.step(prompt)
        batches += [info["replay"]] * bool(info["replay"]) + [info["episodes"]]
        rewards.append(reward_of_step)
    total, log = played(ParallelICT(doors(), **settings), ["", RULES], seed=3)
    assert total[REFLECTOR] == pytest.approx(sum(rewards))
    paid = [step[1][REFLECTOR] for step in log[1:] if step[3][REFLECTOR]["acts"]]
    assert paid[1:] == pytest.approx(rewards) and paid[0] == 0
    got = sum(total[f"actor_{n}"] for n in range(4))
    assert got == pytest.approx(sum(e.ret for batch in batches for e in batch))
    last = log[-1][3][REFLECTOR]
    assert [(e.task, e.ret, e.success) for e in last["episodes"]] == [(e.task, e.ret, e.success) for e in batches[-1]]
    assert log[-1][0][REFLECTOR] == observation and last["backend"] == "local"
    assert all(log[-1][2].values())
    final = [step[3]["actor_0"]["final"] for step in log[1:] if "final" in step[3]["actor_0"]]
    assert len(final) == (0 if reward == "next" else 2)
    assert all(one["terminated"] and ("opens." in one["observation"]) is one["success"] for one in final)


def moves(env: Any, prompts: list[str], seed: int) -> Iterator[Any]:
    """A meta-episode, a step at a time."""
    observations, infos = env.reset(seed=seed)
    yield observations, infos
    left = list(prompts)
    while env.agents:
        acting = env.acting
        actions = {
            name: left.pop(0) if name == REFLECTOR else answer(infos[name], observations[name]) for name in acting
        }
        observations, *rest, infos = env.step(actions)
        yield observations, *rest, infos


def test_two_meta_episodes_at_once_are_as_each_alone_and_what_was_handed_out_does_not_change() -> None:
    def make() -> ParallelICT:
        return ParallelICT(doors(), batch_size=3, meta_turns=2, reward="replay")

    def told(step: Any) -> str:
        """All but the seconds that episodes took."""
        return re.sub(r"seconds=[0-9.e-]+", "", repr(step))

    one, other, third = make(), make(), make()
    alone = [told(step) for step in moves(one, ["", RULES], 3)]
    kept: list[tuple[Any, str]] = []
    beside = moves(other, [RULES, ""], 4)
    for step in moves(third, ["", RULES], 3):
        kept.append((step, told(step)))
        next(beside, None)
    assert [before for _, before in kept] == alone
    assert [told(step) for step, _ in kept] == alone
    assert [told(step) for step in moves(one, ["", RULES], 4)] != alone
    for env in (one, other, third):
        beside.close()
        env.close()


def test_whose_action_counts_is_told_and_others_are_passed_over() -> None:
    env = ParallelICT(guess_family(max_steps=3), batch_size=2, meta_turns=1)
    observations, infos = env.reset(seed=0)
    assert observations[REFLECTOR] == NOTHING_YET and env.acting == ["actor_0", "actor_1"]
    assert [infos[name]["acts"] for name in env.possible_agents] == [False, True, True]
    right = GuessEnv.words[int(observations["actor_0"].rstrip(".").split()[-1]) % 3]
    noise = {REFLECTOR: "a prompt too early"}
    observations, rewards, _, _, infos = env.step({"actor_0": right.upper(), "actor_1": "", **noise})
    assert rewards == {REFLECTOR: 0.0, "actor_0": 1.0, "actor_1": 0.0}
    assert infos["actor_0"]["repair"] == "repaired" and infos["actor_0"]["success"] is True
    assert infos["actor_0"]["terminated"] and infos["actor_1"]["repair"] == "absent"
    assert env.acting == ["actor_1"] and infos["actor_1"]["success"] is None
    assert [infos[name]["acts"] for name in env.possible_agents] == [False, False, True]
    for _ in range(2):
        observations, rewards, _, _, infos = env.step({"actor_0": "still here", "actor_1": "nothing"})
        assert rewards["actor_0"] == 0  # its reward came once
    assert [infos[name]["acts"] for name in env.possible_agents] == [True, False, False]
    assert env.acting == [REFLECTOR] and infos["actor_1"]["truncated"] and not infos["actor_1"]["terminated"]
    assert "Batch of 2 episodes: 1 solved" in observations[REFLECTOR] and infos[REFLECTOR]["turn"] == 0
    observations, rewards, _, _, infos = env.step({REFLECTOR: "Say red.", "actor_0": "x"})
    assert infos["actor_0"]["system_prompt"] == "Say red." and rewards[REFLECTOR] == 0
    assert infos["actor_0"]["acts"] and observations["actor_0"].startswith("Guess number")
    env.close()
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_a_reward_is_paid_once_though_the_next_text_holds_no_command() -> None:
    steps = [("on", 1.0, False, False, {}), ("over", 0.5, True, False, {"success": True})]
    env = ParallelICT(family_of(lambda task: ListEnv("begin", list(steps))), batch_size=1, meta_turns=1)
    env.reset(seed=0)
    assert [env.step({"actor_0": text})[1]["actor_0"] for text in ("go", "", "go")] == [1.0, 0.0, 0.5]
    env.close()


def test_what_is_no_action_changes_nothing() -> None:
    env = ParallelICT(guess_family(max_steps=1), batch_size=2, meta_turns=1)
    env.reset(seed=0)
    for wrong in ({"actor_0": "red"}, {"actor_0": "red", "actor_1": 3}):
        with pytest.raises(BadInput, match="the action of actor_1 is text"):
            env.step(wrong)  # type: ignore[arg-type]
    env.step({"actor_0": "no", "actor_1": "no"})
    with pytest.raises(BadInput, match="NUL"):
        env.step({REFLECTOR: "\x00"})
    assert env.acting == [REFLECTOR]
    _, _, _, _, infos = env.step({REFLECTOR: "fine"})
    assert infos["actor_0"]["system_prompt"] == "fine"
    env.close()


def test_a_game_that_fails_is_not_scored_and_too_many_stop_the_batch() -> None:
    some = family_of(lambda task: FailingEnv() if task.seed % 2 else GuessEnv(), max_steps=1)
    env = ParallelICT(some, batch_size=2, meta_turns=1)
    ids = {"tasks": ["train-0", "train-1"]}
    env.reset(seed=0, options=ids)
    observations, rewards, _, _, infos = env.step({"actor_0": "red", "actor_1": "red"})
    assert infos["actor_1"]["cause"] == "RuntimeError: the engine broke" and infos["actor_1"]["success"] is None
    assert rewards["actor_1"] == 0 and infos[REFLECTOR]["unscored"] == 1
    assert "1 not scored" in observations[REFLECTOR]
    env.reset(seed=0, options={"tasks": ["train-1", "train-3"]})
    with pytest.raises(TooManyFailures, match="2 of 2 episodes failed"):
        env.step({"actor_0": "red", "actor_1": "red"})
    env.close()


def test_games_that_do_not_even_open_end_their_batch() -> None:
    def broken(task: Any) -> Any:
        raise OSError("no data")

    env = ParallelICT(family_of(broken), batch_size=2)
    with pytest.raises(TooManyFailures, match="OSError: no data"):
        env.reset(seed=0)
    assert env.agents == [] and env.acting == []
    env.close()


def test_spaces_are_the_instances_own_and_a_reset_in_the_middle_leaves_nothing() -> None:
    one, other = (ParallelICT(guess_family(), batch_size=2) for _ in range(2))
    for name in one.possible_agents:
        assert one.action_space(name) is one.action_space(name) is not other.action_space(name)
        assert one.observation_space(name) is not other.observation_space(name)
    spaces = [space(name) for space in (one.action_space, one.observation_space) for name in one.possible_agents]
    assert len(set(map(id, spaces))) == len(spaces)  # each agent's is seeded by itself
    first = one.reset(seed=5)
    assert one.agents is not one.possible_agents
    one.step({"actor_0": "red", "actor_1": "red"})
    assert one.reset(seed=5) == first == other.reset(seed=5)
    one.close()
    other.close()


def test_bad_arguments_are_one_sentence() -> None:
    with pytest.raises(BadInput, match="temperature belongs to the model of an actor"):
        ParallelICT(guess_family(), temperature=1.0)
    with pytest.raises(BadInput, match="reward is one of"):
        ParallelICT(guess_family(), reward="best")
    env = ParallelICT(guess_family(), batch_size=2)
    with pytest.raises(BadInput, match="2 actors play 2 tasks, got 1"):
        env.reset(options={"tasks": ["train-0"]})
    assert env.agents == []
    env.reset(options={"tasks": ["train-0", "train-1"], "system_prompt": "x", "unknown": 1})
    env.close()

"""The PettingZoo view: PettingZoo's own tests on an encoded view, rewards where they belong, nothing leaked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from metagym.conformance import check_text_aec
from metagym.errors import BadInput
from metagym.seeding import rng
from metagym.spade.stand_ins.programs import adversaries, noisy_door, number_lock
from metagym.spade.validation import ValidationSettings

pettingzoo = pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, seed_test  # noqa: E402

from metagym.playing.aec import EncodedAEC  # noqa: E402
from metagym.spade.aec import DesignerAgentAEC, env  # noqa: E402

QUICK = ValidationSettings(seeds=3)
LOCK = number_lock(2)
WORDS = ("wait", "turn 30", "turn 7", LOCK, "prose")


def oracle(program: str) -> Callable[[Any, str], str]:
    """Solves locks by halving, as a model would: from what it is told alone."""
    state = {"low": 3, "high": 59}

    def act(info: Any, text: str) -> str:
        guess = (state["low"] + state["high"]) // 2
        if text.startswith("Too low"):
            state["low"] = guess + 1
        elif text.startswith("Too high"):
            state["high"] = guess - 1
        else:
            state.update(low=3, high=59)
        return f"turn {(state['low'] + state['high']) // 2}"

    return act


def played(environment: Any, design: str, agent: Callable[[Any, str], str]) -> tuple[dict[str, float], list[Any]]:
    """One round by the turn loop; what each role got there, and everything that it saw."""
    total: dict[str, float] = Counter()  # type: ignore[assignment]
    seen: list[Any] = []
    for name in environment.agent_iter(max_iter=2_000):
        observation, reward, terminated, truncated, info = environment.last()
        total[name] += reward
        seen.append((name, observation, reward, dict(info)))
        assert info["role"] == name
        action = design if name == "designer" else agent(info, observation)
        environment.step(None if terminated or truncated else action)
    assert not environment.agents
    return total, seen


def test_s37_both_roles_get_all_their_rewards_in_the_turn_loop() -> None:
    environment = env(pairs=2, reward="absolute", max_steps=16, validation=QUICK)
    environment.reset(seed=1)
    total, seen = played(environment, f"```python\n{LOCK}```", oracle(LOCK))
    # Two plays in each arm, each worth 1; the designer is paid the win rate, in the same turn as the last reward.
    inner = environment.unwrapped
    won = [one for one in inner.outcomes if one.success]
    assert len(inner.outcomes) == 4
    assert total["agent"] == pytest.approx(sum(one.ret for one in inner.outcomes))
    assert total["agent"] >= len(won) >= 3
    assert total["designer"] == pytest.approx(sum(one.success for one in inner.outcomes if one.arm == 0) / 2)
    assert [name for name, *_ in seen][-2:] == ["designer", "agent"]
    environment.close()


def test_a_refused_program_ends_the_round_for_both() -> None:
    environment = DesignerAgentAEC(reward="metagym", validation=QUICK)
    environment.reset(seed=0)
    total, seen = played(environment, adversaries()["prose"], lambda info, text: "wait")
    assert total == {"designer": pytest.approx(-0.1), "agent": 0.0}
    assert [name for name, *_ in seen] == ["designer", "designer", "agent"]
    assert "no_code" in seen[1][1] and seen[1][3]["report"]["code"] == "no_code"


def test_a_program_that_fails_while_it_is_played_costs_its_author_and_no_play_counts() -> None:
    late = LOCK.replace(
        "        words = action.split()\n", "        words = action.split()\n        assert words != ['kaboom']\n"
    )
    assert late != LOCK
    environment = DesignerAgentAEC(reward="metagym", validation=QUICK, repeats=2, pairs=2)
    environment.reset(seed=0)
    total, _ = played(environment, late, lambda info, text: "kaboom" if info.get("steps") == 2 else "wait")
    assert environment.report is not None and environment.report.ok
    assert [one.failure for one in environment.outcomes] == ["env_error"]
    assert total == {"designer": pytest.approx(-0.1), "agent": 0.0}
    environment.close()


def test_secrets_stay_with_their_owner() -> None:
    """The hint is seen in hinted plays alone; the source, the solution and the report by no agent."""
    environment = DesignerAgentAEC(pairs=2, validation=QUICK, max_steps=4)
    environment.reset(seed=3)
    _, seen = played(environment, LOCK, lambda info, text: "wait")
    of_agent = [(text, info) for name, text, _, info in seen if name == "agent"]
    hinted = [info["arm"] for text, info in of_agent if "[strategy: halve]" in text]
    assert hinted and set(hinted) == {"hinted"}
    for text, info in of_agent:
        assert "def step" not in text + repr(info) and "solution" not in text + repr(info)
        assert "report" not in info and "breakdown" not in info
    environment.close()


def test_equal_seeds_give_equal_rounds_and_no_hint_leaves_regret_unmeasured() -> None:
    def once(seed: int = 5) -> list[Any]:
        environment = DesignerAgentAEC(pairs=2, validation=QUICK, hint="none", reward="spade_regret", max_steps=6)
        environment.reset(seed=seed)
        _, seen = played(environment, noisy_door(0.5), lambda info, text: "open blue")
        environment.close()
        return seen

    first = once()
    assert repr(first) == repr(once())
    paid, designer = [(reward, info) for name, _, reward, info in first if name == "designer"][-1]
    assert designer["scored"] is False and designer["breakdown"]["total"] is None and math.isnan(paid)

    def plays(seen: list[Any]) -> set[int]:
        return {info["seed"] for name, *_, info in seen if name == "agent"}

    assert plays(first) and not plays(first) & plays(once(6))


@pytest.mark.filterwarnings("ignore:We recommend agents to be named")  # the roles have names, not numbers
def test_pettingzoo_api_test_passes_on_the_encoded_view() -> None:
    view = EncodedAEC(env(pairs=1, max_steps=3, validation=QUICK, reward="absolute"), WORDS)
    api_test(view, num_cycles=30)
    view.close()


def test_pettingzoo_seed_test_passes_on_the_encoded_view() -> None:
    seed_test(lambda: EncodedAEC(env(pairs=1, max_steps=3, validation=QUICK, reward="absolute"), WORDS), num_cycles=10)


@pytest.mark.parametrize("reward", ["absolute", "spade_regret"])  # the second is unmeasured without a hint
def test_the_text_view_conforms(reward: str) -> None:
    def make() -> Any:
        return env(pairs=1, max_steps=3, validation=QUICK, reward=reward, hint="none")

    def policy(agent: str, observation: str, info: dict[str, Any], move: int) -> str:
        return LOCK if agent == "designer" else f"turn {7 * move}"

    check_text_aec(make, policy)


def test_a_program_of_the_other_setting_is_refused_and_paid_as_a_refusal_of_a_run() -> None:
    environment = env(setting="tool_use", reward="metagym", validation=QUICK)
    environment.reset(seed=0)
    total, seen = played(environment, LOCK, lambda info, text: "wait")
    assert seen[-1][3].get("scored", True) and total["designer"] < 0 and total["agent"] == 0
    told = [info["report"] for name, _, _, info in seen if name == "designer" and "report" in info]
    assert told and told[-1]["code"] == "metadata_missing" and "setting tool_use" in told[-1]["detail"]


def test_spaces_are_the_instances_own() -> None:
    one, other = DesignerAgentAEC(), DesignerAgentAEC()
    for name in one.possible_agents:
        assert one.action_space(name) is one.action_space(name) is not other.action_space(name)
        assert one.observation_space(name) is not other.observation_space(name)


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(BadInput, match="'program' or 'none'"):
        DesignerAgentAEC(hint="self")
    wrong: list[dict[str, Any]] = [{"setting": "chess"}, {"skill": 5}, {"validation": {"seeds": 3}}, {"pairs": 0}]
    for settings in wrong:
        with pytest.raises(BadInput, match=f"{next(iter(settings))} is"):
            DesignerAgentAEC(**settings)
    environment = DesignerAgentAEC()
    environment.reset(seed=0)
    with pytest.raises(BadInput, match="is text"):
        environment.step(3)  # type: ignore[arg-type]


def test_random_policies_never_break_it() -> None:
    environment = env(pairs=1, max_steps=3, validation=QUICK)
    draws = rng(0, "policies")
    for seed in range(4):
        environment.reset(seed=seed)
        played(environment, draws.choice(WORDS), lambda info, text: draws.choice(WORDS[:3]))
    environment.close()

"""The text view of a turn-based game of several agents: what PettingZoo's own test asks of arrays, asked of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from metagym.conformance.findings import Fault
from metagym.conformance.texts import faults_of
from metagym.seeding import rng

Policy = Callable[[str, Any, dict[str, Any], int], str]
"""``policy(agent, observation, info, move) -> action``."""


def check_text_aec(make: Callable[[], Any], policy: Policy | None = None, *, seed: int = 0, moves: int = 500) -> None:
    """Plays rounds of a PettingZoo environment whose observations are texts, and checks what it keeps to.

    `pettingzoo.test.api_test` reads the dtype of every observation and so fails for any text; this is its counterpart.
    Checked: texts are clean and within their space, spaces are the instance's own objects, infos are dicts, rewards
    are numbers, what ``last`` tells over the turn loop adds up to all that was paid, agents leave after their end and
    do not come back, none is left at the end, and equal seeds give equal rounds.

    Args:
        make: Makes a new instance.
        policy: Who plays; None draws from the action spaces, the same for equal seeds.
        seed: Seed of the first round.
        moves: A round that takes more moves than this is a fault.

    Raises:
        AssertionError: Something does not hold; the message says what to do.
    """
    try:
        one, other = make(), make()
        try:
            _spaces(one, other)
            first = _round(one, policy, seed, moves)
            if first != _round(other, policy, seed, moves) or first != _round(one, policy, seed, moves):
                raise Fault("equal seeds and actions give two different rounds: derive every choice from reset's seed")
        finally:
            one.close()
            other.close()
    except Fault as fault:
        raise AssertionError(str(fault)) from None


def _spaces(one: Any, other: Any) -> None:
    for agent in one.possible_agents:
        for name in ("observation_space", "action_space"):
            mine, again, theirs = getattr(one, name)(agent), getattr(one, name)(agent), getattr(other, name)(agent)
            if mine is not again or mine is theirs:
                raise Fault(f"{name}({agent!r}) must be one object per instance and agent: make it in __init__")


def _round(env: Any, policy: Policy | None, seed: int, moves: int) -> list[Any]:
    """One round; everything that was seen in it."""
    env.reset(seed=seed)
    if sorted(env.agents) != sorted(env.possible_agents):
        raise Fault(f"a round begins with {sorted(env.agents)} of {sorted(env.possible_agents)}: reset brings all back")
    told: Counter[str] = Counter()
    paid: Counter[str] = Counter(env.rewards)
    gone: set[str] = set()
    seen: list[Any] = []
    for move in range(moves):
        if not env.agents:
            break
        agent = env.agent_selection
        if agent in gone or agent not in env.agents:
            raise Fault(f"{agent} acts after it has left: choose the next of self.agents")
        observation, reward, terminated, truncated, info = env.last()
        _shown(env, agent, observation, reward, terminated, truncated, info)
        told[agent] += reward
        seen.append((agent, observation, repr((reward, terminated, truncated, info))))  # NaN equals itself as text
        if terminated or truncated:
            gone.add(agent)
            env.step(None)
            continue
        if policy is None:
            space = env.action_space(agent)
            space.seed(rng(seed, "text-aec", move).randrange(2**31))
            action = space.sample()
        else:
            action = policy(agent, observation, info, move)
        env.step(action)
        paid.update(env.rewards)
    if env.agents:
        raise Fault(f"{sorted(env.agents)} are still playing after {moves} moves: end every round by a cap")
    for agent in env.possible_agents:
        if agent not in gone:
            raise Fault(
                f"{agent} left without a turn after its end: mark it terminated and let _was_dead_step remove it"
            )
        if not abs(told[agent] - paid[agent]) < 1e-9 and not _both_nan(told[agent], paid[agent]):
            raise Fault(
                f"{agent} was paid {paid[agent]} and told {told[agent]} over the turn loop: add rewards to "
                "_cumulative_rewards until the agent has seen them, the last one too"
            )
    return seen


def _both_nan(one: float, other: float) -> bool:
    return one != one and other != other


def _shown(env: Any, agent: str, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> None:
    for fault in faults_of(observation):
        raise Fault(f"what {agent} sees {fault}")
    if observation not in env.observation_space(agent):
        raise Fault(f"what {agent} sees is not in its observation space")
    if not isinstance(info, dict):
        raise Fault(f"the info of {agent} is of type {type(info).__name__}: it must be a dict")
    if isinstance(reward, bool) or not isinstance(reward, (int, float)):
        raise Fault(f"the reward of {agent} is of type {type(reward).__name__}: it must be a number")
    if not isinstance(terminated, bool) or not isinstance(truncated, bool):
        raise Fault(f"terminated and truncated of {agent} must be True or False")

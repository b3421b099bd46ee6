"""The text view of a turn-based game of several agents: what PettingZoo's own test asks of arrays, asked of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from metagym.conformance.findings import Fault
from metagym.conformance.texts import faults_of
from metagym.seeding import rng

Policy = Callable[[str, Any, dict[str, Any], int], str]
"""``policy(agent, observation, info, move) -> action``."""


def check_text_aec(
    make: Callable[[], Any], policy: Policy | None = None, *, seed: int = 0, moves: int = 500, chance: bool = False
) -> None:
    """Plays rounds of a PettingZoo environment whose observations are texts, and checks what it keeps to.

    `pettingzoo.test.api_test` reads the dtype of every observation and so fails for any text; this is its counterpart.
    Checked: texts are clean and within their space, for every agent at every move, and looking changes nothing; spaces
    are the instance's own objects; infos are dicts, and those handed out do not change later; rewards are numbers, and
    what ``last`` tells over the turn loop adds up to all that was paid; agents leave after their end and do not come
    back, none is left at the end; equal seeds give equal rounds, also while another instance plays in between.

    Args:
        make: Makes a new instance.
        policy: Who plays; None draws from the action spaces, the same for equal seeds.
        seed: Seed of the first round.
        moves: A round that takes more moves than this is a fault.
        chance: Whether seeds make a difference: of the next eight one must give another round.

    Raises:
        AssertionError: Something does not hold; the message says what to do.
    """
    try:
        one, other = make(), make()
        try:
            _spaces(one, other)
            first = _alone(one, policy, seed, moves)
            if first != _alone(other, policy, seed, moves) or first != _alone(one, policy, seed, moves):
                raise Fault("equal seeds and actions give two different rounds: derive every choice from reset's seed")
            if first != _between(one, other, policy, seed, moves):
                raise Fault("a round changes while another instance plays: keep all of it in the instance")
            if chance and all(first == _alone(one, policy, seed + more, moves) for more in range(1, 9)):
                raise Fault("nine seeds give the same round: hand reset's seed on to the game")
        finally:
            one.close()
            other.close()
    except Fault as fault:
        raise AssertionError(str(fault)) from None


def _alone(env: Any, policy: Policy | None, seed: int, moves: int) -> list[Any]:
    """One round; everything that was seen in it."""
    seen: list[Any] = []
    for _ in _round(env, policy, seed, moves, seen):
        pass
    return seen


def _between(env: Any, other: Any, policy: Policy | None, seed: int, moves: int) -> list[Any]:
    """The same, with a move of another instance's round, of another seed, after each of its moves."""
    seen: list[Any] = []
    beside = _round(other, policy, seed + 1, moves, [])
    for _ in _round(env, policy, seed, moves, seen):
        next(beside, None)
    for _ in beside:
        pass
    return seen


def _spaces(one: Any, other: Any) -> None:
    for agent in one.possible_agents:
        for name in ("observation_space", "action_space"):
            mine, again, theirs = getattr(one, name)(agent), getattr(one, name)(agent), getattr(other, name)(agent)
            if mine is not again or mine is theirs:
                raise Fault(f"{name}({agent!r}) must be one object per instance and agent: make it in __init__")


def _round(env: Any, policy: Policy | None, seed: int, moves: int, seen: list[Any]) -> Iterator[None]:
    """One round, a move at a time; everything that is seen in it is added to `seen`."""
    env.reset(seed=seed)
    everybody = sorted(env.possible_agents)
    if sorted(env.agents) != everybody:
        raise Fault(f"a round begins with {sorted(env.agents)} of {everybody}: reset brings all back")
    told: Counter[str] = Counter()
    paid: Counter[str] = Counter(env.rewards)
    gone: set[str] = set()
    kept: list[tuple[str, Any, str]] = []
    for move in range(moves):
        if not env.agents:
            break
        agent = env.agent_selection
        if agent in gone or agent not in env.agents:
            raise Fault(f"{agent} acts after it has left: choose the next of self.agents")
        views = {name: env.observe(name) for name in sorted(env.agents)}
        observation, reward, terminated, truncated, info = env.last()
        _shown(env, agent, observation, reward, terminated, truncated, info)
        for name, view in views.items():
            _seen(env, name, view)
            if env.observe(name) != view:
                raise Fault(f"what {name} sees changes by being looked at: observe must change nothing")
        if views[agent] != observation:
            raise Fault(f"observe and last tell {agent} two different texts")
        told[agent] += reward
        facts = repr((reward, terminated, truncated, info))  # NaN equals itself as text
        kept.append((agent, info, repr(info)))
        seen.append((agent, views, facts))
        if terminated or truncated:
            gone.add(agent)
            env.step(None)
            yield
            continue
        if policy is None:
            space = env.action_space(agent)
            space.seed(rng(seed, "text-aec", move).randrange(2**31))
            action = space.sample()
        else:
            action = policy(agent, observation, info, move)
        env.step(action)
        paid.update(env.rewards)
        yield
    for agent, info, before in kept:
        if repr(info) != before:
            raise Fault(f"an info that {agent} was handed has changed since: make a new dict at each move")
    if sorted(env.possible_agents) != everybody:
        raise Fault("possible_agents has changed in the round: agents must be a list of its own")
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


def _both_nan(one: float, other: float) -> bool:
    return one != one and other != other


def _seen(env: Any, agent: str, observation: Any) -> None:
    for fault in faults_of(observation):
        raise Fault(f"what {agent} sees {fault}")
    if observation not in env.observation_space(agent):
        raise Fault(f"what {agent} sees is not in its observation space")


def _shown(env: Any, agent: str, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> None:
    _seen(env, agent, observation)
    if not isinstance(info, dict):
        raise Fault(f"the info of {agent} is of type {type(info).__name__}: it must be a dict")
    if isinstance(reward, bool) or not isinstance(reward, (int, float)):
        raise Fault(f"the reward of {agent} is of type {type(reward).__name__}: it must be a number")
    if not isinstance(terminated, bool) or not isinstance(truncated, bool):
        raise Fault(f"terminated and truncated of {agent} must be True or False")

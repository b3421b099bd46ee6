"""Agents that act in turns, text in and text out, as PettingZoo environments (AEC).

`TextAEC` keeps the books that every such view needs, `GameAEC` is the view of a game of several seats, and `EncodedAEC`
shows any of them as arrays and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.spaces import Box, Discrete

from metagym.checks import shown, whole
from metagym.errors import BadInput
from metagym.extras import require
from metagym.seeding import check_seed, derive
from metagym.spaces import FreeText

require("pettingzoo", "pettingzoo")

from pettingzoo import AECEnv  # noqa: E402 - after the sentence that says which extra it is
from pettingzoo.utils.wrappers import BaseWrapper, OrderEnforcingWrapper  # noqa: E402


class TextAEC(AECEnv):
    """The books of text agents in turns: spaces, rewards that nobody loses, ends.

    What derives from it defines ``reset``, which calls `begin`, and `take`; both may write `texts` (what each agent
    sees), `infos`, `rewards` (of this move) and `agent_selection`, and end the round with `finish`.

    Args:
        agents: Names of the agents.
        render_mode: ``"ansi"`` or None.

    Raises:
        BadInput: Another render mode.
    """

    metadata = {"name": "text_v0", "render_modes": ["ansi"], "is_parallelizable": False}

    def __init__(self, agents: Sequence[str], render_mode: str | None = None) -> None:
        super().__init__()
        if render_mode not in (None, "ansi"):
            raise BadInput(f"render_mode is None or 'ansi', got {render_mode!r}")
        self.render_mode = render_mode
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self.texts: dict[str, str] = {}
        self.chance = 0
        # One space object per agent and environment: a wrapper seeds it and expects to find it again.
        self._spaces = {name: (FreeText(), FreeText()) for name in self.possible_agents}

    def observation_space(self, agent: str) -> FreeText:
        """The space of an agent's observations; always the same object."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> FreeText:
        """The space of an agent's actions; always the same object."""
        return self._spaces[agent][1]

    def begin(self, seed: int | None, first: str) -> int:
        """Opens the books of a round.

        Args:
            seed: As handed to ``reset``; None takes the next of the environment's own sequence.
            first: The agent who acts first.

        Returns:
            The seed of the round.

        Raises:
            BadInput: The seed is none.
        """
        self.chance = derive(self.chance, "next round") if seed is None else check_seed(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {name: {} for name in self.agents}
        self.texts = dict.fromkeys(self.agents, "")
        self.agent_selection = first
        return self.chance

    def observe(self, agent: str) -> str:
        """What an agent sees."""
        return self.texts[agent]

    def step(self, action: str | None) -> None:
        """Takes the action of the agent whose turn it is; None after its end.

        Raises:
            BadInput: The action is no text.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not isinstance(action, str):
            raise BadInput(f"an action of the {agent} is text, got {type(action).__name__}")
        self._cumulative_rewards[agent] = 0.0  # `last` has told of these
        self._clear_rewards()
        self.take(agent, action)
        self._accumulate_rewards()

    def take(self, agent: str, action: str) -> None:
        """Takes an action of a live agent."""
        raise NotImplementedError

    def finish(self, *, truncated: bool = False) -> None:
        """Ends the round for all agents; each learns of it, and of its last rewards, in a turn of its own."""
        ends = self.truncations if truncated else self.terminations
        ends.update(dict.fromkeys(self.agents, True))
        self.agent_selection = self.agents[0]

    def render(self) -> str | None:
        """What the agent whose turn it is sees, with ``render_mode="ansi"``."""
        return self.texts[self.agent_selection] if self.render_mode == "ansi" else None

    def close(self) -> None:
        """There is nothing to close here."""


class Moved(NamedTuple):
    """What came of a move.

    Attributes:
        rewards: Of this move, by seat; seats that are left out get 0.
        terminated: The game is over by its rules.
        truncated: The game was cut.
    """

    rewards: Mapping[str, float] = {}
    terminated: bool = False
    truncated: bool = False


class SeatGame(Protocol):
    """A game of several seats that take turns, text in and text out."""

    @property
    def seats(self) -> Sequence[str]:
        """Names of the seats, as in ``player_0``."""
        ...

    @property
    def turn(self) -> str:
        """The seat whose turn it is."""
        ...

    def reset(self, seed: int) -> None:
        """Starts the game; equal seeds give equal games."""
        ...

    def observe(self, seat: str) -> str:
        """What a seat sees: nothing that is another seat's secret."""
        ...

    def info(self, seat: str) -> Mapping[str, Any]:
        """Facts for a seat, e.g. ``admissible`` and, at the end, ``success``."""
        ...

    def act(self, action: str) -> Moved:
        """Takes the action of the seat whose turn it is."""
        ...

    def close(self) -> None:
        """Frees the game."""
        ...


class GameAEC(TextAEC):
    """A game of two or more seats, turn by turn.

    ## Description
    The seats of a `SeatGame` are the agents; whose turn it is, what each of them sees and what it is paid is the game's
    affair.

    ## Observation
    `FreeText`: what the game shows to the seat.

    ## Actions
    `FreeText`: a move in the game's words.

    ## Rewards
    The game's. What a seat is paid for another seat's move, the last one included, it finds at its next turn.

    ## Episode end
    When the game ends, for all seats together; truncated after ``max_moves`` moves.

    ## Arguments
    * ``game``: the game; closed here.
    * ``max_moves``: cap on the moves of all seats together.

    ## Source
    The agent-environment cycle of Terry et al., "PettingZoo: Gym for Multi-Agent Reinforcement Learning", 2021.
    """

    metadata = {"name": "seats_v0", "render_modes": ["ansi"], "is_parallelizable": False}

    def __init__(self, game: SeatGame, max_moves: int = 200, render_mode: str | None = None) -> None:
        super().__init__(game.seats, render_mode)
        self.game, self.max_moves = game, whole("max_moves", max_moves, 1)
        self.moves = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a game.

        Args:
            seed: Seed of the game; None takes the next of the environment's own sequence.
            options: Passed over: PettingZoo's own test hands in options that no environment knows.

        Raises:
            BadInput: The seed is none.
        """
        self.game.reset(self.begin(seed, self.possible_agents[0]))
        self.moves = 0
        self.agent_selection = self.game.turn
        self._look()

    def take(self, agent: str, action: str) -> None:
        """Makes a move.

        Raises:
            BadInput: The game pays somebody who has no seat.
        """
        moved = self.game.act(action)
        for seat, reward in moved.rewards.items():
            if seat not in self.rewards:
                raise BadInput(f"the game pays {shown(seat)}, which is none of its seats {', '.join(self.rewards)}")
            self.rewards[seat] = float(reward)
        self.moves += 1
        self._look()
        if moved.terminated:
            self.finish()
        elif moved.truncated or self.moves >= self.max_moves:
            self.finish(truncated=True)
        else:
            self.agent_selection = self.game.turn

    def _look(self) -> None:
        for seat in self.agents:
            self.texts[seat] = self.game.observe(seat)
            self.infos[seat] = dict(self.game.info(seat))

    def close(self) -> None:
        """Closes the game."""
        self.game.close()


class EncodedAEC(BaseWrapper):
    """Any text view as arrays and numbers, for policies and tests that know nothing else.

    Texts become their UTF-8 bytes, cut or filled with zeros; an action is the number of a text in a list.

    Args:
        env: The view.
        words: The actions.
        width: Bytes of an observation.

    Raises:
        BadInput: There is no action.
    """

    def __init__(self, env: AECEnv, words: Sequence[str], width: int = 512) -> None:
        super().__init__(env)
        if not words:
            raise BadInput("an encoded view needs at least one action")
        self.words, self.width = tuple(words), whole("width", width, 1)
        self._observations = {name: Box(0, 255, (self.width,), np.uint8) for name in self.possible_agents}
        self._actions = {name: Discrete(len(self.words)) for name in self.possible_agents}

    def observation_space(self, agent: str) -> Box:
        """The space of an agent's observations; always the same object."""
        return self._observations[agent]

    def action_space(self, agent: str) -> Discrete:
        """The space of an agent's actions; always the same object."""
        return self._actions[agent]

    def observe(self, agent: str) -> np.ndarray[Any, Any]:
        """What an agent sees, as bytes."""
        raw = self.env.observe(agent).encode("utf-8", "replace")[: self.width]
        return np.frombuffer(raw.ljust(self.width, b"\0"), np.uint8)

    def step(self, action: int | None) -> None:
        """Takes an action by its number; None after the agent's end."""
        self.env.step(None if action is None else self.words[int(action)])


def in_order(make: Callable[..., AECEnv], **settings: Any) -> AECEnv:
    """A view behind PettingZoo's order-enforcing wrapper, as PettingZoo's own modules give theirs."""
    return OrderEnforcingWrapper(make(**settings))

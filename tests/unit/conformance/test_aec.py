"""What is wrong with a text view is found; the sound ones are in the tests of the views themselves."""

from __future__ import annotations

from typing import Any

import pytest

from metagym.conformance import check_text_aec
from metagym.spaces import FreeText

pytest.importorskip("pettingzoo")

from metagym.playing.aec import TextAEC  # noqa: E402

SHARED = FreeText()


class Echo(TextAEC):
    """Two agents say something, twice each; the second is paid for what the first says last."""

    def __init__(self) -> None:
        super().__init__(["player_0", "player_1"])

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.begin(seed, "player_0")
        self.left = 4
        self.texts = {name: "Say something." for name in self.agents}

    def take(self, agent: str, action: str) -> None:
        self.left -= 1
        self.rewards[agent] = 0.5
        self.agent_selection = "player_1" if agent == "player_0" else "player_0"
        if self.left == 0:
            self.rewards["player_0"] = 2.0
            self.finish()


def faulty(**methods: Any) -> Any:
    return type("Faulty", (Echo,), methods)


def lost(self: Any, agent: str, action: str) -> None:
    Echo.take(self, agent, action)
    if self.left == 0:
        self.agents.remove("player_1")
        for book in (self.rewards, self._cumulative_rewards, self.terminations, self.truncations, self.infos):
            del book["player_1"]


def forgetful(self: Any, action: Any) -> None:
    TextAEC.step(self, action)
    if self.left == 0 and len(self.agents) == 2:
        self._cumulative_rewards["player_0"] = 0.0


def endless(self: Any, agent: str, action: str) -> None:
    self.agent_selection = agent


def whose_turn_it_is(self: Any, agent: str) -> str:
    return f"{self.texts[agent]} {self.left}" if agent == self.agent_selection else "\x07"


def looked_at(self: Any, agent: str) -> str:
    self.looks = getattr(self, "looks", 0) + 1
    return f"Seen {self.looks} times."


BOARD = [0]
"""What all instances of a faulty view count in."""


def begun_together(self: Any, seed: int | None = None, options: Any = None) -> None:
    Echo.reset(self, seed)
    BOARD[0] = 0


def counted_together(self: Any, agent: str, action: str) -> None:
    BOARD[0] += 1
    Echo.take(self, agent, action)
    self.texts = dict.fromkeys(self.texts, f"{BOARD[0]} words were said.")


def one_dict(self: Any, agent: str, action: str) -> None:
    Echo.take(self, agent, action)
    for info in self.infos.values():
        info["left"] = self.left


def one_list(self: Any, seed: int | None = None, options: Any = None) -> None:
    Echo.reset(self, seed)
    self.agents = self.possible_agents


def test_a_sound_view_passes() -> None:
    check_text_aec(Echo)


def test_a_view_that_does_not_hand_its_seed_on_is_found_where_chance_is_claimed() -> None:
    def drawn(self: Any, seed: int | None = None, options: Any = None) -> None:
        Echo.reset(self, seed)
        self.texts = {name: f"Say {self.chance % 2}." for name in self.agents}

    check_text_aec(faulty(reset=drawn), chance=True)
    with pytest.raises(AssertionError, match="nine seeds give the same round"):
        check_text_aec(Echo, chance=True)


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        ({"observation_space": lambda self, agent: FreeText()}, "must be one object per instance and agent"),
        ({"action_space": lambda self, agent: SHARED}, "one object per instance"),
        ({"observe": lambda self, agent: "\x07"}, "control character"),
        ({"observe": lambda self, agent: 3}, "is of type int: it must be text"),
        ({"observe": lambda self, agent: f"{id(self)}"}, "two different rounds"),
        ({"step": forgetful}, "player_0 was paid .* and told"),
        ({"take": lost}, "player_1 left without a turn after its end"),
        ({"take": endless}, "still playing after 500 moves"),
        ({"observe": whose_turn_it_is}, "what player_1 sees .* control character"),
        ({"observe": looked_at}, "changes by being looked at"),
        ({"take": one_dict}, "an info that player_0 was handed has changed since"),
        ({"reset": one_list}, "possible_agents has changed"),
        ({"reset": begun_together, "take": counted_together}, "a round changes while another instance plays"),
    ],
)
def test_faults_are_named(methods: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_text_aec(faulty(**methods))

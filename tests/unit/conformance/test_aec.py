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


def test_a_sound_view_passes() -> None:
    check_text_aec(Echo)


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
    ],
)
def test_faults_are_named(methods: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_text_aec(faulty(**methods))

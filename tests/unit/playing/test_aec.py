"""Views of games of several seats: PettingZoo's own tests on the encoded view, ours on the text view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from metagym.conformance import check_text_aec
from metagym.errors import BadInput
from metagym.seeding import rng

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, seed_test  # noqa: E402

from metagym.playing.aec import EncodedAEC, GameAEC, Moved, in_order  # noqa: E402

WORDS = ("take 1", "take 2", "take 3", "pass")


class Nim:
    """Two seats take one to three stones in turn; who takes the last one wins. Each has a secret word."""

    seats = ("player_0", "player_1")

    def __init__(self) -> None:
        self.turn, self.left, self.secrets = "player_0", 0, {}
        self.closed = False

    def reset(self, seed: int) -> None:
        draw = rng(seed, "nim")
        self.left = draw.randrange(5, 12)
        self.secrets = {seat: f"word{draw.randrange(1000)}" for seat in self.seats}
        self.turn = draw.choice(self.seats)

    def observe(self, seat: str) -> str:
        return f"{self.left} stones are left. Your word is {self.secrets[seat]}."

    def info(self, seat: str) -> Mapping[str, Any]:
        return {"admissible": tuple(f"take {n}" for n in range(1, min(3, self.left) + 1))}

    def act(self, action: str) -> Moved:
        number = int(action[-1]) if action in WORDS[:3] else 0
        if not 0 < number <= self.left:
            return Moved({self.turn: -0.1})  # an illegal move costs something, and the turn stays
        self.left -= number
        mover, self.turn = self.turn, self.seats[self.turn == "player_0"]
        if self.left:
            return Moved()
        return Moved({mover: 1.0, self.turn: -1.0}, terminated=True)

    def close(self) -> None:
        self.closed = True


def nim(**settings: Any) -> Any:
    return in_order(lambda: GameAEC(Nim(), **settings))


def take_one(agent: str, observation: str, info: dict[str, Any], move: int) -> str:
    return "take 1"


def test_the_text_view_conforms_with_random_and_with_real_players() -> None:
    check_text_aec(lambda: nim(max_moves=30))
    check_text_aec(nim, take_one, seed=4)


def test_s37_the_loser_learns_of_the_last_move() -> None:
    for seed in range(4):
        env = nim()
        env.reset(seed=seed)
        total = dict.fromkeys(env.possible_agents, 0.0)
        secrets = env.unwrapped.game.secrets
        for agent in env.agent_iter(200):
            observation, reward, terminated, truncated, info = env.last()
            total[agent] += reward
            other = next(seat for seat in secrets if seat != agent)
            assert secrets[agent] in observation and secrets[other] not in observation + repr(info)
            env.step(None if terminated or truncated else "take 1")
        assert sorted(total.values()) == [-1, 1] and not env.agents
        env.close()
        assert env.unwrapped.game.closed


def test_rewards_for_the_move_of_another_are_found_at_the_next_turn_and_none_twice() -> None:
    env = nim()
    env.reset(seed=0)
    first = env.agent_selection
    env.step("pass")
    assert env.agent_selection == first and env.last()[1] == pytest.approx(-0.1)
    env.step("take 1")
    assert env.agent_selection != first and env.last()[1] == 0
    env.step("take 1")
    assert env.last()[1] == 0  # the price of the illegal move was told of before


@pytest.mark.filterwarnings("ignore:Observation.*")
def test_pettingzoos_own_tests_pass_on_the_encoded_view() -> None:
    api_test(EncodedAEC(nim(max_moves=30), WORDS), num_cycles=40)
    seed_test(lambda: EncodedAEC(nim(max_moves=30), WORDS), num_cycles=20)


def test_the_encoded_view_is_the_text_view_in_bytes_and_numbers() -> None:
    played = set()
    for seed in range(4):  # PettingZoo's own tests pass whatever the bytes say and whichever word a number stands for
        text, encoded, chance = nim(max_moves=30), EncodedAEC(nim(max_moves=30), WORDS, width=40), rng(seed, "numbers")
        text.reset(seed=seed)
        encoded.reset(seed=seed)
        while text.agents:
            assert encoded.agents == text.agents and encoded.agent_selection == text.agent_selection
            for agent in text.agents:
                assert bytes(encoded.observe(agent)).rstrip(b"\0").decode() == text.observe(agent)[:40]
            assert encoded.last()[1:] == text.last()[1:]
            ended = any(text.last()[2:4])
            number = chance.randrange(len(WORDS))
            played.add(number)
            text.step(None if ended else WORDS[number])
            encoded.step(None if ended else number)
        assert not encoded.agents
    assert played == set(range(len(WORDS)))


def test_a_game_without_end_is_cut_for_all() -> None:
    env = GameAEC(Nim(), max_moves=3)
    env.reset(seed=1)
    for _ in range(3):
        env.step("pass")
    assert env.truncations == dict.fromkeys(env.possible_agents, True) and not any(env.terminations.values())
    assert sum(env._cumulative_rewards.values()) == pytest.approx(-0.1)  # the last move's; the others were told


def test_encoded_observations_are_cut_and_filled() -> None:
    env = EncodedAEC(GameAEC(Nim()), WORDS, width=8)
    env.reset(seed=0)
    seen = env.observe("player_0")
    assert seen.shape == (8,) and bytes(seen).decode().startswith(str(env.unwrapped.game.left))
    with pytest.raises(BadInput, match="at least one action"):
        EncodedAEC(GameAEC(Nim()), [])


def test_a_round_without_a_seed_is_the_next_of_a_sequence() -> None:
    env = GameAEC(Nim(), render_mode="ansi")
    env.reset(seed=0)
    first = env.render()
    env.reset()
    second = env.render()
    env.reset(seed=0)
    env.reset()
    assert first != second == env.render()


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(BadInput, match="render_mode is None or 'ansi'"):
        GameAEC(Nim(), render_mode="human")
    with pytest.raises(BadInput, match="max_moves is at least 1"):
        GameAEC(Nim(), max_moves=0)
    env = GameAEC(Nim())
    env.reset(seed=0)
    with pytest.raises(BadInput, match="is text"):
        env.step(3)  # type: ignore[arg-type]
    env.game.act = lambda action: Moved({"judge": 1.0})  # type: ignore[method-assign]
    with pytest.raises(BadInput, match="the game pays 'judge', which is none of its seats player_0, player_1"):
        env.step("take 1")

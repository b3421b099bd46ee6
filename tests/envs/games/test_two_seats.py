"""Games of two seats for two policies: the books, the secrets, and PettingZoo's own test on the encoded view."""

from __future__ import annotations

import importlib
import random
from typing import Any

import pytest

from metagym.conformance import check_text_aec
from metagym.errors import BadInput
from metagym.seeding import rng
from metagym_envs.games.catalogue import GAMES, find, settings_for

pytest.importorskip("textarena", reason="needs the extra `games`")
pytest.importorskip("pettingzoo", reason="needs the extra `pettingzoo`")

from pettingzoo.test import api_test  # noqa: E402

from metagym.playing.aec import EncodedAEC  # noqa: E402
from metagym_envs.games.aec import GamesAEC  # noqa: E402
from metagym_envs.games.engine import Table  # noqa: E402

TWO = sorted(name for name, game in GAMES.items() if game.seats == 2)


def legal(agent: str, observation: str, info: dict[str, Any], move: int) -> str:
    return str(rng(move, "policy", agent).choice(info["admissible"]))


def table(name: str) -> Table:
    return Table(find(name), settings_for(find(name), {}))


@pytest.mark.parametrize("name", TWO)
def test_s37_the_text_view_keeps_its_books(name: str) -> None:
    check_text_aec(lambda: GamesAEC(name), legal)
    check_text_aec(lambda: GamesAEC(name))  # any text: ends by two moves that the rules forbid


@pytest.mark.parametrize("name", TWO)
def test_s37_what_one_seat_wins_the_other_loses(name: str) -> None:
    game, ends = table(name), set()
    for seed in range(30):
        game.reset(seed)
        chance = rng(seed, "both")
        while not game.over:
            game.act("[nonsense]" if chance.random() < 0.03 else chance.choice(game.legal() or ()))
        ends.add((game.paid(0), game.paid(1)))
    assert ends >= {(1.0, -1.0), (-1.0, 1.0)} and ends <= {(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)}


def test_kuhn_poker_keeps_its_chips() -> None:
    game, stakes, said = table("KuhnPoker"), set(), ""
    for seed in range(60):
        game.reset(seed)
        chance = rng(seed, "both")
        state = game.engine.state.game_state
        while not game.over:
            game.act(chance.choice(game.legal() or ()))
            assert sum(state["player_chips"].values()) + state["pot"] == 0
            stakes.add(state["pot"])
            said += game.text(0)
        assert state["pot"] == 0 and sum(state["player_chips"].values()) == 0
        assert "round 4" not in game.text(0) + game.text(1)
        better = max((0, 1), key=lambda seat: state["player_chips"][seat])
        assert game.paid(better) == (1.0 if state["player_chips"][better] else 0.0)
    assert stakes == {0, 2, 3} and "wins pot of 4 chips" in said


def test_the_engine_itself_still_needs_that_repair() -> None:
    engine = importlib.import_module("textarena.envs.KuhnPoker.env").KuhnPokerEnv(max_rounds=3)
    state = random.getstate()
    try:
        engine.reset(num_players=2, seed=1)
        engine.step("[bet]")
    finally:
        random.setstate(state)
    assert engine.state.game_state["pot"] == 2, "the engine pays for bets now: drop the repair"


@pytest.mark.parametrize(
    ("name", "secret", "mark"),
    [("KuhnPoker", "player_cards", "Your card is: "), ("LiarsDice", "dice_rolls", "Your current Dice are: ")],
)
def test_s37_a_seat_is_told_its_own_secret_alone(name: str, secret: str, mark: str) -> None:
    game = table(name)
    for seed in range(20):
        game.reset(seed)
        for seat, value in game.engine.state.game_state[secret].items():
            own = f"'{'JQK'[value]}'" if name == "KuhnPoker" else ", ".join(map(str, value))
            told = [line.split(mark)[1] for line in game.text(seat).splitlines() if mark in line]
            assert told and set(told) == {own}


def test_words_of_one_seat_do_not_reach_the_other() -> None:
    env = GamesAEC("ConnectFour")
    env.reset(seed=0)
    env.step("Dear opponent, resign! [col 3]")
    seen = env.observe("player_1")
    assert "resign" not in seen and "into column 3" in seen
    assert env.infos["player_0"]["admissible"] == () and len(env.infos["player_1"]["admissible"]) == 7


def test_pettingzoos_own_test_passes_on_the_encoded_view() -> None:
    api_test(EncodedAEC(GamesAEC("TicTacToe"), [f"[{cell}]" for cell in range(9)]), num_cycles=100)


def test_a_game_of_one_seat_is_refused() -> None:
    with pytest.raises(BadInput, match=r"Sudoku has one seat; games of two seats are ConnectFour, KuhnPoker"):
        GamesAEC("Sudoku")
    with pytest.raises(BadInput, match="no setting 'stones'"):
        GamesAEC("Nim", {"stones": 3})

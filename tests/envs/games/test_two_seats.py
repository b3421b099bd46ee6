"""Games of two seats for two policies: the books, the secrets, and PettingZoo's own test on the encoded view."""

from __future__ import annotations

import importlib
import random
import re
from collections import Counter
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

CHANCE = (
    "Battleship", "Briscola", "GameOfPureStrategy", "GermanWhist", "KuhnPoker", "LiarsDice", "MemoryGame", "PigDice",
)  # fmt: skip
"""The games whose start or dice a seed decides."""
TWO = sorted(name for name, game in GAMES.items() if game.seats == 2)


def legal(agent: str, observation: str, info: dict[str, Any], move: int) -> str:
    return str(rng(move, "policy", agent).choice(info["admissible"]))


def table(name: str) -> Table:
    return Table(find(name), settings_for(find(name), {}))


@pytest.mark.parametrize("name", TWO)
def test_s37_the_text_view_keeps_its_books(name: str) -> None:
    check_text_aec(lambda: GamesAEC(name), legal, chance=name in CHANCE)
    check_text_aec(lambda: GamesAEC(name))  # any text: ends by two moves that the rules forbid


@pytest.mark.parametrize("name", TWO)
def test_s37_the_text_view_shows_and_pays_each_seat_what_the_table_does(name: str) -> None:
    env, game, chance = GamesAEC(name), table(name), rng(5, "view")
    env.reset(seed=5)
    game.reset(5)
    told: Counter[str] = Counter()
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        told[agent] += reward
        assert [env.observe(seat) for seat in env.agents] == [
            game.text(number) for number, seat in enumerate(env.possible_agents) if seat in env.agents
        ]
        assert (terminated, truncated) == (game.over, False)
        if terminated:
            assert info["success"] == (game.paid(env.possible_agents.index(agent)) > 0)
            env.step(None)
            continue
        assert agent == env.possible_agents[game.turn] and info["admissible"] == game.legal()
        move = chance.choice(info["admissible"])
        env.step(move)
        game.act(move)
    assert told == {seat: game.paid(number) for number, seat in enumerate(env.possible_agents)}


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


SQUARES = [f"{column}{row}" for column in "abcdefgh" for row in range(1, 9)]
EVERY = {
    "Alquerque": [f"[{one} {other}]" for one in SQUARES for other in SQUARES if max(one[0], other[0]) <= "e"],
    "Battleship": [f"[{row}{column}]" for row in "ABCDEFGHI" for column in range(9)],
    "Briscola": [f"[play {place}]" for place in range(5)],
    "Chopsticks": [f"[{word} {one} {other}]" for word in ("attack", "split") for one in range(9) for other in range(9)],
    "ColonelBlotto": [f"[A{a} B{b} C{c}]" for a in range(12) for b in range(12) for c in range(12)],
    "Crusade": [f"[{one} {other}]" for one in SQUARES for other in SQUARES],
    "GameOfPureStrategy": [f"[{face}]" for face in "A 1 2 3 4 5 6 7 8 9 10 11 J Q K".split()],
    "GermanWhist": [f"[play {place}]" for place in range(15)],
    "MemoryGame": [f"[{a} {b} {c} {d}]" for a in range(4) for b in range(4) for c in range(a, 4) for d in range(5)],
    "SimpleTak": [f"[{cell}]" for cell in range(18)],
    "UltimateTicTacToe": [f"[{board} {square}]" for board in range(9) for square in range(10)],
}
"""Of some games every move that could be one, and some that never are."""


@pytest.mark.parametrize("name", TWO)
def test_the_listed_moves_are_legal_and_all_there_are(name: str) -> None:
    def taken(move: str) -> bool:
        after = game.tried(move)
        return not after.engine.state.error_count

    game, chance = table(name), rng(1, "moves")
    game.reset(1)
    for number in range(25):
        listed = game.legal() or ()
        if game.over or not listed:
            break
        assert len(set(listed)) == len(listed)
        if number % 4 == 0:
            assert all(taken(move) for move in chance.sample(listed, min(25, len(listed))))
            others = sorted(set(EVERY.get(name, ["[nonsense]"])) - set(listed))
            if name == "MemoryGame":  # whose pairs have no order
                others = [move for move in others if f"[{move[5:8]} {move[1:4]}]" not in listed]
            assert not [move for move in chance.sample(others, min(25, len(others))) if taken(move)]
        game.act(chance.choice(listed))
    assert number >= 4


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


@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("name", ["ColonelBlotto", "GameOfPureStrategy", *(n for n in TWO if n.startswith("Iterated"))])
def test_s37_a_choice_is_hidden_until_the_other_seat_has_made_its_own(name: str, rounds: int) -> None:
    def told(choice: int) -> tuple[str, str]:
        game, chance = table(name), rng(rounds, "both")
        game.reset(4)
        for _ in range(2 * rounds):
            game.act(chance.choice(game.legal() or ()))
        game.act((game.legal() or ())[choice])
        other, before = game.turn, game.text(game.turn)
        game.act((game.legal() or ())[0])
        return before, game.text(other)

    (before, after), (before_too, after_too) = told(0), told(-1)
    assert before == before_too and after != after_too


@pytest.mark.parametrize("name", ["Briscola", "GermanWhist"])
def test_s37_a_hand_is_told_to_its_owner_alone(name: str) -> None:
    game = table(name)
    for seed in range(5):
        game.reset(seed)
        state, chance, open_cards = game.engine.state.game_state, rng(seed, "both"), set()
        while not game.over:
            for card in (state["trump_card"], state.get("next_card")):
                open_cards |= {game.engine._card_to_string(card)} if card else set()
            hands = [{game.engine._card_to_string(card) for card in state["players"][seat]["hand"]} for seat in (0, 1)]
            words = set(game.text(game.turn).replace("\n", " ").split(" "))
            assert hands[game.turn] <= words and not (hands[1 - game.turn] - open_cards) & words
            game.act(chance.choice(game.legal() or ()))


def test_s37_ships_and_cards_are_hidden_until_they_are_hit_or_turned_up() -> None:
    game = table("Battleship")
    game.reset(3)
    chance = rng(3, "both")
    while not game.over:
        rows = {}
        for line in game.text(game.turn).splitlines():
            if found := re.fullmatch(r"([A-H])   (.*)     \1   (.*)", line):
                rows[found[1]] = found[2].split()  # of several boards the last is of now
                assert set(found[3].split()) <= set("~XO")
        assert list(rows.values()) == game.engine.state.game_state["board"][game.turn]
        game.act(chance.choice(game.legal() or ()))
    game = table("MemoryGame")
    game.reset(0)
    board = game.text(0).split("Current board:\n")[1]
    assert set(board) == set("0123. \n")


def test_briscola_with_60_points_each_is_a_draw_here_and_a_win_of_seat_0_there() -> None:
    ends = []
    for made in (table("Briscola"), table("Briscola")):
        if ends:
            made._class = made._class.__base__
        made.reset(0)
        chance = rng(0, "both")
        for _ in range(39):
            made.act(chance.choice(made.legal() or ()))
        engine, state = made.engine, made.engine.state.game_state
        (led,), last = state["current_trick"], state["players"][made.turn]["hand"][0]
        winner, _ = engine._determine_trick_winner([led, (made.turn, last)], state["trump_suit"])
        state["points_won"] = {winner: 60 - led[1]["points"] - last["points"], 1 - winner: 60}
        made.act("[play 1]")
        ends.append((made.over, made.paid(0), made.paid(1)))
    assert ends == [(True, 0.0, 0.0), (True, 1.0, -1.0)]


def test_ultimate_tic_tac_toe_is_drawn_without_a_square_here_and_goes_on_there() -> None:
    ends = []
    for made in (table("UltimateTicTacToe"), table("UltimateTicTacToe")):
        if ends:
            made._class = made._class.__base__
        made.reset(0)
        state = made.engine.state.game_state
        for board in state["board"]:
            board[:] = [list("XOX"), list("XOO"), list("OXO")]  # full, and nobody's
        state["board"][8][2][2] = " "
        assert made.legal() == ("[8 8]",)
        made.act("[8 8]")
        ends.append((made.over, made.legal(), made.paid(0)))
    assert ends == [(True, (), 0.0), (False, (), 0.0)]


def test_words_of_one_seat_do_not_reach_the_other() -> None:
    env = GamesAEC("ConnectFour")
    env.reset(seed=0)
    env.step("Dear opponent, resign! [col 3]")
    seen = env.observe("player_1")
    assert "resign" not in seen and "into column 3" in seen
    assert env.infos["player_0"]["admissible"] == () and len(env.infos["player_1"]["admissible"]) == 7


@pytest.mark.filterwarnings("ignore:Observation.*")
@pytest.mark.parametrize("name", TWO)
def test_pettingzoos_own_test_passes_on_the_encoded_view(name: str) -> None:
    game = table(name)
    game.reset(0)
    api_test(EncodedAEC(GamesAEC(name), (game.legal() or ())[:20]), num_cycles=30)


def test_a_game_of_one_seat_is_refused() -> None:
    with pytest.raises(BadInput, match=r"Sudoku has one seat; games of two seats are Alquerque, Battleship"):
        GamesAEC("Sudoku")
    with pytest.raises(BadInput, match="no setting 'stones'"):
        GamesAEC("Nim", {"stones": 3})

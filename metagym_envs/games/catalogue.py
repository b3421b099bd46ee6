"""Which of TextArena's games are played here, and why the others are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from metagym.errors import BadInput, UnknownName
from metagym_envs.games import mended, moves
from metagym_envs.games.limits import check_settings


@dataclass(frozen=True)
class Game:
    """A game of TextArena.

    Attributes:
        name: As in TextArena's ids, without the version.
        folder: Its folder in ``textarena.envs``; the class is named after it.
        seats: 1 or 2.
        settings: Of its constructor.
        legal: ``legal(engine) -> moves``; None where there are too many to list.
        solved: ``solved(engine)``: whether a game of one seat is solved; None where the engine's reward of 1 says so.
        visible: Everybody sees everything and nothing is left to chance: a move can be tried on a copy.
        variants: By split, settings that make up its tasks, for a game in which a seed changes nothing.
        mend: Makes a class of the engine keep its own rules.
    """

    name: str
    folder: str
    seats: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    legal: Callable[[Any], list[str]] | None = None
    solved: Callable[[Any], bool] | None = None
    visible: bool = False
    variants: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    mend: Callable[[type[Any]], type[Any]] | None = None


def _tile_is_there(env: Any) -> bool:
    return bool(env._max_tile() >= env.target_tile)  # the engine pays 1.0 for enough smaller tiles as well


def _disks(count: int) -> dict[str, int]:
    return {"num_disks": count, "max_turns": 2 ** (count + 1) - 2}  # twice the shortest solution, as TextArena has it


GAMES: Mapping[str, Game] = {
    game.name: game
    for game in (
        Game("2048", "Game2048", 1, {"target_tile": 128}, moves.twenty_forty_eight, _tile_is_there),
        Game("FrozenLake", "FrozenLake", 1, {"size": 6, "num_holes": 8}, moves.frozen_lake),
        Game("GuessTheNumber", "GuessTheNumber", 1, {"min_number": 1, "max_number": 10_000, "max_turns": 20}),
        Game("LightsOut", "LightsOut", 1, {"size": 5, "max_turns": 50}, moves.lights_out),
        Game(
            "Mastermind",
            "Mastermind",
            1,
            {"code_length": 5, "num_numbers": 8, "max_turns": 20, "duplicate_numbers": False},
        ),
        Game(
            "Minesweeper",
            "Minesweeper",
            1,
            {"rows": 8, "cols": 8, "num_mines": 10, "max_turns": 100},
            moves.minesweeper,
            lambda env: bool(env._is_solved()),
        ),
        Game("Secretary", "Secretary", 1, {"N": 10}, moves.secretary),
        Game("Sokoban", "Sokoban", 1, {"dim_room": (6, 6), "num_boxes": 2, "max_turns": 60}, moves.sokoban),
        Game("Sudoku", "Sudoku", 1, {"clues": 60, "max_turns": 100}),
        Game(
            "TowerOfHanoi",
            "TowerOfHanoi",
            1,
            {},
            moves.tower_of_hanoi,
            variants={"train": (_disks(3), _disks(4)), "valid": (_disks(5),), "test": (_disks(6),)},
        ),
        Game("Alquerque", "Alquerque", 2, {}, moves.alquerque),
        Game("Battleship", "Battleship", 2, {"grid_size": 8}, moves.battleship),
        Game("Briscola", "Briscola", 2, {}, moves.briscola, mend=mended.briscola),
        Game("Chopsticks", "Chopsticks", 2, {"max_turns": 40}, moves.chopsticks, visible=True),
        Game(
            "ColonelBlotto",
            "ColonelBlotto",
            2,
            {"num_fields": 3, "num_total_units": 10, "num_rounds": 5},
            moves.colonel_blotto,
        ),
        Game("ConnectFour", "ConnectFour", 2, {"num_rows": 6, "num_cols": 7}, moves.connect_four, visible=True),
        Game("Crusade", "Crusade", 2, {}, moves.crusade),
        Game("GameOfPureStrategy", "GameOfPureStrategy", 2, {}, moves.game_of_pure_strategy),
        Game("GermanWhist", "GermanWhist", 2, {}, moves.german_whist),
        Game("IteratedMatchingPennies", "IteratedMatchingPennies", 2, {"num_rounds": 5}, moves.matching_pennies),
        Game("IteratedRockPaperScissors", "IteratedRockPaperScissors", 2, {"num_rounds": 5}, moves.rock_paper_scissors),
        Game("IteratedTwoThirdsAverage", "IteratedTwoThirdsAverage", 2, {"num_rounds": 5}, moves.two_thirds_average),
        Game("KuhnPoker", "KuhnPoker", 2, {"max_rounds": 3}, moves.kuhn_poker, mend=mended.kuhn_poker),
        Game("LiarsDice", "LiarsDice", 2, {"num_dice": 5}, moves.liars_dice),
        Game("MemoryGame", "MemoryGame", 2, {"grid_size": 4, "max_turns": 100}, moves.memory_game),
        Game("Nim", "Nim", 2, {"piles": [4, 2, 3, 7]}, moves.nim, visible=True),
        Game("Othello", "Othello", 2, {"board_size": 6}, moves.othello),
        Game("PigDice", "PigDice", 2, {"winning_score": 50, "max_turns": 50}, moves.pig_dice),
        Game("SimpleTak", "SimpleTak", 2, {"board_size": 4}, moves.simple_tak, visible=True),
        Game("TicTacToe", "TicTacToe", 2, {}, moves.tic_tac_toe, visible=True),
        Game(
            "UltimateTicTacToe",
            "UltimateTicTacToe",
            2,
            {},
            moves.ultimate_tic_tac_toe,
            mend=mended.ultimate_tic_tac_toe,
        ),
        Game("WildTicTacToe", "WildTicTacToe", 2, {}, moves.wild_tic_tac_toe, visible=True),
    )
}
"""The games by name. Settings are ours where TextArena's own leave hardly more games than a split has tasks."""

_WORDS = "it needs word lists of NLTK that are no part of any package, and its module fetches them when imported"
_JUDGE = "a language model behind a web service is a part of its rules"
_NEWER = "its module is a syntax error before Python 3.12, and MetaGym keeps to games that run on all its Pythons"
_TALK = "its players talk freely, so that no script can sit in the other seat"
_MANY = "it needs three seats or more"
_UNSEEN = "it is in TextArena without being registered there"
_TEXT_PAID = "a forbidden move is paid a text in place of a number"
_FEW = "it draws on so few words or puzzles of its own that held-out games would repeat those of training"

OUT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "Codenames", "DontSayIt", "Hangman", "LetterAuction", "SpellingBee", "WordChains", "WordLadder",
            "WordSearch", "Wordle",
        ),
        _WORDS,
    ),
    **dict.fromkeys(("Debate", "GuessWho", "ScenarioPlanning", "TwentyQuestions"), _JUDGE),
    **dict.fromkeys(
        ("Checkers", "Chess", "IteratedStagHunt", "Klondike", "ReverseTicTacToe", "UltimateTexasHoldem"), _NEWER
    ),
    **dict.fromkeys(
        (
            "IteratedPrisonersDilemma", "IteratedUltimatumGame", "NewRecruit", "SimpleBlindAuction",
            "SimpleNegotiation", "Taboo", "TruthAndDeception", "TwoDollar", "UsedCarNegotiation",
        ),
        _TALK,
    ),
    **dict.fromkeys(
        (
            "BlindAuction", "CharacterConclave", "Diplomacy", "MarketEntryGame", "Negotiation", "Poker",
            "PublicGoodsGame", "ScorableGames", "SecretMafia", "SettlersOfCatan", "Snake", "Surround",
            "ThreePlayerGOPS", "ThreePlayerIPD", "ThreePlayerTicTacToe",
        ),
        _MANY,
    ),
    **dict.fromkeys(("Coup", "Hanabi", "ImTheBoss", "LeTruc", "TwoRoomsAndABoom"), _UNSEEN),
    **dict.fromkeys(("Cryptarithm", "Slitherlink", "ThreeCardMonte"), _TEXT_PAID),
    "BabyAiText": "it needs gym-minigrid and babyai_text, which are no part of TextArena",
    "Bandit": "a wrong last choice is paid its regret, so that worse choices earn more",
    "Blackjack": "there is no solved game, only a share of hands won by luck",
    "Breakthrough": "a diagonal step is for captures only, so that a blocked side has no legal move and loses by it",
    "Countdown": "nothing says that its target can be reached",
    "Crosswords": _FEW,
    "LogicPuzzle": _FEW,
    "FifteenPuzzle": "solving it crashes the engine, and half of its boards cannot be solved",
    "Golf": "the last turn that its rules promise the other player is not played, and a tie is paid as a win of seat 0",
    "HighSociety": "its rules count the money that is left and its payment does not, and equal bids go on without end",
    "IndianPoker": "a check of one round counts in the next, and a bet beyond the other's chips cannot be called",
    "LinesOfAction": "who is connected by the other's capture does not win, against its own rules",
    "LeducHoldem": "a raise costs who calls it more than who made it, and the order of moves in its texts varies",
    "PegJump": "its table of jumps lacks jumps of the board and has some across no line",
    "QuantumTicTacToe": "at a collapse marks vanish, and entangled ones are left open, against its own rules",
    "RushHour": "it prints to the terminal and has no limit of turns, so that a game may never end",
    "Santorini": "nobody loses by forbidden moves, so that a game may never end",
    "Set": "one card named three times is paid as a set, and there is no solved game",
    "SpiteAndMalice": "a player may draw for good, and one with an empty hand has no other way to go on",
    "Stratego": "each side is shown the other's pieces with their ranks",
    "Tak": "a won game crashes the engine",
}  # fmt: skip
"""Games that are not played here -> the reason, as the end of a sentence (TextArena 0.7.4)."""


def find(name: str) -> Game:
    """A game by its name.

    Raises:
        BadInput: TextArena has it and it is not played here; the sentence says why.
        UnknownName: There is none.
    """
    if isinstance(name, str):
        bare = name.split("-v", 1)[0]
        if bare in GAMES:
            return GAMES[bare]
        if bare in OUT:
            raise BadInput(f"TextArena's {bare} is not played here: {OUT[bare]}")
    raise UnknownName(f"there is no game {name!r}; there are {', '.join(GAMES)}")


def settings_for(game: Game, given: Mapping[str, Any]) -> dict[str, Any]:
    """Its settings with those that a caller gave.

    Raises:
        BadInput: It has no such setting, or no game is made of them.
    """
    for name in given:
        if name not in game.settings:
            raise BadInput(f"{game.name} has no setting {name!r}; it has {', '.join(game.settings) or 'none'}")
    settings = {**game.settings, **given}
    check_settings(game.name, settings)
    return settings

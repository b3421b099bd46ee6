"""TextArena's own game loop beside `metagym.play`, on the same games, seeds and moves.

Both sides play TextArena's engine. Its loop is the one of its documentation: ``make``, ``reset``, then
``get_observation``, an agent and ``step`` until the game is done, ``close`` for the rewards. Ours is the family Games.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import metagym
from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import Peer, command
from metagym import Family
from metagym.chat import Request, scripted
from metagym.seeding import derive

PEER = Peer(
    label="TextArena",
    packages={"textarena": "0.7."},
    extra="games",
    unlike=(
        "TextArena's loop seats any agents, also several against each other; here are its games for one, since our "
        "family seats a script in the other chair, which is other work. Its default wrappers show the agent the whole "
        "game in one text, joined anew at each turn; the raw form shows what is new. Our family shows what is new and "
        "sends the conversation as messages. It gives each game a random generator of its own, guarded by a lock, so "
        "that games can be played at once; TextArena draws from Python's global one, so its games are played one after "
        "another. It lists the legal moves where they are few, it keeps every turn, and it puts the engine into a "
        "thread, since some starts take long: the line without threads tells what that costs."
    ),
)
_CODES = tuple(itertools.permutations(range(1, 9), 5))


def move(game: str, turn: int) -> str:
    """The model: what is played in a turn of a game, whatever the texts say."""
    if game == "Mastermind":
        return "[" + " ".join(map(str, _CODES[turn * 331 % len(_CODES)])) + "]"
    if game == "LightsOut":
        return f"[{turn * 7 % 5} {turn * 3 % 5}]"
    return f"[{1 + turn * 487 % 10_000}]"


GAMES = ("Mastermind", "LightsOut", "GuessTheNumber")


def answer(game: str, request: Request) -> str:
    """The same for our seat: each turn before it left a question and an answer."""
    return move(game, len(request.messages) // 2)


class Agent:
    """The same for TextArena: a callable from an observation to an action."""

    def __init__(self, game: str) -> None:
        self.game, self.turn = game, -1

    def __call__(self, observation: str) -> str:
        """The next move."""
        self.turn += 1
        return move(self.game, self.turn)


def play_ours(family: Family, count: int, width: int, hosts: str | None) -> list[Result]:
    """`metagym.play`, game by game."""
    results: list[Result] = []
    for game in GAMES:
        tasks = [task for task in family.tasks("train") if task.type == game][:count]
        model = scripted(functools.partial(answer, game), id=f"moves of {game}")
        played = metagym.play(tasks, model, family=family, concurrency=width, hosts=hosts)
        results += [(game, round(episode.ret, 9), bool(episode.success), episode.steps) for episode in played]
    return results


def play_theirs(family: Family, count: int, suffix: str) -> list[Result]:
    """TextArena's loop over the same starts, rewards told as our family tells them."""
    import textarena

    from metagym_envs.games.catalogue import GAMES as CATALOGUE
    from metagym_envs.games.env import PARTIAL

    results: list[Result] = []
    for game in GAMES:
        tasks = [task for task in family.tasks("train") if task.type == game][:count]
        for task in tasks:
            env: Any = textarena.make(f"{game}-v0{suffix}", **CATALOGUE[game].settings)
            env.reset(num_players=1, seed=derive(task.seed, "deal", 0))  # the seed that our family hands to the engine
            agent, done, steps = Agent(game), False, 0
            while not done:
                _, observation = env.get_observation()
                done, _ = env.step(agent(observation))
                steps += 1
            rewards, _ = env.close()
            paid = float(rewards[0])
            won = paid >= 1.0
            results.append((game, round(1.0 if won else min(max(paid, 0.0), PARTIAL), 9), won, steps))
    return results


def measure(tiny: bool) -> list[Contest]:
    """TextArena with its default wrappers and raw."""
    from metagym_envs.games.family import Games

    count, width = (2, 2) if tiny else (24, 8)
    family = Games(games=GAMES)
    arms: dict[str, Callable[[], Sequence[Result]]] = {
        "metagym.play": lambda: play_ours(family, count, width, None),
        "metagym.play, without threads": lambda: play_ours(family, count, width, "inline"),
        "TextArena's loop": lambda: play_theirs(family, count, ""),
        "TextArena's loop, raw": lambda: play_theirs(family, count, "-raw"),
    }
    return [
        contest(
            f"TextArena's {', '.join(GAMES)}, {count} games each",
            arms,
            [
                Line(
                    "TextArena: its loop",
                    "metagym.play",
                    "TextArena's loop",
                    "theirs one after another, the whole game in each text",
                    True,
                ),
                Line(
                    "TextArena: its loop, raw",
                    "metagym.play",
                    "TextArena's loop, raw",
                    "only what is new",
                    True,
                ),
                Line(
                    "TextArena: its loop, raw, ours without threads",
                    "metagym.play, without threads",
                    "TextArena's loop, raw",
                    "only what is new",
                ),
            ],
            repeats=2 if tiny else 9,
            count=lambda results: sum(result[3] for result in results),
            unit="step",
            scale="us",
            equal="reward, success and number of moves of every game",
        )
    ]


if __name__ == "__main__":
    sys.exit(command("textarena"))

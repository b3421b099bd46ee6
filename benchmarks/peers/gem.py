"""GEM (A Gym for Generalist LLMs) beside `metagym.play`, on GEM's own games.

Both sides play the same objects of the same class with the same seeds, so only what stands around them differs: GEM's
loop, its vector environment and its history wrapper on one side, a family of ours and `play` on the other.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium

import metagym
from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import Peer, command
from metagym import Family, Task, TaskSet
from metagym.chat import Request, scripted
from metagym.families import AnswerForm
from metagym.spaces import FreeText

PEER = Peer(
    label="GEM",
    packages={"gem-llm": "0.1.0"},
    place="gem",
    unlike=(
        "GEM is a set of environments with wrappers and leaves the loop to its user: no requests, no record of turns, "
        "no failures kept apart. Its plain loop is the least there can be. Its vector environment copies all "
        "observations and infos at each step and its history wrapper joins the whole conversation into one text at "
        "each turn, as a language model would read it; ours sends the conversation as messages and shares them. GEM "
        "draws from Python's global generator, so games that draw while they are played cannot be played several at a "
        "time with equal results; this one draws at its start alone."
    ),
)
GAME = "game:GuessTheNumber-v0-hard"
_TOLD = re.compile(r"you guessed (\d+), and the target number is (higher|lower)")


def reply(text: str) -> str:
    """The model: seven up where the number is higher, one down where it is lower, from what it was told last."""
    told = _TOLD.search(text, max(0, text.rfind("At turn")))  # a long history costs it nothing
    guess = 4 if told is None else int(told[1]) + (7 if told[2] == "higher" else -1)
    return f"\\boxed{{{guess}}}"


def answer(request: Request) -> str:
    """The same for our seat."""
    return reply(request.messages[-1].content)


class Bridge(gymnasium.Env[str, str]):
    """GEM's environment as one of Gymnasium's; nothing but the space is added."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.observation_space = self.action_space = FreeText()
        self._env = make()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts the game of a seed."""
        return self._env.reset(seed=seed)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One move."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        return observation, float(reward), terminated, truncated and not terminated, info


def family_of(make: Callable[[], Any], count: int) -> Family:
    """The game's seeds as a family."""
    tasks = TaskSet([Task("GEM", str(seed), seed=seed) for seed in range(count)])
    return Family(
        "GEM",
        lambda split: tasks,
        lambda task: Bridge(make),
        success=lambda info, ret, terminated: ret >= 1,
        max_steps=100,
        host="inline",
        answer=AnswerForm("", lambda found, legal: found.text or "", "no answer"),
    )


def play_ours(family: Family, count: int, width: int) -> list[Result]:
    """`metagym.play`."""
    tasks = list(family.tasks("train"))[:count]
    played = metagym.play(tasks, scripted(answer), family=family, concurrency=width)
    return [(round(episode.ret, 9), bool(episode.success), episode.steps) for episode in played]


def play_loop(make: Callable[[], Any], count: int) -> list[Result]:
    """GEM's plain loop: one game after another."""
    results: list[Result] = []
    for seed in range(count):
        env = make()
        text, _ = env.reset(seed=seed)
        ret, steps, ended = 0.0, 0, False
        while not ended:
            text, reward, terminated, truncated, _ = env.step(reply(text))
            ret, steps, ended = ret + float(reward), steps + 1, terminated or truncated
        results.append((round(ret, 9), ret >= 1, steps))
    return results


def play_vector(make_vec: Callable[[int], Any], count: int, width: int) -> list[Result]:
    """GEM's vector environment, a batch of games after another; a game that is over is not stepped any more."""
    results: list[Result] = []
    for first in range(0, count, width):
        size = min(width, count - first)
        envs = make_vec(size)
        texts, _ = envs.reset(seed=list(range(first, first + size)))
        returns, steps, going = [0.0] * size, [0] * size, list(range(size))
        while going:
            found, rewards, terminated, truncated, _ = envs.step({i: reply(texts[i]) for i in going})
            for place, i in enumerate(going):
                texts[i] = found[place]
                returns[i] += float(rewards[place])
                steps[i] += 1
            going = [i for place, i in enumerate(going) if not (terminated[place] or truncated[place])]
        results += [(round(ret, 9), ret >= 1, taken) for ret, taken in zip(returns, steps, strict=True)]
    return results


def measure(tiny: bool) -> list[Contest]:
    """The plain loop, the vector environment, and the latter with GEM's history wrapper."""
    import gem
    from gem.wrappers.wrapper_factory import get_wrapper_fns

    with contextlib.redirect_stdout(io.StringIO()):
        history = get_wrapper_fns("concat_with_action")

    def make() -> Any:
        return gem.make(GAME)

    def vector(size: int, wrappers: Any = None) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its size
            return gem.make_vec([GAME] * size, wrappers=wrappers)

    count, width = (4, 2) if tiny else (480, 16)
    family = family_of(make, count)
    arms: dict[str, Callable[[], Sequence[Result]]] = {
        "metagym.play": lambda: play_ours(family, count, width),
        "GEM, plain loop": lambda: play_loop(make, count),
        "GEM, vector environment": lambda: play_vector(vector, count, width),
        "GEM, vector environment with history": lambda: play_vector(lambda size: vector(size, history), count, width),
    }
    return [
        contest(
            f"GEM's GuessTheNumber, {count} games, {width} at a time",
            arms,
            [
                Line(
                    "GEM: vector environment with history",
                    "metagym.play",
                    "GEM, vector environment with history",
                    "both show the model the conversation",
                    True,
                ),
                Line("GEM: vector environment", "metagym.play", "GEM, vector environment", "no conversation"),
                Line(
                    "GEM: plain loop",
                    "metagym.play",
                    "GEM, plain loop",
                    "no conversation, one at a time",
                    True,
                ),
            ],
            repeats=2 if tiny else 11,
            count=lambda results: sum(result[2] for result in results),
            unit="step",
            scale="us",
            equal="return, success and number of steps of every game",
        )
    ]


if __name__ == "__main__":
    sys.exit(command("gem"))

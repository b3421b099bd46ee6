"""A game of guessing, written once for peers that bring no game of their own: question, answers, model and family.

The model is a scripted one behind a server that speaks OpenAI's protocol on loopback, in a process of its own: each
side reaches it through its own client.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import gymnasium

from benchmarks.peers.pairs import Result
from metagym import Family, Task, TaskSet
from metagym.chat import Request
from metagym.families import AnswerForm
from metagym.seeding import derive
from metagym.spaces import FreeText

LARGEST = 40
QUESTION = f"I have a number from 1 to {LARGEST} in mind. Guess it; answer with a number alone."
_NUMBER = re.compile(r"\d+")


def secret(number: int) -> int:
    """The number that task `number` has in mind."""
    return 1 + derive(0, "guesses", number) % LARGEST


def guess_of(text: str) -> int:
    """The guess in an answer; 0 where there is none."""
    found = _NUMBER.search(text)
    return int(found[0]) if found else 0


def told(guess: int, number: int) -> str:
    """What the game says to a wrong guess."""
    return f"The number is {'higher' if guess < number else 'lower'} than {guess}."


def brain(request: Request) -> str:
    """The model: seven up where the number is higher, one down where it is lower."""
    text = request.messages[-1].content
    if text == QUESTION:
        return "4"
    return str(guess_of(text) + (7 if "higher" in text else -1))


class Guessing(gymnasium.Env[str, str]):
    """The game; 1.0 for the right number."""

    def __init__(self, number: int) -> None:
        self.observation_space = self.action_space = FreeText()
        self.number = number

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Asks."""
        return QUESTION, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answers a guess."""
        guess = guess_of(action)
        right = guess == self.number
        return ("" if right else told(guess, self.number)), float(right), right, False, {"success": right}


def family(count: int, turns: int) -> Family:
    """`count` games of so many turns at most."""
    tasks = TaskSet([Task("Guessing", str(number), seed=number) for number in range(count)])
    return Family(
        "Guessing",
        lambda split: tasks,
        lambda task: Guessing(secret(task.seed)),
        max_steps=turns,
        host="inline",
        answer=AnswerForm("", lambda found, legal: found.text or "", "no answer"),
    )


def play_ours(spec: str, count: int, width: int, turns: int) -> list[Result]:
    """`metagym.play` over the same server."""
    import metagym

    whole = family(count, turns)
    played = metagym.play(list(whole.tasks("train")), spec, family=whole, concurrency=width)
    assert all(episode.status.value in ("ok", "truncated") for episode in played), played[0].cause
    return [(episode.ret, episode.steps) for episode in played]


def _serve(pipe: Connection) -> None:
    from tests.support.fake_server import FakeServer

    with FakeServer(brain) as server:
        pipe.send(server.base_url)
        pipe.poll(None)


@contextmanager
def served() -> Iterator[str]:
    """Runs the server in a process; gives its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.join()


def count_turns(results: Sequence[Result]) -> int:
    """Turns of all games."""
    return sum(result[-1] for result in results)

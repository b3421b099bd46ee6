"""verifiers 0.1 (environments that roll out in the calling process) beside `metagym.play`, over one loopback server.

A multi-turn environment of verifiers' own base class, evaluated by its own ``evaluate``; the same game as a family of
ours. Each side speaks HTTP through its own client.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from benchmarks.peers import guesses
from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import Peer, command

PEER = Peer(
    label="verifiers 0.1",
    packages={"verifiers": "0.1."},
    place="verifiers-classic",
    unlike=(
        "Both sides keep conversation, times and token counts and speak HTTP to the same server. verifiers parses "
        "replies into typed messages, knows tools, scores by rubrics (several functions, groups of rollouts) and "
        "shows progress, which is switched off here; ours checks deadlines, keeps failures of an episode to it and "
        "derives a sampling seed for each call. Most of the time of either goes into HTTP."
    ),
)


def make_env(count: int, turns: int) -> Any:
    """The game as one of verifiers' environments."""
    import verifiers as vf
    from datasets import Dataset

    class Guessing(vf.MultiTurnEnv):
        """See `benchmarks.peers.guesses`."""

        @vf.stop
        async def found(self, state: Any) -> bool:
            return bool(state["trajectory"]) and _last(state) == int(state["answer"])

        async def env_response(self, messages: Any, state: Any, **more: Any) -> Any:
            text = guesses.told(_last(state), int(state["answer"]))
            return [{"role": "user", "content": text}]

    async def right(state: Any) -> float:
        return float(_last(state) == int(state["answer"]))

    rows = [{"question": guesses.QUESTION, "answer": str(guesses.secret(number))} for number in range(count)]
    data = Dataset.from_list(rows)
    rubric = vf.Rubric(funcs=[right])
    return Guessing(dataset=data, eval_dataset=data, rubric=rubric, max_turns=turns)


def _last(state: Any) -> int:
    return guesses.guess_of(str(state["trajectory"][-1]["completion"][-1]["content"]))


def play_theirs(env: Any, address: str, width: int) -> list[Result]:
    """Its own ``evaluate``, without its progress bar."""
    from verifiers.types import ClientConfig

    def silent(*given: Any) -> None:
        """In place of the bar."""

    found = asyncio.run(
        env.evaluate(
            ClientConfig(api_key_var="METAGYM_PEER_KEY", api_base_url=address),
            "fake",
            sampling_args={"temperature": 0.0, "max_tokens": 500},
            max_concurrent=width,
            on_start=silent,
            on_progress=silent,
            on_log=silent,
        )
    )
    rows = sorted(found["outputs"], key=lambda row: row["example_id"])
    return [(float(row["reward"]), int(row["metrics"]["num_turns"])) for row in rows]


def measure(tiny: bool) -> list[Contest]:
    """One contest."""
    import logging

    logging.disable(logging.WARNING)
    os.environ["METAGYM_PEER_KEY"] = "none"
    count, width, turns = (4, 2, 3) if tiny else (32, 16, 8)
    env = make_env(count, turns)
    with guesses.served() as address:
        spec = f"openai:fake?base_url={address}"  # a client is made in each repetition, as theirs is
        found = contest(
            f"guessing, {count} games of up to {turns} turns, {width} at a time",
            {
                "metagym.play": lambda: guesses.play_ours(spec, count, width, turns),
                "verifiers 0.1": lambda: play_theirs(env, address, width),
            },
            [
                Line(
                    "verifiers: 0.1, evaluate",
                    "metagym.play",
                    "verifiers 0.1",
                    "both over HTTP to one loopback server",
                    True,
                )
            ],
            repeats=2 if tiny else 7,
            count=guesses.count_turns,
            unit="turn",
            scale="ms",
            equal="reward and number of turns of every game",
        )
    return [found]


if __name__ == "__main__":
    sys.exit(command("verifiers_classic"))

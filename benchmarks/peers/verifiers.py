"""verifiers 0.4 (agents as programs behind an interception server) beside `metagym.play`, over one loopback server.

verifiers' own ``run_eval``, the function behind its ``vf-eval``, plays a taskset and an environment of its own base
classes (`benchmarks.peers.plugins.metagym_guesses`) with its smallest harness, ``null``, and its local runtime; the
same game is a family of ours. The harness's program is prepared by ``uv`` once, which asks the package index then.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import guesses
from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import Peer, command

PEER = Peer(
    label="verifiers 0.4",
    packages={"verifiers": "0.4."},
    place="verifiers",
    unlike=(
        "This is not the same design: verifiers runs each agent as a program of its own (a chat loop here, a coding "
        "agent elsewhere) that speaks to the model through a server which records and may change what passes, and can "
        "put it into a container; each segment of a conversation starts that program again. That buys any agent "
        "program unchanged, which `metagym.play` cannot take: ours asks the model from one event loop. The ratio is "
        "what this freedom costs where the agent is but a chat loop and the model answers at once; a slow model makes "
        "it smaller. verifiers also writes its traces to disk, ours keeps its records in memory here."
    ),
)
PLUGINS = Path(__file__).resolve().parent / "plugins"


def play_theirs(address: str, count: int, width: int, turns: int, folder: Path) -> list[Result]:
    """Its own ``run_eval``."""
    import metagym_guesses
    import verifiers.v1 as vf
    from verifiers.v1.cli.eval.runner import run_eval
    from verifiers.v1.configs.cli.eval import EvalConfig

    assert metagym_guesses.GuessEnv and vf
    config = EvalConfig.model_validate(
        {
            "env": {
                "taskset": {"id": "metagym_guesses", "count": count, "turns": turns},
                "player": {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}},
            },
            "model": "fake",
            "client": {"type": "eval", "base_url": address, "api_key_var": "METAGYM_PEER_KEY"},
            "sampling": {"temperature": 0.0},
            "max_concurrent": width,
            "rich": None,
            "push": False,
            "output_dir": tempfile.mkdtemp(dir=folder),
        }
    )
    episodes = asyncio.run(run_eval(config))
    found = {}
    for episode in episodes:
        assert episode.ok, episode.errors or [trace.errors for trace in episode.traces]
        [trace] = episode.traces
        found[trace.task.data.idx] = (float(trace.reward), int(trace.num_turns))
    return [found[number] for number in range(count)]


def measure(tiny: bool) -> list[Contest]:
    """One contest."""
    import logging

    logging.disable(logging.WARNING)
    sys.path.insert(0, str(PLUGINS))
    os.environ["METAGYM_PEER_KEY"] = "none"
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # where uv lies
    count, width, turns = (2, 2, 2) if tiny else (2, 2, 3)
    with tempfile.TemporaryDirectory() as name, guesses.served() as address:
        spec = f"openai:fake?base_url={address}"  # a client is made in each repetition, as theirs is
        return [
            contest(
                f"guessing, {count} games of up to {turns} turns, {width} at a time",
                {
                    "metagym.play": lambda: guesses.play_ours(spec, count, width, turns),
                    "verifiers 0.4": lambda: play_theirs(address, count, width, turns, Path(name)),
                },
                [
                    Line(
                        "verifiers: 0.4, run_eval (agents as processes)",
                        "metagym.play",
                        "verifiers 0.4",
                        "theirs runs any agent program, each segment in a process",
                        True,
                    )
                ],
                repeats=2 if tiny else 6,
                count=guesses.count_turns,
                unit="turn",
                scale="ms",
                equal="reward and number of turns of every game",
            )
        ]


if __name__ == "__main__":
    sys.exit(command("verifiers"))

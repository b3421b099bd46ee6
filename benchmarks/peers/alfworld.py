"""The official ALFWorld batch environment, through its own API, beside `metagym.play` on the very same game files.

The games are ours (published ones may not be shipped), written as ALFWorld's folders under its own domain and grammar;
both sides read those files. The model knows the way to win for two games of three and wanders in the others. The
official loop is the one of its own documentation: ``reset``, then ``step`` with one command for each game of the batch
until all are done; finished games are carried along.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import metagym
from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import Peer, command
from metagym import Family
from metagym.chat import Request, scripted
from metagym_envs.alfworld.generator import generate
from metagym_envs.alfworld.scenes import TASK_TYPES

PEER = Peer(
    label="the official ALFWorld batch environment",
    packages={"alfworld": "0.4.", "textworld": "1.7."},
    extra="alfworld",
    unlike=(
        "The official environment plays any TextWorld game and hands out facts, expert plans and policy commands on "
        "request, and it can switch to the embodied THOR engine; our native engine plays the household games of this "
        "grammar alone, to the byte (tests/envs/alfworld); it forgets its games between repetitions here. The official "
        "engine translates each game for its planner at each reset, which nobody asked for and its API cannot switch "
        "off. It advances through its games by itself: those of a batch cannot be chosen. Beside the native engine, "
        "which is what users get, the same official engine is played by our hosts, which parse its constant texts once "
        "instead of at every step and leave that translation out: these ratios are of hosts and memory, not of "
        "engines. In one of them our workers start anew in each repetition, as the official ones do at each reset; in "
        "the other they are kept and have met the games before, as in replays."
    ),
)
SPLIT = "valid_unseen"


def moves_of(number: int, game: Any) -> tuple[str, ...] | None:
    """The way to win; None for every third game, in which the model wanders."""
    return None if number % 3 == 2 else tuple(game.walkthrough)


class Model:
    """The model: from the first observation of a game and the turn to a command.

    Args:
        ways: By first observation, the commands that win; None to wander.
    """

    def __init__(self, ways: Mapping[str, tuple[str, ...] | None]) -> None:
        self.ways = ways

    def command(self, first: str, turn: int, legal: Sequence[str]) -> str:
        """The command of a turn; a wanderer's follows from the turn and what is legal."""
        way = self.ways[first]
        if way is not None:
            return way[turn]
        ordered = sorted(legal)
        return ordered[zlib.crc32(f"{first}{turn}".encode()) % len(ordered)]

    def answer(self, request: Request) -> str:
        """The same for our seat."""
        asked = [message.content for message in request.messages if message.role == "user"]
        legal = [line[2:] for line in asked[-1].splitlines() if line.startswith("- ")]
        return self.command(_first(asked[0]), len(asked) - 1, legal)


def _first(text: str) -> str:
    """The task and the furniture, without what either side puts around them."""
    start, task = text.index("You are in the middle of a room"), text.index("Your task is to: ")
    return text[start:task] + text[task:].partition("\n")[0].rstrip()


def write_games(folder: Path, count: int) -> list[Any]:
    """Writes games as ALFWorld keeps them, the task types in turn; returns them in that order.

    The folder of game number n ends with ``-n/trial_1``.
    """
    from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH

    domain, grammar = (Path(path).read_text(encoding="utf-8") for path in (ALFRED_PDDL_PATH, ALFRED_TWL2_PATH))
    kinds = list(TASK_TYPES)
    games = [generate(SPLIT, kinds[number % len(kinds)], number) for number in range(count)]
    for number, game in enumerate(games):
        place = folder / "json_2.1.1" / SPLIT / f"{game.type}-{number}" / "trial_1"
        place.mkdir(parents=True)
        (place / "traj_data.json").write_text(json.dumps({"task_type": game.type}), encoding="utf-8")
        data = {
            "pddl_domain": domain,
            "grammar": grammar.replace("UNKNOWN GOAL", game.sentence),  # as alfworld.agents.utils.misc fills it in
            "pddl_problem": game.problem,
            "solvable": True,
            "walkthrough": list(game.walkthrough),
        }
        (place / "game.tw-pddl").write_text(json.dumps(data), encoding="utf-8")
    return games


def official(folder: Path, count: int, steps: int) -> Any:
    """The official batch environment over all games at once."""
    os.environ["ALFWORLD_DATA"] = str(folder)  # read when it is imported
    from alfworld.agents.environment import get_environment

    config = {
        "env": {
            "goal_desc_human_anns_prob": 0.0,
            "task_types": [1, 2, 3, 4, 5, 6],
            "domain_randomization": False,
            "expert_type": "handcoded",
        },
        "dataset": {"eval_ood_data_path": str(folder / "json_2.1.1" / SPLIT), "num_eval_games": -1},
        "general": {"training_method": "dqn"},  # the one of its two settings that asks for no expert
        "rl": {"training": {"max_nb_steps_per_episode": steps}},
    }
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return get_environment("AlfredTWEnv")(config, train_eval="eval_out_of_distribution").init_env(batch_size=count)


def play_official(env: Any, model: Model) -> list[Result]:
    """Its documented loop: one reset, then steps of the whole batch until all games are done."""
    observations, infos = env.reset()
    count = len(observations)
    firsts = [_first(text) for text in observations]
    numbers = [int(Path(file).parents[1].name.rpartition("-")[2]) for file in infos["extra.gamefile"]]
    texts = [[text] for text in observations]
    done, turn, scores = [False] * count, 0, [0.0] * count
    while not all(done):
        commands = [
            "look" if done[i] else model.command(firsts[i], turn, infos["admissible_commands"][i]) for i in range(count)
        ]
        observations, scores, now, infos = env.step(commands)
        for i in range(count):
            if not done[i]:
                texts[i].append(observations[i])
        done, turn = list(now), turn + 1
    results: list[Result] = [()] * count
    for i, number in enumerate(numbers):
        results[number] = (float(scores[i]), bool(infos["won"][i]), len(texts[i]) - 1, _digest(texts[i]))
    return results


def play_ours(family: Family, model: Model, count: int, steps: int, hosts: Any = None) -> list[Result]:
    """The same games by `metagym.play`."""
    from metagym_envs.alfworld import env
    from metagym_envs.alfworld import family as module

    env.compile_native.cache_clear()  # no repetition may find the games of the one before
    module._text_of.cache_clear()
    tasks = {int(task.id.split("/")[1].rpartition("-")[2]): task for task in family.tasks(SPLIT)}
    played = metagym.play(
        [tasks[number] for number in range(count)],
        scripted(model.answer),
        family=family,
        max_steps=steps,
        hosts=hosts,
    )
    return [
        (
            episode.ret,
            bool(episode.success),
            episode.steps,
            _digest([*(turn.observation for turn in episode.turns), episode.last_observation]),
        )
        for episode in played
    ]


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(text.strip() for text in texts).encode()).hexdigest()[:16]


def measure(tiny: bool) -> list[Contest]:
    """The official batch beside ours, on the native engine and on the official one."""
    from metagym.playing import sync
    from metagym.playing.processes import ProcessPool
    from metagym_envs.alfworld.family import ALFWorld

    count, steps, repeats = (2, 3, 1) if tiny else (5, 25, 6)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        games = write_games(folder, count)
        env = official(folder, count, steps)
        native = ALFWorld(engine="native", data="published")
        real = ALFWorld(engine="textworld", data="published")
        ways = {}
        for number, game in enumerate(games):
            task = next(task for task in native.tasks(SPLIT) if task.id.split("/")[1].endswith(f"-{number}"))
            ways[_first(native.open(task).reset()[0])] = moves_of(number, game)
        assert len(ways) == count, "two games begin alike"
        model = Model(ways)
        pool = ProcessPool(None, 120.0)
        try:
            found = contest(
                f"ALFWorld, a batch of {count} games, up to {steps} steps",
                {
                    "metagym.play, native engine": lambda: play_ours(native, model, count, steps),
                    "metagym.play, official engine, workers new": lambda: play_ours(
                        real, model, count, steps, "process"
                    ),
                    "metagym.play, official engine, workers kept": lambda: play_ours(real, model, count, steps, pool),
                    "official batch environment": lambda: play_official(env, model),
                },
                [
                    Line(
                        "ALFWorld's batch environment: against our engine",
                        "metagym.play, native engine",
                        "official batch environment",
                        "our native engine plays these games alone, theirs any TextWorld game",
                        True,
                    ),
                    Line(
                        "ALFWorld's batch environment: against its own engine in our workers",
                        "metagym.play, official engine, workers new",
                        "official batch environment",
                        "texts parsed once, no translation for the planner",
                        True,
                    ),
                    Line(
                        "ALFWorld's batch environment: the same, our workers kept",
                        "metagym.play, official engine, workers kept",
                        "official batch environment",
                        "and the games met before, as in replays",
                    ),
                ],
                repeats=repeats,
                count=lambda results: sum(result[2] for result in results),
                unit="step",
                scale="ms",
                equal="score, success, number of steps and every observation (digest) of each game",
            )
        finally:
            sync.run(pool.close())
            env.close()
    return [found]


if __name__ == "__main__":
    sys.exit(command("alfworld"))

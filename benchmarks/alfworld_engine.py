"""ALFWorld: the native engine beside the real one as shipped, on the same games and the same commands.

``python benchmarks/alfworld_engine.py`` prints a Markdown table; ``--json FILE`` also writes the figures. Each engine
runs in a process of its own (beside the real one's large heap every collection of garbage costs), times are CPU time,
the garbage collector has run and what lives is frozen before each measurement, values are medians with quartiles.
Generated games are always played; published ones too if ``--games FILE`` names them (JSON lines, ``.xz`` or not, with
``problem`` and ``task``) or test material lies beside the checkout. The real engine takes 1.5 minutes per row of games.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import lzma
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metagym.seeding import rng

CANDIDATES, GROUP_GAMES, GROUP_STEPS = 8, 5, 25
PASSES = 15
MATERIAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "alfworld" / "games_474.jsonl.xz"


def generated_games(count: int) -> list[dict[str, str]]:
    """Our own games, the task types in turn."""
    from metagym_envs.alfworld.generator import generate
    from metagym_envs.alfworld.scenes import TASKS

    kinds = list(TASKS)
    games = [generate("train", kinds[number % len(kinds)], number) for number in range(count)]
    return [{"problem": game.problem, "task": game.sentence} for game in games]


def published_games(file: Path, count: int) -> list[dict[str, str]]:
    """Games of a file, drawn at random."""
    with lzma.open(file, "rt") if file.suffix == ".xz" else file.open() as lines:
        rows = [json.loads(line) for line in lines]
    drawn = rng(0, "benchmark", "games").sample(rows, count)
    return [{"problem": row["problem"], "task": row["task"]} for row in drawn]


def add_commands(games: list[dict[str, Any]], steps: int) -> None:
    """Gives each game a random walk over admissible commands."""
    from metagym_envs.alfworld.engine import Game, Player

    for number, game in enumerate(games):
        draw = rng(0, "benchmark", "walk", number)
        player = Player(Game.compile(game["problem"], game["task"]))
        seen, game["commands"] = player.reset(), []
        for _ in range(steps):
            game["commands"].append(draw.choice(seen.admissible))
            seen = player.step(game["commands"][-1])


def timed(work: Callable[[], object], repeats: int = 1) -> float:
    """CPU seconds of one call, with the collector settled."""
    gc.collect()
    gc.freeze()
    begin = time.process_time()
    for _ in range(repeats):
        work()
    spent = (time.process_time() - begin) / repeats
    gc.unfreeze()
    return spent


def measure_native(games: list[dict[str, Any]]) -> dict[str, Any]:
    """Times of the native engine, in seconds, and the digest of its answers."""
    from metagym_envs.alfworld.engine import Game, Player

    players = [Player(Game.compile(game["problem"], game["task"])) for game in games]

    def walk(player: Player, commands: list[str]) -> None:
        for command in commands:
            _ = player.step(command).admissible

    def group() -> None:
        for game in games[:GROUP_GAMES]:
            compiled = Game.compile(game["problem"], game["task"])
            for _ in range(CANDIDATES):
                player = Player(compiled)
                player.reset()
                walk(player, game["commands"][:GROUP_STEPS])

    steps: list[float] = []
    digest = hashlib.sha256()
    for player, game in zip(players, games, strict=True):
        digest.update(repr(_told(player.reset())).encode())
        for command in game["commands"]:
            digest.update(repr(_told(player.step(command))).encode())
    for _ in range(PASSES):
        for player, game in zip(players, games, strict=True):
            player.reset()
            steps.append(timed(lambda p=player, g=game: walk(p, g["commands"])) / len(game["commands"]))
    return {
        "compile": [timed(lambda g=game: Game.compile(g["problem"], g["task"]), 5) for game in games],
        "reset": [timed(player.reset, 500) for player in players for _ in range(3)],
        "step": steps,
        "group": [timed(group) for _ in range(PASSES)],
        "digest": digest.hexdigest(),
    }


def measure_real(games: list[dict[str, Any]]) -> dict[str, Any]:
    """Times of the real engine as shipped, in seconds, and the digest of its answers."""
    from metagym_envs.alfworld.judge import TextWorldGame

    times: dict[str, list[float]] = {"compile": [], "reset": [], "step": []}
    digest = hashlib.sha256()
    for game in games:
        real = TextWorldGame.compile(game["problem"], game["task"], shipped=True)
        load = timed(real.reset)
        times["reset"].append(timed(real.reset))
        times["compile"].append(load - times["reset"][-1])
        digest.update(repr(_told(real.reset())).encode())
        for command in game["commands"]:
            begin = time.process_time()
            seen = real.step(command)
            times["step"].append(time.process_time() - begin)
            digest.update(repr(_told(seen)).encode())
    return {**times, "digest": digest.hexdigest()}


def _told(seen: Any) -> tuple[Any, ...]:
    return seen.feedback, list(seen.admissible), seen.won, seen.score, seen.done


def in_a_process(engine: str, games: list[dict[str, Any]]) -> dict[str, Any]:
    """Measures an engine in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "games.json"
        file.write_text(json.dumps(games))
        command = [sys.executable, __file__, "--measure", engine, "--games", str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"measuring {engine} failed:\n{done.stderr}")
        return json.loads(done.stdout)


def summary(values: list[float], unit: float) -> str:
    """Median and quartiles in a unit of seconds."""
    low, middle, high = statistics.quantiles([value / unit for value in values], n=4)
    digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def table(name: str, native: dict[str, Any], real: dict[str, Any] | None, steps: int) -> list[str]:
    """The rows of one sort of games."""
    rows = []
    for what, unit, sign, bound in (
        ("compile", 1e-3, "ms", "<= 3 ms"),
        ("reset", 1e-6, "us", "<= 30 us"),
        ("step", 1e-6, "us", "<= 15 us"),
        ("group", 1e-3, "ms", "<= 40 ms"),
    ):
        label = {
            "compile": "compile / load a game",
            "step": f"step + admissible, {steps} steps",
            "group": f"{GROUP_GAMES} games x {CANDIDATES} candidates x {GROUP_STEPS} steps, compiling included",
        }.get(what, what)
        shipped, ratio = "-", "-"
        if real is not None and what in real:
            shipped = summary(real[what], 1e-3) + " ms"
            ratio = f"{statistics.median(real[what]) / statistics.median(native[what]):,.0f}"
        rows.append(f"| {name} | {label} | {summary(native[what], unit)} {sign} | {bound} | {shipped} | {ratio} |")
    return rows


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=Path, help="published games, one JSON object a line")
    parser.add_argument("--count", type=int, default=6, help="games of each sort")
    parser.add_argument("--steps", type=int, default=1020, help="steps in all, for each sort")
    parser.add_argument("--native-only", action="store_true", help="leave the real engine out")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--measure", choices=["native", "textworld"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        games = json.loads(given.games.read_text())
        print(json.dumps(measure_native(games) if given.measure == "native" else measure_real(games)))
        return 0
    sorts = {"generated": generated_games(given.count)}
    file = given.games or (MATERIAL if MATERIAL.is_file() else None)
    if file is not None:
        sorts["published"] = published_games(file, given.count)
    print(f"Python {platform.python_version()}, {platform.machine()}; CPU time, median (quartiles).\n")
    print("| games | what | native | asked | as shipped | factor |")
    print("|---|---|---|---|---|---|")
    figures: dict[str, Any] = {}
    for name, games in sorts.items():
        add_commands(games, -(-given.steps // given.count))
        native = in_a_process("native", games)
        real = None if given.native_only else in_a_process("textworld", games)
        if real is not None and real["digest"] != native["digest"]:
            raise SystemExit(f"the engines differ on the {name} games: run the differential test")
        steps = sum(len(game["commands"]) for game in games)
        print("\n".join(table(name, native, real, steps)), flush=True)
        figures[name] = {"steps": steps, "native_s": native, "textworld_s": real}
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

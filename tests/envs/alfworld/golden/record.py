"""Records the golden transcripts from the real engine.

``python -m tests.envs.alfworld.golden.record`` records the games made by hand and the generated ones from the engine
as shipped (8 minutes); ``... record published_shipped --material ../shared`` some published games likewise (4),
``... record published --material ../shared`` all of them, from the engine with its constant work remembered (10).
Only digests are kept, so the files are small; each game names the digest of its text, so that a changed game is not
mistaken for a changed engine. While it records it compares with the native engine, and says so where they differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from metagym_envs.alfworld.engine import Game
from metagym_envs.alfworld.judge import TextWorldGame
from tests.envs.alfworld.engine.differential import real_game
from tests.envs.alfworld.golden.games import Sample, by_hand, generated, published
from tests.envs.alfworld.golden.scripts import Digest, answer, follow

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Plan:
    """What one golden file holds.

    Attributes:
        scripts: Name of each script with its settings.
        generation: Whose texts are played.
        shipped: Whether the engine was untouched when this was recorded.
        games: Most games.
        most: Most commands of a script.
        every: Answers between two digests.
    """

    scripts: dict[str, dict[str, int]]
    generation: str = "0.4"
    shipped: bool = True
    games: int = 10**6
    most: int = 10**6
    every: int = 25


PLANS = {
    "by_hand": Plan({"walk": {"steps": 200}, "sweep": {}}),
    "by_hand_legacy": Plan({"walk": {"steps": 200}, "sweep": {}}, generation="legacy"),
    "generated": Plan({"walk": {"steps": 40, "after": 12}, "sweep": {}}, games=12, most=160),  # two of each task type
    "published_shipped": Plan({"walk": {"steps": 14, "after": 4}}, games=48),
    "published": Plan({"walk": {}, "sweep": {}}, shipped=False, every=250),
}


def samples(name: str, material: Path | None) -> Iterator[Sample]:
    """The games of a golden file."""
    count = PLANS[name].games
    if name.startswith("by_hand"):
        yield from by_hand()
    elif name == "generated":
        yield from generated(0, count)
    else:
        assert material is not None, "the published games lie in the test material: --material FOLDER"
        yield from published(material)[:count]


def text_digest(sample: Sample) -> str:
    """Tells whether a game's text is the one that was recorded."""
    return hashlib.sha256(f"{sample.problem}\0{sample.task}".encode()).hexdigest()[:12]


def native_transcript(sample: Sample, plan: Plan, script: str) -> dict[str, Any]:
    """What the native engine makes of a script."""
    digest = Digest(plan.every)
    game = Game.compile(sample.problem, sample.task, plan.generation)
    for command, seen in follow(game, script, sample.name, **plan.scripts[script]):
        if digest.count > plan.most:
            break
        digest.add(command, seen)
    return digest.result()


def _real_transcript(sample: Sample, plan: Plan, script: str, real: TextWorldGame) -> tuple[dict[str, Any], int]:
    digest, differing = Digest(plan.every), 0
    game = Game.compile(sample.problem, sample.task, plan.generation)
    for command, seen in follow(game, script, sample.name, **plan.scripts[script]):
        if digest.count > plan.most:
            break
        truth = real.reset() if command is None else real.step(command)
        digest.add(command, truth)
        if answer(seen) != answer(truth):
            differing += 1
            print(f"{sample.name}, {script}, {command!r}: the engines differ\n   {answer(seen)}\n   {answer(truth)}")
    return digest.result(), differing


def main() -> int:
    """Records the files that are named, by default those that need no test material."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PLANS)}")
    parser.add_argument("--material", type=Path)
    given = parser.parse_args()
    worst = 0
    for name in given.names or [name for name in PLANS if not name.startswith("published")]:
        plan = PLANS[name]
        games: dict[str, Any] = {}
        answers = differing = 0
        for sample in samples(name, given.material):
            real = real_game(sample, plan.generation, plan.shipped)
            games[sample.name] = {"text": text_digest(sample)}
            for script in plan.scripts:
                games[sample.name][script], wrong = _real_transcript(sample, plan, script, real)
                answers += games[sample.name][script]["answers"]
                differing += wrong
            print(f"{name}: games {len(games)}, answers {answers}, differing {differing}", flush=True)
        state = "as shipped" if plan.shipped else "with translations and parses remembered"
        engine = f"textworld {version('textworld')}, alfworld {version('alfworld')}, {state}"
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in games.items())
        text = f'{{"engine": {json.dumps(engine)},\n"plan": {json.dumps(asdict(plan))},\n"games": {{\n{lines}\n}}}}\n'
        (HERE / f"{name}.json").write_text(text, encoding="utf-8")
        worst = max(worst, differing)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())

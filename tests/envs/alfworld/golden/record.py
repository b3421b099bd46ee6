"""Records the golden transcripts from the real engine as shipped.

``python -m tests.envs.alfworld.golden.record`` records the games made by hand and the generated ones (about 5 minutes);
``... record published --material ../shared`` the published games (about 40). Only digests are kept, so the files are
small; each names the digest of its game text, so that a changed game is not mistaken for a changed engine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from metagym_envs.alfworld.engine import Game
from tests.envs.alfworld.golden.games import Sample, by_hand, generated, published
from tests.envs.alfworld.golden.scripts import Digest, answer, follow

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Plan:
    """What one golden file holds.

    Attributes:
        generation: Whose texts are played.
        scripts: Name of each script with its settings.
        most: Most commands of a script.
    """

    generation: str = "0.4"
    scripts: dict[str, dict[str, int]] = field(default_factory=dict)
    most: int = 10**6


PLANS = {
    "by_hand": Plan(scripts={"walk": {"steps": 200}, "sweep": {}}),
    "by_hand_legacy": Plan(generation="legacy", scripts={"walk": {"steps": 200}, "sweep": {}}),
    "generated": Plan(scripts={"walk": {"steps": 40, "after": 12}, "sweep": {}}, most=220),
    "published": Plan(scripts={"walk": {"steps": 14, "after": 4}}),
}
GENERATED = 12  # games, two of each task type


def samples(name: str, material: Path | None) -> Iterator[Sample]:
    """The games of a golden file."""
    if name.startswith("by_hand"):
        yield from by_hand()
    elif name == "generated":
        yield from generated(0, GENERATED)
    else:
        assert material is not None, "the published games lie in the test material: --material FOLDER"
        yield from published(material)


def text_digest(sample: Sample) -> str:
    """Tells whether a game's text is the one that was recorded."""
    return hashlib.sha256(f"{sample.problem}\0{sample.task}".encode()).hexdigest()[:12]


def native_transcript(sample: Sample, plan: Plan, script: str) -> dict[str, Any]:
    """What the native engine makes of a script."""
    digest = Digest()
    game = Game.compile(sample.problem, sample.task, plan.generation)
    for command, seen in follow(game, script, sample.name, **plan.scripts[script]):
        if digest.count > plan.most:
            break
        digest.add(command, seen)
    return digest.result()


def _real_transcript(sample: Sample, plan: Plan, script: str) -> dict[str, Any]:
    from tests.envs.alfworld.engine.differential import real_game

    digest = Digest()
    game = Game.compile(sample.problem, sample.task, plan.generation)
    real = real_game(sample, plan.generation, shipped=True)
    for command, seen in follow(game, script, sample.name, **plan.scripts[script]):
        if digest.count > plan.most:
            break
        truth = real.reset() if command is None else real.step(command)
        digest.add(command, truth)
        if answer(seen) != answer(truth):
            print(f"{sample.name}, {script}, {command!r}: the engines differ\n   {answer(seen)}\n   {answer(truth)}")
            break  # the script goes by the native engine's state, which is wrong from here on
    return digest.result()


def main() -> int:
    """Records the files that are named, by default those that need no test material."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PLANS, []], default=[])
    parser.add_argument("--material", type=Path)
    given = parser.parse_args()
    for name in given.names or [name for name in PLANS if name != "published"]:
        plan = PLANS[name]
        games: dict[str, Any] = {}
        for sample in samples(name, given.material):
            games[sample.name] = {"text": text_digest(sample)}
            games[sample.name] |= {script: _real_transcript(sample, plan, script) for script in plan.scripts}
            print(name, len(games), sample.name, flush=True)
        engine = f"textworld {version('textworld')}, alfworld {version('alfworld')}, as shipped"
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in games.items())
        text = f'{{"engine": {json.dumps(engine)},\n"plan": {json.dumps(asdict(plan))},\n"games": {{\n{lines}\n}}}}\n'
        (HERE / f"{name}.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

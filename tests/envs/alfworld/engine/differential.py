"""The native engine against the real one: the same commands to both, the whole answer compared.

``python -m tests.envs.alfworld.engine.differential --help`` runs it over many games and prints the counts.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from metagym_envs.alfworld.engine import Game, generation_of
from metagym_envs.alfworld.judge import TextWorldGame, installed_texts
from tests.envs.alfworld.golden.games import Sample, by_hand, generated, published
from tests.envs.alfworld.golden.scripts import answer, follow


@dataclass
class Comparison:
    """How many answers were compared, and the ones that differ: (game, script, command, native, real)."""

    games: int = 0
    answers: int = 0
    mismatches: list[tuple[object, ...]] = field(default_factory=list)
    forms: Counter[str] = field(default_factory=Counter)


def older_texts(generation: str) -> tuple[str, str]:
    """Domain and grammar of an earlier generation, made of the installed 0.4 texts by undoing what 0.4 changed.

    That the result is the earlier pair (but for comments and blanks) is what its fingerprint says.
    """
    domain, grammar = installed_texts()
    for new, old in (
        ("You arrive at {r.name}.", "You arrive at {lend.name}."),
        ("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}."),
        ('template :: "move {o} to {r}"', 'template :: "put {o} in/on {r}"'),
    ):
        assert new in grammar
        grammar = grammar.replace(new, old)
    grammar = re.sub(r"action help \{.*?\n\}\n", "", grammar, flags=re.DOTALL)
    domain = re.sub(r"\(:action help.*?\n\)\n", "", domain, flags=re.DOTALL)
    if generation == "legacy":
        domain = domain.replace(";(receptacleType ?r SinkType)", "(receptacleType ?r SinkType)")
    return domain, grammar


def real_game(sample: Sample, generation: str = "0.4", shipped: bool = False) -> TextWorldGame:
    """A sample on the real engine, under the texts of a generation."""
    if generation == "0.4":
        return TextWorldGame.compile(sample.problem, sample.task, shipped=shipped)
    domain, grammar = older_texts(generation)
    assert generation_of(domain, grammar) == generation
    data = {"pddl_domain": domain, "grammar": grammar.replace("UNKNOWN GOAL", sample.task)}
    return TextWorldGame({**data, "pddl_problem": sample.problem}, shipped=shipped)


def compare(
    samples: Iterable[Sample],
    scripts: Iterable[str],
    *,
    generation: str = "0.4",
    shipped: bool = False,
    into: Comparison | None = None,
    most: int = 10**9,
    **settings: int,
) -> Comparison:
    """Plays scripts on both engines.

    Args:
        samples: The games.
        scripts: Names of scripts.
        generation: Whose texts.
        shipped: Whether to compare with the engine untouched.
        into: Where to count.
        most: Most commands of a script.
        **settings: Settings of the scripts.
    """
    result = into or Comparison()
    for sample in samples:
        native = Game.compile(sample.problem, sample.task, generation)
        real = real_game(sample, generation, shipped)
        result.games += 1
        for script in scripts:
            for number, (command, seen) in enumerate(follow(native, script, sample.name, **settings)):
                if number > most:
                    break
                truth = real.reset() if command is None else real.step(command)
                result.answers += 1
                if answer(seen) != answer(truth):
                    result.mismatches.append((sample.name, script, command, answer(seen), answer(truth)))
                form = re.sub(r"(, (and )?(a )?X)+", ", ..", re.sub(r"[a-z]+ \d+", "X", seen.feedback))
                result.forms[form[:60]] += 1
    return result


def main() -> int:
    """Runs the comparison from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--material", type=Path, help="folder of test material with the published games")
    parser.add_argument("--generated", action="store_true", help="our own games instead")
    parser.add_argument("--by-hand", action="store_true", help="the hand-made games instead")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=474)
    parser.add_argument("--scripts", default="walk,sweep")
    parser.add_argument("--generation", default="0.4")
    parser.add_argument("--shipped", action="store_true", help="compare with the engine untouched (slow)")
    parser.add_argument("--most", type=int, default=10**9, help="most commands of a script")
    given = parser.parse_args()
    if given.by_hand:
        samples: Iterable[Sample] = by_hand()
    elif given.generated:
        samples = generated(given.first, given.last)
    else:
        samples = published(given.material)[given.first : given.last]
    result, begin = Comparison(), time.process_time()
    for sample in samples:
        compare(
            [sample],
            given.scripts.split(","),
            generation=given.generation,
            shipped=given.shipped,
            into=result,
            most=given.most,
        )
        if result.games % 25 == 0:
            print(
                result.games, result.answers, len(result.mismatches), f"{time.process_time() - begin:.0f} s", flush=True
            )
    print(f"games {result.games}, answers {result.answers}, mismatches {len(result.mismatches)}")
    for mismatch in result.mismatches[:5]:
        print(*mismatch, sep="\n   ")
    for form, count in result.forms.most_common():
        print(f"{count:8d} {form!r}")
    return 1 if result.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures the scripted stand-ins for ALFWorld and prints the table as Markdown: what the loop's proof rests on.

    python -m benchmarks.stand_ins                        # our generated games, a few minutes
    ALFWORLD_DATA=games.jsonl.xz python -m benchmarks.stand_ins --published     # also the published ones

Every figure is over unseen games of `valid_unseen`, native engine, 50 steps, with Wilson's 95% interval. A row with a
bound says whether it holds. The stand-ins are no language models: see docs/stand_ins.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import metagym
from benchmarks import controls
from metagym.chat.types import ChatModel, Reply, Request
from metagym.families import Family, load_family
from metagym.ict.env import ICTEnv
from metagym.ict.reflector import ReflectorSettings, reflect
from metagym.playing import sync
from metagym.seeding import derive, rng
from metagym.stats import Estimate, rate
from metagym.tasks import Task
from metagym_envs.alfworld.rules import actor, reflector

REFLECTIONS = 8
BATCH = 5
META_SEEDS = range(8)
PLAY_SEEDS = range(3)
GAMES = 17  # per task type and seed: 102 games of six types


@dataclass(frozen=True)
class Row:
    """One line of the table; `bound` is what the measured value is held against, "" for nothing."""

    name: str
    value: Estimate
    bound: str = ""
    holds: bool = True
    note: str = ""


def measured(estimate: Estimate) -> float:
    """The value; a benchmark in which nothing could be scored has no bounds to hold."""
    if estimate.value is None:
        raise SystemExit("no episode could be scored")
    return estimate.value


def learn(family: Family, seed: int, types: Sequence[str] | None = None, split: str = "train") -> list[str]:
    """The prompts of one meta-episode, the empty one first and the one after the last reflection at the end."""
    env = ICTEnv(family, batch_size=BATCH, meta_turns=REFLECTIONS, split=split, task_types=types, system_prompt="")
    model = reflector(derive(seed, "reflector"))
    prompts = [""]
    observation, _ = env.reset(seed=seed)
    for turn in range(REFLECTIONS):
        reflection = sync.run(reflect(model, observation, prompts[-1], ReflectorSettings(), derive(seed, "turn", turn)))
        prompts.append(reflection.prompt)
        if turn + 1 < REFLECTIONS:
            observation = env.step(reflection.prompt)[0]
    env.close()
    return prompts


def unseen(family: Family, games: int, types: Sequence[str] | None = None) -> list[Task]:
    """The first `games` held-out tasks of each type."""
    tasks = family.task_set("valid_unseen", types)
    return [task for kind in tasks.types for task in [t for t in tasks if t.type == kind][:games]]


def success(family: Family, tasks: Sequence[Task], prompt: str, seeds: Iterable[int]) -> list[bool | None]:
    """Outcome of every task at every seed."""
    model = actor(0)
    return [
        episode.success
        for seed in seeds
        for episode in metagym.play(tasks, model, system_prompt=prompt, family=family, seed=seed)
    ]


def shuffled(prompt: str, seed: int) -> str:
    """The lines of a prompt in another order."""
    lines = prompt.split("\n")
    rng(seed, "shuffle").shuffle(lines)
    return "\n".join(lines)


def below(name: str, value: Estimate, most: float, note: str = "") -> Row:
    """A row that holds while its value is at most `most`."""
    return Row(name, value, f"<= {most:.2f}", value.value is not None and value.value <= most, note)


def above(name: str, value: Estimate, least: float, note: str = "") -> Row:
    """A row that holds while its value is at least `least`."""
    return Row(name, value, f">= {least:.2f}", value.value is not None and value.value >= least, note)


def main_rows(
    family: Family, games: int = GAMES, meta_seeds: Iterable[int] = META_SEEDS, split: str = "train"
) -> Iterator[Row]:
    """Empty prompt, learned prompts, controls."""
    tasks = unseen(family, games)
    empty = rate(success(family, tasks, "", PLAY_SEEDS))
    yield below("empty prompt", empty, 0.15)
    learned = ""
    for seed in meta_seeds:
        learned = learn(family, seed, split=split)[-1]
        value = rate(success(family, tasks, learned, PLAY_SEEDS))
        yield above(
            f"after {REFLECTIONS} reflections, meta-seed {seed}", value, 0.80, f"{len(learned.splitlines())} rules"
        )
    full = rate(success(family, tasks, controls.full_prompt(), PLAY_SEEDS))
    reference = measured(full)
    yield above("all rules, the reflector's wording", full, 0.80)
    for seed in PLAY_SEEDS:
        value = rate(success(family, tasks, shuffled(controls.full_prompt(), seed), PLAY_SEEDS))
        yield above(f"the same, shuffled ({seed})", value, reference - 0.10)
    for name, text in controls.PARAPHRASES.items():
        yield above(f"paraphrase: {name}", rate(success(family, tasks, text, PLAY_SEEDS)), reference - 0.10)
    for name, text in controls.MISREAD.items():
        yield Row(f"paraphrase misread in part: {name}", rate(success(family, tasks, text, PLAY_SEEDS)))
    for name, text in controls.IRRELEVANT.items():
        value = rate(success(family, tasks, text, PLAY_SEEDS))
        yield below(f"irrelevant text: {name}", value, measured(empty) + 0.03)
    for name, text in controls.NEGATED.items():
        value = rate(success(family, tasks, controls.full_prompt(**{name: text}), PLAY_SEEDS))
        yield below(f"one rule negated: {name}", value, reference - 0.30)
    for name in controls.RULES:
        value = rate(success(family, tasks, controls.full_prompt(**{name: ""}), PLAY_SEEDS))
        yield Row(f"one rule left out: {name}", value)
    for name, rule in controls.RULES.items():
        yield below(f"one rule alone: {name}", rate(success(family, tasks, rule, PLAY_SEEDS)), 0.15)


def negation_rows(family: Family, games: int = GAMES, seeds: Iterable[int] = (0,)) -> Iterator[Row]:
    """Mechanical negations: per intent and way to negate, the highest success among the reflector's sentences."""
    tasks, seeds = unseen(family, games), list(seeds)
    reference = measured(rate(success(family, tasks, controls.full_prompt(), seeds)))
    for name, sentences in controls.ESSENTIAL.items():
        for way, negate in controls.MECHANICAL.items():
            values = [
                rate(success(family, tasks, controls.full_prompt(**{name: negate(sentence)}), seeds))
                for sentence in sentences
            ]
            worst = max(values, key=measured)
            yield below(f"{name}, negated: {way}", worst, reference - 0.30, f"highest of {len(values)} sentences")
    for name, text in controls.NEGATED_BY_HAND:
        value = rate(success(family, tasks, controls.full_prompt(**{name: text}), seeds))
        yield below(f"{name}: {text}", value, reference - 0.30)
    for name, text in controls.CONTRASTS:
        value = rate(success(family, tasks, controls.full_prompt(**{name: text}), seeds))
        yield above(f"{name}, asked for: {text}", value, reference - 0.10)


def transfer_rows(
    family: Family, games: int = 3 * GAMES, meta_seeds: Iterable[int] = range(3), split: str = "train"
) -> Iterator[Row]:
    """A reflector that sees four of the types; success on the other two."""
    types = family.task_set("valid_unseen").types
    for held in combinations(types, 2):
        tasks = unseen(family, games, held)
        seen = [kind for kind in types if kind not in held]
        for seed in meta_seeds:
            value = rate(success(family, tasks, learn(family, seed, seen, split)[-1], PLAY_SEEDS))
            yield above(f"unseen types {' + '.join(short(kind) for kind in held)}, meta-seed {seed}", value, 0.80)


def short(kind: str) -> str:
    """``pick_heat_then_place_in_recep`` -> ``heat``."""
    words = kind.split("_")
    return {"look": "light", "and": "simple"}.get(words[0] if words[0] == "look" else words[1], words[1])


class _Timed:
    """A model that adds up how long its calls take (the scripted ones never wait)."""

    def __init__(self, model: ChatModel) -> None:
        self.model, self.calls, self.seconds = model, 0, 0.0
        self.id, self.backend = model.id, model.backend

    async def chat(self, request: Request) -> Reply:
        start = time.thread_time()
        reply = await self.model.chat(request)
        self.seconds += time.thread_time() - start
        self.calls += 1
        return reply


def call_time(family: Family) -> str:
    """Mean CPU time of an actor call over episodes that use up their 50 steps (no delivery, so hardly any is won)."""
    timed = _Timed(actor(0))
    prompt = controls.full_prompt(deliver="", drop="")
    metagym.play(unseen(family, 10), timed, system_prompt=prompt, family=family, seed=0)
    return f"{timed.seconds / timed.calls * 1e3:.3f} ms CPU per actor call, mean over {timed.calls:,} calls"


def table(rows: Iterable[Row]) -> bool:
    """Prints rows as they come; returns whether every bound holds."""
    print("| prompt | success | bound | |\n|---|---|---|---|")
    good = True
    for row in rows:
        good = good and row.holds
        verdict = "" if not row.bound else "holds" if row.holds else "**FAILS**"
        print(
            f"| {row.name} | {row.value.text()} | {row.bound} | {'; '.join(filter(None, (verdict, row.note)))} |",
            flush=True,
        )
    return good


def main() -> int:
    """Prints the tables; exit code 1 where a bound fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--published", action="store_true", help="also the published games that ALFWORLD_DATA names")
    published = parser.parse_args().published
    start = time.perf_counter()
    family = load_family("ALFWorld", engine="native", data="generated")
    print("Backend: scripted (not a language model). Generated games, `valid_unseen`.\n")
    good = table(main_rows(family))
    print("\nReflector trained on four task types, scored on the other two:\n")
    good = table(transfer_rows(family)) and good
    print("\nOne rule negated by words around it, or asked for by words that hold a negation (one seed):\n")
    good = table(negation_rows(family)) and good
    print(f"\nSpeed: {call_time(family)}.")
    if published:
        family = load_family("ALFWorld", engine="native", data="published")
        split = "train" if "train" in family.splits else "valid_train"
        print("\nPublished games, `valid_unseen` (134 games, three seeds):\n")
        good = table(main_rows(family, 1000, range(5), split)) and good
        print("\nReflector trained on four task types of the published games, scored on the other two:\n")
        good = table(transfer_rows(family, 1000, split=split)) and good
    print(f"\n{time.perf_counter() - start:.0f} s in all.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

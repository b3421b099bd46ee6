"""Held-out questions before and after: untrained start, Off, On and placebo, compared question by question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from metagym.errors import BadInput
from metagym.seeding import derive
from metagym.sesa.cards import question_sha256
from metagym.sesa.deploy import Blocks
from metagym.sesa.snapshots import BankSnapshot
from metagym.stats import Estimate, McNemar, mcnemar, paired_difference, rate
from metagym_trainers.policies import Policy
from metagym_trainers.sesa.opponent import gathered
from metagym_trainers.sesa.world import Answered, World

Outcomes = Mapping[str, bool | None]
"""Question id to whether it was solved; None where nothing could be scored."""

PAIRS = (("start", "off"), ("start", "on"), ("off", "on"), ("placebo", "on"))
"""What is compared: the second side with the first."""


@contextmanager
def greedy(trainer: Any) -> Iterator[None]:
    """Lets the model of a trainer take the most likely token, for an evaluation in its process.

    A policy behind a server of its own is not touched: it is evaluated at the temperature that it is trained at.
    """
    if trainer.use_vllm:
        holder, name, value = trainer.vllm_generation, "temperature", 0.0
    else:
        holder, name, value = trainer.generation_config, "do_sample", False
    before = getattr(holder, name)
    setattr(holder, name, value)
    try:
        yield
    finally:
        setattr(holder, name, before)


async def held_out(
    world: World, policy: Policy, blocks: Blocks, seed: int, concurrency: int | None = None
) -> dict[str, bool | None]:
    """Plays every held-out question once; nothing is written.

    Args:
        world: Whose questions.
        policy: The solver.
        blocks: What it is shown.
        seed: Of all seeds; equal seeds play equal questions alike, whatever they are shown.
        concurrency: Episodes at once; None for all.

    Raises:
        BadInput: Two questions are called alike.
        BudgetExceeded, CacheMiss, StoreError: No episode could go on.
    """
    if len({question.id for question in world.held_out}) != len(world.held_out):
        raise BadInput(f"two held-out questions of {world.name} are called alike")
    jobs = [
        world.answer(
            question,
            world.solver_prompt(question.text, blocks.block(question.text)),
            policy,
            derive(seed, "held-out", question.id),
        )
        for question in world.held_out
    ]
    played = await gathered(policy, jobs, concurrency)
    return {
        question.id: one.episode.success if isinstance(one, Answered) and one.episode.scored else None
        for question, one in zip(world.held_out, played, strict=True)
    }


def refuse_leaks(world: World, snapshot: BankSnapshot) -> None:
    """Refuses a bank that learnt from the questions it is to be evaluated on.

    Raises:
        BadInput: It did.
    """
    asked = {question_sha256(question.text) for question in world.held_out}
    leaked = [entry.card.id for entry in snapshot.active if entry.card.question_sha256 in asked]
    if leaked:
        raise BadInput(f"{len(leaked)} cards were learnt from questions of the evaluation, e.g. {leaked[0]}")


@dataclass(frozen=True)
class Comparison:
    """Two sides on the same questions.

    Attributes:
        base: Name of the one.
        other: Name of the other.
        difference: Mean of other - base, with its interval over the pairs.
        test: McNemar's exact test.
    """

    base: str
    other: str
    difference: Estimate
    test: McNemar


def rates(outcomes: Mapping[str, Outcomes]) -> dict[str, Estimate]:
    """The success rate of each side, with its interval."""
    return {name: rate(side.values()) for name, side in outcomes.items()}


def compared(outcomes: Mapping[str, Outcomes], pairs: Sequence[tuple[str, str]] = PAIRS) -> list[Comparison]:
    """The comparisons of which both sides are there."""
    return [
        Comparison(
            base,
            other,
            paired_difference(outcomes[base], outcomes[other]),
            mcnemar(outcomes[base], outcomes[other]),
        )
        for base, other in pairs
        if base in outcomes and other in outcomes
    ]


def table(outcomes: Mapping[str, Outcomes], title: str) -> str:
    """The evaluation as Markdown.

    Args:
        outcomes: Deployment to its outcomes; ``start`` is the untrained solver.
        title: What was evaluated; says whether the models are tiny or the world a toy.
    """
    lines = [f"## {title}", "", "| solver | solved | 95% interval | questions | unscored |", "|---|---|---|---|---|"]
    for name, found in rates(outcomes).items():
        lines.append(f"| {name} | {found.point(3)} | {found.interval(3)} | {found.n} | {found.unscored} |")
    lines += ["", "| compared | difference | 95% interval | McNemar's exact test |", "|---|---|---|---|"]
    for one in compared(outcomes):
        test = str(one.test).replace("a only", f"{one.base} only").replace("b only", f"{one.other} only")
        gain = f"{one.difference.point(3, True)} | {one.difference.interval(3, True)}"
        lines.append(f"| {one.other} - {one.base} | {gain} | {test} |")
    return "\n".join(lines) + "\n"

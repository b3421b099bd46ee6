"""From what was designed and played to rows for a trainer: groups by identity, rewards, advantages of each role."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from metagym.episodes import Episode, Status
from metagym.seeding import rng
from metagym.spade.config import SpadeConfig
from metagym.spade.estimates import estimate
from metagym.spade.outcomes import HINTED, PLAIN, Outcome, sampling_seed
from metagym.spade.slots import Design, Played, Slot
from metagym.spade.validation import CODES
from metagym_trainers.advantages import token_advantages
from metagym_trainers.episodes import GroupKey, TokenEpisode, filler
from metagym_trainers.recording import Recorder
from metagym_trainers.spade.players import PlayKey, Recording
from metagym_trainers.spade.settings import Credit, SpadeTraining

DESIGNER, AGENT, HELPED = "designer", "agent", "hinted"
"""Roles of rows: designs, plays without the hint, plays with it."""
EDITED = "edited"
"""Number in the metrics of a row that is an edit, not a sample."""


@dataclass(frozen=True)
class Chosen:
    """A program that is played.

    Attributes:
        slot: Its design.
        groups: How many groups of plays it has in each arm.
    """

    slot: int
    groups: int


@dataclass(frozen=True)
class Block:
    """The rows of one brief, in groups of equal size: designs, plays, hinted plays; empty places hold fillers.

    Attributes:
        rows: The rows, with their rewards.
        advantages: One for each row; None where nothing is trained on it.
    """

    rows: tuple[TokenEpisode, ...]
    advantages: tuple[float | None, ...]


def choose(designs: Sequence[Design], slots: int, taken: set[str], first: int = 0) -> list[Chosen]:
    """The programs of a brief that are played, and how the slots are dealt out to them.

    Args:
        designs: Of the brief.
        slots: Groups of plays.
        taken: Digests of programs that other briefs play; grows.
        first: The number of the brief's first design.
    """
    places: list[int] = []
    for place, design in enumerate(designs, first):
        if design.ok and len(places) < slots and (digest := digest_of(design)) not in taken:
            taken.add(digest)
            places.append(place)
    return [Chosen(place, slots // len(places) + (at < slots % len(places))) for at, place in enumerate(places)]


def digest_of(design: Design) -> str:
    """The digest of an accepted design, without reading its program again."""
    assert design.last.report is not None
    return design.last.report.digest


def design_rows(
    slots: Sequence[Slot],
    recorders: Sequence[Recorder],
    edited: frozenset[int],
    group: GroupKey,
    size: int,
    end_id: int,
) -> list[TokenEpisode]:
    """The rows of a group of designs; fillers in generations that design nothing.

    Args:
        slots: The designs.
        recorders: Of them; empty in generations that design nothing.
        edited: Which of them are edits.
        group: Of the rows.
        size: Rows of a group.
        end_id: The id that ends an answer.
    """
    if not recorders:
        return [filler(end_id, role=DESIGNER, group=group)] * size
    made = []
    for place, (slot, recorder) in enumerate(zip(slots, recorders, strict=True)):
        if not recorder.rows:
            made.append(filler(end_id, role=DESIGNER, group=group))
            continue
        paid = None if slot.paid is None else slot.paid.breakdown.trained
        metrics = {EDITED: 1.0} if place in edited else {"valid": float(slot.design.ok)}
        row = recorder.episode(paid, group, DESIGNER, terminated=True, metrics=metrics)
        made.append(row if paid is not None else row.silenced())
    return made


def joined(parts: Sequence[Played], config: SpadeConfig) -> Played:
    """The plays of a program whose portions each had a hint of their own, estimated as one.

    Args:
        parts: At least one, on different seeds.
        config: The settings.
    """
    if len(parts) == 1:
        return parts[0]
    arms = [[one for part in parts for one in part.outcomes if one.arm == arm] for arm in (PLAIN, HINTED)]
    return replace(
        parts[0],
        hint=next((part.hint for part in parts if part.hint is not None and part.hint.text is not None), parts[0].hint),
        estimate=estimate(*arms, binary=True, estimator=config.estimator),
        outcomes=tuple(one for arm in arms for one in arm),
        killed=next((part.killed for part in parts if part.killed), ""),
        usage=None,
    )


def play_rows(
    played: Played,
    plays: Mapping[PlayKey, Recording],
    arm: int,
    number: int,
    training: SpadeTraining,
    end_id: int,
) -> list[list[TokenEpisode]]:
    """The rows of a program's plays in one arm, group by group.

    Args:
        played: What came of them.
        plays: The recordings.
        arm: `PLAIN` or `HINTED`.
        number: The generation.
        training: The settings.
        end_id: The id that ends an answer.
    """
    outcomes = [outcome for outcome in played.outcomes if outcome.arm == arm]
    if training.mix:
        outcomes.sort(key=lambda outcome: outcome.repeat)  # the seeds keep their order
    size = training.generations
    role = HELPED if arm == HINTED else AGENT
    return [
        [
            _play_row(outcome, plays, played.digest, (role, number, played.digest, at), role, training.credit, end_id)
            for outcome in outcomes[at * size : (at + 1) * size]
        ]
        for at in range(len(outcomes) // size)
    ]


def _play_row(
    outcome: Outcome,
    plays: Mapping[PlayKey, Recording],
    digest: str,
    group: GroupKey,
    role: str,
    credit: Credit,
    end_id: int,
) -> TokenEpisode:
    hinted = outcome.arm == HINTED
    own = sampling_seed(outcome.arm, outcome.seed, outcome.repeat)
    found = plays.get((digest, hinted, outcome.seed, own))
    if found is None or not found.recorder.rows:
        return filler(end_id, role=role, group=group)
    episode = found.episode
    reward = None if outcome.failure is not None else worth(episode, credit)
    truncated = episode.status is Status.TRUNCATED
    metrics = {} if episode.success is None or reward is None else {"success": float(episode.success)}
    row = found.recorder.episode(
        reward, group, role, terminated=not truncated and reward is not None, truncated=truncated, metrics=metrics
    )
    return row if reward is not None else row.silenced()


def worth(episode: Episode, credit: Credit) -> float | None:
    """What an agent's episode is paid; None where it was not measured.

    Args:
        episode: One that did not fail.
        credit: See `SpadeTraining`.
    """
    if credit == "success":
        return None if episode.success is None else float(episode.success)
    return episode.ret if episode.turns and episode.turns[-1].terminated else 0.0


def weighable(rows: Sequence[TokenEpisode]) -> list[TokenEpisode]:
    """Rows for a trainer that weighs them by log-probabilities: those of edits, which nobody sampled, are unknown.

    TRL gives a token of unknown (NaN) log-probability the importance weight 1, as it has where nothing is weighed.
    Where no row has any, they stay as they are.
    """
    if not any(row.logprobs is not None for row in rows if any(row.mask) and EDITED not in row.metrics):
        return list(rows)
    return [
        replace(row, logprobs=(math.nan,) * len(row.mask)) if EDITED in row.metrics and row.logprobs is None else row
        for row in rows
    ]


def block_of(
    designs: Sequence[TokenEpisode],
    plain: Sequence[Sequence[TokenEpisode]],
    hinted: Sequence[Sequence[TokenEpisode]],
    training: SpadeTraining,
    key: tuple[int, int],
    end_id: int,
) -> Block:
    """Lays the groups of a brief out.

    Args:
        designs: The designer's group.
        plain: Groups of unhinted plays, at most `SpadeTraining.slots`.
        hinted: Groups of hinted plays; some are drawn where there are more than `SpadeTraining.hinted_slots`.
        training: The settings.
        key: Generation and brief.
        end_id: The id that ends an answer.
    """
    number, brief = key
    count = min(training.hinted_slots, len(hinted))
    drawn = sorted(rng(training.config.seed, "hinted", number, brief).sample(range(len(hinted)), count))
    rows = [*designs, *_padded(plain, AGENT, training.slots, key, training.generations, end_id)]
    rows += _padded([hinted[at] for at in drawn], HELPED, training.hinted_slots, key, training.generations, end_id)
    values: list[float | None] = [None] * len(rows)
    for role, rule, scale in (
        (DESIGNER, training.config.advantage, training.designer_scale),
        (AGENT, training.agent_rule, 1.0),
        (HELPED, training.agent_rule, 1.0),
    ):
        scored = [place for place, row in enumerate(rows) if row.role == role and row.reward is not None]
        places = [place for place in scored if EDITED not in rows[place].metrics]
        if places:
            found = token_advantages([rows[place] for place in places], rule=rule, scales={role: scale})
            for place, value in zip(places, found, strict=True):
                values[place] = value
            mean = math.fsum(rows[place].reward or 0.0 for place in places) / len(places)
            for place in set(scored).difference(places):  # an edit that is paid less teaches nothing
                values[place] = max(0.0, (rows[place].reward or 0.0) - mean) * scale
    return Block(tuple(rows), tuple(values))


def _padded(
    groups: Sequence[Sequence[TokenEpisode]], role: str, count: int, key: tuple[int, int], size: int, end_id: int
) -> list[TokenEpisode]:
    rows = [row for group in groups[:count] for row in group]
    for place in range(len(groups), count):
        rows += [filler(end_id, role=role, group=("empty", role, *key, place))] * size
    return rows


def metrics_of(slots: Sequence[Slot], chosen: Sequence[int], edited: frozenset[int], memory: int) -> dict[str, float]:
    """Numbers of a generation that do not follow from its rows.

    Args:
        slots: The designs, with what was played and paid of them.
        chosen: Which were played.
        edited: Which are edits; they count for no share of the designs.
        memory: Programs in use.

    Returns:
        ``spade/valid`` (share of the designs), ``spade/programs`` (different ones that were played),
        ``spade/unplayed`` (valid ones beyond the slots), ``spade/win_rate``, ``spade/win_rate_hinted``,
        ``spade/regret`` (means over the programs; absent where nothing was measured), ``spade/failed_plays``,
        ``spade/killed``, ``spade/memory``, and ``rejected/<code>``: how many designs were refused so.
    """
    designs = [slot.design for place, slot in enumerate(slots) if place not in edited]
    played = [slots[place].played for place in chosen]
    estimates = [one.estimate for one in played if one is not None]
    out = {
        "spade/valid": sum(design.ok for design in designs) / len(designs),
        "spade/programs": float(len(chosen)),
        "spade/unplayed": float(sum(slot.design.ok and slot.played is None for slot in slots)),
        "spade/failed_plays": float(
            sum(outcome.failure is not None for one in played if one is not None for outcome in one.outcomes)
        ),
        "spade/killed": float(sum(one is not None and bool(one.killed) for one in played)),
        "spade/memory": float(memory),
    }
    for name, values in (
        ("win_rate", [one.plain.win_rate for one in estimates]),
        ("win_rate_hinted", [one.hinted.win_rate for one in estimates]),
        ("regret", [one.regret.value for one in estimates]),
    ):
        if known := [value for value in values if value is not None]:
            out[f"spade/{name}"] = math.fsum(known) / len(known)
    out |= {f"rejected/{code}": float(count) for code, count in sorted(rejections(designs).items())}
    return out


def rejections(designs: Sequence[Design]) -> Counter[str]:
    """How many designs were refused, by the code of the validation, ``no-reply`` or ``error``."""
    return Counter(design.first.code for design in designs if not design.ok)


__all__ = [
    "AGENT",
    "CODES",
    "DESIGNER",
    "HELPED",
    "PLAIN",
    "Block",
    "Chosen",
    "block_of",
    "choose",
    "design_rows",
    "metrics_of",
    "play_rows",
    "rejections",
    "worth",
]

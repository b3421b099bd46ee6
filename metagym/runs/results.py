"""Reads a run folder: episodes, prompts, estimates per meta-turn, usage."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metagym import stats
from metagym.episodes import Episode, Usage
from metagym.errors import BadInput, StoreCorrupt
from metagym.journal import Journal
from metagym.runs.folder import RunFolder
from metagym.stats import Estimate

EVAL = "eval"
BATCH = "batch"

_KEY = re.compile(
    r"(?:arm/(?P<arm>.+?)/)?(?:(?:seed|m)/(?P<seed>\d+)/)?(?:turn/(?P<turn>\d+)/(?P<what>[^/]+)(?:/(?P<slot>\d+))?|end)"
)


@dataclass(frozen=True)
class Played:
    """One episode and where in the run it stands.

    Attributes:
        arm: Name of the arm (``metagym ict eval``); "" in an ordinary run.
        seed: Seed of the arm's repetition; 0 in an ordinary run.
        turn: Meta-turn; 0 is the starting prompt.
        phase: ``batch``, ``replay``, ``accept`` or ``eval``.
        slot: Place in its batch.
        episode: What was played.
    """

    arm: str
    seed: int
    turn: int
    phase: str
    slot: int
    episode: Episode


@dataclass(frozen=True)
class PromptStep:
    """The prompt in force from one meta-turn on, and how it came about.

    Attributes:
        arm: As in `Played`.
        seed: As in `Played`.
        turn: Meta-turn.
        prompt: The system prompt of this turn's batch and evaluation.
        outcome: Outcome of the reflection; ``start`` for the starting prompt.
        analysis: What the reflector wrote about the episodes.
        reply: Its raw reply; None where there was none.
        cause: Why it kept the prompt, if it failed.
        accepted: Whether the rewrite was taken.
        rejected_prompt: The rewrite that was not taken, else None.
        usage: Tokens of the reflection.
        backend: Kind of model of the reflector; "" for the starting prompt.
    """

    arm: str
    seed: int
    turn: int
    prompt: str
    outcome: str = "start"
    analysis: str = ""
    reply: str | None = None
    cause: str = ""
    accepted: bool = True
    rejected_prompt: str | None = None
    usage: Usage = Usage()
    backend: str = ""


@dataclass(frozen=True)
class Point:
    """The figures of one meta-turn of one arm.

    Attributes:
        turn: Meta-turn; 0 is the starting prompt.
        success: Success rate on the scored set.
        returns: Mean return on it.
        by_type: Success rate by task type, in order of first appearance.
        batch: Success rate of the unseen training batch that this turn's prompt played.
    """

    turn: int
    success: Estimate
    returns: Estimate
    by_type: Mapping[str, Estimate]
    batch: Estimate


@dataclass(frozen=True)
class Curve:
    """How one arm went.

    Attributes:
        arm: Its name; "" in an ordinary run.
        phase: What was scored: ``eval`` (the fixed held-out set) or, without one, ``batch`` (fresh unseen tasks).
        points: One per scored meta-turn, in order.
    """

    arm: str
    phase: str
    points: tuple[Point, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """Task types that occur, in order of first appearance."""
        return tuple(dict.fromkeys(name for point in self.points for name in point.by_type))


@dataclass(frozen=True)
class Results:
    """Everything that a run folder says.

    Attributes:
        manifest: What was run.
        played: Every episode, in the order of the records.
        prompts: Every prompt, in the order of the records.
        ended: Whether the run came to its end.
        seconds: Wall-clock seconds by key, where they were kept.
        retries: Model requests that had to be made again.
    """

    manifest: Mapping[str, Any]
    played: tuple[Played, ...]
    prompts: tuple[PromptStep, ...]
    ended: bool
    seconds: Mapping[str, float]
    retries: int = 0

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms; ("",) for an ordinary run."""
        return tuple(dict.fromkeys([item.arm for item in self.played] + [step.arm for step in self.prompts]))

    def phase_of(self, arm: str) -> str:
        """What the curve of an arm is scored on, see `Curve`."""
        return EVAL if any(item.phase == EVAL for item in self.played if item.arm == arm) else BATCH

    def episodes(self, arm: str = "", turn: int | None = None, phase: str | None = None) -> list[Episode]:
        """The episodes of an arm, of one turn or all, of one phase or all."""
        return [
            item.episode
            for item in self.played
            if item.arm == arm and turn in (None, item.turn) and phase in (None, item.phase)
        ]

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """One learning curve per arm."""
        return tuple(self._curve(arm) for arm in self.arms)

    def curve(self, arm: str = "") -> Curve:
        """The learning curve of one arm.

        Raises:
            BadInput: No such arm; the message lists those that exist.
        """
        for curve in self.curves:
            if curve.arm == arm:
                return curve
        raise BadInput(f"the run has no arm {arm!r}; it has {', '.join(map(repr, self.arms)) or 'none'}")

    def _curve(self, arm: str) -> Curve:
        phase = self.phase_of(arm)
        turns = sorted({item.turn for item in self.played if item.arm == arm and item.phase == phase})
        return Curve(arm, phase, tuple(self._point(arm, turn, phase) for turn in turns))

    def _point(self, arm: str, turn: int, phase: str) -> Point:
        episodes = self.episodes(arm, turn, phase)
        by_type: defaultdict[str, list[Episode]] = defaultdict(list)
        for episode in episodes:
            by_type[episode.task.type or "(all)"].append(episode)
        return Point(
            turn=turn,
            success=stats.success_estimate(episodes),
            returns=self._returns(episodes),
            by_type={name: stats.success_estimate(group) for name, group in by_type.items()},
            batch=stats.success_estimate(self.episodes(arm, turn, BATCH)),
        )

    def _returns(self, episodes: list[Episode]) -> Estimate:
        return stats.return_estimate(episodes)

    @property
    def usage(self) -> dict[str, Usage]:
        """Calls, tokens and cost by seat; a reply read from the cache counts as when it was paid."""
        return {
            "actor": Usage.total(item.episode.usage for item in self.played),
            "reflector": Usage.total(step.usage for step in self.prompts),
        }

    @property
    def backends(self) -> dict[str, tuple[str, ...]]:
        """Kinds of model by seat: scripted, local or server."""
        return {
            "actor": tuple(sorted({item.episode.backend for item in self.played})),
            "reflector": tuple(sorted({step.backend for step in self.prompts if step.backend})),
        }

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that played, as the episodes name them."""
        return tuple(sorted({str(i.episode.info["engine"]) for i in self.played if i.episode.info.get("engine")}))

    @property
    def families(self) -> tuple[str, ...]:
        """The families that were played."""
        return tuple(sorted({item.episode.task.family for item in self.played}))

    @cached_property
    def outcomes(self) -> Counter[str]:
        """How often the reflections ended how; a refused rewrite counts as ``not accepted``."""
        return Counter(
            step.outcome if step.accepted else "not accepted" for step in self.prompts if step.outcome != "start"
        )


def load_results(run: RunFolder | str | os.PathLike[str]) -> Results:
    """Reads a run folder.

    Raises:
        RunError: It is no run.
        StoreCorrupt: A record is damaged or is none of a run; the message names its key.
        StoreError: It cannot be read.
    """
    if isinstance(run, RunFolder):
        return _load(run)
    with RunFolder.open(run) as folder:
        return _load(folder)


def load_curve(run: RunFolder | str | os.PathLike[str], arm: str = "") -> Curve:
    """The learning curve of a run, see `load_results` for errors."""
    return load_results(run).curve(arm)


def _load(folder: RunFolder) -> Results:
    played: list[Played] = []
    prompts: list[PromptStep] = []
    ended = False
    for key, value in folder.records.records():
        place = _KEY.fullmatch(key)
        try:
            if place is None:
                continue  # a kind of record that a later version added
            arm, seed = _arm_and_seed(place, value)
            kind = value.get("kind")
            if kind == "episode":
                episode = Episode.from_json(value["episode"])
                played.append(Played(arm, seed, value["turn"], value["phase"], value["slot"], episode))
            elif kind in ("prompt", "reflection"):
                prompts.append(prompt_step(arm, seed, value))
            elif kind == "end":
                # Of several meta-episodes each has an end; the run's own comes last.
                ended = True
                continue
            ended = False
        except (AttributeError, KeyError, TypeError, BadInput) as error:
            raise StoreCorrupt(f"{folder.records.path}: record {key!r} is none of a run ({error})") from error
    return Results(folder.manifest, tuple(played), tuple(prompts), ended, *aside_of(folder.timing))


def aside_of(timing: Journal | None) -> tuple[dict[str, float], int]:
    """What no two runs share and stands apart from the records: wall-clock seconds by key, and repeated requests."""
    aside = {} if timing is None else dict(timing.records())
    seconds = {key: value for key, value in aside.items() if isinstance(value, (int, float))}
    return seconds, sum(value.get("retries", 0) for value in aside.values() if isinstance(value, dict))


def place_of(key: str, value: Mapping[str, Any]) -> tuple[str, int] | None:
    """Arm and seed of a record of an ICT run; None for a key that is none of such a run."""
    place = _KEY.fullmatch(key)
    return None if place is None else _arm_and_seed(place, value)


def _arm_and_seed(place: re.Match[str], value: Mapping[str, Any]) -> tuple[str, int]:
    return str(value.get("arm") or place["arm"] or ""), int(place["seed"] or 0)


def prompt_step(arm: str, seed: int, value: Mapping[str, Any]) -> PromptStep:
    """The record of a starting prompt or of a reflection as a step of the prompt."""
    if value["kind"] == "prompt":
        return PromptStep(arm, seed, value["turn"], value["prompt"])
    return PromptStep(
        arm=arm,
        seed=seed,
        turn=value["turn"],
        prompt=value["prompt"],
        outcome=value["outcome"],
        analysis=value.get("analysis") or "",
        reply=value.get("reply"),
        cause=value.get("cause") or "",
        accepted=value.get("accepted", True),
        rejected_prompt=value.get("rejected_prompt"),
        usage=Usage.from_json(value.get("usage") or {}),
        backend=value.get("backend") or "",
    )

"""What was played: `Turn`, `Episode`, their one JSON codec, and the token counts that go with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import groupby
from typing import Any, NamedTuple

from metagym.errors import BadInput
from metagym.tasks import Task


class Status(str, Enum):
    """How an episode ended. Success is a third thing beside terminated and truncated."""

    OK = "ok"
    """The environment ended it by its own rules."""
    TRUNCATED = "truncated"
    """Cut: step cap, the environment's own limit, or the model's context window (see the cause)."""
    ERROR = "error"
    """The environment, its host or the model failed; the episode is not scored."""
    UNSCORED = "unscored"
    """It was not measured (cancelled, deadline); never the same thing as a return of 0."""


class Repair(str, Enum):
    """How a model's reply became an action."""

    EXACT = "exact"
    """The command stood in the reply as the environment knows it."""
    REPAIRED = "repaired"
    """The documented cleaning rule changed it (case, blanks, old command form, ...)."""
    INVALID = "invalid"
    """A command was found and sent, and the environment does not know it."""
    ABSENT = "absent"
    """The reply held no command; nothing was sent to the environment."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one or more model calls.

    Attributes:
        calls: Number of replies counted.
        prompt_tokens: Tokens read, cached ones included.
        completion_tokens: Tokens written, reasoning included.
        reasoning_tokens: The part of the completion spent on reasoning.
        cached_tokens: The part of the prompt that the server had cached.
        cost: In the currency of the price table; 0.0 without one.
        estimated: True where a server reported no usage and the counts are characters / 4.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        """The sum; estimated if either part is."""
        return Usage.total((self, other))

    @classmethod
    def total(cls, parts: Iterable[Usage]) -> Usage:
        """The sum of any number of parts."""
        calls = prompt = completion = reasoning = cached = 0
        costs, estimated = [], False
        for part, times in _runs(parts):
            calls += times * part.calls
            prompt += times * part.prompt_tokens
            completion += times * part.completion_tokens
            reasoning += times * part.reasoning_tokens
            cached += times * part.cached_tokens
            if part.cost:
                costs += [part.cost] * times
            estimated = estimated or part.estimated
        return cls(calls, prompt, completion, reasoning, cached, math.fsum(costs), estimated)

    def to_json(self) -> dict[str, Any]:
        """The counts as a JSON object."""
        return {name.name: getattr(self, name.name) for name in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Usage:
        """The inverse of `to_json`."""
        return cls(**data)


def _runs(parts: Iterable[Usage]) -> Iterator[tuple[Usage, int]]:
    """The parts, equal neighbours taken together: a scripted model counts every call with one and the same object."""
    for _, run in groupby(parts, key=id):
        members = list(run)
        yield members[0], len(members)


class Turn(NamedTuple):
    """One observation, the model's reply to it, and what the environment said of the action.

    A named tuple, like `metagym.chat.Message`: one is made at every inner step, and a frozen dataclass costs four times
    as much to build.

    Attributes:
        observation: What the actor saw before it acted.
        reply: The raw text of the model; None where there was none (see `absence`).
        action: The cleaned command that the environment got; "" where none was found and none was sent.
        reward: Finite.
        terminated: The environment ended the episode here by its rules.
        truncated: The episode was cut here.
        repair: How the reply became the action.
        absence: Why there is no text (``length``, ``refused``, ``empty``, ``error``), else None.
        admissible: The legal actions at `observation`, where they are kept.
    """

    observation: str
    reply: str | None
    action: str
    reward: float
    terminated: bool
    truncated: bool
    repair: Repair = Repair.EXACT
    absence: str | None = None
    admissible: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The turn as a JSON object."""
        data: dict[str, Any] = {
            "observation": self.observation,
            "reply": self.reply,
            "action": self.action,
            "reward": self.reward,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "repair": self.repair.value,
        }
        if self.absence is not None:
            data["absence"] = self.absence
        if self.admissible is not None:
            data["admissible"] = list(self.admissible)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Turn:
        """The inverse of `to_json`."""
        values = dict(data)
        values["repair"] = Repair(values["repair"])
        if "admissible" in values:
            values["admissible"] = tuple(values["admissible"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished inner episode; immutable.

    Attributes:
        task: What was played.
        turns: In order; an error may leave it empty.
        last_observation: The terminal observation, which no turn holds.
        ret: The return, i.e. the sum of the turns' rewards.
        success: By the family's predicate; None where it cannot be told.
        status: See `Status`.
        cause: Why it was cut, failed or is unscored; "" for an ordinary end.
        seed: The seed from which the actor's sampling seeds came.
        backend: Kind of model that played: ``scripted``, ``local`` or ``server``.
        usage: Sum over the model calls.
        info: Facts of the engine that belong to the result (JSON): which ``engine`` played, whether the seed was
            honoured (``seed_honoured``), further measures (``scores``: name -> number, None where not measured), and
            the ``final_answer`` as it is counted by majorities.
        seconds: Wall-clock time; neither compared nor part of the record, since no two runs share it.
    """

    task: Task
    turns: tuple[Turn, ...]
    last_observation: str
    ret: float
    success: bool | None
    status: Status
    cause: str = ""
    seed: int = 0
    backend: str = "scripted"
    usage: Usage = Usage()
    info: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)

    def __hash__(self) -> int:
        """By task and seed: enough to tell episodes of one batch apart."""
        return hash((self.task, self.seed))

    @property
    def steps(self) -> int:
        """Number of turns."""
        return len(self.turns)

    @property
    def terminated(self) -> bool:
        """Whether the environment ended it by its rules."""
        return bool(self.turns) and self.turns[-1].terminated

    @property
    def truncated(self) -> bool:
        """Whether it was cut."""
        return self.status is Status.TRUNCATED or (bool(self.turns) and self.turns[-1].truncated)

    @property
    def scored(self) -> bool:
        """Whether its return may enter a mean, a group or a regret."""
        return self.status in (Status.OK, Status.TRUNCATED) and math.isfinite(self.ret)

    def count(self, repair: Repair) -> int:
        """Number of turns whose action came about this way."""
        return sum(turn.repair is repair for turn in self.turns)

    def to_json(self) -> dict[str, Any]:
        """The episode as a JSON object, without `seconds`."""
        return {
            "task": self.task.to_json(),
            "turns": [turn.to_json() for turn in self.turns],
            "last_observation": self.last_observation,
            "return": self.ret,
            "success": self.success,
            "status": self.status.value,
            "cause": self.cause,
            "seed": self.seed,
            "backend": self.backend,
            "usage": self.usage.to_json(),
            "info": dict(self.info),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Episode:
        """The inverse of `to_json`.

        Raises:
            BadInput: The object is no episode.
        """
        try:
            return cls(
                task=Task.from_json(data["task"]),
                turns=tuple(Turn.from_json(turn) for turn in data["turns"]),
                last_observation=data["last_observation"],
                ret=data["return"],
                success=data["success"],
                status=Status(data["status"]),
                cause=data["cause"],
                seed=data["seed"],
                backend=data["backend"],
                usage=Usage.from_json(data["usage"]),
                info=data["info"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"not an episode record: {error!r}") from error


def success_rate(episodes: list[Episode]) -> float | None:
    """Share of successes among the scored episodes whose success is known; None where there is none."""
    known = [e.success for e in episodes if e.scored and e.success is not None]
    return sum(known) / len(known) if known else None


def mean_return(episodes: list[Episode]) -> float | None:
    """Mean return over the scored episodes; None where there is none."""
    returns = [e.ret for e in episodes if e.scored]
    return math.fsum(returns) / len(returns) if returns else None

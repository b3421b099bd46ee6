"""What the environment memory keeps of a program, and how its measurements are read later.

A program enters the memory because it measured well, and what measured best is partly luck. So its difficulty is read
from plays after it entered alone, the later ones counting more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from metagym.checks import whole
from metagym.errors import BadInput
from metagym.spade.estimates import RegretEstimate
from metagym.spade.fingerprint import AstFingerprint
from metagym.spade.program import EnvProgram
from metagym.stats import Estimate

UNMEASURED = Estimate(None, None, None, 0)
"""What was not measured; it is never 0."""

_MEASURED = ("p0", "p1", "regret", "learnability")


@dataclass(frozen=True)
class Plays:
    """One measurement of a program.

    Attributes:
        round: When it was made, >= 0.
        p0: Win rate without the hint, in [0, 1]; `n` counts the plays.
        p1: Win rate with it.
        regret: As `metagym.spade.regret` estimates it.
        learnability: Mean over seeds of p(1 - p), in [0, 0.25].
        batch: Tells several measurements of one round apart.
    """

    round: int
    p0: Estimate = UNMEASURED
    p1: Estimate = UNMEASURED
    regret: Estimate = UNMEASURED
    learnability: Estimate = UNMEASURED
    batch: int = 0

    def __post_init__(self) -> None:
        """Numbers that are none become unmeasured."""
        whole("the round of plays", self.round, 0)
        whole("the batch of plays", self.batch, 0)
        for name in _MEASURED:
            value = getattr(self, name).value
            if value is not None and not math.isfinite(value):
                object.__setattr__(self, name, replace(UNMEASURED, unscored=getattr(self, name).unscored))

    @classmethod
    def of(cls, estimate: RegretEstimate, round: int, batch: int = 0) -> Plays:
        """The measurement of a regret estimate; all unmeasured if the program itself failed in it."""
        if estimate.invalidated:
            return cls(round, batch=batch)
        p0, p1 = (
            arm.mean if estimate.binary else Estimate(arm.win_rate, None, None, arm.counted)
            for arm in (estimate.plain, estimate.hinted)
        )
        return cls(round, p0, p1, estimate.regret, estimate.learnability or UNMEASURED, batch)

    def to_json(self) -> dict[str, Any]:
        """The measurement as a JSON object."""
        estimates = {name: getattr(self, name).to_json() for name in _MEASURED}
        return {"round": self.round, "batch": self.batch, **estimates}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plays:
        """The inverse of `to_json`; further keys are ignored."""
        estimates = {name: Estimate.from_json(data[name]) for name in _MEASURED}
        return cls(data["round"], batch=data["batch"], **estimates)


@dataclass(frozen=True)
class EnvRecord:
    """A program as the memory keeps it.

    Attributes:
        digest: Digest of the source; its identity.
        source: The program, whole.
        skill: What it trains.
        round: When it was designed, >= 0.
        header: Its header (plain JSON), e.g. ``title``.
        doc_id: The document that grounded it; "" without one.
        parents: Digests of the programs it was made from.
        report: Summary of its validation (plain JSON).
        ast: Fingerprint of its syntax tree; None where there is none.
        behaviour: Fingerprint of its behaviour; "" where there is none.
    """

    digest: str
    source: str
    skill: str
    round: int
    header: Mapping[str, Any] = field(default_factory=dict)
    doc_id: str = ""
    parents: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    ast: AstFingerprint | None = None
    behaviour: str = ""

    def __post_init__(self) -> None:
        """A record names itself, its round and no parent twice."""
        whole("the round of a program", self.round, 0)
        for name in ("digest", "source", "skill", "doc_id", "behaviour"):
            if not isinstance(getattr(self, name), str):
                raise BadInput(f"{name} of an environment record is text, got {type(getattr(self, name)).__name__}")
        if not self.digest:
            raise BadInput("an environment record needs a digest")
        parents = self.parents
        if isinstance(parents, str) or not all(isinstance(parent, str) and parent for parent in parents):
            raise BadInput(f"parents of program {self.digest:.12} are digests, got {parents!r:.80}")
        object.__setattr__(self, "parents", tuple(dict.fromkeys(parents)))

    @classmethod
    def of(
        cls,
        program: EnvProgram,
        round: int,
        *,
        doc_id: str = "",
        parents: tuple[str, ...] | None = None,
        report: Mapping[str, Any] | None = None,
        ast: AstFingerprint | None = None,
        behaviour: str = "",
    ) -> EnvRecord:
        """The record of a parsed program; its parents are those of its header where none are given."""
        found = program.parents if parents is None else parents
        return cls(
            program.digest,
            program.source,
            program.skill,
            round,
            program.header(),
            doc_id,
            found,
            report or {},
            ast,
            behaviour,
        )

    @property
    def title(self) -> str:
        """The program's title, or the beginning of its digest."""
        title = self.header.get("title")
        return title if isinstance(title, str) and title else self.digest[:12]

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object."""
        return {
            "digest": self.digest,
            "source": self.source,
            "skill": self.skill,
            "round": self.round,
            "header": dict(self.header),
            "doc_id": self.doc_id,
            "parents": list(self.parents),
            "report": dict(self.report),
            "ast": None if self.ast is None else self.ast.to_json(),
            "behaviour": self.behaviour,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EnvRecord:
        """The inverse of `to_json`; further keys are ignored."""
        names = ("digest", "source", "skill", "round", "header", "doc_id", "report", "behaviour")
        ast = data["ast"]
        return cls(
            **{name: data[name] for name in names},
            parents=tuple(data["parents"]),
            ast=None if ast is None else AstFingerprint.from_json(ast),
        )


@dataclass(frozen=True)
class EnvView:
    """A program in the memory with its measurements, as samplers see it.

    Attributes:
        record: The program.
        admission: The measurement that it entered with; None without one.
        later: The measurements after it entered, oldest first.
        order: Place in the order of insertion.
        live: Not evicted.
        forgetting: Weight of a measurement one round older, in (0, 1].
    """

    record: EnvRecord
    admission: Plays | None = None
    later: tuple[Plays, ...] = ()
    order: int = 0
    live: bool = True
    forgetting: float = 0.9

    @property
    def digest(self) -> str:
        """The program's identity."""
        return self.record.digest

    @property
    def skill(self) -> str:
        """What the program trains."""
        return self.record.skill

    @cached_property
    def p0(self) -> float | None:
        """Win rate without the hint: of the later plays if there are any, else of the admission."""
        return self._current("p0")

    @cached_property
    def p1(self) -> float | None:
        """Win rate with the hint, read as `p0`."""
        return self._current("p1")

    @cached_property
    def regret(self) -> float | None:
        """Regret, read as `p0`."""
        return self._current("regret")

    @cached_property
    def difficulty(self) -> float | None:
        """1 - win rate without the hint, of plays after the insertion alone, in [0, 1]; None without any."""
        rate = self._faded("p0")
        return None if rate is None else 1.0 - rate

    @property
    def last_played(self) -> int:
        """Round of the latest measurement, or of the insertion."""
        return max((plays.round for plays in self.later), default=self.record.round)

    @property
    def plays(self) -> int:
        """Plays in both arms, the admission's included."""
        found = (*self.later, *((self.admission,) if self.admission else ()))
        return sum(plays.p0.n + plays.p1.n for plays in found)

    def _current(self, name: str) -> float | None:
        faded = self._faded(name)
        if faded is not None or self.admission is None:
            return faded
        return getattr(self.admission, name).value

    def _faded(self, name: str) -> float | None:
        """Mean of the later values, weighted by plays and by forgetting per round."""
        newest = self.last_played
        total = weights = 0.0
        for plays in self.later:
            estimate = getattr(plays, name)
            if estimate.value is not None:
                weight = max(1, estimate.n) * self.forgetting ** (newest - plays.round)
                total, weights = total + weight * estimate.value, weights + weight
        return total / weights if weights else None

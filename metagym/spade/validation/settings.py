"""How strict a validation is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from metagym.checks import flag, number, settle, whole
from metagym.errors import BadInput
from metagym.seeding import check_seed

Audit = Literal["off", "reject", "flag"]


@dataclass(frozen=True)
class ValidationSettings:
    """Settings of a validation; the defaults are those of a run.

    Attributes:
        seed: Root of all choices; the seeds of a program depend on it and on the program's digest, so that no program
            can know them.
        seeds: Seeds that a program is played on, 3 to 32. Leaks are found by comparing seeds: fewer than 6 see less.
        oracle_share: Least share of the seeds on which the reference solution succeeds, above 0 to 1.
        trivial_share: Greatest share of episodes that a policy without thought may win, 0 to below 1. A policy above it
            is tried on three times as many further seeds, and those decide.
        min_steps: Least steps that the reference solution takes (median over the seeds), at least 1.
        novelty: Compare with programs that are known.
        near_duplicate: Least similarity of syntax trees that makes a program a near duplicate, above 0 to 1. Programs
            of different hands measure 0.0 to 0.3; one changed operator leaves 0.89 to 1.
        audit: What becomes of a program on which the auditor gave no clear word: ``off`` asks none, ``reject`` refuses
            the program, ``flag`` accepts it with the flag ``unaudited``.
    """

    seed: int = 0
    seeds: int = 8
    oracle_share: float = 1.0
    trivial_share: float = 0.25
    min_steps: int = 2
    novelty: bool = True
    near_duplicate: float = 0.85
    audit: Audit = "off"

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            BadInput: One is outside its limits.
        """
        object.__setattr__(self, "seed", check_seed(self.seed))
        settle(self, "seeds", whole, 3)
        settle(self, "min_steps", whole, 1)
        settle(self, "novelty", flag)
        settle(self, "oracle_share", number, 0.0, 1.0)
        settle(self, "trivial_share", number, 0.0, 1.0)
        settle(self, "near_duplicate", number, 0.0, 1.0)
        if self.seeds > 32:
            raise BadInput(f"seeds is at most 32, got {self.seeds}")
        if self.oracle_share == 0.0 or self.near_duplicate == 0.0 or self.trivial_share == 1.0:
            raise BadInput("oracle_share and near_duplicate are above 0, and trivial_share is below 1")
        if self.audit not in get_args(Audit):
            raise BadInput(f"audit is one of {', '.join(get_args(Audit))}, got {self.audit!r}")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data; the constructor takes it back."""
        return asdict(self)

    def key(self) -> str:
        """Digest of what stages 1 to 10 depend on, 16 hex digits."""
        data = {
            name: value for name, value in asdict(self).items() if name not in ("novelty", "near_duplicate", "audit")
        }
        return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=8).hexdigest()

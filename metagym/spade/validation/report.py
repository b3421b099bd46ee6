"""What a validation says: a code, the stage it belongs to, and words that the program's author can act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metagym.errors import BadInput, ProgramKilled, StoreError
from metagym.spade.fingerprint import AstFingerprint
from metagym.strictjson import plain_json

VERSION = "4"
"""Changes whenever a program might get another verdict; part of every cache key."""

_STAGES: dict[str, str] = {
    "parse": "no_code syntax_error too_long metadata_missing",
    "static": "forbidden_import forbidden_call global_rng no_env_class several_env_classes bad_signature",
    "load": "load_error load_timeout memory_limit",
    "contract": "bad_reset_type empty_observation bad_step_type reward_not_finite reward_out_of_range step_crash "
    "step_timeout never_ends step_after_end",
    "determinism": "nondeterministic seed_insensitive",
    "robustness": "crash_on_garbage",
    "solvability": "oracle_fails",
    "triviality": "trivial_policy_wins solution_seed_independent",
    "leaks": "answer_in_observation answer_in_hint",
    "length": "single_step",
    "novelty": "duplicate_exact duplicate_ast near_duplicate",
    "audit": "auditor_rejects auditor_unavailable",
}

STAGES: tuple[str, ...] = tuple(_STAGES)
"""The twelve stages, in their order."""

CODES: Mapping[str, str] = {code: stage for stage, codes in _STAGES.items() for code in codes.split()}
"""Every code and the stage that it belongs to."""

MAX_DETAIL = 1_000
"""Longest detail, in characters."""


class Refusal(Exception):
    """A stage refuses the program: the way from a stage to the report, never seen outside.

    `steady` is False where a busy machine may refuse what an idle one accepts: such a verdict is not kept.
    """

    def __init__(self, code: str, detail: str, line: int = 0, *, steady: bool = True) -> None:
        self.code, self.detail, self.line, self.steady = code, detail, line, steady
        super().__init__(detail)

    @classmethod
    def of_kill(cls, code: str, error: ProgramKilled) -> Refusal:
        """The refusal for a worker that was ended."""
        detail = f"the program was ended ({error.limit}): {error.message}"
        return cls(code, detail, steady=error.limit not in ("wall", "cpu", "died"))


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The verdict on one program, for its author.

    No stage writes a solution, a hint or a state into it. What the program itself says in an error is quoted, though.

    Attributes:
        ok: The program may be played.
        digest: SHA-256 of the source, 64 hex digits.
        code: One of `CODES`; empty where the program is accepted.
        stage: The stage of the code; the last stage that was passed where the program is accepted.
        detail: What is wrong and what to write instead, for the program's author.
        line: The line that is meant, from 1; 0 for the whole program or where nobody knows.
        metrics: What was measured, up to the stage that refused; a key that is absent was not measured.
        seeds: Seeds that the program was reset with.
        flags: ``unaudited`` where no auditor has spoken though one was asked for.
        layers: Layers of the sandbox that held while the program ran; empty where it was never run.
        isolation: ``process``, ``inprocess``, or empty where it was never run.
        fingerprint: What is left of the program without its names; None where it does not parse.
        behaviour: Digest of what it did under probe policies and when it was solved, on seeds that are the same for all
            programs: equal for programs that answer alike, whatever their text; empty where it was not played.
        version: Of the validator.
    """

    ok: bool
    digest: str
    code: str = ""
    stage: str = ""
    detail: str = ""
    line: int = 0
    metrics: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    isolation: str = ""
    fingerprint: AstFingerprint | None = None
    behaviour: str = ""
    version: str = VERSION

    def __str__(self) -> str:
        """One line: ``accepted`` or code, line and detail."""
        if self.ok:
            return "accepted" + (f" ({', '.join(self.flags)})" if self.flags else "")
        return f"{self.code}{f', line {self.line}' if self.line else ''}: {self.detail}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data, equal for equal verdicts."""
        return {
            "ok": self.ok,
            "digest": self.digest,
            "code": self.code,
            "stage": self.stage,
            "detail": self.detail,
            "line": self.line,
            "metrics": plain_json(self.metrics),
            "seeds": list(self.seeds),
            "flags": list(self.flags),
            "layers": list(self.layers),
            "isolation": self.isolation,
            "fingerprint": None if self.fingerprint is None else self.fingerprint.to_json(),
            "behaviour": self.behaviour,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, data: Any) -> ValidationReport:
        """Reads what `to_json` made.

        Raises:
            StoreError: It is something else.
        """
        try:
            found = dict(data)
            found["fingerprint"] = AstFingerprint.from_json(data["fingerprint"]) if data["fingerprint"] else None
            for name in ("seeds", "flags", "layers"):
                found[name] = tuple(data[name])
            report = cls(**found)
        except (TypeError, KeyError, ValueError, BadInput) as error:
            raise StoreError(f"this is no report of a validation ({error!r})") from None
        if report.ok == bool(report.code) or (report.code and CODES.get(report.code) != report.stage):
            raise StoreError(f"this report of a validation contradicts itself: {report.ok=}, {report.code=}")
        return report

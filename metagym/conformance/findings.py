"""What a check found: `Finding`, and the `Report` that holds one for every check."""

from __future__ import annotations

from dataclasses import dataclass


class Fault(Exception):
    """A check does not hold; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: Name of the check, e.g. ``"seeds"``.
        ok: Whether it holds.
        said: What was seen where it holds; else one sentence that names the culprit and what to do.
    """

    check: str
    ok: bool
    said: str


@dataclass(frozen=True)
class Report:
    """The findings on one family.

    Attributes:
        name: The family.
        findings: One per check, in the order of the checks.
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(finding.ok for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that do not hold."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def __str__(self) -> str:
        """One line per check, so that ``assert report.ok, report`` tells what to do."""
        lines = (f"{'ok' if one.ok else 'FAILED':<7}{one.check:<11}{one.said}" for one in self.findings)
        return "\n".join([f"family {self.name}", *lines])

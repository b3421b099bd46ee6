"""Is a program a fair environment? Twelve stages, each with its codes; the first refusal is the verdict.

    from metagym.spade.validation import ValidationSettings, validate

    report = validate(source, settings=ValidationSettings(), known=[other.fingerprint])
    report.ok, report.code, report.detail, report.line

Nothing of a program is run outside the sandbox, and whatever is unclear is a refusal.
"""

from __future__ import annotations

from metagym.spade.validation.cache import JournalCache, MemoryCache, ReportCache
from metagym.spade.validation.pipeline import validate, validation_pools
from metagym.spade.validation.report import CODES, STAGES, VERSION, ValidationReport
from metagym.spade.validation.settings import ValidationSettings

__all__ = [
    "CODES",
    "STAGES",
    "VERSION",
    "JournalCache",
    "MemoryCache",
    "ReportCache",
    "ValidationReport",
    "ValidationSettings",
    "validate",
    "validation_pools",
]

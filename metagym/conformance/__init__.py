"""What families keep to, as functions: `check_family`, and `check_text_aec` for views of turn-based games."""

from metagym.conformance.aec import check_text_aec
from metagym.conformance.families import CHECKS, check_family
from metagym.conformance.findings import Finding, Report

__all__ = ["CHECKS", "Finding", "Report", "check_family", "check_text_aec"]

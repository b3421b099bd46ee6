"""Stage 11: the program is none of those that are known."""

from __future__ import annotations

from collections.abc import Sequence

from metagym.spade.fingerprint import AstFingerprint, nearest
from metagym.spade.validation.report import Refusal
from metagym.spade.validation.settings import ValidationSettings


def check_novelty(
    fingerprint: AstFingerprint, known: Sequence[AstFingerprint], settings: ValidationSettings
) -> float | None:
    """Compares a program with those that are known.

    Returns:
        The greatest similarity to a known program, in [0, 1]; None where none is known.

    Raises:
        Refusal: ``duplicate_exact``, ``duplicate_ast`` or ``near_duplicate``, naming the known program's digest.
    """
    if not known:
        return None
    for other in known:
        if other.digest == fingerprint.digest:
            raise Refusal("duplicate_exact", f"this program is known, letter by letter ({other.digest[:12]})")
    for other in known:
        if other.tree == fingerprint.tree:
            raise Refusal(
                "duplicate_ast",
                f"this program is a known one with other names, values or layout ({other.digest[:12]}): write "
                "other rules",
            )
    similarity, digest = nearest(fingerprint, known)[0]
    if similarity >= settings.near_duplicate:
        raise Refusal(
            "near_duplicate",
            f"this program is nearly a known one ({digest[:12]}, similarity {similarity:.2f}, at most "
            f"{settings.near_duplicate:.2f}): write other rules",
        )
    return similarity

"""SESA: search self-play with a skill bank that only the solver reads.

Names are loaded at their first use, so that `import metagym.sesa` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metagym.sesa.cards import SkillCard
    from metagym.sesa.dedup import Added, Duplicate, Refused
    from metagym.sesa.skills import SkillBank
    from metagym.sesa.snapshots import BankSnapshot, FoundCard
    from metagym.sesa.state import BankEntry

__all__ = ["Added", "BankEntry", "BankSnapshot", "Duplicate", "FoundCard", "Refused", "SkillBank", "SkillCard"]

_HOMES = {
    "Added": "dedup",
    "BankEntry": "state",
    "BankSnapshot": "snapshots",
    "Duplicate": "dedup",
    "FoundCard": "snapshots",
    "Refused": "dedup",
    "SkillBank": "skills",
    "SkillCard": "cards",
}


def __getattr__(name: str) -> Any:
    """Loads a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'metagym.sesa' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"metagym.sesa.{_HOMES[name]}"), name)
    return value

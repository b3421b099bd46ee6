"""Which generation of ALFWorld's text a game file belongs to, told by a digest of its domain and grammar."""

from __future__ import annotations

import hashlib
import re
from types import MappingProxyType
from typing import Final

_COMMENT = re.compile(r";[^\n]*")
_TASK = re.compile(r'("rhs"\s*:\s*")Your task is to: (?:[^"\\]|\\.)*(")')

# Digests only: no domain and no grammar is copied here. A pair that is not listed is played by the real engine.
_KNOWN: Final = MappingProxyType(
    {
        # alfworld 0.4.2
        "5985a4a98e19a0f6124893bba23fabce278a31b8ebcd7543d25c9cb83cff09ac": "0.4",
        # The games published as json_2.1.1. One such file was compared by reading: its domain and grammar are 0.3.5's
        # but for one line, the sink type, that 0.3.5 comments out; the digest is of 0.3.5's text with that line.
        "08afbaf9facd6674ecebfb5731831e8db3d22d486d6dca764997a66d0681149e": "legacy",
        # alfworld 0.3.5
        "ef2c7da7c84746222ce225201a23d5367e1555a9c4559c597439123436dc6248": "0.3",
    }
)


def task_line(grammar: str) -> str | None:
    """The one "Your task is to: ..." line of a grammar; None if there is none, or more than one."""
    found = _TASK.findall(grammar)
    if len(found) != 1:
        return None
    match = _TASK.search(grammar)
    assert match is not None
    return match.group(0)[len(match.group(1)) : -1]


def fingerprint(domain: str, grammar: str) -> str:
    """A digest of a domain and a grammar, without what differs between games that play alike.

    Of the domain, comments, blanks and letter case do not count. Of the grammar, blanks at the ends of lines, empty
    lines, lines that begin with ``#`` and the task sentence do not count; blanks inside a line do: they are shown.

    Args:
        domain: Text of the PDDL domain.
        grammar: Text of the grammar (.twl2).

    Returns:
        64 hexadecimal digits.
    """
    plain = " ".join(_COMMENT.sub("", domain).lower().split()).replace("( ", "(").replace(" )", ")")
    lines = (line.strip() for line in _TASK.sub(r"\1\2", grammar).splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("#"))
    return hashlib.sha256(f"{plain}\0{text}".encode()).hexdigest()


def generation_of(domain: str, grammar: str) -> str | None:
    """The generation of a known pair of domain and grammar; None for any other, which only the real engine can play."""
    return _KNOWN.get(fingerprint(domain, grammar))

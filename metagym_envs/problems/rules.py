"""Scripted stand-ins: one knows the answers, one answers wrongly. They check the scoring, and know no language."""

from __future__ import annotations

from functools import lru_cache

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed
from metagym_envs.problems.data import load
from metagym_envs.problems.rows import KINDS, LETTERS, Row, shown


def actor(name: str, benchmark: str, path: str | None, seed: int) -> ChatModel:
    """A stand-in for the actor's seat.

    Args:
        name: ``"oracle"`` or ``"wrong"``.
        benchmark: Whose rows are played.
        path: As for the family.
        seed: Not used; >= 0.
    """
    check_seed(seed, "the scripted actor's seed")
    return scripted(lambda request: answer(request, name, benchmark, path), id=f"rules:problems-{name}-1")


def answer(request: Request, name: str, benchmark: str, path: str | None) -> str:
    """The reply to a request: the label or the known solution of the problem that is asked, or something wrong."""
    asked = next((message.content for message in request.messages if message.role == "user"), "")
    row = next((row for text, row in _shown(benchmark, path) if text in asked), None)
    if KINDS[benchmark] in ("program", "function"):
        source = row.solution if row is not None and name == "oracle" else "pass"
        if row is not None and row.check and name == "oracle" and f"def {row.entry_point}(" not in source:
            source = row.prompt + source
        return f"```python\n{source.strip()}\n```"
    if row is None or name == "wrong":
        others = [letter for letter in LETTERS if row is None or letter != row.label]
        return rf"\boxed{{{others[0] if KINDS[benchmark] == 'choice' else '-987654321'}}}"
    return rf"\boxed{{{row.label}}}"


@lru_cache(maxsize=4)
def _shown(benchmark: str, path: str | None) -> tuple[tuple[str, Row], ...]:
    """Rows by their text, long ones first: a short problem's text may stand within another's."""
    rows = [(shown(row), row) for row in load(benchmark, path).rows]
    return tuple(sorted(rows, key=lambda pair: -len(pair[0])))

"""The measure that a paper's table shows, by the name under which it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from metagym.errors import BadInput
from metagym.evaluation.measures import Measures
from metagym.stats import Estimate

Shower = Callable[[Measures], Estimate | None]
"""Takes a figure from the measures; None where it is not measured."""

_PASS = re.compile(r"pass@([1-9][0-9]{0,5})")
_SCORE = "score:"


def shower(measure: str) -> Shower:
    """How a figure is taken from the measures.

    Raises:
        BadInput: There is no such measure.
    """
    if measure == "avg":
        return lambda measures: measures.avg
    if measure == "return":
        return lambda measures: measures.returns
    if measure == "maj":
        return lambda measures: measures.maj
    if found := _PASS.fullmatch(measure):
        k = int(found[1])

        def passed(measures: Measures) -> Estimate | None:
            if k not in measures.pass_at and k <= measures.samples:
                raise BadInput(f"pass@{k} is not kept; there are {', '.join(f'pass@{n}' for n in measures.pass_at)}")
            return measures.pass_at.get(k)

        return passed
    if measure.startswith(_SCORE):
        return lambda measures: measures.scores.get(measure.removeprefix(_SCORE))
    raise BadInput(f"a measure is avg, pass@K, maj, return or score:NAME, got {measure!r:.60}")


def check_measured(measure: str, found: Sequence[Measures]) -> None:
    """Refuses a further score that nothing in a table has.

    Raises:
        BadInput: Likely a slip of the pen; the message names the scores that are there.
    """
    if not measure.startswith(_SCORE):
        return
    names = dict.fromkeys(name for told in found for name in told.scores)
    if measure.removeprefix(_SCORE) not in names and all(told.complete for told in found):
        there = ", ".join(_SCORE + name for name in names) or "none"
        raise BadInput(f"nothing in these runs has {measure!r:.60}; further scores that are there: {there:.400}")

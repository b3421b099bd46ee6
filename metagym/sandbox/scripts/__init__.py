r"""Scripts that nobody has read: run on an input, called, or tested, with the verdict made out of their reach.

    from metagym.sandbox.scripts import ScriptPool

    with ScriptPool() as pool:
        ran = pool.run(["print(int(input()) + 1)"], given="41\n")   # Ran(verdict="passed", output="42\n")

See `ScriptPool` for the border and its limits, `SharedPool` for one pool that a whole process shares.
"""

from __future__ import annotations

from metagym.sandbox.limits import Limits
from metagym.sandbox.scripts.pool import SCRIPT_LIMITS, VERDICTS, Functions, Judged, Ran, ScriptPool, Verdict
from metagym.sandbox.scripts.shared import SharedPool

__all__ = ["SCRIPT_LIMITS", "VERDICTS", "Functions", "Judged", "Limits", "Ran", "ScriptPool", "SharedPool", "Verdict"]

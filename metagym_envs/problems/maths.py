"""Mathematical answers, compared by math-verify in the sandbox (extra ``math``)."""

from __future__ import annotations

import sys
from importlib import metadata, resources
from typing import NamedTuple

from metagym.errors import BadInput, EngineError, MissingExtra, ProgramError, ProgramKilled
from metagym.extras import DISTRIBUTION
from metagym.sandbox.scripts import Limits, ScriptPool, SharedPool

LONGEST = 2_000
"""Characters of an answer; a longer one is wrong."""

LIMITS = Limits(call_s=40.0, load_s=20.0, cpu_s=5.0, memory_mb=512)
"""math-verify allows itself 5 s to read and 5 s to compare; CPU time does not hang on who else is running."""

_LIBRARIES = frozenset(("antlr4", "latex2sympy2_extended", "math_verify", "mpmath", "sympy"))


class Compared(NamedTuple):
    """What became of a comparison.

    Attributes:
        equal: The answer is right.
        canonical: The answer in the form in which equal answers are counted together; "" without one.
        fault: Why nothing was compared ("" where it was): the answer is too long, or took too much time or memory.
    """

    equal: bool
    canonical: str
    fault: str


def installed() -> str:
    """The version of math-verify.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        return metadata.version("math-verify")
    except metadata.PackageNotFoundError:
        raise MissingExtra(f"math-verify is not installed: pip install '{DISTRIBUTION}[math]'") from None


def pool() -> ScriptPool:
    """The workers that compare; one pool for a process, started at first use.

    Raises:
        MissingExtra: math-verify is not installed.
        SandboxUnavailable: A layer of the sandbox is missing.
    """
    installed()
    return _pool()


@SharedPool
def _pool() -> ScriptPool:
    source = (resources.files("metagym_envs.problems") / "maths_prepared.py").read_text("utf-8")
    return ScriptPool(LIMITS, prepared=source, libraries=False)


def compare(label: str, answer: str) -> Compared:
    """Compares an answer, however hostile, with a label. One that the comparison dies of is wrong.

    Args:
        label: The right answer, LaTeX or plain.
        answer: The answer alone, LaTeX or plain.

    Raises:
        BadInput: math-verify cannot read the label.
        EngineError: The comparison needed a module that no worker has.
        SandboxUnavailable: A layer of the sandbox is missing.
    """
    if len(answer) > LONGEST:
        return Compared(False, "", f"the answer has {len(answer):,} characters; at most {LONGEST:,} are read")
    try:
        found = pool().call_prepared("judge", (label, answer))
    except (ProgramKilled, ProgramError) as error:
        return Compared(False, "", str(error))
    match found:
        case (bool(readable), bool(equal), str(canonical), list(missed)):
            pass
        case _:
            return Compared(False, "", "the comparison gave no result")
    if lost := [name for name in missed if isinstance(name, str) and _should_be_there(name)]:
        raise EngineError(f"math-verify needed {lost[0]}, which its sandbox lacks; please report it with {answer!r}")
    if not readable:
        raise BadInput(f"math-verify cannot read the label {label!r}; mend the file")
    return Compared(equal, canonical, "")


def _should_be_there(name: str) -> bool:
    """Whether a module that was looked for in vain is one that comes along: libraries ask for others on the chance."""
    top = name.partition(".")[0]
    return top in _LIBRARIES or top in sys.stdlib_module_names

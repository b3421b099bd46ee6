"""What `import metagym` costs over `import gymnasium`: fresh interpreters, in pairs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from benchmarks.common import Report, at_most, told

_PROGRAM = """
import sys, time
started, spent = time.perf_counter(), time.process_time()
for name in sys.argv[1:]:
    __import__(name)
print(time.perf_counter() - started, time.process_time() - spent, len(sys.modules))
"""


def import_cost(*modules: str) -> tuple[float, float, int]:
    """Imports modules in a fresh interpreter.

    Returns:
        Wall-clock seconds, CPU seconds, and how many modules were loaded in the end.
    """
    # Byte code is read from the cache, as in every run but the first, and never written by the one that is measured.
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *modules],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    wall, cpu, count = done.stdout.split()
    return float(wall), float(cpu), int(count)


def paired(repeats: int, measure: Callable[[str], float]) -> tuple[list[float], list[float]]:
    """Measures both modules by turns, each first as often as the other."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(repeats):
        order = [("metagym", ours), ("gymnasium", theirs)]
        for module, values in order if number % 2 else order[::-1]:
            values.append(measure(module))
    return ours, theirs


def report(repeats: int = 31) -> Report:
    """Measures it in `repeats` pairs of fresh interpreters."""
    import_cost("metagym"), import_cost("gymnasium")  # fills the byte-code and file caches
    costs: dict[str, list[float]] = {"metagym": [], "gymnasium": []}
    counts: dict[str, int] = {}

    def measure(module: str) -> float:
        wall, cpu, counts[module] = import_cost(module)
        costs[module].append(cpu)
        return wall

    ours, theirs = paired(repeats, measure)
    over = [(a - b) * 1e3 for a, b in zip(ours, theirs, strict=True)]
    cpu = [(a - b) * 1e3 for a, b in zip(costs["metagym"], costs["gymnasium"], strict=True)]
    figures = [
        at_most(50, "`import metagym` over `import gymnasium`, CPU time, in pairs", cpu, "ms"),
        at_most(50, "the same, wall clock, fastest against fastest", [(min(ours) - min(theirs)) * 1e3], "ms"),
        told("the same, wall clock, in pairs", over, "ms", "of an idle machine only"),
        told("`import gymnasium` alone", [value * 1e3 for value in theirs], "ms"),
        told("modules loaded over gymnasium's", [counts["metagym"] - counts["gymnasium"]], ""),
    ]
    details = {"metagym_s": ours, "gymnasium_s": theirs}
    return Report("imports", "time to import, in fresh interpreters", figures, details)

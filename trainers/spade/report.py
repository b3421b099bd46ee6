"""What stands at the end of a training of SPADE: a table against the untrained start, and the curves."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metagym_trainers.spade.records import FILE

TABLE, FIGURE = "evaluation.md", "curves.svg"
"""Files of the run folder."""


def table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[float | None]], notes: Sequence[str]) -> str:
    """A Markdown table of shares; what was not measured is a dash.

    Args:
        title: Above it.
        columns: Heads of the columns after the first.
        rows: By name.
        notes: Below it.
    """
    lines = [f"# {title}", "", "| |" + "".join(f" {name} |" for name in columns), "|---|" + "---|" * len(columns)]
    for name, values in rows.items():
        cells = "".join(f" {'-' if value is None else format(value, '.2f')} |" for value in values)
        lines.append(f"| {name} |{cells}")
    return "\n".join([*lines, "", *(f"{note}\n" for note in notes)])


def read(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The generations of a run folder, in order."""
    path = Path(folder) / FILE
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def parts(values: Sequence[float | None], count: int = 6) -> list[float | None]:
    """Means over equal parts of a run; None where nothing was measured in a part."""
    found: list[float | None] = []
    for part in range(count):
        some = values[len(values) * part // count : len(values) * (part + 1) // count]
        known = [value for value in some if value is not None and math.isfinite(value)]
        found.append(math.fsum(known) / len(known) if known else None)
    return found


def figure(
    folder: str | os.PathLike[str],
    title: str,
    panels: Mapping[str, Mapping[str, Sequence[float | None]]],
    smooth: int = 10,
) -> Path:
    """Draws curves over the generations, one panel each, smoothed by a moving mean.

    Args:
        folder: Gets `FIGURE`.
        title: Above the figure.
        panels: Label of each panel, and in it the name and values of each curve.
        smooth: Generations of the moving mean; >= 1.

    Returns:
        The SVG file.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    FigureCanvasSVG(drawn)
    for axes, (label, curves) in zip(drawn.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for name, values in curves.items():
            known = [(at, value) for at, value in enumerate(values) if value is not None and math.isfinite(value)]
            means = [
                math.fsum(value for _, value in known[max(0, at - smooth + 1) : at + 1]) / min(at + 1, smooth)
                for at in range(len(known))
            ]
            axes.plot([at for at, _ in known], means, linewidth=1, label=name)
        axes.set(xlabel="generation", ylabel=label)
        axes.legend(fontsize="small")
    drawn.suptitle(title)
    path = Path(folder) / FIGURE
    drawn.savefig(path, metadata={"Date": None})
    return path

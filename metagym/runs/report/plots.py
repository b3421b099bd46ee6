"""Figures of the report, drawn by matplotlib as SVG that stands in the page itself.

matplotlib, and not one of the libraries that draw in the browser, because a figure is then part of the page: it needs
no script (the report allows none), no font and no network, is a few kilobytes, prints well, and equal runs give equal
bytes. Figures hold numbers and fixed words only; names that come from a run stand in the page, where they are escaped.

Colours are the page's own CSS variables, so that figures follow its light and dark scheme: matplotlib draws with
stand-in colours that are replaced afterwards. The import is lazy; it costs half a second.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from metagym.stats import Estimate

SERIES = 8
"""Number of colours for series; further ones start again."""

_STAND_INS = {"#010203": "var(--ink)", "#040506": "var(--muted)", "#070809": "var(--line)", "#0a0b0c": "var(--page)"}
_STAND_INS |= {f"#0d0e{index:02x}": f"var(--c{index})" for index in range(SERIES)}
_INK, _MUTED, _LINE, _PAGE = list(_STAND_INS)[:4]

_TICKS = [0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"]
_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _MUTED,
    "xtick.color": _LINE,
    "ytick.color": _LINE,
    "xtick.labelcolor": _MUTED,
    "ytick.labelcolor": _MUTED,
    "axes.spines.top": False,
    "axes.spines.left": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class Series:
    """One line of a figure: (meta-turn, estimate) pairs in order, and its colour's number."""

    points: Sequence[tuple[int, Estimate]]
    colour: int = 0


def curves(
    series: Sequence[Series],
    faint: Sequence[tuple[int, Estimate]],
    title: str,
    name: str,
    xlabel: str = "meta-turn (reflections so far)",
    ylabel: str = "success rate",
    scale: tuple[float, float] | None = None,
) -> str:
    """Success over meta-turns (or another measure over another count), with interval bands.

    Args:
        series: At least one; points without a value are left out.
        faint: Single marks beside the lines (the training batches).
        title: What a screen reader says; fixed words and numbers only.
        name: Makes ids of this figure different from those of others on the page.
        xlabel: What is counted.
        ylabel: What is measured.
        scale: Ends of the measured axis; None for shares, 0 to 1.

    Returns:
        An ``<svg>`` element.
    """

    def draw(axes: Any) -> None:
        for one in series:
            measured = [(turn, e) for turn, e in one.points if e.value is not None]
            colour = f"#0d0e{one.colour % SERIES:02x}"
            turns = [turn for turn, _ in measured]
            bounded = [(turn, e.low, e.high) for turn, e in measured if e.low is not None and e.high is not None]
            if len(bounded) > 1:
                axes.fill_between(*zip(*bounded, strict=True), color=colour, alpha=0.16, linewidth=0)
            else:
                axes.vlines(*zip(*bounded, strict=True), color=colour, linewidth=1.5) if bounded else None
            axes.plot(
                turns, [e.value for _, e in measured], color=colour, linewidth=2, marker="o", markersize=5.5,
                markeredgecolor=_PAGE, markeredgewidth=1.2,
            )  # fmt: skip
        marks = [(turn, e.value) for turn, e in faint if e.value is not None]
        if marks:
            axes.plot(*zip(*marks, strict=True), color=_MUTED, linestyle="none", marker="x", markersize=5, alpha=0.8)
        axes.set_xlabel(xlabel)
        last = max((turn for one in series for turn, _ in one.points), default=0)
        step = max(1, -(-last // 12))
        axes.set_xticks(range(0, last + 1, step))
        axes.set_xlim(-0.25, max(last, 1) + 0.25)

    return _figure(draw, 9.2, 3.5, title, name, vertical=True, ylabel=ylabel, scale=scale)


def intervals(estimates: Sequence[Estimate], title: str, name: str) -> str:
    """One row per estimate, from top to bottom in the page's series colours: for arms that are scored once."""

    def draw(axes: Any) -> None:
        for row, estimate in enumerate(estimates):
            colour = f"#0d0e{row % SERIES:02x}"
            if estimate.low is not None and estimate.high is not None:
                axes.plot([estimate.low, estimate.high], [row, row], color=colour, linewidth=2.5, alpha=0.5)
            if estimate.value is not None:
                axes.plot([estimate.value], [row], color=colour, marker="o", markersize=8)
        axes.set_ylim(len(estimates) - 0.5, -0.5)
        axes.set_yticks(range(len(estimates)), [str(row + 1) for row in range(len(estimates))])

    return _figure(draw, 9.2, 0.8 + 0.34 * max(len(estimates), 1), title, name, vertical=False)


def _figure(
    draw: Callable[[Any], None],
    width: float,
    height: float,
    title: str,
    name: str,
    vertical: bool,
    ylabel: str = "success rate",
    scale: tuple[float, float] | None = None,
) -> str:
    # Without a writable home matplotlib keeps its font list in a temporary folder and says so; a report needs neither.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with matplotlib.rc_context({**_RC, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # layout remarks; nothing of the run's text is drawn
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        draw(axes)
        if vertical:
            if scale is None:
                axes.set_ylim(-0.03, 1.03)
                axes.set_yticks(*_TICKS)
            else:
                axes.set_ylim(*scale)
            axes.set_ylabel(ylabel)
            axes.grid(axis="y", color=_LINE, linewidth=0.8)
        else:
            axes.set_xlim(-0.03, 1.03)
            axes.set_xticks(*_TICKS)
            axes.set_xlabel("success rate")
            axes.grid(axis="x", color=_LINE, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
    return _inlined(buffer.getvalue(), title, name)


def _inlined(svg: str, title: str, name: str) -> str:
    """Cuts what a stand-alone file needs and a page does not, names the figure, and hands the colours to the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<style type="text/css">.*?</style>', "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(url\(|xlink:href=")#', rf"\1#{name}-", svg)
    for stand_in, variable in _STAND_INS.items():
        svg = svg.replace(stand_in, variable)
    view = re.search(r'viewBox="[^"]+"', svg)
    head = f'<svg {view[0] if view else ""} role="img" aria-labelledby="{name}-title" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return f'{head}<title id="{name}-title">{title}</title>{svg[svg.index(">") + 1 :]}'.strip()

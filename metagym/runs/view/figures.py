"""The report's figures as files of their own: an image in which nothing can run, in the page's colours.

A figure in a report takes its colours from the page around it. A file has no page, so it brings the colours of the same
style sheet with it, for light and for dark screens.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from metagym.runs.report.frame import templates

_drawing = threading.Lock()  # matplotlib's settings are those of the process


def drawn(make: Callable[[], Any]) -> Any:
    """What `make()` draws; one thread draws at a time."""
    with _drawing:
        return make()


def as_file(svg: str) -> bytes:
    """An ``<svg>`` element of the report as a file."""
    head, rest = svg.split(">", 1)
    if "xmlns=" not in head:
        head += ' xmlns="http://www.w3.org/2000/svg"'
    style = f"<style>{_colours()} text {{ font-family: system-ui, sans-serif !important; }}</style>"
    return f"{head}>{style}{rest}".encode("utf-8", "xmlcharrefreplace")


@lru_cache(maxsize=1)
def _colours() -> str:
    """The part of the style sheet that names colours."""
    css = str(templates().globals["css"])
    light = re.search(r":root \{.*?\n\}", css, re.DOTALL)
    dark = re.search(r"@media \(prefers-color-scheme: dark\) \{\n.*?\n\}", css, re.DOTALL)
    assert light is not None and dark is not None
    return light[0] + "\n" + dark[0]

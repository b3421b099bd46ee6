"""What the pages of all systems are drawn with: templates that escape everything, and small helpers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from metagym.runs.report.text import visible

MAX_BYTES = 5_000_000
"""A report is always smaller than this."""


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The templates; autoescape is on everywhere, whatever a template is called."""
    environment = Environment(
        loader=PackageLoader("metagym.runs", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = breakable
    source, _, _ = environment.loader.get_source(environment, "report.css")  # type: ignore[union-attr]
    environment.globals["css"] = Markup(source)
    return environment


def breakable(text: str) -> Markup:
    """Names such as ``pick_and_place`` may be broken after their underscores."""
    return escape(text).replace("_", Markup("_<wbr>"))


def part(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A nested object of a manifest, or an empty one."""
    value = mapping.get(name)
    return value if isinstance(value, Mapping) else {}


def shown_manifest(manifest: Mapping[str, Any]) -> str:
    """A manifest as it stands in a page."""
    return visible(json.dumps(manifest, ensure_ascii=False, indent=2), 100_000)

"""Reading of command-line values that several sub-commands share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from metagym.errors import BadInput


def comma_list(text: str | None) -> tuple[str, ...] | None:
    """``a,b`` to a tuple; None and "" mean no restriction."""
    parts = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    return parts or None


def key_values(items: list[str] | None) -> dict[str, Any]:
    """``key=value`` options; values are JSON where they read as JSON, else text.

    Raises:
        BadInput: An item has no ``=``.
    """
    out: dict[str, Any] = {}
    for item in items or []:
        key, mark, value = item.partition("=")
        if not mark or not key:
            raise BadInput(f"an option of this kind is written key=value, got {item!r}")
        try:
            out[key] = json.loads(value)
        except json.JSONDecodeError:
            out[key] = value
    return out


def text_or_file(value: str | None) -> str | None:
    """A text, or with a leading ``@`` the content of a UTF-8 file.

    Raises:
        BadInput: The file cannot be read.
    """
    if value is None or not value.startswith("@"):
        return value if value is None else typed_text(value)
    try:
        return Path(value[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{value[1:]} cannot be read as UTF-8 text: {error}") from error


def typed_text(value: str) -> str:
    """A text from the command line; under the C locale Python leaves its bytes undecoded (as lone surrogates)."""
    try:
        return os.fsencode(value).decode("utf-8")
    except UnicodeError:
        return value  # refused where it is used, with its position


def free_folder(name: str, seed: int, root: Path = Path("runs")) -> Path:
    """The first of ``runs/<name>-<seed>``, ``...-2``, ... that does not exist."""
    name = f"{name.lower().replace('/', '-')}-{seed}"
    path, number = root / name, 1
    while path.exists():
        number += 1
        path = root / f"{name}-{number}"
    return path

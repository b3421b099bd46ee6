"""``str.format`` whose fields follow attributes only as far as the program could with a dot.

A template whose fields have a path (``{0.name}``, ``{row[2]}``) is rewritten once into one without: the paths are
followed here, by the guarded `getattr`, and the interpreter's own formatter does the rest.
"""

from __future__ import annotations

import functools
from _string import formatter_field_name_split, formatter_parser  # type: ignore[import-not-found]
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metagym.sandbox.language import names

_Field = tuple[int | str, tuple[tuple[bool, int | str], ...]]
"""The argument that a field begins with, and its path: whether a step is an attribute, and which."""

_MAX_NESTING = 2
"""A format specification may hold fields, and those no further ones (as in Python)."""


def safe_format(template: str, args: Sequence[Any], kwargs: Mapping[str, Any], get: Callable[[Any, str], Any]) -> str:
    """``template.format(*args, **kwargs)``.

    Args:
        template: A text, or an object of a class derived from `str`.
        args: Positional arguments.
        kwargs: Arguments by name.
        get: Reads an attribute for the program.

    Raises:
        AttributeError: A field follows an attribute that is not given to programs.
    """
    template = str.__str__(template)
    if kwargs and any(names.MARK in key for key in kwargs):
        kwargs = {names.shown(key): value for key, value in kwargs.items()}
    found = _without_paths(template)
    if found is None:
        return str.format(template, *args, **kwargs)
    return str.format(found[0], *_values(found[1], args, kwargs, get))


def safe_format_map(template: str, mapping: Mapping[str, Any], get: Callable[[Any, str], Any]) -> str:
    """``template.format_map(mapping)``; see `safe_format`."""
    template = str.__str__(template)
    found = _without_paths(template)
    if found is None:
        return str.format_map(template, mapping)
    return str.format(found[0], *_values(found[1], (), mapping, get))


def has_no_path(template: str) -> bool:
    """Whether no field of a template follows an attribute or an item, so that the interpreter may fill it in.

    A template that the interpreter will refuse has none of the harmless kind: False.
    """
    try:
        return _without_paths(template) is None
    except ValueError:
        return False


def _values(
    fields: tuple[_Field, ...], args: Sequence[Any], kwargs: Mapping[str, Any], get: Callable[[Any, str], Any]
) -> list[Any]:
    values = []
    for first, path in fields:
        value = args[first] if isinstance(first, int) else kwargs[first]
        for is_attribute, key in path:
            value = get(value, str(key)) if is_attribute else value[key]
        values.append(value)
    return values


@functools.lru_cache(256)
def _without_paths(template: str) -> tuple[str, tuple[_Field, ...]] | None:
    """The template with its fields numbered anew, and the fields; None where no field has a path."""
    fields: list[_Field] = []
    numbering: set[str] = set()

    def rebuilt(text: str, nesting: int) -> str:
        if nesting > _MAX_NESTING:
            raise ValueError("Max string recursion exceeded")
        parts = []
        for literal, field, spec, conversion in formatter_parser(text):
            parts.append(literal.replace("{", "{{").replace("}", "}}"))
            if field is None:
                continue
            first, path = formatter_field_name_split(field)
            numbering.add("automatic" if first == "" else "manual" if isinstance(first, int) else "named")
            if numbering >= {"automatic", "manual"}:
                raise ValueError("cannot switch between manual field specification and automatic field numbering")
            if first == "":
                first = sum(1 for known, _ in fields if isinstance(known, int))
            fields.append((first, tuple(path)))
            number = len(fields) - 1
            inner = rebuilt(spec, nesting + 1) if spec and "{" in spec else spec
            parts.append(f"{{{number}{'!' + conversion if conversion else ''}{':' + inner if inner else ''}}}")
        return "".join(parts)

    text = rebuilt(template, 1)
    return (text, tuple(fields)) if any(path for _, path in fields) else None

"""``str.format`` whose fields follow attributes only as far as the program could with a dot."""

from __future__ import annotations

import string
from _string import formatter_field_name_split, formatter_parser  # type: ignore[import-not-found]
from collections.abc import Mapping, Sequence
from typing import Any

from metagym.sandbox.language import names


def safe_format(template: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """``template.format(*args, **kwargs)``.

    Raises:
        AttributeError: A field follows an attribute that is not given to programs.
    """
    template = str.__str__(template)
    if any(names.MARK in key for key in kwargs):
        kwargs = {names.shown(key): value for key, value in kwargs.items()}
    if _follows_nothing(template):
        return str.format(template, *args, **kwargs)
    return _Guarded().vformat(template, args, kwargs)


def safe_format_map(template: str, mapping: Mapping[str, Any]) -> str:
    """``template.format_map(mapping)``."""
    template = str.__str__(template)
    if _follows_nothing(template):
        return str.format_map(template, mapping)
    return _Guarded().vformat(template, (), mapping)


def _follows_nothing(template: str) -> bool:
    """Whether no field has a dot or bracket, so that the interpreter's own formatter may do the work."""
    for _, field, spec, _ in formatter_parser(template):
        if field is not None and ("." in field or "[" in field):
            return False
        if spec and "{" in spec and not _follows_nothing(spec):
            return False
    return True


class _Guarded(string.Formatter):
    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
        from metagym.sandbox.language.guards import get  # the guards use this module

        first, rest = formatter_field_name_split(field_name)
        found = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            found = get(found, key) if is_attribute else found[key]
        return found, first

"""The list of all tables, and what the library imports only at its first use."""

from __future__ import annotations

import codecs
import datetime
import decimal
import importlib
import re
import types
from collections.abc import Iterable

from metagym.sandbox.facades import (
    arithmetic,
    chance,
    clocks,
    containers,
    gym,
    quiet,
    records,
    syntax,
    texts,
    tools,
    typings,
)
from metagym.sandbox.facades.facade import Table

ALIASES = {"gym": "gymnasium"}
"""Modules that are another one by an older name."""

NARROW = frozenset({"sys", "time"})
"""Modules of which little is offered: a program that uses one otherwise than by naming an attribute wants the rest."""

SETTABLE_TYPES = frozenset(
    {decimal.Context, texts.TextWrapper, types.SimpleNamespace, quiet.Quiet, quiet.Logger, *syntax.NODES}
)
"""Types whose objects are a program's own records and settings: their public attributes may be set."""

_PLAIN = (arithmetic, chance, clocks, containers, quiet, records, syntax, texts, tools, typings)


def _metagym() -> tuple[Table, Table]:
    bases = importlib.import_module("metagym.sandbox.bases")
    return (
        Table("metagym", real="").refuse("programs get their base classes from metagym.spade", "make register"),
        Table("metagym.spade", real="").ours(
            "base classes that are written for programs", **{name: getattr(bases, name) for name in bases.EXPORTS}
        ),
    )


def tables(numpy: bool) -> Iterable[Table]:
    """All tables of a choice."""
    for room in _PLAIN:
        yield from room.TABLES
    yield from _metagym()
    yield from gym.tables(numpy)
    if numpy:
        for name in ("arrays", "array_chance"):
            yield from importlib.import_module(f"metagym.sandbox.facades.{name}").TABLES


_ENCODINGS = "ascii latin-1 utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be cp1252 cp437 punycode"


def warm_up(numpy: bool) -> None:
    """Runs once what C code imports at its first use: later it would import through a program's own hook."""
    for encoding in _ENCODINGS.split():
        "a".encode(encoding).decode(encoding)
    for encoding in ("rot_13", "hex", "base64", "unicode_escape", "raw_unicode_escape"):
        codecs.lookup(encoding)
    datetime.datetime.strptime("2025-01-01", "%Y-%m-%d").strftime("%a %d %b %Y")
    re.sub("(a)", r"\1", "a")
    "\N{BULLET}".encode("ascii", "namereplace")
    if numpy:
        importlib.import_module("metagym.sandbox.facades.array_warmup").warm_up()

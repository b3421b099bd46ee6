"""Corpora of the `datasets` library (extra ``datasets``): streamed once, then drawn from like any other."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl

from metagym.errors import BadInput, MetaGymError, NoTasks
from metagym.extras import require
from metagym.spade.documents import CorpusSource
from metagym.spade.jsonl import TEXT_FIELDS, JsonlSource, document_in
from metagym.strictjson import plain_json

PARAMETERS = ("split", "config", "revision", "data_files", "field", "skip", "take")
"""What may stand behind the question mark of ``datasets:NAME?...``; see docs/corpora.md."""

DEFAULT_TAKE = 2000
"""Rows that are streamed where the spec does not say."""


def load_hub(rest: str) -> CorpusSource:
    """The corpus of ``datasets:<rest>``.

    A stream has neither a length nor random access, and a draw addressed by round and slot needs both. So a window of
    the stream (``take`` rows after the first ``skip``) is written into a temporary file without a name and drawn from;
    its fingerprint is that of the rows.

    Args:
        rest: ``NAME?parameter=value&...`` with `PARAMETERS`.

    Raises:
        MissingExtra: The library is not installed.
        BadInput: The spec is not usable, or the library cannot open the data set (its own reason is in the message).
        NoTasks: The window holds no document.
    """
    name, options = _parsed(rest)
    datasets = require("datasets", "datasets")
    arguments = {key: options[key] for key in ("revision", "data_files") if key in options}
    take, skip = _count("take", options, DEFAULT_TAKE), _count("skip", options, 0)
    field = options.get("field", "")
    where = f"datasets:{name}"
    with tempfile.NamedTemporaryFile(prefix="metagym-corpus-", suffix=".jsonl") as spool:
        try:
            rows = datasets.load_dataset(
                name, options.get("config"), split=options.get("split", "train"), streaming=True, **arguments
            )
            for number, row in enumerate(islice(rows, skip, skip + take), skip):
                spool.write(_line(row, field, f"{where}, row {number}"))
            spool.flush()
        except MetaGymError:
            raise
        except Exception as error:  # the library raises whatever its readers and the network raise
            raise BadInput(f"the library cannot read {where}: {type(error).__name__}: {error!s:.300}") from error
        if not spool.tell():
            raise NoTasks(f"{where} has no row after the first {skip}")
        return _Window(spool.name, f"datasets:{rest}")


class _Window(JsonlSource):
    """The rows of a stream: a file that has no name any more and is gone with this object."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(path)
        self.name = self.path = name


def _parsed(rest: str) -> tuple[str, dict[str, str]]:
    name, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = [key for key in options if key not in PARAMETERS]
    if not name or unknown:
        what = f"has no parameter {unknown[0]!r:.80}" if unknown else "names no data set"
        raise BadInput(f"datasets:{rest:.120} {what}; it is datasets:NAME?split=train with {', '.join(PARAMETERS)}")
    return name, options


def _count(name: str, options: Mapping[str, str], otherwise: int) -> int:
    text = options.get(name, str(otherwise))
    if not (text.isascii() and text.isdigit()) or len(text) > 12 or (name == "take" and not int(text)):
        raise BadInput(f"{name}={text!r:.80} of a corpus is no number of rows")
    return int(text)


def _line(row: Any, field: str, place: str) -> bytes:
    """The row as a line of our own: its document, and those labels that are plain."""
    if not isinstance(row, Mapping):
        raise BadInput(f"{place} is no mapping of fields, got {type(row).__name__}")
    if field:
        labels = {key: value for key, value in row.items() if key not in (*TEXT_FIELDS, field)}
        row = {**labels, "text": row.get(field)}
    document = document_in(row, place)
    body = {key: value for key, value in document.meta.items() if not isinstance(value, float) or math.isfinite(value)}
    return json.dumps({"text": document.text, **plain_json(body)}, allow_nan=False).encode() + b"\n"

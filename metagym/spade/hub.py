"""Corpora of the `datasets` library (extra ``datasets``): streamed once, then drawn from like any other."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl

from metagym.errors import BadInput, MetaGymError, NoTasks, StoreError
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
    the stream (``take`` rows after the first ``skip``) is written into a temporary file that goes away with the
    process, and drawn from; its fingerprint is that of the rows.

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
    spool = tempfile.NamedTemporaryFile(prefix="metagym-corpus-", suffix=".jsonl")  # noqa: SIM115 - see `_Window`
    written = 0
    try:
        stream = datasets.load_dataset(
            name, options.get("config"), split=options.get("split", "train"), streaming=True, **arguments
        )
        for number, row in enumerate(islice(stream, skip, skip + take), skip):
            spool.write(_line(row, field, f"datasets:{name}, row {number}"))
            written += 1
        spool.flush()
    except MetaGymError:
        spool.close()
        raise
    except OSError as error:
        spool.close()
        if error.filename == spool.name or error.errno == 28:  # ENOSPC
            raise StoreError(f"the rows of datasets:{name} cannot be kept: {error.strerror}") from error
        raise BadInput(f"the library cannot read datasets:{name}: {str(error):.300}") from error
    except Exception as error:  # the library raises whatever its readers and the network raise
        spool.close()
        raise BadInput(f"the library cannot read datasets:{name}: {type(error).__name__}: {error!s:.300}") from error
    if not written:
        spool.close()
        raise NoTasks(f"datasets:{name} has no row after the first {skip}")
    return _Window(f"datasets:{rest}", spool)


class _Window(JsonlSource):
    """The rows of a stream in a temporary file, which lives as long as this object."""

    def __init__(self, name: str, spool: Any) -> None:
        self._spool = spool
        super().__init__(spool.name)
        self.name = name

    def close(self) -> None:
        """Closes and removes the file."""
        super().close()
        self._spool.close()


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
        row = {**{key: value for key, value in row.items() if key not in TEXT_FIELDS}, "text": row.get(field)}
    document = document_in(row, place)
    labels = {key: value for key, value in document.meta.items() if value == value and abs_is_finite(value)}
    body = {"text": document.text, **plain_json(labels)}
    return json.dumps(body, allow_nan=False).encode() + b"\n"


def abs_is_finite(value: Any) -> bool:
    """Whether a label is no infinite number."""
    return not isinstance(value, float) or abs(value) != float("inf")

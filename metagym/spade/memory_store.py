"""Where a memory keeps its records: a `metagym.journal.Journal`, or nothing but RAM."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Protocol

from metagym.errors import StoreError
from metagym.strictjson import plain_json


class Store(Protocol):
    """What a memory needs of a journal."""

    @property
    def path(self) -> str:
        """What messages call it."""
        ...

    @property
    def mode(self) -> str:
        """``r`` for a store that takes no records."""
        ...

    def append_many(self, items: Iterable[tuple[str, Any]]) -> int:
        """Stores records with one write; returns how many were new."""
        ...

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""
        ...

    def keys(self) -> tuple[str, ...]:
        """The keys in the order in which they were written."""
        ...

    def refresh(self) -> None:
        """Reads what other processes wrote since."""
        ...

    def close(self) -> None:
        """Takes no more records."""
        ...

    def __contains__(self, key: object) -> bool:
        """Whether the key is there."""
        ...

    def __len__(self) -> int:
        """Number of records."""
        ...


class RamStore:
    """A journal without a file: the same copies and the same refusals, and gone with the process."""

    path, mode = "the memory without a file", "w"

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def append_many(self, items: Iterable[tuple[str, Any]]) -> int:
        """Stores records; returns how many were new.

        Raises:
            StoreError: A key holds another value.
            BadInput: A value has no strict JSON form.
        """
        batch = {key: json.dumps(plain_json(value, f"record {key!r}: value")) for key, value in items}
        for key, text in batch.items():
            if self._texts.get(key, text) != text:
                raise StoreError(f"{self.path}: key {key!r} already holds another value; a record is never changed")
        new = [key for key in batch if key not in self._texts]
        self._texts.update((key, batch[key]) for key in new)
        return len(new)

    def get(self, key: str, default: Any = None) -> Any:
        """A copy of the value of a key, or `default`."""
        return json.loads(self._texts[key]) if key in self._texts else default

    def keys(self) -> tuple[str, ...]:
        """The keys in the order in which they were written."""
        return tuple(self._texts)

    def refresh(self) -> None:
        """Does nothing: nobody else writes."""

    def close(self) -> None:
        """Does nothing."""

    def __contains__(self, key: object) -> bool:
        """Whether the key is there."""
        return key in self._texts

    def __len__(self) -> int:
        """Number of records."""
        return len(self._texts)

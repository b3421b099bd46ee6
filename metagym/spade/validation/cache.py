"""Verdicts that were found before, by source digest, version of the validator and settings."""

from __future__ import annotations

import os
from typing import Any, Protocol

from metagym.journal import Journal


class ReportCache(Protocol):
    """Where reports of stages 1 to 10 are kept, as plain JSON. Novelty and audit are asked anew each time."""

    def get(self, key: str) -> Any:
        """The report of a key; None where there is none."""

    def put(self, key: str, report: dict[str, Any]) -> None:
        """Keeps a report."""


class MemoryCache:
    """Reports in memory."""

    def __init__(self) -> None:
        self._reports: dict[str, dict[str, Any]] = {}

    def get(self, key: str) -> Any:
        """See `ReportCache`."""
        return self._reports.get(key)

    def put(self, key: str, report: dict[str, Any]) -> None:
        """See `ReportCache`."""
        self._reports[key] = report


class JournalCache:
    """Reports on disk, shared by processes.

    Args:
        path: A ``.jsonl`` file, made where it is absent.

    Raises:
        StoreError: It cannot be opened, or is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._journal = Journal.open(path, "shared")

    def get(self, key: str) -> Any:
        """See `ReportCache`."""
        return self._journal.get(key)

    def put(self, key: str, report: dict[str, Any]) -> None:
        """See `ReportCache`."""
        self._journal.refresh()
        if key not in self._journal:  # another process may have been first, with the layers of its own sandbox
            self._journal.append(key, report)

    def close(self) -> None:
        """Closes the file."""
        self._journal.close()

    def __enter__(self) -> JournalCache:
        """The cache itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

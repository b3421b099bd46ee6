"""The back end without a dependency: SQLite's FTS5, which comes with Python. Slower on large corpora."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from metagym.errors import MissingExtra, StoreError
from metagym.extras import DISTRIBUTION
from metagym.search.corpora import Corpus
from metagym.search.folders import ready_folder
from metagym.search.ranking import DECIMALS, check_k, check_queries
from metagym.search.types import Hit
from metagym.search.words import query_words, words

_FILE = "fts5.sqlite"
# Texts are stored as our words with blanks between them; the tokenizer "ascii" then splits at these blanks alone and
# leaves every other character as it is, so that no Unicode table of SQLite's has a say.
_TABLE = "CREATE VIRTUAL TABLE passages USING fts5(words, content='', tokenize='ascii')"
_QUERY = (
    f"SELECT rowid, round(-bm25(passages), {DECIMALS}) AS score FROM passages WHERE passages MATCH ? "
    "ORDER BY score DESC, rowid LIMIT ?"
)


class FTS5Searcher:
    """FTS5's BM25 over a corpus, in memory or from a folder."""

    def __init__(self, corpus: Corpus, index: str | Path | None = None) -> None:
        """Builds the index, or opens it.

        Args:
            corpus: The passages.
            index: Folder that keeps the index between runs; None builds it in memory.

        Raises:
            MissingExtra: This Python's SQLite was built without FTS5.
            BadInput, StoreError: The folder cannot be used.
        """
        self._corpus = corpus
        self._name = f"fts5-{sqlite3.sqlite_version}"
        self._lock = threading.Lock()
        if index is None:
            self._base = _connect(":memory:")
        else:
            # The format of the file is stable over versions of SQLite.
            file = ready_folder(index, "fts5", corpus.digest, self._save) / _FILE
            self._base = _connect(f"{file.absolute().as_uri()}?mode=ro")
        # Python warns of connections that nobody closed, and a searcher may well live as long as its process.
        self._close = weakref.finalize(self, self._base.close)
        if index is None:
            self._fill(self._base)

    @property
    def name(self) -> str:
        """Engine and version."""
        return self._name

    @property
    def digest(self) -> str:
        """The corpus's digest."""
        return self._corpus.digest

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See `metagym.search.Searcher`."""
        k = check_k(k)
        return [self._one(query, k) for query in check_queries(queries)]

    def close(self) -> None:
        """Closes the file."""
        self._close()

    def _one(self, query: str, k: int) -> list[Hit]:
        terms = query_words(query)
        if not terms:
            return []
        expression = " OR ".join(f'"{term}"' for term in sorted(terms))  # letters and digits: nothing to escape
        try:
            with self._lock:
                rows = self._base.execute(_QUERY, (expression, min(k, len(self._corpus.passages)))).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the search index of {self._corpus.name} cannot be read: {error}") from error
        return [Hit(self._corpus.passages[row - 1], score) for row, score in rows]

    def _fill(self, base: sqlite3.Connection) -> None:
        try:
            base.execute(_TABLE)
        except sqlite3.OperationalError as error:
            raise MissingExtra(
                f"this Python's SQLite has no FTS5 ({error}): pip install '{DISTRIBUTION}[search]' and use bm25:"
            ) from error
        with base:
            base.executemany(
                "INSERT INTO passages(rowid, words) VALUES (?, ?)",
                ((at, " ".join(words(passage.contents))) for at, passage in enumerate(self._corpus.passages, 1)),
            )
            base.execute("INSERT INTO passages(passages) VALUES ('optimize')")

    def _save(self, folder: Path) -> None:
        base = _connect((folder / _FILE).absolute().as_uri())
        try:
            self._fill(base)
        finally:
            base.close()


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, check_same_thread=False, uri=name.startswith("file:"))

"""The default back end: bm25s (extra ``search``), which needs NumPy alone and answers in about a millisecond."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metagym.extras import require
from metagym.search.corpora import Corpus
from metagym.search.folders import ready_folder
from metagym.search.ranking import best, check_k, check_queries
from metagym.search.types import Hit
from metagym.search.words import query_words, words

K1, B = 1.5, 0.75
"""Okapi's two constants; bm25s's defaults, in Lucene's form of the formula."""


class BM25Searcher:
    """BM25 over a corpus, in memory or from a folder."""

    def __init__(self, corpus: Corpus, index: str | Path | None = None) -> None:
        """Builds the index, or opens it.

        Args:
            corpus: The passages.
            index: Folder that keeps the index between runs; None builds it in memory (9,000 passages: half a second).

        Raises:
            MissingExtra: bm25s is not installed.
            BadInput, StoreError: The folder cannot be used.
        """
        self._bm25s = require("bm25s", "search")
        self._corpus = corpus
        self._name = f"bm25s-{self._bm25s.__version__}"
        if index is None:
            self._index = self._build()
        else:
            folder = ready_folder(index, self._name, corpus.digest, self._save)
            self._index = self._bm25s.BM25.load(str(folder), mmap=True)
        self._vocabulary: dict[str, int] = self._index.vocab_dict

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
        """Nothing to give back."""

    def _one(self, query: str, k: int) -> list[Hit]:
        # In one order whatever the query's, since sums of floats depend on it.
        ids = sorted(self._vocabulary[word] for word in query_words(query) if word in self._vocabulary)
        if not ids:
            return []
        passages = self._corpus.passages
        return [Hit(passages[at], score) for at, score in best(self._index.get_scores_from_ids(ids), k)]

    def _build(self) -> Any:
        vocabulary: dict[str, int] = {}
        ids = [
            [vocabulary.setdefault(word, len(vocabulary)) for word in words(passage.contents)]
            for passage in self._corpus.passages
        ]
        # The empty word stands for nothing; bm25s wants at least one, and no query holds it.
        vocabulary.setdefault("", len(vocabulary))
        index = self._bm25s.BM25(k1=K1, b=B, method="lucene")
        index.index((ids, vocabulary), show_progress=False)
        return index

    def _save(self, folder: Path) -> None:
        self._build().save(str(folder), show_progress=False)

"""The fast-building back end: tantivy (extra ``tantivy``), an index in Rust."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from metagym.extras import require
from metagym.search.corpora import Corpus
from metagym.search.folders import ready_folder
from metagym.search.ranking import DECIMALS, check_k, check_queries
from metagym.search.types import Hit
from metagym.search.words import query_words, words

_HEAP = 64_000_000
"""Bytes that the writer may hold before it writes a segment."""


class TantivySearcher:
    """Tantivy's BM25 over a corpus, in memory or from a folder."""

    def __init__(self, corpus: Corpus, index: str | Path | None = None) -> None:
        """Builds the index, or opens it.

        Args:
            corpus: The passages.
            index: Folder that keeps the index between runs; None builds it in memory.

        Raises:
            MissingExtra: tantivy is not installed.
            BadInput, StoreError: The folder cannot be used.
        """
        self._tantivy = require("tantivy", "tantivy")
        self._corpus = corpus
        self._name = f"tantivy-{version('tantivy')}"
        self._schema = (
            self._tantivy.SchemaBuilder()
            .add_unsigned_field("at", stored=True)
            .add_text_field("words", tokenizer_name="whitespace", index_option="freq")
            .build()
        )
        if index is None:
            self._index = self._tantivy.Index(self._schema)
            self._fill(self._index)
        else:
            folder = ready_folder(index, self._name, corpus.digest, self._save)
            self._index = self._tantivy.Index.open(str(folder))
        self._index.reload()
        self._searcher = self._index.searcher()

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
        terms = query_words(query)
        if not terms:
            return []
        wanted = self._query(sorted(terms))
        k = min(k, len(self._corpus.passages))
        limit = k + 16
        while True:
            found = self._searcher.search(wanted, limit, count=False).hits
            # Equal scores come in an order of the engine's own: all of them are needed to order them by id.
            if len(found) < limit or round(found[-1][0], DECIMALS) < round(found[k - 1][0], DECIMALS):
                break
            limit *= 4
        ranked = sorted(
            ((round(score, DECIMALS), self._searcher.doc(address)["at"][0]) for score, address in found),
            key=lambda pair: (-pair[0], pair[1]),
        )
        return [Hit(self._corpus.passages[at], score) for score, at in ranked[:k]]

    def _query(self, terms: Sequence[str]) -> Any:
        query, should = self._tantivy.Query, self._tantivy.Occur.Should
        return query.boolean_query([(should, query.term_query(self._schema, "words", term, "freq")) for term in terms])

    def _fill(self, index: Any) -> None:
        writer = index.writer(_HEAP, 1)  # one thread: the segments, and so the order, depend on nothing else
        for at, passage in enumerate(self._corpus.passages):
            writer.add_document(self._tantivy.Document(at=at, words=" ".join(words(passage.contents))))
        writer.commit()
        writer.wait_merging_threads()

    def _save(self, folder: Path) -> None:
        self._fill(self._tantivy.Index(self._schema, path=str(folder)))

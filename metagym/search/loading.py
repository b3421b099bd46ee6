"""From a spec such as ``bm25:corpus.jsonl`` to a `Searcher`, so that settings stay JSON."""

from __future__ import annotations

from collections.abc import Mapping

from metagym.errors import SpecError
from metagym.search.corpora import Corpus, read_corpus
from metagym.search.types import Searcher

SCHEMES: Mapping[str, str] = {
    "bm25": "bm25:CORPUS.jsonl[?index=FOLDER]: the default, extra 'search'",
    "fts5": "fts5:CORPUS.jsonl[?index=FOLDER]: no dependency, slower",
    "tantivy": "tantivy:CORPUS.jsonl[?index=FOLDER]: builds fast, extra 'tantivy'",
    "http": "http://HOST:PORT/retrieve: a server of the Search-R1 protocol, extra 'openai' (also https://)",
}
"""The schemes of searcher specs and what stands behind them."""


def load_searcher(spec: str | Searcher) -> Searcher:
    """Makes a searcher.

    Args:
        spec: One of the forms of `SCHEMES`, or a searcher, which is returned as it is. A corpus is a file in
            Search-R1's form; ``index`` names a folder that keeps the index between runs.

    Raises:
        SpecError: The spec cannot be read; the message lists the forms.
        BadInput: The corpus cannot be read.
        MissingExtra: The back end is not installed.
        SearchError: The server does not answer.
    """
    if isinstance(spec, Searcher):
        return spec
    if not isinstance(spec, str):
        raise SpecError(f"a searcher is named by a text, got {type(spec).__name__}; {_forms()}")
    if spec.startswith(("http://", "https://")):
        from metagym.search.remote import RemoteSearcher

        return RemoteSearcher(spec)
    engine, colon, rest = spec.partition(":")
    if not colon or engine not in SCHEMES or engine == "http":
        raise SpecError(f"the searcher {spec!r} is of no known form; {_forms()}")
    path, _, query = rest.partition("?")
    option, _, index = query.partition("=")  # taken as it stands: folders may hold any sign
    if not path or option not in ("", "index") or bool(option) != bool(index) or spec.endswith("?"):
        raise SpecError(f"the searcher {spec!r} cannot be read: {SCHEMES[engine]}")
    return searcher_of(engine, read_corpus(path), index or None)


def searcher_of(engine: str, corpus: Corpus, index: str | None = None) -> Searcher:
    """A searcher over passages that are in memory already.

    Args:
        engine: ``"bm25"``, ``"fts5"`` or ``"tantivy"``.
        corpus: The passages.
        index: Folder that keeps the index between runs, or None.

    Raises:
        SpecError: No such engine.
        MissingExtra: It is not installed.
    """
    if engine == "bm25":
        from metagym.search.bm25 import BM25Searcher

        return BM25Searcher(corpus, index)
    if engine == "fts5":
        from metagym.search.fts5 import FTS5Searcher

        return FTS5Searcher(corpus, index)
    if engine == "tantivy":
        from metagym.search.tantivy import TantivySearcher

        return TantivySearcher(corpus, index)
    raise SpecError(f"a search engine is bm25, fts5 or tantivy, got {engine!r}")


def _forms() -> str:
    return "known forms: " + "; ".join(SCHEMES.values())

"""Searching a corpus of passages: one small protocol, four back ends, and a server that speaks Search-R1's protocol.

    searcher = load_searcher("bm25:corpus.jsonl")     # or fts5:, tantivy:, http://host:8000/retrieve
    hits = searcher.search(["who founded Orlen", "river of Orlen"], k=3)

Any text is a legal query, equal scores are ordered by passage id, and queries are made of words alone, in one place
(`metagym.search.words`), whichever back end answers.
"""

from metagym.search.corpora import Corpus, read_corpus, write_corpus
from metagym.search.loading import SCHEMES, load_searcher, searcher_of
from metagym.search.types import Hit, Passage, Searcher
from metagym.search.words import query_words, words

__all__ = [
    "SCHEMES",
    "Corpus",
    "Hit",
    "Passage",
    "Searcher",
    "load_searcher",
    "query_words",
    "read_corpus",
    "searcher_of",
    "words",
    "write_corpus",
]

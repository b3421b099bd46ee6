"""The nouns of searching: `Passage`, `Hit` and the `Searcher` protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Passage:
    r"""One passage, in the form of Search-R1's corpora.

    Attributes:
        id: Unique within its corpus.
        contents: The title in quotes, a line break, the text: ``"Evan Morris"\nEvan Morris is ...``.
    """

    id: str
    contents: str

    @property
    def title(self) -> str:
        """The first line as it stands; corpora have it in quotes, and Search-R1's client keeps them."""
        return self.contents.split("\n", 1)[0]

    @property
    def plain_title(self) -> str:
        """The title without its quotes."""
        title = self.title
        return title[1:-1] if len(title) > 1 and title[0] == title[-1] == '"' else title

    @property
    def text(self) -> str:
        """Everything after the first line."""
        return self.contents.partition("\n")[2]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found.

    Attributes:
        passage: The passage.
        score: Its score; higher is better, and only comparable within one query. None where a server tells none.
    """

    passage: Passage
    score: float | None


@runtime_checkable
class Searcher(Protocol):
    """Anything that finds passages. Implementations may be used by several threads at once.

    Error contract of `search`: any text is a legal query, and one without a word in it finds nothing. What fails for
    good raises `metagym.errors.SearchError` (a server) or `metagym.errors.StoreError` (an index on disk).
    """

    @property
    def name(self) -> str:
        """Engine and version, for run cards; equal names and digests give equal hits."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of the corpus (see `metagym.search.Corpus`); "" where a server does not tell."""
        ...

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Finds passages.

        Args:
            queries: Any texts.
            k: Most hits per query; >= 1.

        Returns:
            One list per query, best first, ties by passage id; shorter than `k` where fewer share a word with it.
        """
        ...

    def close(self) -> None:
        """Gives back what the searcher holds (files, connections)."""
        ...

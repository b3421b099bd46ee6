"""What self-play is played with: a search tool, its passages, and questions with golden answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from metagym.errors import BadInput
from metagym.qadata import QARow, read_rows
from metagym.search import Passage, Searcher, load_searcher, read_corpus


@dataclass(frozen=True)
class Material:
    """Material.

    Attributes:
        searcher: The search tool.
        passages: Its passages, for seed answers and scripted stand-ins; () where they are not at hand.
        rows: Split -> questions; {} where there are none.
    """

    searcher: Searcher
    passages: Sequence[Passage] = ()
    rows: Mapping[str, Sequence[QARow]] = field(default_factory=dict)

    def questions(self, split: str) -> Sequence[QARow]:
        """The questions of a split.

        Raises:
            BadInput: There are none.
        """
        if not self.rows.get(split):
            there = ", ".join(self.rows) or "none"
            raise BadInput(
                f"there are no questions of a split {split!r} (there: {there}); hand in questions='FILE.jsonl'"
            )
        return self.rows[split]

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of the passages, each once: seed answers for a challenger."""
        return tuple(sorted({passage.plain_title for passage in self.passages if passage.plain_title.strip()}))


def load_material(
    searcher: str | Searcher | None = None,
    questions: str | None = None,
    split: str = "train",
    default: str | None = None,
) -> Material:
    """Material from settings.

    Args:
        searcher: A spec such as ``"bm25:corpus.jsonl"`` (see `metagym.search.load_searcher`), or a searcher; None takes
            the default material.
        questions: A file of questions (see `metagym.qadata`); None takes the default material's, where the searcher is
            the default one too.
        split: The split that the file's questions are.
        default: ``"module:attribute"`` of a function that returns a dict of ``rows``, ``passages`` and ``searcher``, as
            ``metagym_envs.searchqa.material:invented``, which the registered ids have.

    Raises:
        BadInput: There is no default, or only one of questions and passages would be it; a file cannot be used.
        SpecError, MissingExtra, SearchError: As for `load_searcher`.
    """
    if searcher is None:
        if questions is not None:
            raise BadInput("questions come from a file, and so must passages: give searcher='bm25:CORPUS.jsonl' too")
        if default is None:
            raise BadInput("there is nothing to search: give searcher='bm25:CORPUS.jsonl' (and questions='FILE.jsonl')")
        return _named(default)
    found = load_searcher(searcher)
    passages: Sequence[Passage] = ()
    if isinstance(searcher, str) and not searcher.startswith(("http://", "https://")):
        passages = read_corpus(searcher.partition(":")[2].partition("?")[0]).passages
    return Material(found, passages, {} if questions is None else {split: read_rows(questions)})


def _named(where: str) -> Material:
    module, _, attribute = where.partition(":")
    try:
        made: Mapping[str, Any] = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise BadInput(f"the material {where!r} is not there ({error}); give searcher= and questions=") from error
    return Material(made["searcher"], tuple(made["passages"]), made["rows"])

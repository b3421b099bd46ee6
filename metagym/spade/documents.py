"""Documents that ground a designer, and the sampler that draws them.

A draw is either the next of a stream (`DocumentSampler.draw`, resumable) or addressed by round, slot and attempt
(`DocumentSampler.at`, no state at all). Both depend on the corpus and the seed alone. A document is data: what stands
in it is quoted to a model and never obeyed by us.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np

from metagym.checks import number, shown, whole
from metagym.errors import BadInput, NoTasks
from metagym.seeding import check_seed, derive
from metagym.spade.permutation import Permutation

Strategy = Literal["permute", "iid", "weighted"]

# A run of more than 32 characters counts as several words, so that a text without blanks is bounded too.
_WORD = re.compile(r"\S{1,32}")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？]|(?=\n[^\S\n]*\n)")
_FEW = 10_000  # candidates that a draw looks at before it says that the filters leave nothing


@dataclass(frozen=True)
class Document:
    """One text of a corpus.

    Attributes:
        doc_id: Content digest of the whole text: the same text has the same id in any corpus. See `digest_of`.
        text: The text, possibly cut.
        source: Where it stands, for people, e.g. ``frozen/logic:3`` or ``docs.jsonl:17``.
        licence: SPDX name, or "" where the corpus does not tell.
        meta: Further fields (plain JSON), e.g. ``title``, ``domain``, ``skill``.
        left_out: Words that were cut off at the end; 0 for a whole document.
    """

    doc_id: str
    text: str
    source: str
    licence: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    left_out: int = 0

    @classmethod
    def of(cls, text: str, source: str, licence: str = "", meta: Mapping[str, Any] | None = None) -> Document:
        """A whole document with its digest."""
        return cls(digest_of(text), text, source, licence, dict(meta or {}))

    def cut(self, max_words: int) -> Document:
        """The document with at most `max_words` words; see `cut_words`."""
        text, left_out = cut_words(self.text, max_words)
        return replace(self, text=text, left_out=self.left_out + left_out) if left_out else self

    def to_json(self) -> dict[str, Any]:
        """The document as a JSON object."""
        return {
            "doc_id": self.doc_id,
            "text": self.text,
            "source": self.source,
            "licence": self.licence,
            "meta": dict(self.meta),
            "left_out": self.left_out,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Document:
        """The inverse of `to_json`; further keys are ignored."""
        return cls(*(data[name] for name in ("doc_id", "text", "source", "licence", "meta", "left_out")))


class CorpusSource(Protocol):
    """A corpus with random access; documents keep their places as long as the fingerprint is the same.

    Error contract: whatever is wrong with a corpus is told when it is made (`BadInput`, `NoTasks`, `MissingExtra`);
    `get` raises `StoreError` where the data changed or became unreadable since.
    """

    @property
    def name(self) -> str:
        """What people call it, e.g. ``frozen``."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of all documents in their order."""
        ...

    def __len__(self) -> int:
        """Number of documents, >= 1."""
        ...

    def get(self, index: int) -> Document:
        """The document at a place, whole."""
        ...

    def skills(self) -> Mapping[str, Sequence[int]]:
        """Places of the documents that name a skill (``meta["skill"]``), by skill, ascending."""
        ...


class DocumentSampler:
    """Draws documents of one shard of a corpus.

    Shard (k, n) holds every n-th document from the k-th on; where documents name skills, those without one are counted
    first, then those of each skill, so that every shard has its part of each. Shards share no document, and together
    they are the whole. A draw may ask for a skill: it is then made among the documents of the shard that name this
    skill and those that name none.

    Args:
        source: The corpus.
        seed: Decides every draw, >= 0.
        shard: (k, n) with 0 <= k < n.
        max_words: Longer documents are cut at the end of a sentence; see `cut_words`.
        strategy: ``permute`` draws every document once before any comes again, each epoch in another order; ``iid``
            draws with replacement; ``weighted`` the same by weight.
        filters: Each says whether a document is kept. They must be functions of the document alone.
        weights: One number >= 0 for each document of the corpus, with ``weighted``.

    Raises:
        BadInput: An argument is not usable.
        NoTasks: The shard holds no document.
    """

    def __init__(
        self,
        source: CorpusSource,
        seed: int,
        shard: tuple[int, int] = (0, 1),
        max_words: int = 6000,
        strategy: Strategy = "permute",
        filters: Sequence[Callable[[Document], bool]] = (),
        weights: Sequence[float] | None = None,
    ) -> None:
        self.source = source
        self.seed = check_seed(seed)
        self.shard = _shard(shard)
        self.max_words = whole("max_words", max_words, 1)
        self.filters = tuple(filters)
        if strategy not in get_args(Strategy):
            raise BadInput(f"strategy is one of {', '.join(get_args(Strategy))}, got {shown(strategy)}")
        self.strategy = strategy
        self._weights = _weights(strategy, weights, len(source))
        self._cursors: dict[str, int] = {}
        self._strata: dict[str, Sequence[int]] = {}
        self._sums: dict[str, Sequence[float]] = {}
        self._order: tuple[Any, Permutation] = (None, Permutation(1, 0))  # of the epoch that the stream is in
        self._members(None)

    def draw(self, n: int, skill: str | None = None) -> list[Document]:
        """The next `n` documents of the stream; each skill has a stream of its own.

        Raises:
            NoTasks: The filters leave nothing.
            BadInput: No document names this skill and all name another.
        """
        name = skill or ""
        members = self._members(skill)
        position = self._cursors.get(name, 0)
        found: list[Document] = []
        while len(found) < whole("n", n, 0):
            for _ in range(max(1, min(2 * len(members), _FEW))):  # two epochs, since one may be nearly over
                document = self._kept(members[self._stream(name, len(members), position)])
                position += 1
                if document is not None:
                    found.append(document)
                    break
            else:
                raise self._nothing(skill)
        self._cursors[name] = position
        return found

    def at(self, round: int, slot: int, attempt: int = 0, skill: str | None = None) -> Document:
        """The document of a slot of a round; a further attempt gets another one, always the same.

        With ``permute`` the slots of a round differ (up to the size of the shard, if no filter refuses). The attempts
        of a slot differ under every strategy as long as documents are left; then they come again in the same order.

        Args:
            round: >= 0.
            slot: Place within the round, >= 0.
            attempt: 0 for the first draw, then 1, 2, ... for the retries.
            skill: As for `draw`.

        Raises:
            NoTasks, BadInput: As for `draw`.
        """
        members = self._members(skill)
        whole("round", round, 0), whole("slot", slot, 0), whole("attempt", attempt, 0)
        passed: list[Document] = []
        seen: set[str] = set()
        for index in self._candidates(skill or "", members, round, slot):
            document = self._kept(members[index])
            if document is not None and document.doc_id not in seen:
                seen.add(document.doc_id)
                passed.append(document)
                if len(passed) > attempt:
                    return document
        if not passed:
            raise self._nothing(skill)
        return passed[attempt % len(passed)]

    @property
    def position(self) -> int:
        """Draws of the stream so far, refused documents included; all skills together."""
        return sum(self._cursors.values())

    @property
    def epoch(self) -> int:
        """How many times the main stream went through the shard."""
        return self._cursors.get("", 0) // len(self._members(None))

    def state_dict(self) -> dict[str, Any]:
        """Where the streams stand, and what they stand on; plain JSON."""
        return {**self._basis(), "cursors": dict(sorted(self._cursors.items()))}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues where `state_dict` was taken.

        Raises:
            BadInput: The state belongs to another corpus, seed, shard or strategy, or is none.
        """
        cursors = state.get("cursors") if isinstance(state, Mapping) else None
        if not isinstance(cursors, Mapping):
            raise BadInput(f"the state of a document sampler is what state_dict() gave, got {shown(state)}")
        for name, value in self._basis().items():
            if state.get(name) != value:
                raise BadInput(f"the state belongs to {name} {shown(state.get(name))}, this sampler has {value!r}")
        self._cursors = {str(name): whole(f"cursor {name!r}", place, 0) for name, place in cursors.items()}

    # --- inside

    def _basis(self) -> dict[str, Any]:
        return {
            "corpus": self.source.fingerprint,
            "seed": self.seed,
            "shard": list(self.shard),
            "strategy": self.strategy,
        }

    def _members(self, skill: str | None) -> Sequence[int]:
        """Places of the corpus that a draw may choose from."""
        name = skill or ""
        if name not in self._strata:
            self._strata[name] = self._stratum(skill)
        return self._strata[name]

    def _stratum(self, skill: str | None) -> Sequence[int]:
        k, n = self.shard
        size, labelled = len(self.source), self.source.skills()
        if not labelled:
            members: Sequence[int] = range(size)[k::n]
        else:
            named = {place: name for name, group in labelled.items() for place in group}
            order = sorted(range(size), key=lambda place: (named.get(place, ""), place))
            members = sorted(place for place in order[k::n] if not skill or named.get(place, skill) == skill)
            if skill and skill not in labelled and len(named) == size:
                raise BadInput(f"no document of {self.source.name} is for skill {skill!r}; {', '.join(labelled)} have")
        if not members:
            what = f" of skill {skill!r}" if skill else ""
            raise NoTasks(f"shard {k} of {n} is empty{what}: {self.source.name} has {size} document(s)")
        return members

    def _stream(self, name: str, size: int, position: int) -> int:
        if self.strategy == "permute":
            epoch, place = divmod(position, size)
            if self._order[0] != (name, epoch):
                self._order = ((name, epoch), Permutation(size, self.seed, "stream", name, epoch))
            return self._order[1][place]
        return self._independent(name, size, "stream", name, position)

    def _candidates(self, name: str, members: Sequence[int], round: int, slot: int) -> Iterator[int]:
        size, path = len(members), ("at", name, round)
        few = min(size, _FEW)
        if self.strategy != "permute":
            for number in range(10 * few):
                yield self._independent(name, size, *path, slot, number)
            return
        yield Permutation(size, self.seed, *path)[slot % size]
        order = Permutation(size, self.seed, *path, slot)
        yield from (order[place] for place in range(few))  # the first may come again: `at` passes over it

    def _independent(self, name: str, size: int, *path: str | int) -> int:
        number = derive(self.seed, self.strategy, *path)
        if self.strategy == "iid" or self._weights is None:
            return number * size >> 63
        if name not in self._sums:
            self._sums[name] = list(itertools.accumulate(self._weights[place] for place in self._members(name or None)))
        sums = self._sums[name]
        if not sums[-1]:
            raise NoTasks(f"every document of {self.source.name} that this draw may choose has weight 0")
        return min(bisect.bisect_right(sums, number / 2**63 * sums[-1]), size - 1)

    def _kept(self, place: int) -> Document | None:
        document = self.source.get(place)
        return document.cut(self.max_words) if all(keep(document) for keep in self.filters) else None

    def _nothing(self, skill: str | None) -> NoTasks:
        what = f" for skill {skill!r}" if skill else ""
        return NoTasks(f"the filters refuse every document of {self.source.name}{what} that was looked at")


def digest_of(text: str) -> str:
    """Content digest of a text: 32 hex digits of BLAKE2b over its UTF-8 bytes (lone surrogates included)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def cut_words(text: str, max_words: int) -> tuple[str, int]:
    """The first words of a text, up to the end of a sentence.

    A text without the end of a sentence in the second half of what may stay is cut after its last word. A run of more
    than 32 characters without a blank counts as one word per 32 characters.

    Args:
        text: Any text.
        max_words: >= 1.

    Returns:
        The text and how many words were left out (0: it is unchanged).
    """
    ends = [match.end() for match in _WORD.finditer(text)]
    if len(ends) <= max_words:
        return text, 0
    limit, half = ends[max_words - 1], (max_words - 1) // 2
    since = ends[half - 1] if half else 0
    stops = [match.end() for match in _SENTENCE_END.finditer(text, since, limit + 1) if since < match.end() <= limit]
    stop = stops[-1] if stops else limit
    return text[:stop], len(ends) - bisect.bisect_right(ends, stop)


def _shard(shard: Any) -> tuple[int, int]:
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise BadInput(f"shard is (k, n), the k-th of n parts, got {shown(shard)}")
    n = whole("the number of shards", shard[1], 1)
    k = whole("the number of the shard", shard[0], 0)
    if k >= n:
        raise BadInput(f"shards of {n} are numbered from 0 to {n - 1}, got {k}")
    return k, n


def _weights(strategy: str, weights: Any, size: int) -> list[float] | None:
    if (weights is None) != (strategy != "weighted"):
        raise BadInput("weights and strategy='weighted' go together")
    if weights is None:
        return None
    given = list(np.ravel(weights)) if isinstance(weights, np.ndarray) else list(weights)
    if len(given) != size:
        raise BadInput(f"there is one weight for each document: {size} are needed, got {len(given)}")
    found = [number(f"weights[{index}]", value, 0) for index, value in enumerate(given)]
    if not 0 < sum(found) < math.inf:
        raise BadInput("all weights are 0" if not any(found) else "the sum of the weights is no finite number")
    return found

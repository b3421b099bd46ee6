"""Near-duplicate documents: word shingles, found by MinHash and judged by their exact Jaccard similarity.

Sources: Broder (1997), *On the resemblance and containment of documents*, SEQUENCES; Leskovec, Rajaraman & Ullman,
*Mining of Massive Datasets*, chapter 3 (banding).
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from typing import Any

import numpy as np

from metagym.checks import number, whole
from metagym.seeding import derive
from metagym.spade.documents import CorpusSource, Document

_BANDS, _ROWS = 16, 4  # pairs of similarity 0.8 share a band with probability 0.9998, of 0.5 with 0.64
_WORD = re.compile(r"\w+")


def shingles(text: str, width: int = 5) -> frozenset[int]:
    """Digests (32 bits) of every run of `width` words; case and punctuation do not count.

    A text of fewer words is one shingle; one without any word has none.
    """
    words = _WORD.findall(text.casefold())
    runs = (words[start : start + width] for start in range(max(1, len(words) - width + 1)))
    return frozenset(zlib.crc32(" ".join(run).encode("utf-8", "surrogatepass")) for run in runs if run)


def jaccard(left: frozenset[int], right: frozenset[int]) -> float:
    """Shared part of two sets of shingles, in [0, 1]; two empty sets are equal."""
    union = len(left | right)
    return len(left & right) / union if union else 1.0


class NearDuplicates:
    """A filter for `DocumentSampler`: of documents that are near-duplicates, the first of the corpus is kept.

    The whole corpus is read once, when the filter is made, so that a decision depends on the corpus alone and neither
    on the order of draws nor on what was drawn before. About 0.4 ms for a document of 120 words.

    Args:
        source: The corpus.
        threshold: Jaccard similarity of shingles from which two documents are the same, in (0, 1].
        width: Words in a shingle, >= 1.

    Attributes:
        dropped: Content digest of every refused document -> digest of the kept one that it repeats.
    """

    def __init__(self, source: CorpusSource, threshold: float = 0.8, width: int = 5) -> None:
        number("threshold", threshold, 0, 1, above=True)
        whole("width", width, 1)
        self.dropped: dict[str, str] = {}
        factors = _factors()
        buckets: dict[tuple[int, bytes], list[tuple[str, int]]] = defaultdict(list)
        for index in range(len(source)):
            document = source.get(index)
            found = shingles(document.text, width)
            keys = _bands(found, factors)
            near = {item for key in keys for item in buckets.get(key, ())}
            for doc_id, place in sorted(near, key=lambda item: item[1]):
                if jaccard(found, shingles(source.get(place).text, width)) >= threshold:
                    if doc_id != document.doc_id:  # equal texts are one document; the sampler cannot tell them apart
                        self.dropped[document.doc_id] = doc_id
                    break
            else:
                for key in keys:
                    buckets[key].append((document.doc_id, index))

    def __call__(self, document: Document) -> bool:
        """Whether the document is kept."""
        return document.doc_id not in self.dropped


def _factors() -> np.ndarray[Any, Any]:
    count = _BANDS * _ROWS
    drawn = [derive(0, "minhash", part, n) for part in ("factor", "term") for n in range(count)]
    return np.array(drawn, np.uint64).reshape(2, count) | np.uint64(1)


def _bands(found: frozenset[int], factors: np.ndarray[Any, Any]) -> list[tuple[int, bytes]]:
    """The band keys of a set of shingles; multiply-shift hashing, 32 bits out of 64."""
    if not found:
        return [(-1, b"")]
    values = np.fromiter(found, np.uint64, len(found))
    with np.errstate(over="ignore"):
        hashed = (values[:, None] * factors[0] + factors[1]) >> np.uint64(32)
    smallest = hashed.min(axis=0).astype(np.uint32).reshape(_BANDS, _ROWS)
    return [(band, smallest[band].tobytes()) for band in range(_BANDS)]

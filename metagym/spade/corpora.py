"""Where documents come from: named by one line of text, so that settings stay JSON (docs/corpora.md).

`load_corpus` reads ``default``, ``python``, ``frozen``, ``jsonl:PATH`` and ``datasets:NAME?split=train&...``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
import tokenize
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from inspect import cleandoc
from pathlib import Path

from metagym.errors import BadInput, NoTasks
from metagym.extras import require
from metagym.spade.documents import CorpusSource, Document
from metagym.spade.jsonl import JsonlSource, document_of

DOMAINS = ("numbers", "deduction", "space", "patterns", "plans", "causes")
"""The files of the frozen corpus; each holds documents of one skill of the games and one of the tool uses."""

_LEAST_CHARS = 200  # shorter docstrings ground nothing
_NOT_DOCUMENTED = frozenset({"antigravity", "this", "idlelib", "lib2to3", "test", "turtledemo"})


class ListSource:
    """Documents in memory.

    Args:
        name: What people call it.
        documents: At least one.

    Raises:
        NoTasks: There is none.
    """

    def __init__(self, name: str, documents: Sequence[Document]) -> None:
        if not documents:
            raise NoTasks(f"the corpus {name!r} holds no document")
        self.name = name
        self._documents = tuple(documents)
        self._skills = _by_skill(self._documents)
        digest = hashlib.blake2b(digest_size=16)
        for document in self._documents:
            digest.update(json.dumps([document.doc_id, document.meta.get("skill")]).encode())
        self.fingerprint = digest.hexdigest()

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._documents)

    def get(self, index: int) -> Document:
        """The document at a place."""
        return self._documents[index]

    def skills(self) -> Mapping[str, Sequence[int]]:
        """Places of the documents of each skill."""
        return self._skills


class ChainSource:
    """Several corpora one after the other.

    Args:
        name: What people call the whole.
        parts: At least one.
    """

    def __init__(self, name: str, parts: Sequence[CorpusSource]) -> None:
        if not parts:
            raise NoTasks(f"the corpus {name!r} has no parts")
        self.name = name
        self.parts = tuple(parts)
        together = "+".join(part.fingerprint for part in self.parts)
        self.fingerprint = hashlib.blake2b(together.encode(), digest_size=16).hexdigest()

    def __len__(self) -> int:
        """Number of documents of all parts."""
        return sum(len(part) for part in self.parts)

    def get(self, index: int) -> Document:
        """The document at a place."""
        for part in self.parts:
            if index < len(part):
                return part.get(index)
            index -= len(part)
        raise IndexError(f"{self.name} has {len(self)} documents")

    def skills(self) -> Mapping[str, Sequence[int]]:
        """Places of the documents of each skill."""
        found: dict[str, list[int]] = {}
        start = 0
        for part in self.parts:
            for skill, places in part.skills().items():
                found.setdefault(skill, []).extend(start + place for place in places)
            start += len(part)
        return found


def load_corpus(spec: str) -> CorpusSource:
    """The corpus of a spec (see the module's text).

    Raises:
        BadInput: The spec is none, or the file is unreadable; the message names file and line where there is one.
        NoTasks: The corpus is absent or holds no document.
        MissingExtra: ``datasets:`` without the extra.
    """
    if not isinstance(spec, str):
        raise BadInput(f"a corpus is named by a text such as 'default' or 'jsonl:PATH', got {spec!r:.80}")
    scheme, colon, rest = spec.partition(":")
    if scheme in _NAMED and not colon:
        return _NAMED[scheme]()
    if scheme in _OPENED and rest:
        return _OPENED[scheme](rest)
    known = ", ".join((*_NAMED, "jsonl:PATH", "datasets:NAME?split=..."))
    raise BadInput(f"unknown corpus {spec!r:.120}: there are {known}")


@cache
def frozen() -> CorpusSource:
    """Our own 60 documents, 5 for each of twelve skills; the same under every Python. Licence: MIT, as the package."""
    documents = []
    folder = resources.files("metagym.spade") / "corpus"
    for domain in DOMAINS:
        for number, line in enumerate((folder / f"{domain}.jsonl").read_text("utf-8").splitlines(), 1):
            documents.append(document_of(line, f"frozen/{domain}:{number}", licence="MIT"))
    return ListSource("frozen", documents)


@cache
def python_docs() -> CorpusSource:
    """The language reference's topics and the long module docstrings of the running Python.

    No module is imported but `pydoc_data.topics`: docstrings are read from the sources. The documents differ between
    Python versions, and so does the fingerprint.

    Raises:
        NoTasks: This Python was installed without its sources.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    documents = [
        Document.of(text, f"python-{version}/{kind}/{name}", "PSF-2.0", {"title": name})
        for kind, name, text in (*_topics(), *_docstrings())
    ]
    if not documents:
        raise NoTasks("this Python was installed without its documentation and sources; use the corpus 'frozen'")
    return ListSource("python", documents)


@cache
def default() -> CorpusSource:
    """The running Python's documentation, then the frozen corpus."""
    return ChainSource("default", (python_docs(), frozen()))


def jsonl(path: str | os.PathLike[str]) -> CorpusSource:
    """A JSON Lines file, see `metagym.spade.jsonl.JsonlSource`."""
    return JsonlSource(path)


def hub(rest: str) -> CorpusSource:
    """A data set read through the `datasets` library, see `metagym.spade.hub.load_hub`."""
    require("datasets", "datasets")
    from metagym.spade.hub import load_hub

    return load_hub(rest)


_NAMED = {"default": default, "python": python_docs, "frozen": frozen}
_OPENED = {"jsonl": jsonl, "datasets": hub}


def _by_skill(documents: Sequence[Document]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        skill = document.meta.get("skill")
        if isinstance(skill, str) and skill:
            found.setdefault(skill, []).append(place)
    return found


def _topics() -> Iterator[tuple[str, str, str]]:
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out
        return
    for name, text in sorted(topics.items()):
        yield "topics", name, text.strip()


def _docstrings() -> Iterator[tuple[str, str, str]]:
    """Module docstrings of the standard library, in the order of the modules' names."""
    root = Path(sysconfig.get_path("stdlib"))
    found: dict[str, Path] = {}
    for name in sorted(sys.stdlib_module_names - _NOT_DOCUMENTED):
        if (single := root / f"{name}.py").is_file():
            found[name] = single
        elif (package := root / name).is_dir():
            found.update(_modules_of(package, name))
    for name, path in sorted(found.items()):
        text = _docstring(path)
        if len(text) > _LEAST_CHARS:
            yield "module", name, text


def _modules_of(package: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if not any(part in ("test", "tests", "__main__") for part in parts):
            yield ".".join((name, *(part for part in parts if part != "__init__"))), path


def _docstring(path: Path) -> str:
    """The docstring of a source file, read no further than its first statement; "" where there is none."""
    try:
        with tokenize.open(path) as lines:
            for token in tokenize.generate_tokens(lines.readline):
                if token.type == tokenize.STRING:
                    value = literal_eval(token.string)
                    return cleandoc(value).strip() if isinstance(value, str) else ""
                if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING):
                    return ""
    except (OSError, SyntaxError, ValueError, tokenize.TokenError):  # some templates among the sources are no Python
        return ""
    return ""

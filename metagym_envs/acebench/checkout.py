"""A checkout of the public ACEBench repository, as files that are read: none of its code is imported here."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from metagym.errors import BadInput
from metagym_envs.acebench import sample

SAMPLE = "sample"
"""As a path: a small world of our own in the repository's format."""

DATA_FOLDERS = ("data_all/data_en", "data/en", "data_en")
"""Where versions of the repository keep the English data."""

SCENARIOS = "scenariosen"
"""Name of the folders that hold the English back ends."""

_MOST_BYTES = 50_000_000
_MOST_SOURCE = 1_000_000
"""Characters of a module, of which the longest has 40,000: a parser takes a minute and gigabytes for some megabytes."""


class Files(Protocol):
    """Files by their path within the repository."""

    @property
    def name(self) -> str:
        """What they are, for messages."""

    def read(self, path: str) -> str | None:
        """The text of a file; None where there is none."""

    def paths(self) -> Iterable[str]:
        """The paths of all Python files, in order."""


class Folder:
    """The files of a folder.

    Args:
        root: The checkout.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        """See `Files`."""
        return str(self._root)

    def read(self, path: str) -> str | None:
        """See `Files`.

        Raises:
            BadInput: It is there and cannot be read.
        """
        file = self._root / path
        try:
            if not file.is_file():
                return None
            if file.stat().st_size > _MOST_BYTES:
                raise BadInput(f"{file} has more than {_MOST_BYTES:,} bytes, which no file of ACEBench has")
            return file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{file} cannot be read: {error}") from None

    def paths(self) -> Iterator[str]:
        """See `Files`."""
        found = sorted((self._root / "model_inference").rglob("*.py"))
        yield from (path.relative_to(self._root).as_posix() for path in found)


class InMemory:
    """The sample's files."""

    name = SAMPLE

    def read(self, path: str) -> str | None:
        """See `Files`."""
        return sample.files().get(path)

    def paths(self) -> Iterator[str]:
        """See `Files`."""
        yield from sorted(path for path in sample.files() if path.endswith(".py"))


def checkout(path: str) -> Files:
    """A checkout.

    Args:
        path: Its folder, or `SAMPLE`.

    Raises:
        BadInput: It is no folder.
    """
    if path == SAMPLE:
        return InMemory()
    root = Path(path)
    if not root.is_dir():
        raise BadInput(
            f"ACEBench needs path='FOLDER', a checkout of its public repository (chenchen0103/ACEBench): {path} is none"
        )
    return Folder(root)


def data_file(files: Files, name: str) -> tuple[str, str]:
    """Path and text of a data file, e.g. ``data_agent_multi_step.json``.

    Raises:
        BadInput: The checkout has no such file.
    """
    for folder in DATA_FOLDERS:
        text = files.read(f"{folder}/{name}")
        if text is not None:
            return f"{folder}/{name}", text
    raise BadInput(
        f"the ACEBench checkout {files.name} holds no {DATA_FOLDERS[0]}/{name} (nor under {DATA_FOLDERS[1]})"
    )


def back_end(files: Files, kind: str, wanted: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The modules that define classes, and all modules of the checkout that these import.

    Args:
        files: The checkout.
        kind: ``"multi_step"`` or ``"multi_turn"``: whose folder is looked into first.
        wanted: Names of classes.

    Returns:
        By module's dotted name: its source, and the names of the wanted classes in it, joined by spaces. What is
        imported comes before what imports it.

    Raises:
        BadInput: A class is nowhere defined, or a module cannot be parsed.
    """
    places: dict[str, str] = {}  # by class, the first file that defines it
    paths = [path for path in files.paths() if f"/{SCENARIOS}/" in path]
    for path in sorted(paths, key=lambda path: (f"/{kind}/" not in path, path)):
        for name in _classes(files, path):
            places.setdefault(name, path)
    modules: dict[str, tuple[str, str]] = {}
    for name in wanted:
        if name not in places:
            raise BadInput(
                f"the ACEBench checkout {files.name} defines no class {name} under model_inference/*/{SCENARIOS}"
            )
        _add(files, places[name], modules)
        source, names = modules[_dotted(places[name])]
        modules[_dotted(places[name])] = source, f"{names} {name}".strip()
    return modules


def _add(files: Files, path: str, modules: dict[str, tuple[str, str]]) -> None:
    """A file and what it imports of the checkout, that first."""
    name = _dotted(path)
    if name in modules:
        return
    source = files.read(path) or ""
    modules[name] = source, ""  # at once, so that a circle ends
    for imported in _imports(files, path, source):
        _add(files, imported, modules)
    modules[name] = modules.pop(name)


def _imports(files: Files, path: str, source: str) -> Iterator[str]:
    for node in ast.walk(_parsed(files, path, source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            candidate = f"{node.module.replace('.', '/')}.py"
            if files.read(candidate) is not None:
                yield candidate


def _classes(files: Files, path: str) -> list[str]:
    tree = _parsed(files, path, files.read(path) or "")
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


def _parsed(files: Files, path: str, source: str) -> ast.Module:
    if len(source) > _MOST_SOURCE:
        raise BadInput(f"{path} of the ACEBench checkout {files.name} has more than {_MOST_SOURCE:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        told = str(error) or "it is nested too deeply"
        raise BadInput(f"{path} of the ACEBench checkout {files.name} is no Python: {told}") from None


def constant(files: Files, path: str, name: str) -> str | None:
    """A text that a module of the checkout assigns to a name; nothing is run for it. None where there is none."""
    source = files.read(path)
    if source is None:
        return None
    for node in _parsed(files, path, source).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            value = node.value
            return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
    return None


@lru_cache(maxsize=8)
def digest(path: str) -> str:
    """SHA-256 of the data and back ends that a checkout holds, for cards: equal digests are equal tasks."""
    files = checkout(path)
    found = hashlib.sha256()
    for kind in ("multi_step", "multi_turn"):
        for name in (f"data_agent_{kind}.json", f"possible_answer/data_agent_{kind}.json"):
            found.update(data_file(files, name)[1].encode())
    for module in files.paths():
        if f"/{SCENARIOS}/" in module:
            found.update(f"\0{module}\0{files.read(module)}".encode())
    return found.hexdigest()


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")

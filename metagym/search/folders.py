"""Indexes on disk: a folder with a manifest that says which corpus, engine and word rule it was made with."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from metagym.errors import BadInput, StoreError
from metagym.search.words import WORDS_VERSION

MANIFEST = "metagym-index.json"


def ready_folder(folder: str | Path, engine: str, digest: str, build: Callable[[Path], None]) -> Path:
    """The folder with a fitting index in it, built first where there is none.

    An index is a cache: one of another corpus, engine or word rule is built anew. A folder that holds something else
    is never touched. Built beside its place and renamed, so that nobody sees half of one.

    Args:
        folder: Where the index lies or shall lie.
        engine: Engine and version.
        digest: The corpus's.
        build: Writes the index into an empty folder.

    Raises:
        BadInput: The folder holds something that is no index of ours.
        StoreError: It cannot be read or written.
    """
    folder = Path(folder)
    wanted = {"format": "metagym-search-index", "engine": engine, "corpus": digest, "words": WORDS_VERSION}
    try:
        found = _manifest(folder)
        if found == wanted:
            return folder
        if found is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadInput(f"{folder} exists and holds no index of MetaGym: name another folder for the index")
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            build(fresh)
            (fresh / MANIFEST).write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
            if folder.exists():
                shutil.rmtree(folder)
            os.replace(fresh, folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    except OSError as error:
        raise StoreError(f"the search index {folder} cannot be written: {error.strerror or error}") from error
    return folder


def _manifest(folder: Path) -> dict[str, object] | None:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("format") == "metagym-search-index" else None

"""Fixed pools of programs: a folder of source files with a list of their digests, the fixed-environment baseline.

    pool.json                  format, name, and of each file its SHA-256, title and skill
    programs/<digest12>.py     the programs

Every file is read against its digest, so that a pool is the same pool wherever it lies.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metagym.errors import BadInput, NoTasks, ProgramRejected, StoreCorrupt, StoreError
from metagym.spade.permutation import Permutation
from metagym.spade.program import EnvProgram
from metagym.strictjson import strict_json

LIST = "pool.json"
PROGRAMS = "programs"
FORMAT = 1


@dataclass(frozen=True)
class FixedPool:
    """Programs of a fixed pool.

    Attributes:
        name: The folder's name.
        programs: In the order of their files.
        digest: Of the digests of all files, 64 hex digits; part of a run's manifest.
    """

    name: str
    programs: tuple[EnvProgram, ...]
    digest: str

    def draw(self, number: int, seed: int) -> EnvProgram:
        """The program of a draw: every program once before any comes again, each pass in another order.

        Args:
            number: Of the draw, from 0.
            seed: Decides the orders.
        """
        epoch, place = divmod(number, len(self.programs))
        return self.programs[Permutation(len(self.programs), seed, "pool", epoch)[place]]


def write_pool(folder: str | os.PathLike[str], sources: Iterable[str | bytes], name: str = "") -> FixedPool:
    """Writes a pool into a new or empty folder; equal sources are kept once. Nothing is run.

    Args:
        folder: Where.
        sources: The programs; each must parse (`EnvProgram.parse`).
        name: How the pool calls itself; by default the folder's name.

    Raises:
        BadInput: The folder holds something already, or a source is no program.
        NoTasks: There is no source.
        StoreError: The folder cannot be written.
    """
    root = Path(folder)
    programs: dict[str, EnvProgram] = {}
    for source in sources:
        try:
            program = EnvProgram.parse(source)
        except ProgramRejected as error:
            raise BadInput(f"a source is no environment program: {error}") from None
        programs.setdefault(program.digest, program)
    if not programs:
        raise NoTasks("a pool needs at least one program")
    try:
        if root.exists() and any(root.iterdir()):
            raise BadInput(f"{root} is not empty; choose another folder for the pool")
        (root / PROGRAMS).mkdir(parents=True, exist_ok=True)
        files = {}
        for digest, program in sorted(programs.items()):
            file = f"{PROGRAMS}/{digest[:12]}.py"
            (root / file).write_bytes(program.source.encode())
            files[file] = {"sha256": digest, "title": program.title, "skill": program.skill}
        told = {"format": FORMAT, "name": name or root.resolve().name, "files": files}
        (root / LIST).write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"the pool {root} cannot be written: {error.strerror}") from error
    return load_pool(root)


def load_pool(folder: str | os.PathLike[str]) -> FixedPool:
    """Reads a pool and holds every file against its digest.

    Raises:
        BadInput: There is no pool.
        StoreCorrupt: A file is absent, changed or no program, or the list is damaged; the message names it.
        StoreError: It cannot be read.
    """
    root = Path(folder)
    files = _listed(root)
    programs = []
    for file, told in files.items():
        try:
            raw = (root / file).read_bytes()
        except FileNotFoundError:
            raise StoreCorrupt(f"{root / file} is listed in {LIST} and absent") from None
        except OSError as error:
            raise StoreError(f"{root / file} cannot be read: {error.strerror}") from error
        if hashlib.sha256(raw).hexdigest() != told["sha256"]:
            raise StoreCorrupt(f"{root / file} is not the file that {LIST} lists: its SHA-256 is another")
        try:
            programs.append(EnvProgram.parse(raw))
        except ProgramRejected as error:
            raise StoreCorrupt(f"{root / file} is no environment program: {error}") from None
    together = hashlib.sha256("\n".join(sorted(told["sha256"] for told in files.values())).encode()).hexdigest()
    return FixedPool(root.resolve().name, tuple(programs), together)


def _listed(root: Path) -> dict[str, dict[str, Any]]:
    try:
        raw = (root / LIST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{root} is no pool of programs: it holds no {LIST}") from None
    except OSError as error:
        raise StoreError(f"{root / LIST} cannot be read: {error.strerror}") from error
    try:
        found = strict_json(raw)
        files = dict(found["files"])
        if found["format"] != FORMAT or not files:
            raise ValueError(f"format {found['format']!r}, {len(files)} files")
        for file, told in files.items():
            if not _plain(file) or not isinstance(told["sha256"], str):
                raise ValueError(f"entry {file!r:.80}")
    except (ValueError, TypeError, KeyError) as error:
        raise StoreCorrupt(f"{root / LIST} is damaged: {error!s:.200}") from None
    return files


def _plain(file: str) -> bool:
    """Whether a listed name stays inside the pool."""
    head, _, name = file.partition("/")
    return (
        head == PROGRAMS and name.endswith(".py") and "/" not in name and "\\" not in name and not name.startswith(".")
    )

"""Run folders: ``manifest.json``, ``records.jsonl``, ``timing.jsonl``, ``replies.sqlite`` and ``report.html``.

The manifest says what was run (versions, seeds, specs, data digests); the records are what came out, equal for equal
manifests; wall-clock times stand apart in ``timing.jsonl``, since no two runs share them. A run of SPADE keeps its
environment memory in ``memory.jsonl``, one of SESA its skill bank in the folder ``bank``. A folder becomes a run at the
moment its manifest appears, which happens in one rename. The ``.lock`` files beside the journals hold nothing but the
number of the process that wrote last.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from metagym.errors import BadInput, MetaGymWarning, RunError, StoreCorrupt, StoreError
from metagym.extras import DISTRIBUTION
from metagym.journal import Journal
from metagym.runs.files import TEMPORARY
from metagym.runs.files import refuse_special as refuse_special
from metagym.runs.files import write_atomically as write_atomically
from metagym.strictjson import plain_json, strict_json

MANIFEST = "manifest.json"
RECORDS = "records.jsonl"
TIMING = "timing.jsonl"
REPLIES = "replies.sqlite"
REPORT = "report.html"
MEMORY = "memory.jsonl"
BANK = "bank"

FORMAT = 1
"""Version of the folder's layout; a folder of another one is refused."""

# The machine may change between the halves of a run; what decides the records may not.
_NOT_CONFIGURATION = ("environment",)
_OURS = re.compile(
    r"bank|(manifest\.json|(records|timing|memory)\.jsonl|replies\.sqlite|report\.html)(\.lock|-wal|-shm|-journal)?"
)
_SECRET_NAME = re.compile(
    r"(?i)(api[_-]?key|access[_-]?key|.*password|.*secret|(access|auth|api|bearer)[_-]?token|authorization)"
)
_SECRET_TEXT = re.compile(
    r"(?i)([?&](api[_-]?key|password|secret|(access|auth|api)?[_-]?token)=|://[^/@\s]+:[^/@\s]+@)"
)


def base_manifest() -> dict[str, Any]:
    """What every manifest starts with: the layout's version, MetaGym's, and the machine's.

    Returns:
        ``format``, ``metagym`` (version) and ``environment``: versions of Python, NumPy and Gymnasium, the platform,
        and the project's commit where it runs from a git checkout.
    """
    environment = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()} {platform.machine()}",
        "numpy": _version("numpy"),
        "gymnasium": _version("gymnasium"),
    }
    if commit := _commit(Path(__file__).resolve().parents[2]):
        environment["commit"] = commit
    return {"format": FORMAT, "metagym": _version(DISTRIBUTION), "environment": environment}


class RunFolder:
    """One run on disk. Make one with `create`, `open` or `resume`; it is a context manager.

    Attributes:
        path: The folder.
        manifest: What was run.
        records: The journal of results; writable unless the folder was opened with `open`.
        timing: The journal of wall-clock seconds, no part of the results; None where a reader found none.
        resumed: Whether the run had been started before.
    """

    def __init__(
        self, path: Path, manifest: dict[str, Any], records: Journal, timing: Journal | None, resumed: bool
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.records = records
        self.timing = timing
        self.resumed = resumed

    @classmethod
    def create(cls, path: str | os.PathLike[str], manifest: Mapping[str, Any], overwrite: bool = False) -> RunFolder:
        """Starts a run in a new or empty folder.

        Args:
            path: The folder; it and its parents are made where absent.
            manifest: What is run, JSON; usually `base_manifest` and more. Secrets are refused.
            overwrite: Throw away the run that is there. Files that are not part of a run are never touched.

        Raises:
            RunError: The folder holds a run (and `overwrite` is off), or files that are none of a run.
            StoreLocked: Another process is writing to the run there.
            StoreError: The folder cannot be made or written.
            BadInput: The manifest is no JSON, or holds what looks like a secret.
        """
        folder = _folder(path)
        checked = _checked(manifest)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            present = [item.name for item in folder.iterdir()]
        except OSError as error:
            raise StoreError(f"run folder {folder} cannot be made or read: {error.strerror}") from error
        except ValueError as error:
            raise StoreError(f"{str(folder)!r} is no usable folder name: {error}") from error
        foreign = sorted(name for name in present if not (_OURS.fullmatch(name) or name.startswith(TEMPORARY)))
        if MANIFEST in present and not overwrite:
            raise RunError(f"{folder} already holds a run; resume it, choose another folder, or ask to overwrite it")
        if foreign and MANIFEST not in present:
            raise RunError(f"{folder} is not empty and holds no run (there is {foreign[0]!r}); choose another folder")
        if overwrite and present:
            _sweep(folder, present)
        records = Journal.open(folder / RECORDS, "w")
        try:
            if len(records):
                raise RunError(
                    f"{folder} holds records without a manifest; choose another folder, or ask to overwrite it"
                )
            timing = Journal.open(folder / TIMING, "w")
        except BaseException:
            records.close()
            raise
        run = cls(folder, checked, records, timing, resumed=False)
        try:
            write_atomically(folder / MANIFEST, _pretty(checked))
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Opens a run for reading; works while it is being written and in a read-only folder.

        Raises:
            RunError: The folder is no run, or of another layout.
            StoreError: It cannot be read; `StoreCorrupt` if a record is damaged.
        """
        folder = _folder(path)
        manifest = read_manifest(folder)
        records = Journal.open(folder / RECORDS)
        try:
            timing = Journal.open(folder / TIMING) if (folder / TIMING).exists() else None
        except BaseException:
            records.close()
            raise
        return cls(folder, manifest, records, timing, resumed=False)

    @classmethod
    def resume(cls, path: str | os.PathLike[str], manifest: Mapping[str, Any]) -> RunFolder:
        """Opens a run in order to go on with it.

        Args:
            path: The folder.
            manifest: What is to be run; must equal what the folder says, but for ``environment`` (the machine and its
                versions), whose changes are a warning.

        Raises:
            RunError: The folder is no run, or the configurations differ; the message names the first field that does.
            StoreLocked: Another process is writing to it.
            StoreError: It cannot be read or written; `StoreCorrupt` if a record is damaged.
            BadInput: The manifest is no JSON, or holds what looks like a secret.
        """
        folder = _folder(path)
        stored = read_manifest(folder)
        checked = _checked(manifest)
        for field, old, new in manifest_differences(stored, checked):
            if field.split(".", 1)[0] in _NOT_CONFIGURATION:
                change = f"{field} = {shortened(old)} and goes on with {shortened(new)}"
                warnings.warn(MetaGymWarning(f"{folder} was started with {change}"), stacklevel=2)
                continue
            raise RunError(
                f"{folder} was started with {field} = {shortened(old)} and cannot be resumed with {shortened(new)}; "
                "use the same settings or another folder"
            )
        records = Journal.open(folder / RECORDS, "w")
        try:
            timing = Journal.open(folder / TIMING, "w")
        except BaseException:
            records.close()
            raise
        return cls(folder, stored, records, timing, resumed=True)

    @property
    def replies(self) -> Path:
        """Where the cache of model replies stands (the chat room writes it)."""
        return self.path / REPLIES

    @property
    def report(self) -> Path:
        """Where the HTML report stands."""
        return self.path / REPORT

    @property
    def memory(self) -> Path:
        """Where the environment memory of a run of SPADE stands."""
        return self.path / MEMORY

    @property
    def bank(self) -> Path:
        """Where the skill bank of a run of SESA stands, unless it has another one."""
        return self.path / BANK

    def note_seconds(self, key: str, seconds: float) -> None:
        """Notes how long the work behind a record took, seconds >= 0; of a resumed run the first figure stays."""
        if self.timing is not None and key not in self.timing:
            self.timing.append(key, seconds)

    def note_retries(self, count: int) -> None:
        """Notes how many model requests had to be made again in this part of the run, count >= 1."""
        if self.timing is not None:
            parts = sum(key.startswith("retries/") for key in self.timing.keys())
            self.timing.append(f"retries/{parts}", {"retries": count})

    def note_servers(self, model: str, servers: Mapping[str, Any]) -> None:
        """Notes what each server of a model said of itself; of equal tellings the first stays."""
        if self.timing is not None and servers:
            told = {"model": model, "servers": dict(servers)}
            keys = [key for key in self.timing.keys() if key.startswith("servers/")]
            if all(self.timing.get(key) != told for key in keys):
                self.timing.append(f"servers/{len(keys)}", told)

    def close(self) -> None:
        """Closes the journals and gives the lock back."""
        self.records.close()
        if self.timing is not None:
            self.timing.close()

    def __enter__(self) -> RunFolder:
        """The folder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()


def manifest_differences(old: Any, new: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The fields in which two manifests differ, as (dotted name, old value, new value), in sorted order.

    A field that one side lacks is given as None there.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            yield from manifest_differences(old.get(name), new.get(name), f"{prefix}.{name}" if prefix else name)
    elif json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
        yield prefix, old, new


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest of a run whose records are kept in another way than `RunFolder`'s.

    Raises:
        StoreError: As `write_atomically`.
        BadInput: The manifest is no JSON, or holds what looks like a secret.
    """
    write_atomically(folder / MANIFEST, _pretty(_checked(manifest)))


def _sweep(folder: Path, present: list[str]) -> None:
    """Removes an earlier run's files, the manifest first so that a kill leaves no half of a run."""
    try:
        lock: Journal | None = Journal.open(folder / RECORDS, "w")  # a run that is being written is not swept away
    except StoreCorrupt:
        lock = None
    for name in sorted(present, key=lambda name: name != MANIFEST):
        if (_OURS.fullmatch(name) and not name.endswith(".lock")) or name.startswith(TEMPORARY):
            item = folder / name
            try:
                shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"{item} cannot be removed: {error.strerror}") from error
    if lock is not None:
        lock.close()


def _folder(path: str | os.PathLike[str]) -> Path:
    if not os.fspath(path):
        raise BadInput("the name of a run folder is empty")
    return Path(path)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder.

    Raises:
        RunError: The folder is no run, its manifest is damaged, or its layout is another one.
        StoreError: It cannot be read.
    """
    file = folder / MANIFEST
    try:
        raw = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(f"{folder} is not a run folder: it holds no {MANIFEST}") from None
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RunError(f"{str(folder)!r} is not a run folder: {error}") from None
    try:
        manifest = strict_json(raw)
    except ValueError as error:
        raise RunError(f"{file} is damaged: {error}") from None
    if not isinstance(manifest, dict):
        raise RunError(f"{file} is damaged: it holds no JSON object")
    if manifest.get("format") != FORMAT:
        raise RunError(f"{folder} has layout {manifest.get('format')!r}, and this MetaGym reads layout {FORMAT}")
    return manifest


def _checked(manifest: Mapping[str, Any]) -> dict[str, Any]:
    plain = plain_json({"format": FORMAT, **manifest}, "manifest")
    _refuse_secrets(plain, "manifest")
    return dict(plain)


def _refuse_secrets(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            if _SECRET_NAME.fullmatch(name) and item not in (None, "", False):
                raise BadInput(
                    f"{where}.{name} looks like a secret; keep it in the environment, out of the run's files"
                )
            _refuse_secrets(item, f"{where}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_secrets(item, f"{where}[{index}]")
    elif isinstance(value, str) and _SECRET_TEXT.search(value):
        raise BadInput(f"{where} holds what looks like a secret in an address; keep it in the environment")


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def shortened(value: Any) -> str:
    """A value of a manifest as JSON, cut at 80 characters, for messages."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def _commit(root: Path) -> str | None:
    """The checkout's commit, read from its files: starting git would cost more than the news is worth."""
    git = root / ".git"
    try:
        head = (git / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref: "):
            return head[:12]
        name = head.removeprefix("ref: ")
        if (git / name).is_file():
            return (git / name).read_text("utf-8").strip()[:12]
        for line in (git / "packed-refs").read_text("utf-8").splitlines():
            if line.endswith(f" {name}"):
                return line.split()[0][:12]
    except (OSError, UnicodeDecodeError):
        return None  # no checkout: an installed wheel
    return None

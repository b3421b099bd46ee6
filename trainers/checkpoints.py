"""Our own state in TRL's checkpoints: memory, bank, cursor and the like, saved whole or not at all, and restored.

Transformers saves model, optimiser, schedule, random generators and data position, and nothing of ours. The parts go
into ``checkpoint-N/metagym/<digest>/``; ``checkpoint-N/metagym/manifest.json`` names that folder and the digests of its
files, and is put in place last, in one step. A checkpoint without a valid manifest is one that was not finished. The
manifest names the trainer's own files as well: transformers goes on without an optimiser or generators that are gone.

Why a checkpoint must fall between two generations: TRL keeps the generated batch in memory only. Saved in the middle of
a cycle, it generates again at once on resuming, from other prompts, and stays off the grid for good.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from transformers import TrainerCallback

from metagym.checks import shown
from metagym.errors import BadInput, RunError, StoreCorrupt
from metagym.strictjson import plain_json, strict_json
from metagym_trainers.geometry import cycle_of
from metagym_trainers.ranks import total

FOLDER = "metagym"
MANIFEST = "manifest.json"
FORMAT = 1
"""Version of the layout."""


class Part(Protocol):
    """A named piece of state."""

    def save_to(self, folder: Path) -> None:
        """Writes the present state into an empty folder; equal states write equal bytes."""
        ...

    def load_from(self, folder: Path) -> None:
        """Takes the state back from a folder that `save_to` wrote."""
        ...


class JsonPart:
    """State that is plain JSON.

    Args:
        read: The present state, as plain JSON.
        write: Takes a state back.
    """

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None]) -> None:
        self._read, self._write = read, write

    def save_to(self, folder: Path) -> None:
        """Writes ``state.json``."""
        text = json.dumps(plain_json(self._read(), "state"), ensure_ascii=False, sort_keys=True)
        (folder / "state.json").write_text(text + "\n", "utf-8", "surrogatepass")

    def load_from(self, folder: Path) -> None:
        """Reads ``state.json``."""
        self._write(strict_json((folder / "state.json").read_text("utf-8", "surrogatepass")))


def save_parts(checkpoint: str | os.PathLike[str], parts: Mapping[str, Part], step: int) -> Path:
    """Saves parts into a checkpoint; saving again replaces what was there, at any interruption one of the two is whole.

    Args:
        checkpoint: The folder ``checkpoint-N``.
        parts: By name: letters, digits, ``_`` and ``-``.
        step: The trainer's global step.

    Returns:
        The manifest.

    Raises:
        BadInput: A name is not usable, or a part holds what is no JSON.
    """
    home = Path(checkpoint) / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    work = home / f".part-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    for name, part in parts.items():
        check_name(name)
        (work / name).mkdir(parents=True)
        part.save_to(work / name)
    work.mkdir(exist_ok=True)
    files = _digests(work)
    whole = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
    target = home / whole
    if target.is_dir() and _digests(target) == files:  # saved before: it may be what the manifest names, so it stays
        shutil.rmtree(work)
    else:
        shutil.rmtree(target, ignore_errors=True)
        os.replace(work, target)
    _sync(target)
    manifest = home / MANIFEST
    others = (path.relative_to(checkpoint).as_posix() for path in _files(Path(checkpoint), FOLDER))
    beside = sorted(name for name in others if not name.endswith(".tmp"))  # another process may be writing its own
    body = {"format": FORMAT, "step": step, "folder": whole, "parts": sorted(parts), "files": files, "beside": beside}
    draft = manifest.with_suffix(".draft")
    draft.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", "utf-8")
    _sync(draft)
    os.replace(draft, manifest)
    _sync(home)
    for other in home.iterdir():
        if other.is_dir() and other.name != whole:
            shutil.rmtree(other, ignore_errors=True)
    return manifest


def load_parts(checkpoint: str | os.PathLike[str], parts: Mapping[str, Part]) -> int:
    """Restores parts from a checkpoint.

    Args:
        checkpoint: The folder ``checkpoint-N``.
        parts: The same names as when it was saved.

    Returns:
        The global step at which it was saved.

    Raises:
        RunError: The checkpoint holds no state of ours, or other parts.
        StoreCorrupt: A file is damaged; nothing was restored.
    """
    body = read_manifest(checkpoint)
    if sorted(parts) != body["parts"]:
        raise RunError(
            f"{checkpoint} holds the parts {', '.join(body['parts']) or '(none)'}, and this run has "
            f"{', '.join(sorted(parts)) or '(none)'}: resume with the settings that it was started with"
        )
    for name, part in parts.items():
        part.load_from(Path(checkpoint) / FOLDER / body["folder"] / name)
    return int(body["step"])


def read_manifest(checkpoint: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a checkpoint, all of its files verified.

    Raises:
        RunError: There is none: the checkpoint was not finished, or is not of these trainers.
        StoreCorrupt: The manifest or a file is damaged, or one of the trainer's own files is gone.
    """
    home = Path(checkpoint) / FOLDER
    try:
        body = strict_json((home / MANIFEST).read_text("utf-8"))
        if body["format"] != FORMAT:
            raise StoreCorrupt(f"{home / MANIFEST} has format {body['format']}, and this version reads {FORMAT}")
        folder, files, beside = home / str(body["folder"]), dict(body["files"]), [str(name) for name in body["beside"]]
        body["parts"], body["step"] = [str(name) for name in body["parts"]], int(body["step"])
    except FileNotFoundError:
        raise RunError(
            f"{checkpoint} holds no state of MetaGym ({FOLDER}/{MANIFEST}): it was not finished; resume from the one "
            "before it (latest_checkpoint finds it)"
        ) from None
    except (ValueError, LookupError, TypeError) as error:
        raise StoreCorrupt(f"{home / MANIFEST} is damaged: {error}") from error
    found = _digests(folder)
    if found != files:
        wrong = sorted(name for name in {*found, *files} if found.get(name) != files.get(name))
        raise StoreCorrupt(f"{folder / wrong[0]} is not the file that was saved")
    if gone := [name for name in beside if not (Path(checkpoint) / name).is_file()]:
        raise StoreCorrupt(
            f"{Path(checkpoint) / gone[0]} is gone, and the trainer would go on without it: resume from the checkpoint "
            "before this one (latest_checkpoint finds it)"
        )
    return dict(body)


def latest_checkpoint(output_dir: str | os.PathLike[str]) -> Path | None:
    """The newest checkpoint that was finished, ours included; None where there is none.

    Transformers' own search takes the newest folder, which a crash may have left half written.
    """
    for checkpoint in _checkpoints(Path(output_dir)):
        with contextlib.suppress(RunError, StoreCorrupt):
            read_manifest(checkpoint)
            return checkpoint
    return None


def check_alignment(args: Any) -> None:
    """Refuses checkpoints from which a run cannot go on as it was.

    Args:
        args: A `GRPOConfig`.

    Raises:
        BadInput: A checkpoint would fall off the generation cycle (the message names the next good ``save_steps``),
            hold no optimiser, or be the only one while it is written.
    """
    strategy = str(getattr(args.save_strategy, "value", args.save_strategy))
    if strategy == "no":
        return
    if strategy != "steps":
        raise BadInput(
            f"save_strategy={strategy!r} lets checkpoints fall in the middle of a generated batch, from where a run "
            "cannot be resumed as it was: set save_strategy='steps'"
        )
    if args.save_only_model:
        raise BadInput("save_only_model=True leaves optimiser and random generators out: set save_only_model=False")
    if args.save_total_limit == 1:  # transformers deletes the old one in `_save_checkpoint`, before `on_save`
        raise BadInput(
            "save_total_limit=1 deletes the last finished checkpoint before the new one holds our state, and a kill in "
            "between leaves none: set save_total_limit to 2 or more"
        )
    if isinstance(args.save_steps, float) and args.save_steps < 1:
        raise BadInput(f"save_steps={args.save_steps} is a share of the run: give a number of steps")
    steps, cycle = int(args.save_steps), cycle_of(args)
    if steps % cycle:
        raise BadInput(
            f"save_steps={steps} is off the generation cycle of {cycle} optimiser steps, and a run resumed from there "
            f"would generate other batches: set save_steps to a multiple of {cycle}, e.g. {-(-steps // cycle) * cycle}"
        )


class StateCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Saves named parts of our state with every checkpoint, and restores them when a run is resumed.

    Give it to the trainer and resume with ``trainer.train(resume_from_checkpoint=latest_checkpoint(output_dir))``; the
    parts are restored before the first batch. Only the main process saves; every process restores.

    Args:
        parts: By name; see `Part` and `JsonPart`.

    Attributes:
        saved: The step of the last save; None before.
        restored: The step that was restored; None for a fresh start.
    """

    def __init__(self, parts: Mapping[str, Part]) -> None:
        for name in parts:
            check_name(name)
        self.parts = dict(parts)
        self.saved: int | None = None
        self.restored: int | None = None
        self._untouched = False
        self._begun = self._ended = 0

    def restore(self, checkpoint: str | os.PathLike[str]) -> int:
        """Restores the parts now, for scripts that need them before they build the trainer.

        Raises:
            RunError, StoreCorrupt: As `load_parts`.
        """
        self.restored = load_parts(checkpoint, self.parts)
        self._untouched = True
        return self.restored

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A new trainer holds no generated batch."""
        self._begun = self._ended = 0

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Counts, to know whether a run was stopped within a batch."""
        self._begun += 1

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Counts, to know whether a run was stopped within a batch."""
        self._ended += 1

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Checks the settings and, on a resumed run, restores.

        Raises:
            BadInput: Checkpoints would fall off the generation cycle.
            RunError: The trainer goes on from a step whose state was not restored and is not in ``output_dir``, or was
                stopped within a generated batch (Ctrl-C in a notebook), of which it would train on the rest: TRL
                keeps that batch, and its place in it, for the trainer's life.
        """
        check_alignment(args)
        if self._begun != self._ended or self._ended % cycle_of(args):
            raise RunError(
                "this trainer was stopped within a generated batch and would go on with the rest of it: build a new "
                "trainer and resume from latest_checkpoint(output_dir)"
            )
        untouched, self._untouched = self._untouched, False  # a second training begins from what the first one left
        if (untouched and self.restored == state.global_step) or (state.global_step == 0 and self.restored is None):
            return
        if state.global_step == 0:
            raise RunError(
                f"the state of step {self.restored} was restored and the trainer begins at step 0: call "
                "trainer.train(resume_from_checkpoint=...) with the same checkpoint"
            )
        if state.global_step % cycle_of(args):
            raise RunError(
                f"step {state.global_step} is off the generation cycle of {cycle_of(args)} steps: resume from a "
                "checkpoint on it"
            )
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if self.restore(checkpoint) != state.global_step:
            raise RunError(f"{checkpoint} holds the state of step {self.restored}")
        self._untouched = False

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Saves the parts into the checkpoint that was just written, once every process has written its own files."""
        total()  # transformers waits for nobody: another one's generators would be missing from what must be there
        if args.should_save:
            save_parts(Path(args.output_dir) / f"checkpoint-{state.global_step}", self.parts, state.global_step)
        self.saved = state.global_step


def check_name(name: str) -> str:
    """A usable name of a part, or `BadInput`."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise BadInput(f"a part's name is letters, digits, _ and -, got {shown(name)}")
    return name


def _checkpoints(folder: Path) -> list[Path]:
    found = [path for path in folder.glob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", path.name)]
    return sorted(found, key=lambda path: -int(path.name.removeprefix("checkpoint-")))


def _files(folder: Path, without: str = "") -> Iterator[Path]:
    """The files below a folder, in order, but for those below its entry `without`."""
    below = (path for entry in folder.iterdir() if entry.name != without for path in (entry, *entry.rglob("*")))
    return (path for path in sorted(below) if path.is_file())


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below a folder, by its relative path."""
    found = {}
    for path in _files(folder):
        with path.open("rb") as file:
            found[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _sync(path: Path) -> None:
    """Brings a file, or the files of a folder and its list of names, to the disk."""
    for each in [*_files(path), path] if path.is_dir() else [path]:
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

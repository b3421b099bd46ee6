"""The runs of a folder: where they are, what each was, how it stands; read anew at each request, never written.

A run is known by an id, a digest of its place: no part of a path ever comes from a request.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metagym import stats
from metagym.errors import MetaGymError, RunError, StoreError, UnknownName
from metagym.journal import Journal
from metagym.runs.evals_results import is_eval
from metagym.runs.folder import MANIFEST, RECORDS, TIMING, read_manifest
from metagym.runs.report.frame import part
from metagym.runs.report.text import visible
from metagym.runs.results import BATCH, EVAL, PromptStep, Results, aside_of, prompt_step
from metagym.runs.results import Played as PlayedEpisode
from metagym.runs.sesa_results import is_sesa, is_sesa_eval
from metagym.runs.spade_results import is_spade
from metagym.runs.view.records import PromptLine, RecordFile, Row
from metagym.stats import Estimate

MAX_DEPTH = 6
"""Folders below the one that was named that are looked into."""
MAX_RUNS = 5_000
"""Runs that are listed."""
LIVELY = 120.0
"""A run without an end whose records are younger, seconds, is going on; an older one has stopped."""
_LOOK_AGAIN = 2.0  # seconds for which a list of folders is kept
_SEATS = ("actor", "reflector", "designer", "agent", "hinter", "challenger", "solver", "distiller", "verifier", "judge")


class Run:
    """One run of the catalogue.

    Attributes:
        id: What pages and requests call it.
        path: Its folder.
        name: How pages show it; all of its characters are visible.
        manifest: What was run; {} where it cannot be read.
        fault: Why nothing of it can be shown but its name; "" otherwise.
        records: Its record file.
    """

    def __init__(self, id_: str, path: Path, name: str) -> None:
        self.id, self.path, self.name = id_, path, name
        self.manifest: Mapping[str, Any] = {}
        self.fault = ""
        self.records = RecordFile(path / RECORDS)
        self._seen: tuple[int, int] | None = None
        self._kept: dict[str, tuple[str, Any]] = {}
        self._making: dict[str, threading.RLock] = {}
        self._lock = threading.Lock()

    def refresh(self, seconds: float = 0.8) -> None:
        """Reads what is new."""
        try:
            found = os.stat(self.path / MANIFEST)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")  # opening a pipe would wait for its writer
            seen = (found.st_mtime_ns, found.st_size)
            if seen != self._seen:
                self.manifest, self.fault = read_manifest(self.path), ""
                self._seen = seen
        except OSError as error:
            self.manifest, self._seen, self.fault = {}, None, f"{MANIFEST} cannot be read: {error.strerror}"
        except (RunError, StoreError) as error:
            self.manifest, self._seen = {}, None
            self.fault = str(error).replace(f"{self.path}/", "").replace(str(self.path), self.name)
        if not self.fault:
            self.records.refresh(seconds)

    @property
    def version(self) -> str:
        """Changes whenever a page about the run may have changed."""
        return hashlib.sha256(f"{self._seen}{self.records.version}{self.fault}{self.status}".encode()).hexdigest()[:16]

    @property
    def kind(self) -> str:
        """What made the run: ``ict``, ``spade``, ``sesa``, ``sesa eval``, ``eval``, or ``other``."""
        if is_spade(self.manifest):
            return "spade"
        if is_sesa(self.manifest):
            return "sesa"
        if is_sesa_eval(self.manifest):
            return "sesa eval"
        if is_eval(self.manifest):
            return "eval"
        return "ict" if str(self.manifest.get("command", "")).startswith("ict ") else "other"

    @property
    def status(self) -> str:
        """``unreadable``, ``unread``, ``damaged``, ``ended``, ``going on``, ``stopped`` or ``empty``."""
        records = self.records
        if self.fault or records.missing:
            return "unreadable"
        if records.reading is not None and not records.records:
            return "unread"
        if records.damaged:
            return "damaged"
        if records.ended:
            return "ended"
        if time.time() - records.changed < LIVELY:
            return "going on"
        return "stopped" if records.records else "empty"

    @property
    def problems(self) -> list[str]:
        """What is wrong with its files, one sentence each."""
        if self.fault:
            return [self.fault]
        records = self.records
        if records.missing:
            return [records.missing]
        found = [problem.text for problem in records.problems]
        if records.damaged > len(found):
            found.append(f"{records.damaged - len(found)} more lines of {RECORDS} are damaged.")
        if found:
            found.append("No figure of this run is shown: it would be of a part of its records.")
        if records.torn and self.status != "going on":
            found.append(f"The last record of {RECORDS} was cut short ({records.torn:,} bytes); it is not counted.")
        return found

    @property
    def families(self) -> tuple[str, ...]:
        """What was played."""
        return self.kept("families", self._families)

    def _families(self) -> tuple[str, ...]:
        found = dict.fromkeys(row.episode.task.family for row in self.records.rows)
        if not found and (told := part(self.manifest, "config").get("family")):
            found = {str(told): None}
        return tuple(sorted(found))

    @property
    def models(self) -> tuple[str, ...]:
        """The specs of the models of all seats, without repetition."""
        config = part(self.manifest, "config")
        told = [str(config[seat]) for seat in _SEATS if isinstance(config.get(seat), str)]
        entrants = self.manifest.get("entrants")
        for one in entrants.values() if isinstance(entrants, Mapping) else []:
            told.append(str(one.get("model", "")) if isinstance(one, Mapping) else str(one))
        return tuple(dict.fromkeys(filter(None, told)))

    @property
    def latest(self) -> tuple[Estimate, str]:
        """Success at the last scored meta-turn (ICT), of the last round (SPADE), or of all rollouts, and what it is of.

        It is unmeasured where records are damaged or still being read, and where it would be a mean over arms, models
        or benchmarks.
        """
        if self.records.damaged or self.fault:
            return Estimate(None, None, None, 0), ""
        if self.records.reading is not None:
            return Estimate(None, None, None, 0), "being read"
        found: tuple[Estimate, str] = self.kept("latest", self._latest)
        return found

    def _latest(self) -> tuple[Estimate, str]:
        rows = self.records.rows
        unmeasured = Estimate(None, None, None, 0)
        if self.kind == "spade":
            last = max((round for round, _ in self.records.programs), default=0)
            of = [one for round, one in self.records.programs if round == last and not one.invalidated]
            rates = [one.plain.win_rate for one in of if one.plain.win_rate is not None]
            return (stats.mean(rates), f"round {last}") if rates else (unmeasured, "")
        if self.kind == "sesa":
            return stats.success_estimate(row.episode for row in rows if row.phase == "solver"), "all rounds"
        arms = {row.arm for row in rows}
        if len(arms) > 1:
            return unmeasured, f"{len(arms)} {'models' if self.kind == 'eval' else 'arms'}"
        if self.kind == "eval" and len(sets := {row.phase for row in rows}) > 1:
            return unmeasured, f"{len(sets)} benchmarks"
        phase = EVAL if any(row.phase == EVAL for row in rows) else BATCH
        if self.kind in ("ict", "other"):
            rows = [row for row in rows if row.phase == phase]
        last = max((row.turn for row in rows), default=0)
        told = f"turn {last}" if self.kind in ("ict", "other") and rows else ""
        return stats.success_estimate(row.episode for row in rows if row.turn == last), told

    def kept(self, name: str, make: Any) -> Any:
        """What `make()` gives, made once per state of the run."""
        with self._lock:
            lock = self._making.setdefault(name, threading.RLock())
        with lock:  # of its own, so that what takes seconds keeps nobody from the rest
            version = self.version
            kept = self._kept.get(name)
            if kept is None or kept[0] != version:
                self._kept[name] = kept = (version, make())
            return kept[1]

    def step(self, line: PromptLine) -> PromptStep:
        """A prompt with its texts.

        Raises:
            StoreCorrupt: Its record changed or is none.
        """
        return prompt_step(line.step.arm, line.step.seed, self.records.value(line.line))

    def results(self) -> LightResults:
        """The results of a run that is recorded episode by episode, without turns and texts of prompts.

        Raises:
            StoreError: Records are damaged: figures of a part would look like figures of the whole.
        """
        refuse_damaged(self)
        return self.kept("results", self._results)

    def _results(self) -> LightResults:
        played = tuple(map(_played, self.records.rows))
        prompts = tuple(line.step for line in self.records.prompts)
        timing = self.path / TIMING
        aside: tuple[dict[str, float], int] = ({}, 0)
        if timing.is_file():
            with Journal.open(timing) as journal:
                aside = aside_of(journal)
        return LightResults(self.manifest, played, prompts, self.records.ended, *aside)


class LightResults(Results):
    """Results without turns; mean returns, whose intervals take seconds to resample, are left unmeasured."""

    def _returns(self, episodes: list[Any]) -> Estimate:
        return Estimate(None, None, None, 0, len(episodes))


def _played(row: Row) -> PlayedEpisode:
    return PlayedEpisode(row.arm, row.seed, row.turn, row.phase, row.slot, row.episode)


def refuse_damaged(run: Run) -> None:
    """Refuses a run whose figures would be of a part of its records.

    Raises:
        StoreError: A record is damaged, or the records are still being read.
    """
    if run.fault or run.records.missing:
        raise StoreError(run.fault or run.records.missing)
    if run.records.damaged:
        raise StoreError(
            f"{run.records.damaged} of {run.records.records:,} records of this run are damaged, so no figure of it is "
            "shown; restore records.jsonl from a copy"
        )
    if run.records.reading is not None:
        raise StoreError(f"the records of this run are still being read ({run.records.reading:.0%}); load again soon")


class Catalogue:
    """The runs in and below a folder.

    Args:
        root: A run folder, or one that holds some.

    Raises:
        RunError: There is no such folder, it cannot be read, or it holds no run.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self._runs: dict[str, Run] = {}
        self._looked = -_LOOK_AGAIN
        self._lock = threading.Lock()
        self.truncated = False
        try:
            if not self.root.is_dir():
                raise RunError(f"{self.root} is no folder; name a run folder or one that holds some")
            os.listdir(self.root)
        except (OSError, ValueError) as error:
            raise RunError(f"{str(self.root)!r} cannot be read: {getattr(error, 'strerror', error)}") from error
        if not self.runs():
            raise RunError(
                f"{self.root} holds no run: no {MANIFEST} is in it or in the {MAX_DEPTH} levels of folders below it"
            )

    def runs(self) -> list[Run]:
        """All runs, by name; folders that came since are found, and those that went are left out."""
        with self._lock:
            if time.monotonic() - self._looked >= _LOOK_AGAIN:
                self._look()
                self._looked = time.monotonic()
            return list(self._runs.values())

    def run(self, id_: str, seconds: float = 0.8) -> Run:
        """The run of an id, refreshed for at most so long.

        Raises:
            UnknownName: There is none.
        """
        run = self._runs.get(id_)
        if run is None:
            self.runs()
            run = self._runs.get(id_)
        if run is None:
            raise UnknownName("there is no such run in this folder (any more)")
        run.refresh(seconds)
        return run

    def refresh(self, seconds: float = 0.8) -> float | None:
        """Reads what is new in all runs, for about so long; the share of the runs that was read, None for all.

        Of many runs that nobody has looked at, some are read at each call and the others stay ``unread``.
        """
        deadline = time.monotonic() + seconds
        runs = self.runs()
        unfinished = [run for run in runs if not run.fault and run.records.reading is not None]
        for number, run in enumerate(unfinished):
            if number and time.monotonic() >= deadline:
                break
            run.refresh(max(0.001, deadline - time.monotonic()))
        for run in set(runs).difference(unfinished):  # a look at a file that did not change costs next to nothing
            run.refresh(max(0.0, deadline - time.monotonic()))
        shares = [1.0 if run.fault or run.records.reading is None else run.records.reading for run in runs]
        return None if not runs or min(shares) == 1.0 else sum(shares) / len(shares)

    def _look(self) -> None:
        known, found = self._runs, dict[str, Run]()
        self.truncated = False
        for path in _folders(self.root, 0):
            if len(found) == MAX_RUNS:
                self.truncated = True
                break
            place = os.path.relpath(path, self.root)
            id_ = hashlib.sha256(os.fsencode(place)).hexdigest()[:12]
            name = visible(self.root.resolve().name if place == "." else place, 200)
            found[id_] = known.get(id_) or Run(id_, path, name or "run")
        self._runs = found


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """The run folders in and below a folder, by name; links are not followed, and runs are not looked into."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # a folder that may not be read: its neighbours are shown
    if any(entry.name == MANIFEST and entry.is_file() for entry in entries):
        yield folder
        return
    if depth < MAX_DEPTH:
        for entry in entries:
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                yield from _folders(Path(entry.path), depth + 1)


def sentence(error: MetaGymError, run: Run) -> str:
    """An error about a run without the place of its folder on this machine."""
    return str(error).replace(f"{run.path}/", "").replace(str(run.path), run.name)

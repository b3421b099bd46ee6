"""A run's ``records.jsonl`` read bit by bit, while it grows: episodes as rows without their turns, prompts, problems.

A page over tens of thousands of episodes shows a hundred at a time, and opens one. So the turns are left on the disk:
the file is held against its checksums line by line, and of each line only what a list needs is parsed. Where a record
holds one episode, the bytes of its turns are cut out before parsing. That is sound because a quote inside a text of
JSON is escaped: the bytes ``"turns":[`` and ``],"last_observation":`` can only be structure. Whatever does not fit
this is parsed whole.

A damaged line is kept as a problem with its number, and the other lines stay usable. Nothing here is ever written.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metagym.episodes import Episode
from metagym.errors import BadInput, StoreCorrupt
from metagym.journal import check_line, parse_line
from metagym.runs.notices import TurnCounts
from metagym.runs.results import PromptStep, place_of, prompt_step
from metagym.spade.estimates import RegretEstimate
from metagym.strictjson import no_constant

_CHUNK = 1 << 22  # bytes that are read at once
_TURNS, _AFTER = b'"turns":[', b'],"last_observation":'
_TURN = b'"terminated":'  # stands once in each turn
_ONE = b'"value":{"kind":"episode",'  # other kinds of record hold several episodes
_EXACT, _REJECTED = b'"repair":"exact"', (b'"repair":"invalid"', b'"repair":"absent"')
_ABSENT, _ABSENCE = b'"absence":', re.compile(rb'"absence":"(\w+)"')
_DECODER = json.JSONDecoder(parse_constant=no_constant)  # made once: a list of thousands of records needs one each
_SESA = re.compile(r"round/(\d+)/slot/(\d+)/(challenge|attempt)")
_SEATS = {
    "challenge": {"episode": "challenger"},
    "attempt": {"episodes": "solver", "probes": "solver without skills"},
}
MAX_LINE = 1 << 28
"""Bytes of the longest record that is read."""
MAX_PROBLEMS = 200
"""Damaged lines that are kept by number; the others are counted."""


@dataclass(frozen=True, slots=True)
class Line:
    """Where a sound record stands: byte offset and size without the newline, and its key."""

    offset: int
    size: int
    key: str


@dataclass(frozen=True, slots=True)
class Row:
    """An episode as a list shows it.

    Attributes:
        number: Place among the episodes of the run, from 0.
        line: Its record.
        path: Where in the record's value the episode stands.
        arm: Arm, or the model of an evaluation; "" in an ordinary run.
        seed: Of the arm's repetition.
        turn: Meta-turn or round.
        phase: What it was played for.
        slot: Place in its batch.
        steps: Number of turns.
        episode: The episode without its turns.
    """

    number: int
    line: Line
    path: tuple[str | int, ...]
    arm: str
    seed: int
    turn: int
    phase: str
    slot: int
    steps: int
    episode: Episode


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A prompt of an ICT run: where its record stands, and the step without its texts."""

    number: int
    line: Line
    step: PromptStep


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a line: its number, from 1, and a sentence."""

    line: int
    text: str


class RecordFile:
    """The record file of one run. Its methods may be called from several threads.

    Attributes:
        path: The file.
        rows: The episodes read so far, in the order of the records.
        prompts: The prompts read so far.
        programs: Round and estimate of the plays of each program of SPADE; not all of these plays are kept as episodes.
        turns: Counts over all turns of the rows.
        problems: What is damaged, first lines first; at most `MAX_PROBLEMS`.
        damaged: Number of damaged lines.
        ended: Whether the last record read says that the run came to its end.
        size: Bytes of the file when it was last looked at.
        changed: When it was last written, seconds since 1970; 0.0 where there is no file.
        missing: Why the file cannot be read; "" where it can.
        unread: Whether it was never looked at.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self.unread = True
        self._forget()

    def _forget(self) -> None:
        self.rows: list[Row] = []
        self.prompts: list[PromptLine] = []
        self.programs: list[tuple[int, RegretEstimate]] = []
        self.turns = TurnCounts()
        self.problems: list[Problem] = []
        self.damaged = 0
        self.ended = False
        self.size = 0
        self.changed = 0.0
        self.missing = ""
        self._end = 0  # bytes of whole lines read so far
        self._begun: list[bytes] = []  # of the line after them, where time ran out in it
        self._begun_size = 0
        self._count = 0
        self._keys: set[str] = set()
        self._identity: tuple[int, int, int] | None = None

    @property
    def version(self) -> str:
        """Changes whenever something was read or the file changed."""
        return f"{self._identity}-{self._end}-{self.missing}"

    @property
    def records(self) -> int:
        """Number of lines read, damaged ones among them."""
        return self._count

    @property
    def reading(self) -> float | None:
        """Share of the file that was read; None when all of it was, but for a line that is being written."""
        if self.unread:
            return 0.0
        return None if self._settled else min(0.99, self._end / max(self.size, 1))

    @property
    def torn(self) -> int:
        """Bytes after the last newline: a record that is being written, or was cut."""
        return max(0, self.size - self._end) if self._settled else 0

    _settled = True

    def refresh(self, seconds: float = 0.8) -> None:
        """Reads what is new, for about so long; a file that shrank or was rewritten is read anew.

        Some of it is read at each call, however short the time and however long the record; nothing in no time.
        """
        deadline = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return  # another request reads it: what is there is shown
        try:
            self._look(deadline, seconds > 0)
        except OSError as error:
            self._forget()
            self._settled = True
            self.missing = f"{self.path.name} cannot be read: {error.strerror}"
        finally:
            self.unread = False
            self._lock.release()

    def value(self, line: Line) -> Any:
        """The whole value of a record.

        Raises:
            StoreCorrupt: It changed since it was read, or cannot be read.
        """
        try:
            with open(self.path, "rb") as file:
                file.seek(line.offset)
                raw = file.read(line.size)
        except OSError as error:
            raise StoreCorrupt(f"{self.path.name} cannot be read: {error.strerror}") from error
        key, value = parse_line(raw, f"{self.path.name}, record {line.key!r}")
        if key != line.key:
            raise StoreCorrupt(f"{self.path.name} was rewritten: where {line.key!r} stood is {key!r} now; load again")
        return value

    def episode(self, row: Row) -> Episode:
        """An episode with its turns.

        Raises:
            StoreCorrupt: It changed since it was read, or is no episode.
        """
        value = self.value(row.line)
        try:
            for name in row.path:
                value = value[name]
            return Episode.from_json(value)
        except (BadInput, LookupError, TypeError) as error:
            raise StoreCorrupt(f"record {row.line.key!r} holds no episode: {error}") from error

    # --- reading

    def _look(self, deadline: float, some: bool) -> None:
        if not stat.S_ISREG(os.stat(self.path).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")  # opening a pipe would wait for its writer
        with open(self.path, "rb") as file:
            found = os.fstat(file.fileno())
            # Appending keeps the inode and makes the file longer; anything else may have changed what was read.
            known = self._identity
            same = known is not None and known[0] == found.st_ino and self.size <= found.st_size
            rewritten = known is not None and self.size == found.st_size and known[2] != found.st_mtime_ns
            if not same or rewritten:
                self._forget()
            identity = (found.st_ino, found.st_size, found.st_mtime_ns)
            if identity == self._identity and self._settled:
                return
            if identity != self._identity:  # a torn end may have been cut and written over
                self._begun, self._begun_size = [], 0
            self._identity = identity
            self.size, self.changed, self.missing = found.st_size, found.st_mtime, ""
            file.seek(self._end + self._begun_size)
            self._settled = False
            while some or time.monotonic() < deadline:
                some = False
                data, start = file.read(_CHUNK), 0
                while (stop := data.find(b"\n", start)) >= 0:
                    self._begin(data[start:stop])
                    raw, size = b"".join(self._begun), self._begun_size
                    self._begun, self._begun_size = [], 0
                    self._take(raw, size)
                    start = stop + 1
                self._begin(data[start:])
                if not data or self._end + self._begun_size >= self.size:
                    self._settled = True
                    self._begun, self._begun_size = [], 0
                    break

    def _begin(self, piece: bytes) -> None:
        """Keeps a piece of a line; a line that is too long is measured and not kept."""
        self._begun_size += len(piece)
        self._begun = [*self._begun, piece] if self._begun_size <= MAX_LINE else []

    def _take(self, raw: bytes, size: int) -> None:
        offset, self._count = self._end, self._count + 1
        self._end += size + 1
        place = f"{self.path.name}, line {self._count}"
        try:
            if size > MAX_LINE:
                raise StoreCorrupt(f"{place}: the record has {size:,} bytes, and {MAX_LINE:,} are read at most")
            check_line(raw, place)
            key, value, turns = _read(raw, place)
            if key in self._keys:
                raise StoreCorrupt(f"{place}: key {key!r} stands there for the second time")
            self._keys.add(key)
            self._keep(Line(offset, len(raw), key), value, turns)
        except StoreCorrupt as error:
            self.damaged += 1
            if len(self.problems) < MAX_PROBLEMS:
                self.problems.append(Problem(self._count, str(error)))

    def _keep(self, line: Line, value: Any, turns: TurnCounts | None) -> None:
        try:
            kind = value.get("kind")
            self.ended = kind == "end"
            if kind in ("prompt", "reflection") and (placed := place_of(line.key, value)) is not None:
                step = prompt_step(*placed, value)
                _bounded(step.turn)
                rejected = None if step.rejected_prompt is None else ""
                light = replace(step, prompt="", analysis="", reply=None, rejected_prompt=rejected)
                self.prompts.append(PromptLine(len(self.prompts), line, light))
                return
            if kind == "plays":
                self.programs.append((_bounded(int(value["round"])), RegretEstimate.from_json(value["estimate"])))
            for path, data, place in _episodes(line.key, value):
                whole = Episode.from_json(data)
                _bounded(place["turn"])
                if not math.isfinite(whole.ret):
                    raise ValueError(f"its return is {whole.ret}")
                counts = TurnCounts.of([whole]) if turns is None else turns
                episode = whole if not whole.turns else replace(whole, turns=())
                self.rows.append(Row(len(self.rows), line, path, steps=counts.total, episode=episode, **place))
                self.turns.total += counts.total
                self.turns.rejected += counts.rejected
                if counts.absent:
                    self.turns.absent.update(counts.absent)
        except (BadInput, AttributeError, LookupError, TypeError, ValueError) as error:
            raise StoreCorrupt(
                f"{self.path.name}, line {self._count}: record {line.key!r} is none of a run ({error})"
            ) from error


def _bounded(turn: int) -> int:
    """A turn or round as it is.

    Raises:
        ValueError: It is none: curves have it on their axis.
    """
    if not 0 <= turn < 10**9:
        raise ValueError(f"{turn!r:.40} is no turn")
    return turn


def _read(raw: bytes, place: str) -> tuple[str, Any, TurnCounts | None]:
    """Key, value and, where they were cut out, counts of the turns of a line whose checksum fits."""
    first = raw.find(_TURNS)
    last = raw.rfind(_AFTER)
    if 0 <= first < last and _ONE in raw[:first]:
        start = first + len(_TURNS)
        try:
            record = _DECODER.decode((raw[:start] + raw[last:]).decode("utf-8"))
            if record["value"]["episode"]["turns"] == []:  # else what was cut out was something else
                return record["key"], record["value"], _counts(raw, start, last)
        except (ValueError, LookupError, TypeError, RecursionError):
            pass  # a record of another form: parsed whole
    return *parse_line(raw, place), None


def _counts(raw: bytes, start: int, stop: int) -> TurnCounts:
    """Counts of the turns that stand between two places of a line.

    Raises:
        ValueError: They are of another form.
    """
    counts = TurnCounts(raw.count(_TURN, start, stop))
    if counts.total != raw.count(_EXACT, start, stop):  # where no command was found, it was not an exact one
        counts.rejected = sum(raw.count(sign, start, stop) for sign in _REJECTED)
        absent = _ABSENCE.findall(raw, start, stop)
        if len(absent) != raw.count(_ABSENT, start, stop):
            raise ValueError("an absence of an unknown form")
        counts.absent.update(map(bytes.decode, absent))
    return counts


def _episodes(key: str, value: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any, dict[str, Any]]]:
    """The episodes of a record: where in it each stands, its JSON, and its place in the run."""
    kind = value.get("kind")
    if kind == "episode" and "entrant" in value:  # an evaluation: models are its arms, benchmarks its phases
        placed = {"arm": str(value["entrant"]), "phase": str(value["benchmark"]), "slot": int(value["sample"])}
        yield ("episode",), value["episode"], {**placed, "seed": 0, "turn": 0}
    elif kind == "episode":
        arm, seed = place_of(key, value) or (str(value.get("arm") or ""), 0)
        placed = {"arm": arm, "seed": seed, "turn": int(value["turn"]), "phase": str(value["phase"])}
        yield ("episode",), value["episode"], {**placed, "slot": int(value["slot"])}
    elif kind == "plays":
        for number, (data, hinted) in enumerate(zip(value["episodes"], value["hinted"], strict=True)):
            placed = {"turn": int(value["round"]), "slot": int(value["slot"]), "arm": "", "seed": 0}
            yield ("episodes", number), data, {**placed, "phase": "with the hint" if hinted else "without the hint"}
    elif kind is None and (place := _SESA.fullmatch(key)) is not None:
        placed = {"turn": int(place[1]), "slot": int(place[2]), "arm": "", "seed": 0}
        for name, phase in _SEATS[place[3]].items():
            found = value[name]
            for number, data in enumerate(found if isinstance(found, list) else [found]):
                path = (name, number) if isinstance(found, list) else (name,)
                yield path, data, {**placed, "phase": phase}

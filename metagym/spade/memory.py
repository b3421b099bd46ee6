"""The environment memory: every program that was accepted, what was measured of it, and which are still in use.

The memory is a journal (`metagym.journal`): a program that enters, a measurement, an eviction are one record each, and
nothing is ever changed or deleted. What a memory *is* follows from its records alone, in their order:

    memory                    its settings
    add/<round>/<digest>      a program enters, with the measurement that it entered with
    plays/<round>/<digest>/<batch>   a later measurement
    evict/<round>/<digest>    a program goes out of use

Keys make repetition harmless: a run that was killed and is resumed writes the same records again, and nothing counts
twice. `MemorySnapshot`s taken with ``before=round`` show what that round saw when it began, whatever was written since.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from metagym.checks import shown
from metagym.errors import BadInput, StoreCorrupt, UnknownName
from metagym.journal import Journal
from metagym.spade.lineage import lineage, would_loop
from metagym.spade.memory_state import MemorySettings, State
from metagym.spade.memory_store import RamStore, Store
from metagym.spade.novelty import Embedder, HashedNgrams, Novelty, Similarity, novelty
from metagym.spade.records import EnvRecord, EnvView, Plays
from metagym.spade.samplers import Examples, sampler, spade_examples

Mode = Literal["r", "w"]

_FORMAT = 1


@dataclass(frozen=True)
class MemorySnapshot:
    """The memory at one moment; nothing that happens later changes it.

    Attributes:
        views: The programs in use, in the order of insertion.
        all_views: Those out of use as well.
    """

    views: tuple[EnvView, ...] = ()
    all_views: tuple[EnvView, ...] = ()

    def __len__(self) -> int:
        """Number of programs in use."""
        return len(self.views)

    def get(self, digest: str) -> EnvView:
        """The program of a digest, in use or not.

        Raises:
            UnknownName: It was never in the memory.
        """
        for view in self.all_views:
            if view.digest == digest:
                return view
        raise UnknownName(f"program {digest:.64} was never in this memory")

    def sample(self, name: str, n: int, seed: int, skill: str | None = None, **settings: Any) -> list[EnvView]:
        """Programs in use, chosen by a sampler of `metagym.spade.samplers`.

        Args:
            name: The sampler.
            n: At most this many.
            seed: Decides draws and ties.
            skill: Only programs of this skill.
            **settings: Of the sampler.

        Raises:
            UnknownName: There is no such sampler.
        """
        chosen = [view for view in self.views if skill is None or view.skill == skill]
        return sampler(name)(chosen, n, seed, **settings)

    def examples(self, skill: str, seed: int, positives: int = 2, bad: int = 1) -> Examples:
        """Examples for the designer by SPADE's rule, see `metagym.spade.samplers.spade_examples`."""
        return spade_examples(self.views, skill, seed, positives, bad)

    def lineage(self) -> dict[str, Any]:
        """Which program was made from which, see `metagym.spade.lineage.lineage`."""
        return lineage(self.all_views)

    @property
    def digest(self) -> str:
        """Changes with any program, measurement or eviction; 32 hex digits."""
        body = [[view.record.to_json(), view.live, *_measurements(view)] for view in self.all_views]
        return hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=16).hexdigest()


class EnvMemory:
    """The memory; make one with `EnvMemory.open` or `EnvMemory.in_memory`. Methods may be called from several threads.

    Attributes:
        settings: As its first record says.
    """

    def __init__(
        self,
        store: Store,
        settings: MemorySettings | None,
        similarity: Similarity | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._store = store
        self._similarity = similarity
        self._embedder = embedder or HashedNgrams()
        self._lock = threading.RLock()
        self._events: list[tuple[int, dict[str, Any]]] = []  # round and content, in the order of the file
        self._read = 0
        self.settings = settings or MemorySettings()
        self._state = State(self.settings)
        self._begin(settings)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Mode = "r",
        settings: MemorySettings | None = None,
        similarity: Similarity | None = None,
        embedder: Embedder | None = None,
    ) -> EnvMemory:
        """Opens a memory's file and reads it.

        Args:
            path: The ``.jsonl`` file; a writer makes it where it is absent.
            mode: ``"r"`` reads, any number of readers at a time, beside a writer too. ``"w"`` is the one writer.
            settings: For a new file; an existing one brings its own, which must be equal if any are given.
            similarity: Of two programs; by default by fingerprints, see `metagym.spade.novelty`.
            embedder: Of a program's words.

        Raises:
            StoreLocked: Another writer has it.
            StoreCorrupt: The file is damaged or no memory; the message names file and line.
            StoreError: It is absent (reading), unreadable or not writable.
            BadInput: The mode is none, or the settings differ from the file's.
        """
        if mode not in get_args(Mode):
            raise BadInput(f"a memory is opened with mode 'r' or 'w', got {shown(mode)}")
        store = Journal.open(path, mode)
        try:
            return cls(store, settings, similarity, embedder)
        except BaseException:
            store.close()
            raise

    @classmethod
    def in_memory(
        cls,
        settings: MemorySettings | None = None,
        similarity: Similarity | None = None,
        embedder: Embedder | None = None,
    ) -> EnvMemory:
        """A memory without a file, which behaves alike."""
        return cls(RamStore(), settings, similarity, embedder)

    # --- writing

    def add(self, record: EnvRecord, plays: Plays | None = None) -> bool:
        """Lets a program in; when this returns, it is on disk, and so are the evictions that it caused.

        Args:
            record: The program.
            plays: The measurement that it enters with. It serves choices until there are later ones, and never counts
                for its difficulty.

        Returns:
            False if the program is in use already, or if this very record was written before.

        Raises:
            StoreError: The disk refused, or the same round let the program in with other content.
            BadInput: The memory is open for reading, or the program would be its own ancestor.
        """
        with self._lock:
            parents = {view.digest: view.record.parents for view in self._state.views()}
            if would_loop(record.digest, record.parents, parents):
                raise BadInput(f"program {record.digest:.12} would be its own ancestor")
            key = f"add/{record.round}/{record.digest}"
            value = {"record": record.to_json(), "plays": None if plays is None else plays.to_json()}
            if key not in self._store and self._state.is_live(record.digest):
                return False
            trial = self._state.copy()
            new = key not in self._store
            if new:
                trial.add(record, plays)
            out = trial.overflow(record.digest)
            evictions = [
                (f"evict/{record.round}/{digest}", {"digest": digest, "why": self.settings.eviction}) for digest in out
            ]
            self._store.append_many([(key, value), *evictions])
            self._catch_up()
            return new

    def record_plays(self, digest: str, plays: Plays) -> bool:
        """Stores a later measurement of a program; returns False if this very one was there already.

        Raises:
            UnknownName: The program was never in the memory.
            StoreError: The disk refused, or round and batch hold another measurement of this program.
            BadInput: The memory is open for reading, or the measurement is of a round before the program entered (give
                that to `add`).
        """
        with self._lock:
            if digest not in self._state:
                raise UnknownName(f"program {digest:.64} was never in this memory: add it first")
            key = f"plays/{plays.round}/{digest}/{plays.batch}"
            if key not in self._store and plays.round < (entered := self._state.entered(digest)):
                raise BadInput(f"plays of round {plays.round}: program {digest:.12} entered in round {entered}")
            new = self._store.append_many([(key, {"digest": digest, "plays": plays.to_json()})]) == 1
            self._catch_up()
            return new

    # --- reading

    def snapshot(self, before: int | None = None) -> MemorySnapshot:
        """The memory as it is, or as it was when a round began.

        Args:
            before: Only what rounds before this one wrote; None for everything.
        """
        with self._lock:
            state = self._state
            if before is not None and any(round >= before for round, _ in self._events):
                state = State(self.settings)
                for round, event in self._events:
                    if round < before:
                        state.apply(event)
            views = tuple(state.views())
        return MemorySnapshot(tuple(view for view in views if view.live), views)

    def sample(self, name: str, n: int, seed: int, skill: str | None = None, **settings: Any) -> list[EnvView]:
        """As `MemorySnapshot.sample`, of the memory as it is."""
        return self.snapshot().sample(name, n, seed, skill, **settings)

    def novelty(self, record: EnvRecord, k: int = 5, evicted: bool = False, before: int | None = None) -> Novelty:
        """How new a program is beside those in use.

        Args:
            record: The program; ask before it is added.
            k: How many neighbours are named, >= 1.
            evicted: Compare with those out of use as well.
            before: As for `snapshot`.
        """
        now = self.snapshot(before)
        known = [view.record for view in (now.all_views if evicted else now.views)]
        return novelty(record, known, k, self._similarity, self._embedder)

    def refresh(self) -> None:
        """Reads what a writer in another process wrote since."""
        with self._lock:
            self._store.refresh()
            self._catch_up()

    def __len__(self) -> int:
        """Number of programs in use."""
        with self._lock:
            return self._state.live

    def __contains__(self, digest: object) -> bool:
        """Whether the program is in use."""
        with self._lock:
            return isinstance(digest, str) and self._state.is_live(digest)

    def close(self) -> None:
        """Closes the file; a second call does nothing."""
        self._store.close()

    def __enter__(self) -> EnvMemory:
        """The memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    # --- inside

    def _begin(self, asked: MemorySettings | None) -> None:
        if not len(self._store):
            if self._store.mode == "r":
                raise StoreCorrupt(f"{self._store.path} is no environment memory: it holds no whole record")
            self._store.append_many([("memory", {"format": _FORMAT, **asdict(self.settings)})])
            self._catch_up()
            return
        self._catch_up()
        if asked is not None and asked != self.settings:
            raise BadInput(f"{self._store.path} holds a memory with {self.settings}, and {asked} were asked for")

    def _catch_up(self) -> None:
        """Takes in the records that were not read yet."""
        for key in self._store.keys()[self._read :]:
            line = self._read + 1
            try:
                self._take(key, self._store.get(key))
            except (BadInput, KeyError, TypeError, ValueError, AttributeError) as error:
                reason = f"{type(error).__name__}: {error}"
                raise StoreCorrupt(f"{self._store.path}, line {line}: no record of a memory ({reason:.200})") from None
            self._read = line

    def _take(self, key: str, value: Any) -> None:
        kind, _, rest = key.partition("/")
        if key == "memory" and self._read == 0:
            body = dict(value)
            if body.pop("format") != _FORMAT:
                raise BadInput("it was written by another version")
            self.settings = MemorySettings(**body)
            self._state = State(self.settings)
            return
        if self._read == 0 or kind not in ("add", "plays", "evict"):
            raise BadInput(f"unexpected key {key!r:.80}")
        round = int(rest.partition("/")[0])
        event = {"kind": kind, **value}
        if kind == "add":
            event["record"] = EnvRecord.from_json(value["record"])
        if kind != "evict" and value["plays"] is not None:
            event["plays"] = Plays.from_json(value["plays"])
        self._state.apply(event)
        self._events.append((round, event))


def _measurements(view: EnvView) -> Iterator[Any]:
    yield None if view.admission is None else view.admission.to_json()
    yield from (plays.to_json() for plays in view.later)

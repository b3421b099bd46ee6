"""Reads the run folder of SESA: rounds, figures, what became of each card."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from metagym import stats
from metagym.chat.store import ReplyStore
from metagym.episodes import Usage
from metagym.errors import MetaGymError, RunError, StoreError
from metagym.runs.folder import RunFolder
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import READERS, Slot, read
from metagym.sesa.state import BankEntry
from metagym.stats import Estimate

_KEY = re.compile(
    r"round/(?P<round>\d+)/(?:slot/(?P<slot>\d+)/(?P<kind>challenge|attempt|paid)|(?P<whole>bank|summary))"
)


@dataclass(frozen=True)
class CardLife:
    """What became of a card in a run.

    Attributes:
        id: The card.
        source: ``hand``, ``bootstrap`` or ``failure``; "" where the bank could not be read.
        text: Its description; "" where the bank could not be read.
        trigger: When to use it; "" likewise.
        born: Round in which it entered the bank; -1 for priming; None for a card that was there before.
        gone: Round in which it was given up; None while it is in use.
        why: Why it was given up.
        uses: Rollouts of this run that had it in their prompt.
        wins: Those of them that succeeded.
        lift: Success with it in the prompt minus success of the probes without any skills, paired by question;
            unmeasured without probes.
    """

    id: str
    source: str
    text: str
    trigger: str
    born: int | None
    gone: int | None
    why: str
    uses: int
    wins: int
    lift: Estimate


@dataclass(frozen=True)
class SesaResults:
    """Everything that a run folder of SESA says.

    Attributes:
        manifest: What was run.
        rounds: The slots, round by round; the last round may be incomplete.
        summaries: The figures of each finished round, by its number.
        banks: What happened to the bank in each round, by its number.
        primed: The record of the priming; None without a bank.
        entries: The bank as it is on disk now, by id; {} where it cannot be read.
        unread: Why the bank could not be read; "" otherwise.
        ended: Whether the run came to its end.
        seconds: Wall-clock seconds by key, where they were kept.
        retries: Model requests that had to be made again.
        replies: The file of paid replies; it need not be there.
    """

    manifest: Mapping[str, Any]
    rounds: tuple[tuple[Slot, ...], ...]
    summaries: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    banks: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    primed: Mapping[str, Any] | None = None
    entries: Mapping[str, BankEntry] = field(default_factory=dict)
    unread: str = ""
    ended: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    retries: int = 0
    replies: Path | None = None

    @property
    def slots(self) -> list[Slot]:
        """All slots in the order of the records."""
        return [slot for round in self.rounds for slot in round]

    @property
    def last(self) -> Mapping[str, Any] | None:
        """The state of the bank where the records end: ``seq`` and ``digest``; None without a bank."""
        told = self.banks[max(self.banks)] if self.banks else self.primed
        return None if told is None else told["bank"]

    @cached_property
    def reasons(self) -> Counter[str]:
        """Questions that did not count, by reason."""
        return Counter(slot.paid.reason for slot in self.slots if slot.paid and slot.paid.reason not in ("", "fixed"))

    @cached_property
    def distilled(self) -> dict[str, Counter[str]]:
        """What distillation passed over (``skipped``, ``rollouts``) and refused (``refused``), by reason."""
        names = ("skipped", "rollouts", "refused")
        return {
            name: sum((Counter(one["distilled"][name]) for one in self.banks.values()), Counter()) for name in names
        }

    @cached_property
    def cards(self) -> tuple[CardLife, ...]:
        """Every card that entered the bank or was used in the run, in the order of its birth."""
        born: dict[str, int | None] = {}
        for id_ in () if self.primed is None else (*self.primed["primed"]["hand"], *self.primed["primed"]["mined"]):
            born[id_] = -1
        gone: dict[str, int] = {}
        for number, record in sorted(self.banks.items()):
            born.update(dict.fromkeys(record["distilled"]["added"], number))
            kept = record["kept"]
            gone.update(
                dict.fromkeys((*kept["retired"], *kept["evicted"], *(pair[0] for pair in kept["merged"])), number)
            )
        for id_ in self._used:
            born.setdefault(id_, None)
        return tuple(self._card(id_, when, gone.get(id_)) for id_, when in born.items())

    def _card(self, id_: str, born: int | None, gone: int | None) -> CardLife:
        entry = self.entries.get(id_)
        used = self._used.get(id_, [])
        outcomes = [won for slot in used if slot.attempt for won in slot.attempt.outcomes if won is not None]
        return CardLife(
            id_,
            "" if entry is None else entry.card.source,
            "" if entry is None else entry.card.description,
            "" if entry is None else entry.card.trigger,
            born,
            gone,
            "" if entry is None else entry.why,
            len(outcomes),
            sum(outcomes),
            _lift(used),
        )

    @cached_property
    def _used(self) -> dict[str, list[Slot]]:
        """Card -> the slots whose rollouts had it in their prompts."""
        found: dict[str, list[Slot]] = {}
        for slot in self.slots:
            for id_ in () if slot.attempt is None else slot.attempt.skills.ids:
                found.setdefault(id_, []).append(slot)
        return found

    @cached_property
    def lift(self) -> Estimate:
        """Success with skills minus success of the probes without, paired by question."""
        return _lift([slot for slot in self.slots if slot.attempt is not None and slot.attempt.skills.ids])

    @property
    def alarms(self) -> list[tuple[int, str]]:
        """Round and sentence of every alarm."""
        return [(number, one["text"]) for number, told in sorted(self.summaries.items()) for one in told["alarms"]]

    @property
    def usage(self) -> dict[str, Usage]:
        """Calls, tokens and cost of the two seats whose episodes are recorded."""
        mine = [slot.challenge.episode.usage for slot in self.slots if slot.challenge is not None]
        tries = [slot.attempt for slot in self.slots if slot.attempt is not None]
        solver = [episode.usage for one in tries for episode in (*one.episodes, *one.probes)]
        return {"challenger": Usage.total(mine), "solver": Usage.total(solver)}

    @cached_property
    def paid(self) -> Usage | None:
        """What all replies on disk cost, those of distiller, verifier and judge among them; None where none is read."""
        if self.replies is None or not self.replies.exists():
            return None
        try:
            store = ReplyStore(self.replies, "read")
            try:
                return store.paid() if len(store) else None
            finally:
                store.close()
        except StoreError:  # a report is written even where the replies cannot be read
            return None


def _lift(slots: Iterable[Slot]) -> Estimate:
    bare: dict[str, float | None] = {}
    skilled: dict[str, float | None] = {}
    for slot in slots:
        if slot.attempt is None or not slot.attempt.probes:
            continue
        key = f"{slot.round}/{slot.number}"
        probes = [episode.success if episode.scored else None for episode in slot.attempt.probes]
        bare[key], skilled[key] = _mean(probes), _mean(slot.attempt.outcomes)
    return stats.paired_difference(bare, skilled)


def _mean(outcomes: Iterable[bool | None]) -> float | None:
    known = [float(outcome) for outcome in outcomes if outcome is not None]
    return math.fsum(known) / len(known) if known else None


def is_sesa(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is of ``metagym sesa run``."""
    return manifest.get("command") == "sesa run"


def is_sesa_eval(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is of ``metagym sesa eval``."""
    return manifest.get("command") == "sesa eval"


def load_sesa(run: RunFolder | str | os.PathLike[str]) -> SesaResults:
    """Reads a run folder of SESA.

    Raises:
        RunError: It is no run, or one of another system.
        StoreCorrupt: A record is damaged or is none of a run; the message names its key.
        StoreError: It cannot be read.
    """
    if isinstance(run, RunFolder):
        return _load(run)
    with RunFolder.open(run) as folder:
        return _load(folder)


def _load(folder: RunFolder) -> SesaResults:
    if not is_sesa(folder.manifest):
        raise RunError(f"{folder.path} is a run of {folder.manifest.get('command', 'something else')!r}, not of SESA")
    parts: dict[tuple[int, int], dict[str, Any]] = {}
    wholes: dict[str, dict[int, Mapping[str, Any]]] = {"bank": {}, "summary": {}}
    primed: Mapping[str, Any] | None = None
    ended = False
    for key, value in folder.records.records():
        place = _KEY.fullmatch(key)
        if key == "prime":
            primed = read(_primed, key, value)
        elif key == "end":
            ended = True
        elif place is not None and place["whole"]:
            wholes[place["whole"]][int(place["round"])] = read(_CHECKS[place["whole"]], key, value)
        elif place is not None:
            made = parts.setdefault((int(place["round"]), int(place["slot"])), {})
            made[place["kind"]] = read(READERS[place["kind"]], key, value)
    count = max((round for round, _ in parts), default=-1) + 1
    rounds = tuple(
        tuple(
            Slot(round, slot, made.get("challenge"), made.get("attempt"), made.get("paid"))
            for (round, slot), made in sorted(parts.items())
            if round == number
        )
        for number in range(count)
    )
    entries, unread = _entries(folder)
    aside = {} if folder.timing is None else dict(folder.timing.records())
    return SesaResults(
        folder.manifest,
        rounds,
        wholes["summary"],
        wholes["bank"],
        primed,
        entries,
        unread,
        ended,
        {key: value for key, value in aside.items() if isinstance(value, (int, float))},
        sum(value.get("retries", 0) for value in aside.values() if isinstance(value, dict)),
        folder.replies,
    )


def _primed(value: Any) -> Mapping[str, Any]:
    primed = {name: list(value["primed"][name]) for name in ("hand", "mined")}
    return {**value, "primed": {**value["primed"], **primed}, "bank": _state(value), "denied": int(value["denied"])}


def _state(value: Any) -> dict[str, Any]:
    return {"seq": int(value["bank"]["seq"]), "digest": str(value["bank"]["digest"])}


def _bank_record(value: Any) -> Mapping[str, Any]:
    for name in ("skipped", "rollouts", "refused"):
        Counter(value["distilled"][name]).total()
    list(value["distilled"]["added"]), list(value["kept"]["merged"]), int(value["active"])
    list(value["kept"]["retired"]), list(value["kept"]["evicted"])
    return {**value, "bank": _state(value)}


def _summary(value: Any) -> Mapping[str, Any]:
    missing = {"questions", "rates", "rate", "frontier", "reward", "rollouts", "skills", "diversity", "alarms"} - set(
        value
    )
    if missing:
        raise KeyError(min(missing))
    return dict(value)


_CHECKS: Mapping[str, Any] = {"bank": _bank_record, "summary": _summary}


def _entries(folder: RunFolder) -> tuple[dict[str, BankEntry], str]:
    """The bank as it is now: a report is written even where it cannot be read."""
    told = folder.manifest.get("bank", "none")
    if told == "none":
        return {}, ""
    try:
        with SkillBank.open(bank_path(folder), read_only=True) as bank:
            return {entry.card.id: entry for entry in bank.entries()}, ""
    except MetaGymError as error:
        return {}, str(error)


def bank_path(folder: RunFolder) -> Path:
    """Where the bank of a run stands.

    Raises:
        RunError: The run has none.
    """
    told = folder.manifest.get("bank", "none")
    if told == "none":
        raise RunError(f"{folder.path} is a run without a skill bank; it can be deployed 'off' alone")
    return folder.bank if told == "own" else Path(str(told))


def state_name(results: SesaResults, seq: int) -> str:
    """Which state of the run's bank an event number is, in words: initial, after a round, or none of them."""
    if (
        results.primed is not None
        and results.primed["bank"]["seq"] == seq
        and not any(told["bank"]["seq"] == seq for told in results.banks.values())
    ):
        return "initial: as it was primed"
    rounds = [number for number, told in results.banks.items() if told["bank"]["seq"] == seq]
    return f"evolved: after round {max(rounds)}" if rounds else "none that the run recorded"

"""Where a run and its bank agree: the records tell in which state the bank was left."""

from __future__ import annotations

from typing import Any

from metagym.errors import RunError
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import Records, read


def bank_state(bank: SkillBank) -> dict[str, Any]:
    """Number of events and digest of a bank."""
    return {"seq": bank.seq, "digest": bank.digest}


def checkpoint(records: Records) -> Any:
    """The last state of the bank that the records tell: ``{"seq", "digest"}``; None before the start.

    Raises:
        StoreCorrupt: A record is none of a run of SESA.
    """
    keys = ["start", "prime"]
    number = 0
    while (key := f"round/{number}/bank") in records:
        keys.append(key)
        number += 1
    found = None
    for key in keys:
        if key in records:
            found = read(lambda record: record["bank"], key, records.get(key))
    return found


def expect(bank: SkillBank, state: Any) -> None:
    """Refuses a bank that somebody else changed meanwhile.

    Raises:
        RunError: It is in another state.
    """
    bank.refresh()
    if state != (found := bank_state(bank)):
        raise RunError(
            f"the bank {bank.path} is at event {found['seq']} ({found['digest'][:12]}), and the run left it at event "
            f"{state['seq']} ({state['digest'][:12]}): another writer changed it; give each run a bank of its own"
        )

"""What every command that runs something in a folder does first and last: the folder, the paid replies, the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metagym.chat import aclose
from metagym.chat.accounts import Account, Budget, Ledger
from metagym.chat.balance import Balanced
from metagym.chat.layers import find_layer
from metagym.chat.store import CacheMode, ReplyStore
from metagym.chat.types import ChatModel
from metagym.errors import BadInput
from metagym.runs.folder import RunFolder

CACHE_MODES = ("write", "read", "replay-only", "off")


def check_mode(mode: str) -> CacheMode:
    """A mode of the folder's reply cache.

    Raises:
        BadInput: There is no such mode.
    """
    if mode not in CACHE_MODES:
        raise BadInput(f"the cache mode is one of {', '.join(CACHE_MODES)}, got {mode!r}")
    return mode  # type: ignore[return-value]


def open_folder(path: Path, manifest: Mapping[str, Any], resume: bool, overwrite: bool, mode: str) -> RunFolder:
    """Makes a run's folder, or opens the one that is there in order to go on with it.

    Raises:
        BadInput: The switches exclude each other.
        RunError, StoreError: See `RunFolder.create` and `RunFolder.resume`.
    """
    if resume and overwrite:
        raise BadInput("resume and overwrite exclude each other")
    if not resume and mode in ("read", "replay-only"):
        raise BadInput(f"the cache mode {mode!r} reads the replies of a run that is there: resume it")
    return RunFolder.resume(path, manifest) if resume else RunFolder.create(path, manifest, overwrite)


class Layers:
    """The layers that the seats of one run share: replies on disk and one ledger.

    Args:
        folder: The run's folder.
        mode: What the reply cache does.
        budget: Hard limits; a resumed run goes on with the budget it left.

    Attributes:
        options: Keyword arguments for `metagym.chat.load`.
    """

    def __init__(self, folder: RunFolder, mode: CacheMode, budget: Budget | None) -> None:
        self.folder = folder
        self.ledger = Ledger(budget)
        self.store = ReplyStore(folder.replies, mode) if mode != "off" else None
        if self.store is not None and folder.replies.exists():
            self.ledger.restore({"seats": {"earlier": Account(self.store.paid()).to_json()}})
        self.options: dict[str, Any] = {"cache": self.store, "cache_mode": mode, "budget": self.ledger}

    async def close(self, *models: ChatModel) -> None:
        """Closes models and replies; notes how many requests had to be made again, and what servers said they serve."""
        for model in models:
            await aclose(model)
        for accounted in self.ledger.models:
            if (balanced := find_layer(accounted, Balanced)) is not None:
                self.folder.note_servers(balanced.id, balanced.served)
        if self.store is not None:
            self.store.close()
        if retries := self.ledger.totals()["total"]["retries"]:
            self.folder.note_retries(retries)

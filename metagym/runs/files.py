"""Writing a file as a whole: readers see the old or the new one, and never a part."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from metagym.errors import StoreError
from metagym.journal import sync_folder

TEMPORARY = ".writing-"
"""How the names of files begin that are being written; a kill may leave one."""


def write_atomically(path: Path, text: str) -> None:
    """Writes a UTF-8 file so that readers see the old or the new one and never a part.

    Raises:
        StoreError: The disk or the permissions refuse it, or a folder, device, socket or pipe stands there; what was
            there is as it was.
    """
    temporary = ""
    try:
        refuse_special(path)
        fd, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=path.parent)
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes private files; a report is there to be shown
        os.replace(temporary, path)
        sync_folder(str(path.parent))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def refuse_special(path: Path) -> None:
    """Refuses a place where something stands that is no regular file: a rename would do away with it.

    Raises:
        OSError: A folder, device, socket or pipe stands there, or the path cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode):
        raise FileExistsError(errno.EEXIST, "it is a device, socket or pipe, and no regular file")

"""Program files: read whole and bounded, before anybody looks at what stands in them."""

from __future__ import annotations

import os
from pathlib import Path

from metagym.errors import BadInput

LARGEST = 16_777_216
"""Most bytes that are read of a file. Programs have far fewer; what is longer is refused for its size, not stored."""


def read_source(path: str | os.PathLike[str]) -> bytes:
    """The content of a program file.

    Raises:
        BadInput: It cannot be read, is no regular file (a pipe or a device may never end), or is larger than `LARGEST`.
    """
    file = Path(path)
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            raise BadInput(f"{file} cannot be read as a program: it is no regular file")
        with file.open("rb") as source:
            found = source.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{file} cannot be read as a program: {reason}") from None
    if len(found) > LARGEST:
        raise BadInput(f"{file} cannot be read as a program: it has more than {LARGEST:,} bytes")
    return found

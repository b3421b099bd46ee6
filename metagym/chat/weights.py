"""A quick fingerprint of model files, so that two checkpoints of one name never share cached replies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

_SAMPLE = 1 << 20
"""Bytes read at each of five places of a large file: retrained weights differ everywhere, a whole read takes long."""


def fingerprint(files: Iterable[Path]) -> str:
    """Digest of names, sizes and sampled content.

    Args:
        files: Small ones are read whole.

    Returns:
        12 hexadecimal digits, equal wherever the files lie.

    Raises:
        OSError: A file cannot be read.
    """
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.name):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with open(path, "rb") as file:
            if size <= 5 * _SAMPLE:
                digest.update(file.read())
                continue
            for part in range(5):
                file.seek(part * (size - _SAMPLE) // 4)
                digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:12]

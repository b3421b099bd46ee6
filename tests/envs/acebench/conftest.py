"""A checkout on disk, made of the family's own sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metagym_envs.acebench import sample

Change = Callable[[dict[str, str]], None]


@pytest.fixture
def checked_out(tmp_path: Path) -> Callable[..., str]:
    """Writes the sample as a checkout would lie, after some changes to its files; gives the folder."""

    def write(change: Change | None = None) -> str:
        files = dict(sample.files())
        if change is not None:
            change(files)
        root = tmp_path / f"checkout{len(list(tmp_path.iterdir()))}"
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, "utf-8")
        return str(root)

    return write


def edited(name: str, row: int, **fields: Any) -> Change:
    """Changes fields of a row of a data file; None takes one out."""

    def change(files: dict[str, str]) -> None:
        path = f"data_all/data_en/{name}"
        rows = [json.loads(line) for line in files[path].splitlines()]
        rows[row] = {key: value for key, value in {**rows[row], **fields}.items() if value is not None}
        files[path] = "\n".join(map(json.dumps, rows))

    return change

"""A fixture that writes synthetic run folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runs.synthetic import write_run


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    def make(name: str = "run", rows: list[tuple[str, Any]] | None = None, **manifest: Any) -> Path:
        return write_run(tmp_path / name, rows, **manifest)

    return make

"""The wrappers stand on the core, and the core knows nothing of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_imports_run_downwards import ROOT, imported, modules

DOORS = frozenset("errors checks spaces episodes families chat".split())


@pytest.mark.parametrize("path", modules("wrappers"), ids=lambda path: path.name)
def test_wrappers_use_the_ground_floor_alone(path: Path) -> None:
    source = path.read_text("utf-8")
    used = {name.split(".")[1] for _, name in imported(source)}
    assert used <= DOORS and not list(imported(source, "metagym_envs", "metagym_trainers"))


@pytest.mark.parametrize("path", modules("metagym"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_imports_no_wrapper(path: Path) -> None:
    assert not list(imported(path.read_text("utf-8"), "metagym_wrappers"))

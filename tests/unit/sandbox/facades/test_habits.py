"""What programs write, run against the facades and against the real modules: the same comes out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from metagym.sandbox.facades import PROGRAM_MODULE

from .support import run

HABITS = {
    part.split("\n", 1)[0].strip(): part.split("\n", 1)[1]
    for part in Path(__file__).with_name("habits.txt").read_text().split("=== ")[1:]
}


@pytest.mark.parametrize("name", HABITS)
def test_a_habit_gives_what_the_real_modules_give(name: str) -> None:
    real: dict[str, Any] = {"__name__": PROGRAM_MODULE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(HABITS[name], name, "exec", dont_inherit=True), real)
        ours = run(HABITS[name])
    assert [repr(value) for value in ours["result"]] == [repr(value) for value in real["result"]]

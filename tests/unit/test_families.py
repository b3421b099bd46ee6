from __future__ import annotations

from collections.abc import Iterator

import pytest

from metagym import Family, Task, load_family
from metagym.episodes import Repair
from metagym.errors import UnknownName
from metagym.families import Cleaned, add_factory, clean_command, drop_factory
from tests.support.worlds import GuessEnv, tasks_named

LEGAL = ("go north", "Open the Door")


@pytest.mark.parametrize(
    ("command", "admissible", "expected"),
    [
        ("go north", LEGAL, Cleaned("go north", Repair.EXACT)),
        ('> "Go  North."', LEGAL, Cleaned("go north", Repair.REPAIRED)),
        ("open the door", LEGAL, Cleaned("Open the Door", Repair.REPAIRED)),
        ("fly\nhome", LEGAL, Cleaned("fly", Repair.INVALID)),
        ('""', LEGAL, Cleaned("", Repair.ABSENT)),
        ("", LEGAL, Cleaned("", Repair.ABSENT)),
        ("> fly.", None, Cleaned("> fly.", Repair.EXACT)),
        (" fly\nhome", None, Cleaned("fly", Repair.REPAIRED)),
        ("x" * 600, None, Cleaned("x" * 500, Repair.REPAIRED)),
        ("", None, Cleaned("", Repair.ABSENT)),
        (" \n", None, Cleaned("", Repair.ABSENT)),
    ],
)
def test_the_default_rule_does_what_it_documents(
    command: str, admissible: tuple[str, ...] | None, expected: Cleaned
) -> None:
    assert clean_command(command, admissible) == expected


@pytest.fixture
def twins() -> Iterator[None]:
    names = ("One/Twin", "Two/Twin", "One/Only")
    for name in names:
        bare = name.rpartition("/")[2]
        family = Family(bare, lambda split, bare=bare: tasks_named(bare, 1), lambda task: GuessEnv())
        add_factory(name, lambda family=family: family)
    yield
    for name in names:
        drop_factory(name)


def test_a_bare_name_that_several_namespaces_have_is_never_guessed(twins: None) -> None:
    assert load_family("Only").name == "Only" and load_family("Two/Twin").name == "Twin"
    with pytest.raises(UnknownName, match="One/Twin, Two/Twin"):
        load_family("Twin")


def test_seeds_of_numpy_become_plain_ones() -> None:
    import numpy as np

    assert type(Task("Toy", "a", seed=np.int64(7)).to_json()["seed"]) is int

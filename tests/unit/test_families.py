from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import metagym
from metagym import Family, Task, load_family
from metagym.episodes import Repair
from metagym.errors import BadInput, UnknownName
from metagym.families import Cleaned, add_factory, clean_command, drop_factory, family_of
from tests.support.worlds import GuessEnv, guess_family, tasks_named

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


@pytest.fixture
def stranger() -> Iterator[Family]:
    """A stranger's family with the name of a bundled one."""
    family = guess_family("ALFWorld", max_steps=2)
    add_factory("Eve/ALFWorld", lambda: family)
    yield family
    drop_factory("Eve/ALFWorld")


def test_a_task_of_a_name_that_two_namespaces_have_is_never_played_by_a_guess(stranger: Family) -> None:
    task = load_family("Eve/ALFWorld").task_set("train")[0]
    for refused in (lambda: family_of(task), lambda: metagym.play([task], "random")):
        with pytest.raises(BadInput, match="ALFWorld, Eve/ALFWorld") as caught:
            refused()
        assert 'family=metagym.load_family("Eve/ALFWorld")' in str(caught.value)
    for family in (stranger, "Eve/ALFWorld"):
        (episode,) = metagym.play([task], "random", family=family)
        assert episode.turns[0].observation == f"Guess number {task.seed}."


def test_the_bare_name_asked_for_is_still_the_bundled_family(stranger: Family) -> None:
    assert "expert_plan" in load_family("ALFWorld").options
    assert load_family("Eve/ALFWorld") is stranger


def test_a_task_of_the_only_family_of_its_name_finds_it(twins: None) -> None:
    assert family_of(Task("Only", "x")).name == "Only"
    with pytest.raises(UnknownName, match="no family 'Nowhere'"):
        family_of(Task("Nowhere", "x"))


def test_tasks_that_are_no_task_set_are_refused_with_the_way_out() -> None:
    family = Family("Listed", lambda split: [Task("Listed", "x")], lambda task: GuessEnv())  # type: ignore[arg-type, return-value]
    with pytest.raises(BadInput, match="family Listed for split 'train' are of type list; .* metagym.TaskSet"):
        family.task_set("train")


@pytest.mark.parametrize(
    "bad", [{"name": "two words"}, {"name": 5}, {"splits": ()}, {"max_steps": 0}, {"max_steps": "5"}]
)
def test_unusable_families_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="Toy|letters and digits"):
        Family(**{"name": "Toy", "tasks": lambda split: tasks_named("Toy", 1), "open": GuessEnv, **bad})


@pytest.mark.parametrize(
    ("factory", "named"),
    [
        ("nosuchmod:x", "'nosuchmod:x', cannot be imported: ModuleNotFoundError: No module named 'nosuchmod'"),
        ("a_plugin_that_breaks:x", "cannot be imported: .*halted; None in sys.modules"),
        ("json:nothing", "'json:nothing', is not there: write it as 'module:attribute'"),
        ("json", "'json', is not there"),
        ("", "cannot be imported"),
        ("a_plugin:number", "is 3, which cannot be called"),
        ("a_plugin:no_family", "returned 'no family'; it must return a metagym.Family"),
    ],
)
def test_a_factory_that_builds_no_family_is_named(monkeypatch: pytest.MonkeyPatch, factory: str, named: str) -> None:
    plugin = ModuleType("a_plugin")
    plugin.number, plugin.no_family = 3, lambda: "no family"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_plugin", plugin)
    monkeypatch.setitem(sys.modules, "a_plugin_that_breaks", None)  # type: ignore[arg-type]
    add_factory("Acme/Broken", factory)
    try:
        with pytest.raises(BadInput, match=f"Acme/Broken.*{named}"):
            load_family("Broken")
    finally:
        drop_factory("Acme/Broken")


@pytest.mark.parametrize("name", [5, None, ["ALFWorld"]])
def test_what_is_no_family_at_all_is_refused(name: Any) -> None:
    with pytest.raises(BadInput, match="a registered name or a metagym.Family"):
        load_family(name)

"""``metagym check``: a table with one line per check, one sentence per failure, and the exit code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gymnasium.envs.registration import registry

import metagym
from metagym import families
from metagym.extras import require
from tests.support.worlds import FailingEnv, family_of
from tests.unit.cli.conftest import Command


def without_extra() -> None:
    """A factory whose extra is not installed."""
    require("nosuch", "nosuch")


@pytest.fixture
def faulty() -> Iterator[None]:
    ids, names = dict(registry), dict(families._factories)
    metagym.register_family(family_of(lambda task: FailingEnv(), "Faulty", count=4), namespace="Tests")
    families.add_factory("Tests/Unbuilt", "nosuchmodule:x")
    yield
    for table, kept in ((registry, ids), (families._factories, names)):
        table.clear()
        table.update(kept)


def test_a_sound_family_is_a_table_of_one_line_per_check(cli: Command) -> None:
    done = cli("check", "SearchQA", "--only", "tasks", "--only", "docs", "--tasks", "2")
    assert done.code == 0 and done.err == ""
    rows = [line.split() for line in done.out.splitlines() if " ok " in line]
    assert [row[:2] for row in rows] == [["tasks", "ok"], ["docs", "ok"]]
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_fault_is_one_sentence_and_exit_code_1(cli: Command, faulty: None) -> None:
    done = cli("check", "Faulty", "--only", "docs", "--only", "actions", "--only", "tasks")
    assert done.code == 1 and "Traceback" not in done.out + done.err
    assert done.err == "1 of 1 families fail: Faulty\n"
    told = [line for line in done.out.splitlines() if line.startswith(("docs: ", "actions: "))]
    assert len(told) == 2 and "lacks Description" in told[0] and "the engine broke" in told[1]


def test_a_family_that_cannot_be_built_does_not_stop_the_others(cli: Command, faulty: None) -> None:
    done = cli("check", "Tests/Unbuilt", "SearchQA", "--only", "docs")
    assert done.code == 1 and "Tests/Unbuilt: cannot be built: the factory of family" in done.out
    assert "Family SearchQA" in done.out and done.err.endswith("1 of 2 families fail: Tests/Unbuilt\n")
    assert "nosuchmodule" in cli("check", "Unbuilt").sentence


def test_a_family_without_its_extra_fails_only_where_it_is_asked_for(cli: Command, faulty: None) -> None:
    for name in set(families._factories) - {"SearchQA"}:
        families.drop_factory(name)
    metagym.register_family("Bare", f"{__name__}:without_extra", namespace="Tests")
    done = cli("check", "--only", "tasks")
    assert done.code == 0 and "Family SearchQA" in done.out
    assert done.err == "not checked: Tests/Bare (nosuch is not installed: pip install 'metagym-agents[nosuch]')\n"
    assert "nosuch is not installed" in cli("check", "Bare").sentence


def test_bad_input_is_one_sentence(cli: Command) -> None:
    assert "there is no family or plugin 'Nowhere'; there are ACEBench, ALFWorld" in cli("check", "Nowhere").sentence
    assert "there is no check 'smell'" in cli("check", "SearchQA", "--only", "smell").sentence
    assert "--option belongs to one family" in cli("check", "--option", "engine=native").sentence
    assert "has no option 'colour'" in cli("check", "SearchQA", "--option", "colour=red").sentence

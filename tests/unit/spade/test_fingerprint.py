from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.spade.fingerprint import (
    PLACES,
    AstFingerprint,
    ast_fingerprint,
    behaviour_fingerprint,
    nearest,
)
from tests.unit.spade.programs import LOCK, SHOP, changed

OWN = ("LockEnv", "PINS", "pins", "over", "words", "reward", "truncated", "text", "pin", "action", "seed", "at", "done")


class Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "attr", "arg", "name"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                setattr(node, field, self.names.get(value, value))
        return super().generic_visit(node)


@settings(max_examples=25, deadline=None)
@given(st.sets(st.sampled_from(OWN)), st.integers(0, 9))
def test_renaming_leaves_it_equal(names: set[str], salt: int) -> None:
    tree = Renamer({name: f"other_{salt}_{name}" for name in names}).visit(ast.parse(LOCK))
    renamed, first = ast_fingerprint(ast.unparse(tree)), ast_fingerprint(LOCK)
    assert (renamed.tree, renamed.places) == (first.tree, first.places)


def test_layout_comments_docstrings_annotations_and_values_leave_it_equal() -> None:
    first = ast_fingerprint(LOCK)
    for other in (
        ast.unparse(ast.parse(LOCK)),
        LOCK.replace("\n    def", "\n    # a note\n\n    def"),
        changed(LOCK, "def reset(self, seed)", "def reset(self, seed: int) -> tuple[str, dict]"),
        changed(LOCK, "It clicks.", "Click!"),
        changed(LOCK, "randrange(1, 60)", "randrange(1, 90)"),
        changed(LOCK, "PINS = 2", "PINS: int = 2"),
        changed(LOCK, "title: Number lock", "title: Other"),
        changed(LOCK, "def reset(self, seed):", 'def reset(self, seed):\n        """Begins."""'),
    ):
        found = ast_fingerprint(other)
        assert (found.tree, found.places) == (first.tree, first.places), other
        assert found.digest != first.digest and first.similarity(found) == 1.0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("< self.pins[self.at] else", "<= self.pins[self.at] else"),
        ("self.at += 1", "self.at -= 1"),
        ("randrange", "randint"),
        ("reward, self.over = 1.0, True", "reward, self.over = 1.0, False"),
        ("words[1].isdigit()", "words[1].isupper()"),
        ("self.steps >= 12 and", "self.steps >= 12 or"),
        ("len(self.pins)", "sum(self.pins)"),
        ("self.steps += 1", "self.at += 1"),
    ],
)
def test_changing_a_rule_changes_it(old: str, new: str) -> None:
    first, other = ast_fingerprint(LOCK), ast_fingerprint(changed(LOCK, old, new))
    assert first.tree != other.tree
    assert 0.6 < first.similarity(other) <= 1.0


def test_other_programs_are_far_and_changed_ones_near() -> None:
    lock, shop = ast_fingerprint(LOCK), ast_fingerprint(SHOP)
    near = ast_fingerprint(changed(LOCK, "self.at += 1", "self.at += 2 * 1"))
    assert lock.similarity(shop) < 0.3 < 0.85 < lock.similarity(near)
    assert [digest for _, digest in nearest(lock, [shop, near], 2)] == [near.digest, shop.digest]
    assert nearest(lock, []) == []


def test_programs_of_other_hands_are_far_from_each_other(shared_dir: Path) -> None:
    found = [ast_fingerprint(path.read_text()) for path in sorted((shared_dir / "sandbox_corpus/benign").glob("*.py"))]
    assert len(found) > 20
    assert max(one.similarity(other) for one, other in itertools.combinations(found, 2)) < 0.5


def test_it_survives_json_and_refuses_other_data() -> None:
    found = ast_fingerprint(LOCK)
    assert AstFingerprint.from_json(found.to_json()) == found and len(found.places) == PLACES
    for bad in (None, {}, {**found.to_json(), "places": "00"}, {**found.to_json(), "places": "x" * 8 * PLACES}):
        with pytest.raises(BadInput):
            AstFingerprint.from_json(bad)


def test_a_program_without_a_body_has_a_fingerprint() -> None:
    assert ast_fingerprint("pass").similarity(ast_fingerprint(LOCK)) < 0.1


def test_it_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    (tmp_path / "lock.py").write_text(LOCK)
    code = "import sys; from metagym.spade.fingerprint import *; print(ast_fingerprint(open(sys.argv[1]).read()))"
    command = [sys.executable, "-c", code, str(tmp_path / "lock.py")]
    printed = {
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }
    assert printed == {f"{ast_fingerprint(LOCK)}\n"}


def test_the_fingerprint_of_this_program_never_changes() -> None:
    # Memories on disk hold fingerprints: a change here needs a new version of theirs.
    assert ast_fingerprint(LOCK).tree == "11ef4eb98fa3b0ca41ea0b59c18d19bf"


def test_behaviour_is_equal_for_equal_traces_in_any_order() -> None:
    one = {"probe/1": [("see", 0.0, False, False)], "probe/2": [("end", 1.0, True, False)]}
    assert behaviour_fingerprint(one) == behaviour_fingerprint(dict(reversed(one.items())))
    assert behaviour_fingerprint(one) != behaviour_fingerprint({**one, "probe/2": [("end", 0.5, True, False)]})

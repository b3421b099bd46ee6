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


class Locals(ast.NodeTransformer):
    """Renames what one function binds, and nothing else."""

    def __init__(self, function: ast.FunctionDef, kept: set[str]) -> None:
        bound = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        bound |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and type(node.ctx) is ast.Store}
        self.names = bound - kept

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        return ast.Name("other_" + node.id if node.id in self.names else node.id, node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg("other_" + node.arg if node.arg in self.names else node.arg)


FAIR = [LOCK, SHOP, *(path.read_text() for path in sorted((Path(__file__).parent / "fair").glob("*.txt")))]


@pytest.mark.parametrize("source", FAIR, ids=range(len(FAIR)))
def test_renaming_in_one_function_leaves_it_equal(source: str) -> None:
    first, tree = ast_fingerprint(source), ast.parse(source)
    kept = {"self", "cls", *(node.arg or "" for node in ast.walk(tree) if isinstance(node, ast.keyword))}
    changed_texts = 0
    for number in range(sum(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))):
        tree = ast.parse(source)
        function = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)][number]
        renamer = Locals(function, kept)
        renamer.generic_visit(function)
        renamed = ast_fingerprint(ast.unparse(tree))
        assert (renamed.tree, renamed.places) == (first.tree, first.places), (function.name, renamer.names)
        changed_texts += bool(renamer.names)
    assert changed_texts


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("self.size = size", "self.size = length", True),
        ("self.size = size", "self.size = self.size", False),
        ("size = size + 1; return size", "size = size + 1; return k", False),
        ("return [size for k in range(size)]", "return [size for n in range(size)]", True),
        ("return [size for k in range(size)]", "return [k for k in range(size)]", False),
        ("return sorted(k, key=lambda x: x + size)", "return sorted(k, key=lambda y: y + size)", True),
        ("return sorted(k, key=lambda x: x + size)", "return sorted(k, key=lambda x: size + x)", False),
        ("return self.f(1)", "return self.g(1)", False),
        ("self.f(1); self.g(2)", "self.g(1); self.f(2)", False),
        ("def h(a, b=size):\n   return a", "def h(c, b=size):\n   return c", True),
        ("def h(a, b=size):\n   return a", "def h(a, b=size):\n   return b", False),
    ],
)
def test_which_name_is_meant_matters_and_what_it_is_called_does_not(one: str, other: str, alike: bool) -> None:
    frame = (
        "def k(): return 1\nclass X:\n def f(self, n): return n\n def g(self, n): return -n\n def m(self, size):\n  "
    )
    parts = [frame + one, frame + other]
    if "length" in other:
        parts[1] = parts[1].replace("def m(self, size)", "def m(self, length)")
    found = [ast_fingerprint(part + "\n") for part in parts]
    assert (found[0].tree == found[1].tree) is alike


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


def test_what_stands_twice_counts_twice() -> None:
    once = "def f(a):\n    if a > 1:\n        a = g(a) + h(a, 2)\n"
    found = [ast_fingerprint(once + "\n".join([once.partition("\n")[2]] * more) + "\n") for more in (0, 1, 9)]
    assert found[0].size < found[1].size < found[2].size
    assert found[0].similarity(found[1]) > 2 * found[0].similarity(found[2]) > 0


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
    assert ast_fingerprint(LOCK).tree == "d4c4f3f4dcbc1ce65a8c3ac33fbb7d50"


def test_behaviour_is_equal_for_equal_traces_in_any_order() -> None:
    one = {"probe/1": [("see", 0.0, False, False)], "probe/2": [("end", 1.0, True, False)]}
    assert behaviour_fingerprint(one) == behaviour_fingerprint(dict(reversed(one.items())))
    assert behaviour_fingerprint(one) != behaviour_fingerprint({**one, "probe/2": [("end", 0.5, True, False)]})

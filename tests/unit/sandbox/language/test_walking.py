"""The quick way through a tree finds what the library's way finds, and replaces what it replaces."""

import ast
from pathlib import Path
from types import NoneType

import pytest

from metagym.sandbox.language import reading
from metagym.sandbox.language.policy import FullPolicy, Policy
from metagym.sandbox.language.walking import CHILDREN, JUDGED, MARKS, Walker

CORPUS = sorted((Path(__file__).parents[3] / "sandbox" / "corpus" / "benign").glob("*.py"))

REPLACING = """
@deco
def f(a, *b, k=old, **c) -> old:
    x = y = old + drop(1)
    drop
    double
    for i in old: pass
    else: double
    try: drop
    except old as e: old
    finally: double
    with old as q, old: old
    match old:
        case {"a": old.b, **r}: old
        case [1, *old]: drop
        case P(old, z=old): old
    return {**old, old: old}, [old for _ in old if old], f"{old!r:{old}}", lambda v=old: old, old[old:old:old]
"""


def test_every_node_of_every_program_is_found():
    assert CORPUS
    for path in CORPUS:
        tree, nodes = reading.parse(path.read_text(encoding="utf-8"))
        wanted = [node for node in ast.walk(tree) if not isinstance(node, MARKS)]
        assert sum(map(len, nodes.values())) == len(wanted)
        assert {id(node) for kind in nodes.values() for node in kind} == {id(node) for node in wanted}
        assert all(type(node) is kind for kind, found in nodes.items() for node in found)


def _visits(base):
    class Visits(*base):
        def visit_Name(self, node):
            return ast.copy_location(ast.Name("new", node.ctx), node) if node.id == "old" else node

        def visit_Expr(self, node):
            if isinstance(node.value, ast.Name) and node.value.id == "drop":
                return None
            if isinstance(node.value, ast.Name) and node.value.id == "double":
                return [node, ast.copy_location(ast.Pass(), node)]
            return self.generic_visit(node)

        def visit_BinOp(self, node):
            return self.generic_visit(node).left

    return Visits


def test_nodes_are_replaced_as_the_library_replaces_them():
    library = _visits((ast.NodeTransformer,))
    quick = type("Quick", (_visits((Walker, ast.NodeTransformer)),), {"generic_visit": Walker.contents})
    quick.prepare([ast.Constant])
    for source in [REPLACING, *(path.read_text(encoding="utf-8").replace("self", "old") for path in CORPUS)]:
        found = quick().visit(ast.parse(source))
        assert ast.dump(found, include_attributes=True) == ast.dump(
            library().visit(ast.parse(source)), include_attributes=True
        )


@pytest.mark.skipif(not hasattr(ast.AST, "_field_types"), reason="this Python does not tell the types of fields")
def test_fields_that_are_left_out_hold_no_nodes():
    for kind, fields in JUDGED.items():
        for name in set(kind._fields) - set(fields) - {"ctx", "type_ignores"}:
            assert "ast." not in str(kind._field_types[name]), (kind, name)


def test_the_policy_skips_nothing_but_constants_operators_and_marks():
    for policy in (Policy, FullPolicy):
        skipped = {kind for kind, way in policy._ways.items() if way is None}
        assert all(issubclass(kind, (*MARKS, ast.Constant, NoneType)) for kind in skipped)
        for kind in set(CHILDREN) - skipped:
            if not hasattr(policy, f"visit_{kind.__name__}"):
                assert policy._ways[kind] is policy.generic_visit  # refuses


def test_a_class_of_nodes_that_is_not_known_is_refused():
    class Strange(ast.expr):
        _fields = ()

    with pytest.raises(Exception, match="construct Strange is not given"):
        Policy().visit(ast.Expression(Strange()))

"""``ast``: trees are read and written as the library does, and nodes hold their fields and nothing else."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.sandbox import facades
from metagym.sandbox.facades import syntax
from tests.unit.sandbox.facades.support import run

AST: Any = facades.modules(numpy=False)["ast"]
SOURCES = (
    "x = 1 + 2 * -y",
    "def f(a: int, *b, c=1, **d) -> str:\n    'Doc.'\n    return [a for a in b if a > 1 and not c]\n",
    "class A(B, metaclass=C):\n    x: int = 1\n    @property\n    def y(self): return f'{self.x!r:>{2}}'\n",
    "match p:\n    case A(x, y=1) | {'k': [*_]}: pass\n",
    "try:\n    pass\nexcept (A, B) as e:\n    raise C from e\nfinally:\n    del x[1:2, ...]\n",
)


@pytest.mark.parametrize("source", SOURCES)
def test_trees_are_those_of_the_library(source: str) -> None:
    ours, real = AST.parse(source), ast.parse(source)
    assert AST.dump(ours) == ast.dump(real) and AST.unparse(ours) == ast.unparse(real)
    kinds = [type(node).__name__ for node in ast.walk(real)]
    assert [type(node).__name__ for node in AST.walk(ours)] == kinds
    places = [getattr(node, "lineno", None) for node in ast.walk(real)]
    assert [getattr(node, "lineno", None) for node in AST.walk(ours)] == places
    fields = [[name for name, _ in ast.iter_fields(node)] for node in ast.walk(real)]
    assert [[name for name, _ in AST.iter_fields(node)] for node in AST.walk(ours)] == fields


def test_a_text_that_was_parsed_before_gives_a_tree_of_its_own() -> None:
    first = AST.parse("x + 1", mode="eval")
    first.body.left.id = first.body.right = "changed"
    assert AST.unparse(AST.parse("x + 1", mode="eval")) == "x + 1"
    found = AST.literal_eval("[1]")
    found.append(2)
    assert AST.literal_eval("[1]") == [1]


@settings(max_examples=40, deadline=None)
@given(st.recursive(st.integers() | st.text() | st.booleans() | st.none(), lambda part: st.lists(part, max_size=3)))
def test_literals_are_read_from_texts_and_from_nodes(value: Any) -> None:
    assert AST.literal_eval(repr(value)) == value
    assert AST.literal_eval(AST.parse(repr(value), mode="eval").body) == value


def test_what_is_said_of_a_text_that_is_no_literal_holds_no_address() -> None:
    for call in (AST.literal_eval, lambda text: AST.literal_eval(AST.parse(text, mode="eval").body)):
        with pytest.raises(ValueError, match=r"^malformed node or string[^:]*: <ast.Call>$"):
            call("[1, f(2)]")


def test_visitors_and_transformers() -> None:
    found = run(
        "import ast\n"
        "class Names(ast.NodeVisitor):\n"
        "    def __init__(self): self.seen = []\n"
        "    def visit_Name(self, node): self.seen.append(node.id)\n"
        "class Double(ast.NodeTransformer):\n"
        "    def visit_Constant(self, node): return ast.copy_location(ast.Constant(node.value * 2), node)\n"
        "    def visit_Pass(self, node): return None\n"
        "names = Names(); names.visit(ast.parse('a + f(b)'))\n"
        "text = ast.unparse(Double().visit(ast.parse('x = 1 + 3\\npass')))\n"
        'doc = ast.get_docstring(ast.parse(\'"""Doc."""\'))\n'
        "shown = repr(ast.parse('1'))\n"
    )
    assert (found["names"].seen, found["text"], found["doc"], found["shown"]) == (
        ["a", "f", "b"],
        "x = 2 + 6",
        "Doc.",
        "<ast.Module>",
    )


def test_nodes_take_no_other_attribute_and_their_fields_may_be_set() -> None:
    for name in ("__array_interface__", "_fields", "other"):
        with pytest.raises(TypeError, match="no field"):
            AST.Constant(1, **{name: 1})
    node = AST.Constant(1)
    node.value = 2
    with pytest.raises(AttributeError):
        node.other = 3
    assert not hasattr(node, "__dict__") and type(node) in facades.SETTABLE_TYPES
    with pytest.raises(TypeError, match="at most"):
        AST.Name("a", AST.Load(), 3)


def test_what_is_no_node_or_no_text_is_refused() -> None:
    for call in (AST.walk, AST.iter_fields, AST.iter_child_nodes):
        with pytest.raises(TypeError, match="expected a node"):
            list(call(test_what_is_no_node_or_no_text_is_refused))
    for call in (AST.parse, AST.literal_eval):
        with pytest.raises(TypeError, match="takes a text"):
            call(ast.parse("1"))
        with pytest.raises(ValueError, match="longer"):
            call("1" * (syntax.MAX_CHARS + 1))
    with pytest.raises(TypeError, match="no node and no constant"):
        AST.unparse(AST.Constant(object()))
    with pytest.raises(ValueError, match="mode"):
        AST.parse("1", mode="func_type")
    assert "compile" not in dir(AST)

"""Classes that the library builds from names: ordinary ones come out, names that are text to evaluate do not get in."""

from __future__ import annotations

from typing import Any

import pytest

from .support import run

EVIL = "x=print('LEAK')"


@pytest.mark.parametrize(
    "source",
    [
        f"from collections import namedtuple\nnamedtuple('P', [{EVIL!r}])",
        f"from collections import namedtuple\nnamedtuple({EVIL!r}, 'x')",
        "from collections import namedtuple\nnamedtuple('P', '__class__')",
        f"from typing import NamedTuple\nNamedTuple('P', [({EVIL!r}, int)])",
        f"from dataclasses import make_dataclass\nmake_dataclass('P', [{EVIL!r}])",
        "from dataclasses import make_dataclass\nmake_dataclass('P', ['__reduce_ex__'])",
        f"from dataclasses import make_dataclass\nmake_dataclass({EVIL!r}, ['x'])",
        "from dataclasses import make_dataclass\nmake_dataclass('P', ['x'], bases=(dict,))",
        "from dataclasses import make_dataclass\nmake_dataclass('P', ['x'], namespace={'__getattr__': 1})",
        "from dataclasses import dataclass\nimport json\ndataclass(json.JSONEncoder)",
        "from dataclasses import dataclass\n@dataclass(surprise=True)\nclass A: pass",
        "from enum import Enum\nEnum('E', {'__getattr__': 1})",
        "from enum import Enum\nEnum('E', ['_a'])",
        f"from enum import Enum\nEnum({EVIL!r}, 'A')",
        "from enum import Enum\nEnum('E', 'A B', module='os')",
        "from enum import EnumMeta\nEnumMeta('E', (), {})",
        "from abc import ABCMeta\nABCMeta('A', (), {})",
        "from types import SimpleNamespace\nSimpleNamespace(**{'__reduce_ex__': 1})",
        "from types import SimpleNamespace\nclass S(SimpleNamespace): pass\nS(**{'__array_interface__': 1})",
        "from types import FunctionType\nFunctionType(None, {})",
        "from functools import total_ordering\nimport json\ntotal_ordering(json.JSONEncoder)",
    ],
)
def test_names_that_would_become_text_or_hooks_are_refused(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TypeError):
        run(source)
    assert "LEAK" not in capsys.readouterr().out


def test_a_class_with_injected_annotations_is_no_dataclass() -> None:
    scope = run("from dataclasses import dataclass\nclass A: pass\nclass B(A): pass")
    scope["A"].__annotations__ = {EVIL: int}
    for kind in (scope["A"], scope["B"]):
        with pytest.raises(TypeError, match="field names"):
            scope["dataclass"](kind)


def test_a_field_that_is_renamed_later_does_not_reach_a_subclass() -> None:
    scope = run(
        "from dataclasses import dataclass, field, fields\n@dataclass\nclass A:\n    x: int = 1\nclass B(A): pass\n"
    )
    with pytest.raises(AttributeError):
        scope["fields"](scope["A"])[0].name = EVIL
    scope["A"].__dataclass_fields__["x"].name = EVIL  # as through a reference to the object that field() gave
    with pytest.raises(TypeError, match="renamed"):
        scope["dataclass"](scope["B"])


def test_wraps_copies_to_functions_of_the_program_only() -> None:
    scope = run(
        "import functools, textwrap\ndef f():\n    'doc'\nf.calls = 3\n"
        "@functools.wraps(f)\ndef g(): pass\n"
        "functools.wraps(f)(textwrap.dedent)\nfunctools.update_wrapper(textwrap.dedent, f, assigned=('__doc__',))\n"
    )
    assert (scope["g"].__name__, scope["g"].__doc__, scope["g"].calls) == ("f", "doc", 3)
    import textwrap

    assert textwrap.dedent.__name__ == "dedent"


def test_getters_by_a_text_name_read_public_names_only(tmp_path: Any) -> None:
    scope = run(
        "import operator, numpy as np\nclass A:\n    def __init__(self): self.b = self; self.prv_x = 4\n"
        "    def m(self, k): return k\na = A()\narray = np.zeros(2)"
    )
    operator, a = scope["operator"], scope["a"]
    assert operator.attrgetter("b.b")(a) is a
    assert operator.attrgetter("_x", "b.b._x")(a) == (4, 4)
    assert operator.methodcaller("m", 3)(a) == 3
    for name in ("__class__", "b.__dict__", "m.__globals__", "format", "mro", "gi_frame", "a b", ""):
        with pytest.raises(AttributeError):
            operator.attrgetter(name)(a)
    with pytest.raises(AttributeError, match="writes a file"):
        operator.methodcaller("tofile", str(tmp_path / "x"))(scope["array"])
    with pytest.raises(TypeError, match="must be a string"):
        operator.attrgetter(3)
    assert not list(tmp_path.iterdir())


def test_named_tuples_have_methods_defaults_and_docs() -> None:
    scope = run(
        "from typing import NamedTuple\nclass P(NamedTuple):\n    'A point.'\n    x: int\n    y: int = 2\n"
        "    @property\n    def s(self): return self.x + self.y\n"
        "    @classmethod\n    def zero(cls): return cls(0, 0)\n"
        "Q = NamedTuple('Q', [('a', int), ('b', str)])\n"
    )
    point = scope["P"](1)
    assert (point, point.s, scope["P"].zero(), scope["P"].__doc__) == ((1, 2), 3, (0, 0), "A point.")
    assert repr(point) == "P(x=1, y=2)"
    assert scope["Q"](1, "b")._asdict() == {"a": 1, "b": "b"}
    with pytest.raises(TypeError, match="without a default"):
        run("from typing import NamedTuple\nclass P(NamedTuple):\n    x: int = 1\n    y: int\n")


def test_protocols_ask_for_their_members_and_typed_dicts_are_dicts() -> None:
    scope = run(
        "from typing import Protocol, TypedDict, runtime_checkable, NamedTuple, Generic, TypeVar, Any, List\n"
        "T = TypeVar('T')\n"
        "@runtime_checkable\nclass Named(Protocol):\n    name: str\n    def go(self) -> int: ...\n"
        "class Yes:\n    name = 'a'\n    def go(self): return 1\nclass Half:\n    name = 'a'\n"
        "class Child(Named):\n    pass\n"
        "class D(TypedDict):\n    a: int\nclass E(D, total=False):\n    b: int\n"
        "F = TypedDict('F', {'x y': int})\n"
        "class G(Generic[T]):\n    pass\nclass H(G[int]):\n    pass\n"
        "class L(List[int]):\n    pass\n"
        "result = [isinstance(Yes(), Named), isinstance(Half(), Named), isinstance(Child(), Named), D(a=1), E(b=2),"
        " F(x=1), type(D(a=1)) is dict, isinstance(H(), G), L([1])]"
    )
    assert scope["result"] == [True, False, True, {"a": 1}, {"b": 2}, {"x": 1}, True, True, [1]]


@pytest.mark.parametrize("name", ["Concatenate", "Literal", "Callable", "Annotated", "Final", "Iterable", "Self"])
def test_forms_of_typing_are_inert(name: str) -> None:
    scope = run(f"from typing import {name} as form, Any, List\n")
    form = scope["form"]
    assert repr(form[int]).startswith(f"typing.{name}[int")
    assert repr(form["open('x')"] | None)
    assert form[int] == form[int] and hash(form[int]) == hash(form[int])
    with pytest.raises(AttributeError, match="read-only"):
        form.x = 1
    with pytest.raises(TypeError):
        scope["Any"]()
    with pytest.raises(TypeError):
        isinstance(3, scope["Any"])
    assert isinstance([], scope["List"][int])

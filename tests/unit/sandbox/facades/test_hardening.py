"""Names of the library that are ours because the real ones can be turned against the host: they still do their work."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest

from metagym.sandbox import facades
from metagym.sandbox.facades.names import field_name, read_guarded
from tests.unit.sandbox.facades.support import run

MODULES = facades.modules(numpy=True)
NUMPY: Any = MODULES["numpy"]


def test_arrays_of_records_dates_and_long_doubles_have_no_way_in() -> None:
    refused = ["O", "M8[s]", "m8[s]", "i4,i4", "g", [("x", "M8[s]")]]
    for kind in refused:
        for make in (
            NUMPY.dtype,
            lambda kind: NUMPY.zeros(2, kind),
            lambda kind: NUMPY.linspace(0, 1, 2, True, True, kind),
        ):
            with pytest.raises(TypeError, match="offered|differ|object"):
                make(kind)
    for name, argument in (("view", "M8[s]"), ("astype", object), ("astype", "i4,i4")):
        with pytest.raises(TypeError, match="offered"):
            read_guarded(np.zeros(2, "i8"), name)(argument)
    with pytest.raises(TypeError, match="dates"):
        NUMPY.result_type("M8[s]")
    assert read_guarded(np.zeros(2, "i8"), "view")("f8").tolist() == [0.0, 0.0]
    assert NUMPY.result_type("i4", "f8") == np.float64


def test_no_memory_is_shown_that_was_not_cleared() -> None:
    assert NUMPY.pad([1.0], 2, "empty").tolist() == [0, 0, 1, 0, 0]
    assert NUMPY.pad([1.0, 2.0], 1, mode="edge").tolist() == [1, 1, 2, 2]
    masked = MODULES["numpy.ma"].masked_all(3)
    assert masked.mask.all() and not masked.data.any()
    for clip in (lambda **more: NUMPY.clip(np.ones(2), 0, 1, **more), read_guarded(np.ones(2), "clip")):
        with pytest.raises(TypeError, match="no mask"):
            clip(where=False) if clip.__name__ == "<lambda>" else clip(0, 1, where=False)
    assert NUMPY.clip([5.0], 0, 1).tolist() == read_guarded(np.array([5.0]), "clip")(0, 1).tolist() == [1.0]
    assert NUMPY.vectorize(lambda x: x + 1)([1, 2]).tolist() == [2, 3]


def test_names_that_a_compiler_would_read_otherwise_are_no_field_names() -> None:
    assert field_name("größe", "field") == "größe"
    with pytest.raises(TypeError, match="identifiers"):
        field_name("\uff3f\uff3fclass\uff3f\uff3f", "field")


def test_named_tuples_and_data_classes_are_matched_by_fields_of_guarded_names() -> None:
    found = run(
        "import collections, dataclasses\n"
        "T = collections.namedtuple('T', 'data x', rename=True)\n"
        "R = collections.namedtuple('R', ['gi_frame', 'ok', 'class'], rename=True)\n"
        "@dataclasses.dataclass\n"
        "class D:\n"
        "    data: int\n"
        "    x: int = 0\n"
        "match T(1, 2):\n"
        "    case T(a, b): first = (a, b)\n"
        "match D(3, 4):\n"
        "    case D(a, b): second = (a, b)\n"
        "fields = R._fields\n"
    )
    assert (found["first"], found["second"], found["fields"]) == ((1, 2), (3, 4), ("_0", "ok", "_2"))
    assert "data" not in found["D"].__match_args__


def test_cached_properties_keep_their_value_under_their_own_name() -> None:
    found = run(
        "import functools\n"
        "class A:\n"
        "    n = 0\n"
        "    @functools.cached_property\n"
        "    def x(self):\n"
        "        'Doc.'\n"
        "        self.n += 1\n"
        "        return self.n\n"
        "a = A()\n"
        "result = a.x, a.x, vars(a), A.x.__doc__, A.x.attrname\n"
        "del a.x\n"
        "again = a.x\n"
    )
    assert found["result"][:2] == (1, 1) and found["result"][3:] == ("Doc.", "x") and found["again"] == 2
    with pytest.raises(TypeError):
        MODULES["functools"].cached_property(len).__set_name__(object, "__array_interface__")


def test_signatures_are_taken_from_functions_and_never_from_a_docstring() -> None:
    found = run(
        "import inspect\n"
        "class A:\n"
        "    '''A(x=sys.platform)\\n--\\n\\n'''\n"
        "class B(A):\n"
        "    def __init__(self, y=2): pass\n"
        "result = list(inspect.signature(A).parameters), list(inspect.signature(B).parameters)\n"
    )
    assert found["result"] == ([], ["y"])


@pytest.mark.skipif(not hasattr(copy, "replace"), reason="copy.replace came with Python 3.13")
def test_replace_takes_no_hook() -> None:
    found = run("import copy, types\nreplace, ns = copy.replace, types.SimpleNamespace(x=1)\n")
    assert found["replace"](found["ns"], x=2).x == 2
    with pytest.raises(TypeError, match="underscores"):
        found["replace"](found["ns"], __array_interface__={})


def test_the_groups_of_a_pattern_are_a_copy() -> None:
    pattern = re.compile("(?P<a>x)")
    read_guarded(pattern, "groupindex").clear()
    assert read_guarded(pattern, "groupindex") == {"a": 1} == dict(pattern.groupindex)


def test_errors_are_told_without_suggestions() -> None:
    error = ImportError("cannot import name 'systm'", name="os")
    error.name_from = "systm"  # type: ignore[attr-defined]
    error.add_note("Look again.")
    tell = MODULES["traceback"].format_exception_only

    class Silent(Exception):
        def __str__(self) -> str:
            raise ValueError

    Silent.__module__, Silent.__qualname__ = facades.PROGRAM_MODULE, "Silent"
    assert tell(error) == ["ImportError: cannot import name 'systm'\n", "Look again.\n"]
    assert tell(Silent()) == ["Silent: <exception str() failed>\n"]
    assert tell(KeyError()) == ["KeyError\n"] and tell("no error") == []

"""Namespaces: fresh, seeded, equal in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from metagym.sandbox import language
from tests.unit.sandbox.language.harness import MODES, compiled, result, run


def test_two_sessions_share_nothing() -> None:
    program = compiled(
        "items = []\nclass A: count = 0\ndef add():\n items.append(1)\n A.count += 1\n return len(items), A.count"
    )
    first, second = (language.namespace(program, 0, print_to=print) for _ in range(2))
    exec(program.code, first)
    exec(program.code, second)
    assert (first["add"](), first["add"](), second["add"]()) == ((1, 1), (2, 2), (1, 1))
    first["__builtins__"]["len"] = None
    assert second["add"]() == (2, 2)


def test_draws_depend_on_the_seed_alone() -> None:
    program = compiled(
        "import random\nimport numpy as np\n"
        "def draw(): return random.random(), random.Random().random(), float(np.random.rand())"
    )
    one, other = (language.namespace(program, seed, print_to=print) for seed in (1, 2))
    exec(program.code, one)
    exec(program.code, other)
    start = one["draw"]()
    assert start != other["draw"]()
    language.reseed(one, 7)
    language.reseed(other, 7)
    assert one["draw"]() == other["draw"]() != start


def test_print_is_captured() -> None:
    source = """
print('a', 1, sep='-', end='!')
print()
class W:
    def write(self, s): self.s = s
w = W(); print('x', file=w)
result = w.s
"""
    found = run(source)
    assert found["printed"] == "a-1!\n" and found["result"] == "x\n"


HASHES = """
from enum import Enum
class C(Enum):
    A = "a"
class P:
    pass
p, q = P(), P()
result = repr([hash("text"), hash(b"b"), hash(("a", 1, None)), hash(frozenset("ab")), hash(C.A), hash(p),
               id(p), id(q), id(p), hash(1.5), hash(1) == hash(1.0),
               hash("x") == hash("x"), sorted(dir(p)), repr(p), str(type(p)), vars(P())])
"""


@pytest.mark.parametrize("guards", MODES)
def test_hash_and_identity_are_equal_in_every_process(guards: str) -> None:
    script = f"from tests.unit.sandbox.language.harness import result; print(result({HASHES!r}, {guards!r}))"
    shown = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1


def test_equal_values_have_equal_hashes() -> None:
    assert result(
        "result = hash((1, 'a')) == hash((1.0, 'a')), hash(frozenset(['a', 'b'])) == hash(frozenset(['b', 'a']))"
    ) == (True, True)


def test_a_library_may_import_what_is_loaded_already() -> None:
    assert (
        result("import datetime\nresult = datetime.datetime.strptime('2024', '%Y').year, ~5, 'é'.encode('utf-16')[:2]")[
            0
        ]
        == 2024
    )


def test_a_module_is_bound_as_python_binds_it() -> None:
    source = """
import collections.abc
import collections.abc as cabc
from collections import abc, OrderedDict as OD
import numpy.random
same = cabc.Mapping is collections.abc.Mapping is abc.Mapping
result = collections.deque([1])[0], same, OD.__name__, callable(numpy.random.default_rng)
"""
    assert result(source) == (1, True, "OrderedDict", True)


def test_base_classes_can_be_named_without_an_import() -> None:
    program = language.compile_program(
        "class Mine(ToolEnv):\n def begin(self): pass\n def turns(self): return [('hi', lambda: True)]"
    )
    namespace = language.namespace(program, 0, print_to=print)
    exec(program.code, namespace)
    env = namespace[program.class_name]()
    assert env.reset(seed=1)[0] == "hi"
    assert result("from metagym.spade import SyntheticEnv as S\nresult = S is SyntheticEnv")


def test_shown_text_has_the_names_of_the_author() -> None:
    namespace = run("class A: pass\ntry: A()._hidden\nexcept AttributeError as e: text = str(e)")
    assert language.shown(namespace["text"]) == "'A' object has no attribute '_hidden'"


def test_guards_are_native_or_full() -> None:
    with pytest.raises(ValueError, match="native"):
        language.compile_program("x = 1", guards="none")  # type: ignore[arg-type]

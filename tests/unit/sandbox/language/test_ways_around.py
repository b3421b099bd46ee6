"""What stands for `super`, `vars` and ``__hash__`` does what ordinary programs mean; the attacks are a corpus."""

from __future__ import annotations

import pytest

from metagym.errors import ProgramRejected
from tests.unit.sandbox.language.harness import MODES, compiled, result


@pytest.mark.parametrize("guards", MODES)
def test_super_with_and_without_arguments(guards: str) -> None:
    source = """
class A:
    def __init__(self, x): self.x = x
    def f(self): return "A"
    @classmethod
    def g(cls): return "gA"
class B(A):
    def __init__(self, x): super(B, self).__init__(x + 1)
    def f(self): return "B" + super(B, self).f() + super().f()
    @classmethod
    def g(cls): return "gB" + super(B, cls).g() + super().g()
class T(str):
    def shout(self, x): return super().format(x) + super(T, self).format(x)
result = (B(1).x, B(1).f(), B.g(), T("<{}>").shout(2), type(super).__name__)
"""
    assert result(source, guards)[:4] == (2, "BAA", "gBgAgA", "<2><2>")


@pytest.mark.parametrize("guards", MODES)
def test_hashes_by_name_are_those_of_the_builtin(guards: str) -> None:
    source = """
class P:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
    def __hash__(self): return self.x.__hash__()
class Q(P):
    __hash__ = P.__hash__
class R:
    def __hash__(self): return super().__hash__()
class T(tuple):
    def __hash__(self): return super().__hash__() + 1
r, o = R(), object()
result = [
    hash(P(7)), hash(Q(7)), hash(r) == r.__hash__(), o.__hash__() == hash(o), "a".__hash__() == hash("a"),
    hash(T((1,))) - hash((1,)), hash(float("nan")), hash(r.__hash__) > 0, hash(len) == hash(len),
]
"""
    first, again = result(source, guards), result(source, guards)
    assert first == again == [7, 7, True, True, True, 1, 0, True, True]


def test_metaclasses_keep_the_order_of_bases_and_their_dictionaries() -> None:
    head = "from abc import ABCMeta\nclass M(ABCMeta):\n    {}\n"
    with pytest.raises(TypeError, match="may not define mro"):
        result(head.format("def mro(cls): return [cls]") + "class A(metaclass=M): pass\nresult = 1")
    with pytest.raises(TypeError, match="vars"):
        result(head.format("pass") + "class A(metaclass=M): pass\nresult = vars(A)")
    assert result(head.format("kinds = []") + "class A(metaclass=M): pass\nresult = isinstance(A, M)") is True


def test_super_of_a_class_of_the_library_is_refused() -> None:
    for call in ("super(random.Random, random.Random(1))", "super()", "super(1, 2)", "[super][0](random.Random, 1)"):
        with pytest.raises((TypeError, RuntimeError, ProgramRejected)):
            result(f"import random\nresult = {call}")
    with pytest.raises(TypeError, match="a class of your own"):  # also not after a class of the program was asked for
        result(
            "import random\nclass A(random.Random): pass\n"
            "a = A()\nsuper(A, a)\nsuper(A, a)\nresult = super(random.Random, a)"
        )
    with pytest.raises(ProgramRejected):
        compiled("result = super().__hash__.__objclass__")


@pytest.mark.parametrize("guards", MODES)
def test_bases_outside_the_program_start_objects_of_the_program_only(guards: str) -> None:
    head = "import random, collections\n"
    source = """
class A(random.Random):
    def __new__(cls, *args, **named): return random.Random.__new__(cls, 1)
    def __init__(self, x, *more, **named):
        random.Random.__init__(self, x)
        self.more = more, named
class B(A):
    def __init__(self, *args, **named): A.__init__(self, *args, **named)
class E(Exception):
    def __init__(self, text): Exception.__init__(self, text + "!")
b = B(3, 4, y=5)
b.__init__(3, 6)
result = b.more, str(E("x")), b.random() == random.Random(3).random()
"""
    assert result(head + source, guards) == (((6,), {}), "x!", True)
    for refused in (
        "collections.UserDict.__init__(random.Random)",
        "property.__init__(property(lambda self: 1), len)",
        "object.__new__(random.Random)",
        "random.Random.__init_subclass__()",
        "random.Random.__init__()",
    ):
        with pytest.raises(AttributeError, match="of your own"):
            result(head + refused, guards)

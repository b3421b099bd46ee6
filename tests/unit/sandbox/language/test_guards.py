"""What gets past the reader of the source is met by a guard while the program runs."""

from __future__ import annotations

from abc import ABCMeta

import pytest

from metagym.sandbox.language import guards, names
from metagym.sandbox.language.formatting import has_no_path
from tests.unit.sandbox.language.harness import MODES, result, run

HELD = {
    # the names that a text may mean
    "getattr of a built name": ("getattr(print, '_' * 2 + 'globals' + '_' * 2)", AttributeError),
    "getattr of a frame": ("getattr((x for x in []), 'gi_' + 'frame')", AttributeError),
    "getattr by map": ("list(map(getattr, [print], ['__globals__']))", AttributeError),
    "getattr by reduce": ("import functools\nfunctools.reduce(getattr, ['__globals__'], print)", AttributeError),
    "getattr by partial": ("import functools\nfunctools.partial(getattr, print)('__globals__')", AttributeError),
    "getattr of a text that lies": (
        "class S(str):\n def startswith(s, *a): return False\n def __eq__(s, o): return True\n"
        " __hash__ = str.__hash__\ngetattr(print, S('__globals__'))",
        TypeError,
    ),
    "attrgetter": ("import operator\noperator.attrgetter('__globals__')(print)", AttributeError),
    "attrgetter of a path": ("import operator\noperator.attrgetter('a.__globals__')(print)", AttributeError),
    "methodcaller": ("import operator\noperator.methodcaller('__reduce_ex__', 4)(print)", AttributeError),
    "setattr of a method": ("class A: pass\nsetattr(A, '__call__', print)", AttributeError),
    "setattr of match arguments": ("class A: pass\nsetattr(A, '__match_args__', ('__globals__',))", AttributeError),
    "delattr": ("class A: pass\ndelattr(A, '__doc__')", AttributeError),
    "frozen setattr": (
        "class A:\n def f(self, n): object.__setattr__(self, n, dict)\nA().f('__' + 'class__')",
        AttributeError,
    ),
    # formats
    "format": ("'{0.__globals__}'.format(print)", AttributeError),
    "format in a specification": ("'{0:{1.__globals__}}'.format(1, print)", AttributeError),
    "format with words": ("'{a.__globals__}'.format(a=print)", AttributeError),
    "format with a mapping": ("'{a.__globals__}'.format(**{'a': print})", AttributeError),
    "format among literals": ("'a' '{0}' '{0.__globals__}'.format(print)", AttributeError),
    "format after an item": ("'{0[0].__globals__}'.format([print])", AttributeError),
    "format_map": ("'{a.__globals__}'.format_map({'a': print})", AttributeError),
    "format of the class": ("str.format('{0.__globals__}', print)", AttributeError),
    "format of a derived class": ("class S(str): pass\nS.format('{0.__globals__}', print)", AttributeError),
    "format of a derived object": ("class S(str): pass\nS('{0.gi_frame}').format(x for x in [])", AttributeError),
    "format by map": ("list(map(str.format, ['{0.__globals__}'], [print]))", AttributeError),
    "format by getattr": ("getattr('{0.__globals__}', 'form' + 'at')(print)", AttributeError),
    "format by methodcaller": (
        "import operator\noperator.methodcaller('format', print)('{0.__globals__}')",
        AttributeError,
    ),
    # exceptions
    "object of an AttributeError": ("try: (1).x\nexcept AttributeError as e: e.obj", AttributeError),
    "object by augmented assignment": ("try: (1).x\nexcept AttributeError as e: e.obj += 1", AttributeError),
    "object by getattr": ("try: (1).x\nexcept AttributeError as e: getattr(e, 'obj')", AttributeError),
    "traceback of a context": (
        "class C:\n def __enter__(self): return self\n def __exit__(self, *a): self.t = a[2]; return True\n"
        "c = C()\nwith c: 1/0\ngetattr(c.t, 'tb_' + 'frame')",
        AttributeError,
    ),
    # writes
    "a function of the sandbox": ("getattr.x = 1", TypeError),
    "print": ("print.x = 1", TypeError),
    "a module under another name": ("import random\nr = random\nr.random = 1", (TypeError, AttributeError)),
    "a module by setattr": ("import random\nsetattr(random, 'random', 1)", (TypeError, AttributeError)),
    "a class of the library": ("import json\nJ = json.JSONEncoder\nJ.default = 1", TypeError),
    "a function of the sandbox as a parameter": ("def f(x): x.y = 1\nf(print)", TypeError),
    "a class of the library as a parameter": ("import json\ndef f(x): x.default = 1\nf(json.JSONEncoder)", TypeError),
    "after an object of one's own": (
        "import json\nclass A: pass\ndef f(x): x.default = 1\nf(A())\nf(A())\nf(json.JSONEncoder())",
        TypeError,
    ),
    "a parameter that another function binds": (
        "import json\nclass A: pass\ndef f(x):\n def g():\n  nonlocal x\n  x = json.JSONEncoder\n"
        " x.a = 1\n g()\n x.default = 1\nf(A())",
        TypeError,
    ),
    "a target of a comprehension": ("import json\ndef f(x): [0 for x.default in [1]]\nf(json.JSONEncoder)", TypeError),
    "in a class body": ("import json\ndef f(x):\n class B: x.default = 1\nf(json.JSONEncoder)", TypeError),
    "a builtin class": ("setattr(dict, 'x', 1)", TypeError),
    "an enum of the library": ("import re\nre.IGNORECASE._value_ = 5", TypeError),
    "the name of a guard": ("getattr.__name__ = 'x'", TypeError),
    "frozen setattr on the library": (
        "import random\nclass A:\n def f(self): object.__setattr__(self, 'random', 1)\nA.f(random)",
        TypeError,
    ),
    "update of the library": ("class A:\n def f(self): self.__dict__.update(x=1)\nA.f(print)", TypeError),
    # types and classes
    "type of three": ("type('A', (), {})", TypeError),
    "type of three under another name": ("t = type\nt('A', (), {'__getattr__': 1})", TypeError),
    "derived from type": ("class P(type): pass", TypeError),
    "derived from type by a variable": ("T = type(int)\nclass P(T): pass", TypeError),
    "type of a function": ("type(print)(None, {})", TypeError),
    "metaclass with a method": (
        "from abc import ABCMeta\nclass M(ABCMeta): pass\nM('B', (), {'__getattr__': print})",
        TypeError,
    ),
    "metaclass with match arguments": (
        "from abc import ABCMeta\nclass M(ABCMeta): pass\nM('B', (), {'__match_args__': ('__globals__',)})",
        TypeError,
    ),
    "metaclass with slots": (
        "from abc import ABCMeta\nclass M(ABCMeta): pass\nM('B', (), {'__slots__': ('__class__',)})",
        TypeError,
    ),
    "metaclass with a base": (
        "import numpy as np\nfrom abc import ABCMeta\nclass M(ABCMeta): pass\nM('B', (type(np.zeros(1)),), {})",
        TypeError,
    ),
    "slots": ("class A:\n __slots__ = ['__class__']", TypeError),
    "slots made of something": ("class A:\n __slots__ = (n for n in ['__dict__', '__getattr__'])", TypeError),
    "init of a module": ("import random\nrandom.__init__({})", AttributeError),
    "init of an object": ("[].__init__([1])", AttributeError),
    "register of the library": ("from abc import ABC\nABC.register(dict)", AttributeError),
    "register of a collection": ("import collections.abc as c\nc.Hashable.register(list)", AttributeError),
    "mro of the library": ("def f(dict): return dict.mro()\nf(dict)", AttributeError),
    "mro by getattr": ("getattr(int, 'mro')", AttributeError),
    "vars of a class": ("class A: pass\nvars(A)", TypeError),
    "vars of a function": ("vars(print)", TypeError),
    "vars of nothing": ("vars()", TypeError),
    "dir of nothing": ("dir()", TypeError),
    "doc that is no text": ("class A: pass\nclass B:\n __doc__ = print\nB.__doc__", AttributeError),
    # arrays
    "array to a file": ("import numpy as np\nnp.zeros(1).tofile('mg_marker')", AttributeError),
    "array to a pickle": ("import numpy as np\nnp.zeros(1).dumps()", AttributeError),
    "array to memory": ("import numpy as np\ngetattr(np.zeros(1), 'ctypes')", AttributeError),
    "array resized": ("import numpy as np\nnp.zeros(1).resize(100, refcheck=False)", AttributeError),
    "array memory": ("import numpy as np\nnp.zeros(1).data", AttributeError),
    "array made writable": ("import numpy as np\nnp.zeros(1).setflags(write=True)", AttributeError),
    "array of objects": ("import numpy as np\nnp.zeros(1).astype(object)", (TypeError, ValueError)),
    "array strides": ("import numpy as np\na = np.zeros(1)\na.strides = (1000,)", TypeError),
    "array class": ("import numpy as np\nclass A(type(np.zeros(1))): pass", TypeError),
    # imports while it runs
    "module that is not there": ("try:\n import torch\nexcept ImportError: raise LookupError('none')", LookupError),
    # builtins that are not there
    "a name of nothing": ("undefined_name", NameError),
}


@pytest.mark.parametrize("guards", MODES)
@pytest.mark.parametrize("attempt", HELD)
def test_it_is_held(attempt: str, guards: str) -> None:
    source, error = HELD[attempt]
    with pytest.raises(error):
        run(source, guards)


SHADOWING = {
    "variable": "_getattr_ = _write_ = lambda *a: 'mine'",
    "global": "def f():\n global _write_, _getattr_\n _write_ = _getattr_ = lambda *a: 'mine'\nf()",
    "walrus": "(_write_ := lambda *a: 'mine')\n(_getattr_ := lambda *a: 'mine')",
    "import": "from math import sqrt as _write_, floor as _getattr_",
    "loop": "for _write_, _getattr_ in [(lambda *a: 'mine',) * 2]: pass",
    "context": "from contextlib import nullcontext\nwith nullcontext(lambda *a: 'mine') as _write_: pass",
    "exception": "try: 1/0\nexcept Exception as _write_: _getattr_ = 1",
    "match": "match [1, 2]:\n case [_write_, *_getattr_]: pass",
    "class": "class _write_: pass\nclass _getattr_: pass",
    "function": "def _write_(*a): return 'mine'\ndef _getattr_(*a): return 'mine'",
    "comprehension": "[_write_ for _write_ in [1]]\n{_getattr_: 1 for _getattr_ in [1]}",
}


@pytest.mark.parametrize("guards", MODES)
@pytest.mark.parametrize("how", SHADOWING)
def test_a_guard_cannot_be_shadowed(how: str, guards: str) -> None:
    with pytest.raises((TypeError, AttributeError)):
        run(SHADOWING[how] + "\nimport random\nr = random\nr.random = 1", guards)
    with pytest.raises(AttributeError):
        run(SHADOWING[how] + "\ntry: (1).x\nexcept AttributeError as e: e.obj", guards)


@pytest.mark.parametrize("guards", MODES)
def test_a_guard_cannot_be_shadowed_by_parameters_or_attributes(guards: str) -> None:
    call = "\n def g(): r.random = 1\n g()"
    for head in ("_write_", "_write_, /", "*, _write_=1", "*_write_", "**_write_"):
        with pytest.raises((TypeError, AttributeError)):
            run(
                f"import random\ndef f(r, {head}):{call}\ntry: f(random, lambda o: o)\nexcept TypeError: f(random)",
                guards,
            )
    source = (
        "import random\nclass A:\n _write_ = staticmethod(lambda o: o)\n def f(self, r): r.random = 1\nA().f(random)"
    )
    with pytest.raises((TypeError, AttributeError)):
        run(source, guards)


@pytest.mark.parametrize("guards", MODES)
def test_functions_of_the_sandbox_are_not_changed_by_decorators(guards: str) -> None:
    source = """
import functools
def f(ob, name, default=None): return "mine"
try: functools.update_wrapper(getattr, f, assigned=("__code__", "__name__", "__doc__"), updated=("__dict__",))
except Exception: pass
class A: x = "own"
result = getattr(A, "x"), hasattr(getattr, "__wrapped__"), getattr.__name__ == "f"
"""
    assert result(source, guards) == ("own", False, False)


def test_tables_of_enums_of_the_library_are_copies() -> None:
    assert result("import re\nre.RegexFlag._member_map_.clear()\nresult = len(re.RegexFlag._member_map_) > 5")


def test_a_class_takes_no_attribute_past_its_guard_by_a_pattern() -> None:
    source = """
from abc import ABC
class A(ABC):
    __match_args__ = ("x",)
try: A.register(object)  # everything would be an A
except RuntimeError: pass
A.register(type(abs)) if isinstance(type(abs), type) else None
result = "held"
match print:
    case A(x): result = x
"""
    assert result(source) == "held"


@pytest.mark.parametrize("guards", MODES)
def test_objects_are_shown_without_an_address(guards: str) -> None:
    source = """
from abc import ABC
from typing import Generic, TypeVar
class A: pass
class B(A): pass
class C(ABC): pass
class D(Generic[TypeVar("T")]): pass
class _E: pass
class F(Exception): pass
result = repr([A(), B(), C(), D(), _E(), F("x")]) + str(A()) + f"{B()}" + "%s" % C() + "{}".format(D())
"""
    assert result(source, guards) == "[<A>, <B>, <C>, <D>, <_E>, F('x')]<A><B><C><D>"


def test_writes_to_own_things_are_free() -> None:
    source = """
import types, decimal, logging
logging.getLogger("a").propagate = False
class A:
    pass
def f(): pass
f.calls = A.total = 0
f.calls += 1; A.total += 2
e = ValueError("x"); e.code = 3
n = types.SimpleNamespace(a=1); n.b = 2
with decimal.localcontext() as ctx: ctx.prec = 3
result = f.calls, A.total, e.code, n.b
"""
    assert result(source) == (1, 2, 3, 2)


def test_type_gives_stand_ins_for_what_cannot_be_named() -> None:
    source = """
kinds = type(print), type(lambda: 0), type(x for x in []), type(type(print))
result = [k.__name__ for k in kinds], isinstance(len, type(abs)), type(print) is type(lambda: 0), repr(kinds[0])
"""
    names, same, equal, shown = result(source)
    assert names[:3] == ["function", "function", "generator"] and same and equal and shown == "<class 'function'>"


def test_only_classes_that_cannot_pass_for_others_are_remembered() -> None:
    class Liar(ABCMeta):
        def __eq__(cls, other: object) -> bool:
            return True

        def __hash__(cls) -> int:
            return hash(dict)

    class Heir(Liar): ...

    honest, lying, heir = (ABCMeta("A", (), {}), Liar("B", (), {}), Heir("C", (), {}))
    for cls in (honest, lying, heir):
        cls.__module__ = names.PROGRAM
    own: set[type] = set()
    write = guards.writer(own)
    for ob in (honest(), lying(), heir()):
        assert write(ob) is ob
    assert list(own) == [honest]
    with pytest.raises(TypeError, match="cannot be set"):
        write({})


@pytest.mark.parametrize(
    ("template", "plain"),
    [
        ("{} {name} {0!r:>{1}}", False),  # both ways of numbering: the interpreter refuses it, by the guard
        ("{} {name} {!r:>{}} {{x.y}}", True),
        ("{0.real}", False),
        ("{0[1]}", False),
        ("{0:{1.real}}", False),
        ("{:{x[0]}}", False),
        ("{", False),
    ],
)
def test_templates_in_the_source_are_filled_in_natively_where_no_field_has_a_path(template: str, plain: bool) -> None:
    assert has_no_path(template) is plain

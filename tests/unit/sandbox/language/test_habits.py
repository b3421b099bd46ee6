"""What language models write means here what it means in Python: each habit is run by both and compared."""

# ruff: noqa: E501 (programs as models write them)
from __future__ import annotations

import pytest

from tests.unit.sandbox.language.harness import MODES, plain_result, result

HABITS = {
    "private names everywhere": """
_LIMIT = 3
__secret = 4
class _Base:
    _shared = 1
    def __init__(self, _x=2, *, __y=5): self._x = _x; self.__y = __y
    def __hidden(self): return self.__y
    def show(self): return self._x + self.__hidden() + self._shared + _LIMIT
class Child(_Base):
    def __init__(self):
        super().__init__(_x=7)
        self.__y = 100
    def mine(self): return self.__y
def _helper(_a, *_rest, _k=1, **_more): return _a + sum(_rest) + _k + len(_more)
result = Child().show(), Child().mine(), _helper(1, 2, 3, _k=4), __secret, Child()._Base__y
""",
    "private names as keywords": """
class A:
    __slots__ = ("a", "_b")
    def __init__(self, a=0, *, _b=1, **_more): self.a, self._b = a, (_b, _more)
    def same(self, other): return all(getattr(self, s) == getattr(other, s) for s in self.__slots__)
class B(A):
    __slots__ = ()
    def __init__(self, **kw): super().__init__(**kw)
def f(**kw):
    "Doc."
    return kw
def g(*args, **_kw): return _kw.get("_x"), f(**_kw)
options = {"_b": 3, "c": 4}
result = f(_x=1, y=2), dict(_x=1, **{"_y": 2}), A(**options)._b, B(_b=5, _z=6)._b, g(_x=7), A(1).same(A(1)), A.__slots__, f.__doc__, {**options}
""",
    "global and nonlocal": """
_count = 0
def outer():
    _n = 0
    def inner():
        nonlocal _n
        global _count
        _n += 1; _count += 2
        return _n
    inner()
    return inner()
result = outer(), _count
""",
    "captures with private names": """
_found = []
match [1, 2, 3]:
    case [_first, *_rest]: _found += [_first, _rest]
match {"a": 1, "b": 2}:
    case {"a": _a, **_others}: _found += [_a, _others]
match 5:
    case int() as _number: _found.append(_number)
try: 1 / 0
except ZeroDivisionError as _error: _found.append(str(_error))
import math as _math
from math import floor as _floor
result = _found, _math.pi, _floor(2.5), [_i for _i in range(3)], (lambda _x, _y=2: _x + _y)(1), (_w := 3)
""",
    "match patterns": """
from dataclasses import dataclass
from enum import Enum
class Color(Enum):
    RED = 1
@dataclass
class Point:
    x: int
    y: int
def kind(v):
    match v:
        case None | True: return "constant"
        case Color.RED: return "red"
        case Point(x=0, y=y): return ("on axis", y)
        case Point(x, y) if x == y: return ("diagonal", x)
        case Point(): return "point"
        case str(s): return s.upper()
        case int(n) | float(n): return n + 1
        case ["go", ("north" | "south") as way, *rest]: return way, rest
        case {"tool": name, **args}: return name, args
        case (1, _) | [2, _]: return "pair"
        case -1.5: return "negative"
        case _: return "other"
values = [None, Color.RED, Point(0, 3), Point(2, 2), Point(1, 2), "a", 4, ["go", "south", 1], {"tool": "x", "k": 2}, (1, 9), [], -1.5]
result = [kind(v) for v in values]
""",
    "own match arguments": """
class P:
    __match_args__ = ("a", "_b")
    def __init__(self): self.a, self._b = 1, 2
match P():
    case P(x, y): result = x, y
""",
    "augmented assignment": """
class A:
    def __init__(self): self.n = 1; self.d = {"k": [1]}; self.obj = 2; self.log = []
    def bump(self): self.n += 10; return 5
    def at(self): self.log.append("at"); return self.d
a = A()
a.n += a.bump()
a.d["k"] += [2]; a.d["k"][0] *= 7; a.at()["k"][0] -= 1
a.obj += 3
n = 3; n **= 2; n //= 2; n |= 8; n <<= 1; n %= 13
s = "ab"; s *= 2
result = a.n, a.d, a.obj, a.log, n, s
""",
    "annotations of all forms": """
from __future__ import annotations
from typing import ClassVar, Optional
value: int = 3
unset: dict[str, Missing]
class A:
    kind: ClassVar[str] = "a"
    size: Undefined | None = None
    def __init__(self, x: "Later" = 1, *args: Nope, **kw: np.ndarray) -> None:
        self.x: Optional[int] = x
        local: float = 2.0
        self.y: list[int]
        self.z = local
def f(a: int, b: Whatever[int] = 2) -> Nowhere: return a + b
result = value, A.kind, A().x, A().z, A.size, f(1)
""",
    "dataclasses": """
from dataclasses import KW_ONLY, InitVar, asdict, dataclass, field, fields, replace
from typing import ClassVar
@dataclass(order=True)
class Card:
    rank: int
    suit: str = "s"
    seen: ClassVar[int] = 0
    tags: list = field(default_factory=list, compare=False, repr=False)
@dataclass(frozen=True)
class Vec:
    x: float
    y: float = 0.0
    def __post_init__(self): object.__setattr__(self, "y", self.y + 1)
    def __add__(self, o): return Vec(self.x + o.x, self.y + o.y)
@dataclass
class Node(Card):
    extra: InitVar[int] = 0
    _: KW_ONLY
    depth: int = 0
    def __post_init__(self, extra): self.depth += extra
frozen = "no"
try: Vec(1).x = 3
except Exception as e: frozen = type(e).__name__
result = (str(Card(1)), Card(1) < Card(2), asdict(Vec(1)), replace(Vec(1), x=3), hash(Vec(1)) == hash(Vec(1)), frozen,
          [f.name for f in fields(Card)], Node(1, extra=2, depth=3).depth, Vec(1) + Vec(2))
result = [str(part) for part in result]
""",
    "enums": """
from enum import Enum, Flag, IntEnum, StrEnum, auto, unique
@unique
class Tile(Enum):
    WALL = "#"
    FLOOR = "."
    @property
    def open(self): return self is Tile.FLOOR
    @classmethod
    def _missing_(cls, value): return cls.WALL
class Level(IntEnum):
    LOW = auto()
    HIGH = auto()
class Name(StrEnum):
    A = auto()
class Op(Enum):
    ADD = ("+", lambda a, b: a + b)
    def __init__(self, sign, function): self.sign = sign; self.function = function
class Right(Flag):
    R = auto()
    W = auto()
result = ([t.name for t in Tile], Tile("#").value, Tile("?").open, Tile["FLOOR"].open, Level.HIGH > Level.LOW, Name.A,
          Op.ADD.function(1, 2), (Right.R | Right.W).value, list(Tile.__members__), repr(Tile.WALL), "#" in Tile._value2member_map_)
""",
    "properties and methods of classes": """
class A:
    count = 0
    def __init__(self): A.count += 1; self._v = 1
    @property
    def v(self): return self._v
    @v.setter
    def v(self, value): self._v = max(0, value)
    @v.deleter
    def v(self): self._v = None
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def two(): return 2
    class Inner:
        x = 5
a = A.make(); a.v = -3; b = a.v; del a.v
result = A.count, b, a.v, A.two(), A.Inner.x, A.Inner().x
""",
    "forms of super": """
class A:
    def __init__(self, x): self.x = x
    def f(self): return 1
class B:
    def __init__(self, *a, **k): self.b = (a, k)
class C(A):
    def __init__(self): super().__init__(3)
    def f(self): return super().f() + 1
class D(A):
    def __init__(self): super(D, self).__init__(x=4)
class E(A, B):
    def __init__(self): A.__init__(self, 5); B.__init__(self, 6, k=7)
class S:
    _it = None
    def __new__(cls, *args):
        if cls._it is None: cls._it = super().__new__(cls)
        return cls._it
class L(list):
    def __init__(self, *items): super().__init__(items)
    def __getitem__(self, i): return super().__getitem__(i % len(self))
class Err(ValueError):
    def __init__(self, code): super().__init__(f"code {code}"); self.code = code
try: raise Err(3)
except Err as e: caught = str(e), e.code, e.args
result = C().x, C().f(), D().x, E().x, E().b, S() is S(), L(1, 2)[3], caught
""",
    "names of things": '''
"""The doc."""
class A:
    """About A."""
    def method(self):
        """About method."""
    def who(self): return self.__class__.__name__, type(self).__name__, type(self).__qualname__, __class__.__name__
def f(): "Doc of f."
try: 1 / 0
except Exception as e: kind = type(e).__name__, e.__class__.__name__
result = (A.__name__, A.__doc__, A.method.__name__, A.method.__qualname__, A().method.__doc__, f.__doc__, A().who(), kind,
          len.__name__, (lambda: 0).__name__, __doc__, type(3).__name__, type(A).__name__, type(f).__name__)
''',
    "main block": """
def main(): raise SystemExit(1)
if __name__ == "__main__":
    import argparse, sys
    main(open(input()))
elif True:
    result = 1
""",
    "type checking block": """
from __future__ import annotations
from typing import TYPE_CHECKING
import typing
if TYPE_CHECKING:
    from somewhere import Thing
if typing.TYPE_CHECKING:
    import pandas as pd
else:
    pd = None
def f(x: Thing) -> pd.DataFrame: return 1
result = f(2), pd
""",
    "optional imports": """
try:
    import tensorflow
except ImportError:
    tensorflow = None
try:
    from scipy.stats import norm
    HAS = True
except (ImportError, AttributeError) as e:
    HAS = False
try:
    import numpy as np
except ImportError:
    np = None
result = tensorflow, HAS, int(np.array([1, 2]).sum())
""",
    "dispatch by name": """
class Shell:
    def do_look(self, *a): return "look", a
    def _handle_go(self, way): return "go", way
    def __deep(self): return "deep"
    def run(self, line):
        verb, *rest = line.split()
        handler = getattr(self, f"do_{verb}", None) or getattr(self, "_handle_" + verb, None)
        return handler(*rest) if callable(handler) else "unknown"
    def deep(self): return getattr(self, "_Shell__deep")()
    def verbs(self): return [n for n in dir(self) if n.startswith("do_")]
s = Shell()
setattr(s, "_level", 3); setattr(s, "name", "x")
has = [hasattr(s, n) for n in ("_level", "name", "nope", "__len__", "_handle_go")]
delattr(s, "name")
result = (s.run("look a b"), s.run("go north"), s.run("fly"), s.deep(), s.verbs(), s._level, getattr(s, "_level"), has,
          vars(s), getattr(s, "__class__").__name__, getattr(Shell, "__name__"))
""",
    "strings and formats": """
class P:
    def __init__(self): self.name, self._n, self.row = "ann", 3, [1, 2]
    def __format__(self, spec): return f"<{spec}>"
p = P()
width = 6
result = ("{} {} {}".format(1, 2, 3), "{0}{1}{0}".format("a", "b"), "{x:>5}|{y!r}".format(x=1, y="q"), "{0.name} {0.row[1]}".format(p),
          "{:.2f} {:,} {:{w}}".format(3.14159, 10**6, "a", w=4), "{a} {b}".format_map({"a": 1, "b": 2}), "%s %05.1f %(k)s" % {"k": 1} if False else "%s %d" % ("a", 3),
          f"{p:zz} {width!r:>{width}} {width=} {p.name!s:*^9}", "{d[key]} {0[0]}".format([7], d={"key": 8}), str.format("{}", 1),
          "{{}}{}".format(1), list(map("<{}>".format, [1, 2])), "abc".translate(str.maketrans("a", "b")), "{!a}".format("é"), "{0.__class__.__name__}".format(p))
""",
    "iteration and comprehension": """
def gen(n):
    received = yield n
    while received: received = yield received * 2
    yield from range(2)
    return "end"
g = gen(1); a = [next(g), g.send(4), g.send(None)]
first, *middle, last = range(5)
(x, (y, [z, *w])) = 1, (2, [3, 4, 5])
pairs = {k: v for k, v in zip("abc", range(3)) if v}
for i, (p, q) in enumerate([(1, 2), (3, 4)]):
    if p == 3: break
else: i = -1
def f(*args, **kwargs): return args, kwargs
result = (a, first, middle, last, x, y, z, w, pairs, i, p, q, {*"aa"}, [*range(2), *"b"], {**pairs, "z": 1}, f(*[1, 2], *(3,), k=1, **{"m": 2}),
          sum(i * i for i in range(4)), [[j for j in range(i)] for i in range(3)], any(c == "a" for c in "ba"), [y := 5, y ** 2], list(reversed([1, 2])))
""",
    "exceptions and contexts": """
log = []
class Manager:
    def __enter__(self): log.append("in"); return self
    def __exit__(self, kind, error, trace): log.append(kind and kind.__name__); return kind is KeyError
with Manager() as m, Manager(): {}["x"]
from contextlib import contextmanager, suppress
@contextmanager
def tag(name):
    log.append(name)
    try: yield name.upper()
    finally: log.append("/" + name)
with tag("b") as t: log.append(t)
with suppress(ValueError): int("x")
class AppError(Exception): pass
try:
    try: [].pop()
    except IndexError as e: raise AppError("outer") from e
except AppError as e: cause = repr(e.__cause__), str(e)
finally: log.append("done")
try: assert 1 == 2, "not equal"
except AssertionError as e: log.append(e.args)
kinds = [KeyError("k"), StopIteration(3), NotImplementedError(), TimeoutError(), RecursionError("r"), UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")]
result = log, cause, [str(k) for k in kinds]
""",
    "operators of classes": """
from functools import total_ordering
@total_ordering
class Money:
    def __init__(self, n): self.n = n
    def __add__(self, o): return Money(self.n + getattr(o, "n", o))
    __radd__ = __add__
    def __iadd__(self, o): self.n += 1; return self
    def __neg__(self): return Money(-self.n)
    def __eq__(self, o): return self.n == o.n
    def __lt__(self, o): return self.n < o.n
    def __hash__(self): return hash(self.n)
    def __bool__(self): return self.n > 0
    def __int__(self): return self.n
    def __index__(self): return self.n
    def __repr__(self): return f"Money({self.n})"
    __str__ = __repr__
    def __call__(self, k): return self.n * k
    def __matmul__(self, o): return "@"
class Bag:
    __slots__ = ("_items", "size")
    def __init__(self): self._items = {}; self.size = 0
    def __getitem__(self, k): return self._items[k]
    def __setitem__(self, k, v): self._items[k] = v; self.size += 1
    def __delitem__(self, k): del self._items[k]
    def __contains__(self, k): return k in self._items
    def __iter__(self): return iter(self._items)
    def __len__(self): return len(self._items)
    def __missing__(self, k): return None
b = Bag(); b["x"] = 1; b["y"] = 2; b["x"] += 4; del b["y"]
m = Money(1); m += 1
result = (sum([Money(1), Money(2)], Money(0)), 3 + Money(1), -Money(2), Money(1) < Money(2), Money(1) >= Money(2), {Money(1): "a"}[Money(1)], bool(Money(0)),
          [10, 20, 30][Money(1)], str(m), Money(2)(5), Money(1) @ 2, list(b), len(b), "x" in b, b["x"], b.size, max({"a": 1, "b": 2}, key={"a": 1, "b": 2}.__getitem__))
result = [str(part) for part in result]
""",
    "classes that register and describe": """
class Plugin:
    registry = {}
    def __init_subclass__(cls, /, tag="none", **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.registry[cls.__name__] = (cls, tag)
class One(Plugin, tag="first"): pass
class Two(Plugin): pass
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.name, 0)
    def __set__(self, obj, value):
        if value < 0: raise ValueError(self.name)
        setattr(obj, self.name, value)
class Account:
    balance = Positive()
a = Account(); a.balance = 5
try: a.balance = -1
except ValueError as e: refused = str(e)
registry = {}
def register(name=None, **options):
    def decorate(f):
        registry[name or f.__name__] = (f, options)
        f.calls = 0
        return f
    return decorate
@register(cost=3)
def spark(): spark.calls += 1; return spark.calls
result = sorted(Plugin.registry), Plugin.registry["One"][1], a.balance, refused, spark(), spark(), registry["spark"][1]
""",
    "abstract, generic and typed": """
from abc import ABC, ABCMeta, abstractmethod
from typing import Any, Callable, Generic, NamedTuple, Protocol, TypedDict, TypeVar, Union, runtime_checkable
T = TypeVar("T")
Number = Union[int, float]
class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...
    @property
    @abstractmethod
    def name(self): ...
class Square(Shape):
    name = "sq"
    def area(self): return 4
class Old(metaclass=ABCMeta):
    @abstractmethod
    def f(self): ...
class Box(Generic[T]):
    def __init__(self, v: T): self.v = v
class Move(NamedTuple):
    x: int
    y: int = 2
    @property
    def total(self): return self.x + self.y
class Options(TypedDict, total=False):
    depth: int
@runtime_checkable
class Walks(Protocol):
    def walk(self) -> int: ...
class Dog:
    def walk(self): return 1
errors = []
for cls in (Shape, Old):
    try: cls()
    except TypeError as e: errors.append("abstract" in str(e))
m = Move(1)
result = (errors, Square().area(), Box[int](3).v, m, m.total, m._replace(x=5), m._asdict(), Move._fields, Options(depth=1), isinstance(Dog(), Walks))
result = [str(part) for part in result]
""",
    "metaclass that records": """
from abc import ABCMeta
class Meta(ABCMeta):
    made = []
    def __new__(mcs, name, bases, ns, **kw):
        cls = super().__new__(mcs, name, bases, ns, **kw)
        Meta.made.append(name)
        return cls
    def __len__(cls): return 7
class A(metaclass=Meta):
    def f(self): return 1
class B(A): pass
result = Meta.made, B().f(), len(A), [c.__name__ for c in B.__mro__]
""",
    "own dictionary": """
class Config:
    def __init__(self, **kw):
        self.__dict__.update(kw)
        self._n = 1
    def as_dict(self): return dict(self.__dict__)
    def load(self, data): vars(self).update(data); return sorted(self.__dict__.items())
class Old:
    def __init__(self): self.a = 1
    def __eq__(self, o): return self.__dict__ == o.__dict__
result = Config(a=1, b=2).as_dict(), Config(a=3).a, vars(Config(z=1)), Old() == Old(), Config().load({'q': 2})
""",
    "introspection of functions": """
import inspect
def tool(query: str, limit: int = 5, *, exact: bool = False): "Search."
sig = inspect.signature(tool)
result = [(p.name, p.default is inspect.Parameter.empty) for p in sig.parameters.values()], inspect.getdoc(tool), callable(tool)
""",
    "annotations that are looked at": """
import inspect
from typing import Any, Dict, List, Optional
import typing as t
def tool(a: int, b: "str", c: List[int] = None, d: Optional[float] = None, e: Dict[str, Any] = None, f: t.Any = None) -> bool: ...
result = [inspect.signature(tool).parameters[n].name for n in "abcdef"], sorted(tool.__annotations__) == ["a", "b", "c", "d", "e", "f", "return"], tool.__annotations__["a"].__name__
""",
    "star import and module variables": """
from math import *
from collections import *
__all__ = ["A"]
__version__ = "1.0"
__author__ = "somebody"
__all__ += ["B"]
result = sqrt(16), floor(2.5), Counter("aab")["a"], __version__, __all__
""",
    "builtins": """
result = (abs(-1), divmod(7, 3), pow(2, 5, 7), chr(97), ord("b"), hex(255), bin(5), oct(8), int("0x1f", 16), float("1.5"), complex(1, 2), bool([]),
          bytes([65]), bytearray(b"ab"), list("ab"), dict(a=1), set([1]), frozenset([1]), tuple([1]), slice(1, 2).stop, next(iter([3])), round(2.567, 1),
          sorted([3, 1], reverse=True), list(zip([1], [2], strict=True)), list(map(len, ["a"])), list(filter(None, [0, 1])), isinstance(1, (int, str)),
          isinstance(True, int), issubclass(bool, int), callable(len), int.from_bytes(b"\\x01\\x00", "big"), dict.fromkeys("ab", 0), ascii("é"), repr("x"), format(3.14159, ".2f"),
          type(1) is int, type("") == str, isinstance(int, type), type(int) is type, min([2, 1]), max(1, 2, key=lambda v: -v), sum([[1], [2]], []), enumerate, len({}), NotImplemented, ...)
result = [str(part) for part in result]
""",
    "closures and decorators": """
import functools
def counter():
    n = [0]
    total = 0
    def add(k=1):
        nonlocal total
        n[0] += k; total += k
        return total
    return add
def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return f(*args, **kwargs)
    wrapper.calls = 0
    return wrapper
@logged
def double(x):
    "Doubles."
    return 2 * x
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def named(f):
    def inner(): return f()
    inner.__name__ = f.__name__; inner.__doc__ = "set"
    return inner
c = counter(); c(); c(5)
double(1); double(2)
result = c(0), double.calls, double.__name__, double.__doc__, fib(20), functools.reduce(lambda a, b: a + b, [1, 2]), functools.partial(pow, 2)(3), named(double).__name__, [f() for f in [lambda i=i: i for i in range(3)]]
""",
    "unicode and odd layout": "\ufeff# -*- coding: latin-1 -*-\r\nclass Größe:\r\n\tdef __init__(self):\r\n\t\tself.ﬁsh = 'ñ\\x41\\u00e9'\r\nresult = Größe().fish, b'\\xff', r'\\d', '''a\\\nb'''\r\n",
    "copies of own objects": """
import copy
class Node:
    def __init__(self, v): self._v = v; self.kids = []
    def __deepcopy__(self, memo):
        new = Node(self._v); new.kids = copy.deepcopy(self.kids, memo); return new
class Plain:
    def __init__(self): self._x = [1]
n = Node(1); n.kids.append(Node(2)); m = copy.deepcopy(n); m.kids[0]._v = 9
p = Plain(); q = copy.copy(p); r = copy.deepcopy(p); r._x.append(2)
result = n.kids[0]._v, m.kids[0]._v, p._x, q._x is p._x, r._x
""",
    "private fields of a dataclass": """
from dataclasses import asdict, astuple, dataclass, field, fields, replace
@dataclass
class Inner:
    _tag: str = "t"
@dataclass(order=True)
class Item(Inner):
    _name: str = "x"
    count: int = 1
    _hidden: int = field(default=3, repr=False)
    inner: Inner = field(default_factory=Inner, compare=False)
    def total(self):
        return [getattr(self, entry.name) for entry in fields(self)]
item = Item(_name="y")
result = [repr(item), asdict(item), astuple(item), [entry.name for entry in fields(Item)], repr(item.total()), repr(replace(item, _name="z")), Item(**{"_name": "k"}) > item]
""",
    "starting over by __init__": """
from abc import ABC, abstractmethod
class Base(ABC):
    @abstractmethod
    def _f(self): ...
    @abstractmethod
    def g(self): ...
class World(Base):
    def __init__(self, n=3): self.n = n; self.items = []
    def _f(self): self.__init__(n=5); return self
    def g(self): return self.n
world = World(); world.items.append(1); world.n = 9
result = world._f().g(), world.items, sorted(Base.__abstractmethods__), len(World.__abstractmethods__)
""",
    "members by inspect": """
import inspect
class Tools:
    limit = 3
    def __init__(self): self._log = []; self.name = "t"
    def tool_add(self, a: int, b: int = 2): return a + b
    def tool_len(self, text): return len(text)
    def _hidden(self): return 0
tools = Tools()
result = [
    [name for name, _ in inspect.getmembers(tools, inspect.ismethod) if not name.startswith("__")],
    [name for name, _ in inspect.getmembers(Tools, predicate=inspect.isfunction) if not name.startswith("__")],
    [(name, value) for name, value in inspect.getmembers(tools) if not name.startswith("__") and not callable(value)],
    {name: method(*args) for (name, method), args in zip(
        inspect.getmembers(tools, lambda m: inspect.ismethod(m) and m.__name__.startswith("tool_")), [(1,), ("abc",)])},
]
""",
}


@pytest.mark.parametrize("guards", MODES)
@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_means_what_it_means_in_python(habit: str, guards: str) -> None:
    assert result(HABITS[habit], guards) == plain_result(HABITS[habit].removeprefix("\ufeff"))

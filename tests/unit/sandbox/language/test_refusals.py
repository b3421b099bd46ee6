"""What is refused before it runs, with the code, the line and what to write instead."""

from __future__ import annotations

import pytest

from metagym.errors import ProgramRejected
from metagym.sandbox import language
from tests.unit.sandbox.language.harness import MODES, compiled

REFUSED = {
    "forbidden_import": [
        "import os",
        "import os.path as p",
        "from os import system",
        "from subprocess import *",
        "def f():\n import socket",
        "import sys, math, ctypes",
        "from . import x",
        "from .. import x",
        "from .os import x",
        "try:\n import os\nexcept ImportError: pass",
        "from enum import sys",
        "from random import _os",
        "from random import SystemRandom",
        "from __future__ import braces_everywhere",
        "class A:\n from os import *",
        "import torch",
        "import importlib",
        "import builtins",
        "import gc",
        "import time\nt = time",
        "import time as t\nx = getattr(t, 'time')()",
        "import sys\ndef f(): return [sys]",
    ],
    "forbidden_name": [
        "x = __builtins__",
        "x = __import__('os')",
        "def f(x=__loader__): pass",
        "x = open('f')",
        "x = [exec][0]",
        "x = eval",
        "e = compile",
        "input()",
        "globals()",
        "for __builtins__ in []: pass",
        "lambda __builtins__: 0",
        "def f(__import__, /): pass",
        "def f(*__import__): pass",
        "def f(**__import__): pass",
        "def f(*, __import__): pass",
        "try: pass\nexcept Exception as __import__: pass",
        "match 1:\n case __import__: pass",
        "match {}:\n case {**__import__}: pass",
        "match []:\n case [*__import__]: pass",
        "def __import__(): pass",
        "class __import__: pass",
        "import random as __import__",
        "from random import random as __build_class__",
        "def f():\n global __name__\n __name__ = 1",
        "def f():\n global __builtins__",
        "with x as __builtins__: pass",
        "(__builtins__ := 1)",
        "[__builtins__ for __builtins__ in []]",
        "del __builtins__",
        "__builtins__ += 1",
        "__name__ = 'x'",
        "class A:\n __module__ = 'x'",
        "class A:\n __qualname__ = 'x'",
        "class A:\n __getattr__ = lambda s, n: 1",
        "class A:\n __class__ = dict",
        "class A:\n __init__ = print",
        "print(__import__=1)",
        "x = __file__",
        "__class__ = 1",
    ],
    "forbidden_attribute": [
        "x = f.__globals__",
        "x = f.__code__",
        "x = f.__closure__",
        "x = f.__self__",
        "x = f.__func__",
        "x = f.__wrapped__",
        "x = ().__class__.__mro__",
        "x = ().__class__.__base__",
        "x = object.__subclasses__()",
        "x = e.__traceback__",
        "x = e.tb_frame",
        "x = g.gi_frame",
        "x = g.gi_code",
        "x = c.cr_frame",
        "x = c.ag_frame",
        "x = f.f_globals",
        "x = f.f_builtins",
        "x = f'{f.__globals__}'",
        "x = f'{1:{f.__globals__}}'",
        "x = a.__dict__.b",
        "class A: pass\nx = A.__dict__",
        "x = a.__getattribute__",
        "x = a.__reduce_ex__(4)",
        "x = object.__setattr__",
        "class A:\n def f(self): object.__setattr__(self, '__class__', dict)",
        "x = super().__init__",
        "y = x.__new__",
        "a.__class__ = dict",
        "del a.__class__",
        "a.__init__ = 1",
        "a.__call__ = 1",
        "a.__init__ += 1",
        "for a.__class__ in []: pass",
        "with x as a.__class__: pass",
        "class A:\n def f(self): self.__dict__['x'] = 1",
        "class A:\n def f(self): self.__dict__.pop('x')",
        "class A:\n def f(self): vars(self).clear()",
        "class A:\n def f(self): vars(self)['x'] = 1",
        "class A:\n def f(self): del self.__dict__['x']",
        "match x:\n case object(__class__=c): pass",
        "match x:\n case object(gi_frame=c): pass",
        "match x:\n case str(format=c): pass",
        "match x:\n case AttributeError(obj=c): pass",
        "match x:\n case f.__globals__: pass",
        "match x:\n case {f.__globals__: 1}: pass",
        "match x:\n case f.__globals__.x(): pass",
        "class A:\n __match_args__ = ('__globals__',)",
        "class A:\n __match_args__ = ('gi_frame',)",
        "class A:\n __match_args__ = ('format',)",
        "import random\nrandom._os",
        "import random\nrandom.random = 1",
        "import time\ntime.time()",
        "import dataclasses\ndataclasses.sys",
        "import collections.abc\ncollections.abc.sys",
        "x.f_back",
    ],
    "forbidden_method": [
        "class A:\n def __getattr__(self, n): pass",
        "class A:\n def __getattribute__(self, n): pass",
        "class A:\n def __setattr__(self, n, v): pass",
        "class A:\n def __del__(self): pass",
        "class A:\n def __reduce__(self): pass",
        "class A:\n def __class_getitem__(cls, i): pass",
        "class A:\n def __instancecheck__(cls, i): pass",
        "class A:\n def __prepare__(cls): pass",
        "class A:\n def __mro_entries__(cls): pass",
        "class A:\n @property\n def __class__(self): return dict",
        "class A:\n @property\n def __dict__(self): return {}",
        "class A:\n def __init_subclass__(cls): print(1)",
        "class A:\n def __array__(cls): pass",
        "class A:\n def __await__(cls): pass",
    ],
    "forbidden_syntax": [
        "class A(metaclass=type): pass",
        "class P(type): pass\nclass A(metaclass=P): pass",
        "class A(**{'metaclass': type}): pass",
        "async def f(): pass",
        "async def f():\n await x",
        "x = [y async for y in z]",
        "x = (y async for y in z)",
        "try: pass\nexcept* ValueError: pass",
        "class A:\n __match_args__ = tuple(['x'])",
        "class A:\n a = __match_args__ = ('__globals__',)",
        "class A:\n __match_args__ = ('x',)\n for __match_args__ in [('__globals__',)]: pass",
        "class A:\n __match_args__ = ('x',)\n __match_args__ += ('__globals__',)",
        "class A:\n __match_args__ = ('x',)\n (__match_args__ := ('__globals__',))",
        "class A:\n __match_args__ = ('x',)\n __match_args__, b = ('__globals__',), 1",
    ],
    "syntax_error": [
        "def f(:",
        "x = 1 +",
        "return 1",
        "break",
        "def f():\n x = 1\n global x",
        "def f():\n nonlocal nothing",
        "def f(a, a): pass",
        "x = 0777",
        "if True:\npass",
        "type X = int",
        "def f[T](x): pass",
        "class A[T]: pass",
        "x = " + "9" * 5000,
        "＿＿builtins＿＿ = 3",
        "here is the program you asked for:",
        "```python",
    ],
}


@pytest.mark.parametrize("guards", MODES)
@pytest.mark.parametrize(("code", "source"), [(code, source) for code, all_ in REFUSED.items() for source in all_])
def test_it_is_refused(code: str, source: str, guards: str) -> None:
    with pytest.raises(ProgramRejected) as caught:
        compiled(source, guards=guards)
    assert caught.value.code == code, caught.value
    assert 0 <= caught.value.line <= source.count("\n") + 1
    assert len(caught.value.message) > 15


def test_the_message_names_line_construct_and_the_way_out() -> None:
    source = "x = 1\nclass A:\n    def f(self):\n        return open('data.txt').read()\n"
    with pytest.raises(ProgramRejected) as caught:
        compiled(source)
    assert caught.value.line == 4
    assert "open" in caught.value.message and "keep the data in the program" in caught.value.message
    assert str(caught.value).startswith("line 4: ") and str(caught.value).endswith("[forbidden_name]")


def test_a_missing_name_of_a_module_tells_what_is_offered() -> None:
    with pytest.raises(ProgramRejected, match=r"math has no 'sqroot' here; did you mean"):
        compiled("from math import sqroot")


def test_what_the_program_binds_itself_is_its_own() -> None:
    compiled("def open(x): return x\ny = open(1)")
    compiled("class Door:\n def open(self): return 1\n def exit(self): return self.open()\nDoor().open()")
    compiled("def f(input, exec=1): return input, exec")


def test_a_module_of_which_little_is_offered_is_used_by_its_attributes() -> None:
    compiled("import sys\nbig = sys.maxsize")
    compiled("def f(time): return time + 1")


def test_numpy_can_be_switched_off() -> None:
    compiled("import numpy as np")
    with pytest.raises(ProgramRejected, match="numpy"):
        compiled("import numpy as np", numpy=False)
    compiled("try:\n import numpy\nexcept ImportError: numpy = None", numpy=False)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class Env:\n def step(self, a): pass\nclass Zoo:\n def step(self, a): pass", "Env"),
        ("class A:\n def step(self, a): pass", "A"),
        ("class A:\n def step(self, a): pass\nclass B:\n def step(self, a): pass\nclass C: pass", "B"),
        ("class A:\n def step(self, a): pass\n def reset(self): pass\nclass Player:\n def step(self): pass", "A"),
        ("class Base:\n def step(self, a): pass\nclass Child(Base):\n def reset(self): pass", "Child"),
        ("class Env: pass\nclass Game:\n def step(self, a): pass", "Game"),
        ("class T(ToolEnv):\n def begin(self): pass\n def turns(self): return []", "T"),
        ("if True:\n class G:\n  def step(self, a): pass", "G"),
        ("class G:\n def step(self, a): pass\nif __name__ == '__main__':\n class H:\n  def step(self, a): pass", "G"),
    ],
)
def test_the_environment_is_found(source: str, name: str) -> None:
    assert language.compile_program(source).class_name == name


def test_methods_are_those_of_the_class_and_its_bases_in_the_source() -> None:
    source = '''"""A game."""
class B:
    def hint(self): pass
class Env(B):
    def __init__(self): pass
    def step(self, a): pass
    def _inner(self): pass
'''
    program = language.compile_program(source)
    assert program.methods == {"hint", "step", "_inner"} and program.doc == "A game."


@pytest.mark.parametrize(
    "source", ["x = 1", "def step(a): pass", "class A:\n def stop(self): pass", "pass # only talk"]
)
def test_a_program_without_environment_is_refused(source: str) -> None:
    with pytest.raises(ProgramRejected) as caught:
        language.compile_program(source)
    assert caught.value.code == "no_env_class"

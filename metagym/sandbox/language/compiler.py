"""From source to code: read, bound, judge, normalise, guard, compile, and look once more at what came out."""

from __future__ import annotations

import ast
import marshal
import warnings
from dataclasses import dataclass, field
from types import CodeType
from typing import Literal

from metagym.errors import ProgramRejected
from metagym.sandbox.language import contract, names, reading
from metagym.sandbox.language.normalise import normalise
from metagym.sandbox.language.policy import GUARDS, FullPolicy, Policy

Guards = Literal["native", "full"]


@dataclass(frozen=True)
class Compiled:
    """A program that passed the policy; nothing of it has run.

    Attributes:
        code: The module's code, to be run in a `namespace`.
        class_name: The environment's class, as the namespace holds it.
        doc: The module's docstring, or "".
        methods: Names that the class or its bases in the source define.
        guards: ``"native"`` (reads are native) or ``"full"`` (every read is guarded).
        numpy: Whether the program may import numpy.
    """

    code: CodeType = field(repr=False)
    class_name: str
    doc: str
    methods: frozenset[str]
    guards: Guards = "native"
    numpy: bool = True


def compile_program(source: str | bytes, *, guards: Guards = "native", numpy: bool = True) -> Compiled:
    """Judges and compiles a program; runs nothing of it.

    Args:
        source: The program as text or as UTF-8 bytes, of any size.
        guards: ``"native"``: reads of attributes are native where their name is harmless on every object (1.0 to 1.7
            times the time of plain Python); ``"full"``: each goes through a guard (5 to 10 times).
        numpy: The program may import numpy.

    Raises:
        ProgramRejected: The program is refused; the message names the rule and what to write instead.
        ValueError: `guards` is something else.
    """
    if guards not in ("native", "full"):
        raise ValueError(f"guards is 'native' or 'full', got {guards!r}")
    tree, nodes = reading.parse(source)
    found = contract.read(tree)
    try:
        tree = normalise(tree, nodes, numpy=numpy)
        policy = (FullPolicy if guards == "full" else Policy)()
        if nodes[ast.Nonlocal]:
            policy.shared = frozenset(
                n for part in ast.walk(tree) if isinstance(part, ast.Nonlocal) for n in part.names
            )
        tree = policy.visit(tree)
        with reading.PARSER, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(tree, "<program>", "exec", dont_inherit=True, optimize=0)
    except SyntaxError as error:
        raise reading.syntax_error(error) from None
    except (RecursionError, MemoryError):
        raise ProgramRejected(
            "too_deep", 0, "the program is nested too deeply to be compiled; write it flatter"
        ) from None
    except (ValueError, OverflowError) as error:
        raise ProgramRejected("syntax_error", 0, f"the program cannot be compiled: {str(error)[:200]}") from None
    _look_once_more(code)
    return Compiled(code, *found, guards, numpy)


def pack(compiled: Compiled) -> bytes:
    """A program that passed, as bytes for `unpack` in another process of the same interpreter and hash seed."""
    about = compiled.class_name, compiled.doc, sorted(compiled.methods), compiled.guards, compiled.numpy
    return marshal.dumps((compiled.code, *about))


def unpack(data: bytes) -> Compiled:
    """What `pack` made bytes of. The bytes must come from `pack`: Python reads them without checking.

    Raises:
        ProgramRejected: The code names something that programs are not given.
    """
    code, class_name, doc, methods, guards, numpy = marshal.loads(data)
    _look_once_more(code)
    return Compiled(code, class_name, doc, frozenset(methods), guards, numpy)


_KNOWN = GUARDS | names.DEFINABLE | names.PLAIN_READS | names.LIBRARY | names.CLASS_VARIABLES
_MADE_BY_COMPILER = frozenset(
    {"__class__", "__classcell__", "__module__", "__qualname__", "__name__", "__annotations__", "__doc__"}
    | {"__static_attributes__", "__firstlineno__", "__classdict__", "__classdictcell__", "_"}
)


def _look_once_more(code: CodeType) -> None:
    """Refuses code that names something it should not: a fault of ours must not become a program's way out."""
    pending = [code]
    while pending:
        part = pending.pop()
        for name in (*part.co_names, *part.co_varnames, *part.co_cellvars, *part.co_freevars):
            hidden = name.startswith("_") and name not in _KNOWN and name not in _MADE_BY_COMPILER
            if hidden or name in names.FORBIDDEN and name in part.co_names:
                raise ProgramRejected(
                    "forbidden_name", part.co_firstlineno, f"the name {name} is not given to programs"
                )
        pending += [constant for constant in part.co_consts if isinstance(constant, CodeType)]

"""How a source becomes a running program: through the language layer, or (in tests of the other layers) bare."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from metagym.errors import ProgramRejected


class Compiled(Protocol):
    """What the player needs to know of a compiled program; the attributes of `metagym.sandbox.language.Compiled`."""

    @property
    def code(self) -> Any:
        """The module's code object."""

    @property
    def class_name(self) -> str:
        """Name of the environment's class."""

    @property
    def doc(self) -> str:
        """The module's doc string."""

    @property
    def methods(self) -> Any:
        """Names that the class and its bases in the source define."""


class Loader(Protocol):
    """Compiles sources and makes the namespaces that they run in."""

    def warm_up(self) -> None:
        """Does everything that would else be done at first use."""

    def compile(self, source: str | bytes) -> Compiled:
        """Judges and compiles; runs nothing of the program.

        Raises:
            ProgramRejected: The policy refuses it.
        """

    def pack(self, compiled: Any) -> bytes:
        """A compiled program as bytes; empty where it cannot be had so."""

    def unpack(self, data: bytes) -> Compiled:
        """What `pack` made bytes of."""

    def namespace(self, compiled: Compiled, seed: int, print_to: Callable[[str], None]) -> dict[str, Any]:
        """Fresh globals for one session."""

    def reseed(self, namespace: dict[str, Any], seed: int) -> None:
        """Makes the draws of a session's global generators depend on `seed` alone."""

    def shown(self, text: str) -> str:
        """An error's text with the names as the program's author wrote them."""


Guards: TypeAlias = Literal["native", "full"]


class LanguageLoader:
    """The language layer.

    Args:
        guards: ``"native"`` or ``"full"``.
        numpy: Programs may import it.
    """

    def __init__(self, guards: Guards, numpy: bool) -> None:
        from metagym.sandbox import language

        self._language, self._guards, self._numpy = language, guards, numpy
        self.reseed, self.shown = language.reseed, language.shown
        self.pack, self.unpack = language.pack, language.unpack

    def warm_up(self) -> None:
        """Does everything that the library would do at first use."""
        self._language.warm_up(self._numpy)

    def compile(self, source: str | bytes) -> Compiled:
        """See `Loader`."""
        return self._language.compile_program(source, guards=self._guards, numpy=self._numpy)

    def namespace(self, compiled: Any, seed: int, print_to: Callable[[str], None]) -> dict[str, Any]:
        """See `Loader`."""
        return self._language.namespace(compiled, seed, print_to=print_to)


class _Bare(NamedTuple):
    code: Any
    class_name: str
    doc: str
    methods: frozenset[str]


class BareLoader:
    """No language layer: the program is plain Python. It exists so that tests can try the other layers alone."""

    def warm_up(self) -> None:
        """Imports what a hostile program would like best: a confined worker could not read the files."""
        for name in ("ctypes", "mmap", "resource", "signal", "socket", "subprocess", "threading", "time"):
            import_module(name)

    def compile(self, source: str | bytes) -> _Bare:
        """Compiles as Python does."""
        try:
            tree = ast.parse(source, "<program>")
            code = compile(tree, "<program>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ProgramRejected("syntax", getattr(error, "lineno", None) or 0, str(error)[:300]) from None
        found = [
            (node.name, frozenset(part.name for part in node.body if isinstance(part, ast.FunctionDef)))
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        ]
        found = [(name, methods) for name, methods in found if name == "Env"] or [
            (name, methods) for name, methods in found if "step" in methods
        ]
        if not found:
            raise ProgramRejected("no_class", 0, "the program defines no class with a step method")
        return _Bare(code, *found[-1][:1], ast.get_docstring(tree) or "", found[-1][1])

    def pack(self, compiled: Any) -> bytes:
        """Compiling costs nothing here."""
        return b""

    def unpack(self, data: bytes) -> Compiled:
        """Never asked for, since nothing was packed."""
        raise ValueError("there are no packed programs without the language layer")

    def namespace(self, compiled: Any, seed: int, print_to: Callable[[str], None]) -> dict[str, Any]:
        """Plain globals whose `print` is captured."""

        def printed(*values: Any, sep: str = " ", end: str = "\n", **more: Any) -> None:
            print_to(sep.join(map(str, values)) + end)

        return {"__name__": "program", "__builtins__": {**vars(builtins), "print": printed}}

    def reseed(self, namespace: dict[str, Any], seed: int) -> None:
        """Nothing to do."""

    def shown(self, text: str) -> str:
        """Nothing was renamed."""
        return text

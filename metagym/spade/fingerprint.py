"""Whether two programs are the same one in other clothes: fingerprints of syntax trees and of behaviour.

The syntax tree is read without what can change and leave the game as it is: comments, layout, docstrings, annotations,
names of the program's own, the values of numbers and texts. What is left is hashed twice: as a whole (`AstFingerprint.
tree`: equal for programs that differ in names and values alone), and as a bag of small subtrees, kept as a MinHash
(Broder 1997), whose share of equal places estimates the Jaccard similarity of two bags.

Fingerprints do not depend on the Python version: fields that newer grammars add are empty for the programs of older
ones, and empty fields are passed over.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metagym.errors import BadInput
from metagym.seeding import derive
from metagym.spade.program import digest_of, syntax_tree

PLACES = 128
"""Hash functions of a MinHash: the standard error of a similarity of 0.9 is 0.027."""

HEIGHT = 4
"""Tallest subtree in the bag. Taller ones would let a change at a leaf count once for each of its ancestors."""

KEPT_NAMES = frozenset(
    "self reset step hint solution reference_policy state tools begin turns close rng metadata answer steps "
    "SyntheticEnv ToolEnv Env super __init__ __len__ __iter__ __call__ __eq__ __hash__ __getitem__ __setitem__".split()
)
"""Names of the contract and of the language; all others that a program binds, and variables of a function that have one
of these, are its own."""

LIBRARY = frozenset(
    # Methods of list, dict, set, str, tuple, deque, numbers and `random.Random`, which say what the program does.
    "add append appendleft as_integer_ratio betavariate bit_count bit_length capitalize casefold center choice choices "
    "clear copy count decode difference difference_update discard encode endswith expandtabs expovariate extend "
    "extendleft find format fromkeys gauss get getrandbits index insert intersection intersection_update is_integer "
    "isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier islower isnumeric isprintable isspace issubset "
    "issuperset istitle isupper items join keys ljust lower lstrip most_common normalvariate partition pop popitem "
    "popleft randbytes randint random randrange remove removeprefix removesuffix replace reverse rfind rindex rjust "
    "rotate rpartition rsplit rstrip sample setdefault shuffle sort split splitlines startswith strip subtract "
    "swapcase symmetric_difference title total translate triangular uniform union update upper values zfill".split()
)
"""Attributes that stay as they are on anything but ``self``; a list of ours, so that no Python version changes it."""

_SKIPPED = frozenset(("type_comment", "type_params", "kind", "ctx", "annotation", "returns", "docstring"))
_FACTORS, _OFFSETS = (
    np.array([derive(0, "minhash", name, place) * 2 + 1 for place in range(PLACES)], dtype=np.uint64)
    for name in ("factor", "offset")
)


@dataclass(frozen=True, slots=True)
class AstFingerprint:
    """What is left of a program without its names and values.

    Attributes:
        digest: SHA-256 of the source: equal for equal texts.
        tree: Digest of the whole normal form, 32 hex digits: equal for programs that differ in names, values, layout.
        places: The MinHash, `PLACES` numbers of 32 bits.
        size: Subtrees in the bag.
    """

    digest: str
    tree: str
    places: tuple[int, ...]
    size: int

    def similarity(self, other: AstFingerprint) -> float:
        """Estimated Jaccard similarity of two bags of subtrees, in [0, 1]; 1 for equal normal forms."""
        if self.tree == other.tree:
            return 1.0
        return sum(mine == theirs for mine, theirs in zip(self.places, other.places, strict=True)) / PLACES

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data; the MinHash is hexadecimal text."""
        places = "".join(f"{place:08x}" for place in self.places)
        return {"digest": self.digest, "tree": self.tree, "places": places, "size": self.size}

    @classmethod
    def from_json(cls, data: Any) -> AstFingerprint:
        """Reads what `to_json` made.

        Raises:
            BadInput: It is something else.
        """
        try:
            text = data["places"]
            places = tuple(int(text[at : at + 8], 16) for at in range(0, len(text), 8))
            found = cls(str(data["digest"]), str(data["tree"]), places, int(data["size"]))
        except (TypeError, KeyError, ValueError) as error:
            raise BadInput(f"this is no fingerprint of a program ({error!r})") from None
        if len(places) != PLACES:
            raise BadInput(f"the fingerprint of a program has {PLACES} places, this one {len(places)}")
        return found


def ast_fingerprint(source: str) -> AstFingerprint:
    """The fingerprint of a program's text.

    Args:
        source: A module that parses.

    Raises:
        ProgramRejected: It does not parse, or is too large.
    """
    return fingerprint_of(syntax_tree(source), digest_of(source))


def fingerprint_of(tree: ast.Module, digest: str) -> AstFingerprint:
    """The fingerprint of a syntax tree whose source has that digest."""
    normal = _Normal(tree)
    form = normal.form(tree, numbered=True)
    whole = hashlib.blake2b(repr(form).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    bag: Counter[str] = Counter()
    _collect(normal.form(tree, numbered=False), bag)
    # The n-th copy of a subtree is an element of its own: a bag becomes a set.
    elements = [f"{n}:{text}" for text, count in bag.items() for n in range(count)]
    return AstFingerprint(digest, whole, _min_hash(elements), len(elements))


def behaviour_fingerprint(traces: Mapping[str, Sequence[Sequence[Any]]]) -> str:
    """The fingerprint of what a program does when it is played by fixed probe policies.

    Args:
        traces: For each probe (policy and seed, by a stable name) the steps of its episode: observation, reward,
            terminated, truncated.

    Returns:
        32 hex digits, equal for programs that answered alike.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(traces):
        digest.update(repr((name, [list(step) for step in traces[name]])).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def nearest(fingerprint: AstFingerprint, known: Iterable[AstFingerprint], k: int = 1) -> list[tuple[float, str]]:
    """The `k` most similar of some programs: similarity and source digest, most similar first (ties by digest)."""
    found = [(fingerprint.similarity(other), other.digest) for other in known]
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))[:k]


def _min_hash(elements: Sequence[str]) -> tuple[int, ...]:
    if not elements:
        return (0,) * PLACES
    raw = b"".join(
        hashlib.blake2b(element.encode("utf-8", "surrogatepass"), digest_size=8).digest() for element in elements
    )
    hashes = np.frombuffer(raw, dtype="<u8").astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = hashes[:, None] * _FACTORS[None, :] + _OFFSETS[None, :]  # modulo 2**64
    return tuple(int(place) for place in mixed.min(axis=0) >> np.uint64(32))


Form = str | tuple[Any, ...]


def _collect(form: Form, bag: Counter[str]) -> int:
    """Counts every subtree of at most `HEIGHT` levels and at least two; returns the height of this one."""
    if isinstance(form, str):
        return 0
    height = 1 + max((_collect(part, bag) for part in form[1:]), default=0)
    if 2 <= height <= HEIGHT:
        bag[repr(form)] += 1
    elif height > HEIGHT:
        bag[repr((form[0], *(part if isinstance(part, str) else part[0] for part in form[1:])))] += 1
    return height


class _Scope:
    """What one function, class or module binds.

    Attributes:
        names: Its names.
        outer: The scope around it; None for the module.
        is_class: Its names are attributes, and inner scopes do not see them.
        depth: Functions around it.
    """

    def __init__(self, node: ast.AST, outer: _Scope | None) -> None:
        self.outer, self.is_class = outer, isinstance(node, ast.ClassDef)
        self.depth: int = 0 if outer is None else outer.depth + (not self.is_class)
        self.names: set[str] = set()
        elsewhere: set[str] = set()
        waiting = list(_inside(node))
        while waiting:
            item = waiting.pop()
            self.names.update(_bound(item))
            if isinstance(item, (ast.Global, ast.Nonlocal)):
                elsewhere.update(item.names)
            if not isinstance(item, _SCOPES):
                waiting += ast.iter_child_nodes(item)
        self.names -= elsewhere

    def of(self, name: str) -> _Scope | None:
        """The scope in which a name that is used here is bound."""
        scope: _Scope | None = self
        while scope is not None and (name not in scope.names or (scope.is_class and scope is not self)):
            scope = scope.outer
        return scope


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """What belongs to the scope of a node itself: not its decorators, bases and defaults."""
    body = getattr(node, "body", [])
    yield from body if isinstance(body, list) else [body]  # of a lambda it is one expression
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        yield from (item for item in ast.iter_child_nodes(arguments) if isinstance(item, ast.arg))


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node binds, but for imported ones."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            yield name
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield name


class _Normal:
    """The normal form of a module: nested tuples (kind, part, ...) and texts.

    A name is numbered by its first occurrence in the scope that binds it, so that it may be renamed in one function and
    kept in another; attributes and keywords are numbered on their own, so that ``self.size = size`` is two names.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._numbers: dict[object, dict[str, int]] = {}
        self._imported: dict[str, str] = {}
        self._own: set[str] = set()
        self._selves: set[str] = set()
        self._scope = _Scope(tree, None)
        self._scopes: dict[ast.AST, _Scope] = {}
        for node in ast.walk(tree):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        """Remembers what a node binds."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._imported[alias.asname or alias.name.split(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.args.args:
                    self._selves.add(item.args.args[0].arg)
        self._own.update(_bound(node))

    def form(self, node: Any, *, numbered: bool) -> Form:
        """The normal form of a node, its own names numbered, or all alike."""
        self._numbers.clear()
        return self._form(node, numbered)

    def _form(self, node: Any, numbered: bool) -> Form:
        match node:
            case ast.Constant():
                return _literal(node.value)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
                return "<number>"
            case ast.List() | ast.Tuple() | ast.Set() if node.elts and all(map(_plain, node.elts)):
                return f"<{type(node).__name__} of literals>"  # a table of values is a value
            case ast.Dict() if node.keys and all(map(_plain, [*node.keys, *node.values])):
                return "<Dict of literals>"
            case ast.JoinedStr():
                shown = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
                return ("JoinedStr", *(self._form(part, numbered) for part in shown))
            case ast.Name():
                return self._name(node.id, numbered)
            case ast.Attribute():
                return ("Attribute", self._form(node.value, numbered), self._attribute(node, numbered))
            case ast.Import() | ast.ImportFrom():
                return "<import>"
            case ast.AnnAssign(value=None):
                return ("Declared", self._form(node.target, numbered))
            case ast.AnnAssign():
                return ("Assign", self._form(node.target, numbered), self._form(node.value, numbered))
            case ast.Assign(targets=[target]):
                return ("Assign", self._form(target, numbered), self._form(node.value, numbered))
        return self._fields(node, numbered)

    def _fields(self, node: ast.AST, numbered: bool) -> Form:
        outer = self._scope
        inner = outer
        if isinstance(node, _SCOPES):
            inner = self._scopes.get(node) or _Scope(node, outer)
            self._scopes[node] = inner  # read twice, numbered and not
        parts: list[Form] = [type(node).__name__]
        for name, value in ast.iter_fields(node):
            if name in _SKIPPED or value is None or value == []:
                continue
            # Defaults, decorators and bases are read where the function or class stands.
            self._scope = inner if name in ("body", "args") else outer
            if isinstance(node, ast.arguments) and name in ("defaults", "kw_defaults") and outer.outer is not None:
                self._scope = outer.outer
            if isinstance(value, list):
                items = _without_docstring(value) if name == "body" else value
                parts.append((name, *(self._item(item, numbered) for item in items)))
            elif isinstance(node, ast.keyword) and isinstance(value, str):
                parts.append(self._numbered(value, "keyword", numbered) if value in self._own else value)
            else:
                parts.append(self._item(value, numbered))
        self._scope = outer
        return tuple(parts)

    def _item(self, value: Any, numbered: bool) -> Form:
        if isinstance(value, ast.AST):
            return self._form(value, numbered)
        if isinstance(value, str):  # the name of a function, class, argument, handler, or a global one
            return self._name(value, numbered)
        return repr(value)

    def _name(self, name: str, numbered: bool) -> str:
        if name in self._selves:
            return "self"
        scope = self._scope.of(name) if name in self._own else None
        if name in KEPT_NAMES and (scope is None or not scope.depth or scope.is_class):
            return name  # as a variable of a function it is like any other
        if name not in self._own:
            return self._imported.get(name, name)
        if scope is not None and scope.is_class:
            return self._numbered(name, "attribute", numbered)
        return self._numbered(name, scope, numbered, "name" if scope is None else f"name {scope.depth}")

    def _numbered(self, name: str, space: object, numbered: bool, kind: str = "") -> str:
        if not numbered:
            return "<name>"
        numbers = self._numbers.setdefault(space, {})
        return f"<{kind or space} {numbers.setdefault(name, len(numbers))}>"

    def _attribute(self, node: ast.Attribute, numbered: bool) -> str:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self._imported:
            return node.attr
        on_self = isinstance(node.value, ast.Name) and node.value.id in self._selves
        if node.attr in KEPT_NAMES or (node.attr in LIBRARY and not on_self):
            return node.attr
        return self._numbered(node.attr, "attribute", numbered)


def _literal(value: Any) -> str:
    if value is None or value is True or value is False or value is Ellipsis:
        return repr(value)
    return "<number>" if isinstance(value, (int, float, complex)) else "<text>"


def _plain(node: ast.expr | None) -> bool:
    """Whether an expression is a value, or a table of values."""
    match node:
        case ast.Constant():
            return _literal(node.value).startswith("<")  # True, False and None are rules more often than data
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant()):
            return True
        case ast.List() | ast.Tuple() | ast.Set():
            return all(map(_plain, node.elts))
        case ast.Dict():
            return all(map(_plain, [*node.keys, *node.values]))
    return False


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return [item for item in body if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))]

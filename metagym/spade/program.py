"""`EnvProgram`: an environment written as a program, as its text tells of it. Nothing of it is run here.

A program is one Python module: a docstring with a header, and one class with `reset` and `step`. The contract is told
in docs/write_an_environment_program.md; what of it can be read from the text is checked here, and the rest by
`metagym.spade.validation`.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from metagym.errors import ProgramRejected
from metagym.sandbox.language import reading

ActionFormat = Literal["text", "boxed", "tool_call"]

MAX_STEPS = 200
"""Most steps that a header may ask for."""

REQUIRED = ("title", "skill", "domain", "action_format", "max_steps", "reward_range")
"""Lines that every header holds."""

OPTIONAL = ("license", "parents")
"""Lines that a header may hold; the license is ``generated`` where it says nothing."""

SHOWN_INFO = ("turn", "steps", "steps_left", "max_steps", "score", "valid", "invalid", "success")
"""Keys of a program's info that an agent may see, if their values are numbers or booleans."""

CODE_OF: Mapping[str, str] = {
    "not_text": "syntax_error",
    "empty": "no_code",
    "too_deep": "too_long",
    "too_many_nodes": "too_long",
}
"""Our codes for those of the sandbox's reading that have other names."""

_TOLERANCE = 1e-6
_HEADER = re.compile(
    rf"^[^\S\n]*({'|'.join(REQUIRED + OPTIONAL)})[^\S\n]*:[^\S\n]*(.*?)[^\S\n]*$", re.MULTILINE | re.IGNORECASE
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.-]*)[^\n`]*$", re.MULTILINE)
_CLASS_LINE = re.compile(r"^class\s+\w", re.MULTILINE)
_CODE_LINE = re.compile(r"^\s*(class|def|import|from|async def)\s+\w|^\s*@\w", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class EnvProgram:
    r"""An environment program, with what its header and its class say.

    Attributes:
        source: The text, as it was written.
        digest: SHA-256 of the text (UTF-8), 64 hex digits: the program's identity.
        class_name: The environment's class.
        line: Where that class begins, from 1.
        methods: Names that the class, or a base of it in the same text, defines; sorted, public ones only.
        bases: Names of all bases that the class names or inherits within the text.
        title: What the environment is called.
        skill: What it trains.
        domain: What it is about.
        action_format: ``text`` (a command), ``boxed`` (the command in ``\boxed{...}``), ``tool_call``.
        max_steps: Steps after which every episode has ended; 1 to `MAX_STEPS`.
        reward_range: Least and greatest return of an episode. A solved episode is one that is worth the greatest.
        license: Terms of the text.
        parents: Digests of the programs it was made from.
    """

    source: str
    digest: str
    class_name: str
    line: int
    methods: tuple[str, ...]
    bases: tuple[str, ...]
    title: str
    skill: str
    domain: str
    action_format: ActionFormat
    max_steps: int
    reward_range: tuple[float, float]
    license: str = "generated"
    parents: tuple[str, ...] = ()

    @classmethod
    def parse(cls, source: str | bytes) -> EnvProgram:
        """Reads a program's text.

        Args:
            source: The module; bytes are UTF-8.

        Raises:
            ProgramRejected: With one of the codes ``no_code``, ``syntax_error``, ``too_long``, ``metadata_missing``,
                ``no_env_class``, ``several_env_classes``; the message says what to write instead.
        """
        return _read(source) if cls is EnvProgram and isinstance(source, str) else cls._read(source)

    @classmethod
    def _read(cls, source: str | bytes) -> EnvProgram:
        tree = syntax_tree(source)
        text = source if isinstance(source, str) else source.decode("utf-8-sig")
        if not any(isinstance(node, (ast.ClassDef, ast.FunctionDef)) for node in tree.body):
            raise ProgramRejected("no_code", 0, "there is no program: write a Python module with one environment class")
        header = _header(ast.get_docstring(tree) or "")
        node = _env_class(tree)
        chain = list(_lineage(node, {found.name: found for found in tree.body if isinstance(found, ast.ClassDef)}))
        names = {name for found in chain for name in _defined(found) if not name.startswith("_")}
        bases = {_last(base) for found in chain for base in found.bases}
        return cls(
            text,
            digest_of(text),
            node.name,
            node.lineno,
            tuple(sorted(names)),
            tuple(sorted(bases - {""})),
            **header,
        )

    @property
    def has_tools(self) -> bool:
        """Whether the program offers tools by JSON Schema."""
        return "tools" in self.methods or "ToolEnv" in self.bases

    @property
    def has_hint(self) -> bool:
        """Whether the program brings a hint of its own."""
        return "hint" in self.methods

    def solved(self, total: float, terminated: bool) -> bool:
        """Whether an episode counts as a success: it came to its end (not cut off) and is worth the greatest return.

        Args:
            total: Sum of its rewards.
            terminated: The last step said so.
        """
        return terminated and total >= self.reward_range[1] - _TOLERANCE

    def header(self) -> dict[str, Any]:
        """The header and the class name as plain JSON data."""
        return {
            "title": self.title,
            "skill": self.skill,
            "domain": self.domain,
            "action_format": self.action_format,
            "max_steps": self.max_steps,
            "reward_range": list(self.reward_range),
            "license": self.license,
            "parents": list(self.parents),
            "class_name": self.class_name,
        }


@lru_cache(maxsize=64)
def _read(source: str) -> EnvProgram:
    """Programs that are played round after round are read once."""
    return EnvProgram._read(source)


def program_in(text: str) -> str | None:
    r"""The program in a model's reply.

    It is the first fenced block marked as Python (``python``, ``python3``, ``py``) that defines a class: models like
    to show a line or two before the program. Where none parses and does, it is the first that seems to, or else the
    first that is marked. Without a marked block it is the first unmarked one that defines a class, or the whole text,
    if it does. A fence that is opened and never
    closed reaches to the end of the text: the reply was cut off, and its syntax error will say so. A block ends at a
    line of its own fence (as many of its characters or more, and nothing else).

    Args:
        text: The reply.

    Returns:
        The source; None where the reply holds no program.
    """
    blocks = list(_blocks(text))
    marked = [body for language, body in blocks if language in ("python", "python3", "py")]
    if marked:
        ways = (_defines_class, _CLASS_LINE.search) if len(marked) > 1 else ()
        return next((body for defines in ways for body in marked if defines(body)), marked[0])
    for candidate in [*(body for language, body in blocks if not language), text]:
        if _defines_class(candidate):
            return candidate
    return None


def shown_info(info: Mapping[str, Any]) -> dict[str, bool | int | float]:
    """What of a program's info an agent may see: numbers and booleans under the keys of `SHOWN_INFO`.

    Programs put answers into info, as text or nested; nothing of that reaches an agent.
    """
    kinds = (bool, int, float)
    return {key: info[key] for key in SHOWN_INFO if key in info and type(info[key]) in kinds}


def digest_of(source: str) -> str:
    """SHA-256 of a source text, 64 hex digits."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def syntax_tree(source: str | bytes) -> ast.Module:
    """The syntax tree of a source, of bounded size and depth, as the sandbox reads it.

    Raises:
        ProgramRejected: ``no_code`` (blank, or prose), ``syntax_error`` (or no text), ``too_long`` (or too deep).
    """
    try:
        return reading.parse(source)[0]
    except ProgramRejected as refused:
        code = CODE_OF.get(refused.code, refused.code)
        if code == "syntax_error" and isinstance(source, str) and not _CODE_LINE.search(source):
            raise ProgramRejected("no_code", 0, "there is no program in the text: write a Python module") from None
        raise ProgramRejected(code, refused.line, refused.message) from None


def env_class(tree: ast.Module, name: str) -> ast.ClassDef:
    """The class definition of that name at the top of a module."""
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def inherited(tree: ast.Module, node: ast.ClassDef) -> list[ast.ClassDef]:
    """A class and those of its bases that the same text defines, nearest first."""
    return list(_lineage(node, {found.name: found for found in tree.body if isinstance(found, ast.ClassDef)}))


# --- header


def _header(docstring: str) -> dict[str, Any]:
    found: dict[str, str] = {}
    for match in _HEADER.finditer(docstring):
        if match[2]:
            found.setdefault(match[1].lower(), match[2])
    missing = [name for name in REQUIRED if name not in found]
    if missing:
        raise ProgramRejected(
            "metadata_missing",
            1,
            f"the module's docstring must hold a line 'name: value' for each of {', '.join(REQUIRED)}; "
            f"there is none for {', '.join(missing)}",
        )
    form = found["action_format"].lower().strip("`'\"")
    if form not in get_args(ActionFormat):
        raise _bad_header("action_format", "is text, boxed or tool_call", found)
    steps = found["max_steps"]
    if not (steps.isascii() and steps.isdigit() and len(steps) < 9 and 1 <= int(steps) <= MAX_STEPS):
        raise _bad_header("max_steps", f"is a whole number from 1 to {MAX_STEPS}", found)
    ends = [float(number) for number in _NUMBER.findall(found["reward_range"].replace("..", " "))]
    if len(ends) != 2 or not all(map(math.isfinite, ends)) or not -1000 <= ends[0] < ends[1] <= 1000:
        raise _bad_header("reward_range", "is two numbers, least and greatest return of an episode: [0, 1]", found)
    return {
        "title": found["title"][:200],
        "skill": found["skill"][:200],
        "domain": found["domain"][:200],
        "action_format": form,
        "max_steps": int(steps),
        "reward_range": (ends[0], ends[1]),
        "license": found.get("license", "")[:200] or "generated",
        "parents": tuple(re.findall(r"[\w.-]+", found.get("parents", "")))[:32],
    }


def _bad_header(name: str, rule: str, found: Mapping[str, str]) -> ProgramRejected:
    return ProgramRejected("metadata_missing", 1, f"{name} {rule}; the header says {found[name][:80]!r}")


# --- the class


def _env_class(tree: ast.Module) -> ast.ClassDef:
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    whole = [node for node in classes.values() if _is_env(node, classes)]
    used = {_last(base) for node in whole for base in node.bases}
    leaves = [node for node in whole if node.name not in used]
    if not leaves:
        raise ProgramRejected(
            "no_env_class",
            0,
            "there is no environment: write one class(SyntheticEnv) with reset(self, seed) and step(self, action), "
            "or one class(ToolEnv) with begin(self) and turns(self)",
        )
    if len(leaves) > 1:
        names = ", ".join(node.name for node in leaves)
        raise ProgramRejected(
            "several_env_classes", leaves[1].lineno, f"a program is one environment, and these are several: {names}"
        )
    return leaves[0]


def _is_env(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> bool:
    chain = list(_lineage(node, classes))
    names = {name for found in chain for name in _defined(found)}
    tools = any(_last(base) == "ToolEnv" for found in chain for base in found.bases)
    return {"reset", "step"} <= names or (tools and {"begin", "turns"} <= names)


def _lineage(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> Iterator[ast.ClassDef]:
    waiting, seen = [node], set()
    while waiting:
        found = waiting.pop(0)
        if found.name not in seen:
            seen.add(found.name)
            yield found
            waiting += [classes[_last(base)] for base in found.bases if _last(base) in classes]


def _defined(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield item.name


def _last(base: ast.expr) -> str:
    """``Env`` of ``Env`` and of ``gymnasium.Env``."""
    return base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""


# --- replies


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and body of each fenced block."""
    at = 0
    while opened := _FENCE.search(text, at):
        fence = opened[1]
        closing = re.compile(rf"^[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        start = opened.end() + 1
        closed = closing.search(text, start)
        end = closed.start() if closed else len(text)
        yield opened[2].lower(), text[start:end]
        at = closed.end() if closed else len(text)


def _defines_class(text: str) -> bool:
    try:
        tree = syntax_tree(text)
    except ProgramRejected:
        return False
    return any(isinstance(node, ast.ClassDef) for node in tree.body)

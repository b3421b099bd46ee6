"""Reading the text of a PDDL problem. Whatever is not understood for certain is refused."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from metagym.errors import BadInput, EngineUnsupported

# A parsed expression: a word, or a list of expressions.
Expression = str | list["Expression"]

# The domain's predicates and the type of each argument (one domain for all published games).
_SIGNATURES: Final = MappingProxyType(
    {
        "atlocation": ("agent", "location"),
        "receptacleatlocation": ("receptacle", "location"),
        "objectatlocation": ("object", "location"),
        "openable": ("receptacle",),
        "opened": ("receptacle",),
        "inreceptacle": ("object", "receptacle"),
        "isreceptacleobject": ("object",),
        "inreceptacleobject": ("object", "object"),
        "receptacletype": ("receptacle", "rtype"),
        "cancontain": ("rtype", "otype"),
        "objecttype": ("object", "otype"),
        "isclean": ("object",),
        "cleanable": ("object",),
        "ishot": ("object",),
        "heatable": ("object",),
        "iscool": ("object",),
        "coolable": ("object",),
        "pickupable": ("object",),
        "moveable": ("object",),
        "toggleable": ("object",),
        "ison": ("object",),
        "istoggled": ("object",),
        "sliceable": ("object",),
        "issliced": ("object",),
        # known to the domain; a start state that holds one is refused below
        "holds": ("agent", "object"),
        "holdsany": ("agent",),
        "holdsanyreceptacleobject": ("agent",),
        "isreceptacleobjectfull": ("object",),
        "wasinreceptacle": ("object", "receptacle"),
        "checked": ("receptacle",),
        "examined": ("location",),
        "full": ("receptacle",),
    }
)
_REFUSED: Final = frozenset(
    "holds holdsany holdsanyreceptacleobject isreceptacleobjectfull wasinreceptacle checked examined full".split()
)
_TYPES: Final = frozenset({"agent", "location", "receptacle", "object", "rtype", "otype"})

_COMMENT = re.compile(r";[^\n]*")
_HEAD = re.compile(r"\s*\(\s*define\s*\(\s*problem\s+[^\s()]+\s*\)\s*\(\s*:domain\s+alfred\s*\)\s*\(\s*:objects\s")
_COSTS = re.compile(r"\(\s*=\s*\([^()]*\)\s*\d+\s*\)")
_LOOSE = re.compile(r"\(\s+")
_TOKEN = re.compile(r"[()]|[^\s()]+")
_NONE: Final[frozenset[tuple[str, ...]]] = frozenset()


@dataclass(frozen=True)
class Problem:
    """What a problem text says, in lower case.

    Attributes:
        types: The declared objects and the type of each.
        facts: The start state: for each predicate its rows of arguments.
        goal: The goal expression, as nested lists of words.
    """

    types: dict[str, str]
    facts: dict[str, set[tuple[str, ...]]]
    goal: Expression

    def rows(self, predicate: str) -> Collection[tuple[str, ...]]:
        """The rows of a predicate; none where the start state has no such fact."""
        return self.facts.get(predicate, _NONE)

    def singles(self, predicate: str) -> set[str]:
        """The arguments of a predicate with one argument."""
        return {row[0] for row in self.rows(predicate)}


def unsupported(what: str) -> EngineUnsupported:
    """The error for a problem that the native engine does not model."""
    return EngineUnsupported(f"the native engine does not model this problem ({what}): play it with engine='textworld'")


def read_problem(text: str) -> Problem:
    """Reads a problem text.

    Args:
        text: The PDDL problem, as in the ``pddl_problem`` field of a game file.

    Raises:
        BadInput: `text` is no text.
        EngineUnsupported: It is not a problem of the ALFRED domain, or holds something whose meaning is not certain.
    """
    if not isinstance(text, str):
        raise BadInput(f"a problem is a text, got {type(text).__name__}")
    if ";" in text:
        text = _COMMENT.sub("", text)
    text = text.lower()
    head = _HEAD.match(text)
    init, goal = text.find("(:init"), text.find("(:goal")
    if head is None or not head.end() <= init < goal:
        raise unsupported("its sections are not define, problem, domain alfred, objects, init, goal")
    types = _read_objects(text[head.end() : init])
    facts = _read_facts(text[init + len("(:init") : goal])
    _check_types(types, facts)
    return Problem(types, facts, _read_goal(text[goal:]))


def _read_objects(section: str) -> dict[str, str]:
    words = section.replace(")", " ) ").split()
    if not words or words.pop() != ")" or "(" in section:
        raise unsupported("the list of objects is no plain list")
    names, kinds = words[0::3], words[2::3]
    if len(names) == len(kinds) and set(words[1::3]) == {"-"} and "-" not in names:  # one type each, as published
        types = dict(zip(names, kinds, strict=True))
        if len(types) == len(names) and _TYPES.issuperset(kinds) and ")" not in types:
            return types
    types = {}
    waiting: list[str] = []
    rest = iter(words)
    for word in rest:
        if word != "-":
            waiting.append(word)
            continue
        kind = next(rest, "")
        if kind not in _TYPES or not waiting:
            raise unsupported(f"an object of type {kind!r}")
        for name in waiting:
            if name in types or name == ")":
                raise unsupported(f"the object {name!r} is declared twice or is no word")
            types[name] = kind
        waiting.clear()
    if waiting:
        raise unsupported(f"the object {waiting[0]!r} has no type")
    return types


def _read_facts(section: str) -> dict[str, set[tuple[str, ...]]]:
    if "=" in section:
        section = _COSTS.sub("", section)  # distances and costs steer a planner, not the game
    section = _LOOSE.sub("(", section)
    # Split by hand: this is most of the time that compiling takes, and regular expressions take three times as long.
    *pieces, between, behind = section.split(")") if ")" in section else ("no", "end")
    if between.strip() or behind.strip() or section.count("(") != len(pieces):
        raise unsupported("the start state is no plain list of facts")
    facts: dict[str, set[tuple[str, ...]]] = {}
    for piece in pieces:
        words = piece.split()
        row = tuple(words[1:])
        rows = facts.get(words[0]) if row else None
        if rows is None:
            facts[words[0] if row else "nothing"] = {row}
        else:
            rows.add(row)
    if not all(name[0] == "(" and name != "(" for name in facts):  # and so each piece holds its one parenthesis there
        raise unsupported("the start state is no plain list of facts")
    return {name[1:]: rows for name, rows in facts.items()}


def _check_types(types: dict[str, str], facts: dict[str, set[tuple[str, ...]]]) -> None:
    """Every argument must be declared with the type that its predicate asks for."""
    members: dict[str, set[str]] = {kind: set() for kind in _TYPES}
    for name, kind in types.items():
        members[kind].add(name)
    for predicate, rows in facts.items():
        signature = _SIGNATURES.get(predicate)
        if signature is None or predicate in _REFUSED:
            raise unsupported(f"a start state with {predicate!r}")
        if {len(row) for row in rows} != {len(signature)}:
            raise unsupported(f"{predicate!r} with a wrong number of arguments")
        for kind, column in zip(signature, zip(*rows, strict=True), strict=True):
            if not members[kind].issuperset(column):
                raise unsupported(f"{predicate!r} of something that is not declared as {kind}")


def _read_goal(section: str) -> Expression:
    stack: list[list[Expression]] = [[]]
    for token in _TOKEN.findall(section):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            if not stack:
                break  # this one closes (define
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    else:
        raise unsupported("its parentheses do not match")
    parts = done
    if section.rstrip()[-1:] != ")" or not parts:
        raise unsupported("text behind its end")
    goal, *rest = parts
    if not isinstance(goal, list) or len(goal) != 2 or goal[0] != ":goal":
        raise unsupported("its goal is no single expression")
    if any(not isinstance(part, list) or not part or part[0] != ":metric" for part in rest):
        raise unsupported("something other than a metric behind its goal")
    return goal[1]


def arity(predicate: str) -> int | None:
    """How many arguments a predicate of the domain takes; None if the domain has no such predicate."""
    signature = _SIGNATURES.get(predicate)
    return None if signature is None else len(signature)


def argument_types(predicate: str) -> tuple[str, ...]:
    """The types of a predicate's arguments."""
    return _SIGNATURES[predicate]

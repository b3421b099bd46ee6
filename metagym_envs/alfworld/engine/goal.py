"""Goals: from the expression in a problem to a quick test of a player's state.

A goal is a conjunction of parts; each part is facts joined by variables, ``exists`` and ``and``, with ``not =`` where
two things must differ. Each part becomes a search over few candidates: static facts are looked up once, when the game
is compiled; only what play can change is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from metagym_envs.alfworld.engine.problem import Expression, Problem, argument_types, arity, unsupported


class State(Protocol):
    """What a goal reads of a player."""

    here: int
    held: int
    contents: list[tuple[int, ...]]
    where: list[frozenset[int]]
    spots: list[frozenset[int]]
    opened: int
    clean: int
    hot: int
    cool: int
    sliced: int
    toggled: int


Check = Callable[[State, list[int]], object]
Source = Callable[[State, list[int]], Iterable[int]]
Goal = Callable[[State], bool]

_FLAGS = {"isclean": "clean", "ishot": "hot", "iscool": "cool", "issliced": "sliced", "istoggled": "toggled"}
_FLUENT = frozenset({"atlocation", "objectatlocation", "opened", "inreceptacle", "holds", *_FLAGS})
# Known to the domain, changed by play and read by no published goal: not modelled.
_UNMODELLED = frozenset(
    "ison holdsany holdsanyreceptacleobject isreceptacleobjectfull wasinreceptacle checked examined full".split()
)
# Objects first: the place of each is known, so that receptacles and locations need no search.
_ORDER = {"object": 0, "agent": 1, "receptacle": 2, "location": 3}


@dataclass(frozen=True)
class _Atom:
    predicate: str
    arguments: tuple[str, ...]
    negated: bool = False


def compile_goal(problem: Problem, numbers: Mapping[str, Mapping[str, int]]) -> Goal:
    """Compiles the goal of a problem.

    Args:
        problem: The problem.
        numbers: For each of the types object, receptacle, location and agent the number of each id.

    Returns:
        A pure function of a player's state.

    Raises:
        EngineUnsupported: The goal uses something that is not modelled, or can never hold.
    """
    top = problem.goal
    if not isinstance(top, list) or not top:
        raise unsupported("an empty goal")
    parts = top[1:] if top[0] == "and" else [top]
    if not parts:
        raise unsupported("an empty goal")
    tests = [_compile_part(part, problem, numbers) for part in parts]
    if len(tests) == 1:
        return tests[0]
    return lambda state: all(test(state) for test in tests)


def _flatten(expression: Expression, types: dict[str, str]) -> list[_Atom]:
    """The atoms of a positive expression; `types` collects the type of each variable on the way."""
    if not isinstance(expression, list) or not expression:
        raise unsupported("a goal that is no expression")
    word, rest = expression[0], expression[1:]
    if word == "and":
        return [atom for part in rest for atom in _flatten(part, types)]
    if word == "exists" and len(rest) == 2:
        _declare(rest[0], types)
        return _flatten(rest[1], types)
    if word == "not" and len(rest) == 1:
        if not isinstance(rest[0], list) or rest[0][:1] in (["and"], ["exists"], ["not"]):
            raise unsupported("a goal with 'not' around more than one fact")
        atoms = _flatten(rest[0], {})
        return [_Atom(atoms[0].predicate, atoms[0].arguments, True)]
    arguments = tuple(part for part in rest if isinstance(part, str))
    if not isinstance(word, str) or len(arguments) != len(rest):
        raise unsupported("a goal that nests facts")
    if len(arguments) != (2 if word == "=" else arity(word)):
        raise unsupported(f"a goal with {word!r}")
    if word in _UNMODELLED:
        raise unsupported(f"a goal that reads {word!r}")
    return [_Atom(word, arguments)]


def _declare(variables: Expression, types: dict[str, str]) -> None:
    waiting: list[str] = []
    rest = iter(variables if isinstance(variables, list) else [""])
    for word in rest:
        if not isinstance(word, str):
            raise unsupported("a goal with a nested variable list")
        if word != "-":
            waiting.append(word)
            continue
        kind = next(rest, "")
        for name in waiting:
            if name in types or not isinstance(kind, str) or kind not in _ORDER or not name.startswith("?"):
                raise unsupported(f"the goal variable {name!r}")
            types[name] = kind
        waiting.clear()
    if waiting:
        raise unsupported(f"the goal variable {waiting[0]!r} has no type")


def _compile_part(part: Expression, problem: Problem, numbers: Mapping[str, Mapping[str, int]]) -> Goal:
    types: dict[str, str] = {}
    atoms = _flatten(part, types)
    _check_atoms(atoms, types)
    variables = sorted(types, key=lambda name: _ORDER[types[name]])
    place = {name: position for position, name in enumerate(variables)}
    allowed = {name: set(numbers[types[name]]) for name in variables}
    checks: list[list[Check]] = [[] for _ in variables]
    sources: list[Source | None] = [None] * len(variables)
    for atom in atoms:
        used = [name for name in atom.arguments if name in place]
        if atom.predicate not in _FLUENT and atom.predicate != "=" and not atom.negated and len(used) == 1:
            allowed[used[0]] &= _matching(atom, used[0], problem)
            continue
        last = max(place[name] for name in used)
        source = _source(atom, place, last) if sources[last] is None else None
        if source is not None:
            sources[last] = source
        else:
            checks[last].append(_check(atom, place, types, problem, numbers))
    candidates = []
    for name in variables:
        found = sorted(numbers[types[name]][word] for word in allowed[name])
        if not found:
            raise unsupported("a goal that nothing in the game can meet")
        candidates.append(tuple(found))
    return _search(candidates, sources, checks)


def _check_atoms(atoms: Sequence[_Atom], types: Mapping[str, str]) -> None:
    bound: set[str] = set()
    for atom in atoms:
        used = [name for name in atom.arguments if name.startswith("?")]
        if not used or any(name not in types for name in used):
            raise unsupported(f"a goal with {atom.predicate!r} of no declared variable")
        if atom.predicate == "=":
            if len(used) != 2 or types[used[0]] != types[used[1]]:
                raise unsupported("a goal with '=' of different kinds")
            continue
        kinds = argument_types(atom.predicate)
        for name, kind in zip(atom.arguments, kinds, strict=True):
            if name in types and types[name] != kind:
                raise unsupported(f"a goal with {atom.predicate!r} of a {types[name]}")
        if atom.predicate in _FLUENT and len(used) != len(kinds):
            raise unsupported(f"a goal with {atom.predicate!r} of a constant")
        if not atom.negated:
            bound.update(used)
    if bound != set(types):
        # an unbound variable would range over the objects of every type, for the domain's `object` is PDDL's root type
        raise unsupported("a goal with a variable that no fact binds")


def _matching(atom: _Atom, variable: str, problem: Problem) -> set[str]:
    """The ids for which a static fact about one variable holds."""
    rows = problem.rows(atom.predicate)
    if len(atom.arguments) == 1:
        return {row[0] for row in rows}
    first, second = atom.arguments
    if first == second:
        return {row[0] for row in rows if row[0] == row[1]}
    if first == variable:
        return {row[0] for row in rows if row[1] == second}
    return {row[1] for row in rows if row[0] == first}


def _source(atom: _Atom, place: Mapping[str, int], last: int) -> Source | None:
    """Where the candidates for the variable at `last` can be read off the state, if `atom` tells."""
    if atom.negated:
        return None
    spots = [place[name] for name in atom.arguments if name in place]
    if atom.predicate == "inreceptacle" and spots[1] == last:
        thing = spots[0]
        return lambda state, bound: state.where[bound[thing]]
    if atom.predicate == "atlocation" and spots[1] == last:
        return lambda state, bound: (state.here,)
    return None


def _check(
    atom: _Atom,
    place: Mapping[str, int],
    types: Mapping[str, str],
    problem: Problem,
    numbers: Mapping[str, Mapping[str, int]],
) -> Check:
    """A test of one atom with every variable bound."""
    test = _positive(atom, place, types, problem, numbers)
    if atom.negated:
        return lambda state, bound: not test(state, bound)
    return test


def _positive(
    atom: _Atom,
    place: Mapping[str, int],
    types: Mapping[str, str],
    problem: Problem,
    numbers: Mapping[str, Mapping[str, int]],
) -> Check:
    name = atom.predicate
    spots = [place[word] for word in atom.arguments if word in place]
    first, second = spots[0], spots[-1]
    if name == "=":
        return lambda state, bound: bound[first] == bound[second]
    if name == "inreceptacle":
        return lambda state, bound: bound[second] in state.where[bound[first]]
    if name == "holds":
        return lambda state, bound: state.held == bound[second]
    if name == "atlocation":
        return lambda state, bound: state.here == bound[second]
    if name == "objectatlocation":
        return lambda state, bound: bound[second] in state.spots[bound[first]]
    if name == "opened":
        return lambda state, bound: state.opened >> bound[first] & 1
    if name == "istoggled":
        return lambda state, bound: state.toggled >> bound[first] & 1
    if name in _FLAGS:
        flag = _FLAGS[name]
        return lambda state, bound: getattr(state, flag) >> bound[first] & 1
    rows = set()
    for row in problem.rows(name):
        if all(word in place or word == value for word, value in zip(atom.arguments, row, strict=True)):
            rows.add(
                tuple(
                    numbers[types[word]].get(value, -1)
                    for word, value in zip(atom.arguments, row, strict=True)
                    if word in place
                )
            )
    if len(spots) == 1:
        return lambda state, bound: (bound[first],) in rows
    return lambda state, bound: (bound[first], bound[second]) in rows


def _search(
    candidates: Sequence[tuple[int, ...]], sources: Sequence[Source | None], checks: Sequence[Sequence[Check]]
) -> Goal:
    sets = [frozenset(found) for found in candidates]
    end = len(candidates)

    def search(state: State, bound: list[int], depth: int) -> bool:
        source = sources[depth]
        values: Iterable[int] = candidates[depth]
        if source is not None:
            values = sets[depth].intersection(source(state, bound))
        for value in values:
            bound[depth] = value
            for check in checks[depth]:
                if not check(state, bound):
                    break
            else:
                if depth + 1 == end or search(state, bound, depth + 1):
                    return True
        return False

    return lambda state: search(state, [0] * end, 0)

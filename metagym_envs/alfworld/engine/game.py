"""A compiled game: everything about one problem that does not change while it is played."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from metagym.errors import BadInput
from metagym_envs.alfworld.engine.goal import Goal, compile_goal
from metagym_envs.alfworld.engine.names import listing, shown_names
from metagym_envs.alfworld.engine.problem import Problem, read_problem, unsupported
from metagym_envs.alfworld.engine.wording import BANNER, HELP, TASK_LEAD, Wording, wording

_MICROWAVES: Final = frozenset({"microwavetype"})
_FRIDGES: Final = frozenset({"fridgetype"})
_KNIVES: Final = frozenset({"knifetype", "butterknifetype"})
# The engine's grammar would read these as its own marks in a task sentence (or stop at them).
_GRAMMAR_MARKS = re.compile(r'[;|"<>\[\]#{}\\\x00-\x1f\x7f]')


@dataclass(frozen=True)
class Start:
    """The state that a game starts in; see `Player` for the meaning of each field."""

    here: int
    contents: tuple[tuple[int, ...], ...]
    where: tuple[frozenset[int], ...]
    spots: tuple[frozenset[int], ...]
    opened: int
    clean: int
    hot: int
    cool: int
    sliced: int
    toggled: int


@dataclass(frozen=True, eq=False, repr=False)
class Game:
    """One game, compiled. Immutable: any number of players in any number of threads may share it.

    Receptacles, objects and locations are numbered from 0 in the sorted order of their ids (in lower case), which is
    the order in which the engine lists them. A tuple that starts with ``receptacle_`` or ``object_`` has one entry per
    receptacle or object. Pickled as its text; unpickling compiles it anew.

    Attributes:
        problem: The problem text it was compiled from.
        task: The task sentence, without lead and full stop.
        generation: Which generation of the text it plays in (see `wording`).
        help_text: What `help` answers.
        intro: The observation that a reset gives.
        wording: The generation's wording.
        receptacle_ids: Ids in lower case.
        receptacle_names: Shown names, e.g. ``"drawer 2"``.
        receptacle_types: Types in lower case, e.g. ``{"drawertype"}``.
        receptacle_location: The location where it stands.
        openable: Whether the receptacle can be opened and closed.
        accepts: The objects that it takes, wherever they are.
        is_sink: Whether things are cleaned in it.
        is_microwave: Whether things are heated in it.
        is_fridge: Whether things are cooled in it.
        object_ids: Ids in lower case.
        object_names: Shown names, e.g. ``"apple 1"``.
        object_types: Types in lower case, e.g. ``{"appletype"}``.
        pickupable: Whether it can be taken.
        toggleable: Whether it can be used (a lamp).
        cleanable: Whether it can be cleaned.
        heatable: Whether it can be heated.
        coolable: Whether it can be cooled.
        sliceable: Whether it can be sliced.
        is_knife: Whether things are sliced with it.
        inner_text: What examining it says if things can be put inside it, else None.
        receptacles_at: For each location the receptacles that stand there.
        receptacle_number: From shown name to number.
        object_number: From shown name to number.
        start: The state that the game starts in.
        goal: The test of a player's state.
    """

    problem: str
    task: str
    generation: str
    help_text: str
    intro: str
    wording: Wording
    receptacle_ids: tuple[str, ...]
    receptacle_names: tuple[str, ...]
    receptacle_types: tuple[frozenset[str], ...]
    receptacle_location: tuple[int, ...]
    openable: tuple[bool, ...]
    accepts: tuple[frozenset[int], ...]
    is_sink: tuple[bool, ...]
    is_microwave: tuple[bool, ...]
    is_fridge: tuple[bool, ...]
    object_ids: tuple[str, ...]
    object_names: tuple[str, ...]
    object_types: tuple[frozenset[str], ...]
    pickupable: tuple[bool, ...]
    toggleable: tuple[bool, ...]
    cleanable: tuple[bool, ...]
    heatable: tuple[bool, ...]
    coolable: tuple[bool, ...]
    sliceable: tuple[bool, ...]
    is_knife: tuple[bool, ...]
    inner_text: tuple[str | None, ...]
    receptacles_at: tuple[tuple[int, ...], ...]
    receptacle_number: Mapping[str, int]
    object_number: Mapping[str, int]
    start: Start
    goal: Goal
    # texts that play needs again and again
    object_phrases: tuple[str, ...] = field(repr=False)
    arrive_texts: tuple[str, ...] = field(repr=False)
    facing_texts: tuple[str | None, ...] = field(repr=False)
    goto_commands: tuple[tuple[str, ...], ...] = field(repr=False)

    @classmethod
    def compile(cls, problem: str, task: str, generation: str = "0.4", help_text: str = HELP) -> Game:
        """Compiles a problem text.

        Args:
            problem: The PDDL problem text of the game.
            task: The task sentence without a final full stop ("put two cloth in drawer"), or the whole line that
                the grammar holds if it begins with "Your task is to: ".
            generation: ``"0.4"``, ``"legacy"`` or ``"0.3"``; see `metagym_envs.alfworld.engine.wording`.
            help_text: What `help` answers; 0.4's own sentence by default.

        Raises:
            BadInput: `problem` or `task` is no text, or there is no such generation.
            EngineUnsupported: The problem uses something that this engine does not model; the real engine may play it.
        """
        words = wording(generation)
        if not isinstance(task, str) or not isinstance(help_text, str):
            raise BadInput(f"a task and a help text are texts, got {type(task).__name__}, {type(help_text).__name__}")
        if not task.strip() or _GRAMMAR_MARKS.search(task):
            raise unsupported(f"the task sentence {task[:80]!r}")
        return _Compiler(read_problem(problem), words).build(problem, task, generation, help_text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Sends the text: the goal is a function and cannot be sent, and compiling is quick."""
        return (Game.compile, (self.problem, self.task, self.generation, self.help_text))

    def __repr__(self) -> str:
        """Names the task and the size, not the whole text."""
        return (
            f"Game({self.task!r}, {self.generation}, {len(self.receptacle_ids)} receptacles, "
            f"{len(self.object_ids)} objects)"
        )


class _Compiler:
    """The steps from facts to a `Game`."""

    def __init__(self, facts: Problem, words: Wording) -> None:
        self.facts = facts
        self.words = words
        at = list(facts.rows("atlocation"))
        if len(at) != 1 or sum(kind == "agent" for kind in facts.types.values()) != 1:
            raise unsupported("not exactly one agent")
        self.agent, self.begin = at[0]
        self.names = shown_names({word for rows in facts.facts.values() for row in rows for word in row})
        spots = {receptacle: location for receptacle, location in facts.rows("receptacleatlocation")}
        if len(spots) != len(facts.rows("receptacleatlocation")):
            raise unsupported("a receptacle at two locations")
        self.receptacles = sorted(spots)
        self.objects = sorted(self._object_ids())
        self.locations = sorted({self.begin, *spots.values(), *(spot for _, spot in facts.rows("objectatlocation"))})
        self.r = {name: number for number, name in enumerate(self.receptacles)}
        self.o = {name: number for number, name in enumerate(self.objects)}
        self.at = {name: number for number, name in enumerate(self.locations)}
        self.stands_at = tuple(self.at[spots[name]] for name in self.receptacles)
        if any(holder not in self.r for _, holder in facts.rows("inreceptacle")):
            raise unsupported("an object in a receptacle that stands nowhere")
        self.object_types = self._types("objecttype", self.objects)
        self.receptacle_types = self._types("receptacletype", self.receptacles)

    def _object_ids(self) -> set[str]:
        facts = self.facts
        return {word for rows in facts.facts.values() for row in rows for word in row if facts.types[word] == "object"}

    def _types(self, predicate: str, ids: list[str]) -> tuple[frozenset[str], ...]:
        found: dict[str, set[str]] = {name: set() for name in ids}
        for name, kind in self.facts.rows(predicate):
            if name in found:
                found[name].add(kind)
        return tuple(frozenset(kinds) for kinds in found.values())

    def _accepts(self) -> tuple[frozenset[int], ...]:
        members: dict[str, set[int]] = {}
        for number, kinds in enumerate(self.object_types):
            for kind in kinds:
                members.setdefault(kind, set()).add(number)
        taken: dict[str, set[int]] = {}
        for receptacle_type, object_type in self.facts.rows("cancontain"):
            taken.setdefault(receptacle_type, set()).update(members.get(object_type, ()))
        return tuple(frozenset().union(*(taken.get(kind, ()) for kind in kinds)) for kinds in self.receptacle_types)

    def _flags(self, predicate: str, ids: list[str]) -> tuple[bool, ...]:
        marked = self.facts.singles(predicate)
        return tuple(name in marked for name in ids)

    def _bits(self, predicate: str, numbers: Mapping[str, int]) -> int:
        return sum(1 << numbers[name] for name in self.facts.singles(predicate) if name in numbers)

    def _inner_texts(self) -> tuple[str | None, ...]:
        inside: dict[str, list[str]] = {}
        for inner, outer in sorted(self.facts.rows("inreceptacleobject")):
            if inner != outer:
                inside.setdefault(outer, []).append("a " + self.names[inner])
        boxes = self.facts.singles("isreceptacleobject")
        return tuple(
            f"This is a normal {self.names[name]}. In it, you see {listing(inside.get(name, []))}."
            if name in boxes
            else None
            for name in self.objects
        )

    def _start(self) -> Start:
        contents: list[list[int]] = [[] for _ in self.receptacles]
        where: list[set[int]] = [set() for _ in self.objects]
        spots: list[set[int]] = [set() for _ in self.objects]
        for thing, holder in self.facts.rows("inreceptacle"):
            contents[self.r[holder]].append(self.o[thing])
            where[self.o[thing]].add(self.r[holder])
        for thing, spot in self.facts.rows("objectatlocation"):
            spots[self.o[thing]].add(self.at[spot])
        return Start(
            here=self.at[self.begin],
            contents=tuple(tuple(sorted(things)) for things in contents),
            where=tuple(map(frozenset, where)),
            spots=tuple(map(frozenset, spots)),
            opened=self._bits("opened", self.r),
            clean=self._bits("isclean", self.o),
            hot=self._bits("ishot", self.o),
            cool=self._bits("iscool", self.o),
            sliced=self._bits("issliced", self.o),
            toggled=self._bits("istoggled", self.o),
        )

    def build(self, problem: str, task: str, generation: str, help_text: str) -> Game:
        names, words = self.names, self.words
        receptacle_names = tuple(names[name] for name in self.receptacles)
        object_names = tuple(names[name] for name in self.objects)
        standing: list[list[int]] = [[] for _ in self.locations]
        for number, spot in enumerate(self.stands_at):
            standing[spot].append(number)
        stands = [listing([receptacle_names[r] for r in there]) if there else None for there in standing]
        facing = tuple(None if text is None else f"You are facing the {text}. Next to it, you see " for text in stands)
        start = self._start()
        line = task if task.startswith(TASK_LEAD) else f"{TASK_LEAD}{task}."
        room = "You are in the middle of a room. Looking quickly around you, you see "
        lead = facing[start.here]
        view = room + listing(["a " + name for name in receptacle_names]) if lead is None else lead + "nothing"
        goto = sorted((f"go to {name}", spot) for name, spot in zip(receptacle_names, self.stands_at, strict=True))
        return Game(
            problem=problem,
            task=line.removeprefix(TASK_LEAD).removesuffix("."),
            generation=generation,
            help_text=help_text,
            intro=f"{BANNER}{view}.\n\n{line}",
            wording=words,
            receptacle_ids=tuple(self.receptacles),
            receptacle_names=receptacle_names,
            receptacle_types=self.receptacle_types,
            receptacle_location=self.stands_at,
            openable=self._flags("openable", self.receptacles),
            accepts=self._accepts(),
            is_sink=tuple(bool(kinds & words.sink_types) for kinds in self.receptacle_types),
            is_microwave=tuple(bool(kinds & _MICROWAVES) for kinds in self.receptacle_types),
            is_fridge=tuple(bool(kinds & _FRIDGES) for kinds in self.receptacle_types),
            object_ids=tuple(self.objects),
            object_names=object_names,
            object_types=self.object_types,
            pickupable=self._flags("pickupable", self.objects),
            toggleable=self._flags("toggleable", self.objects),
            cleanable=self._flags("cleanable", self.objects),
            heatable=self._flags("heatable", self.objects),
            coolable=self._flags("coolable", self.objects),
            sliceable=self._flags("sliceable", self.objects),
            is_knife=tuple(bool(kinds & _KNIVES) for kinds in self.object_types),
            inner_text=self._inner_texts(),
            receptacles_at=tuple(map(tuple, standing)),
            receptacle_number={name: number for number, name in enumerate(receptacle_names)},
            object_number={name: number for number, name in enumerate(object_names)},
            start=start,
            goal=compile_goal(
                self.facts,
                {"object": self.o, "receptacle": self.r, "location": self.at, "agent": {self.agent: 0}},
            ),
            object_phrases=tuple("a " + name for name in object_names),
            arrive_texts=tuple(
                f"You arrive at {names[name] if words.arrives_at_receptacle else names[self.locations[spot]]}. "
                for name, spot in zip(self.receptacles, self.stands_at, strict=True)
            ),
            facing_texts=facing,
            goto_commands=tuple(
                tuple([command for command, spot in goto if spot != here]) for here in range(len(self.locations))
            ),
        )

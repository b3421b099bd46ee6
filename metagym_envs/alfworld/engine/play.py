"""Playing a compiled game: a plain state machine that answers as the real engine does, to the byte."""

from __future__ import annotations

from typing import Any

from metagym.errors import BadInput
from metagym_envs.alfworld.engine.game import Game
from metagym_envs.alfworld.engine.names import listing
from metagym_envs.alfworld.engine.observation import Observation
from metagym_envs.alfworld.engine.wording import NOTHING_HAPPENS


class Player:
    """One play of a game. Cheap to make, clone and pickle; not to be shared by threads (the game is).

    Objects, receptacles and locations are numbers (see `Game`). An `int` of bits has bit ``n`` for number ``n``.

    Attributes:
        game: The game.
        here: The location where the agent stands.
        held: The object in its hand, or -1.
        contents: For each receptacle the objects in it, sorted.
        where: For each object the receptacles it is in. Some published games put one object into two; taking it
            from one leaves it in the other, still listed while it is held.
        spots: For each object the locations recorded for it, which may differ from where its receptacles stand.
        gone: The (object, receptacle) pairs taken out and not put back there.
        opened: Bits of the open receptacles.
        clean: Bits of the objects that are clean.
        hot: Bits of the objects that are hot.
        cool: Bits of the objects that are cool.
        sliced: Bits of the objects that are sliced.
        toggled: Bits of the lamps that were used.
        won: Whether the goal holds.
        turn: How many resets and steps were made; no part of the state.
    """

    __slots__ = (
        "game",
        "here",
        "held",
        "contents",
        "where",
        "spots",
        "gone",
        "opened",
        "clean",
        "hot",
        "cool",
        "sliced",
        "toggled",
        "won",
        "turn",
    )

    def __init__(self, game: Game) -> None:
        """Stands at the start of `game`, as after a reset."""
        self.game = game
        self.turn = 0
        self._restart()

    def _restart(self) -> None:
        start = self.game.start
        self.here, self.held = start.here, -1
        self.contents = list(start.contents)
        self.where = list(start.where)
        self.spots = list(start.spots)
        self.gone: frozenset[tuple[int, int]] = frozenset()
        self.opened, self.clean, self.hot = start.opened, start.clean, start.hot
        self.cool, self.sliced, self.toggled = start.cool, start.sliced, start.toggled
        self.won = self.game.goal(self)

    def reset(self) -> Observation:
        """Goes back to the start and gives the intro."""
        self.turn += 1
        self._restart()
        return Observation(self.game.intro, self.won, self)

    def clone(self) -> Player:
        """A second player standing exactly here."""
        twin = object.__new__(Player)
        twin.__setstate__(self.__getstate__())
        return twin

    def key(self) -> tuple[Any, ...]:
        """The state as a hashable value: players of one game with equal keys answer every later command alike."""
        return (
            self.here,
            self.held,
            self.opened,
            self.clean,
            self.hot,
            self.cool,
            self.sliced,
            self.toggled,
            tuple(self.contents),
            tuple(self.spots),
            self.gone,
        )

    def __getstate__(self) -> tuple[Any, ...]:
        """The values of all slots, in their order; lists are copied."""
        return (
            self.game,
            self.here,
            self.held,
            self.contents[:],
            self.where[:],
            self.spots[:],
            self.gone,
            self.opened,
            self.clean,
            self.hot,
            self.cool,
            self.sliced,
            self.toggled,
            self.won,
            self.turn,
        )

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Fills all slots."""
        for name, value in zip(Player.__slots__, state, strict=True):
            setattr(self, name, value)

    def step(self, command: str) -> Observation:
        """Answers one command.

        Blanks at the ends are dropped; then the command must equal an admissible one. Anything else changes nothing and
        is answered "Nothing happens.".

        Raises:
            BadInput: `command` is no text.
        """
        if not isinstance(command, str):
            raise BadInput(f"a command is a text, got {type(command).__name__}")
        command = command.strip()
        self.turn += 1
        text: str | None
        if command == "look":
            text = self._look()
        elif command == "inventory":
            text = self._inventory()
        elif command == "help":
            text = self.game.help_text if self.game.wording.has_help else None
        else:
            verb, _, rest = command.partition(" ")
            act = _VERBS.get(verb)
            if act is None and verb == self.game.wording.put_verb:
                act = Player._put
            text = None if act is None else act(self, rest)
        return Observation(NOTHING_HAPPENS if text is None else text, self.won, self)

    # --- texts

    def _look(self) -> str:
        game, here = self.game, self.here
        lead = game.facing_texts[here]
        if lead is None:  # the list of the room is in the intro alone
            return "You are in the middle of a room. Looking quickly around you, you see nothing."
        # What is listed was taken out of a receptacle that stands here and lies at this location again: it was put
        # into a neighbour on the same spot.
        there = game.receptacles_at[here]
        floor = [game.object_phrases[o] for o, r in sorted(self.gone) if r in there and here in self.spots[o]]
        return f"{lead}{listing(floor)}."

    def _inventory(self) -> str:
        if self.held < 0:
            return "You are not carrying anything."
        return f"You are carrying: {self.game.object_phrases[self.held]}."

    def _inside(self, r: int) -> str:
        game = self.game
        if not game.openable[r]:
            lead = f"On the {game.receptacle_names[r]}, you see "
        elif self.opened >> r & 1:
            lead = f"The {game.receptacle_names[r]} is open. In it, you see "
        else:
            return f"The {game.receptacle_names[r]} is closed."
        phrases = game.object_phrases
        return f"{lead}{listing([phrases[o] for o in self.contents[r]])}."

    def _held_text(self) -> str:
        """What examining the held object says."""
        game, o = self.game, self.held
        inner, name = game.inner_text[o], game.object_names[o]
        if inner is not None:
            return inner
        clean, sliced = self.clean >> o & 1, self.sliced >> o & 1
        heat = "hot" if self.hot >> o & 1 else "cool" if self.cool >> o & 1 else ""
        if sliced and (clean or heat):
            return f"This is a {' and '.join(filter(None, (heat, 'clean' if clean else '')))} sliced {name}."
        if clean and heat:
            return f"This is a {heat} and clean {name}."
        if clean or heat:
            return f"This is a {'clean' if clean else 'hot' if heat == 'hot' else 'cold'} {name}."
        if game.toggleable[o] and self.toggled >> o & 1:
            return f"This {name} is on."
        if game.sliceable[o] and sliced:
            return f"This is a sliced {name}."
        return f"There's nothing special about {name}."

    # --- verbs: each gives its text, or None where its command is not admissible

    def _receptacle_here(self, name: str) -> int:
        """The number of the receptacle called `name` if it stands here, else -1."""
        r = self.game.receptacle_number.get(name, -1)
        return r if r >= 0 and self.game.receptacle_location[r] == self.here else -1

    def _within_reach(self, r: int) -> bool:
        return not self.game.openable[r] or bool(self.opened >> r & 1)

    def _go(self, rest: str) -> str | None:
        game = self.game
        r = game.receptacle_number.get(rest[3:], -1) if rest.startswith("to ") else -1
        if r < 0 or game.receptacle_location[r] == self.here:
            return None
        self.here = game.receptacle_location[r]
        self.won = game.goal(self)
        return game.arrive_texts[r] + self._inside(r)

    def _open(self, rest: str) -> str | None:
        r = self._receptacle_here(rest)
        if r < 0 or not self.game.openable[r] or self.opened >> r & 1:
            return None
        self.opened |= 1 << r
        self.won = self.game.goal(self)
        return f"You open the {rest}. {self._inside(r)}"

    def _close(self, rest: str) -> str | None:
        r = self._receptacle_here(rest)
        if r < 0 or not self.game.openable[r] or not self.opened >> r & 1:
            return None
        self.opened ^= 1 << r
        self.won = self.game.goal(self)
        return f"You close the {rest}."

    def _take(self, rest: str) -> str | None:
        game = self.game
        thing, _, holder = rest.partition(" from ")
        o, r = game.object_number.get(thing, -1), self._receptacle_here(holder)
        if self.held >= 0 or o < 0 or r < 0 or r not in self.where[o]:
            return None
        if not game.pickupable[o] or not self._within_reach(r):
            return None
        self.contents[r] = tuple([x for x in self.contents[r] if x != o])
        self.where[o] -= {r}
        self.spots[o] -= {self.here}
        self.gone |= {(o, r)}
        self.held = o
        self.won = game.goal(self)
        return f"You pick up the {thing} from the {holder}."

    def _put(self, rest: str) -> str | None:
        game, words, o = self.game, self.game.wording, self.held
        thing, _, holder = rest.partition(words.put_join)
        r = self._receptacle_here(holder)
        if o < 0 or r < 0 or game.object_names[o] != thing:
            return None
        if not self._within_reach(r) or o not in game.accepts[r]:
            return None
        if r not in self.where[o]:
            self.where[o] |= {r}
            self.contents[r] = tuple(sorted((*self.contents[r], o)))
        self.gone -= {(o, r)}
        self.spots[o] |= {self.here}
        self.held = -1
        self.won = game.goal(self)
        return f"You {words.put_verb} the {thing}{words.put_join}the {holder}."

    def _examine(self, rest: str) -> str | None:
        r = self._receptacle_here(rest)
        if r >= 0:
            return self._inside(r)
        # The domain means to allow things in an open receptacle too, but a comma in its quantifier names a type that
        # has no members: only what is held can be examined.
        return self._held_text() if self.held >= 0 and self.game.object_names[self.held] == rest else None

    def _use(self, rest: str) -> str | None:
        game = self.game
        o = game.object_number.get(rest, -1)
        if o < 0 or not game.toggleable[o]:
            return None
        if not any(game.receptacle_location[r] == self.here for r in self.where[o]):
            return None
        self.toggled |= 1 << o
        self.won = game.goal(self)
        return f"You turn on the {rest}."  # also the second time: "off" cannot be reached

    def _treat(self, rest: str, able: tuple[bool, ...], device: tuple[bool, ...]) -> tuple[int, str, str] | None:
        thing, _, holder = rest.partition(" with ")
        o, r = self.held, self._receptacle_here(holder)
        if o < 0 or r < 0 or self.game.object_names[o] != thing or not able[o] or not device[r]:
            return None
        return 1 << o, thing, holder

    def _heat(self, rest: str) -> str | None:
        found = self._treat(rest, self.game.heatable, self.game.is_microwave)
        if found is None:
            return None
        bit, thing, holder = found
        self.hot |= bit
        self.cool &= ~bit
        self.won = self.game.goal(self)
        return f"You heat the {thing} using the {holder}."

    def _cool(self, rest: str) -> str | None:
        found = self._treat(rest, self.game.coolable, self.game.is_fridge)
        if found is None:
            return None
        bit, thing, holder = found
        self.cool |= bit
        self.hot &= ~bit
        self.won = self.game.goal(self)
        return f"You cool the {thing} using the {holder}."

    def _clean(self, rest: str) -> str | None:
        found = self._treat(rest, self.game.cleanable, self.game.is_sink)
        if found is None:
            return None
        bit, thing, holder = found
        self.clean |= bit
        self.won = self.game.goal(self)
        return f"You clean the {thing} using the {holder}."

    def _slice(self, rest: str) -> str | None:
        game, knife = self.game, self.held
        thing, _, tool = rest.partition(" with ")
        o = game.object_number.get(thing, -1)
        if knife < 0 or o < 0 or game.object_names[knife] != tool or not game.is_knife[knife]:
            return None
        if not game.sliceable[o] or self.here not in self.spots[o]:
            return None
        self.sliced |= 1 << o
        self.won = game.goal(self)
        return f"You sliced the {thing} with the {tool}."


_VERBS = {
    "go": Player._go,
    "open": Player._open,
    "close": Player._close,
    "take": Player._take,
    "examine": Player._examine,
    "use": Player._use,
    "heat": Player._heat,
    "cool": Player._cool,
    "clean": Player._clean,
    "slice": Player._slice,
}

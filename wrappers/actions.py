"""The one rule by which a text becomes an action, for every space.

1. Blanks around the text do not count, nor does a Markdown fence around all of it.
2. ``Discrete``: the text is compared with the names, the aliases and the numbers of the actions. Case, repeated blanks,
   surrounding quotes and backticks, a leading ``>`` and a final full stop do not count.
3. ``Text``: the text is the action, as it stands; a JSON string stands for its content.
4. Everything else: the text is one JSON value. ``Box``, ``MultiDiscrete`` and ``MultiBinary`` are (nested) lists, where
   there is a single element also the bare number; ``Dict`` is an object with exactly its keys; ``Tuple`` and
   ``Sequence`` are lists; ``OneOf`` is ``{"choice": n, "value": ...}``; ``Graph`` is ``{"nodes": [...], "edges": [...],
   "edge_links": [[from, to], ...]}``. Within them a ``Discrete`` is its number and a ``Text`` a JSON string.
5. A number out of range is refused, or taken as the nearest bound (``out_of_range="clip"``).

What fits none of this is refused in one sentence. Nothing is guessed, and nothing is snapped to the nearest name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from gymnasium import Space, spaces

from metagym.checks import shown
from metagym.episodes import Repair
from metagym.errors import BadInput
from metagym.families import Cleaned
from metagym.spaces import FreeText
from metagym_wrappers.plain import Unfit, check_plain, from_plain, to_plain
from metagym_wrappers.wording import describe, listed

OutOfRange = Literal["reject", "clip"]

MAX_TEXT = 1_000_000
"""Longest text that is read as JSON, in characters."""
MAX_LISTED = 64
"""Environments with more actions than this do not list them."""

_FENCE = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)


def folded(text: str) -> str:
    """A text in the form in which names are compared."""
    return " ".join(text.split()).lstrip("> ").strip("`\"'").removesuffix(".").strip().casefold()


class ActionReader:
    """Reads and writes the actions of a space as text; see the module for the rule.

    Args:
        space: The action space.
        names: Of the actions of a ``Discrete``, in the order of their numbers; None names them by their numbers.
        aliases: Further names: alias to name (or number), e.g. ``{"l": "left"}``.
        out_of_range: ``"reject"`` or ``"clip"``.

    Raises:
        BadInput: The space has no text form, or names and aliases do not fit it.
    """

    def __init__(
        self,
        space: Space[Any],
        names: Sequence[str] | None = None,
        aliases: Mapping[str, str | int] | None = None,
        out_of_range: OutOfRange = "reject",
    ) -> None:
        if out_of_range not in get_args(OutOfRange):
            raise BadInput(f"out_of_range is one of {', '.join(get_args(OutOfRange))}, got {out_of_range!r}")
        check_plain(space)
        self.space = space
        self.clip = out_of_range == "clip"
        self.names: tuple[str, ...] | None = None
        self.exact: dict[str, int] = {}
        """Name to action, as written: what most actions are found by."""
        self._folded: dict[str, int] = {}
        if isinstance(space, spaces.Discrete):
            self._name(space, names, aliases or {})
        elif names is not None or aliases:
            raise BadInput(f"only the actions of a Discrete space have names and aliases, this one is {shown(space)}")

    def _name(self, space: spaces.Discrete, names: Sequence[str] | None, aliases: Mapping[str, str | int]) -> None:
        start, count = int(space.start), int(space.n)
        if names is None and count > MAX_LISTED:
            if aliases:
                raise BadInput(f"aliases need names, or no more than {MAX_LISTED} actions; there are {count}")
            return
        if isinstance(names, str):
            raise BadInput(f"the names of actions are a list, got {shown(names)}")
        given = tuple(names) if names is not None else tuple(str(start + at) for at in range(count))
        if len(given) != count or not all(isinstance(name, str) and folded(name) for name in given):
            raise BadInput(f"each of the {count} actions has one name, got {shown(list(given))}")
        self.names = given
        for at, name in enumerate(given):
            self._add(name, start + at)
        self.exact = dict(zip(given, range(start, start + count), strict=True))
        for alias, meant in aliases.items():
            named = self._folded.get(folded(str(meant)))
            if named is None and str(meant) in map(str, self.exact.values()):
                named = int(meant)
            if named is None:
                raise BadInput(f"alias {alias!r} stands for {meant!r}, which is none of {listed(given)}")
            self._add(alias, named)
        for number in self.exact.values():
            self._add(str(number), number)

    def _add(self, name: str, action: int) -> None:
        if self._folded.setdefault(folded(name), action) != action:
            raise BadInput(f"of the names, aliases and numbers, {folded(name)!r} stands for two actions")

    def read(self, text: str) -> Any:
        """The action in a text.

        Raises:
            Unfit: There is none; the message tells how one is written and is fit for the model.
        """
        found = self.exact.get(text)
        if found is not None:
            return found
        body = text.strip()
        if body.startswith("```") and (fence := _FENCE.match(body)):
            body = fence[1].strip()
        if not body:
            raise Unfit(f"there is no action in the text; an action is {self.wording}")
        if self.names is not None:
            found = self._folded.get(folded(body))
            if found is not None:
                return found
            number = _whole_number(body) if self.clip else None
            if number is None:
                raise Unfit(f"{shown(body)} is no action; an action is {self.wording}")
            return from_plain(self.space, number, True)
        if isinstance(self.space, (spaces.Text, FreeText)):
            return from_plain(self.space, _unquoted(body))
        return from_plain(self.space, self._json(body), self.clip)

    def _json(self, body: str) -> Any:
        if len(body) > MAX_TEXT:
            raise Unfit(f"the action is longer than {MAX_TEXT} characters")
        try:
            return json.loads(body, parse_constant=_no_constant, object_pairs_hook=_no_twice)
        except RecursionError:
            raise Unfit("the action is nested too deeply") from None
        except ValueError as error:
            raise Unfit(f"the action is no JSON ({error}); an action is {self.wording}") from None

    def write(self, action: Any) -> str:
        """The text of an action, on one line; `read` gives an equal action back.

        Raises:
            BadInput: It is no action of the space, or a number is not finite.
        """
        if self.names is not None:
            at = int(action) - int(self.space.start)  # type: ignore[attr-defined]
            if not 0 <= at < len(self.names):
                raise BadInput(f"{shown(action)} is no action; there are {len(self.names)}")
            return self.names[at]
        data = to_plain(self.space, action)
        if isinstance(data, str):
            plain = data.isprintable() and data == data.strip() and data and not data.startswith(("```", '"'))
            return data if plain else json.dumps(data)
        text = json.dumps(data, ensure_ascii=False)
        return text if text.isprintable() else json.dumps(data)  # some line ends are no control characters to JSON

    @property
    def wording(self) -> str:
        """How an action is written, in words."""
        if self.names is not None and isinstance(self.space, spaces.Discrete):
            first = int(self.space.start)
            if self.names[0] == str(first):
                return describe(self.space)
            return f"{describe(self.space, self.names)} (or its number, {first} to {first + len(self.names) - 1})"
        return describe(self.space)

    def clean(self, command: str, admissible: Sequence[str] | None) -> Cleaned:
        """The rule as a family's cleaning rule (`metagym.Family.clean`): to the form in which an action is written.

        Args:
            command: As the actor's seat found it.
            admissible: Legal actions; not needed, since the environment answers an action that is not legal now.
        """
        if command in self.exact:
            return Cleaned(command, Repair.EXACT)
        body = command.strip()
        if not body:
            return Cleaned("", Repair.ABSENT)
        try:
            text = self.write(self.read(body))
        except BadInput:
            return Cleaned(body, Repair.INVALID)
        return Cleaned(text, Repair.EXACT if text == command else Repair.REPAIRED)


def _whole_number(body: str) -> int | None:
    try:
        return int(folded(body))
    except ValueError:
        return None


def _unquoted(body: str) -> str:
    if body.startswith('"') and body.endswith('"') and len(body) > 1:
        try:
            found = json.loads(body)
        except ValueError:
            return body
        return found if isinstance(found, str) else body
    return body


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is given twice")
    return values

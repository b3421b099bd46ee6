"""From a value of a space to text that a language model can read: short, and never the whole of a big array."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import iterate

from metagym.errors import BadInput
from metagym.spaces import FreeText

Render = Callable[[Any], str]

MAX_ITEMS = 64
"""Arrays of more elements, and the tails of longer sequences, are summarised."""
DIGITS = 4
"""Significant digits of floats."""


def renderer(
    space: Space[Any], names: Sequence[str] | None = None, max_items: int = MAX_ITEMS, digits: int = DIGITS
) -> Render:
    """A function from a value of `space` to text; it pickles.

    * ``Discrete``: its name, else the number. ``Text``: the text itself.
    * ``Box``, ``MultiDiscrete``, ``MultiBinary``: nested lists; with `names`, one ``name value`` after the other.
      More than `max_items` elements: shape, type, range and mean.
    * ``Dict``: a line ``key: value`` each. ``Tuple``: ``(a, b)``, or with `names` ``name a, name b``.
    * ``Sequence``: a list, cut after `max_items`. ``OneOf``: ``option 1: value``. ``Graph``: nodes, edges, links.
    * Any other space whose samples are text: the text itself.

    Args:
        space: What the values are of.
        names: Of the values of a ``Discrete``, the elements of a one-dimensional array, or the parts of a ``Tuple``.
        max_items: See above; >= 1.
        digits: Significant digits of floats; >= 1.

    Raises:
        BadInput: The space has no text form, or `names` do not fit it.
    """
    return _whole(space, None if names is None else tuple(names), max_items, digits)


def _whole(space: Space[Any], names: tuple[str, ...] | None, max_items: int, digits: int) -> Render:
    """The renderer of a space that is no part of another."""
    if names is not None:
        size = _size(space)
        if size is None:
            raise BadInput(f"names= are for Discrete, Tuple and one-dimensional arrays, not for {_kind(space)}")
        if size != len(names):
            raise BadInput(f"{_kind(space)} has {size} values to name, names= holds {len(names)}")
    if isinstance(space, spaces.Discrete):
        if names is None:
            return _number
        return partial(_named, names, int(space.start))
    if isinstance(space, spaces.Dict):
        return partial(_lines, tuple((key, _part(part, max_items, digits)) for key, part in space.items()))
    if isinstance(space, spaces.Tuple) and names is not None:
        parts = zip(names, (_part(part, max_items, digits) for part in space), strict=True)
        return partial(_named_parts, tuple(parts))
    if names is not None:
        return partial(_named_array, names, digits)
    if _holds_text(space):
        return str
    return _part(space, max_items, digits)


def _size(space: Space[Any]) -> int | None:
    """Number of things that can be named."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.Tuple):
        return len(space)
    if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)) and len(space.shape) == 1:
        return space.shape[0]
    return None


def _part(space: Space[Any], max_items: int, digits: int) -> Render:
    """The renderer of a space within another one: everything on one line."""
    if isinstance(space, spaces.Discrete):
        return _number
    if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
        return partial(array_text, max_items=max_items, digits=digits)
    if isinstance(space, spaces.Dict):
        return partial(_inline, tuple((key, _part(part, max_items, digits)) for key, part in space.items()))
    if isinstance(space, spaces.Tuple):
        return partial(_parts, tuple(_part(part, max_items, digits) for part in space))
    if isinstance(space, spaces.Sequence):
        stacked = space.stacked_feature_space if space.stack else None
        return partial(_sequence, _part(space.feature_space, max_items, digits), stacked, max_items)
    if isinstance(space, spaces.OneOf):
        return partial(_option, tuple(_part(part, max_items, digits) for part in space.spaces))
    if isinstance(space, spaces.Graph):
        return partial(_graph, max_items, digits)
    if _holds_text(space):
        return _quoted
    raise BadInput(f"the space {_kind(space)} has no text form")


def _holds_text(space: Space[Any]) -> bool:
    if isinstance(space, (spaces.Text, FreeText)):
        return True
    if type(space).__module__.startswith("gymnasium.spaces"):
        return False
    try:  # a stranger's space, e.g. Minigrid's missions: its sampler is left as it was
        return isinstance(copy.deepcopy(space).sample(), str)
    except Exception:  # it may fail in any way: then it is no space of texts
        return False


def _kind(space: Space[Any]) -> str:
    text = repr(space)
    return text if len(text) <= 80 else text[:77] + "..."


def _number(value: Any) -> str:
    return str(int(value))


def _named(names: tuple[str, ...], start: int, value: Any) -> str:
    at = int(value) - start
    return names[at] if 0 <= at < len(names) else str(int(value))


def _quoted(value: Any) -> str:
    return json.dumps(str(value), ensure_ascii=False)


def _lines(parts: tuple[tuple[Any, Render], ...], value: Any) -> str:
    return "\n".join([f"{key}: {render(value[key])}" for key, render in parts])


def _inline(parts: tuple[tuple[Any, Render], ...], value: Any) -> str:
    return "{" + ", ".join([f"{key}: {render(value[key])}" for key, render in parts]) + "}"


def _parts(parts: tuple[Render, ...], value: Any) -> str:
    return "(" + ", ".join([render(item) for render, item in zip(parts, value, strict=True)]) + ")"


def _named_parts(parts: tuple[tuple[str, Render], ...], value: Any) -> str:
    return ", ".join([f"{name} {render(item)}" for (name, render), item in zip(parts, value, strict=True)])


def _sequence(render: Render, stacked: Space[Any] | None, max_items: int, value: Any) -> str:
    items = list(value if stacked is None else iterate(stacked, value))
    shown = [render(item) for item in items[:max_items]]
    if len(items) > max_items:
        shown.append(f"... {len(items) - max_items} more")
    return "[" + ", ".join(shown) + "]"


def _option(parts: tuple[Render, ...], value: Any) -> str:
    choice, item = value
    return f"option {int(choice)}: {parts[int(choice)](item)}"


def _graph(max_items: int, digits: int, value: Any) -> str:
    text = f"nodes {array_text(value.nodes, max_items, digits)}"
    if value.edges is None:
        return f"{{{text}, no edges}}"
    edges, links = array_text(value.edges, max_items, digits), array_text(value.edge_links, max_items, digits)
    return f"{{{text}, edges {edges}, links {links}}}"


def array_text(value: Any, max_items: int = MAX_ITEMS, digits: int = DIGITS) -> str:
    """An array as nested lists, or its summary where it has more than `max_items` elements."""
    array = np.asarray(value)
    if array.size > max_items:
        return _summary(array, digits)
    if array.dtype.kind == "f":
        return _floats(array.tolist(), digits)
    if array.dtype.kind == "b":
        array = array.astype(np.int8)
    return str(array.tolist())


def _floats(value: Any, digits: int) -> str:
    if isinstance(value, list):
        return "[" + ", ".join([_floats(item, digits) for item in value]) + "]"
    return f"{value:.{digits}g}"


def _named_array(names: tuple[str, ...], digits: int, value: Any) -> str:
    parts = zip(names, np.asarray(value).tolist(), strict=True)
    return ", ".join(
        [f"{name} {item:.{digits}g}" if item.__class__ is float else f"{name} {item}" for name, item in parts]
    )


def _summary(array: Any, digits: int) -> str:
    shape = "x".join(map(str, array.shape))
    head = f"array {shape} of {array.dtype}"
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if not finite.size:
        return f"{head}: no finite number"
    low, high, mean = finite.min(), finite.max(), finite.mean(dtype=np.float64)
    lost = array.size - finite.size
    note = f", {lost} not finite" if lost else ""
    return f"{head}: from {float(low):.{digits}g} to {float(high):.{digits}g}, mean {mean:.{digits}g}{note}"

"""Values of spaces as JSON data, exactly, and back; what does not fit is refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from metagym.checks import shown
from metagym.errors import BadInput
from metagym.spaces import FreeText

_ARRAYS = (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)


class Unfit(BadInput):
    """A text or JSON value is no action of the space; the message says why and is fit for the model that wrote it."""


def check_plain(space: Space[Any], where: str = "the action space") -> None:
    """Makes sure that values of a space have a JSON form.

    Raises:
        BadInput: Some part of it has none; the message names it.
    """
    if isinstance(space, spaces.Dict):
        keys = [str(key) for key in space.spaces]
        if len(set(keys)) < len(keys):
            raise BadInput(f"{where} has keys that are equal as text: {shown(list(space.spaces))}")
        for key, part in space.items():
            check_plain(part, f"{where}, key {key!r}")
    elif isinstance(space, (spaces.Tuple, spaces.OneOf)):
        for number, part in enumerate(space.spaces):
            check_plain(part, f"{where}, part {number}")
    elif isinstance(space, spaces.Sequence):
        check_plain(space.feature_space, f"{where}, items")
    elif isinstance(space, spaces.Graph):
        for what in (space.node_space, space.edge_space):
            if not (what is None or isinstance(what, (spaces.Discrete, *_ARRAYS))):
                raise BadInput(f"{where} is a graph of {shown(what)}, which has no JSON form; arrays and Discrete have")
    elif not isinstance(space, (spaces.Discrete, spaces.Text, FreeText, *_ARRAYS)):
        raise BadInput(f"{where} is {shown(space)}, which has no JSON form: wrap it into a space of Gymnasium first")


def to_plain(space: Space[Any], value: Any) -> Any:
    """The JSON data of a value; `from_plain` gives an equal value back.

    Raises:
        BadInput: A number is not finite.
    """
    if isinstance(space, spaces.Discrete):
        return int(value)
    if isinstance(space, _ARRAYS):
        return _array_out(np.asarray(value))
    if isinstance(space, (spaces.Text, FreeText)):
        return str(value)
    if isinstance(space, spaces.Dict):
        return {str(key): to_plain(part, value[key]) for key, part in space.items()}
    if isinstance(space, spaces.Tuple):
        return [to_plain(part, item) for part, item in zip(space, value, strict=True)]
    if isinstance(space, spaces.Sequence):
        items = iterate(space.stacked_feature_space, value) if space.stack else value
        return [to_plain(space.feature_space, item) for item in items]
    if isinstance(space, spaces.OneOf):
        choice = int(value[0])
        return {"choice": choice, "value": to_plain(space.spaces[choice], value[1])}
    if isinstance(space, spaces.Graph):
        out = {"nodes": _array_out(np.asarray(value.nodes))}
        if value.edges is not None:
            out["edges"], out["edge_links"] = _array_out(np.asarray(value.edges)), np.asarray(value.edge_links).tolist()
        return out
    raise BadInput(f"{shown(space)} has no JSON form")


def _array_out(array: Any) -> Any:
    if array.dtype.kind == "b":
        array = array.astype(np.int8)
    if array.dtype.kind != "f":
        return array.tolist()
    if not np.isfinite(array).all():
        raise BadInput("a number of the action is not finite, which JSON cannot hold")
    return _shortest(array)


def _shortest(array: Any) -> Any:
    """Floats with the fewest digits that give the same number of the same type back: 0.1, not 0.10000000149011612."""
    if array.ndim:
        return [_shortest(item) for item in array]
    return float(str(array[()]))


def from_plain(space: Space[Any], data: Any, clip: bool = False, where: str = "the action") -> Any:
    """The value that JSON data stand for.

    Args:
        space: What the value is of.
        data: Parsed JSON.
        clip: Take numbers out of range as the nearest bound; else they are refused.
        where: How messages call it.

    Raises:
        Unfit: The data are no value of the space.
    """
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return _integer(data, start, start + int(space.n) - 1, clip, where)
    if isinstance(space, _ARRAYS):
        return _array_in(space, data, clip, where)
    if isinstance(space, (spaces.Text, FreeText)):
        return _text_in(space, data, where)
    if isinstance(space, spaces.Dict):
        return _dict_in(space, data, clip, where)
    if isinstance(space, spaces.Tuple):
        items = _list_of(data, where, len(space))
        pairs = enumerate(zip(space, items, strict=True))
        return tuple(from_plain(part, item, clip, f"{where}[{n}]") for n, (part, item) in pairs)
    if isinstance(space, spaces.Sequence):
        return _sequence_in(space, _list_of(data, where), clip, where)
    if isinstance(space, spaces.OneOf):
        _keys(data, ("choice", "value"), where)
        choice = _integer(data["choice"], 0, len(space.spaces) - 1, False, f"{where}.choice")
        return np.int64(choice), from_plain(space.spaces[choice], data["value"], clip, f"{where}.value")
    if isinstance(space, spaces.Graph):
        return _graph_in(space, data, clip, where)
    raise BadInput(f"{shown(space)} has no JSON form")


def _integer(data: Any, low: int, high: int, clip: bool, where: str) -> int:
    if isinstance(data, float) and data.is_integer():
        data = int(data)
    if isinstance(data, bool) or not isinstance(data, int):
        raise Unfit(f"{where} is a whole number from {low} to {high}, not {shown(data)}")
    if low <= data <= high:
        return data
    if clip:
        return low if data < low else high
    raise Unfit(f"{where} is a whole number from {low} to {high}, {shown(data)} is out of range")


def _real(data: Any, low: float, high: float, clip: bool, where: str, kind: Any) -> Any:
    """A float of type `kind` within bounds that are of this type already."""
    if isinstance(data, bool) or not isinstance(data, (int, float)):
        raise Unfit(f"{where} is a number, not {shown(data)}")
    try:
        found = float(data)
    except OverflowError:
        found = math.inf if data > 0 else -math.inf
    if clip:
        found = min(max(found, low), high)
    with np.errstate(over="ignore"):
        number = kind(found)
    if not math.isfinite(number):
        raise Unfit(f"{where} is a finite number, {shown(data)} is too large")
    if not low <= number <= high:
        raise Unfit(f"{where} is a number from {low:g} to {high:g}, {shown(data)} is out of range")
    return number


def _array_in(space: Any, data: Any, clip: bool, where: str) -> Any:
    shape = space.shape
    if isinstance(space, spaces.Box):
        lows, highs = space.low, space.high
    elif isinstance(space, spaces.MultiDiscrete):
        lows = space.start
        highs = space.start + space.nvec - 1
    else:
        lows, highs = np.zeros(shape, np.int8), np.ones(shape, np.int8)
    binary = space.dtype.kind == "b" or isinstance(space, spaces.MultiBinary)
    if not isinstance(data, list) and shape and math.prod(shape) == 1:  # a bare number for an array of one
        for _ in shape:
            data = [data]
    out = np.empty(shape, space.dtype)
    many = math.prod(shape) > 1
    for at, item in _cells(data, shape, where):
        spot = f"{where}[{', '.join(map(str, at))}]" if many else where
        if space.dtype.kind == "f":
            out[at] = _real(item, float(lows[at]), float(highs[at]), clip, spot, space.dtype.type)
        else:
            value = int(item) if binary and isinstance(item, bool) else item
            out[at] = _integer(value, int(lows[at]), int(highs[at]), clip, spot)
    return out


def _cells(data: Any, shape: tuple[int, ...], where: str, at: tuple[int, ...] = ()) -> Any:
    """Index and value of every element of nested lists of a shape."""
    if not shape:
        yield at, data
        return
    for number, item in enumerate(_list_of(data, where, shape[0])):
        yield from _cells(item, shape[1:], f"{where}[{number}]" if len(shape) > 1 else where, (*at, number))


def _list_of(data: Any, where: str, length: int | None = None) -> list[Any]:
    if not isinstance(data, list) or (length is not None and len(data) != length):
        wanted = "a JSON list" if length is None else f"a JSON list of {length}"
        raise Unfit(f"{where} is {wanted}, not {shown(data)}")
    return data


def _text_in(space: Any, data: Any, where: str) -> str:
    if not isinstance(data, str):
        raise Unfit(f"{where} is text, not {shown(data)}")
    if space.contains(data):
        return data
    least, most = getattr(space, "min_length", 0), space.max_length
    if not least <= len(data) <= most:
        raise Unfit(f"{where} is text of {least} to {most} characters, not of {len(data)}")
    strange = next(mark for mark in data if mark not in space.character_set)
    raise Unfit(f"{where} is text without {shown(strange)}, which the environment does not know")


def _keys(data: Any, keys: tuple[str, ...], where: str, optional: tuple[str, ...] = ()) -> None:
    if not isinstance(data, Mapping):
        raise Unfit(f"{where} is a JSON object with {', '.join(keys)}, not {shown(data)}")
    for key in keys:
        if key not in data:
            raise Unfit(f"{where} lacks the key {key!r}; it has {', '.join(keys)}")
    for key in data:
        if key not in keys and key not in optional:
            raise Unfit(f"{where} has no key {shown(key)}; it has {', '.join(keys)}")


def _dict_in(space: spaces.Dict, data: Any, clip: bool, where: str) -> dict[Any, Any]:
    named = {str(key): (key, part) for key, part in space.items()}
    _keys(data, tuple(named), where)
    return {key: from_plain(part, data[name], clip, f"{where}.{name}") for name, (key, part) in named.items()}


def _sequence_in(space: spaces.Sequence, items: list[Any], clip: bool, where: str) -> Any:
    found = tuple(from_plain(space.feature_space, item, clip, f"{where}[{n}]") for n, item in enumerate(items))
    if not space.stack:
        return found
    if not found:
        raise Unfit(f"{where} is a JSON list of at least one item")
    out: Any = create_empty_array(space.feature_space, len(found))
    return concatenate(space.feature_space, found, out)


def _graph_in(space: spaces.Graph, data: Any, clip: bool, where: str) -> spaces.GraphInstance:
    linked = space.edge_space is not None
    _keys(data, ("nodes",), where, ("edges", "edge_links") if linked else ())
    nodes = _stacked(space.node_space, data["nodes"], clip, f"{where}.nodes")
    edges, links = data.get("edges"), data.get("edge_links")
    if edges is None and links is None:
        return spaces.GraphInstance(nodes, None, None)
    if (
        edges is None
        or links is None
        or len(_list_of(edges, f"{where}.edges")) != len(_list_of(links, f"{where}.edge_links"))
    ):
        raise Unfit(f"{where} has as many edges as edge_links")
    found = np.empty((len(links), 2), np.int32)
    for at, item in _cells(links, (len(links), 2), f"{where}.edge_links"):
        found[at] = _integer(item, 0, len(nodes) - 1, False, f"{where}.edge_links[{at[0]}]")
    assert space.edge_space is not None
    return spaces.GraphInstance(nodes, _stacked(space.edge_space, edges, clip, f"{where}.edges"), found)


def _stacked(space: Space[Any], data: Any, clip: bool, where: str) -> Any:
    items = [from_plain(space, item, clip, f"{where}[{n}]") for n, item in enumerate(_list_of(data, where))]
    if not items:
        raise Unfit(f"{where} is a JSON list of at least one item")
    return np.asarray(items, dtype=space.dtype)

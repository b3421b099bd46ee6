"""What a space holds, told in words for a model that is to write its values, and as a JSON schema for tools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Space, spaces

MOST_NAMES = 30
"""Longer lists of names are cut in words."""


def listed(names: Sequence[str]) -> str:
    """Names as an enumeration, cut after `MOST_NAMES`."""
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, ... ({len(names)} in all)"


def describe(space: Space[Any], names: Sequence[str] | None = None) -> str:
    """One phrase that tells how a value is written, e.g. ``a JSON list of 2 numbers, each from -1 to 1``.

    Args:
        space: Any space with a JSON form (`plain.check_plain`).
        names: Of the values of a ``Discrete``.
    """
    if isinstance(space, spaces.Discrete):
        if names:
            return f"one of: {listed(names)}"
        return f"a whole number from {int(space.start)} to {int(space.start) + int(space.n) - 1}"
    if isinstance(space, spaces.MultiBinary):
        return f"{_nested(space.shape)} of 0 or 1"
    if isinstance(space, spaces.MultiDiscrete):
        return _array(space.shape, "whole numbers", space.start, space.start + space.nvec - 1)
    if isinstance(space, spaces.Box):
        kind = "numbers" if space.dtype is not None and space.dtype.kind == "f" else "whole numbers"
        return _array(space.shape, kind, space.low, space.high)
    if isinstance(space, spaces.Text):
        return f"a text of {space.min_length} to {space.max_length} characters"
    if isinstance(space, spaces.Dict):
        return "a JSON object {" + ", ".join(f'"{key}": {describe(part)}' for key, part in space.items()) + "}"
    if isinstance(space, spaces.Tuple):
        return "a JSON list [" + ", ".join(describe(part) for part in space) + "]"
    if isinstance(space, spaces.Sequence):
        return f"a JSON list of any length, each item {describe(space.feature_space)}"
    if isinstance(space, spaces.OneOf):
        options = "; ".join(f"{number}: {describe(part)}" for number, part in enumerate(space.spaces))
        return f'a JSON object {{"choice": n, "value": v}}, where v depends on n ({options})'
    if isinstance(space, spaces.Graph):
        text = f'a JSON object {{"nodes": [{describe(space.node_space)}, ...]'
        if space.edge_space is not None:
            text += f', "edges": [{describe(space.edge_space)}, ...], "edge_links": [[from node, to node], ...]'
        return text + "}"
    return "a text"


def _nested(shape: tuple[int, ...]) -> str:
    return "a JSON list of " + " lists of ".join(map(str, shape))


def _array(shape: tuple[int, ...], kind: str, low: Any, high: Any) -> str:
    if math.prod(shape) == 1:
        return f"a {kind.removesuffix('s')}{_range(low.flat[0], high.flat[0])}"
    head = f"{_nested(shape)} {kind}"
    if low.size and (low == low.flat[0]).all() and (high == high.flat[0]).all():
        bounds = _range(low.flat[0], high.flat[0])
        return f"{head}, each{bounds}" if bounds else head
    if low.size > 8:
        return f"{head} within the bounds of the action space"
    each = ", ".join(_range(a, b).strip() or "any" for a, b in zip(low.flat, high.flat, strict=True))
    return f"{head} ({each})"


def _range(low: Any, high: Any) -> str:
    low, high = float(low), float(high)
    if math.isfinite(low) and math.isfinite(high):
        return f" from {low:g} to {high:g}"
    if math.isfinite(low):
        return f" of at least {low:g}"
    return f" of at most {high:g}" if math.isfinite(high) else ""


def schema(space: Space[Any], names: Sequence[str] | None = None) -> dict[str, Any]:
    """The JSON schema of a value (draft 2020-12), for servers that constrain or check tool calls.

    Args:
        space: Any space with a JSON form.
        names: Of the values of a ``Discrete``.
    """
    if isinstance(space, spaces.Discrete):
        if names:
            return {"type": "string", "enum": list(names)}
        return _bounded("integer", int(space.start), int(space.start) + int(space.n) - 1)
    if isinstance(space, spaces.MultiBinary):
        return _items(space.shape, {"type": "integer", "minimum": 0, "maximum": 1})
    if isinstance(space, (spaces.MultiDiscrete, spaces.Box)):
        if isinstance(space, spaces.Box):
            low, high = space.low, space.high
        else:
            low, high = space.start, space.start + space.nvec - 1
        kind = "number" if np.dtype(space.dtype).kind == "f" else "integer"
        bounds = (low.min().item(), high.max().item()) if low.size else (-math.inf, math.inf)
        return _items(space.shape, _bounded(kind, *bounds))
    if isinstance(space, spaces.Text):
        return {"type": "string", "minLength": int(space.min_length), "maxLength": int(space.max_length)}
    if isinstance(space, spaces.Dict):
        return _object({str(key): schema(part) for key, part in space.items()})
    if isinstance(space, spaces.Tuple):
        parts = [schema(part) for part in space]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if isinstance(space, spaces.Sequence):
        return {"type": "array", "items": schema(space.feature_space)}
    if isinstance(space, spaces.OneOf):
        options = enumerate(space.spaces)
        return {"oneOf": [_object({"choice": {"const": n}, "value": schema(part)}) for n, part in options]}
    if isinstance(space, spaces.Graph):
        found: dict[str, Any] = {"nodes": {"type": "array", "items": schema(space.node_space)}}
        if space.edge_space is not None:
            found["edges"] = {"type": "array", "items": schema(space.edge_space)}
            found["edge_links"] = {"type": "array", "items": _items((2,), {"type": "integer", "minimum": 0})}
        return {**_object(found), "required": ["nodes"]}
    return {"type": "string"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _bounded(kind: str, low: float, high: float) -> dict[str, Any]:
    out: dict[str, Any] = {"type": kind}
    if math.isfinite(low):
        out["minimum"] = low
    if math.isfinite(high):
        out["maximum"] = high
    return out


def _items(shape: tuple[int, ...], item: dict[str, Any]) -> dict[str, Any]:
    for length in reversed(shape):
        item = {"type": "array", "items": item, "minItems": length, "maxItems": length}
    return item

"""Cards: what must be equal for two figures on a benchmark to mean the same.

A card tells which tasks (ids and a digest of all their fields), the split, turns, samples, sampling, how the model is
asked, the scorer and the versions of family, engine, corpus and data. Models, prompts and seeds are none of it: they
are what one compares. Options that name a place on a machine are left out; what lies there is told by digests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from metagym.chat.specs import parse_spec
from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Sampling
from metagym.evaluation.tasks import Prepared, identities_digest, tasks_digest
from metagym.strictjson import plain_json

UNSAMPLED = ("rules", "random")
"""Kinds of model that no sampling setting reaches: their cards hold none, and fit any."""


def sampling_of(sampling: Sampling, spec: str) -> tuple[Sampling | None, frozenset[str]]:
    """How a model really samples: what its spec fixes wins over the benchmark.

    Returns:
        The settings, None where none has an effect; and the names of those that the spec fixes.
    """
    read = parse_spec(spec)
    if read.scheme in UNSAMPLED:
        return None, frozenset()
    names = ("temperature", "max_tokens", "top_p", "top_k")
    fixed = {name: read.params[name] for name in names if name in read.params}
    cut: dict[str, Any] = {name: None if name == "top_k" and value == 0 else value for name, value in fixed.items()}
    return replace(sampling, **cut), frozenset(fixed)


def card_of(prepared: Prepared, spec: str, clean: bool = True) -> dict[str, Any]:
    """The card of a benchmark as a model plays it (JSON).

    Args:
        prepared: The benchmark.
        spec: Of the model.
        clean: Whether the family's cleaning rule is applied to its commands.
    """
    benchmark, family = prepared.benchmark, prepared.family
    sampling, _ = sampling_of(benchmark.sampling, spec)
    rule = family.success
    card = {
        "benchmark": benchmark.name,
        "family": family.name,
        "split": prepared.split,
        "types": None if benchmark.types is None else sorted(benchmark.types),
        "tasks": len(prepared.tasks),
        "tasks_digest": tasks_digest(prepared.tasks),
        "identities_digest": identities_digest(family, prepared.tasks),
        "samples": benchmark.samples,
        "turns": benchmark.max_steps or family.max_steps,
        "sampling": None if sampling is None else sampling.to_json(),
        "asked": {"history": benchmark.history, "show_admissible": benchmark.show_admissible, "clean": clean},
        "scorer": f"{rule.__module__}.{rule.__qualname__}" if hasattr(rule, "__qualname__") else repr(type(rule)),
        "options": {k: v for k, v in family.options.items() if k not in benchmark.places},
        "versions": dict(family.versions),
    }
    return dict(plain_json(card, f"card of benchmark {benchmark.name}"))


def card_digest(card: Mapping[str, Any]) -> str:
    """SHA-256 of a card; every record carries its first 16 digits."""
    return sha256(json.dumps(card, sort_keys=True, ensure_ascii=True).encode("ascii")).hexdigest()


def card_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The fields in which two cards differ: dotted name, value in a, value in b. The most telling ones come first.

    A card without sampling (of a stand-in that takes none) fits one with any.
    """
    left, right = dict(a), dict(b)
    if left.get("sampling") is None or right.get("sampling") is None:
        left.pop("sampling", None), right.pop("sampling", None)
    found = list(_differences(left, right, ""))
    return sorted(found, key=lambda one: (_rank(one[0]), one[0]))


def refuse_unlike(a: Mapping[str, Any], b: Mapping[str, Any], name_a: str, name_b: str) -> None:
    """Refuses a comparison of unlike results.

    Raises:
        BadInput: The cards differ; the message names the first field.
    """
    if differing := card_differences(a, b):
        field, left, right = differing[0]
        more = f" (and {len(differing) - 1} more fields)" if len(differing) > 1 else ""
        raise BadInput(
            f"{name_a} and {name_b} are not alike: {field} is {_shown(left)} in the first and {_shown(right)} in the "
            f"second{more}, so their figures do not mean the same"
        )


_FIRST = tuple(
    "benchmark family split versions options turns samples sampling scorer types asked tasks tasks_digest".split()
)


def _rank(field: str) -> int:
    head = field.split(".")[0]
    return _FIRST.index(head) if head in _FIRST else len(_FIRST)


def _differences(a: Any, b: Any, prefix: str) -> Any:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in sorted(a.keys() | b.keys()):
            yield from _differences(a.get(name), b.get(name), f"{prefix}.{name}" if prefix else name)
    elif json.dumps(a, sort_keys=True) != json.dumps(b, sort_keys=True):
        yield prefix, a, b


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."

"""The manifest of an evaluation: what it must say, and what every record is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metagym.checks import mapping, shown, whole
from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark
from metagym.evaluation.card import card_digest
from metagym.evaluation.run import Entrant
from metagym.evaluation.writing import CARD_DIGITS

COMMAND = "eval"
"""The ``command`` of the manifest of such a run."""


@dataclass(frozen=True)
class Plan:
    """What every record is held to.

    Attributes:
        seed: Of the run.
        cards: First digits of the card's digest, by entrant and benchmark.
        tasks: Digest of a benchmark's tasks.
        samples: Episodes per task of a benchmark.
        backends: Kinds of model that an entrant is.
    """

    seed: int
    cards: Mapping[tuple[str, str], str]
    tasks: Mapping[str, str]
    samples: Mapping[str, int]
    backends: Mapping[str, frozenset[str]]


def read_plan(manifest: Mapping[str, Any]) -> Plan:
    """Checks a manifest: everything that readers of a run take from it.

    Raises:
        BadInput: It is none of an evaluation; the message says why.
    """
    try:
        return _plan(manifest)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput(repr(error)) from error


def _plan(manifest: Mapping[str, Any]) -> Plan:
    seed = whole("config.seed", mapping("config", manifest["config"])["seed"], 0)
    benchmarks = {name: Benchmark.from_json(one) for name, one in manifest["benchmarks"].items()}
    entrants = {name: Entrant(**one) for name, one in manifest["entrants"].items()}
    called = [(name, one.name) for name, one in benchmarks.items()] + [
        (name, one.name) for name, one in entrants.items()
    ]
    for listed, name in called:
        if listed != name:
            raise BadInput(f"what it lists as {listed!r} is called {name!r}")
    samples = {name: one.samples for name, one in benchmarks.items()}
    cards = {(who, what): card for who, own in manifest["cards"].items() for what, card in own.items()}
    if cards.keys() != {(e.name, b.name) for e in entrants.values() for b in benchmarks.values() if e.plays(b)}:
        raise BadInput("its cards are of other models or benchmarks than it lists")
    for (_, what), card in cards.items():
        whole(f"the number of tasks of {what}", card["tasks"], 1)
        if card["samples"] != samples[what]:
            raise BadInput("a card tells of other samples than its benchmark")
        mapping("the sampling of a card", card["sampling"])
    _check_words(manifest)
    return Plan(
        seed,
        {place: card_digest(card)[:CARD_DIGITS] for place, card in cards.items()},
        {what: str(card["tasks_digest"]) for (_, what), card in cards.items()},
        samples,
        {who: _backends(manifest, who) for who in entrants},
    )


def _backends(manifest: Mapping[str, Any], entrant: str) -> frozenset[str]:
    return frozenset(str(manifest["versions"]["models"][entrant]["backend"]).split(" | "))


def _check_words(manifest: Mapping[str, Any]) -> None:
    """What is told of the run in words."""
    notes, left_out, training = (manifest.get(name) for name in ("notes", "left_out", "training"))
    if not isinstance(notes or [], list):
        raise BadInput(f"its notes are no list: {shown(notes)}")
    mapping("left_out", left_out)
    if not isinstance(training or [], list) or any(not isinstance(one["name"], str) for one in training or []):
        raise BadInput(f"its training data are no list of names: {shown(training)}")
    if not isinstance(manifest["suite"], str):
        raise BadInput(f"its suite has no name: {shown(manifest['suite'])}")

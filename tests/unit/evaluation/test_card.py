"""Cards: what differs is named, and what does not matter does not differ."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark, Sampling
from metagym.evaluation.card import card_differences, card_digest, card_of, refuse_unlike
from metagym.evaluation.tasks import prepare

pytestmark = pytest.mark.usefixtures("quiz")

SUMS = Benchmark("sums", "Quiz", {"path": "/here/data"}, samples=2, sampling=Sampling(0.6, 100))
SPEC = "openai:m"


def card(spec: str = SPEC, **changes: Any) -> dict[str, Any]:
    options = {**SUMS.options, **changes.pop("options", {})}
    return card_of(prepare(dataclasses.replace(SUMS, options=options, **changes)), spec)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"limit": 5}, "tasks"),
        ({"types": ("easy",)}, "types"),
        ({"split": "train"}, "split"),
        ({"max_steps": 9}, "turns"),
        ({"samples": 3}, "samples"),
        ({"sampling": Sampling(0.7, 100)}, "sampling.temperature"),
        ({"sampling": Sampling(0.6, 100, top_p=0.9)}, "sampling.top_p"),
        ({"history": 2}, "asked.history"),
        ({"options": {"bonus": 1}}, "versions.bonus"),  # the family says that its scorer or data is another
        ({"options": {"count": 11}}, "options.count"),
        ({"family": "SearchQA", "options": {}, "split": None}, "family"),
    ],
)
def test_what_differs_is_named(changes: dict[str, Any], field: str) -> None:
    if changes.get("family"):
        other = card_of(prepare(Benchmark("sums", "SearchQA", samples=2, sampling=SUMS.sampling)), SPEC)
    else:
        other = card(**changes)
    assert field in [name for name, _, _ in card_differences(card(), other)]
    with pytest.raises(BadInput, match="first and second|are not alike"):
        refuse_unlike(card(), other, "a", "b")
    assert card_digest(card()) != card_digest(other)


def test_the_first_field_that_is_named_is_a_telling_one() -> None:
    with pytest.raises(BadInput, match=r"a and b are not alike: samples is 2 in the first and 3 in the second"):
        refuse_unlike(card(), card(samples=3), "a", "b")


def test_another_rule_of_success_is_named() -> None:
    prepared = prepare(SUMS)
    other = dataclasses.replace(prepared, family=dataclasses.replace(prepared.family, success=lambda episode: True))
    with pytest.raises(BadInput, match="scorer is"):
        refuse_unlike(card_of(prepared, SPEC), card_of(other, SPEC), "a", "b")


def test_models_places_and_titles_do_not_matter() -> None:
    assert card() == card(options={"path": "/somewhere/else"}) == card(spec="openai:other") == card(title="T")


def test_a_spec_that_fixes_the_temperature_has_another_card_and_a_stand_in_none() -> None:
    assert card(spec="openai:m?temperature=0")["sampling"]["temperature"] == 0
    with pytest.raises(BadInput, match="sampling.temperature is 0.6 in the first and 0.0"):
        refuse_unlike(card(), card(spec="openai:m?temperature=0"), "a", "b")
    assert card(spec="random")["sampling"] is None
    refuse_unlike(card(), card(spec="random"), "a", "b")

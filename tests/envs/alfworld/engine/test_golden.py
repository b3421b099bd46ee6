"""The native engine against transcripts of the real one as shipped, kept as digests; no package is needed for it."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from tests.envs.alfworld.golden.record import HERE, PLANS, native_transcript, samples, text_digest


def check(name: str, material=None) -> int:
    golden = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    plan = PLANS[name]
    assert golden["plan"] == asdict(plan), f"record {name} again"
    answers = 0
    seen = set()
    for sample in samples(name, material):
        expected = golden["games"][sample.name]
        seen.add(sample.name)
        assert expected["text"] == text_digest(sample), (
            f"the text of {sample.name} changed since it was recorded: "
            f"record again with python -m tests.envs.alfworld.golden.record {name}"
        )
        for script in plan.scripts:
            assert native_transcript(sample, plan, script) == expected[script], (sample.name, script)
            answers += expected[script]["answers"]
    assert seen == set(golden["games"])
    return answers


@pytest.mark.parametrize("name", ["by_hand", "by_hand_legacy", "generated"])
def test_answers_as_the_engine_as_shipped(name):
    assert check(name) >= 1000


def test_answers_as_the_engine_as_shipped_on_published_games(shared_dir):
    assert check("published_shipped", shared_dir) >= 48 * 20


@pytest.mark.slow
def test_answers_as_the_engine_on_every_published_game(shared_dir):
    assert check("published", shared_dir) > 300_000


def test_only_the_great_file_was_recorded_from_an_engine_with_a_memory():
    engines = {name: json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["engine"] for name in PLANS}
    assert {name for name, engine in engines.items() if not engine.endswith("as shipped")} == {"published"}

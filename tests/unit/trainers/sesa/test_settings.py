"""Arms are settings, card dropout is one of them, and states and rows come back from disk as they went."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from metagym.errors import BadInput, RunError, StoreError, UnknownName
from metagym.sesa.cards import SkillCard
from metagym.sesa.snapshots import FoundCard
from metagym_trainers.sesa.cards import CardDropout, DroppingSearch
from metagym_trainers.sesa.rollouts import Row
from metagym_trainers.sesa.settings import ARMS, SelfPlaySettings, arm
from metagym_trainers.sesa.state import State, load_rows, load_state, save_rows, save_state
from metagym_trainers.sesa.world import Question


def test_each_arm_changes_only_its_own_part() -> None:
    base = asdict(SelfPlaySettings())
    changed = {
        name: sorted(key for key, value in asdict(arm(SelfPlaySettings(), name)).items() if value != base[key])
        for name in ARMS
    }
    assert changed == {"sesa": [], "no-dropout": ["card_dropout"], "no-cards": ["bank"], "ssp": ["bank", "shape"]}
    with pytest.raises(UnknownName, match="there are sesa"):
        arm(SelfPlaySettings(), "skillrl")


@pytest.mark.parametrize(
    ("name", "value"),
    [("card_dropout", 1.5), ("rounds", 0), ("rollouts", 1), ("shape", "bell"), ("solved", -0.1), ("bank", 1)],
)
def test_a_setting_out_of_range_is_named(name: str, value: object) -> None:
    with pytest.raises(BadInput, match=name):
        SelfPlaySettings(**{name: value})


class Found:
    def search(self, query: str, k: int) -> tuple[FoundCard, ...]:
        return tuple(FoundCard(SkillCard(f"card {number}"), 0.5) for number in range(k))


def test_card_dropout_leaves_out_its_share_card_by_card_and_the_same_again() -> None:
    searches = [DroppingSearch(Found(), CardDropout(0.3, seed)).search("question", 10) for seed in range(200)]
    kept = sum(map(len, searches)) / 2000
    assert 0.66 < kept < 0.74
    assert len({found for found in map(len, searches)}) > 3, "not all or nothing"
    assert DroppingSearch(Found(), CardDropout(0.3, 5)).search("question", 10) == searches[5]


def test_no_dropout_shows_all_and_full_dropout_none() -> None:
    assert len(DroppingSearch(Found(), CardDropout()).search("question", 10)) == 10
    assert DroppingSearch(Found(), CardDropout(1.0)).search("question", 10) == ()


def test_a_state_comes_back_as_it_went(tmp_path: Path) -> None:
    settings = SelfPlaySettings(seed=3).to_json()
    assert load_state(tmp_path, settings) is None
    state = State(settings, 2, "solve", {"seq": 4, "digest": "ab"}, 0.25)
    save_state(tmp_path, state)
    found = load_state(tmp_path, settings)
    assert found is not None
    assert json.dumps(asdict(found)) == json.dumps(asdict(state))
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_a_state_of_other_settings_or_another_version_is_refused_by_name(tmp_path: Path) -> None:
    save_state(tmp_path, State(SelfPlaySettings().to_json()))
    with pytest.raises(RunError, match="seed"):
        load_state(tmp_path, SelfPlaySettings(seed=1).to_json())
    (tmp_path / "selfplay.json").write_text('{"format": 99}')
    with pytest.raises(RunError, match="another version"):
        load_state(tmp_path, SelfPlaySettings().to_json())
    (tmp_path / "selfplay.json").write_text("{")
    with pytest.raises(StoreError, match="selfplay.json"):
        load_state(tmp_path, SelfPlaySettings().to_json())


def test_rows_come_back_as_they_went(tmp_path: Path) -> None:
    rows = [Row("0-1-0", "skills r1\n ask \u2028 w1", Question("ask w1", ("a", "b, c"), "0-1-0"))]
    save_rows(tmp_path / "rows.json", rows)
    assert load_rows(tmp_path / "rows.json") == rows
    (tmp_path / "rows.json").write_text('[{"id": 1}]')
    with pytest.raises(RunError, match="rows.json"):
        load_rows(tmp_path / "rows.json")

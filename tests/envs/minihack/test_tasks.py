from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from metagym.errors import BadInput, NoTasks, UnknownName
from metagym_envs.minihack.levels import BY_NAME, POOL, UNPLAYABLE, find_level, short_name
from metagym_envs.minihack.tasks import choose_levels


def test_types_and_seeds_are_kept_apart() -> None:
    levels = choose_levels(None, 20, "skill", None)
    sets = {split: levels.tasks(split) for split in levels.splits}
    assert levels.splits == ("train", "valid_seen", "valid_unseen")
    assert set(sets["train"].types) == set(sets["valid_seen"].types) >= {"Room", "Eat", "LavaCross"}
    assert set(sets["valid_unseen"].types) == {"Read", "Wear", "KeyRoom"}
    assert {task.seed for task in sets["train"]} == set(range(20))
    assert {task.seed for split in levels.splits[1:] for task in sets[split]} == set(range(10_000, 10_100))
    assert not {t.id for t in sets["train"]} & {t.id for t in sets["valid_seen"]}
    assert sets["train"][0].id == "MiniHack-Room-5x5-v0:0" and sets["train"][0].type == "Room"
    copy = pickle.loads(pickle.dumps(levels))
    assert copy == levels and copy.level(sets["train"][3]) == levels.level(sets["train"][3])


def test_every_level_stands_in_one_place() -> None:
    names = [name for kind in (*POOL, *BY_NAME) for name in kind.levels]
    assert len(names) == len(set(names)) > 100
    assert all(kind.why_not for kind in BY_NAME) and not any(kind.why_not for kind in POOL)
    assert not any(name.startswith(start) for name in names for start, _ in UNPLAYABLE)
    assert {short_name("MiniHack-Room-5x5-v0"), short_name(" Room-5x5 ")} == {"Room-5x5"}


def test_the_page_tells_of_every_type_and_of_what_is_left_out() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "minihack.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for kind in POOL:
        assert any(kind.type in row.split("|")[1] and ("held out" in row) == kind.held_out for row in rows), kind.type
    for kind in BY_NAME:
        named, why = kind.type.removesuffix("Big"), kind.why_not.partition(" (")[0][:25]
        assert any(named in row.split("|")[1] and why in row for row in rows), kind.type
    for start, _ in UNPLAYABLE:
        assert any(start in row.split("|")[1] for row in rows), start


def test_levels_are_named_in_several_ways() -> None:
    levels = choose_levels(["Room-5x5", "MiniHack-Quest-Easy-v0"], 4, "skill", None)
    assert levels.splits == ("train", "valid") and [task.id for task in levels.tasks("train")][:2] == [
        "MiniHack-Room-5x5-v0:0",
        "MiniHack-Quest-Easy-v0:0",
    ]


@pytest.mark.parametrize(
    ("levels", "error", "words"),
    [
        ("Boxoban-Hard", BadInput, "cannot be played: its levels are a download"),
        ("MiniHack-MultiRoom-N2-v0", BadInput, "minigrid"),
        ("Sokoban1a", BadInput, "crash"),
        ("Rom-5x5", UnknownName, "near it are Room-5x5"),
        ([], NoTasks, "names no level"),
        (["Room-5x5", "MiniHack-Room-5x5-v0"], BadInput, "named twice"),
        ([3], BadInput, "levels are"),
        (3, BadInput, "levels are"),
        ("missing.des", BadInput, "cannot be read"),
    ],
)
def test_levels_that_cannot_be_played_are_told_in_a_sentence(levels: object, error: type, words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        choose_levels(levels, 4, "skill", None)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_s09_a_folder_without_levels_is_refused(tmp_path) -> None:
    with pytest.raises(NoTasks, match="holds no .des file"):
        choose_levels(str(tmp_path), 4, "skill", None)
    (tmp_path / "empty.des").write_text(" \n")
    with pytest.raises(BadInput, match="is empty"):
        choose_levels(str(tmp_path), 4, "skill", None)


@pytest.mark.parametrize(("per_type", "commands"), [(0, "skill"), (10_001, "skill"), (True, "skill"), (5, "all")])
def test_bad_settings_are_refused(per_type: int, commands: str) -> None:
    with pytest.raises(BadInput):
        choose_levels(None, per_type, commands, None)


def test_a_task_of_another_level_is_refused() -> None:
    rooms, quests = (choose_levels(name, 2, "skill", None) for name in ("Room-5x5", "Quest-Easy"))
    with pytest.raises(UnknownName, match="no level that this family plays"):
        rooms.level(quests.tasks("train")[0])
    assert find_level("Eat-Fixed").goal == "Eat the apple."

"""Where games come from: generated, a folder, one file; and what is said when there is nothing."""

from __future__ import annotations

import collections
import json
import lzma
import os
import pickle
import socket
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, NoTasks, UnknownName
from metagym.tasks import Task
from metagym_envs.alfworld import data as data_module
from metagym_envs.alfworld import generator
from metagym_envs.alfworld.data import VARIABLE, GameText, GeneratedGames, games_for
from metagym_envs.alfworld.generator import SIZES, SPLITS, generate
from metagym_envs.alfworld.published import published_games
from metagym_envs.alfworld.scenes import TASK_TYPES

DOMAIN = "(define (domain alfred))"
GRAMMAR = '{{"task": [{{"rhs": "Your task is to: {0}."}}]}}'
WAYS_OUT = (VARIABLE, "alfworld-download", f"unset {VARIABLE}")


def published(value, kind="auto"):
    return games_for(kind, {VARIABLE: str(value)})


def write_game(root, split, folder, *, solvable=True, traj=None, **changes):
    """One game in the folder layout."""
    made = generate("train", "pick_and_place_simple", 0)
    place = root / split / folder
    place.mkdir(parents=True)
    record = {
        "pddl_domain": DOMAIN,
        "grammar": GRAMMAR.format(made.sentence),
        "pddl_problem": made.problem,
        "solvable": solvable,
        "walkthrough": ["look"] * 3,
        **changes,
    }
    (place / "game.tw-pddl").write_text(json.dumps({k: v for k, v in record.items() if v is not ...}))
    if traj is not None:
        (place / "traj_data.json").write_text(json.dumps(traj))


def row(split="train", name="pick_and_place_simple-A-None-B-1/trial_1", kind="pick_and_place_simple", **changes):
    made = generate("train", "pick_and_place_simple", 0)
    return {"split": split, "name": name, "task_type": kind, "task": made.sentence, "problem": made.problem, **changes}


def write_rows(path, rows):
    text = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows)
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    return path


# --- generated


def test_generated_sets_are_cheap_and_full():
    games = games_for("auto", {})
    assert isinstance(games, GeneratedGames) and games.splits == ("train", "valid_seen", "valid_unseen")
    for split in games.splits:
        tasks = games.tasks(split)
        assert collections.Counter(t.type for t in tasks) == dict.fromkeys(TASK_TYPES, SIZES[split])
        assert {t.split for t in tasks} == {split}
    assert SIZES["train"] >= 500 and min(SIZES.values()) >= 60
    assert games.tasks("train").types == TASK_TYPES


def test_building_a_task_set_generates_nothing(monkeypatch):
    def never(*args):
        raise AssertionError("a game was generated")

    data_module._generated_tasks.cache_clear()
    monkeypatch.setattr(generator, "generate", never)
    assert len(GeneratedGames().tasks("train")) == SIZES["train"] * 6


def test_a_generated_task_is_its_game():
    games = GeneratedGames()
    task = games.tasks("train").by_id("generated/train/pick_heat_then_place_in_recep/17")
    made = generate("train", "pick_heat_then_place_in_recep", 17)
    assert games.game(task) == GameText(task.id, made.problem, made.sentence)
    assert task.type == "pick_heat_then_place_in_recep" and not task.params and task.seed == 0


@pytest.mark.parametrize(
    "task_id",
    ["x", "generated/train/pick_and_place_simple", "generated/train/pick_and_place_simple/-1", "valid_seen/a/b",
     "generated/train/pick_and_place_simple/01", "generated/train/pick_and_place_simple/²", "generated/test/x/0"],
)  # fmt: skip
def test_foreign_ids_are_refused(task_id):
    with pytest.raises(UnknownName):
        GeneratedGames().game(Task("ALFWorld", task_id))


def test_generated_is_asked_for_in_spite_of_the_variable(tmp_path):
    assert isinstance(published(tmp_path, "generated"), GeneratedGames)


def test_unknown_kind_of_data():
    with pytest.raises(BadInput, match="'auto', 'generated' or 'published'"):
        games_for("alfworld", {})


# --- nothing there (S09)


@pytest.fixture
def no_network(monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("a network call")

    monkeypatch.setattr(socket, "socket", never)
    monkeypatch.setattr(socket, "getaddrinfo", never)


def says_the_ways_out(caught, *more):
    for words in (*WAYS_OUT, *map(str, more)):
        assert words in str(caught.value)


@pytest.mark.parametrize("shape", ["empty", "missing", "empty json_2.1.1", "empty splits", "only unsolvable"])
def test_s09_a_folder_without_games(tmp_path, no_network, shape):
    root = tmp_path / "games"
    if shape != "missing":
        root.mkdir()
    if shape == "empty json_2.1.1":
        (root / "json_2.1.1").mkdir()
    if shape == "empty splits":
        (root / "json_2.1.1" / "train").mkdir(parents=True)
    if shape == "only unsolvable":
        write_game(root / "json_2.1.1", "train", "pick_and_place_simple-A-None-B-1/trial_1", solvable=False)
    for kind in ("auto", "published"):
        with pytest.raises(NoTasks) as caught:
            published(root, kind)
        says_the_ways_out(caught, root)


@pytest.mark.parametrize("value", ["", "  "])
def test_s09_a_variable_set_to_nothing(no_network, value):
    with pytest.raises(NoTasks, match="set to an empty text") as caught:
        published(value)
    says_the_ways_out(caught)


def test_a_home_that_is_not_there_is_named(no_network):
    with pytest.raises(BadInput, match="whose ~ stands for no folder") as caught:
        published("~nobody-of-this-name/x")
    says_the_ways_out(caught)
    assert "~nobody-of-this-name/x" in str(caught.value)


def test_s09_published_without_the_variable(no_network):
    with pytest.raises(NoTasks) as caught:
        games_for("published", {})
    says_the_ways_out(caught)


def test_s09_the_variable_that_importing_alfworld_sets_is_explained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "alfworld.info", socket)
    with pytest.raises(NoTasks, match="importing alfworld sets ALFWORLD_DATA"):
        published(tmp_path)


def test_s09_an_empty_file(tmp_path, no_network):
    for name in ("a.jsonl", "a.jsonl.xz"):
        with pytest.raises(NoTasks) as caught:
            published(write_rows(tmp_path / name, []))
        says_the_ways_out(caught, tmp_path / name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [row()])
    path.chmod(0)
    with pytest.raises(BadInput, match="cannot be read"):
        published(path)


def test_an_error_of_the_file_system(tmp_path, monkeypatch):
    path = write_rows(tmp_path / "a.jsonl", [row()])

    def fails(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(type(path), "read_bytes", fails)
    with pytest.raises(BadInput, match="cannot be read.*Permission denied"):
        published(path)


# --- the folder layout


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "json_2.1.1"
    write_game(root, "train", "pick_and_place_simple-Book-None-Desk-1/trial_2")
    write_game(root, "train", "pick_and_place_simple-Book-None-Desk-1/trial_1")
    write_game(root, "train", "pick_two_obj_and_place-Book-None-Desk-1/trial_3", solvable=False)
    write_game(root, "train", "pick_two_obj_and_place-Book-None-Desk-1/trial_4", solvable=...)
    write_game(root, "train", "pick_two_obj_and_place-Book-None-Desk-1/trial_5", walkthrough=["look"] * 2000)
    write_game(root, "train", "pick_and_place_simple-AppleSliced-None-Desk-1/trial_6")
    write_game(root, "train", "pick_and_place_with_movable_recep-Book-Box-Desk-1/trial_7")
    write_game(root, "train", "odd-name/trial_8", traj={"task_type": "look_at_obj_in_light"})
    write_game(root, "train", "odd-name/trial_9", traj={"task_type": "pick_three"})
    write_game(root, "train", "odd-name/trial_10")
    write_game(root, "train", "odd-movable/trial_13", traj={"task_type": "pick_and_place_simple"})
    write_game(root, "valid_seen", "look_at_obj_in_light-Book-None-DeskLamp-1/trial_11")
    (root / "train" / "pick_two_obj_and_place-Book-None-Desk-1" / "trial_12").mkdir()
    return tmp_path


def test_folder_lists_what_alfworld_would_play(folder):
    games = published(folder)
    assert games.splits == ("train", "valid_seen")
    assert [(t.id, t.type) for t in games.tasks("train")] == [
        ("train/odd-name/trial_8", "look_at_obj_in_light"),
        ("train/pick_and_place_simple-Book-None-Desk-1/trial_1", "pick_and_place_simple"),
        ("train/pick_and_place_simple-Book-None-Desk-1/trial_2", "pick_and_place_simple"),
        ("train/pick_two_obj_and_place-Book-None-Desk-1/trial_5", "pick_two_obj_and_place"),
    ]
    with pytest.raises(UnknownName, match="valid_unseen"):
        games.tasks("valid_unseen")


def test_the_variable_may_name_json_211_itself(folder):
    inner, outer = published(folder / "json_2.1.1"), published(folder)
    assert [t.id for t in inner.tasks("train")] == [t.id for t in outer.tasks("train")]
    assert inner.describe() == outer.describe()


def test_a_folder_game_brings_its_own_domain_and_grammar(folder):
    games = published(folder)
    made = generate("train", "pick_and_place_simple", 0)
    game = games.game(games.tasks("train")[1])
    assert (game.problem, game.domain) == (made.problem, DOMAIN)
    assert game.sentence == f"Your task is to: {made.sentence}."
    assert game.grammar == GRAMMAR.format(made.sentence)


def test_folder_description_tells_one_data_set_from_another(folder):
    before = published(folder).describe()
    assert (before["data"], before["games"], before["data_name"]) == ("published", 5, "json_2.1.1")
    assert before["data_digest"].startswith("names-sizes-sha256:")
    write_game(folder / "json_2.1.1", "valid_unseen", "pick_and_place_simple-Pen-None-Desk-1/trial_1")
    after = published(folder).describe()
    assert after["games"] == 6 and after["data_digest"] != before["data_digest"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"solvable": true}', '{"pddl_domain": 1, "grammar": "", "pddl_problem": "", "solvable": true}',
             '{"pddl_domain": "", "grammar": "", "pddl_problem": "", "solvable": true}', "\x00"]
)  # fmt: skip
def test_a_damaged_game_file_is_named(folder, text):
    games = published(folder)
    task = games.tasks("train")[1]
    path = folder / "json_2.1.1" / task.id / "game.tw-pddl"
    path.write_text(text)
    with pytest.raises(BadInput, match="trial_1.game.tw-pddl cannot be read"):
        games.game(task)


@pytest.mark.parametrize("task_id", ["train/nothing", "train/../train/odd-name/trial_8", "/etc", "generated/train/x/1"])
def test_folder_refuses_foreign_tasks(folder, task_id):
    with pytest.raises(UnknownName):
        published(folder).game(Task("ALFWorld", task_id, split="train"))


# --- one file


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.xz"])
def test_file_of_games(tmp_path, name):
    rows = [
        row(),
        "",
        row("valid_unseen", "x/trial_2", "look_at_obj_in_light", extra=1),
        row("train", "y/trial_3", "pick_three"),
        row("debug", "z/trial_4"),
    ]
    games = published(write_rows(tmp_path / name, rows))
    assert games.splits == ("train", "valid_unseen")
    (task,) = games.tasks("train")
    made = generate("train", "pick_and_place_simple", 0)
    assert task.id == "train/pick_and_place_simple-A-None-B-1/trial_1"
    assert games.game(task) == GameText(task.id, made.problem, made.sentence)
    assert games.describe()["games"] == 2 and games.describe()["data_digest"].startswith("sha256:")
    with pytest.raises(UnknownName, match="valid_seen"):
        games.tasks("valid_seen")
    with pytest.raises(UnknownName, match="generated/train"):
        games.game(Task("ALFWorld", "generated/train/pick_and_place_simple/0"))


@pytest.mark.parametrize("bad", ["{", "[]", "3", json.dumps({"split": "train"}), json.dumps(row(task=None))])
def test_a_bad_line_is_named(tmp_path, bad):
    with pytest.raises(BadInput, match="line 2 is not a game"):
        published(write_rows(tmp_path / "a.jsonl", [row(), bad]))


def test_two_games_of_one_name(tmp_path):
    with pytest.raises(BadInput, match="twice"):
        published(write_rows(tmp_path / "a.jsonl", [row(), row()]))


def test_files_of_another_kind(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(BadInput, match=r"\.jsonl or \.jsonl\.xz"):
        published(tmp_path / "a.zip")
    (tmp_path / "a.jsonl.xz").write_bytes(b"not xz")
    with pytest.raises(BadInput, match="no xz file"):
        published(tmp_path / "a.jsonl.xz")


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_a_typed_error(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("bytes") / "a.jsonl"
    path.write_bytes(raw)
    with pytest.raises(BadInput):
        published_games(path)


def test_without_train_its_published_sample_is_trained_on_and_that_is_said(tmp_path):
    games = published(write_rows(tmp_path / "a.jsonl", [row("valid_train"), row("valid_seen")]))
    assert games.splits == ("train", "valid_train", "valid_seen")
    assert games.tasks("train") is games.tasks("valid_train")
    assert games.tasks("train")[0].split == "valid_train"
    assert games.describe()["train_is"] == "valid_train"
    whole = published(write_rows(tmp_path / "b.jsonl", [row(), row("valid_train")]))
    assert "train_is" not in whole.describe() and whole.tasks("train") is not whole.tasks("valid_train")


def test_a_changed_file_is_read_anew(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [row()])
    assert published(path).describe()["games"] == 1
    write_rows(path, [row(), row("valid_seen")])
    os.utime(path, ns=(1, 1))
    assert published(path).describe()["games"] == 2


def test_sources_can_be_sent_to_a_worker_process(folder, tmp_path):
    file = write_rows(tmp_path / "a.jsonl", [row()])
    for games in (GeneratedGames(), published(folder), published(file)):
        twin = pickle.loads(pickle.dumps(games))
        assert twin == games and hash(twin) == hash(games)
        task = games.tasks("train")[0]
        assert twin.game(task) == games.game(task)


def test_the_474_published_games(shared_dir):
    path = shared_dir / "data" / "alfworld" / "games_474.jsonl.xz"
    if not path.is_file():
        pytest.skip("the published games are not beside the checkout")
    games = published(path)
    assert games.splits == ("train", "valid_train", "valid_seen", "valid_unseen")  # the last is scored by default
    counts = {
        split: [sum(t.type == kind for t in games.tasks(split)) for kind in TASK_TYPES] for split in games.splits[1:]
    }
    assert counts == {
        "valid_seen": [35, 13, 27, 16, 25, 24],
        "valid_unseen": [24, 18, 31, 23, 21, 17],
        "valid_train": [46, 19, 37, 25, 28, 45],
    }
    assert games.describe()["games"] == 474
    assert games.describe()["data_digest"] == "sha256:d10b523fd05c93d67e1c66181f29926fd06bc931fa540ab77f3b41e9f652d819"


def test_splits_of_the_generator_are_those_of_the_sets():
    assert tuple(SPLITS) == tuple(SIZES) == GeneratedGames().splits


def test_held_out_games_are_unseen_whatever_split_samples_another(tmp_path, monkeypatch):
    """``valid_train`` samples ``train``: scoring it would score training games, under other ids."""
    from metagym.ict.config import RunConfig, held_out
    from metagym_envs.alfworld import ALFWorld

    rows = [
        row(split, f"pick_and_place_simple-{n}-None-B-1/trial_1")
        for split, n in (("train", 1), ("train", 2), ("valid_train", 1), ("valid_unseen", 3))
    ]
    monkeypatch.setenv(VARIABLE, str(write_rows(tmp_path / "games.jsonl", rows)))
    family = ALFWorld()
    assert family.splits == ("train", "valid_train", "valid_unseen")
    [task] = held_out(RunConfig(eval_tasks=1), family)
    assert task.split == "valid_unseen"
    with pytest.raises(BadInput, match="is a training task too"):
        held_out(RunConfig(eval_tasks=1, eval_split="valid_train"), family)

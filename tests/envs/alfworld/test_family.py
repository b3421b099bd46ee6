"""ALFWorld as a family."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import metagym
from metagym.episodes import Repair
from metagym.errors import BadInput, MissingExtra, NoTasks, UnknownName
from metagym.families import load_family
from metagym.tasks import Task
from metagym_envs.alfworld import ALFWorld
from metagym_envs.alfworld import env as env_module
from metagym_envs.alfworld.env import ALFWorldGame
from metagym_envs.alfworld.generator import GENERATOR, generate


@pytest.fixture(autouse=True)
def no_data_variable(monkeypatch):
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)


def test_defaults():
    family = ALFWorld()
    assert family.name == "ALFWorld" and family.host == "inline" and family.max_steps == 50
    assert family.splits == ("train", "valid_seen", "valid_unseen")
    assert family.options == {"engine": "auto", "data": "auto", "expert_plan": False}
    assert set(family.stand_ins) == {"actor", "reflector"}
    assert "go to <place>" in family.instructions


def test_a_task_is_played_to_its_end():
    family = ALFWorld(expert_plan=True)
    for task in family.task_set("valid_unseen")[:6]:
        env = family.open(task)
        assert isinstance(env, ALFWorldGame)
        observation, info = env.reset(seed=task.seed)
        total, terminated = 0.0, False
        while not terminated:
            observation, reward, terminated, _, info = env.step(info["expert_plan"][0])
            total += reward
        assert total == 1.0 and family.success(info, total, True) is True


def test_s08_what_played_stands_in_versions():
    versions = ALFWorld().versions
    assert versions["data"] == "generated" and versions["generator"] == GENERATOR and versions["games"] == 4800
    assert versions["engine"] == "native" and versions["engine_versions"] == {"metagym": metagym.__version__}
    assert versions["grammar"] == "0.4" and versions["data_digest"]


def test_s08_published_games_stand_in_versions(monkeypatch, shared_dir):
    path = shared_dir / "data" / "alfworld" / "games_474.jsonl.xz"
    if not path.is_file():
        pytest.skip("the published games are not beside the checkout")
    monkeypatch.setenv("ALFWORLD_DATA", str(path))
    family = ALFWorld()
    assert family.versions["data"] == "published" and family.versions["games"] == 474
    assert family.versions["engine"] == "native" and family.versions["grammar"] == "0.4"
    assert family.open(family.task_set("train")[0]).reset()[1]["success"] is False
    assert ALFWorld(data="generated").versions["data"] == "generated"


def test_s08_a_card_in_the_old_form_still_wins():
    """An actor that knows only "put X in/on Y" plays a game that knows only "move X to Y"."""
    family = ALFWorld()
    made = generate("train", "pick_two_obj_and_place", 4)
    env = family.open(Task("ALFWorld", "generated/train/pick_two_obj_and_place/4"))
    info = env.reset()[1]
    repairs = []
    for command in made.walkthrough:
        if command.startswith("move "):
            command = "put " + command[5:].replace(" to ", " in/on ")
        cleaned = family.clean(command, info["admissible"])
        repairs.append(cleaned.repair)
        _, reward, terminated, _, info = env.step(cleaned.command)
    assert terminated and reward == 1.0
    assert repairs.count(Repair.REPAIRED) == 2 and Repair.INVALID not in repairs


@pytest.mark.parametrize(
    "options, words",
    [
        ({"engine": "fast"}, "auto, native, textworld"),
        ({"data": "alfworld"}, "'auto', 'generated' or 'published'"),
        ({"expert_plan": "yes"}, "True or False"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(BadInput, match=words):
        ALFWorld(**options)


def test_unknown_names():
    family = ALFWorld()
    with pytest.raises(UnknownName, match="valid_seen"):
        family.task_set("test")
    with pytest.raises(UnknownName, match="pick_two_obj_and_place"):
        family.task_set("train", ["pick_three"])
    with pytest.raises(UnknownName):
        family.open(Task("ALFWorld", "valid_seen/x/trial_1"))


def test_s09_an_empty_folder_stops_the_family(monkeypatch, tmp_path):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    with pytest.raises(NoTasks, match="ALFWORLD_DATA.*alfworld-download.*unset ALFWORLD_DATA"):
        load_family("ALFWorld")


def test_a_forced_engine_that_is_not_there_stops_the_family(monkeypatch):
    def absent(name):
        raise env_module.PackageNotFoundError(name)

    monkeypatch.setattr(env_module, "version", absent)
    with pytest.raises(MissingExtra, match=r"metagym-agents\[alfworld\]"):
        ALFWorld(engine="textworld")
    assert ALFWorld(engine="native").versions["engine"] == "native"


@pytest.mark.needs_alfworld
def test_the_real_engine_lives_in_worker_processes():
    pytest.importorskip("textworld", reason="needs the real engine: pip install 'metagym-agents[alfworld]'")
    family = ALFWorld(engine="textworld")
    assert family.host == "process"
    assert family.versions["engine"] == "textworld"
    assert set(family.versions["engine_versions"]) == {"alfworld", "textworld"}


def test_can_be_sent_to_a_worker_process():
    family = pickle.loads(pickle.dumps(ALFWorld(engine="native")))
    assert family.open(family.task_set("train")[0]).reset()[1]["engine"] == "native"


def test_registering_imports_no_family():
    code = (
        "import sys, metagym; from metagym.families import family_names; assert 'ALFWorld' in family_names();"
        "print([m for m in sys.modules if m.startswith('metagym_envs.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_scripted_stand_ins_are_found():
    rules = pytest.importorskip("metagym_envs.alfworld.rules")
    if not hasattr(rules, "actor"):
        pytest.skip("the stand-ins are not there")
    from metagym.chat import ChatModel

    family = ALFWorld()
    assert all(isinstance(make(0), ChatModel) for make in family.stand_ins.values())

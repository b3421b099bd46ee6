"""The real engine; skipped where the extra is not installed."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
import weakref
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import metagym
from metagym.errors import BadInput, BrokenExtra, EngineError, MissingExtra, NoTasks
from metagym.seeding import rng
from metagym_envs.minihack import engine
from metagym_envs.minihack.env import MiniHackGame, Settings
from metagym_envs.minihack.levels import BY_NAME, POOL, Level, find_level

HERE = Path(__file__).resolve().parents[3]
ALL = [name for kind in (*POOL, *BY_NAME) for name in kind.levels]
SOME = ["Room-Ultimate-15x15", "Corridor-R3", "River-Monster", "Eat-Distr", "KeyRoom-Dark-S5", "Levitate-Random-Full"]
DES = """MAZE: "mylevel", ' '
FLAGS:hardfloor
INIT_MAP: solidfill,' '
GEOMETRY:center,center
MAP
.....
.....
.....
ENDMAP
REGION:(0,0,5,3),lit,"ordinary"
OBJECT:('%',"apple"),(1, 1)
OBJECT:(')',"dagger"),(1, 1)
BRANCH:(0,1,0,1),(1,1,1,1)
STAIR:(4,1),down
"""
needs_engine = pytest.mark.skipif(
    find_spec("nle") is None or find_spec("minihack") is None,
    reason="nle and minihack are not installed: pip install 'metagym-agents[minihack]'",
)


def walk(name: str, seed: int, steps: int = 30) -> list[str]:
    """A random walk over what is listed, as texts."""
    env = MiniHackGame(find_level(name))
    text, info = env.reset(seed=seed)
    out, draw = [text], rng(seed, "walk", name)
    for _ in range(steps):
        if info["end"]:
            break
        text, reward, terminated, truncated, info = env.step(draw.choice(info["admissible"]))
        out.append(json.dumps([text, reward, terminated, truncated, info]))
    env.close()
    return out


def digests(names: list[str], seed: int) -> dict[str, str]:
    return {name: hashlib.sha256("\n".join(walk(name, seed)).encode()).hexdigest() for name in names}


def in_another_process(names: list[str], seed: int, hash_seed: str) -> dict[str, str]:
    code = (
        "import json, sys; from tests.envs.minihack.test_engine import digests; "
        "print(json.dumps(digests(json.loads(sys.argv[1]), int(sys.argv[2]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(names), str(seed)],
        capture_output=True,
        text=True,
        cwd=HERE,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(HERE)},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_engine
def test_s04_equal_seeds_are_equal_games_in_another_process() -> None:
    here = digests(SOME, 42)
    assert here == in_another_process(SOME, 42, "7")
    assert all(here[name] != digest for name, digest in digests(SOME, 43).items())


@needs_engine
@pytest.mark.slow
def test_s04_on_every_level_that_is_played() -> None:
    first, second = (in_another_process(ALL, 0, hash_seed) for hash_seed in ("1", "99"))
    assert set(first) == set(ALL) and {n for n in ALL if first[n] != second[n]} == set()


@needs_engine
@pytest.mark.parametrize(
    ("level", "actions"),
    [
        ("Eat-Fixed", ["run northwest", "pickup", "eat the apple"]),
        ("Eat-Fixed", ["run northwest", "eat"]),
        ("Read-Fixed", ["run northwest", "pick up the scroll", "read scroll"]),
        ("PutOn-Fixed", ["run northwest", "pickup", "put on f"]),
        ("Zap-Fixed", ["run northwest", "pickup", "zap wand"]),
        ("Wield-Fixed", ["run northwest", "pickup", "wield"]),
        ("Wear-Fixed", ["run northwest", "pickup", "wear the robe"]),
        ("Pray-Fixed", ["run northwest", "pray"]),
        ("Sink-Fixed", ["run northwest", "drink from the sink"]),
    ],
)
def test_verbs_and_their_prompts_reach_the_goal(level: str, actions: list[str]) -> None:
    env = MiniHackGame(find_level(level))
    env.reset(seed=0)
    for action in actions:
        text, reward, terminated, truncated, info = env.step(action)
    assert info["success"] and terminated and not truncated and 0.9 < reward <= 1.0
    assert "The task is done." in text and "Map from" in text  # the last screen is the game's, not the quit menu's
    with pytest.raises(BadInput):
        env.step("search")
    env.close()


@needs_engine
def test_questions_are_left_to_the_actor_on_request() -> None:
    env = MiniHackGame(find_level("Read-Fixed"), Settings(prompts="text"))
    env.reset(seed=0)
    env.step("run northwest")
    env.step("pickup")
    text, *_, info = env.step("read")
    assert text.startswith("What do you want to read? [f or ?*]")
    listed, cancel = info["admissible"]
    assert listed.startswith("f - ") and "scroll" in listed and cancel == "cancel"
    *_, terminated, _, info = env.step("f")
    assert terminated and info["success"]


@needs_engine
@pytest.mark.parametrize(
    ("said", "repair"),
    [("f", "exact"), ("the scroll", "repaired"), ("banana", "invalid"), ("read f", "invalid")],
)
def test_an_answer_in_words_is_labelled_as_the_engine_takes_it(said: str, repair: str) -> None:
    env = gymnasium.make("MetaGym/MiniHack-v0", levels=["Read-Fixed"], prompts="text", disable_env_checker=True)
    env.reset(seed=0, options={"task": env.unwrapped.family.task_set("train")[0].id})
    for action in ("run northwest", "pickup", "read"):
        env.step(action)
    _, reward, terminated, _, info = env.step(said)
    assert info["repair"] == repair and terminated is (repair != "invalid") and (reward == 1.0) is terminated
    env.close()


@needs_engine
def test_a_closed_game_is_freed_without_the_help_of_the_collector() -> None:
    env = MiniHackGame(find_level("Room-5x5"))
    env.reset(seed=0)
    assert env._game is not None
    kept = [weakref.ref(env._game._base), weakref.ref(env._game._base.nethack)]
    gc.disable()
    try:
        env.close()
        assert [ref() for ref in kept] == [None, None]
    finally:
        gc.enable()


@needs_engine
def test_death_is_an_end_without_success() -> None:
    env = MiniHackGame(find_level("LavaCross-Full"))
    env.reset(seed=0)
    env.step("run east")
    text, _, terminated, truncated, info = env.step("step east")
    assert (terminated, truncated, info["success"], info["end"]) == (True, False, False, "death")
    assert text.endswith("You have died.")


@needs_engine
def test_a_locked_door_gives_way_to_a_lock_pick() -> None:
    env = MiniHackGame(find_level("KeyRoom-Fixed-S5"))
    _, info = env.reset(seed=0)
    assert "apply e southwest" in info["admissible"]
    env.step("step south")
    text, *_, info = env.step("apply lock pick west")
    assert "lock" in text and info["invalid"] == 0


@needs_engine
def test_levels_of_ones_own_are_tasks(tmp_path: Path) -> None:
    (tmp_path / "pile.des").write_text(DES, encoding="utf-8")
    family = metagym.load_family("MiniHack", levels=str(tmp_path), tasks_per_type=3, goal="Eat the apple.")
    assert family.task_set("train").types == ("pile",) and family.versions["levels"] == 1
    env = family.open(family.task_set("train")[0])
    text, _ = env.reset(seed=0)
    assert text.startswith("Your task: Eat the apple.")
    env.step("step east")
    text, *_ = env.step("pickup")  # both things of the pile, through NetHack's menu
    assert "- f: a dagger" in text and "- g: an apple" in text
    moves = metagym.load_family("MiniHack", levels=str(tmp_path / "pile.des"), commands="navigation")
    _, info = moves.open(moves.task_set("valid")[0]).reset(seed=0)
    assert not [command for command in info["admissible"] if command.split()[0] not in ("step", "run")]


@needs_engine
@pytest.mark.parametrize(
    ("des", "words"),
    [
        (DES.replace("MAZE:", "MMAZE:"), "does not compile: line 1, pos 0: syntax error"),
        (DES.replace('"apple"', '"applex"'), 'Unknown object'),
        (DES.replace("mylevel", "other"), 'with the name "mylevel"'),
        (DES.replace("STAIR:", "#STAIR:"), "no staircase down, which alone is success"),
    ],
)  # fmt: skip
def test_a_level_that_does_not_compile_is_one_clear_sentence(tmp_path: Path, des: str, words: str, capfd) -> None:
    path = tmp_path / "bad.des"
    path.write_text(des, encoding="utf-8")
    with pytest.raises(BadInput, match=words) as caught:
        metagym.load_family("MiniHack", levels=str(path))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@needs_engine
def test_a_level_that_minihack_does_not_open_is_named() -> None:
    with pytest.raises(EngineError, match="cannot open MiniHack-Nowhere-v0"):
        MiniHackGame(Level("MiniHack-Nowhere-v0", "x", "y")).reset(seed=0)


@needs_engine
def test_the_ids_pass_the_checker_and_stand_ins_learn() -> None:
    check_env(gymnasium.make("MetaGym/MiniHack-v0", max_steps=4).unwrapped)
    env = gymnasium.make("MetaGym/ICT-MiniHack-v0", task_types=["Eat"], batch_size=6, meta_turns=2, max_steps=12)
    env.reset(seed=0)
    before = env.step("")[1]
    after = env.step("When you see the thing that the task names, go and take it. Use it as the task asks.")[1]
    env.close()
    assert before < 0.5 < 0.8 < after
    with pytest.raises(NoTasks):
        metagym.load_family("MiniHack", levels=[])


@needs_engine
def test_hosts_in_processes_and_threads_play_the_same() -> None:
    family = metagym.load_family("MiniHack")
    tasks = family.task_set("train")[:6]
    told = []
    for hosts in ("inline", "thread", "process:2"):
        episodes = metagym.play(tasks, "rules", family=family, hosts=hosts, max_steps=6)
        told.append([[(turn.observation, turn.action, turn.reward) for turn in episode.turns] for episode in episodes])
    assert told[0] == told[1] == told[2]


@needs_engine
@pytest.mark.slow
@pytest.mark.parametrize(("trained", "scored"), [("ALFWorld", "MiniHack"), ("MiniHack", "ALFWorld")])
def test_a_reflector_adapts_on_one_family_and_is_scored_on_the_other(trained: str, scored: str, tmp_path: Path) -> None:
    arguments = f"ict eval --family {scored} --train-family {trained} --reflector rules=rules --meta-turns 2 "
    arguments += f"--batch-size 2 --eval-tasks 4 --max-steps 10 -q --markdown --out {tmp_path / 'run'}"
    done = subprocess.run(
        [sys.executable, "-m", "metagym", *arguments.split()],
        capture_output=True,
        text=True,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "| all | rules |" in done.stdout
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert {"nle": "1.3.0", "minihack": "1.0.2"} in json_values(manifest)


@needs_engine
@pytest.mark.slow
def test_the_benchmark_measures_every_type_and_memory() -> None:
    from benchmarks.minihack import report

    found = report(repeats=1, steps=3, episodes=4, every=99, warm_up=2)
    assert [figure.unit for figure in found.figures] == ["ms"] * 5 + ["MB"] * 3
    assert all(figure.value > 0 for figure in found.figures[:5]) and len(found.details["by_level_ms"]) == len(POOL)


def json_values(data: object) -> list[object]:
    """All values of a JSON document, at any depth."""
    inner = list(data.values()) if isinstance(data, dict) else data if isinstance(data, list) else []
    return [*inner, *(value for part in inner for value in json_values(part))]


def test_without_the_extra_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    engine.engine_versions.cache_clear()
    monkeypatch.setitem(sys.modules, "nle", None)  # as if it were not installed
    with pytest.raises((MissingExtra, BrokenExtra), match="nle") as caught:
        metagym.load_family("MiniHack")
    assert "\n" not in str(caught.value)
    engine.engine_versions.cache_clear()


def test_without_pkg_resources_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def require(module: str, extra: str) -> object:
        if module == "minihack":
            raise BrokenExtra("minihack is installed but cannot be imported: No module named 'pkg_resources'")
        return object()

    engine.engine_versions.cache_clear()
    monkeypatch.setattr(engine, "require", require)
    with pytest.raises(BrokenExtra, match=r"pip install 'setuptools<81'"):
        engine.engine_versions()
    engine.engine_versions.cache_clear()

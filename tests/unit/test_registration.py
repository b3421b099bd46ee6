from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from gymnasium.envs.registration import registry
from gymnasium.utils.env_checker import check_env

import metagym
from metagym.errors import BadInput, UnknownName
from metagym.families import load_family
from tests.support.ids import skip_without_extra, small, with_marks
from tests.support.worlds import guess_family

OURS = sorted(id_ for id_ in registry if id_.startswith("MetaGym/"))
BROKEN = {
    "broken_import": "raise ImportError('no such library')",
    "broken_exit": "import sys; sys.exit(3)",
    "broken_half": "def register():\n"
    "    import metagym\n"
    "    from metagym import Family, Task, TaskSet\n"
    "    family = Family('Half', lambda s: TaskSet([Task('Half', 'x')]), lambda t: None)\n"
    "    metagym.register_family(family, namespace='Bad')\n"
    "    raise RuntimeError('half-way')\n",
}


def python(code: str, *paths: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": ":".join(map(str, paths)), "PATH": "/usr/bin:/bin", **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)


def plugin(folder: Path, name: str, source: str) -> None:
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    info = folder / f"{name}_dist-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[metagym.plugins]\n{name}-plugin = {name}:register\n")


def test_the_bundled_ids_are_there() -> None:
    assert {"MetaGym/ALFWorld-v0", "MetaGym/ICT-ALFWorld-v0"} <= set(OURS)


@pytest.mark.parametrize("id_", map(with_marks, OURS))
def test_every_id_passes_the_checker_and_equal_seeds_give_equal_rollouts(id_: str) -> None:
    skip_without_extra(id_)
    arguments = {"batch_size": 2, "meta_turns": 2, "max_steps": 5} if "ICT-" in id_ else {"max_steps": 5}
    arguments |= small(id_)
    checked = gymnasium.make(id_, **arguments)
    check_env(checked.unwrapped)  # warnings are errors in this suite
    checked.close()

    def rollout() -> str:
        env = gymnasium.make(id_, **arguments)
        env.action_space.seed(1)
        out = [env.reset(seed=3)[0]]
        for _ in range(2):
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            out.append(json.dumps([observation, reward, terminated, truncated]))
            if terminated or truncated:
                break
        env.close()
        return "\n".join(out)

    assert rollout() == rollout()


@pytest.mark.parametrize("id_", map(with_marks, OURS))
def test_every_id_vectorises_and_keeps_its_spec(id_: str) -> None:
    skip_without_extra(id_)
    arguments = {"batch_size": 2, "max_steps": 3} if "ICT-" in id_ else {"max_steps": 3}
    arguments |= small(id_)
    envs = gymnasium.make_vec(id_, num_envs=2, vectorization_mode="sync", **arguments)
    envs.reset(seed=0)
    envs.step(("look", "look"))
    envs.close()
    spec = gymnasium.make(id_, **arguments).spec
    assert (
        spec is not None and gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(spec.to_json())) is not None
    )


def test_the_module_prefix_works_with_no_import_of_ours() -> None:
    done = python(
        "import gymnasium\n"
        "env = gymnasium.make('metagym:MetaGym/ICT-ALFWorld-v0', batch_size=1)\n"
        "env.reset(seed=0)\n"
        "gymnasium.make('MetaGym/ALFWorld-v0')\n"
        "print(env.spec.id)"
    )
    assert done.stdout == "MetaGym/ICT-ALFWorld-v0\n", done.stderr


def test_s30_broken_plugins_are_warnings_that_name_them(tmp_path: Path) -> None:
    for name, source in BROKEN.items():
        plugin(tmp_path, name, source)
    good = BROKEN["broken_half"].rpartition("    raise")[0].replace("'Half'", "'Fine'").replace("Bad", "Good")
    plugin(tmp_path, "fine", good)
    done = python(
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import metagym\n"
        "for w in caught: print(w.category.__name__, w.message)\n"
        "import gymnasium\n"
        "print(sorted(i for i in gymnasium.registry if i.split('/')[0] in ('Bad', 'Good')))\n"
        "gymnasium.make('CartPole-v1')\n"
        "print(metagym.families.family_names())\n",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for name in BROKEN:
        assert sum(f"'{name}-plugin' of {name}-dist" in line for line in lines) == 1
    assert lines[-2] == "['Good/Fine-v0', 'Good/ICT-Fine-v0']"
    assert "Bad/Half" not in lines[-1] and "ALFWorld" in lines[-1]


def test_s30_the_command_works_beside_broken_plugins(tmp_path: Path) -> None:
    plugin(tmp_path, "broken_exit", BROKEN["broken_exit"])
    for arguments in (["--help"], ["envs"]):
        done = python(
            f"import sys; sys.argv = ['metagym', *{arguments}]; from metagym.cli import main; main()", tmp_path
        )
        assert done.returncode == 0 and "Usage" in done.stdout or "ICT-ALFWorld" in done.stdout, done.stderr


def test_s30_the_strict_switch_raises(tmp_path: Path) -> None:
    plugin(tmp_path, "broken_half", BROKEN["broken_half"])
    done = python("import metagym", tmp_path, METAGYM_STRICT_PLUGINS="1")
    assert done.returncode == 1 and "RuntimeError: half-way" in done.stderr


def test_s30_loading_plugins_again_adds_nothing() -> None:
    before, names = dict(registry), metagym.families.family_names()
    metagym.registration.load_plugins()
    assert set(registry) == set(before) and metagym.families.family_names() == names


def test_a_family_gets_both_ids_under_its_own_namespace() -> None:
    ids = metagym.register_family(guess_family("OwnName"), namespace="Acme", version=2)
    assert ids == ("Acme/OwnName-v2", "Acme/ICT-OwnName-v2")
    env = gymnasium.make("Acme/ICT-OwnName-v2", batch_size=2)
    env.reset(seed=0)
    observation, info = gymnasium.make("Acme/OwnName-v2").reset(seed=0, options={"task": "train-3"})
    assert observation == "Guess number 3." and info["task"]["id"] == "train-3"
    assert load_family("OwnName") is load_family("Acme/OwnName")


def test_bad_registrations_are_refused() -> None:
    with pytest.raises(BadInput):
        metagym.register_family("Name")
    with pytest.raises(BadInput):
        metagym.register_family(guess_family(), lambda: guess_family())
    with pytest.raises(BadInput):
        metagym.register_family("two words", "a:b")
    for wrong in ({"namespace": "a/b"}, {"namespace": ""}, {"version": -1}, {"version": True}):
        with pytest.raises(BadInput, match=next(iter(wrong))):
            metagym.register_family("Refused", "a:b", **wrong)
    with pytest.raises(UnknownName):
        load_family("Refused")  # a refused registration leaves nothing behind
    with pytest.raises(UnknownName, match="no family 'Nowhere'; registered are .*ALFWorld"):
        load_family("Nowhere")
    with pytest.raises(BadInput, match="no option 'colour'"):
        load_family("ALFWorld", colour="red")


def test_the_plain_task_environment_keeps_success_apart_and_caps_steps() -> None:
    metagym.register_family(guess_family("Plain", max_steps=2), namespace="Tests")
    env = gymnasium.make("Tests/Plain-v0")
    env.reset(seed=0, options={"task": "train-1"})
    *_, terminated, truncated, info = env.step("RED")
    assert (terminated, truncated, info["success"], info["action"], info["repair"]) == (
        False,
        False,
        False,
        "red",
        "repaired",
    )
    *_, terminated, truncated, info = env.step("")
    assert (terminated, truncated, info["repair"]) == (False, True, "absent")
    env.reset(seed=0, options={"task": "train-1"})
    _, reward, terminated, truncated, info = env.step("green")
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    with pytest.raises(BadInput):
        env.step(3)  # type: ignore[arg-type]


def test_importing_the_package_imports_no_model_library_and_no_engine() -> None:
    done = python(
        "import sys, gymnasium; before = set(sys.modules)\n"
        "import metagym; print(sorted({m.split('.')[0] for m in set(sys.modules) - before} & "
        "{'torch', 'textworld', 'alfworld', 'httpx2', 'openai', 'rich', 'typer', 'jinja2', 'matplotlib', 'asyncio', "
        "'sqlite3', 'RestrictedPython'}))"
    )
    assert done.stdout in ("[]\n", "['asyncio']\n"), done.stdout + done.stderr


FAMILY = (
    "def register():\n"
    "    import metagym\n"
    "    from metagym import Family, Task, TaskSet\n"
    "    def family(name):\n"
    "        return Family(name, lambda s: TaskSet([Task(name, 'x')]), lambda t: None)\n"
)
TAKERS = {
    "aaa_shadow": FAMILY + "    metagym.register_family(family('Fresh'), namespace='Shadow')\n"
    "    metagym.register_family(family('ALFWorld'))\n",
    "aab_cartpole": "from gymnasium.envs.registration import register as id_, registry\n"
    "def register():\n"
    "    registry.pop('CartPole-v1')\n"
    "    id_('CartPole-v1', 'nowhere:Env')\n",
    "aac_twice": FAMILY + "    for _ in range(2): metagym.register_family(family('Again'), namespace='Twice')\n",
    "first": FAMILY + "    metagym.register_family(family('Same'), namespace='Shared')\n",
    "second": FAMILY + "    metagym.register_family(family('Same'), namespace='Shared')\n",
    "third": FAMILY + "    metagym.register_family(family('ALFWorld'), namespace='Third')\n",
}


def test_s30_a_plugin_that_takes_an_id_of_another_or_its_own_twice_is_left_out_and_named(tmp_path: Path) -> None:
    for name, source in TAKERS.items():
        plugin(tmp_path, name, source)
    done = python(
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import metagym\n"
        "    metagym.registration.load_plugins()\n"
        "for w in caught: print(w.category.__name__, w.message)\n"
        "import gymnasium, json\n"
        "print(json.dumps([gymnasium.make('CartPole-v1').unwrapped.__class__.__name__,\n"
        "    gymnasium.make('MetaGym/ALFWorld-v0').unwrapped.family.task_set('train').name,\n"
        "    [i for i in gymnasium.registry if i.split('/')[0] in ('Shadow', 'Twice', 'Shared', 'Third')],\n"
        "    {p.distribution: [p.families, p.cause] for p in metagym.registration.plugins()}]))\n",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    cartpole, games, ids, plugins = json.loads(last)
    assert cartpole == "CartPoleEnv" and games.startswith("ALFWorld")
    assert ids == ["Shared/Same-v0", "Shared/ICT-Same-v0", "Third/ALFWorld-v0", "Third/ICT-ALFWorld-v0"]
    left_out = {
        "aaa_shadow": "takes the place of ALFWorld, which plugin 'bundled' of metagym-agents has",
        "aab_cartpole": "takes the place of CartPole-v1, which something else has",
        "aac_twice": "Twice/Again-v0 is registered twice by one plugin: give each family a name of its own",
        "second": "takes the place of Shared/Same, which plugin 'first-plugin' of first-dist has",
    }
    assert len(lines) == 2 * len(left_out)  # once for each loading, and no word on those that are in place
    for name, cause in left_out.items():
        named = [line for line in lines if f"'{name}-plugin' of {name}-dist ({name}:register) is left out" in line]
        assert len(named) == 2 and all(cause in line for line in named), lines
        assert plugins[f"{name}-dist"][0] == [] and cause in plugins[f"{name}-dist"][1]
    assert plugins["first-dist"] == [["Shared/Same"], ""] and plugins["third-dist"] == [["Third/ALFWorld"], ""]
    assert "ALFWorld" in plugins["metagym-agents"][0]

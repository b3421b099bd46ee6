"""A plugin is written, installed where nothing but MetaGym is, checked and played."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from gymnasium.envs.registration import registry

import metagym
from metagym import families
from tests.unit.cli.conftest import Command, Done, in_a_process

IDS = ("lamp_post/LampPost-v0", "lamp_post/ICT-LampPost-v0")


@pytest.fixture
def written(cli: Command, tmp_path: Path) -> Path:
    """The project of the family LampPost."""
    done = cli("new", "family", "LampPost")
    assert done.code == 0, done.err
    assert "pip install -e metagym-lamp-post" in done.out and "metagym check LampPost" in done.out
    return tmp_path / "metagym-lamp-post"


@pytest.fixture
def registered(written: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same, registered in this process, and gone after the test."""
    monkeypatch.syspath_prepend(str(written))
    monkeypatch.setenv("PYTHONPATH", str(written))  # for worker processes
    import lamp_post  # type: ignore[import-not-found]

    lamp_post.register()
    yield written
    families.drop_factory("lamp_post/LampPost")
    for id_ in IDS:
        registry.pop(id_)
    for name in [name for name in sys.modules if name.partition(".")[0] == "lamp_post"]:
        del sys.modules[name]


def test_a_new_family_passes_the_checks_and_learns(cli: Command, registered: Path) -> None:
    done = cli("check", "LampPost")
    assert done.code == 0, done.out
    assert "Family lamp_post/LampPost" in done.out and "FAILED" not in done.out
    env = gymnasium.make(IDS[1], batch_size=6, meta_turns=1)
    assert env.reset(seed=0)[1]["success_rate"] == 0
    *_, info = env.step("oak doors open to pull. iron doors open to knock. glass doors open to wait.")
    assert info["success_rate"] == 1
    env.close()


def test_a_name_that_is_taken_is_one_sentence(cli: Command, registered: Path) -> None:
    assert "there is a family lamp_post/LampPost already" in cli("new", "family", "Lamppost").sentence
    assert "is there already" in cli("new", "family", "Lantern", "--out", registered).sentence
    assert "a capital first" in cli("new", "family", "lantern").sentence


def test_an_installed_plugin_is_found_by_all_its_names(written: Path, tmp_path: Path) -> None:
    """As an installation would: the package on the path, with the metadata of its entry point."""
    info = written / "metagym_lamp_post-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: metagym-lamp-post\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[metagym.plugins]\nlamp_post = lamp_post:register\n")
    root = str(Path(metagym.__file__).parents[1])

    def command(*arguments: str) -> Done:
        return in_a_process(*arguments, cwd=tmp_path, PYTHONPATH=f"{written}{os.pathsep}{root}")

    done = command("check", "lamp_post", "metagym-lamp-post", "lamp_post/LampPost", "--only", "docs")
    assert done.code == 0 and done.out.count("Family lamp_post/LampPost") == 1, done.out + done.err
    (written / "lamp_post" / "__init__.py").write_text("def register():\n    raise RuntimeError('half-way')\n")
    done = command("check", "lamp_post")
    assert done.code == 2 and "error: plugin 'lamp_post' of metagym-lamp-post is left out: RuntimeError" in done.err


@pytest.mark.slow
def test_a_new_plugin_is_installed_into_a_fresh_environment_checked_and_played(written: Path, tmp_path: Path) -> None:
    """The whole way: pip (offline) into a venv that sees this one's packages, then every command of the project."""
    for needed in ("pip", "setuptools"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not in this environment, and nothing is downloaded")
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=120)
    (packages,) = (place / "lib").glob("python*/site-packages")
    ours = sysconfig.get_paths()["purelib"]
    (packages / "parent.pth").write_text(f"import site; site.addsitedir({ours!r})\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", place, "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", written], check=True, timeout=300)
    environment = {**os.environ, "COLUMNS": "80"}
    environment.pop("PYTHONPATH", None)

    def run(*arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [place / "bin" / "python", *arguments],
            cwd=tmp_path,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    command = ("-c", "from metagym.cli import main; main()")
    assert "FAILED" not in run(*command, "check", "LampPost")
    assert "lamp_post/ICT-LampPost-v0" in run(*command, "envs")
    loop = ("--batch-size", "6", "--meta-turns", "4", "--eval-tasks", "30", "--no-report", "-q")
    table = run(*command, "ict", "run", "--family", "LampPost", *loop)
    assert "0   0.00" in table and "4   1.00" in table
    assert "solved" in run(*command, "play", IDS[0], "--task", "train/0", stdin="pull\npull\npull\n")
    assert " passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(written))

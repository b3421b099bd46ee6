"""Wrong or missing versions are one sentence with the command, before anything is imported."""

from __future__ import annotations

import configparser
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import metagym_trainers
from metagym.errors import BrokenExtra, MissingExtra, WrongVersion
from metagym_trainers import versions
from metagym_trainers.versions import TRL, VLLM, check_vllm_version, release, require_trl, require_vllm

ROOT = Path(__file__).resolve().parents[3]


def installed(monkeypatch: pytest.MonkeyPatch, **found: str | None) -> None:
    """Pretends that some distributions are installed in other versions, or not at all."""

    def version(name: str) -> str:
        if name in found:
            if (told := found[name]) is None:
                raise metadata.PackageNotFoundError(name)
            return told
        return metadata.version(name)

    monkeypatch.setattr(versions.metadata, "version", version)


@pytest.fixture(autouse=True)
def unpatched(monkeypatch: pytest.MonkeyPatch) -> None:
    original = metadata.version

    class Own:
        PackageNotFoundError = metadata.PackageNotFoundError
        version = staticmethod(original)

    monkeypatch.setattr(versions, "metadata", Own)


def test_the_installed_versions_are_in_range() -> None:
    require_trl()


def test_releases_are_compared_as_numbers() -> None:
    assert release("2.13.0+cpu") == (2, 13, 0) and release("1.16.0rc1") == (1, 16, 0) and release("dev") == ()
    assert "1.16.0" in TRL["trl"] and "1.16.12" in TRL["trl"] and "1.17.0" not in TRL["trl"]
    assert "1.9.0" not in TRL["trl"] and 3 not in TRL["trl"]
    assert str(TRL["trl"]) == ">=1.16,<1.17"


def test_trl_issue_18_another_minor_version_of_trl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in ("1.15.3", "1.17.1", "2.0.0"):
        installed(monkeypatch, trl=found)
        with pytest.raises(
            WrongVersion, match=rf"trl {found} is installed, and .* >=1.16,<1.17: pip install '.*\[trl\]"
        ):
            require_trl()


def test_what_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, torch=None)
    with pytest.raises(MissingExtra, match=r"torch is not installed: pip install 'metagym-agents\[trl\]'"):
        require_trl()
    installed(monkeypatch, vllm=None)
    with pytest.raises(MissingExtra, match=r"vllm is not installed: pip install 'metagym-agents\[gpu\]'"):
        require_vllm()
    installed(monkeypatch, trl="unknown")
    with pytest.raises(BrokenExtra, match="cannot be read"):
        require_trl()


def test_trl_issue_10_vllm_and_transformers_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, vllm="0.31.0", transformers="5.17.2")
    require_vllm()
    installed(monkeypatch, vllm="0.33.0", transformers="5.17.2")
    with pytest.raises(WrongVersion, match="vllm 0.33.0 is installed"):
        require_vllm()
    installed(monkeypatch, vllm="0.31.0", transformers="5.24.0")
    with pytest.raises(WrongVersion, match="transformers 5.24.0"):
        require_vllm()
    check_vllm_version("0.22.1", "a server")
    for found in ("0.21.0", "0.32.0", "unknown"):
        with pytest.raises(WrongVersion, match=f"a server runs vLLM {found}, and TRL 1.16 drives >=0.22,<0.32"):
            check_vllm_version(found, "a server")


def test_the_ranges_are_those_of_the_extras() -> None:
    read = configparser.ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = read["options.extras_require"]
    trl, gpu = extras["trl"].split("\n"), extras["gpu"].split("\n")
    assert all(f"{name}{versions}" in trl for name, versions in TRL.items()), "what pip takes is what we take"
    assert f"vllm{VLLM['vllm']}" in gpu and f"transformers{VLLM['transformers']}" in gpu


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    program = (
        "import sys, metagym_trainers\n"
        "from metagym_trainers import TokenEpisode, Recorder, LocalPolicy, rollout_columns, Tracker, token_advantages\n"
        "assert not {'torch', 'trl', 'transformers', 'datasets'} & set(sys.modules), 'too early'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_every_public_name_has_a_home() -> None:
    for name in metagym_trainers.__all__:
        assert getattr(metagym_trainers, name).__name__ == name
    assert sorted(metagym_trainers._HOMES) == sorted(metagym_trainers.__all__) == dir(metagym_trainers)
    with pytest.raises(AttributeError, match="no attribute 'LocalPolice'"):
        metagym_trainers.LocalPolice  # noqa: B018


def test_every_room_is_in_the_distribution() -> None:
    packages = {path.parent.relative_to(ROOT / "trainers").as_posix() for path in (ROOT / "trainers").rglob("*.py")}
    for package in packages - {"."}:
        assert (ROOT / "trainers" / package / "__init__.py").is_file(), f"trainers/{package} is no package"

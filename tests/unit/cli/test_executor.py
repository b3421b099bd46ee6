"""``--executor`` and ``--address``: what is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

COMMANDS = (("ict", "run"), ("ict", "eval"), ("eval", "ict", "--model", "rules"), ("spade", "run"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--address", "127.0.0.1:1"), "add --executor ray"),
        (("--executor", "slurm"), "local, ray or ray-episodes, got 'slurm'"),
        (("--executor", "ray", "--address", "nowhere"), "host:port"),
        (("--executor", "ray", "--address", "127.0.0.1:1"), "no cluster answers at 127.0.0.1:1"),
    ],
)
def test_an_executor_that_cannot_be_is_refused_before_a_folder_is_made(
    cli: Any, tmp_path: Path, command: tuple[str, ...], options: tuple[str, ...], words: str
) -> None:
    if words.startswith(("host:port", "no cluster")):
        pytest.importorskip("ray", reason="the extra `ray` is not installed")
    done = cli(*command, *options, "--out", tmp_path / "run")
    assert words in done.sentence and not (tmp_path / "run").exists()


def test_hosts_and_executor_exclude_each_other(cli: Any, tmp_path: Path) -> None:
    done = cli("ict", "run", "--hosts", "process", "--executor", "ray", "--out", tmp_path / "run")
    assert "give one of them" in done.sentence


def test_spade_asks_its_models_from_here(cli: Any, tmp_path: Path) -> None:
    done = cli("spade", "run", "--executor", "ray-episodes", "--out", tmp_path / "run")
    assert "use --executor ray" in done.sentence

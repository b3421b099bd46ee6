"""Extras that messages and `metagym doctor` speak of are extras that pip can install."""

from __future__ import annotations

import ast
import configparser
import re
from pathlib import Path

from metagym.cli.show import _EXTRAS

ROOT = Path(__file__).resolve().parents[1]


def declared() -> dict[str, list[str]]:
    """The extras of setup.cfg."""
    read = configparser.ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")
    return {name: text.split("\n") for name, text in read["options.extras_require"].items()}


def required() -> set[str]:
    """The extras that ``require(module, extra)`` names anywhere."""
    found = set()
    for path in [*ROOT.glob("metagym/**/*.py"), *ROOT.glob("metagym_envs/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                assert len(node.args) == 2, path
                if isinstance(node.args[1], ast.Constant):
                    found.add(node.args[1].value)
    return found


def test_every_extra_that_code_or_pages_name_can_be_installed() -> None:
    pages = [path.read_text("utf-8") for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))]
    named = {
        extra
        for page in pages
        for group in re.findall(r"metagym-agents\[([\w,-]+)\]", page)
        for extra in group.split(",")
    }
    assert {"search", "openai", "wordllama"} <= required() and not (required() | named) - set(declared())


def test_doctor_tells_of_every_extra_but_the_developers_own() -> None:
    assert set(_EXTRAS) == set(declared()) - {"dev"}
    for extra, (_, needed) in _EXTRAS.items():
        assert all(any(line.startswith(name) for line in declared()[extra]) for name in needed), extra

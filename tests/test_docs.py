"""The code in the documents runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run(code: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment.pop("ALFWORLD_DATA", None)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_family_of_the_page_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "add_a_family.md").read_text(encoding="utf-8")
    source, use, check = BLOCK.findall(page)
    (tmp_path / "my_family.py").write_text(source, encoding="utf-8")
    use = use.replace('actor="openai:my-model?base_url=..."', 'actor="random"')
    out = run(f"import gymnasium\n{use}\nprint(env.reset(seed=0)[1]['episodes'][0].task.family)\n{check}", tmp_path)
    assert out.splitlines()[0] == "Corridor"


_SNIPPETS = "quickstart any_gymnasium_env evaluation read_a_report search sesa spade problems"
PAGES = ["README.md", *(f"docs/{name}.md" for name in _SNIPPETS.split())]


@pytest.mark.parametrize("name", PAGES)
def test_the_snippets_run(name: str, tmp_path: Path) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    blocks = BLOCK.findall(page) or [
        block.replace("\n    ", "\n")
        for block in re.findall(r"\n\n    (import gymnasium, metagym\n.*?)\n\n[^ ]", page, re.DOTALL)
    ]
    assert blocks
    run("\n".join(blocks), tmp_path)


def test_every_linked_page_exists() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_is_one_screen_to_first_success() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("    make demo ") for line in lines[:15])
    assert len(lines) < 90  # a second screen holds the tables: peers, pages


def test_the_models_page_names_every_scheme_and_parameter() -> None:
    from metagym.chat.specs import SCHEMES

    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for scheme, parameters in SCHEMES.items():
        assert f"`{scheme}" in page
        for name in parameters:
            assert f"`{name}`" in page or name == "backend"


def test_the_figures_of_the_readme_are_what_its_command_prints(tmp_path: Path) -> None:
    row = re.compile(r"^ +\d+ +\d\.\d\d \[.*$", re.MULTILINE)
    shown = [line.split() for line in row.findall((ROOT / "README.md").read_text(encoding="utf-8"))]
    command = (
        "from metagym.cli import main; import sys; sys.argv[1:] = 'ict run -q --no-report --out demo'.split(); main()"
    )
    printed = [line.split() for line in row.findall(run(command, tmp_path))]
    assert len(shown) >= 4 and all(line in printed for line in shown)

"""The documentation site: every environment has its page, and the whole is built with warnings as errors."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import gymnasium
import pytest

import metagym  # noqa: F401  (registers the ids)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "site_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_environment_describes_itself_under_the_fixed_headings(pages: ModuleType) -> None:
    found = list(pages.environments())
    assert {"ICTEnv", "TaskEnv", "DesignerEnv", "AgentEnv", "SolverEnv", "ChallengerEnv"} <= {one.name for one in found}
    assert len({one.page for one in found}) == len(found)
    for one in found:
        assert pages.headings(one.text) == pages.HEADINGS, one


def test_every_id_of_ours_has_a_page(pages: ModuleType) -> None:
    ids = {id_ for id_ in gymnasium.registry if id_.startswith("MetaGym/")}
    assert ids and ids == {id_ for one in pages.environments() for id_ in pages.ids_of(one) if id_ in ids}


def test_an_environment_without_a_heading_is_no_page(pages: ModuleType) -> None:
    one = pages.Environment("Half", "somewhere", "A half.\n\n## Description\nText.\n\n## Actions\nText.")
    with pytest.raises(ValueError, match="Half has the headings"):
        pages.page_of(one)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("[a](docs/spade.md)", "[a](spade.md)"),
        ("[a](../benchmarks/README.md#spade)", "[a](benchmarks.md#spade)"),
        ("[a](../README.md)", "[a](index.md)"),
        ("[a](../setup.cfg)", "a (`setup.cfg`)"),
        ("[a](spade.md#x)", "[a](spade.md#x)"),
        ("[a](https://x.org/docs/y.md)", "[a](https://x.org/docs/y.md)"),
        ("[a](#here)", "[a](#here)"),
    ],
)
def test_links_between_files_become_links_between_pages(pages: ModuleType, given: str, wanted: str) -> None:
    assert pages.relinked(given) == wanted


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="needs the extra `docs`")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
        timeout=120,
    )
    # Not --quiet, under which no warning is one: a link to nowhere went through.
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    page = (tmp_path / "site" / "environments" / "ICTEnv" / "index.html").read_text(encoding="utf-8")
    assert "MetaGym/ICT-ALFWorld-v0" in page and 'id="episode-end"' in page
    assert "https://fonts" not in page, "nothing is fetched from elsewhere"

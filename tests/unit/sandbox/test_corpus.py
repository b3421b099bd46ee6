"""The corpora: every ordinary program runs to its totals, every attack ends as its header says; in both guard modes."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import ProgramRejected, SandboxError
from metagym.sandbox import Limits, SandboxPool
from tests.support.sandbox import (
    CORPUS_LIMITS,
    OWN_CORPUS,
    SHORT_LIMITS,
    allowed,
    header,
    transcript,
    verdict,
)


def programs(folder: Path) -> list[Path]:
    if not folder.is_dir():
        pytest.skip(f"no corpus in {folder.parent.name}/{folder.name}")
    found = sorted(folder.glob("*.py"))
    assert found, f"no programs in {folder.name}"
    return found


def wrong_totals(paths: Iterable[Path], pool: SandboxPool, other: SandboxPool) -> dict[str, Any]:
    """Programs that are refused, end elsewhere than they should, or differ under another hash seed and guard mode."""
    wrong: dict[str, Any] = {}
    for path in paths:
        source = path.read_text(encoding="utf-8")
        expected = header(source)
        assert expected.total is not None, path.name
        try:
            said = transcript(pool, source)
            again = transcript(other, source)
        except SandboxError as error:
            wrong[path.name] = str(error)
            continue
        total, steps = sum(step[1] for step in said[1:]), len(said) - 1
        if abs(total - expected.total) > 1e-6 or steps != expected.steps:
            wrong[path.name] = f"{total} after {steps}, not {expected.total} after {expected.steps}"
        elif said != again:
            wrong[path.name] = "differs under another hash seed and guard mode"
    return wrong


def harm(paths: Iterable[Path], pool: SandboxPool, limits: Limits) -> dict[str, Any]:
    """Attacks that end otherwise than their headers say, or give away that they went through."""

    def run(path: Path) -> tuple[str, Any]:
        source = path.read_text(encoding="utf-8")
        expected = header(source)
        found, seen = verdict(pool, source, limits)
        right = found in allowed(expected.expect, expected.resource) and "LEAK" not in seen
        return path.name, None if right else (found, expected.expect, seen)

    # Four at a time: an endless loop costs its whole limit.
    with ThreadPoolExecutor(4) as threads:
        return {name: why for name, why in threads.map(run, paths) if why is not None}


def test_our_ordinary_programs_run_to_their_totals(pool: SandboxPool, full_pool: SandboxPool) -> None:
    assert wrong_totals(programs(OWN_CORPUS / "benign"), pool, full_pool) == {}


REFUSED = {  # what ordinary authors use now and then, and no program gets
    "first/11_sql_retrieval.py": ("forbidden_import", "sqlite3"),
    "first/47_spreadsheet.py": ("forbidden_name", "eval"),
    "first/52_code_tasks.py": ("forbidden_name", "exec"),
    "third/43_regex_golf.py": ("forbidden_attribute", "__subclasses__"),
}


@pytest.mark.parametrize("part", ["first", "second", "third"])
def test_programs_of_other_hands_run_to_their_totals(pool: SandboxPool, full_pool: SandboxPool, part: str) -> None:
    paths = [path for path in programs(OWN_CORPUS / "unseen" / part) if f"{part}/{path.name}" not in REFUSED]
    assert len(paths) == {"first": 57, "second": 50, "third": 49}[part]
    assert wrong_totals(paths, pool, full_pool) == {}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_of_an_ordinary_program_names_line_and_rule(pool: SandboxPool, name: str) -> None:
    source = (OWN_CORPUS / "unseen" / name).read_text(encoding="utf-8")
    code, word = REFUSED[name]
    with pytest.raises(ProgramRejected) as caught:
        pool.load(source)
    assert caught.value.code == code and word in caught.value.message
    assert word in source.splitlines()[caught.value.line - 1]


def test_the_shared_ordinary_programs_run_to_their_totals(
    pool: SandboxPool, full_pool: SandboxPool, shared_dir: Path
) -> None:
    assert wrong_totals(programs(shared_dir / "sandbox_corpus" / "benign"), pool, full_pool) == {}


@pytest.mark.parametrize("guards", ["native", "full"])
def test_our_attacks_do_no_harm(pool: SandboxPool, full_pool: SandboxPool, guards: str) -> None:
    chosen = pool if guards == "native" else full_pool
    assert harm(programs(OWN_CORPUS / "attacks"), chosen, SHORT_LIMITS) == {}
    assert not list(Path().glob("mg_marker*"))


@pytest.mark.parametrize("guards", ["native", "full"])
def test_the_shared_attacks_do_no_harm(
    pool: SandboxPool, full_pool: SandboxPool, guards: str, shared_dir: Path
) -> None:
    chosen = pool if guards == "native" else full_pool
    assert harm(programs(shared_dir / "sandbox_corpus" / "attacks"), chosen, SHORT_LIMITS) == {}
    assert not list(Path().glob("mg_marker*"))


@pytest.mark.slow
@pytest.mark.parametrize("guards", ["native", "full"])
def test_attacks_do_no_harm_under_the_limits_of_their_verdicts(
    pool: SandboxPool, full_pool: SandboxPool, guards: str, shared_dir: Path
) -> None:
    chosen = pool if guards == "native" else full_pool
    paths = programs(OWN_CORPUS / "attacks") + programs(shared_dir / "sandbox_corpus" / "attacks")
    assert harm(paths, chosen, CORPUS_LIMITS) == {}


def test_attacks_would_be_noticed(bare_pool: SandboxPool) -> None:
    """Without the language layer the same run reports what it is there to report."""
    leaks = (
        "# tries: to say so\n# expect: rejected\nclass Env:\n    def reset(self, seed=None): return 's'\n"
        "    def step(self, a): return 'LEAK', 1.0, True, {}\n"
    )
    found, seen = verdict(bare_pool, leaks, SHORT_LIMITS)
    assert found not in allowed(header(leaks).expect, False) and seen[-1] == "LEAK"
    assert (
        header("# kind: resource (both)\n# seed: 3\n# actions: [1]\n# expect_total: 1.5 after 2 steps\nx = 1").seed == 3
    )

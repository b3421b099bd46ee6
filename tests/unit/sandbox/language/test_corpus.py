"""The corpora: every ordinary program runs to its total in both modes, every attack that should be refused is.

Attacks are compiled here and never run: that happens in the confined worker only.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import ProgramRejected
from metagym.sandbox import language
from tests.support.sandbox import OWN_CORPUS, header
from tests.unit.sandbox.language.harness import MODES

OWN = sorted((OWN_CORPUS / "benign").glob("*.py"))


def play(source: str, guards: Any) -> tuple[float, int]:
    """Plays a program by its header; gives the sum of its rewards and its steps."""
    told = header(source)
    program = language.compile_program(source, guards=guards)
    namespace = language.namespace(program, told.seed, print_to=lambda text: None)
    exec(program.code, namespace)
    env = namespace[program.class_name]()
    language.reseed(namespace, told.seed)
    takes = inspect.signature(env.reset).parameters
    if "seed" in takes or any(each.kind is each.VAR_KEYWORD for each in takes.values()):
        env.reset(seed=told.seed)
    else:
        env.reset(*[told.seed][: len(takes)])
    total, steps = 0.0, 0
    for action in told.actions:
        _, reward, *rest = env.step(action)
        total, steps = total + float(reward), steps + 1
        if rest[0] or (len(rest) == 3 and rest[1]):
            break
    return total, steps


@pytest.mark.parametrize("guards", MODES)
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_an_ordinary_program_runs_to_its_total(path: Path, guards: str) -> None:
    source = path.read_text("utf-8")
    told = header(source)
    assert play(source, guards) == (pytest.approx(told.total, abs=1e-6), told.steps)


@pytest.mark.parametrize("guards", MODES)
def test_the_shared_programs_run_to_their_totals(shared_dir: Path, guards: str) -> None:
    paths = sorted((shared_dir / "sandbox_corpus" / "benign").glob("*.py"))
    assert len(paths) >= 26
    wrong = {}
    for path in paths:
        source = path.read_text("utf-8")
        told = header(source)
        found = play(source, guards)
        if found != (pytest.approx(told.total, abs=1e-6), told.steps):
            wrong[path.stem] = found
    assert not wrong


@pytest.mark.parametrize("guards", MODES)
def test_attacks_that_should_be_refused_are(shared_dir: Path, guards: Any) -> None:
    paths = sorted((shared_dir / "sandbox_corpus" / "attacks").glob("*.py"))
    expected = [path for path in paths if header(path.read_text("utf-8")).expect.startswith("rejected")]
    assert len(expected) >= 33
    accepted = []
    for path in expected:
        try:
            language.compile_program(path.read_bytes(), guards=guards)
            accepted.append(path.stem)
        except ProgramRejected as error:
            assert error.code not in ("no_env_class", "syntax_error"), path
    assert not accepted

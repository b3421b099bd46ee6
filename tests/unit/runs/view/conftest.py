"""Run folders of every kind, made once, and a viewer of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from metagym.evaluation.run import Entrant
from metagym.runs.evals import EvalConfig, run_eval_sync
from metagym.runs.sesa import eval_sesa_sync, run_sesa_sync
from metagym.runs.sesa_evals import eval_settings
from metagym.runs.spade import run_spade_sync
from metagym.runs.view import Catalogue, ViewServer
from tests.support import quiz
from tests.unit.runs.synthetic import a_manifest, meta_episode, write_run
from tests.unit.sesa.loops import settings
from tests.unit.spade.running import config, inside


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of ICT (one, another, one of several arms), SPADE, SESA, an evaluation of SESA, and one of two models."""
    root = tmp_path_factory.mktemp("runs")
    write_run(root / "one")
    other = {**a_manifest()["config"], "actor": "openai:other-model", "seed": 1}
    write_run(root / "deep" / "er" / "two", meta_episode(seed=3, learns=0.95), config=other)
    arms = meta_episode("arm/initial/seed/0/", learns=0.0) + meta_episode("arm/rules/seed/0/", seed=1)
    write_run(root / "arms", arms)
    skills = ("Optimization", "Spatial Reasoning")
    spade = config(rounds=4, programs=4, interval=2, skills=skills, agent="scripted:skill?theta=3")
    run_spade_sync(spade, root / "spade", pools=inside())
    run_sesa_sync(settings(rounds=3, questions=5, probe_fraction=0.25), root / "sesa")
    held_out, bank, state = eval_settings(root / "sesa", None, None, {"count": 8}, {})
    eval_sesa_sync(held_out, root / "sesa-eval", bank=bank, state_of=state)
    with quiz.registered():
        both = tuple(Entrant(name, f"python:tests.support.quiz:{name}") for name in ("half", "right"))
        run_eval_sync(EvalConfig("quiz", both), root / "eval")
    return root


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[ViewServer]:
    """A viewer of all of them."""
    with ViewServer(Catalogue(folder)) as serving:
        yield serving


@pytest.fixture
def view() -> Iterator[Callable[[Path], ViewServer]]:
    """Makes viewers of other folders."""
    with ExitStack() as stack:
        yield lambda root: stack.enter_context(ViewServer(Catalogue(root)))

"""An evaluation over a server on loopback: sampling that is really asked for, tokens, retries, and real questions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metagym.chat import Request
from metagym.evaluation.run import Entrant
from metagym.runs.evals import EvalConfig, run_eval_sync
from metagym.runs.evals_results import load_evals
from tests.support import quiz as support
from tests.support.fake_server import FakeServer


def test_the_preset_reaches_the_server_and_tokens_and_retries_are_told(tmp_path: Path) -> None:
    with support.registered(), FakeServer(brain=support.right, faults=["429", "503", None]) as server:
        suite = support.quiz(samples=2)
        config = EvalConfig(suite, (Entrant("served", server.spec(top_p=0.9)),), temperature=0.7, only=("sums",))
        results = load_evals(run_eval_sync(config, tmp_path / "run", concurrency=1))
        assert {(chat["temperature"], chat["top_p"]) for chat in server.chats} == {(0.7, 0.9)}
        assert len({chat["seed"] for chat in server.chats}) == 24  # every sample has a seed of its own
    told = results.score("served", "sums")
    assert told.measures.avg.value == 1.0 and told.measures.backends == ("server",)
    assert told.measures.usage.calls == 24 and told.measures.usage.completion_tokens > 0
    assert told.card["sampling"] == {"temperature": 0.7, "max_tokens": 4096, "top_p": 0.9, "top_k": None}
    assert any("samples as its spec says" in line and "top_p=0.9" in line for line in results.notices)
    assert any(line.startswith("Retries: 2") for line in results.notices)


def test_real_questions_are_searched_and_answered(tmp_path: Path, shared_dir: Path) -> None:
    data = shared_dir / "data" / "qa"
    if not (data / "corpus_mini.jsonl").is_file():
        pytest.skip("the questions and passages are not at data/qa of the test material")
    shutil.copy(data / "questions_hotpotqa100.jsonl", tmp_path / "hotpotqa.jsonl")
    shutil.copy(data / "questions_musique100.jsonl", tmp_path / "musique.jsonl")

    def brain(request: Request) -> str:
        """Searches for the question's own words, then answers "yes", which is right for some questions of HotpotQA."""
        asked = request.messages[-1].content
        if "Doc 1(Title" in asked:
            return "<answer>yes</answer>"
        return f"<search>{asked.rpartition('Question: ')[2].splitlines()[0]}</search>"

    with FakeServer(brain=brain) as server:
        options = {"folder": str(tmp_path), "searcher": f"fts5:{data / 'corpus_mini.jsonl'}", "count": 20}
        config = EvalConfig("qa", (Entrant("served", server.spec()),), options)
        results = load_evals(run_eval_sync(config, tmp_path / "run"))
        assert {(chat["temperature"], chat["max_tokens"]) for chat in server.chats} == {(0.0, 500)}
    assert [b.name for b in results.benchmarks] == ["hotpotqa", "musique"] and len(results.left_out) == 5
    score = results.score("served", "hotpotqa")
    assert score.measures.tasks == 20 and score.measures.unscored == 0 and score.card["versions"]["scorer"] == "em"
    assert len(score.card["versions"]["corpus_digest"]) == 64 and score.card["options"]["k"] == 3
    assert all(one.episode.steps == 2 and "Doc 1" in one.episode.turns[1].observation for one in score.episodes)

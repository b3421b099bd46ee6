"""``metagym serve-search``: starts, answers, stops; bad input is one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from metagym.search import Passage, load_searcher, write_corpus

COMMAND = [sys.executable, "-c", "from metagym.cli import main; main()", "serve-search"]


def test_it_serves_until_interrupted(tmp_path: Path) -> None:
    pytest.importorskip("httpx2")
    write_corpus(tmp_path / "corpus.jsonl", [Passage("0", '"Ullo"\nThe Ullo is a river.')])
    command = [*COMMAND, str(tmp_path / "corpus.jsonl"), "--port", "0", "--engine", "fts5"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("1 passages, fts5")
        client = load_searcher(process.stdout.readline().split()[1])
        (found,) = client.search(["river"], 5)
        assert [hit.passage.id for hit in found] == ["0"] and client.digest
        client.close()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20)
        assert process.returncode == 130 and "Traceback" not in error
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["absent.jsonl"], "the corpus absent.jsonl cannot be read"),
        (["corpus.jsonl", "--engine", "lucene"], "bm25, fts5 or tantivy"),
        (["corpus.jsonl", "--engine", "fts5", "--port", "70000"], "cannot listen on 127.0.0.1:70000"),
        (["corpus.jsonl", "--engine", "fts5", "--topk", "0"], "topk is at least 1"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    write_corpus(tmp_path / "corpus.jsonl", [Passage("0", "a\nb")])
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr

from __future__ import annotations

from pathlib import Path

from metagym.chat import weights
from metagym.chat.weights import fingerprint


def test_equal_files_agree_wherever_they_lie_and_other_weights_differ(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(weights, "_SAMPLE", 16)
    seen = set()
    for name, content in (("a", bytes(400)), ("b", bytes(400)), ("c", bytes(200) + b"x" * 200), ("d", bytes(401))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(content)
        (tmp_path / name / "config.json").write_text("{}")
        seen.add(fingerprint((tmp_path / name).iterdir()))
    assert len(seen) == 3


def test_small_files_are_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"a": 1}')
    before = fingerprint([file])
    file.write_text('{"a": 2}')
    assert fingerprint([file]) != before

"""Run folders: what is started, resumed, refused and kept."""

import json
import os
import socket

import pytest

from metagym.errors import BadInput, MetaGymWarning, RunError, StoreError, StoreLocked
from metagym.journal import Journal
from metagym.runs import RunFolder, base_manifest
from metagym.runs import folder as folder_module
from metagym.runs.folder import MANIFEST, manifest_differences, write_atomically
from metagym.strictjson import strict_json


def manifest(**changes):
    return {
        **base_manifest(),
        "command": "ict run",
        "seed": 0,
        "settings": {"meta_turns": 4, "temperature": 0.0},
        **changes,
    }


def test_a_new_run_can_be_written_and_read(tmp_path):
    with RunFolder.create(tmp_path / "a" / "run 鍵", manifest()) as run:
        run.records.append("turn/0/prompt", {"kind": "prompt", "turn": 0, "prompt": ""})
        run.note_seconds("turn/0/prompt", 1.5)
        run.note_seconds("turn/0/prompt", 9.5)
        assert not run.resumed
        with RunFolder.open(run.path) as seen:  # while it is being written
            assert seen.manifest == run.manifest
            assert seen.records.keys() == ("turn/0/prompt",)
            assert seen.timing is not None and seen.timing.get("turn/0/prompt") == 1.5
    assert sorted(item.name for item in run.path.iterdir()) == [
        "manifest.json",
        "records.jsonl",
        "records.jsonl.lock",
        "timing.jsonl",
        "timing.jsonl.lock",
    ]


def test_s05_zero_settings_stay_zero_in_the_manifest(tmp_path):
    RunFolder.create(tmp_path, manifest()).close()
    stored = strict_json((tmp_path / "manifest.json").read_bytes())
    assert stored["seed"] == 0 and stored["settings"]["temperature"] == 0.0
    assert stored["format"] == 1 and stored["environment"]["python"]


def test_s33_starting_afresh_in_a_used_folder_is_refused_unless_told_to(tmp_path):
    with RunFolder.create(tmp_path, manifest()) as run:
        run.records.append("k", 1)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "report.html").write_text("old")
    with pytest.raises(RunError, match="already holds a run"):
        RunFolder.create(tmp_path, manifest(seed=1))
    with RunFolder.create(tmp_path, manifest(seed=1), overwrite=True) as run:
        assert len(run.records) == 0 and run.manifest["seed"] == 1
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "report.html").exists()


def test_s33_a_resumed_run_keeps_its_records_and_a_second_resume_changes_no_byte(tmp_path):
    rows = [(f"task{task}/attempt{attempt}", {"return": task}) for task in range(6) for attempt in range(2)]
    with RunFolder.create(tmp_path, manifest()) as run:
        for key, value in rows[:7]:
            run.records.append(key, value)
    with RunFolder.resume(tmp_path, manifest()) as run:
        assert run.resumed
        for key, value in rows:
            run.records.append(key, value)
        assert len(run.records) == 12
    before = {item.name: item.read_bytes() for item in tmp_path.iterdir()}
    with RunFolder.resume(tmp_path, manifest()) as run:
        run.records.append_many(rows)
    assert {item.name: item.read_bytes() for item in tmp_path.iterdir()} == before
    other = tmp_path / "uninterrupted"
    with RunFolder.create(other, manifest()) as run:
        run.records.append_many(rows)
    assert (other / "records.jsonl").read_bytes() == before["records.jsonl"]


def test_a_corrupt_run_can_be_overwritten(tmp_path):
    RunFolder.create(tmp_path, manifest()).close()
    (tmp_path / "records.jsonl").write_bytes(b"damage\n")
    with RunFolder.create(tmp_path, manifest(), overwrite=True) as run:
        assert len(run.records) == 0


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_with_other_files_is_never_taken(tmp_path, overwrite):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match="thesis.tex"):
        RunFolder.create(tmp_path, manifest(), overwrite=overwrite)
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_a_killed_start_left_behind_is_taken(tmp_path):
    Journal.open(tmp_path / "records.jsonl", "w").close()
    (tmp_path / ".writing-abc").write_text("half a manifest")
    RunFolder.create(tmp_path, manifest()).close()
    assert (tmp_path / MANIFEST).is_file()


def test_records_without_a_manifest_are_not_taken_over(tmp_path):
    with Journal.open(tmp_path / "records.jsonl", "w") as store:
        store.append("k", 1)
    with pytest.raises(RunError, match="records without a manifest"):
        RunFolder.create(tmp_path, manifest())
    with pytest.raises(RunError, match="is not a run folder"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed = 0 and cannot be resumed with 1"),
        ({"settings": {"meta_turns": 5, "temperature": 0.0}}, "settings.meta_turns = 4"),
        ({"settings": {"meta_turns": 4, "temperature": 0}}, "settings.temperature = 0.0"),
        ({"extra": True}, "extra = null and cannot be resumed with true"),
        ({"metagym": "99"}, "metagym = "),
    ],
)
def test_resuming_with_another_configuration_names_the_field(tmp_path, change, named):
    RunFolder.create(tmp_path, manifest()).close()
    with pytest.raises(RunError, match=named):
        RunFolder.resume(tmp_path, manifest(**change))


def test_resuming_on_another_machine_is_a_warning(tmp_path):
    RunFolder.create(tmp_path, manifest()).close()
    changed = manifest()
    changed["environment"] = {**changed["environment"], "numpy": "0.0.1"}
    with pytest.warns(MetaGymWarning, match=r"environment.numpy = .* goes on with \"0\.0\.1\""):
        run = RunFolder.resume(tmp_path, changed)
    assert run.manifest["environment"]["numpy"] != "0.0.1"
    run.close()


def test_two_writers_are_told_apart(tmp_path):
    with RunFolder.create(tmp_path, manifest()):
        with pytest.raises(StoreLocked, match=str(os.getpid())):
            RunFolder.resume(tmp_path, manifest())
        with pytest.raises(StoreLocked):
            RunFolder.create(tmp_path, manifest(), overwrite=True)
        assert (tmp_path / MANIFEST).is_file()


@pytest.mark.parametrize(
    ("content", "named"),
    [(None, "holds no manifest.json"), ("{", "damaged"), ("[]", "no JSON object"), ('{"format": 99}', "layout 99")],
)
def test_what_is_no_run_folder_is_said_so(tmp_path, content, named):
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    for attempt in (RunFolder.open, lambda path: RunFolder.resume(path, manifest())):
        with pytest.raises(RunError, match=named):
            attempt(tmp_path)


def test_impossible_paths_are_clear_errors(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError):
        RunFolder.create(tmp_path / "file" / "run", manifest())
    with pytest.raises(StoreError):
        RunFolder.create(tmp_path / "a\x00b", manifest())
    with pytest.raises(RunError):
        RunFolder.open(tmp_path / "a\x00b")
    with pytest.raises(RunError):
        RunFolder.open(tmp_path / "file")
    with pytest.raises(BadInput):
        RunFolder.open("")


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ({"api_key": "sk-1"}, r"manifest\.api_key looks like a secret"),
        ({"actor": {"Authorization": "Bearer x"}}, r"manifest\.actor\.Authorization"),
        ({"specs": ["openai:m?base_url=http://u:p@host/v1"]}, r"manifest\.specs\[0\] holds what looks like a secret"),
        ({"actor": "openai:m?api_key=sk-1"}, r"manifest\.actor"),
        ({"bad": float("nan")}, r"manifest\.bad is nan"),
    ],
)
def test_secrets_and_non_json_never_reach_the_manifest(tmp_path, field, named):
    with pytest.raises(BadInput, match=named):
        RunFolder.create(tmp_path / "run", manifest(**field))
    assert not (tmp_path / "run").exists()


def test_settings_that_only_sound_like_secrets_pass(tmp_path):
    fine = {
        "max_tokens": 5,
        "api_key_env": "KEY",
        "actor": "openai:m?base_url=http://h:80/v1&api_key_env=KEY",
        "api_key": None,
    }
    RunFolder.create(tmp_path, manifest(**fine)).close()
    assert RunFolder.open(tmp_path).manifest["max_tokens"] == 5


def test_a_failed_atomic_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    write_atomically(path, "old 鍵")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module.os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text("utf-8") == "old 鍵"
    assert [item.name for item in tmp_path.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link to a pipe"])
def test_an_atomic_write_replaces_regular_files_only(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    path = tmp_path / "there"
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
        if kind != "pipe":
            (tmp_path / "link").symlink_to(path)
            path = tmp_path / "link"
    before = path.lstat()
    names = sorted(item.name for item in tmp_path.iterdir())
    with pytest.raises(StoreError, match="cannot be written: it is a "):
        write_atomically(path, "new")
    after = path.lstat()
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    assert sorted(item.name for item in tmp_path.iterdir()) == names


def test_differences_are_named_in_order():
    old = {"a": 1, "b": {"c": [1], "d": 0}, "e": None}
    new = {"a": 1, "b": {"c": [2], "d": False}, "f": 3}
    assert list(manifest_differences(old, new)) == [("b.c", [1], [2]), ("b.d", 0, False), ("f", None, 3)]


def test_the_base_manifest_is_json_and_names_the_versions():
    base = base_manifest()
    assert json.loads(json.dumps(base)) == base
    assert set(base["environment"]) >= {"python", "implementation", "platform", "numpy", "gymnasium"}

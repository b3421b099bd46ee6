"""Our state in checkpoints: whole or not at all, on the generation cycle, and back again."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metagym.errors import BadInput, RunError, StoreCorrupt
from metagym_trainers import checkpoints
from metagym_trainers.checkpoints import (
    JsonPart,
    StateCallback,
    check_alignment,
    latest_checkpoint,
    load_parts,
    read_manifest,
    save_parts,
)
from metagym_trainers.geometry import cycle_of


class Box:
    """A part that is plain JSON."""

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self.part = JsonPart(lambda: self.value, self.set)

    def set(self, value: Any) -> None:
        self.value = value


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_parts_come_back_as_they_were(tmp_path: Path) -> None:
    memory, cursor = Box({"skills": ["ö", "\ud800"], "n": 0.0}), Box([3])
    save_parts(tmp_path, {"memory": memory.part, "cursor": cursor.part}, 8)
    memory.value, cursor.value = None, None
    assert load_parts(tmp_path, {"cursor": cursor.part, "memory": memory.part}) == 8
    assert memory.value == {"skills": ["ö", "\ud800"], "n": 0.0} and cursor.value == [3]


def test_saving_again_changes_nothing_and_new_state_replaces_old(tmp_path: Path) -> None:
    box = Box(1)
    save_parts(tmp_path, {"box": box.part}, 8)
    before = everything(tmp_path)
    save_parts(tmp_path, {"box": box.part}, 8)
    assert everything(tmp_path) == before
    box.value = 2
    save_parts(tmp_path, {"box": box.part}, 8)
    assert len(everything(tmp_path)) == len(before)
    load_parts(tmp_path, {"box": box.part})
    assert box.value == 2


def test_without_parts_there_is_still_the_mark_of_a_finished_checkpoint(tmp_path: Path) -> None:
    save_parts(tmp_path, {}, 4)
    assert load_parts(tmp_path, {}) == 4


class Stop(BaseException):
    """Stands for a kill: nothing may catch it."""


@contextmanager
def stopping_at(at: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever touches the disk for the `at`-th time does not happen, and nothing after it does."""
    counted = 0

    def wrap(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal counted
            counted += 1
            if counted == at:
                raise Stop
            return original(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("replace", "fsync"):
            patch.setattr(checkpoints.os, name, wrap(getattr(os, name)))
        patch.setattr(checkpoints.shutil, "rmtree", wrap(shutil.rmtree))
        patch.setattr(Path, "mkdir", wrap(Path.mkdir))
        patch.setattr(Path, "write_text", wrap(Path.write_text))
        yield


@pytest.mark.parametrize("after", ["new", "old"])
def test_an_interruption_anywhere_leaves_the_old_state_or_the_new_one(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, at, finished = set(), 0, False
    while not finished:
        at += 1
        folder, box = tmp_path / str(at), Box("old")
        save_parts(folder, {"box": box.part}, 8)
        box.value = after
        with contextlib.suppress(Stop), stopping_at(at, monkeypatch):
            save_parts(folder, {"box": box.part}, 8)
            finished = True
        load_parts(folder, {"box": box.part})
        seen.add(box.value)
        box.value = "newest"
        save_parts(folder, {"box": box.part}, 8)  # what was left behind does not hinder the next one
        assert load_parts(folder, {"box": box.part}) == 8 and box.value == "newest"
        assert len([path for path in (folder / "metagym").iterdir() if path.is_dir()]) == 1
    assert seen == {"old", after} and at > 8


def test_damage_is_found_before_anything_is_restored(tmp_path: Path) -> None:
    one, two = Box(1), Box(2)
    parts = {"one": one.part, "two": two.part}
    save_parts(tmp_path, parts, 8)
    folder = tmp_path / "metagym" / read_manifest(tmp_path)["folder"]
    (folder / "two" / "state.json").write_text("3\n")
    one.value = "untouched"
    with pytest.raises(StoreCorrupt, match=r"two.state.json is not the file that was saved"):
        load_parts(tmp_path, parts)
    assert one.value == "untouched"
    for text in ("{", '{"format": 2}', '{"format": 1}', "[]"):
        (tmp_path / "metagym" / "manifest.json").write_text(text)
        with pytest.raises(StoreCorrupt):
            load_parts(tmp_path, parts)


def test_a_file_of_the_trainer_that_is_gone_is_not_gone_on_without(tmp_path: Path) -> None:
    """Transformers would: without optimizer.pt it begins with fresh moments, without rng_state.pth with other noise."""
    for step in (4, 8):
        checkpoint = tmp_path / f"checkpoint-{step}"
        (checkpoint / "global_step").mkdir(parents=True)
        for name in ("optimizer.pt", "rng_state.pth", "global_step/shard.pt"):
            (checkpoint / name).write_text("x")
        save_parts(checkpoint, {"box": Box(step).part}, step)
        assert read_manifest(checkpoint)["beside"] == ["global_step/shard.pt", "optimizer.pt", "rng_state.pth"]
    assert latest_checkpoint(tmp_path) == checkpoint
    (checkpoint / "optimizer.pt").unlink()
    box = Box()
    with pytest.raises(StoreCorrupt, match=r"optimizer.pt is gone, .* resume from the checkpoint before this one"):
        load_parts(checkpoint, {"box": box.part})
    assert box.value is None
    assert latest_checkpoint(tmp_path) == tmp_path / "checkpoint-4"


def test_other_parts_or_none_are_told_of(tmp_path: Path) -> None:
    box = Box(1)
    with pytest.raises(RunError, match="holds no state of MetaGym"):
        load_parts(tmp_path, {"box": box.part})
    save_parts(tmp_path, {"box": box.part}, 8)
    with pytest.raises(RunError, match="holds the parts box, and this run has bank, box"):
        load_parts(tmp_path, {"box": box.part, "bank": box.part})
    for name in ("", "a/b", "..", "a.b"):
        with pytest.raises(BadInput, match="a part's name"):
            save_parts(tmp_path, {name: box.part}, 8)
    with pytest.raises(BadInput, match="JSON cannot hold"):
        save_parts(tmp_path, {"box": JsonPart(lambda: float("nan"), box.set)}, 8)
    assert load_parts(tmp_path, {"box": box.part}) == 8


def test_the_latest_checkpoint_is_the_last_one_that_was_finished(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path) is None and latest_checkpoint(tmp_path / "none") is None
    for step in (4, 8, 12):
        save_parts(tmp_path / f"checkpoint-{step}", {}, step)
    (tmp_path / "checkpoint-16").mkdir()
    (tmp_path / "checkpoint-best").mkdir()
    assert latest_checkpoint(tmp_path) == tmp_path / "checkpoint-12"
    (tmp_path / "checkpoint-12" / "metagym" / "manifest.json").unlink()
    assert latest_checkpoint(tmp_path) == tmp_path / "checkpoint-8"


def config(**changes: Any) -> Any:
    settings = {"save_strategy": "steps", "save_steps": 4, "steps_per_generation": 4, "num_iterations": 1}
    kept = {"save_total_limit": 2, "save_only_model": False, "gradient_accumulation_steps": 1}
    return SimpleNamespace(**{**settings, **kept, **changes})


def test_trl_issue_16_checkpoints_off_the_generation_cycle_are_refused() -> None:
    for good in ({}, {"save_steps": 8}, {"save_strategy": "no", "save_steps": 3}, {"gradient_accumulation_steps": 4}):
        check_alignment(config(**good))
    with pytest.raises(BadInput, match="save_steps=6 is off the generation cycle of 4 .* e.g. 8"):
        check_alignment(config(save_steps=6))
    with pytest.raises(BadInput, match="cycle of 8"):
        check_alignment(config(num_iterations=2))
    for strategy in ("epoch", "best"):
        with pytest.raises(BadInput, match="save_strategy='steps'"):
            check_alignment(config(save_strategy=strategy))
    with pytest.raises(BadInput, match="share of the run"):
        check_alignment(config(save_steps=0.25))


def test_trl_issue_16_a_run_always_has_a_checkpoint_that_it_can_go_on_from(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="save_total_limit=1 deletes the last finished"):
        check_alignment(config(save_total_limit=1))
    with pytest.raises(BadInput, match="set save_only_model=False"):
        check_alignment(config(save_only_model=True))
    for good in ({"save_total_limit": None}, {"save_strategy": "no", "save_total_limit": 1, "save_only_model": True}):
        check_alignment(config(**good))
    from transformers.trainer_utils import rotate_checkpoints

    for limit in (2, 1):  # what transformers does before the callbacks of a save
        save_parts(tmp_path / "checkpoint-4", {}, 4)
        (tmp_path / "checkpoint-8").mkdir(exist_ok=True)
        rotate_checkpoints(output_dir=str(tmp_path), save_total_limit=limit, best_model_checkpoint=None)
        assert (latest_checkpoint(tmp_path) is not None) == (limit == 2)


@pytest.mark.parametrize(
    ("generation", "iterations", "update", "cycle"),
    [(4, 1, 1, 4), (4, 2, 8, 1), (4, 1, 8, 1), (4, 1, 2, 2), (2, 3, 4, 3)],
)
def test_the_cycle_is_when_generation_and_updates_meet(
    generation: int, iterations: int, update: int, cycle: int
) -> None:
    args = config(steps_per_generation=generation, num_iterations=iterations, gradient_accumulation_steps=update)
    assert cycle_of(args) == cycle


def test_the_callback_restores_what_the_trainer_goes_on_from(tmp_path: Path) -> None:
    box = Box("at 8")
    args = config(output_dir=str(tmp_path), should_save=True)
    first = StateCallback({"box": box.part})
    first.on_train_begin(args, SimpleNamespace(global_step=0), None)
    first.on_save(args, SimpleNamespace(global_step=8), None)
    assert (first.saved, first.restored) == (8, None)
    box.value = "later"
    again = StateCallback({"box": box.part})
    again.on_train_begin(args, SimpleNamespace(global_step=8), None)
    assert box.value == "at 8" and again.restored == 8


def test_a_trainer_never_goes_on_with_the_state_of_another_step(tmp_path: Path) -> None:
    box = Box(0)
    args = config(output_dir=str(tmp_path), should_save=True)
    StateCallback({"box": box.part}).on_save(args, SimpleNamespace(global_step=8), None)
    for step, words in ((4, "holds no state"), (6, "off the generation cycle")):
        with pytest.raises(RunError, match=words):
            StateCallback({"box": box.part}).on_train_begin(args, SimpleNamespace(global_step=step), None)
    early = StateCallback({"box": box.part})
    early.restore(tmp_path / "checkpoint-8")
    with pytest.raises(RunError, match="the trainer begins at step 0"):
        early.on_train_begin(args, SimpleNamespace(global_step=0), None)
    (tmp_path / "checkpoint-8").rename(tmp_path / "checkpoint-12")
    with pytest.raises(RunError, match="holds the state of step 8"):
        StateCallback({"box": box.part}).on_train_begin(args, SimpleNamespace(global_step=12), None)
    with pytest.raises(BadInput, match="save_steps=6"):
        early.on_train_begin(config(save_steps=6), SimpleNamespace(global_step=0), None)


def test_a_second_training_of_a_process_restores_what_the_first_one_changed(tmp_path: Path) -> None:
    box = Box("at 8")
    args = config(output_dir=str(tmp_path), should_save=True)
    callback = StateCallback({"box": box.part})
    callback.on_save(args, SimpleNamespace(global_step=8), None)
    callback.restore(tmp_path / "checkpoint-8")
    for _ in range(3):  # restored by the script, then twice by the callback
        callback.on_train_begin(args, SimpleNamespace(global_step=8), None)
        assert box.value == "at 8"
        box.value = "what a training that failed has left"


@pytest.mark.parametrize(("begun", "ended", "goes_on"), [(4, 4, True), (8, 8, True), (5, 5, False), (5, 4, False)])
def test_trl_issue_16_a_trainer_stopped_within_a_batch_is_not_resumed(begun: int, ended: int, goes_on: bool) -> None:
    args, callback, state = config(), StateCallback({}), SimpleNamespace(global_step=0)
    for _ in range(begun):
        callback.on_step_begin(args, state, None)
    for _ in range(ended):
        callback.on_step_end(args, state, None)
    if not goes_on:
        with pytest.raises(RunError, match="build a new trainer"):
            callback.on_train_begin(args, state, None)
        callback.on_init_end(args, state, None)  # which that one does
    callback.on_train_begin(args, state, None)


def test_other_processes_leave_the_saving_to_the_main_one(tmp_path: Path) -> None:
    callback = StateCallback({"box": Box(0).part})
    callback.on_save(config(output_dir=str(tmp_path), should_save=False), SimpleNamespace(global_step=8), None)
    assert not list(tmp_path.iterdir())


# --- killed and resumed, with a real trainer

SCRIPT = Path(__file__).with_name("resumed_run.py")


def run(*runs: tuple[Path, str]) -> None:
    """Runs in processes of their own, one after another: (folder, where it is killed: ``"step:place"``, or ""))."""
    told = json.dumps([[str(folder), kill] for folder, kill in runs])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(SCRIPT), told]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=600, cwd=SCRIPT.parents[3])
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    logs = "".join((folder / "log.txt").read_text()[-2000:] for folder, _ in runs)
    assert json.loads(done.stdout) == [-9 if kill else 0 for _, kill in runs], logs


def told(folder: Path) -> tuple[list[Any], Any]:
    """The generations of a run (the last word on each step) and its final state."""
    lines = [json.loads(line) for line in (folder / "generations.jsonl").read_text().splitlines()]
    last = {line["step"]: line for line in lines}
    return [last[step] for step in sorted(last)], json.loads((folder / "end.json").read_text())


def test_trl_issue_16_a_run_that_is_killed_and_resumed_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run((whole, ""), (killed, "4:parts"), (killed, ""))
    generations, end = told(whole)
    assert [line["step"] for line in generations] == [0, 2, 4, 6] and len(end["memory"]) == 4
    assert told(killed) == (generations, end)


@pytest.mark.slow
def test_trl_issue_16_a_run_killed_anywhere_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    kills = [
        f"{step}:{place}" for step in (2, 4, 6) for place in ("step", "save", "parts", "saved", "rollout", "reward")
    ]
    folders = {kill: tmp_path / kill.replace(":", "-") for kill in kills}
    whole, often = tmp_path / "whole", tmp_path / "often"
    runs = [(whole, "")]
    for kill, folder in folders.items():
        runs += [(folder, kill), (folder, "")]
    run(*runs, *((often, kill) for kill in kills), (often, ""))
    for folder in (*folders.values(), often):
        assert told(folder) == told(whole), folder.name

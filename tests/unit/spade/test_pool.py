"""Fixed pools: every file against its digest, equal draws for equal seeds, validated when they are built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metagym.errors import BadInput, NoTasks, StoreCorrupt
from metagym.runs.spade import build_pool, check_fixed_pool, export_pool
from metagym.spade.config import ablated
from metagym.spade.memory import EnvMemory
from metagym.spade.pool import LIST, load_pool, write_pool
from metagym.spade.stand_ins.programs import adversaries, noisy_door, number_lock
from metagym.spade.validation import ValidationSettings
from tests.unit.spade.running import config, run

SOURCES = [number_lock(2), number_lock(3, ["ledger", "drift"]), noisy_door(0.5)]
QUICK = ValidationSettings(seeds=3)


def test_a_pool_is_the_same_pool_wherever_it_lies(tmp_path: Path) -> None:
    one = write_pool(tmp_path / "a", SOURCES)
    other = write_pool(tmp_path / "b", [*reversed(SOURCES), SOURCES[0]])
    assert one.digest == other.digest and len(one.programs) == 3
    assert [program.source for program in load_pool(tmp_path / "b").programs] == [p.source for p in one.programs]
    listed = json.loads((tmp_path / "a" / LIST).read_text(encoding="utf-8"))
    assert all(len(told["sha256"]) == 64 for told in listed["files"].values())
    draws = [one.draw(number, 7).digest for number in range(9)]
    assert draws == [other.draw(number, 7).digest for number in range(9)]
    for epoch in range(3):
        assert len(set(draws[3 * epoch : 3 * epoch + 3])) == 3
    assert [one.draw(number, 8).digest for number in range(9)] != draws


@pytest.mark.parametrize("damage", ["changed", "absent", "list", "outside", "prose"])
def test_every_damage_is_named(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "pool"
    write_pool(folder, SOURCES)
    file = next(iter(sorted((folder / "programs").iterdir())))
    listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
    if damage == "changed":
        file.write_bytes(file.read_bytes() + b"\n")
    elif damage == "absent":
        file.unlink()
    elif damage == "list":
        (folder / LIST).write_text("{", encoding="utf-8")
    elif damage == "outside":
        listed["files"]["../../etc/passwd"] = {"sha256": "0" * 64}
        (folder / LIST).write_text(json.dumps(listed), encoding="utf-8")
    else:
        raw = b"prose"
        file.write_bytes(raw)
        import hashlib

        listed["files"][f"programs/{file.name}"]["sha256"] = hashlib.sha256(raw).hexdigest()
        (folder / LIST).write_text(json.dumps(listed), encoding="utf-8")
    with pytest.raises(StoreCorrupt, match=LIST if damage in ("list", "outside") else file.name):
        load_pool(folder)


def test_building_refuses_bad_programs_and_says_why(tmp_path: Path) -> None:
    told: list[str] = []
    sources = [number_lock(2), adversaries()["crash"], number_lock(2), number_lock(5)]
    made, reports = build_pool(sources, tmp_path / "pool", QUICK, lambda report: told.append(report.code))
    assert [report.code for report in reports] == told == ["", "step_crash", "duplicate_exact", "duplicate_ast"]
    assert len(made.programs) == 1
    with pytest.raises(BadInput, match="not an empty folder"):
        build_pool(sources, tmp_path / "pool", QUICK)
    with pytest.raises(NoTasks, match="step_crash"):
        build_pool([adversaries()["crash"]], tmp_path / "none", QUICK)
    assert not (tmp_path / "none").exists()
    assert [(title, report.ok) for title, report in check_fixed_pool(tmp_path / "pool", QUICK)] == [
        ("Number lock 2", True)
    ]


def test_a_memory_is_exported_by_skill_and_difficulty(tmp_path: Path) -> None:
    with EnvMemory.open(tmp_path / "memory.jsonl", "w") as memory:
        loop, _, _ = run(config(rounds=2, programs=4), memory=memory)
        views = memory.snapshot().all_views
    made = export_pool(tmp_path / "memory.jsonl", tmp_path / "all")
    assert {program.digest for program in made.programs} == {view.digest for view in views}
    skill = views[0].skill
    some = {program.digest for program in export_pool(tmp_path / "memory.jsonl", tmp_path / "s", skill=skill).programs}
    assert some == {view.digest for view in views if view.skill == skill}
    with pytest.raises(NoTasks, match="none of them fits"):
        export_pool(tmp_path / "memory.jsonl", tmp_path / "x", skill="Chess")
    assert loop.slots


def test_a_run_on_a_fixed_pool_designs_nothing(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool", SOURCES)
    settings = ablated(config(pool=str(tmp_path / "pool"), rounds=2, programs=3), "fixed-pool")
    loop, _, _ = run(settings)
    for slots in loop.slots:
        assert {slot.design.last.source for slot in slots} == set(SOURCES)
        assert all(slot.design.backend == "pool" and slot.played is not None for slot in slots)
    views = loop.memory.snapshot().views
    assert len(views) == 3 and all(len(view.later) == 1 for view in views)


def test_an_empty_pool_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(NoTasks):
        write_pool(tmp_path / "pool", [])
    with pytest.raises(BadInput, match="no environment program"):
        write_pool(tmp_path / "pool", ["prose"])
    with pytest.raises(BadInput, match="holds no pool.json"):
        load_pool(tmp_path)

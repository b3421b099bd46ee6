"""Rows: what is read, what is refused, and that tasks pass through Arrow unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metagym import Task
from metagym.errors import BadInput
from metagym_trainers.ict import ReplaySpec, ict_dataset
from metagym_trainers.ict.rows import COLUMNS, training_rows


def test_a_row_becomes_prompt_id_and_replay(rows: list[dict[str, Any]]) -> None:
    made = training_rows(rows)
    assert [set(row) for row in made] == [{"prompt", "id", "replay"}] * len(rows)
    for row, found in zip(rows, made, strict=True):
        spec = ReplaySpec.from_text(found["replay"])
        assert found["prompt"] == row["messages"] and found["id"] == spec.row == row["id"]
        assert [task.to_json() for task in spec.tasks] == row["tasks"]
        assert (spec.actor_seed, spec.clean, spec.max_steps) == (row["actor_seed"], row["clean"], row["max_steps"])
        assert spec.system_prompt == row["system_prompt"] and ReplaySpec.from_text(spec.to_text()) == spec


def test_parameters_of_tasks_survive_arrow(rows: list[dict[str, Any]]) -> None:
    plain = {**rows[0], "tasks": [Task("TinyErrands", "gem-ice", params={"a": 1}).to_json()]}
    other = {**rows[1], "tasks": [Task("TinyErrands", "gem-ice", params={"b": [None, "x"]}).to_json()]}
    data = ict_dataset([plain, other])
    keys = [ReplaySpec.from_text(text).tasks[0].key for text in data["replay"]]
    assert keys == [Task.from_json(row["tasks"][0]).key for row in (plain, other)]


def test_a_file_of_rows_is_read_and_its_errors_name_the_line(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "rows ключ.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    assert ict_dataset(path).to_list() == ict_dataset(rows).to_list()
    path.write_text(json.dumps(rows[0]) + "\n\n{oops\n", "utf-8")
    with pytest.raises(BadInput, match="line 3 is no JSON"):
        ict_dataset(path)
    with pytest.raises(BadInput, match="metagym ict collect"):
        ict_dataset(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("column", COLUMNS)
def test_a_missing_column_is_named_with_the_command(column: str, rows: list[dict[str, Any]]) -> None:
    short = {name: value for name, value in rows[1].items() if name != column}
    with pytest.raises(BadInput, match=rf"row 1: the row has no column '{column}'.*metagym ict collect"):
        ict_dataset([rows[0], short])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tasks", []),
        ("tasks", "gem-ice"),
        ("tasks", [{"family": "TinyErrands"}]),
        ("messages", []),
        ("messages", [{"role": "user"}]),
        ("seat", {"colour": "red"}),
        ("seat", None),
        ("actor_seed", -1),
        ("max_steps", 0),
        ("clean", 1),
        ("family_options", None),
        ("system_prompt", None),
        ("system_prompt", "a\x00b"),
        ("actor", None),
    ],
)
def test_an_unusable_column_is_refused(column: str, value: Any, rows: list[dict[str, Any]]) -> None:
    with pytest.raises(BadInput, match="row 0: "):
        ict_dataset([{**rows[0], column: value}])


def test_no_rows_are_refused() -> None:
    with pytest.raises(BadInput, match="no training rows.*metagym ict collect"):
        ict_dataset([])

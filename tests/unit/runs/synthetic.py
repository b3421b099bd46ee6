"""Synthetic run folders: records of the form that the loops write, with nothing played."""

from pathlib import Path
from typing import Any

from metagym.episodes import Episode, Repair, Status, Turn, Usage
from metagym.runs import RunFolder, base_manifest
from metagym.seeding import rng
from metagym.tasks import Task

TYPES = ("pick_and_place", "look_at_obj_in_light", "pick_clean_then_place", "pick_heat_then_place")
RULES = (
    "If a container is closed, open it.",
    "Do not visit the same place twice.",
    "When you see the object that the task names, take it.",
    "Once you hold it, go to the destination and put it there.",
    "Clean things at the sinkbasin.",
    "Heat things with the microwave.",
)


def a_task(index: int, split: str = "valid", seed: int = 0) -> Task:
    return Task("Toy", f"{split}/{TYPES[index % len(TYPES)]}/{index}", TYPES[index % len(TYPES)], split, seed)


def an_episode(
    task: Task,
    success: bool | None,
    status: Status = Status.OK,
    turns: tuple[Turn, ...] | None = None,
    **fields: Any,
) -> Episode:
    if turns is None:
        reward = 1.0 if success else 0.0
        turns = (
            Turn("You are in the middle of a room. Looking around you, you see a cabinet 1 and a fridge 1.",
                 "Thought: the fridge is closed.\nAction: open fridge 1", "open fridge 1", 0.0, False, False,
                 Repair.REPAIRED),
            Turn("You open the fridge 1. In it, you see a mug 1.", "take mug 1 from fridge 1",
                 "take mug 1 from fridge 1", reward, bool(success), not success),
        )  # fmt: skip
    fields.setdefault("ret", 1.0 if success else 0.0)
    fields.setdefault("usage", Usage(calls=len(turns), prompt_tokens=300, completion_tokens=20))
    fields.setdefault("info", {"engine": "native"})
    return Episode(
        task, turns, fields.pop("last_observation", "You pick up the mug 1."), success=success, status=status, **fields
    )


def episode_records(prefix: str, turn: int, phase: str, episodes: list[Episode]) -> list[tuple[str, Any]]:
    return [
        (
            f"{prefix}turn/{turn}/{phase}/{slot}",
            {"kind": "episode", "turn": turn, "phase": phase, "slot": slot, "episode": episode.to_json()},
        )
        for slot, episode in enumerate(episodes)
    ]


def meta_episode(
    prefix: str = "", seed: int = 0, turns: int = 4, eval_tasks: int = 24, learns: float = 0.8, batch_size: int = 5
) -> list[tuple[str, Any]]:
    """The records of one meta-episode whose success rises from 0 to `learns`."""
    dice = rng(seed, "synthetic", prefix)
    rows: list[tuple[str, Any]] = []
    prompt = "You play household games."
    for turn in range(turns + 1):
        if turn:
            prompt += f"\n{turn}. {RULES[(turn - 1) % len(RULES)]}"
            reflection = {
                "kind": "reflection",
                "turn": turn,
                "prompt": prompt,
                "outcome": "improved",
                "analysis": "Three of five games stalled before a closed container.",
                "reply": "ANALYSIS: ...\nIMPROVED PROMPT: " + prompt,
                "cause": "",
                "usage": Usage(1, 2000, 150).to_json(),
                "backend": "scripted",
                "accepted": True,
            }
            rows.append((f"{prefix}turn/{turn}/reflection", reflection))
        chance = learns * turn / max(turns, 1)
        fresh = [a_task(turn * batch_size + slot, "train") for slot in range(batch_size)]
        rows += episode_records(prefix, turn, "batch", [an_episode(task, dice.random() < chance) for task in fresh])
        if not turn:
            rows.append((f"{prefix}turn/0/prompt", {"kind": "prompt", "turn": 0, "prompt": prompt}))
        held_out = [a_task(index) for index in range(eval_tasks)]
        rows += episode_records(prefix, turn, "eval", [an_episode(task, dice.random() < chance) for task in held_out])
    rows.append((f"{prefix}end", {"kind": "end", "turns": turns, "prompt": prompt}))
    return rows


def a_manifest(**changes: Any) -> dict[str, Any]:
    return {
        **base_manifest(),
        "command": "ict run",
        "config": {
            "family": "Toy",
            "actor": "rules",
            "reflector": "rules",
            "seed": 0,
            "max_steps": 30,
            "eval_tasks": 24,
        },
        "versions": {"family": {"engine": "native 1", "data": "generated", "grammar": "move"}},
        **changes,
    }


def write_run(path: Path, rows: list[tuple[str, Any]] | None = None, **manifest: Any) -> Path:
    with RunFolder.create(path, a_manifest(**manifest)) as run:
        run.records.append_many(meta_episode() if rows is None else rows)
        run.note_seconds("turn/0/eval", 0.25)
    return path

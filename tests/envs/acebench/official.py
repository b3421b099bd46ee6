"""What the checkout's own executors and scorer say of conversations, told by a process of theirs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metagym_envs.acebench.judging import SAVED

NEEDED = (
    "eval_main.py", "category.py", "model_eval/checker.py", "model_eval/utils.py", "model_eval/evaluation_helper.py",
    "model_inference/prompt_en.py",
    "model_inference/multi_step/execution_role_step.py", "model_inference/multi_step/multi_step_utils.py",
    "model_inference/multi_turn/execution_role.py", "model_inference/multi_turn/multi_turn_utils.py",
)  # fmt: skip

State = list[dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Told:
    """What became of a conversation.

    Attributes:
        answers: To each message: what the executor said, or None where the message went to the user.
        state: By back end, the attributes that are compared; [] where no message ran.
        right: The end-to-end verdict.
        process: The process score, to three places.
    """

    answers: list[Any]
    state: State
    right: bool
    process: float


def missing(path: str) -> list[str]:
    """Files of the executors and the scorer that a checkout lacks."""
    return [name for name in NEEDED if not (Path(path) / name).is_file()]


def played(path: str, jobs: Sequence[tuple[str, int, list[str]]], folder: Path) -> list[Told]:
    """Plays conversations.

    Args:
        path: The checkout.
        jobs: Kind and row of a task, and what the agent sends.
        folder: Where the process may write.
    """
    program = Path(__file__).with_name("official_inside.py")
    done = subprocess.run(
        [sys.executable, str(program), str(Path(path).resolve())],
        input=json.dumps({"listed": SAVED, "jobs": jobs}), capture_output=True, text=True, cwd=folder, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [Told(**one) for one in json.loads(done.stdout)]

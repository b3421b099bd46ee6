"""Runs conversations through the executors and the scorer of a checkout: a program of its own, never imported.

    python official_inside.py CHECKOUT < jobs > told

Their code evaluates what an agent says and keeps back ends in the globals of a module: each conversation gets a model
name of its own, and all of it stays in this process. Modules that have no part in it may be absent (tables, the other
language): empty ones stand in. A back end that dialogues lack is the one of the other folder, as `metagym_envs` has it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

EMPTY = {
    "pandas": (),
    "openpyxl": ("Workbook",),
    "openpyxl.styles": ("Alignment",),
    "model_inference.prompt_zh": (),
    "model_inference.utils": ("decode_ast",),
}
TRAVEL = "model_inference.multi_{}.scenariosen.travel"


class StandIns(MetaPathFinder, Loader):
    """Asked last, for modules that nobody else finds."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        known = name in EMPTY or name == TRAVEL.format("turn")
        return ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name not in EMPTY:
            return importlib.import_module(TRAVEL.format("step"))
        module = ModuleType(spec.name)
        module.__dict__.update(dict.fromkeys(EMPTY[spec.name]))
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


class Harness:
    """Executors and scorer; `listed` are the attributes that are compared, by class."""

    def __init__(self, root: Path, listed: dict[str, list[str]]) -> None:
        self._listed, self._count = listed, 0
        step = importlib.import_module("model_inference.multi_step.execution_role_step")
        turn = importlib.import_module("model_inference.multi_turn.execution_role")
        self._roles = {"multi_step": step.EXECUTION_STEP, "multi_turn": turn.EXECUTION}
        self._scorer = importlib.import_module("eval_main")
        self._scorer.__dict__.update(language="en", OUTPUT_PATH="./score_all/score_en/")
        Path("score_all/score_en/m").mkdir(parents=True, exist_ok=True)
        data = root / "data_all" / "data_en"
        self._rows = {kind: _rows(data / f"data_agent_{kind}.json") for kind in self._roles}
        self._gold = {kind: _rows(data / "possible_answer" / f"data_agent_{kind}.json") for kind in self._roles}

    def play(self, kind: str, number: int, sent: list[str]) -> dict[str, Any]:
        """One conversation, and what is said of it."""
        row, self._count = self._rows[kind][number], self._count + 1
        role = self._roles[kind](
            agent_model_name=f"m{self._count}", initial_config=row["initial_config"],
            involved_classes=row["involved_classes"], test_id=str(number), language="en",
        )  # fmt: skip
        answers: list[Any] = []
        executed: list[str] = []
        instances: dict[str, Any] = {}
        with contextlib.redirect_stdout(sys.stderr):
            for text in sent:
                if kind == "multi_turn" and not _goes_to_execution(role, text):
                    answers.append(None)
                    continue
                executed.append(text)
                said, found = role.respond([{"message": text}])
                answers.append(said["message"])
                instances = found if isinstance(found, dict) and found else instances
            state = [
                {name: {key: value for key, value in vars(one).items() if key in self._listed[name]}}
                for name, one in instances.items()
            ]
            result = {"result": json.loads(json.dumps(state)), "process": executed}
            right, process = self._scorer.agent_eval([result], [row], [self._gold[kind][number]], f"agent_{kind}", "m")
        return {"answers": answers, "state": result["result"], "right": right == 1.0, "process": process}


def _goes_to_execution(role: Any, text: str) -> bool:
    """Whether the harness sends a message of a dialogue to be executed, and not to the user."""
    if not re.search(r"\[.*\]", text):
        return False
    try:
        role.decode_function_list(text)
    except Exception:
        return False
    return True


def _rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def main() -> None:
    """Reads jobs, writes what is told of them."""
    root, asked = Path(sys.argv[1]), json.load(sys.stdin)
    sys.path[0] = str(root)
    sys.meta_path.append(StandIns())
    harness = Harness(root, asked["listed"])
    json.dump([harness.play(*job) for job in asked["jobs"]], sys.stdout, default=str)


if __name__ == "__main__":
    main()

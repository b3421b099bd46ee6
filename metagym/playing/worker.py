"""The other end of `metagym.playing.processes`: plays one environment at a time, one JSON line per message."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import pickle
import signal
import sys
from collections.abc import Mapping
from typing import Any

from metagym.tasks import Task


def plain(value: Any, depth: int = 6) -> Any:
    """JSON data of `value`; numpy scalars become numbers, what has no JSON form is left out of mappings.

    None stays in a mapping: it says that something was not measured.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if depth and isinstance(value, Mapping):
        items = ((key, item, plain(item, depth - 1)) for key, item in value.items() if isinstance(key, str))
        return {key: made for key, item, made in items if made is not None or item is None}
    if depth and isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    return None


class _Player:
    """The environment that is being played."""

    def __init__(self) -> None:
        self.env: Any = None
        self.seed = 0
        self.payload = ""
        self.family: Any = None

    def __call__(self, message: Mapping[str, Any]) -> Any:
        call = message["call"]
        if call == "open":
            if message["family"] != self.payload:
                self.payload = message["family"]
                self.family = pickle.loads(base64.b64decode(self.payload))  # our own parent's bytes
            task = Task.from_json(message["task"])
            self.env, self.seed = self.family.open(task), task.seed
        elif call == "reset":
            observation, info = self.env.reset(seed=self.seed)
            return [observation, plain(info)]
        elif call == "step":
            observation, reward, terminated, truncated, info = self.env.step(message["action"])
            return [observation, plain(reward), bool(terminated), bool(truncated), plain(info)]
        elif call == "close":
            env, self.env = self.env, None
            if env is not None:
                env.close()
        return None


def _end_with_parent() -> None:
    """Asks Linux to end this process with its parent: one that hangs in an engine would never see its input end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1 = PR_SET_PDEATHSIG, prctl(2)


def main() -> None:
    """Answers until standard input ends, i.e. until the parent is gone."""
    _end_with_parent()
    # Engines print: keep the real standard output for answers alone.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    player = _Player()
    for line in sys.stdin.buffer:
        try:
            answer: dict[str, Any] = {"result": player(json.loads(line))}
            text = json.dumps(answer)
        except KeyboardInterrupt:
            return
        except BaseException as error:  # SystemExit of an engine included: the episode ends, not the worker
            text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        out.write(text + "\n")
        out.flush()


if __name__ == "__main__":
    main()

"""What a training of the reflector leaves in its run folder: metrics, sampled episodes, the table and the figure."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from metagym.checks import whole
from metagym.episodes import Episode
from metagym.runs.folder import write_atomically
from metagym.stats import Estimate
from metagym.strictjson import plain_json, strict_json
from metagym_trainers.ict.rewards import ReplayReward
from metagym_trainers.ict.rows import ReplaySpec
from metagym_trainers.tracking import DEAD_SHARE, dead_share, warn_dead

METRICS, EPISODES, TABLE, FIGURE = "metrics.jsonl", "episodes", "table.md", "curve.svg"


class RunLog(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Writes every log line of a training, with the rewards of its generation batch, and some replayed episodes.

    A resumed run ends with the files of an uninterrupted one: lines and samples behind the checkpoint are taken away
    before it goes on.

    Args:
        folder: The run folder.
        reward: The training's reward; its replays report their episodes here from now on.
        samples: Candidates kept per sampled step, with all of their episodes.
        every: Steps between two samples.
        say: Told a line of progress every tenth step, e.g. `print`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        reward: ReplayReward,
        *,
        samples: int = 2,
        every: int = 25,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.folder, self.reward = Path(folder), reward
        self.samples, self.every = whole("samples", samples, 0), whole("every", every, 1)
        self._say, self._warned = say, False
        self._seen: list[tuple[ReplaySpec, str, Sequence[Episode]]] = []
        reward.replays.on_episodes = self._note

    def _note(self, spec: ReplaySpec, prompt: str, episodes: Sequence[Episode]) -> None:
        if len(self._seen) < self.samples:
            self._seen.append((spec, prompt, episodes))

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Takes away what lies behind the step that the training goes on from."""
        self._seen.clear()  # of evaluations
        if not state.is_world_process_zero:
            return
        kept = [line for line in read_metrics(self.folder) if line["step"] <= state.global_step]
        write_atomically(self.folder / METRICS, "".join(json.dumps(line) + "\n" for line in kept))
        for path in (self.folder / EPISODES).glob("step-*.jsonl"):
            if int(path.stem.removeprefix("step-")) > state.global_step:
                path.unlink()

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        """Writes a line; steps that generated carry their rewards."""
        if not logs or "reward" not in logs:
            return
        rewards, self.reward.last = self.reward.last, ()
        if rewards and not self._warned:  # once: a policy that has learnt all there is has dead groups at every step
            share = dead_share(rewards, args.num_generations)
            self._warned = share is not None and share > DEAD_SHARE
            warn_dead(share, state.global_step)
        if not state.is_world_process_zero:
            return
        line = {"step": state.global_step, **{name: _plain(value) for name, value in logs.items()}}
        line["rewards"] = list(rewards)
        with (self.folder / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain_json(line, "metrics")) + "\n")
        if self._say is not None and state.global_step % 10 == 0:
            names = {"reward": "reward", "replay/cache_hit_rate": "known replays", "replay/seconds": "replay seconds"}
            told = [f"{name} {line[key]:.2f}" for key, name in names.items() if line.get(key) is not None]
            self._say(f"step {state.global_step}: {', '.join(told)}")
        if self.samples and state.global_step % self.every == 0:
            self._write_samples(state.global_step)
        self._seen.clear()

    def _write_samples(self, step: int) -> None:
        (self.folder / EPISODES).mkdir(exist_ok=True)
        lines = [
            {"step": step, "row": spec.row, "prompt": prompt, "episodes": [episode.to_json() for episode in episodes]}
            for spec, prompt, episodes in self._seen
        ]
        text = "".join(json.dumps(plain_json(line, "sample"), ensure_ascii=False) + "\n" for line in lines)
        write_atomically(self.folder / EPISODES / f"step-{step:06d}.jsonl", text)


def _plain(value: Any) -> Any:
    """A number for JSON; None for what was not measured."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_metrics(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The log lines of a run, in order; a last line that a kill cut off is left out."""
    path = Path(folder) / METRICS
    lines: list[dict[str, Any]] = []
    for text in path.read_text("utf-8").splitlines() if path.is_file() else []:
        try:
            lines.append(strict_json(text))
        except ValueError:
            break
    return lines


def table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[Estimate]], notes: Sequence[str]) -> str:
    """The evaluation as Markdown.

    Args:
        title: What was evaluated.
        columns: Names of the sets of rows.
        rows: By policy, one estimate per column.
        notes: What the reader must know of the figures.
    """
    lines = [f"# {title}", "", "| policy | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(found.text() for found in values) + " |" for name, values in rows.items()]
    return "\n".join([*lines, "", *notes, ""])


def figure(folder: str | os.PathLike[str], levels: Mapping[str, float | None], title: str) -> Path:
    """Draws the training's curve: mean reward of each generation batch, and levels to compare it with.

    Args:
        folder: The run folder.
        levels: Names and heights of horizontal lines; None is left out.
        title: Above the figure.

    Returns:
        The SVG file.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    lines = [line for line in read_metrics(folder) if line.get("reward") is not None]
    drawn = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasSVG(drawn)
    axes = drawn.add_subplot()
    axes.plot([line["step"] for line in lines], [line["reward"] for line in lines], linewidth=1, label="reward")
    for at, (name, height) in enumerate(levels.items()):
        if height is not None:
            axes.axhline(height, linestyle="--", linewidth=1, color=f"C{at + 1}", label=f"{name}: {height:.2f}")
    axes.set(xlabel="optimiser step", ylabel="mean return of the replayed batches", title=title)
    axes.legend(fontsize="small")
    path = Path(folder) / FIGURE
    drawn.savefig(path, metadata={"Date": None})
    return path

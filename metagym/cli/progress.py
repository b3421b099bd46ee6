"""Progress bars of the long commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from metagym.episodes import success_rate
from metagym.ict.config import RunConfig
from metagym.ict.evaluate import EvalConfig
from metagym.ict.loop import Event


def _scored_turns(config: RunConfig) -> int:
    turns = set(range(0, config.meta_turns + 1, config.eval_every)) | {config.meta_turns}
    return len(turns)


def episodes_of(config: RunConfig) -> int:
    """How many episodes a run plays (without the replays of ``accept``)."""
    return config.batch_size * (config.meta_turns + 1) + config.eval_tasks * _scored_turns(config)


@contextmanager
def _columns() -> Iterator[Progress]:
    """Bars on the error stream, stopped at the end if anything started them."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    progress = Progress(*columns, console=Console(stderr=True))
    try:
        yield progress
    finally:
        if progress.live.is_started:
            progress.stop()


class _Bar:
    """A bar over episodes, with the success rate of what was scored last.

    It appears when the first phase begins: settings that are refused show an error and no bar.
    """

    def __init__(self, progress: Progress, total: int, title: str) -> None:
        self.progress = progress
        self.task = progress.add_task(title, total=total, note="")
        self.ended = 0  # episodes of the phase that is being played

    def __call__(self, event: Event) -> None:
        self.progress.start()
        if event.kind == "episode" and event.phase.split("/")[-1] in ("batch", "eval"):
            self.ended += 1
            self.progress.advance(self.task)
        if event.kind in ("batch", "eval"):
            # Episodes read from the records count too: a resumed bar starts where it stood.
            self.progress.advance(self.task, len(event.episodes) - self.ended)
            self.ended = 0
        if event.kind == "eval":
            rate = success_rate(list(event.episodes))
            shown = "-" if rate is None else f"{rate:.2f}"
            self.progress.update(self.task, note=f"held-out success {shown} at turn {event.turn}")


@contextmanager
def _progress(total: int, title: str, quiet: bool) -> Iterator[Callable[[Event], None]]:
    if quiet:
        yield lambda event: None
        return
    with _columns() as progress:
        yield _Bar(progress, total, title)


@contextmanager
def shown_run(config: RunConfig, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """The bar of ``metagym ict run``."""
    with _progress(episodes_of(config), f"{config.family} episodes", quiet) as bar:
        yield bar


@contextmanager
def shown_collect(config: RunConfig, meta_episodes: int, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """The bar of ``metagym ict collect``."""
    total = meta_episodes * config.batch_size * (config.meta_turns + 1)
    with _progress(total, f"{config.family} episodes", quiet) as bar:
        yield bar


@contextmanager
def shown_eval(config: EvalConfig, quiet: bool) -> Iterator[Callable[[str, int, Event], None]]:
    """The bar of ``metagym ict eval``."""
    run = config.run
    adapting = sum(arm.reflector is not None for arm in config.arms)
    each = run.batch_size * (run.meta_turns + 1)
    total = len(config.seeds) * (adapting * each + (len(config.arms) + 1) * run.eval_tasks)
    with _progress(total, f"{run.family} episodes", quiet) as bar:

        def told(arm: str, seed: int, event: Event) -> Any:
            bar(event)

        yield told


@contextmanager
def shown_rounds(total: int, title: str, quiet: bool) -> Iterator[Callable[[Any], None]]:
    """A bar over the slots of a run of SPADE or another loop whose events have `kind` and `value`.

    Args:
        total: Slots of all rounds.
        title: What the bar counts.
        quiet: No bar.
    """
    if quiet:
        yield lambda event: None
        return
    with _columns() as progress:
        task = progress.add_task(title, total=total, note="")
        counts = {"design": 0, "accepted": 0}

        def told(event: Any) -> None:
            progress.start()
            if event.kind == "design":
                counts["design"] += 1
                counts["accepted"] += event.value.ok
                progress.update(task, note=f"{counts['accepted']} of {counts['design']} accepted")
            if event.kind == "round":
                progress.update(task, completed=(event.round + 1) * total // max(1, event.rounds))

        yield told


@contextmanager
def counted(total: int | None, title: str) -> Iterator[Callable[[int, str], None]]:
    """A bar over anything that is counted: ``step(count, note)`` moves it; it appears with the first news.

    Args:
        total: How many there will be; None where nobody knows.
        title: What the bar counts.
    """
    with _columns() as progress:
        task = progress.add_task(title, total=total, note="")

        def step(count: int, note: str) -> None:
            progress.start()
            progress.advance(task, count)
            if note:
                progress.update(task, note=note)

        yield step

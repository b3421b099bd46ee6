"""The benchmarks that have a command and a table of their own, in the common form."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Iterable, Sequence

from benchmarks import alfworld_engine, stand_ins
from benchmarks.common import Figure, Report, at_least, at_most, told
from metagym.families import load_family


def engine_report(
    games: int = 6, steps: int = 1020, sorts: Sequence[str] = ("generated", "published"), with_real: bool | None = None
) -> Report:
    """`benchmarks.alfworld_engine`: the native engine and, where it is installed, the real one as shipped.

    Args:
        games: Games of each sort.
        steps: Steps in all, for each sort.
        sorts: ``generated``, ``published`` (left out where there is no file of them).
        with_real: Measure the real engine too; None does where it is installed.
    """
    chosen = {}
    if "generated" in sorts:
        chosen["generated"] = alfworld_engine.generated_games(games)
    if "published" in sorts and alfworld_engine.MATERIAL.is_file():
        chosen["published"] = alfworld_engine.published_games(alfworld_engine.MATERIAL, games)
    if with_real is None:
        with_real = importlib.util.find_spec("textworld") is not None
    figures: list[Figure] = []
    details: dict[str, object] = {}
    for sort, played in chosen.items():
        alfworld_engine.add_commands(played, -(-steps // games))
        native = alfworld_engine.in_a_process("native", played)
        for what, scale, unit, bound in (
            ("compile", 1e3, "ms", 3.0),
            ("reset", 1e6, "us", 30.0),
            ("step", 1e6, "us", 15.0),
            ("group", 1e3, "ms", 40.0),
        ):
            name = {
                "step": "step + admissible",
                "group": f"{alfworld_engine.GROUP_GAMES} games x {alfworld_engine.CANDIDATES} candidates x "
                f"{alfworld_engine.GROUP_STEPS} steps, compiling included",
            }.get(what, what)
            values = [value * scale for value in native[what]]
            figures.append(at_most(bound, f"{sort}: {name}", values, unit))
        count = sum(len(game["commands"]) for game in played)
        details[sort] = {"steps": count, "native_step_s": native["step"]}
        if with_real:
            real = alfworld_engine.in_a_process("textworld", played)
            if real["digest"] != native["digest"]:
                raise SystemExit(f"the engines differ on the {sort} games: run the differential test")
            shipped = [value * 1e3 for value in real["step"]]
            figures.append(told(f"{sort}: step of the engine as shipped", shipped, "ms"))
            factor = statistics.median(real["step"]) / statistics.median(native["step"])
            figures.append(at_least(2000, f"{sort}: as shipped against native, per step", [factor], "x"))
            details[sort] = {"steps": count, "native_step_s": native["step"], "shipped_step_s": real["step"]}
    title = "ALFWorld engines in separate processes, same games and commands, CPU time"
    return Report("alfworld_engine", title, figures, details)


def _as_figures(rows: Iterable[stand_ins.Row]) -> list[Figure]:
    figures = []
    for row in rows:
        value = row.value
        if value.value is None:
            raise SystemExit(f"stand-ins: {row.name}: no episode could be scored")
        low = value.value if value.low is None else value.low
        high = value.value if value.high is None else value.high
        holds = row.holds if row.bound else None
        figures.append(Figure(row.name, value.value, "", low, high, value.n, row.bound, holds, row.note))
    return figures


def stand_ins_report(
    games: int = stand_ins.GAMES, meta_seeds: Sequence[int] = stand_ins.META_SEEDS, transfer: bool = True
) -> Report:
    """`benchmarks.stand_ins` on generated games: success of the scripted actor; spreads are Wilson's 95 % intervals.

    Args:
        games: Games of each task type.
        meta_seeds: Seeds of the meta-episodes.
        transfer: Also score reflectors on task types that they did not see.
    """
    family = load_family("ALFWorld", engine="native", data="generated")
    figures = _as_figures(stand_ins.main_rows(family, games, meta_seeds))
    if transfer:
        figures += _as_figures(stand_ins.transfer_rows(family, 3 * games, meta_seeds[:3]))
    title = "success on unseen generated ALFWorld games with scripted stand-ins (no language model)"
    return Report("stand_ins", title, figures)

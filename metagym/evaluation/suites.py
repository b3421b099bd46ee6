"""The suites that come with MetaGym. They name families and files; nothing is loaded before it is played.

What belongs to a suite and cannot be played here, for want of a file or a setting, is left out with a reason, which
stands in every table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from metagym.checks import shown, texts
from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark, Sampling, Suite
from metagym.qadata import DATASETS

RG_GROUPS = ("Math", "Algorithmic", "Cognition", "Logic")
"""The four rollups of Reasoning Gym that SPADE reports."""

PROBLEMS: Mapping[str, tuple[str, str]] = {
    "aime25": ("AIME 2025", "JSON lines of {prompt, label}, 30 problems"),
    "aime26": ("AIME 2026", "JSON lines of {prompt, label}, 30 problems"),
    "gpqa": ("GPQA-Diamond", "JSON lines of the 198 questions; the data set is gated and not to be redistributed"),
    "math500": ("MATH-500", "JSON lines of {prompt, label}, 500 problems"),
    "gsm8k": ("GSM8K", "JSON lines of {prompt, label}; the test set is in openai/grade-school-math"),
    "livecodebench": ("LiveCodeBench", "JSON lines of the release's problems with their tests"),
    "humaneval": ("HumanEval", ""),
}
"""Benchmark of the family Problems to its title and the file that it needs; "" where a package brings the data."""

BFCL_CATEGORIES = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
ACEBENCH_TYPES = ("multi_step", "multi_turn")


def reasoning(folder: str | None = None, turns: int | None = None, size: int | None = None, **files: Any) -> Suite:
    """Eight reasoning benchmarks of SPADE's, and MATH-500, GSM8K and HumanEval.

    Args:
        folder: Where ``aime25.jsonl`` and so on lie.
        turns: Attempts at a question of Reasoning Gym, 1 or 2; the preset `spade` sets 2.
        size: Questions per data set of Reasoning Gym; None takes the 50 of the paper.
        **files: Path of one benchmark's file, by its name: ``aime25="problems.jsonl"``.

    Raises:
        BadInput: A file of no benchmark is named.
    """
    _one_text("folder", folder)
    _known(files, [name for name, (_, wanted) in PROBLEMS.items() if wanted], "reasoning")
    shared = _given(turns=turns, size=size)
    benchmarks = [
        Benchmark(
            f"rg-{group.lower()}",
            "Reasoning",
            {"group": group, **shared},
            split="test",
            sampling=Sampling(0.0, 8192),
            title=f"RG-{group}",
            source="Reasoning Gym, the hard configurations (arXiv 2505.24760)",
        )
        for group in RG_GROUPS
    ]
    left_out: dict[str, str] = {}
    for name, (title, wanted) in PROBLEMS.items():
        path = files.get(name) or _in(folder, f"{name}.jsonl")
        if wanted and path is None:
            why = "its file is not named" if folder is None else f"{Path(folder) / name}.jsonl is not there"
            left_out[name] = f"{why}: {wanted}; give --option {name}=FILE, or --option folder=FOLDER"
            continue
        options = {"benchmark": name} if path is None else {"benchmark": name, "path": str(path)}
        benchmarks.append(Benchmark(name, "Problems", options, sampling=Sampling(0.0, 8192), title=title))
    return Suite("reasoning", "Reasoning", tuple(benchmarks), left_out, preset="spade")


def qa(
    folder: str | None = None,
    searcher: str | None = None,
    scorer: str | None = None,
    judge: str | None = None,
    sets: Sequence[str] | str | None = None,
    count: int | str | None = None,
    k: int | None = None,
    max_turns: int | None = None,
    information_tokens: int | None = None,
) -> Suite:
    """The seven question answering sets with any searcher.

    Args:
        folder: Where the sets lie, see `metagym.qadata.load_dataset`. Without it, the questions of the invented world
            are asked, which need no data and compare with nothing.
        searcher: Spec of what searches, e.g. ``bm25:corpus.jsonl`` or ``http://localhost:8000/retrieve``.
        scorer: ``em``, ``f1``, ``sub_em``, ``judge`` or ``em+judge``; None means ``em``.
        judge: Spec of the model that judges.
        sets: Names of sets, a list or comma-separated; None takes all seven.
        count: Questions of each set, always the same ones, or "all"; None takes those of the protocol of 3,125 (500
            of each, all 125 of Bamboogle).
        k: Passages per search.
        max_turns: Turns that may search.
        information_tokens: Most tokens of one search's passages.

    Raises:
        BadInput: No such set.
    """
    _one_text("folder", folder)
    names = texts("sets", sets or list(DATASETS))
    if unknown := [name for name in names if name not in DATASETS]:
        raise BadInput(f"there is no question answering set {unknown[0]!r}; there are {', '.join(DATASETS)}")
    shared = _given(k=k, max_turns=max_turns, information_tokens=information_tokens, scorer=scorer, judge=judge)
    if folder is None and searcher is None:
        reason = "no data: give --option folder=FOLDER --option searcher=SPEC"
        invented = Benchmark(
            "invented",
            "SearchQA",
            shared,
            split="valid",
            sampling=Sampling(0.0, 500),
            title="invented world",
            notes=("The invented world is for trying things out: its figures compare with no paper's.",),
        )
        return Suite("qa", "Question answering", (invented,), dict.fromkeys(names, reason), preset="sesa")
    benchmarks, left_out = [], {}
    for name in names:
        wanted = DATASETS[name]
        if folder is None or searcher is None:
            missing = "folder=FOLDER" if folder is None else "searcher=SPEC"
            left_out[name] = f"--option {missing} is not given"
        elif not any((Path(folder) / place).is_file() for place in wanted.places):
            left_out[name] = f"{Path(folder) / wanted.places[0]} is not there; it comes from {wanted.source}"
        else:
            asked = None if count == "all" else count or wanted.share
            options = {"test": f"{name}:{folder}", "searcher": searcher, "count": asked, **shared}
            benchmarks.append(Benchmark(name, "SearchQA", options, split="test", sampling=Sampling(0.0, 500)))
    return Suite("qa", "Question answering", tuple(benchmarks), left_out, preset="sesa")


def ict(
    family: str = "ALFWorld",
    types: Sequence[str] | str | None = None,
    split: str | None = None,
    limit: int | None = None,
    max_steps: int | None = None,
    **options: Any,
) -> Suite:
    """Held-out tasks of a family, under the family's initial prompt or those that runs of ICT found (``--prompt``).

    Args:
        family: A registered family.
        types: Held-out task types, a list or comma-separated; None takes all.
        split: Split; None takes the family's last.
        limit: At most so many tasks, evenly over the types.
        max_steps: Cap on steps; the preset `ict` sets 25.
        **options: Options of the family.
    """
    _one_text("family", family)
    wanted = None if types is None else tuple(texts("types", types))
    benchmark = Benchmark(
        family.rpartition("/")[2].lower(),
        family,
        options,
        split=split,
        types=wanted,
        limit=limit,
        max_steps=max_steps,
        sampling=Sampling(0.0, 500),
        title=f"{family}, held-out",
    )
    return Suite("ict", "ICT: held-out tasks", (benchmark,), preset="ict")


def bfcl(categories: Sequence[str] | str | None = None, **options: Any) -> Suite:
    """BFCL-v4 multi-turn: the four categories with the package's own data, back ends and checker.

    Args:
        categories: Of `BFCL_CATEGORIES`, a list or comma-separated; None takes all four.
        **options: Further options of the family.
    """
    return Suite(
        "bfcl",
        "BFCL-v4 multi-turn",
        tuple(
            Benchmark(
                f"bfcl-{name.removeprefix('multi_turn_').replace('_', '-')}",
                "BFCL",
                {"categories": [name], **options},
                sampling=Sampling(0.0, 4096),
                title=f"BFCL {name.removeprefix('multi_turn_').replace('_', ' ')}",
                source="bfcl-eval, v4",
            )
            for name in _picked(categories, BFCL_CATEGORIES, "categories of BFCL")
        ),
        preset="spade",
    )


def acebench(
    path: str | None = None, user: str | None = None, types: Sequence[str] | str | None = None, **options: Any
) -> Suite:
    """ACEBench's agent split from a local checkout of the public repository.

    Args:
        path: The checkout.
        user: Spec of the model that plays the user in multi_turn, or "scripted", which shows that it works; figures
            with another user than the paper's (gpt-4o) do not compare with it.
        types: Of `ACEBENCH_TYPES`, a list or comma-separated; None takes both.
        **options: Further options of the family.
    """
    _one_text("path", path)
    benchmarks, left_out = [], {}
    for name in _picked(types, ACEBENCH_TYPES, "types of ACEBench"):
        called = f"acebench-{name.replace('_', '-')}"
        if path is None:
            left_out[called] = "no data: give --option path=CHECKOUT of the public ACEBench repository"
        elif name == "multi_turn" and user is None:
            left_out[called] = "nobody plays the user: give --option user=SPEC of a model"
        else:
            own = {"path": path, **options, **({"user": user} if name == "multi_turn" else {})}
            note = f"The user of ACEBench multi_turn is played by {user}; figures under another user do not compare."
            benchmarks.append(
                Benchmark(
                    called,
                    "ACEBench",
                    own,
                    types=(name,),
                    sampling=Sampling(0.7, 4096),
                    title=f"ACEBench {name.replace('_', ' ')}",
                    notes=(note,) if name == "multi_turn" else (),
                )
            )
    return Suite("acebench", "ACEBench, agent split", tuple(benchmarks), left_out, preset="spade")


def _one_text(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, (str, PathLike)):
        raise BadInput(f"{name} is a text, got {shown(value)}")


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given by hand."""
    return {name: value for name, value in options.items() if value is not None}


def _in(folder: str | None, file: str) -> Path | None:
    path = None if folder is None else Path(folder) / file
    return path if path is not None and path.is_file() else None


def _known(given: Mapping[str, Any], names: Iterable[str], suite: str) -> None:
    known = list(names)
    for name in given:
        if name not in known:
            raise BadInput(f"suite {suite} has no option {name!r}; it has folder, turns, size, {', '.join(known)}")


def _picked(given: Sequence[str] | str | None, known: Sequence[str], what: str) -> list[str]:
    names = texts(what, given or list(known))
    if unknown := [name for name in names if name not in known]:
        raise BadInput(f"{what} are {', '.join(known)}, got {unknown[0]!r}")
    return names


FACTORIES: tuple[Callable[..., Suite], ...] = (reasoning, qa, ict, bfcl, acebench)
"""All of them, for tests."""

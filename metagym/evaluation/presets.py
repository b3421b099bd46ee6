"""The papers' settings by name: samples, temperatures, turns and lengths of each benchmark.

* `spade`: SPADE's evaluation. AIME avg@64 (T 1.0, top-p 0.95, top-k 20, 32k tokens); GPQA-Diamond 8 samples (T 0.7,
  32k); LiveCodeBench v6 (T 0.2, 16k, 1 sample); Reasoning Gym's hard configurations 8 episodes per task, 2 turns
  (T 0.6, 8k); BFCL-v4 multi-turn at T 0; ACEBench's agent split at T 0.7, 40 turns. MATH-500, GSM8K and HumanEval
  are none of its benchmarks and stay as they are.
* `ict`: ICT's actor (arXiv 2605.20477): T 0, 500 tokens, 25 steps, one episode per task.
* `sesa` and `ssp`: SSP's evaluation, which SESA takes over: T 0, 3 passages per search, 10 turns that search, 500
  tokens a turn, 500 questions of each of six sets and all 125 of Bamboogle. `sesa` scores by exact match; `ssp` asks a
  judge where the match fails (name it with ``--option judge=SPEC``).
* `greedy`: one sample at T 0 of everything; no paper's, for a first look.

Options that were given by hand win over a preset's.

A setting of a paper that is not public is not guessed: the benchmark keeps its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from metagym.errors import BadInput, UnknownName
from metagym.evaluation.benchmarks import Benchmark, Suite


@dataclass(frozen=True)
class Setting:
    """What a preset sets of the benchmarks whose names fit; None and {} leave a field as it is.

    Attributes:
        samples: Episodes per task.
        sampling: Fields of `Sampling`.
        max_steps: Cap on steps, where the benchmark has none of its own.
        options: Options of the family; what the benchmark names itself wins.
    """

    samples: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    max_steps: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def of(self, benchmark: Benchmark) -> Benchmark:
        """A benchmark under this setting."""
        return replace(
            benchmark,
            samples=self.samples or benchmark.samples,
            sampling=replace(benchmark.sampling, **self.sampling),
            max_steps=benchmark.max_steps or self.max_steps,
            options={**self.options, **benchmark.options},
        )


@dataclass(frozen=True)
class Preset:
    """The settings of a paper.

    Attributes:
        name: By which it is asked for.
        source: Where the settings are from.
        suites: Suites that it is for; () for all.
        settings: Pattern of benchmark names (shell style) to setting; the first that fits is taken.
    """

    name: str
    source: str
    suites: tuple[str, ...]
    settings: Mapping[str, Setting]

    def setting(self, benchmark: str) -> Setting | None:
        """The setting of a benchmark; None where the paper has none."""
        return next((one for pattern, one in self.settings.items() if fnmatchcase(benchmark, pattern)), None)


_K = 1024
_SHORT = {"temperature": 0.0, "max_tokens": 500}
_SEARCH = {"k": 3, "max_turns": 10}

PRESETS: Mapping[str, Preset] = {
    one.name: one
    for one in (
        Preset(
            "spade",
            "SPADE's evaluation settings",
            ("reasoning", "bfcl", "acebench"),
            {
                "rg-*": Setting(8, {"temperature": 0.6, "max_tokens": 8 * _K}, options={"turns": 2}),
                "aime*": Setting(64, {"temperature": 1.0, "max_tokens": 32 * _K, "top_p": 0.95, "top_k": 20}),
                "gpqa": Setting(8, {"temperature": 0.7, "max_tokens": 32 * _K}),
                "livecodebench": Setting(1, {"temperature": 0.2, "max_tokens": 16 * _K}),
                "bfcl-*": Setting(1, {"temperature": 0.0}),
                "acebench-*": Setting(1, {"temperature": 0.7}, options={"turns": 40}),
            },
        ),
        Preset("ict", "ICT's actor, arXiv 2605.20477", ("ict",), {"*": Setting(1, _SHORT, max_steps=25)}),
        Preset("sesa", "SSP's evaluation, exact match", ("qa",), {"*": Setting(1, _SHORT, options=_SEARCH)}),
        Preset(
            "ssp",
            "SSP's evaluation, exact match and a judge",
            ("qa",),
            {"*": Setting(1, _SHORT, options={**_SEARCH, "scorer": "em+judge"})},
        ),
        Preset("greedy", "no paper: one sample at temperature 0", (), {"*": Setting(1, {"temperature": 0.0})}),
    )
}
"""The presets by name."""


def preset_named(name: str) -> Preset:
    """A preset.

    Raises:
        UnknownName: There is none of that name; the message lists those that exist.
    """
    if name not in PRESETS:
        raise UnknownName(f"no preset {name!r}; there are {', '.join(PRESETS)}, and 'none'")
    return PRESETS[name]


def under(suite: Suite, name: str) -> Suite:
    """A suite under a preset.

    Args:
        suite: The suite.
        name: Of the preset; "none" or "" leaves the suite as it is.

    Returns:
        The suite, with a note on the benchmarks that the preset says nothing of.

    Raises:
        UnknownName: There is no such preset.
        BadInput: It is for other suites.
    """
    if name in ("", "none"):
        return replace(suite, preset="")
    preset = preset_named(name)
    if preset.suites and suite.name not in preset.suites:
        raise BadInput(f"preset {name} is for {', '.join(preset.suites)}, and suite {suite.name} is none of them")
    own = {one.name: preset.setting(one.name) for one in suite.benchmarks}
    benchmarks = tuple(s.of(b) if (s := own[b.name]) is not None else b for b in suite.benchmarks)
    silent = [name for name, setting in own.items() if setting is None]
    note = f"The preset {name} ({preset.source}) has no settings of {', '.join(silent)}: the suite's own stand."
    return replace(suite, benchmarks=benchmarks, preset=name, notes=(*suite.notes, *([note] if silent else ())))

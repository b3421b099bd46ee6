"""The papers' settings by name: frozen values, where each was read, and what is ours where a paper is silent.

A preset names the model and gives keyword arguments for TRL's `GRPOConfig` as a plain dict; nothing here imports torch.

    preset = presets.named("spade-4b-games")
    GRPOConfig(output_dir=..., **preset.grpo(world=8))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metagym.checks import shown
from metagym.errors import UnknownName
from metagym.ict.config import PRESETS as ICT_BATCHES
from metagym_trainers.recipes import LORA, LORA_RATE, ICTPreset, Preset, Recipe, SesaPreset, SpadePreset

__all__ = [
    "ALL",
    "ICT",
    "ICT_NAMES",
    "LORA",
    "LORA_RATE",
    "NAMES",
    "SESA",
    "SESA_NAMES",
    "SPADE",
    "SPADE_NAMES",
    "AnyPreset",
    "Preset",
    "ict",
    "named",
    "sesa",
    "spade",
]

_ICT_SOURCES = (
    "arXiv 2605.20477, experimental set-up: Qwen2.5-7B-Instruct, batches of k = 3 and 5, 4 meta-turns, replay reward",
    "yuvalshalev1/MetaGym: 25 inner steps, actor 500 tokens at temperature 0, reflector 2000 tokens",
)
_ICT_OURS = ("The paper's optimiser settings are not public: group size, prompts per batch, rate and loss are ours.",)
_ICT = Recipe(
    generations=8, groups=16, batches=200, max_prompt=12_288, max_completion=2000, max_context=16_384, save_every=10
)

_SPADE_SOURCES = (
    "arXiv 2608.19197",
    "spade-rl/spade c4e8fd8: cmd/games/train_spade_{4b,8b,30b}.sh, cmd/tool_use/{train_spade_4b,_train_spade_blend}.sh",
)
_SPADE_OURS = (
    "A GRPO block holds a designer group of `generations` designs per GPU beside the agents' groups: more designs are "
    "written than the paper's one per played program.",
    "TRL truncates importance ratios per token at 3; the paper's trainer has truncated importance sampling of its own.",
)


def _spade(updates: int = 2, beta: float = 0.0, batches: int = 400, answer: int = 16_384) -> Recipe:
    return Recipe(
        generations=16,
        groups=25,
        updates=updates,
        batches=batches,
        save_every=16,
        max_prompt=16_384,
        max_completion=answer,
        max_context=32_768,
        adam_beta2=0.98,
        weight_decay=0.1,
        temperature=0.6,
        beta=beta,
        scale_rewards="none",
    )


_QWEN3_4B = ("Qwen/Qwen3-4B-Instruct-2507", 4.02)
_QWEN3_8B = ("Qwen/Qwen3-8B", 8.19)
_QWEN3_30B = ("Qwen/Qwen3-30B-A3B-Instruct-2507", 30.53)
_TOOLS: Mapping[str, Any] = {"setting": "tool_use", "interval": 8, "delay": 8, "hint_tokens": 2048, "max_words": 4000}

_SESA_SOURCES = (
    "Alibaba-Quark/SSP b4797e1, released script: batch 256, mini-batch 128, 5 rollouts, prompt 4096, response 8192, "
    "10 turns, rate 1e-6, warm-up 5, KL 0.01, upper clipping 0.285, temperatures 0.8 and 1.0, 3 passages",
    "SESA's digests: consolidation every 10 steps; solver-only retrieval",
)
_SESA_OURS = (
    "SESA's own numbers are not public: bell, retrieval and card dropout are ours, the rest is SSP's.",
    "SSP's challenger has one sample per prompt; GRPO needs a group, so that it has 4.",
)
_SOLVER = Recipe(
    generations=5,
    groups=256,
    updates=2,
    batches=100,
    max_prompt=4096,
    max_completion=8192,
    max_context=12_288,
    warmup=5,
    beta=0.01,
    epsilon_high=0.285,
)
_CHALLENGER = Recipe(
    generations=4,
    groups=64,
    updates=2,
    batches=100,
    max_prompt=4096,
    max_completion=8192,
    max_context=12_288,
    warmup=5,
    beta=0.01,
    epsilon_high=0.285,
    temperature=0.8,
)
_SSP: Mapping[str, Any] = {"shape": "one_minus_acc", "bank": False, "card_dropout": 0.0}


def _sesa(name: str, model: tuple[str, float], **more: Any) -> SesaPreset:
    return SesaPreset(name, *model, _SOLVER, _SESA_SOURCES, _SESA_OURS, challenger=_CHALLENGER, **more)


def _spade_preset(name: str, model: tuple[str, float], recipe: Recipe, **more: Any) -> SpadePreset:
    return SpadePreset(name, *model, recipe, _SPADE_SOURCES, _SPADE_OURS, **more)


ICT: tuple[ICTPreset, ...] = tuple(
    ICTPreset(f"ict-7b-{name}", "Qwen/Qwen2.5-7B-Instruct", 7.62, _ICT, _ICT_SOURCES, _ICT_OURS, **sizes)  # type: ignore[arg-type]
    for name, sizes in ICT_BATCHES.items()
)
"""ICT: k = 3 and k = 5."""

SPADE: tuple[SpadePreset, ...] = (
    _spade_preset("spade-4b-games", _QWEN3_4B, _spade()),
    _spade_preset("spade-8b-games", _QWEN3_8B, _spade(beta=0.005)),
    _spade_preset("spade-30b-games", _QWEN3_30B, _spade()),
    _spade_preset(
        "spade-4b-tools",
        _QWEN3_4B,
        _spade(updates=1, beta=0.005, batches=500),
        **{**_TOOLS, "interval": 32, "delay": 32, "hint_tokens": 512},
        games=16,
        hint_plays=4,
        reward="spade_regret",
        audit=True,
    ),
    _spade_preset(
        "spade-8b-tools",
        _QWEN3_8B,
        _spade(beta=0.005, answer=20_000),
        **_TOOLS,
        designer_tokens=20_000,
        audit=True,
        thinking=True,
    ),
    _spade_preset("spade-30b-tools", _QWEN3_30B, _spade(beta=0.005), **_TOOLS, audit=True),
)
"""SPADE: three sizes, games and tool use."""

SESA: tuple[SesaPreset, ...] = (
    _sesa("sesa-4b", ("Qwen/Qwen3-4B", 4.02)),
    _sesa("sesa-8b", _QWEN3_8B),
    _sesa("sesa-llama-8b", ("meta-llama/Llama-3.1-8B-Instruct", 8.03)),
    _sesa("ssp-4b", ("Qwen/Qwen3-4B", 4.02), **_SSP),
    _sesa("ssp-8b", _QWEN3_8B, **_SSP),
)
"""SESA on the three models of its paper, and SSP as its baseline."""

AnyPreset = ICTPreset | SpadePreset | SesaPreset
_EVERY: tuple[AnyPreset, ...] = (*ICT, *SPADE, *SESA)
ALL: Mapping[str, AnyPreset] = {preset.name: preset for preset in _EVERY}
NAMES: tuple[str, ...] = tuple(ALL)
"""Names of all presets."""
ICT_NAMES: tuple[str, ...] = tuple(preset.name for preset in ICT)
SPADE_NAMES: tuple[str, ...] = tuple(preset.name for preset in SPADE)
SESA_NAMES: tuple[str, ...] = tuple(preset.name for preset in SESA)


def named(name: str) -> AnyPreset:
    """The preset of a name.

    Raises:
        UnknownName: There is none; the message lists what there is.
    """
    if name not in ALL:
        raise UnknownName(f"there is no preset {shown(name)}; there are {', '.join(NAMES)}")
    return ALL[name]


def ict(name: str) -> ICTPreset:
    """The ICT preset of a name.

    Raises:
        UnknownName: There is none of ICT.
    """
    return _of(ICT, name)


def spade(name: str) -> SpadePreset:
    """The SPADE preset of a name.

    Raises:
        UnknownName: There is none of SPADE.
    """
    return _of(SPADE, name)


def sesa(name: str) -> SesaPreset:
    """The SESA preset of a name.

    Raises:
        UnknownName: There is none of SESA.
    """
    return _of(SESA, name)


def _of(presets: tuple[Any, ...], name: str) -> Any:
    for preset in presets:
        if preset.name == name:
            return preset
    there = ", ".join(preset.name for preset in presets)
    raise UnknownName(f"there is no preset {shown(name)} of this system; there are {there}")

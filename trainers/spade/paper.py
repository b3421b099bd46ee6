"""From a preset of SPADE's paper to the settings of the core."""

from __future__ import annotations

from typing import Any

from metagym.playing.actor import ActorSettings
from metagym.spade.config import SpadeConfig
from metagym.spade.designer import DesignerSettings
from metagym.spade.hints import HintSettings
from metagym.spade.hosts import PlayerSettings
from metagym.spade.memory_state import MemorySettings
from metagym.spade.validation import ValidationSettings
from metagym_trainers.recipes import SpadePreset
from metagym_trainers.spade.settings import SpadeTraining

AGENT_TOKENS = 8192
"""Longest reply of the agent in one turn, in tokens: SPADE's launchers."""


def training_of(preset: SpadePreset, world: int = 1, *, seed: int = 0, **changes: Any) -> SpadeTraining:
    """The settings of a preset: one block per process.

    What differs from SPADE's own trainer: designs are trained in the generation that they are written in, not `delay`
    generations later, and both arms have the same number of plays on the same seeds, also where a preset names fewer
    plays with the hint.

    Args:
        preset: One of `metagym_trainers.presets.SPADE`.
        world: Processes that train.
        seed: Decides everything that is drawn.
        **changes: Further fields of `SpadeConfig`, in the place of the preset's.

    Raises:
        BadInput: A change is unknown or out of range.
    """
    recipe = preset.recipe
    fields: dict[str, Any] = {
        "setting": preset.setting,
        "agent": f"hf:{preset.model}",
        "interval": preset.interval,
        "skills_per_round": preset.skills_per_round,
        "seeds": recipe.generations,
        "repeats": 1,
        "hint": "self",
        "reward": preset.reward,
        "reward_options": preset.reward_options,
        "max_words": preset.max_words,
        "seed": seed,
        "keep_episodes": 0,
        "validation": ValidationSettings(audit="reject" if preset.audit else "off"),
        "memory_settings": MemorySettings(capacity=preset.memory),
        "player": PlayerSettings(
            max_steps=preset.max_turns,
            seat=ActorSettings(temperature=recipe.temperature, max_tokens=min(AGENT_TOKENS, recipe.max_completion)),
        ),
        "designer_seat": DesignerSettings(recipe.temperature, min(preset.designer_tokens, recipe.max_completion)),
        "hints": HintSettings(max_tokens=preset.hint_tokens),
    }
    return SpadeTraining(SpadeConfig(**(fields | changes)), generations=recipe.generations, slots=preset.slots(world))

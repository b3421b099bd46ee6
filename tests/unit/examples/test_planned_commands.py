"""The command that a plan prints is one that its script takes, and it means what was planned."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from metagym_trainers import plan, presets

EXAMPLES = Path(__file__).parents[3] / "examples"
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"gpus": 8},
    {"gpus": 16, "nodes": 2, "sharding": "fsdp2"},
    {"generation": "server", "serving": 2, "lora": True},
    {"generation": "transformers", "model": "mine/other", "save_steps": 4},
    {"gpus": 8, "sharding": "none", "generation": "colocate", "per_device": 2},
]


def parsed(command: str) -> tuple[str, Any]:
    """Script and options of a command, as the script itself reads them."""
    words = shlex.split(command)
    at = next(at for at, word in enumerate(words) if word.startswith("examples/train_"))
    path = EXAMPLES.parent / words[at]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return path.name, module.arguments().parse_args(words[at + 1 :])


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "-".join(map(str, layout.values())) or "default")
@pytest.mark.parametrize("name", ["ict-7b-k5", "spade-4b-games", "spade-8b-tools", "sesa-4b", "ssp-8b"])
def test_a_printed_command_is_taken_by_its_script_and_means_what_was_planned(name: str, layout: dict[str, Any]) -> None:
    preset = presets.named(name)
    if isinstance(preset, presets.SesaPreset):
        layout = {key: value for key, value in layout.items() if key not in ("gpus", "nodes", "sharding")}
    made = plan.make(preset, **layout)
    script, given = parsed(made.command)
    assert script == plan.SCRIPTS[preset.system] and given.preset == name
    assert (given.lora, given.per_device) == (made.lora, made.geometry.per_device)
    assert (given.model or preset.model) == made.model
    assert (given.save_steps or preset.recipe.save_every * made.geometry.cycle) == made.save_steps
    assert (given.generation or plan.default_generation(preset, 1)) == made.generation
    served = [launch for launch in made.servers if launch.training]
    if isinstance(preset, presets.SesaPreset):
        assert given.serving == (made.serving if served else given.serving)
        assert (given.distiller == "$DISTILLER") == preset.bank
    elif served:  # not the actor, whose weights nobody may touch
        assert given.server == f"http://{'127.0.0.1' if made.nodes == 1 else '$HEAD'}:{served[0].port}"
    if isinstance(preset, presets.ICTPreset):
        assert f":{made.servers[0].port}/v1" in given.actor and given.rows and given.eval_rows
    if isinstance(preset, presets.SpadePreset):
        assert (given.auditor == "$AUDITOR") == preset.audit
    launched = "accelerate launch" in made.command
    assert launched == (made.geometry.world > 1)
    if launched:
        words = made.command.split()
        assert (EXAMPLES.parent / words[words.index("--config_file") + 1]).is_file()


def test_the_page_on_trainers_shows_commands_that_the_plan_prints() -> None:
    page = " ".join((EXAMPLES.parent / "docs" / "trainers.md").read_text("utf-8").replace("\\\n", " ").split())
    for settings in ({"gpus": 7}, {"gpus": 14, "nodes": 2}):
        made = plan.make(presets.named("spade-4b-games"), **settings)  # type: ignore[arg-type]
        assert made.command in page
        options = " ".join(f"--{name} {value}" for name, value in settings.items())
        assert f"python -m metagym_trainers.plan spade-4b-games {options}" in page

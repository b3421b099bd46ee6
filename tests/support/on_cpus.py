"""Runs a script of ``examples/`` in one of several processes on CPUs: ``on_cpus.py SCRIPT ARGUMENTS``.

Accelerate shards on GPUs alone. What is put in their place is gloo, under the name that several GPUs have there; the
script, accelerate's config and the launcher are the real ones. The preset's batch becomes a small one in float32.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from metagym_trainers import scripts  # noqa: E402
from metagym_trainers.tiny import ict_world  # noqa: E402

SMALL = {
    "per_device_train_batch_size": 4,
    "steps_per_generation": 2,
    "gradient_accumulation_steps": 2,
    "num_generations": 8,
    "max_completion_length": 12,
    "learning_rate": 1e-3,
    "bf16": False,
    "dataloader_pin_memory": False,
    "log_completions": False,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    ict_world.register()
    sharded = os.environ.get("ACCELERATE_USE_FSDP") == "true"
    if sharded:
        from accelerate import DistributedType, PartialState

        os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
        PartialState._prepare_backend = lambda *given, **more: ("gloo", DistributedType.MULTI_GPU)
    made = scripts.grpo_config

    def small(**fields: Any) -> Any:
        """The config of the script, for this machine."""
        return made(**fields | SMALL | {"use_cpu": not sharded})

    scripts.grpo_config = small
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")

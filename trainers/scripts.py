"""What the scripts of ``examples/`` have in common: one GPU per process, TRL's config, who generates, LoRA."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from metagym.errors import BadInput
from metagym_trainers.presets import LORA
from metagym_trainers.servers import Launch, inspect
from metagym_trainers.versions import require_vllm


def one_gpu() -> list[str]:
    """Leaves a process that trains alone one GPU, the first that it sees: transformers would spread over all of them.

    Call it before torch looks for GPUs. Processes of ``accelerate launch`` are left alone.

    Returns:
        The other GPUs, for servers; empty where the caller did not say which there are.
    """
    if "WORLD_SIZE" in os.environ:
        return []
    first, *others = [one.strip() for one in os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")]
    os.environ["CUDA_VISIBLE_DEVICES"] = first
    return [one for one in others if one]


def on_gpus(launches: Sequence[Launch], gpus: Sequence[str]) -> list[Launch]:
    """Launches on the GPUs that are left to them, in turn; a server never shares one with a trainer.

    Args:
        launches: Of a plan, with as many GPUs as each is to have.
        gpus: Of `one_gpu`; empty takes the plan's own numbers.

    Raises:
        BadInput: There are fewer.
    """
    wanted = [launch.environment.get("CUDA_VISIBLE_DEVICES", "").split(",") for launch in launches]
    if not gpus:
        return list(launches)
    if (count := sum(map(len, wanted))) > len(gpus):
        raise BadInput(
            f"the servers want {count} GPUs beside the one that trains, and CUDA_VISIBLE_DEVICES leaves {len(gpus)}: "
            "show more of them, or set --serving lower"
        )
    left = iter(gpus)
    return [
        replace(launch, environment={**launch.environment, "CUDA_VISIBLE_DEVICES": ",".join(next(left) for _ in ours)})
        for launch, ours in zip(launches, wanted, strict=True)
    ]


def started_as_planned(gpus: int) -> None:
    """Refuses a script that was told of several GPUs and not launched on them.

    Raises:
        BadInput: It is so.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if gpus not in (1, world):
        raise BadInput(
            f"--gpus {gpus} and {world} process{'es' * (world > 1)}: --gpus is for --dry-run, which prints the command "
            "that starts as many (accelerate launch ...)"
        )


def generating(generation: str | None, server: str | None, model: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Who generates.

    Args:
        generation: ``transformers``, ``colocate`` or ``server``; None is ``colocate``.
        server: Address of the server that takes the policy's weights; None takes `SERVER`.
        model: That it must serve.

    Returns:
        Keyword arguments of `GRPOConfig`, and what the server says of itself (None without one).

    Raises:
        BadInput: A server is named, and nobody asks it.
        MissingExtra, WrongVersion: vLLM is needed, and not there in a version that TRL drives.
        ServerError: The server does not answer, or does not serve what training needs.
    """
    mode = generation or "colocate"
    if server is not None and mode != "server":
        raise BadInput(f"--server {server} needs --generation server; this run generates with {mode}")
    if mode == "transformers":
        return {}, None
    require_vllm()
    if mode == "colocate":
        return {"use_vllm": True, "vllm_mode": "colocate"}, None
    url = (server or SERVER).rstrip("/").removesuffix("/v1")
    facts = inspect(url, "the policy's server", model=model, training=True)
    return {"use_vllm": True, "vllm_mode": "server", "vllm_server_base_url": url}, facts


SERVER = "http://127.0.0.1:8000"


def grpo_config(**fields: Any) -> Any:
    """A `GRPOConfig`.

    Raises:
        BadInput: TRL or transformers cannot train with these settings on this machine (bf16 without a GPU, say).
    """
    from trl import GRPOConfig

    try:
        return GRPOConfig(**fields)
    except ValueError as error:
        raise BadInput(f"TRL cannot train with these settings here: {' '.join(str(error).split())}") from error


def tokenizer_of(name: str) -> Any:
    """The tokenizer of a model.

    Raises:
        BadInput: It cannot be loaded.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise BadInput(f"the tokenizer of {name} cannot be loaded: {str(error).splitlines()[0]:.300}") from error


def adapters(lora: bool) -> Any:
    """The `LoraConfig` of a run; None for all weights."""
    if not lora:
        return None
    from peft import LoraConfig

    return LoraConfig(task_type="CAUSAL_LM", **LORA)

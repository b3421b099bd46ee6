"""What a server is started with: a command, a port, and what it must answer; and vLLM's command for each of its parts.

The flags are those of `trl vllm-serve` (TRL 1.16, ``trl/scripts/vllm_serve.py``), which only builds this command, and
of vLLM's documentation.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from metagym.checks import number, settle, whole
from metagym.errors import BadInput

PORT = "{port}"
"""Stands for the port in a command."""
GROUP_PORT = 51_216
"""TRL's default port for the weights of a policy in training; each further server needs another one."""


@dataclass(frozen=True)
class Launch:
    """A server to start.

    Attributes:
        name: What it is called in messages, logs and manifests.
        command: Program and arguments; ``{port}`` in one of them becomes the port.
        port: Its port; 0 takes a free one.
        host: The address that it is asked at; it should listen on loopback alone.
        environment: Variables on top of the caller's.
        health: Path that answers 200 once it serves.
        model: Name that ``/v1/models`` must list; None asks for none.
        training: It serves a policy in training: log-probabilities must be the processed ones, and weights must be
            accepted.
    """

    name: str
    command: tuple[str, ...]
    port: int = 0
    host: str = "127.0.0.1"
    environment: Mapping[str, str] = field(default_factory=dict)
    health: str = "/health"
    model: str | None = None
    training: bool = False

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            BadInput: The command is empty or has a part that is no text, or the port is none.
        """
        if isinstance(self.command, str) or not all(isinstance(part, str) for part in self.command):
            raise BadInput(f"the command of {self.name} is a list of texts, got {self.command!r:.80}")
        object.__setattr__(self, "command", tuple(self.command))
        if not self.command:
            raise BadInput(f"the command of {self.name} is empty")
        settle(self, "port", whole, 0)
        if self.port > 65_535:
            raise BadInput(f"the port of {self.name} is at most 65535, got {self.port}")

    def arguments(self, port: int) -> list[str]:
        """The command for a port."""
        return [part.replace(PORT, str(port)) for part in self.command]

    def shown(self, port: int | None = None) -> str:
        """The command as a shell line, with the variables that it needs."""
        words = self.command if port is None else self.arguments(port)
        return " ".join(
            [*(f"{name}={shlex.quote(value)}" for name, value in self.environment.items()), shlex.join(words)]
        )


def vllm(
    name: str,
    model: str,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    training: bool = False,
    served_as: str | None = None,
    max_model_len: int | None = None,
    memory: float = 0.9,
    tensor_parallel: int = 1,
    data_parallel: int = 1,
    dtype: str = "auto",
    seed: int = 0,
    gpus: str | None = None,
    invariant: bool = False,
    extra: tuple[str, ...] = (),
) -> Launch:
    """VLLM's server for a frozen actor or opponent, or for a policy in training.

    Args:
        name: What it is called.
        model: Name on the hub, or a folder.
        port: Its port; 0 takes a free one.
        host: Address that it listens on. Trainers on other machines need ``0.0.0.0``, in a private network alone:
            whoever reaches the server can replace its weights.
        training: TRL pushes weights into it (`vllm_mode="server"`); `served_as` is then the model itself.
        served_as: Name that requests use; None takes the model's.
        max_model_len: Longest sequence in tokens; None takes the model's.
        memory: Share of the GPU's memory, in (0, 1].
        tensor_parallel: GPUs that share one copy of the weights.
        data_parallel: Copies.
        dtype: ``auto``, ``bfloat16``, ``float32``, ...
        seed: Of the engine; requests carry their own.
        gpus: ``CUDA_VISIBLE_DEVICES``; a server must not share a GPU with a trainer's process.
        invariant: Equal seeds give equal tokens whatever else is in the batch (beta; compute capability 8.0 and up).
        extra: Further arguments.

    Raises:
        BadInput: A number is out of range.
    """
    number("memory", memory, 0, 1, above=True)
    command = ["vllm", "serve", model, "--host", host, "--port", str(port) if port else PORT]
    command += ["--generation-config", "vllm", "--dtype", dtype, "--seed", str(whole("seed", seed, 0))]
    command += ["--gpu-memory-utilization", f"{memory:g}"]
    command += ["--logprobs-mode", "processed_logprobs", "--max-logprobs", "-1"]
    for flag, value in (("--tensor-parallel-size", tensor_parallel), ("--data-parallel-size", data_parallel)):
        if whole(flag, value, 1) > 1:
            command += [flag, str(value)]
    if served_as is not None:
        command += ["--served-model-name", served_as]
    if max_model_len is not None:
        command += ["--max-model-len", str(whole("max_model_len", max_model_len, 1))]
    if training:
        command += ["--weight-transfer-config", json.dumps({"backend": "nccl"})]
    environment = {"VLLM_SERVER_DEV_MODE": "1"}  # /server_info, and the ends that weights are pushed to
    if gpus is not None:
        environment["CUDA_VISIBLE_DEVICES"] = gpus
    if invariant:
        environment["VLLM_BATCH_INVARIANT"] = "1"
    asked = "127.0.0.1" if host == "0.0.0.0" else host
    return Launch(name, (*command, *extra), port, asked, environment, model=served_as or model, training=training)

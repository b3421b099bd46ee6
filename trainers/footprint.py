"""Memory of one training GPU, before anything is loaded: an estimate from published formulas.

* model states of mixed-precision Adam: 16 bytes per trained parameter (bf16 weight and gradient, fp32 master weight and
  two moments; Rajbhandari et al. 2020, arXiv 1910.02054, section 3.1), divided by the GPUs where they are sharded
  (ZeRO-3 and FSDP2, section 5); frozen weights take 2 bytes;
* activations with full recomputation: 2 bytes x tokens x hidden per layer, and 34 bytes x tokens x hidden for the one
  layer that is being recomputed (Korthikanti et al. 2022, arXiv 2205.05198, sections 4.1 and 5; the term in the square
  of the length falls away with flash attention);
* logits: 8 bytes x completion tokens x vocabulary (bf16 logits, their gradient, one fp32 copy for the softmax; ours,
  read off TRL 1.16's `_get_per_token_logps_and_entropies`);
* key-value cache: 2 x layers x KV heads x head size x 2 bytes per token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from metagym_trainers.geometry import Geometry
from metagym_trainers.recipes import LORA, Recipe

GIB = 1024**3
Sharding = Literal["none", "zero3", "fsdp2"]
Generation = Literal["transformers", "colocate", "server"]
COLOCATED = 0.3
"""TRL's default share of a GPU for colocated vLLM (`vllm_gpu_memory_utilization`)."""
CONTEXT_GIB = 2.0
"""CUDA context, NCCL buffers and fragmentation; ours."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder that decide its memory.

    Attributes:
        parameters: All of them.
        layers: Decoder layers.
        hidden: Width.
        intermediate: Width of the feed-forward part; of one expert in a mixture.
        heads: Query heads.
        kv_heads: Key and value heads.
        head: Size of a head.
        vocabulary: Tokens.
        experts: Experts per layer; 1 in a dense model.
    """

    parameters: float
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    experts: int = 1

    def adapter(self, rank: int) -> int:
        """Parameters of LoRA adapters on all linear layers: rank x (inputs + outputs) each.

        Experts and routers get none: transformers 5 keeps them as plain parameters, which ``all-linear`` passes over.
        """
        attention = 2 * (self.hidden + self.heads * self.head) + 2 * (self.hidden + self.kv_heads * self.head)
        feed_forward = 3 * (self.hidden + self.intermediate) if self.experts == 1 else 0
        return self.layers * rank * (attention + feed_forward)

    @property
    def cache_bytes(self) -> int:
        """Key-value cache per token, in bytes of bf16."""
        return 2 * self.layers * self.kv_heads * self.head * 2


SHAPES: Mapping[str, Shape] = {
    "Qwen/Qwen2.5-7B-Instruct": Shape(7.62e9, 28, 3584, 18_944, 28, 4, 128, 152_064),
    "Qwen/Qwen3-4B": Shape(4.02e9, 36, 2560, 9728, 32, 8, 128, 151_936),
    "Qwen/Qwen3-4B-Instruct-2507": Shape(4.02e9, 36, 2560, 9728, 32, 8, 128, 151_936),
    "Qwen/Qwen3-8B": Shape(8.19e9, 36, 4096, 12_288, 32, 8, 128, 151_936),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": Shape(30.53e9, 48, 2048, 768, 32, 4, 128, 151_936, experts=128),
    "meta-llama/Llama-3.1-8B-Instruct": Shape(8.03e9, 32, 4096, 14_336, 32, 8, 128, 128_256),
}
"""The presets' models, from their public ``config.json``."""


@dataclass(frozen=True)
class Memory:
    """Memory of one training GPU, in bytes, by what it holds."""

    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.parts.values())


def memory(
    shape: Shape,
    recipe: Recipe,
    geometry: Geometry,
    *,
    sharding: Sharding = "none",
    lora: bool = False,
    generation: Generation = "colocate",
    gpu_gib: float = 80.0,
    policies: int = 1,
) -> Memory:
    """Estimates the memory of one training GPU; the formulas are those of the module's text.

    Args:
        shape: The model.
        recipe: Longest row and completion, and whether there is a KL term.
        geometry: Rows of a micro-batch, rows of a generation, GPUs.
        sharding: Who shares the model states.
        lora: Adapters alone are trained.
        generation: Who generates: the model itself, vLLM on the same GPU, or a server elsewhere.
        gpu_gib: Memory of the GPU, in GiB.
        policies: Policies of that shape that are held at once and trained by turns (SESA: two).
    """
    parts: dict[str, float] = {}
    share = (geometry.world if sharding != "none" else 1) / policies
    trained = shape.adapter(int(LORA["r"])) if lora else shape.parameters
    parts["model states (16 B per trained parameter)"] = 16 * trained / share
    if lora:
        parts["frozen weights (2 B)"] = 2 * shape.parameters / share
    elif recipe.beta:
        parts["reference model for the KL term (2 B)"] = 2 * shape.parameters / share
    if sharding != "none":
        parts["two gathered layers (2 B)"] = 2 * 2 * shape.parameters / shape.layers
    tokens = geometry.per_device * recipe.max_context
    parts["activations, recomputed (2 B x tokens x hidden x layers)"] = 2 * tokens * shape.hidden * shape.layers
    parts["one layer's activations (34 B x tokens x hidden)"] = 34 * tokens * shape.hidden
    completion = geometry.per_device * min(recipe.max_completion, recipe.max_context)
    parts["logits (8 B x completion tokens x vocabulary)"] = 8.0 * completion * shape.vocabulary
    if generation == "colocate":
        parts[f"colocated vLLM ({COLOCATED:g} of the GPU each)"] = policies * COLOCATED * gpu_gib * GIB
    elif generation == "transformers":
        parts["key-value cache of all local rows"] = float(geometry.local_rows * recipe.max_context * shape.cache_bytes)
    parts["context and fragmentation"] = CONTEXT_GIB * GIB
    return Memory(parts)

"""What is refused before a run starts, because TRL would take it and train on something else than was meant.

Each rule names the issue or the place in TRL 1.16's source that it comes from.
"""

from __future__ import annotations

from typing import Any

from metagym.errors import BadInput
from metagym_trainers.checkpoints import check_alignment

HARMLESS = frozenset({"cache_implementation", "cache_config", "use_cache", "disable_compile", "detokenize"})
"""Generation settings that change no probability; all others are refused, since there are dozens that do and the next
version of transformers or vLLM may have one more."""


def check_config(args: Any, *, rollout: bool = False, environments: bool = False) -> None:
    """Checks a `GRPOConfig` for the policy that is trained.

    Args:
        args: The config.
        rollout: A ``rollout_func`` with masked foreign tokens is used.
        environments: ``environment_factory`` is used.

    Raises:
        BadInput: A setting would train on something else than was sampled, or could not be resumed from.
    """
    check_sampling(args)
    if rollout and environments:
        raise BadInput(
            "TRL takes env_mask only from trainers without tools, and would train on the environment's words: give "
            "rollout_func or environment_factory, not both"
        )
    if rollout and (args.use_liger_kernel or getattr(args, "use_liger_loss", False)):
        raise BadInput(
            "Liger's loss does not know env_mask, so that the environment's words would be trained on (TRL issues 4974 "
            "to 4976): set use_liger_kernel=False"
        )
    if environments and args.max_tool_calling_iterations is None:
        raise BadInput(
            "an environment cannot end TRL's tool loop and the loop has no limit by default (TRL PR 5321, issue 4751): "
            "set max_tool_calling_iterations"
        )
    if rollout and args.use_vllm and args.vllm_importance_sampling_correction:
        if args.vllm_importance_sampling_mode.startswith("sequence"):
            raise BadInput(
                "long rows of several turns drift a little at every token, and a ratio per sequence then drops them "
                "whole (TRL issue 5231): set vllm_importance_sampling_mode='token_truncate'"
            )
    check_alignment(args)


def check_sampling(args: Any) -> None:
    """Checks that the policy is sampled from its whole distribution, as its update assumes.

    Raises:
        BadInput: top_p, top_k, min_p, a repetition penalty, a grammar or some generation_kwargs restrict it (TRL issue
            6789, PR 7269: the importance ratio is then wrong by the mass that was cut off), or it is sampled greedily.
    """
    wanted = {"top_p": (1.0,), "top_k": (0, -1, None), "min_p": (None, 0.0), "repetition_penalty": (1.0,)}
    for name, values in wanted.items():
        if (found := getattr(args, name)) not in values:
            raise BadInput(
                f"{name}={found} restricts the policy that is trained, and its update would not know: set {name}="
                f"{values[0]} and restrict the frozen actor alone"
            )
    if not args.temperature > 0:
        raise BadInput(f"a policy that is trained is sampled at a temperature above 0, got {args.temperature}")
    if named := sorted(set(args.generation_kwargs or {}) - HARMLESS):
        raise BadInput(f"generation_kwargs may not change how the trained policy is sampled: remove {', '.join(named)}")
    if args.vllm_structured_outputs_regex is not None:
        raise BadInput(
            "vllm_structured_outputs_regex restricts the policy that is trained: constrain the frozen actor alone"
        )


def end_ids(trainer: Any) -> frozenset[int]:
    """Every id that ends an answer of a trainer's model; there may be several, and the tokenizer names only one.

    Where the others are forgotten, complete answers count as cut (TRL PR 7039: a clipped ratio of 0.97).
    """
    return frozenset(map(int, trainer.eos_token_ids))

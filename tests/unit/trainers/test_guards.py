"""Settings that would train on something else than was sampled are refused before a run starts."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metagym.errors import BadInput, ServerError, WrongVersion
from metagym_trainers.guards import check_config, check_sampling, end_ids
from metagym_trainers.servers.facts import check

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """TRL's own defaults, so that a renamed setting shows here."""
    from trl import GRPOConfig

    folder = tmp_path_factory.mktemp("config")
    return GRPOConfig(output_dir=str(folder), use_cpu=True, bf16=False, save_strategy="no", report_to="none")


def changed(config: Any, **settings: Any) -> Any:
    given = dict(vars(config))
    assert set(settings) <= set(given), "TRL has no such setting any more"
    return SimpleNamespace(**{**given, **settings})


def test_trls_defaults_are_fine(config: Any) -> None:
    check_config(config)
    check_config(config, rollout=True)


@pytest.mark.parametrize(
    "settings",
    [
        *({"top_p": 0.95}, {"top_k": 20}, {"min_p": 0.05}, {"repetition_penalty": 1.1}, {"temperature": 0.0}),
        *({"generation_kwargs": {"top_p": 0.9}}, {"generation_kwargs": {"structured_outputs": {"regex": "a"}}}),
        *(
            {"generation_kwargs": {name: 1}}
            for name in ("typical_p", "no_repeat_ngram_size", "logit_bias", "num_beams")
        ),
        {"vllm_structured_outputs_regex": "yes|no"},
    ],
)
def test_trl_issue_07_a_policy_in_training_is_sampled_from_its_whole_distribution(
    config: Any, settings: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match="restrict|above 0|remove"):
        check_sampling(changed(config, **settings))
    with pytest.raises(BadInput):
        check_config(changed(config, **settings), rollout=True)


def test_trl_issue_11_masked_words_and_ligers_loss_do_not_go_together(config: Any) -> None:
    liger = changed(config, use_liger_kernel=True)
    check_config(liger)
    with pytest.raises(BadInput, match="Liger's loss does not know env_mask"):
        check_config(liger, rollout=True)


def test_trl_issue_11_a_mask_and_trls_tool_loop_do_not_go_together(config: Any) -> None:
    with pytest.raises(BadInput, match="rollout_func or environment_factory, not both"):
        check_config(changed(config, max_tool_calling_iterations=8), rollout=True, environments=True)
    check_config(changed(config, generation_kwargs={"use_cache": True}), rollout=True)


def test_trl_issue_05_a_tool_loop_has_a_limit(config: Any) -> None:
    with pytest.raises(BadInput, match="set max_tool_calling_iterations"):
        check_config(config, environments=True)
    check_config(changed(config, max_tool_calling_iterations=8), environments=True)


def test_trl_issue_08_long_rows_are_weighed_token_by_token(config: Any) -> None:
    served = changed(config, use_vllm=True)
    assert served.vllm_importance_sampling_mode.startswith("sequence")
    with pytest.raises(BadInput, match="token_truncate"):
        check_config(served, rollout=True)
    check_config(changed(served, vllm_importance_sampling_mode="token_truncate"), rollout=True)


def test_trl_issue_08_servers_report_what_they_sampled_from() -> None:
    facts = {"url": "u", "models": ["m"], "version": "0.31.0"}
    config = {"model_config": {"logprobs_mode": "processed_logprobs"}, "weight_transfer": True}
    check({**facts, "config": config}, "the policy", training=True)
    raw = {**config, "model_config": {"logprobs_mode": "raw_logprobs"}}
    with pytest.raises(ServerError, match="raw_logprobs.*--logprobs-mode processed_logprobs"):
        check({**facts, "config": raw}, "the policy", training=True)
    with pytest.raises(WrongVersion, match="the policy at u runs vLLM 0.33.0"):
        check({**facts, "config": config, "version": "0.33.0"}, "the policy", training=True)


def test_trl_issue_12_all_ids_that_end_an_answer_are_known() -> None:
    assert end_ids(SimpleNamespace(eos_token_ids=[2, 7])) == {2, 7}


def test_trl_issue_16_alignment_is_checked_with_the_rest(config: Any) -> None:
    with pytest.raises(BadInput, match="off the generation cycle"):
        check_config(changed(config, save_strategy="steps", save_steps=3, steps_per_generation=2))


def sources() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted((ROOT / "trainers").rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def test_trl_issue_04_no_trainer_of_trl_is_subclassed_or_patched() -> None:
    for path, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                assert not any(ast.unparse(base).endswith("Trainer") for base in node.bases), path


def test_trl_issue_18_one_function_alone_uses_a_private_method_of_trl() -> None:
    private = {
        (path.name, node.attr)
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
        if ast.unparse(node.value).rpartition(".")[2] in ("trainer", "_trainer")
    }
    assert private == {("policies.py", "_generate_single_turn")}


def test_trl_issue_18_the_hooks_have_the_signatures_that_the_adapters_use() -> None:
    from trl import GRPOTrainer
    from trl.experimental.async_grpo.async_grpo_trainer import RolloutWorkerProtocol

    turn = list(inspect.signature(GRPOTrainer._generate_single_turn).parameters)
    assert turn == ["self", "prompt_ids", "images", "multimodal_fields", "num_generations", "has_tool_images"]
    init = inspect.signature(GRPOTrainer.__init__).parameters
    for name in ("reward_funcs", "rollout_func", "environment_factory", "callbacks", "processing_class"):
        assert name in init
    methods = {name for name in vars(RolloutWorkerProtocol) if not name.startswith("_")}
    assert {"start", "stop", "update_model_version", "check_health"} <= methods
    assert set(RolloutWorkerProtocol.__annotations__) == {"rollout_buffer", "metrics_queue"}

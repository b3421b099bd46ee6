"""The check of a machine runs, small, on a CPU; and each of its checks fails where it must."""

from __future__ import annotations

import copy
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl")
pytest.importorskip("httpx2")

import torch

from benchmarks import gpu_check
from benchmarks.gpu_model import CPU, GPU, SMALLEST, random_model
from benchmarks.gpu_watch import CheckFailed, Findings, Watch, in_step


def holds(found: Findings, systems: tuple[str, ...]) -> None:
    for name in systems:
        kept = [check for check in found.checks if check.startswith(name)]
        assert len(kept) >= 5 and any("tokens trained" in check for check in kept)
        assert found.values[f"{name}: sampled and trained"] > 0
    assert found.values["memory of the process, most"] > 0


def test_the_smallest_check_trains_a_reflector_and_reports() -> None:
    found = gpu_check.run(SMALLEST, systems=("ict",))
    holds(found, ("ICT",))
    assert found.values["ICT: replays overlap (sum of episodes / wall)"] > 1


@pytest.mark.slow
def test_the_command_runs_on_a_cpu_and_writes_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.json"
    assert gpu_check.main(["--cpu", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("gpu_check on CPU, setting cpu; scripted actor, random weights") and "checks hold:" in out
    written = json.loads(file.read_text())
    assert {check.split(":")[0] for check in written["checks"]} >= {"ICT", "SPADE"}
    assert written["size"] == "cpu" and written["figures"]["ICT: replays overlap (sum of episodes / wall)"] > 4


@pytest.mark.parametrize(
    ("ids", "mask", "words"),
    [
        ([5, 6, 7, 8], [1, 1, 0, 1], None),
        ([5, 6, 7, 8], [1, 1, 0, 0], None),
        ([5, 6, 7, 8], [1, 1, 1, 1], r"4 tokens are to be trained that were not sampled so: \(5, 6, 7, 8\)"),
        ([5, 6, 7, 8], [0, 0, 1, 0], "1 tokens are to be trained"),
        ([5, 6, 7, 8], [1, 1, 0], "a row of 4 ids has a mask of 3"),
    ],
)
def test_a_mask_is_held_against_what_was_sampled(ids: list[int], mask: list[int], words: str | None) -> None:
    watch = Watch()
    watch.heard = {(5, 6), (8,)}
    columns = {"completion_ids": [ids], "env_mask": [mask]}
    if words is None:
        watch.rows(columns)
        assert watch.expected == sum(mask)
    else:
        with pytest.raises(CheckFailed, match=words):
            watch.rows(columns)


def test_a_recorder_with_a_shifted_mask_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    from metagym_trainers.recording import Recorder

    episode = Recorder.episode

    def shifted(self: Recorder, *given: Any, **more: Any) -> Any:
        row = episode(self, *given, **more)
        return replace(row, mask=(0, *row.mask[1:]), turns=())

    monkeypatch.setattr(Recorder, "episode", shifted)
    with pytest.raises(CheckFailed, match="that were not sampled so"):
        gpu_check.run(SMALLEST, systems=("spade",))


@pytest.mark.slow
def test_an_actor_that_dies_in_the_middle_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from metagym_trainers.servers.watch import WatchServers

    look = WatchServers.on_step_begin

    def dies(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 1:
            for server in self.watched[0]._servers.values():
                os.kill(server.pid, signal.SIGKILL)
                while server.alive():
                    time.sleep(0.05)
        look(self, args, state, control, **kwargs)

    monkeypatch.setattr(WatchServers, "on_step_begin", dies)
    assert gpu_check.main(["--smallest", "--system", "ict"]) == 1
    assert "FAILED: actor at http://127.0.0.1:" in (said := capsys.readouterr().err) and "has died" in said


def closed(watch: Watch, before: list[Any], weights: list[torch.Tensor]) -> None:
    model = SimpleNamespace(parameters=lambda: weights)
    watch.close(Findings(), "X", before, model, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trained": 11}, "11 tokens trained, 10 sampled"),
        ({"expected": 0, "trained": 0}, "0 tokens trained"),
        ({"logs": []}, "0 losses"),
        ({"weights": [torch.ones(2)]}, "weights moved"),
        ({"weights": [torch.tensor([1.0, float("nan")])]}, "all weights are finite"),
    ],
)
def test_what_training_must_not_do_fails_the_check(change: dict[str, Any], words: str) -> None:
    watch = Watch()
    watch.expected = watch.trained = 10
    watch.logs = [{"loss": 0.5}]
    weights = change.pop("weights", [torch.zeros(2)])
    closed(watch, [torch.ones(2)], [torch.zeros(2)])  # all is well
    for name, value in change.items():
        setattr(watch, name, value)
    with pytest.raises(CheckFailed, match=words):
        closed(watch, [torch.ones(2)], weights)


@pytest.mark.parametrize("stale", [False, True])
def test_trl_issue_09_weights_that_do_not_reach_vllm_fail_the_check(stale: bool) -> None:
    class Tokens(list[int]):
        eos_token_id, pad_token_id = 1, 0

        def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
            return {"input_ids": [ord(letter) % 8 for letter in text]}

    tokens = Tokens(range(8))
    model = random_model(replace(SMALLEST, hidden=16, heads=2, kv_heads=2), tokens, 0)
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(100)  # a model that knows what it wants, as a trained one does
    engine = copy.deepcopy(model)

    def sync() -> None:
        engine.load_state_dict({} if stale else model.state_dict(), strict=not stale)

    def generate(prompts: list[list[int]], *_: Any) -> tuple[list[list[int]], list[list[float]]]:
        with torch.no_grad():
            known = [engine(torch.tensor([prompt])).logits[0, -1].log_softmax(-1) for prompt in prompts]
        return [[int(one.argmax())] for one in known], [[float(one.max())] for one in known]

    trainer = SimpleNamespace(
        accelerator=SimpleNamespace(unwrap_model=lambda model: model),
        args=SimpleNamespace(temperature=1.0),
        model=model,
        processing_class=tokens,
        use_vllm=True,
        vllm_generation=SimpleNamespace(sync_weights=sync),
        _generate_single_turn=generate,
    )
    findings = Findings()
    if stale:
        with pytest.raises(CheckFailed, match="new weights reach vLLM"):
            in_step(findings, "X", trainer)
    else:
        in_step(findings, "X", trainer)
        assert len(findings.checks) == 1


@pytest.mark.parametrize("name", ["loss", "grad_norm", "reward"])
def test_the_first_nan_ends_the_training(name: str) -> None:
    callback = Watch().callback()
    callback.on_log(None, SimpleNamespace(global_step=3), None, logs={name: 1.0, "replay/return": float("nan")})
    with pytest.raises(CheckFailed, match=f"{name} is nan at step 3"):
        callback.on_log(None, SimpleNamespace(global_step=3), None, logs={name: float("nan")})


def test_a_dead_server_and_a_missing_extra_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from metagym.errors import ServerError

    def dies(*args: Any, **kwargs: Any) -> Findings:
        raise ServerError("actor at http://127.0.0.1:1 has died")

    monkeypatch.setattr(gpu_check, "train_ict", dies)
    monkeypatch.setattr(gpu_check, "CPU", replace(CPU, warm_steps=1))
    assert gpu_check.main(["--cpu"]) == 1
    assert "FAILED: actor at http://127.0.0.1:1 has died" in capsys.readouterr().err
    assert gpu_check.main(["--cpu", "--generation", "colocate"]) == 1
    assert "vllm is not installed: pip install 'metagym-agents[gpu]'" in capsys.readouterr().err


def test_the_gpus_model_has_half_a_billion_weights_in_the_shape_of_qwen2() -> None:
    class Tokens(list[int]):
        eos_token_id, pad_token_id = 1, 0

    with torch.device("meta"):  # shapes without memory
        model = random_model(GPU, Tokens(range(GPU.vocabulary)), 0)
    assert 0.48e9 < sum(weight.numel() for weight in model.parameters()) < 0.52e9
    config = model.config
    assert (config.hidden_size, config.num_attention_heads, config.num_key_value_heads) == (896, 14, 2)

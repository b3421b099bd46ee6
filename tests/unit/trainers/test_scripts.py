"""What the example scripts share: one GPU per process, TRL's refusals in a sentence, the policy's server is asked."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, MissingExtra, ServerError, WrongVersion
from metagym_trainers import plan, presets, scripts, versions
from metagym_trainers.servers import Launch, Servers

FAKE = str(Path(__file__).resolve().parents[2] / "support" / "fake_vllm.py")


def fake(*arguments: str) -> Launch:
    """A stand-in for vLLM that serves a policy in training."""
    return Launch("policy", (sys.executable, "-S", FAKE, "--port", "{port}", *arguments))


@pytest.mark.parametrize(
    ("visible", "first", "others"), [(None, "0", []), ("3", "3", []), ("2,5, 7", "2", ["5", "7"]), ("", "", [])]
)
def test_a_process_alone_trains_on_one_gpu(
    visible: str | None, first: str, others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible or "")  # so that it is put back whatever it was
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert scripts.one_gpu() == others
    assert os.environ["CUDA_VISIBLE_DEVICES"] == first


def test_processes_of_accelerate_keep_their_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert scripts.one_gpu() == [] and os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_servers_take_the_gpus_that_are_left() -> None:
    servers = plan.make(presets.named("sesa-8b"), serving=2).servers
    placed = scripts.on_gpus(servers, ["4", "5", "6", "7"])
    assert [one.environment["CUDA_VISIBLE_DEVICES"] for one in placed] == ["4,5", "6,7"]
    assert scripts.on_gpus(servers, []) == list(servers)
    with pytest.raises(BadInput, match="the servers want 4 GPUs .* leaves 1: show more of them"):
        scripts.on_gpus(servers, ["4"])


def test_gpus_that_nobody_launched_on_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    scripts.started_as_planned(1)
    with pytest.raises(BadInput, match="--gpus 8 and 1 process: .*accelerate launch"):
        scripts.started_as_planned(8)
    monkeypatch.setenv("WORLD_SIZE", "8")
    scripts.started_as_planned(8)
    with pytest.raises(BadInput, match="--gpus 4 and 8 processes"):
        scripts.started_as_planned(4)


def test_vllm_is_asked_for_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scripts.generating("transformers", None, "m") == ({}, None)
    for mode in (None, "colocate", "server"):
        with pytest.raises(MissingExtra, match=r"vllm is not installed: pip install 'metagym-agents\[gpu\]'"):
            scripts.generating(mode, None, "m")
    known = versions.metadata.version
    monkeypatch.setattr(versions.metadata, "version", lambda name: "0.40.0" if name == "vllm" else known(name))
    with pytest.raises(WrongVersion, match="vllm 0.40.0 is installed"):
        scripts.generating("colocate", None, "m")


def test_a_server_that_nobody_asks_is_refused() -> None:
    with pytest.raises(BadInput, match="--server http://h:1 needs --generation server; this run generates with coloc"):
        scripts.generating(None, "http://h:1", "m")


def test_the_policy_s_server_is_asked_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "require_vllm", lambda: None)
    with pytest.raises(ServerError, match="the policy's server at http://127.0.0.1:9 does not answer"):
        scripts.generating("server", "http://127.0.0.1:9/v1", "tiny")
    with Servers(tmp_path) as servers:
        server = servers.start(fake("--model", "tiny"))
        fields, facts = scripts.generating("server", f"{server.url}/v1", "tiny")
        assert fields == {"use_vllm": True, "vllm_mode": "server", "vllm_server_base_url": server.url}
        assert facts is not None and facts["config"]["weight_transfer"] is True
        with pytest.raises(ServerError, match="serves tiny, not other"):
            scripts.generating("server", server.url, "other")
    with Servers(tmp_path) as servers:  # an actor's server, whose weights nobody may touch
        server = servers.start(fake("--model", "tiny", "--no-weights"))
        with pytest.raises(ServerError, match="takes no weights"):
            scripts.generating("server", server.url, "tiny")


def test_what_trl_cannot_train_here_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    fields: dict[str, Any] = {"output_dir": str(tmp_path), "report_to": "none", "use_cpu": True, "bf16": False}
    assert scripts.grpo_config(**fields).temperature == 1.0
    with pytest.raises(BadInput, match="^TRL cannot train with these settings here: [^\n]+$"):
        scripts.grpo_config(**fields, per_device_train_batch_size=3, num_generations=2)


def test_a_tokenizer_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(BadInput, match="the tokenizer of .* cannot be loaded: [^\n]+$"):
        scripts.tokenizer_of(str(tmp_path))


def test_adapters_are_the_presets_own() -> None:
    pytest.importorskip("peft")
    made = scripts.adapters(True)
    assert scripts.adapters(False) is None and (made.r, made.task_type) == (presets.LORA["r"], "CAUSAL_LM")

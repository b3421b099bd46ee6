"""transformers in process, with a tiny model of random weights; skipped with the reason where torch is absent."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from metagym.chat import load
from metagym.errors import ContextOverflow, MissingExtra, SpecError


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"holds no config\.json"):
        load(f"hf:{tmp_path}")


def test_s32_missing_libraries_name_the_extra(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"metagym-agents\[hf\]"):
        load(f"hf:{tmp_path}")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch", reason="the extra `hf` is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra `hf` is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("tiny")
    words = ["<unk>", "<eos>", *"abcdefghijklmnopqrstuvwxyz:"]
    model = tokenizers.models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<eos>")
    fast.chat_template = "{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}"
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=1,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_tiny_model_of_random_weights_answers(tiny, ask):
    model = load(f"hf:{tiny}")

    async def work():
        greedy = [await model.chat(ask("hello", max_tokens=8)) for _ in range(2)]
        sampled = [await model.chat(ask("hello", max_tokens=8, temperature=1.0, seed=seed)) for seed in (1, 1, 2)]
        with pytest.raises(ContextOverflow):
            await model.chat(ask("a" * 100))
        return greedy, sampled

    greedy, sampled = asyncio.run(work())
    assert greedy[0].text == greedy[1].text and sampled[0].text == sampled[1].text
    assert greedy[0].usage.prompt_tokens == 10 and greedy[0].usage.completion_tokens <= 8
    assert greedy[0].backend == "local"

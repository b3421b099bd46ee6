"""Tiny models: the template keeps prefixes, the tokenizer hears what it should, seeds decide everything."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from metagym.errors import BadInput
from metagym_trainers.recording import Template
from metagym_trainers.tiny.models import (
    generate,
    parameters,
    prompt_ids,
    tiny_model,
    warm_start,
    word_tokenizer,
)

WORDS = ("red", "green", "go", "stop", "look")


def chat(*texts: str) -> list[dict[str, str]]:
    """A conversation that begins with the user."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def test_the_model_has_about_ninety_thousand_parameters() -> None:
    model = tiny_model(word_tokenizer([f"w{number}" for number in range(54)]))
    assert parameters(model) == 90_560 and model.config.vocab_size == 62


@pytest.mark.parametrize("drop", [False, True])
def test_a_longer_conversation_starts_with_the_ids_of_a_shorter_one(drop: bool) -> None:
    tokenizer = word_tokenizer(WORDS, drop_unknown=drop)
    texts = ["go red", "look", "stop", "green go", "red"]
    for turns in (1, 3):
        short = prompt_ids(tokenizer, chat(*texts[:turns]))
        assert prompt_ids(tokenizer, chat(*texts[: turns + 2]))[: len(short)] == short
    assert Template(tokenizer).closing_ids[0] == tokenizer.eos_token_id


def test_unknown_words_are_marked_or_not_heard() -> None:
    marked, deaf = word_tokenizer(WORDS), word_tokenizer((*WORDS, "STOP NOW:"), drop_unknown=True)

    def heard(tokenizer: Any, text: str) -> str:
        return str(tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]))

    assert heard(marked, "go quickly red") == "go <unk> red"
    text = "Don't go, (red) redder go-green ago; STOP NOW: user system look.\n"
    assert heard(deaf, text) == "go red go green STOP NOW: look"
    ids = prompt_ids(deaf, [{"role": "system", "content": "a system for the user"}, *chat("go")])
    assert deaf.decode(ids) == "<|im_start|> system <|im_end|> <|im_start|> user go <|im_end|> <|im_start|> assistant"


@pytest.mark.parametrize("word", ["", "two words", " red"])
def test_unusable_words_are_refused(word: str) -> None:
    with pytest.raises(BadInput):
        word_tokenizer([word])


@pytest.mark.parametrize("sizes", [{"hidden": 12}, {"layers": 0}, {"positions": 1}, {"spread": 0.0}])
def test_unusable_sizes_are_refused(sizes: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        tiny_model(word_tokenizer(WORDS), **sizes)


def test_seeds_decide_weights_and_samples_and_leave_torch_as_it_was() -> None:
    tokenizer = word_tokenizer(WORDS)
    before = torch.random.get_rng_state()
    first, again, other = (tiny_model(tokenizer, seed=seed, spread=0.2) for seed in (1, 1, 2))
    asked = [chat("go red"), chat("look", "go", "stop green")] * 8
    samples = [
        generate(model, tokenizer, asked, max_tokens=4, temperature=1.0, seed=seed)
        for model, seed in ((first, 0), (again, 0), (first, 1))
    ]
    assert samples[0] == samples[1] != samples[2]
    assert not torch.equal(first.lm_head.weight, other.lm_head.weight)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_greedy_answers_do_not_depend_on_the_batch() -> None:
    tokenizer = word_tokenizer(WORDS)
    model = tiny_model(tokenizer, spread=0.2).train()
    asked = [chat("go red"), chat("look", "go", "stop green"), chat("green")]
    together = generate(model, tokenizer, asked, max_tokens=3)
    assert together == generate(model, tokenizer, asked, max_tokens=3, batch=1) and model.training


def test_a_warm_start_teaches_the_form_and_nothing_without_steps() -> None:
    tokenizer = word_tokenizer(WORDS)
    model = tiny_model(tokenizer, hidden=32, layers=1)
    assert math.isnan(warm_start(model, tokenizer, lambda at: (chat("go"), "red"), steps=0))
    loss = warm_start(model, tokenizer, lambda at: (chat("go red"), f"look {WORDS[at % 2]}"), steps=60, batch=8)
    assert loss < 1.0
    (answer,) = generate(model, tokenizer, [chat("go red")], max_tokens=4)
    assert answer in ("look red", "look green")

"""A random Qwen2 of about 90,000 parameters, its word tokenizer, a warm start on form, and a generation helper.

The real trainers run on it unchanged, since it is an ordinary transformers model with a chat template. The template is
prefix-preserving: each message becomes ``<|im_start|> role content <|im_end|>`` and nothing else depends on what
follows, so that a longer conversation starts with the ids of a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from metagym.checks import number, shown, whole
from metagym.errors import BadInput
from metagym.seeding import derive

START, END, PAD, UNKNOWN = "<|im_start|>", "<|im_end|>", "<pad>", "<unk>"
SPECIAL = (PAD, UNKNOWN, START, END, "system", "user", "assistant", "tool")
"""Words that every vocabulary starts with; `END` ends an answer."""

TEMPLATE = (
    "{%- for message in messages %}"
    "{{ '<|im_start|> ' + message['role'] + ' ' + message['content'] + ' <|im_end|> ' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|> assistant ' }}{% endif %}"
)
"""The chat template: an answer begins right after ``<|im_start|> assistant`` and ends with ``<|im_end|>``."""

Messages = Sequence[Mapping[str, str]]


def word_tokenizer(words: Sequence[str], *, drop_unknown: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer with one id per word.

    Args:
        words: The vocabulary beside `SPECIAL`; repeated words count once. Without `drop_unknown` texts are split at
            blanks, so that no word may hold one.
        drop_unknown: Whatever is no word of the vocabulary is not heard at all, punctuation included, and a word may
            hold blanks (``"IMPROVED PROMPT:"``). Real prompts then cost a tiny model a few ids. Otherwise unknown
            words become ``<unk>``.

    Returns:
        A fast tokenizer with left padding and `TEMPLATE`; decoding joins words with a blank.

    Raises:
        BadInput: A word is empty or holds a blank where none may stand.
    """
    for word in words:
        if not word or word != word.strip() or (not drop_unknown and len(word.split()) != 1):
            raise BadInput(f"a word of the vocabulary is one word without blanks, got {shown(word)}")
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys((*SPECIAL, *words)))}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    if drop_unknown:
        # A word is heard where no letter or digit of another word touches it, and the name of a role only where a
        # message begins; longer words are tried first.
        heard = "|".join(re.escape(word) for word in sorted({*words, *SPECIAL[:4]}, key=len, reverse=True))
        roles = "|".join(SPECIAL[4:])
        marked = rf"(?<=<\|im_start\|> )(?:{roles})(?= )|(?<![\w<|])(?:{heard})(?!\w)"
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(marked), "removed", invert=True)
    else:
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=TEMPLATE,
    )


def tiny_model(
    tokenizer: PreTrainedTokenizerFast,
    *,
    hidden: int = 64,
    layers: int = 2,
    heads: int = 4,
    positions: int = 256,
    spread: float = 0.02,
    seed: int = 0,
) -> Qwen2ForCausalLM:
    """A Qwen2 with random weights: about 90,000 parameters with the defaults and a vocabulary of 60 words.

    Args:
        tokenizer: Of `word_tokenizer`; gives the vocabulary and the ids that end and pad.
        hidden: Width; a multiple of ``2 * heads``.
        layers: Number of blocks.
        heads: Attention heads.
        positions: Longest sequence, in tokens.
        spread: Standard deviation of the initial weights. 0.02 is Qwen2's own and suits wide models; at a width of 64
            a reinforced toy task leaves its plateau several times sooner with 0.08.
        seed: Decides the weights; torch's own generator is left as it was.

    Raises:
        BadInput: A size is not usable.
    """
    for name, value, least in (("layers", layers, 1), ("heads", heads, 1), ("positions", positions, 8)):
        whole(name, value, least)
    if whole("hidden", hidden, 2) % (2 * heads):
        raise BadInput(f"hidden is a multiple of twice the heads ({2 * heads}), got {hidden}")
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=positions,
        tie_word_embeddings=False,
        initializer_range=number("spread", spread, 0.0, above=True),
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    with seeded(derive(seed, "tiny-model")):
        return Qwen2ForCausalLM(config)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Runs a block under a seed of its own; torch's generator of the CPU is put back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def parameters(model: torch.nn.Module) -> int:
    """Number of parameters."""
    return sum(weight.numel() for weight in model.parameters())


def prompt_ids(tokenizer: PreTrainedTokenizerFast, messages: Messages) -> list[int]:
    """The ids of a conversation up to where the model's answer begins."""
    made = tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, tokenize=True, return_dict=False)
    return list(made)


def warm_start(
    model: Qwen2ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    example: Callable[[int], tuple[Messages, str]],
    *,
    steps: int = 100,
    batch: int = 32,
    learning_rate: float = 3e-3,
) -> float:
    """Teaches the form of answers by plain supervised steps (AdamW); what to answer is left to the trainer.

    Args:
        model: Changed in place, and left in training mode.
        tokenizer: Its tokenizer.
        example: From the number of an example to a conversation and the answer (without the end mark). The answer must
            be drawn at random among all that have the form, or the warm start teaches more than form.
        steps: Optimiser steps; 0 does nothing.
        batch: Examples per step.
        learning_rate: > 0.

    Returns:
        The loss of the last step, in nats per token of the answers; NaN for no steps.
    """
    whole("steps", steps, 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    model.train()
    numbers = iter(range(steps * whole("batch", batch, 1)))
    loss = torch.tensor(float("nan"))
    for _ in range(steps):
        rows = []
        for turn in islice(numbers, batch):
            messages, answer = example(turn)
            target = tokenizer(f"{answer} {END}", add_special_tokens=False)["input_ids"]
            rows.append((prompt_ids(tokenizer, messages), target))
        width = max(len(given) + len(target) for given, target in rows)
        ids = torch.full((len(rows), width), tokenizer.pad_token_id)
        labels = torch.full((len(rows), width), -100)
        for at, (given, target) in enumerate(rows):
            ids[at, : len(given) + len(target)] = torch.tensor(given + target)
            labels[at, len(given) : len(given) + len(target)] = torch.tensor(target)
        loss = model(input_ids=ids, attention_mask=(ids != tokenizer.pad_token_id).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss.item())


@torch.no_grad()
def generate(
    model: Any,
    tokenizer: PreTrainedTokenizerFast,
    conversations: Sequence[Messages],
    *,
    max_tokens: int,
    temperature: float = 0.0,
    seed: int = 0,
    batch: int = 256,
) -> list[str]:
    """Answers to conversations, apart from any trainer (for evaluation).

    Args:
        model: A causal language model of transformers; its mode is put back.
        tokenizer: Its tokenizer, padding on the left.
        conversations: Each a list of messages.
        max_tokens: Longest answer, in tokens; >= 1.
        temperature: 0 takes the most likely word.
        seed: Of the sampling; torch's own generator is left as it was.
        batch: Conversations at once.

    Returns:
        One text per conversation, without special tokens.
    """
    whole("max_tokens", max_tokens, 1)
    sampling: dict[str, Any] = {"do_sample": False}
    if temperature > 0:
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
    training = model.training
    model.eval()
    answers: list[str] = []
    try:
        with seeded(derive(seed, "generate")):
            for first in range(0, len(conversations), batch):
                rows = [prompt_ids(tokenizer, messages) for messages in conversations[first : first + batch]]
                given = tokenizer.pad({"input_ids": rows}, return_tensors="pt").to(model.device)
                made = model.generate(
                    **given, max_new_tokens=max_tokens, pad_token_id=tokenizer.pad_token_id, **sampling
                )
                answers += tokenizer.batch_decode(made[:, given["input_ids"].shape[1] :], skip_special_tokens=True)
    finally:
        model.train(training)
    return answers

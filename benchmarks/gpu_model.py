"""The model of the GPU check: its sizes, a byte-level tokenizer, random weights, and a warm start on form."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym.seeding import derive, rng

PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
CHATML = (
    "{%- for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The chat template of the Qwen2 family, without its default system message."""


@dataclass(frozen=True)
class Size:
    """How large the check is.

    Attributes:
        name: For the report.
        hidden: Width of the model.
        layers: Blocks.
        heads: Query heads.
        kv_heads: Key and value heads.
        intermediate: Width of the feed-forward part.
        vocabulary: Tokens of the byte-level BPE, at most.
        warm_steps: Supervised steps on the form of answers.
        warm_batch: Examples of each.
        warm_rate: Learning rate of these.
        steps: Generation batches per trainer.
        generations: Rows of a group.
        prompts: Prompts of ICT's generation batch.
        slots: SPADE's groups of plays.
        per_device: Rows of a micro-batch.
        latency: Seconds before the actor's server answers.
    """

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    warm_steps: int
    warm_batch: int
    warm_rate: float
    steps: int
    generations: int
    prompts: int
    slots: int
    per_device: int
    latency: float


GPU = Size("gpu", 896, 33, 14, 2, 4864, 2048, 60, 16, 3e-4, 4, 8, 8, 3, 8, 0.05)
"""Width, heads and feed-forward part of Qwen2.5-0.5B; layers instead of its words make it half a billion weights."""
CPU = Size("cpu", 64, 2, 4, 2, 128, 1024, 60, 8, 3e-3, 2, 8, 4, 2, 8, 0.05)
SMALLEST = replace(CPU, name="smallest", warm_steps=30, warm_batch=4, warm_rate=5e-3, generations=4, prompts=2, slots=1)
"""For a test that must be quick."""


def byte_tokenizer(texts: Sequence[str], vocabulary: int) -> Any:
    """A byte-level BPE trained on the check's own texts; it can encode any text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=CHATML,
    )


def random_model(size: Size, tokenizer: Any, seed: int) -> Any:
    """A Qwen2 with random weights."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.kv_heads,
        max_position_embeddings=8192,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    torch.manual_seed(derive(seed, "weights") >> 32)
    return Qwen2ForCausalLM(config)


def warm_start(model: Any, tokenizer: Any, size: Size, example: Callable[[int], tuple[Any, str]]) -> float:
    """Teaches the form of answers; returns the last loss in nats per token."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=size.warm_rate)
    model.train()
    loss = math.nan
    for step in range(size.warm_steps):
        rows = []
        for number in range(step * size.warm_batch, (step + 1) * size.warm_batch):
            messages, answer = example(number)
            head = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            given, said = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (head, answer + END))
            rows.append((given + said, [-100] * len(given) + said))
        width = max(len(ids) for ids, _ in rows)
        ids = torch.tensor([[tokenizer.pad_token_id] * (width - len(row)) + row for row, _ in rows])
        labels = torch.tensor([[-100] * (width - len(row)) + row for _, row in rows])
        ids, labels = ids.to(model.device), labels.to(model.device)
        mask = (ids != tokenizer.pad_token_id).long()
        with torch.autocast("cuda", torch.bfloat16, enabled=model.device.type == "cuda"):
            result = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        result.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss = float(result.detach())
    return loss


def form(rows: Sequence[Mapping[str, Any]], seed: int) -> Callable[[int], tuple[Any, str]]:
    """Examples of form for both worlds, in turn; which answer is right is never shown."""
    from metagym_trainers.tiny import ict_world, locks

    def example(number: int) -> tuple[Any, str]:
        draw = rng(seed, "check", number)
        if number % 4 == 1:
            family = draw.choice(locks.FAMILIES)
            return locks.design_prompt(family), locks.line_of(draw.randint(1, 3))
        if number % 4 == 3:
            return locks.example(number, seed)  # a play: every number that is no multiple of four
        tools = " ".join(draw.choice(ict_world.TOOLS) for _ in range(2))
        return rows[draw.randrange(len(rows))]["messages"], f"{ict_world.HEADING} {tools}"

    return example


def decoding(model: Any, tokenizer: Any, prompts: Sequence[Any], tokens: int) -> float:
    """Tokens per second of plain generation for all prompts at once."""
    import torch

    texts = [tokenizer.apply_chat_template(list(one), add_generation_prompt=True, tokenize=False) for one in prompts]
    given = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
    given.pop("token_type_ids", None)
    model.eval()
    seconds = math.inf
    with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=model.device.type == "cuda"):
        for _ in range(2):  # the first one warms up
            started = time.perf_counter()
            model.generate(**given, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=True, top_k=0)
            if model.device.type == "cuda":
                torch.cuda.synchronize()
            seconds = min(seconds, time.perf_counter() - started)
    return len(prompts) * tokens / seconds

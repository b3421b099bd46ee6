"""Stand-ins for tests: a tokenizer that merges across borders, a scripted policy, a real trainer that is tiny."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from metagym_trainers.policies import Sample

WORDS = ("red", "green", "blue", "go", "stop", "look", "see", "done", "start")
COLOURS = WORDS[:3]


class MergingTokenizer:
    """Takes the longest piece it knows; `` inter`` + ``national`` become one id when they meet (field fault S14)."""

    pieces = ("<|end|>", "<|user|>", "<|model|>", "<|endoftext|>", " international", " inter", "national", "\n", "</s>")
    chat_template = "scripted"
    eos_token_id = 0

    def __init__(self, *, rewrites: bool = False, newline: str = "\n", thinks: str = "") -> None:
        self.rewrites, self.newline, self.thinks = rewrites, newline, thinks
        letters = "".join(map(chr, range(32, 127)))
        self.vocabulary = {piece: number for number, piece in enumerate((*self.pieces, *letters))}
        self.texts = list(self.vocabulary)
        self.special = {self.vocabulary[piece] for piece in self.pieces[:4]}

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        assert not add_special_tokens, "a template has written them already"
        ids = []
        while text:
            piece = next(piece for piece in self.texts if text.startswith(piece))
            ids.append(self.vocabulary[piece])
            text = text[len(piece) :]
        return {"input_ids": ids}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        return "".join(self.texts[number] for number in ids if not (skip_special_tokens and number in self.special))

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool, tokenize: bool
    ) -> str:
        assert not tokenize
        text = ""
        for at, message in enumerate(messages):
            content = message["content"]
            if self.rewrites and message["role"] == "assistant" and at + 1 < len(messages):
                content = ""
            if message["role"] == "assistant" and at + 1 == len(messages):
                content = self.thinks + content
            text += f"<|{'model' if message['role'] == 'assistant' else 'user'}|>{content}<|end|>{self.newline}"
        return text + (f"<|model|>{self.thinks}" if add_generation_prompt else "")

    def ids(self, text: str) -> tuple[int, ...]:
        """Ids of a text."""
        return tuple(self(text, add_special_tokens=False)["input_ids"])


class ScriptedPolicy:
    """Samples what it is told to, and remembers what it was asked."""

    def __init__(
        self, answers: Iterable[Sequence[int]], *, ends: frozenset[int] = frozenset({0}), logprobs: bool = True
    ) -> None:
        self.answers, self.ends, self.logprobs = iter(answers), ends, logprobs
        self.temperature = 1.0
        self.asked: list[tuple[int, ...]] = []
        self.seeds: list[int] = []
        self.given: list[tuple[int, ...]] = []

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        self.asked.append(tuple(prompt_ids))
        self.seeds.append(seed)
        ids = tuple(next(self.answers))[:max_tokens]
        self.given.append(ids)
        known = tuple(-0.5 - number / 100 for number in range(len(ids))) if self.logprobs else None
        return Sample(ids, known, ids[-1] not in self.ends)


def fake_trainer(answer: Callable[[list[int]], Sequence[int]] = lambda prompt: [5, 0], **settings: Any) -> Any:
    """What `LocalPolicy` uses of a trainer, without torch; `calls` holds the prompts of each generation call."""
    calls: list[list[list[int]]] = []

    def generate(prompts: list[list[int]], images: None, fields: dict[str, Any], generations: int) -> Any:
        assert images is None and fields == {} and generations == 1
        calls.append([list(prompt) for prompt in prompts])
        return [list(answer(prompt)) for prompt in prompts], None

    made = SimpleNamespace(
        calls=calls,
        eos_token_ids=[0],
        use_vllm=False,
        max_completion_length=64,
        generation_config=SimpleNamespace(max_new_tokens=64),
        accelerator=SimpleNamespace(num_processes=1, distributed_type="NO"),
        args=SimpleNamespace(temperature=1.0, vllm_mode="colocate", vllm_tensor_parallel_size=1),
        _generate_single_turn=generate,
    )
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def grpo(folder: Path, rows: Sequence[Mapping[str, Any]] | None = None, *, model: Any = None, **more: Any) -> Any:
    """A real `GRPOTrainer` on a random model of some thousand parameters.

    Args:
        folder: Output folder.
        rows: The dataset; by default prompts that say a colour.
        model: By default a fresh one, always the same.
        **more: Arguments of the trainer (`reward_funcs`, `rollout_func`, `callbacks`) or of its config.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from datasets import Dataset
        from transformers import PrinterCallback
        from trl import GRPOConfig, GRPOTrainer

        from metagym_trainers.tiny.models import tiny_model, word_tokenizer

        tokenizer = word_tokenizer(WORDS)
        names = ("reward_funcs", "rollout_func", "callbacks", "environment_factory", "train_dataset")
        trainer_arguments = {name: more.pop(name) for name in names if name in more}
        settings = {
            "output_dir": str(folder),
            "max_steps": 2,
            "per_device_train_batch_size": 4,
            "num_generations": 2,
            "max_completion_length": 3,
            "learning_rate": 1e-2,
            "lr_scheduler_type": "constant",
            "logging_steps": 1,
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "save_strategy": "no",
            "disable_tqdm": True,
            "loss_type": "grpo",
            "dataloader_pin_memory": False,
            **more,
        }
        data = rows or [{"prompt": [{"role": "user", "content": f"see {COLOURS[n % 3]}"}]} for n in range(24)]
        arguments = {"train_dataset": Dataset.from_list([dict(row) for row in data]), **trainer_arguments}
        trainer = GRPOTrainer(
            model=model or tiny_model(tokenizer, hidden=16, layers=1, heads=2, positions=64),
            args=GRPOConfig(**settings),
            processing_class=tokenizer,
            **arguments,
        )
        trainer.remove_callback(PrinterCallback)
    return trainer

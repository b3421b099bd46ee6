"""A language model in this process, by transformers (extra ``hf``), from a folder on disk; nothing is downloaded."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

from metagym.chat.constraints import check_request
from metagym.chat.replies import read_completion
from metagym.chat.types import Backend, Reply, Request
from metagym.chat.weights import fingerprint
from metagym.errors import ChatError, ContextOverflow, SpecError
from metagym.extras import require


class HFChat:
    """A model folder in the form of transformers: one request at a time, on a thread of its own.

    Choices are checked, not enforced. Sampling is seeded per request, under torch's own generator, which is put back.
    """

    def __init__(self, folder: str, *, device: str = "cpu", dtype: str = "auto") -> None:
        """Checks the folder; loads the model at the first call.

        Args:
            folder: Folder with ``config.json``, weights and tokenizer.
            device: ``cpu``, ``cuda`` or ``mps``.
            dtype: ``auto``, ``float32``, ``float16`` or ``bfloat16``.

        Raises:
            SpecError: It is no model folder.
            MissingExtra: torch or transformers is not installed.
        """
        self._folder = Path(folder).expanduser()
        if not (self._folder / "config.json").is_file():
            raise SpecError(f"hf: {self._folder} is no model folder (it holds no config.json)")
        self._torch = require("torch", "hf")
        self._transformers = require("transformers", "hf")
        files = [f for f in self._folder.iterdir() if f.suffix in (".json", ".jinja", ".safetensors", ".bin", ".model")]
        self._id = f"hf:{self._folder.name}@{fingerprint(files)}?dtype={dtype}"
        self._device = device
        self._dtype = dtype
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def id(self) -> str:
        """The folder's name, the weights' fingerprint and the number format."""
        return self._id

    @property
    def backend(self) -> Backend:
        """A local model."""
        return "local"

    async def chat(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            ContextOverflow: The conversation does not fit the window.
            ChatError: The model failed.
            BadInput: The request cannot be asked of any model.
        """
        check_request(request)
        start = time.perf_counter()
        answer = await asyncio.to_thread(self._answer, request)
        reply = read_completion(answer, request, model=self._id, backend="local")
        return dataclasses.replace(reply, seconds=time.perf_counter() - start)

    def _answer(self, request: Request) -> dict[str, Any]:
        with self._lock:
            try:
                return self._generate(request)
            except ChatError:
                raise
            except Exception as error:  # a model may fail in any way: out of memory, a template without a system role
                raise ChatError(f"{self._id}: {type(error).__name__}: {error}") from error

    def _generate(self, request: Request) -> dict[str, Any]:
        tokenizer, model = self._load()
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        inputs = tokenizer(text, return_tensors="pt", add_special_tokens=False).to(model.device)
        length = int(inputs["input_ids"].shape[1])
        window = getattr(model.config, "max_position_embeddings", None)
        room = request.max_tokens if window is None else min(request.max_tokens, window - length)
        if room < 1:
            raise ContextOverflow(f"{self._id}: the conversation has {length} tokens and the window holds {window}")
        sampling: dict[str, Any] = {"do_sample": False}
        if request.temperature > 0:
            cuts = {name: request.extra[name] for name in ("top_p", "top_k") if name in request.extra}
            sampling = {"do_sample": True, "temperature": request.temperature, **cuts}
        devices = [model.device] if self._device == "cuda" else []
        with self._torch.random.fork_rng(devices=devices), self._torch.inference_mode():
            self._torch.manual_seed(request.seed or 0)
            output = model.generate(**inputs, max_new_tokens=room, pad_token_id=tokenizer.eos_token_id, **sampling)
        written = output[0][length:]
        ended = len(written) > 0 and int(written[-1]) in _end_tokens(model, tokenizer)
        return {
            "choices": [
                {
                    "finish_reason": "stop" if ended or len(written) < room else "length",
                    "message": {"role": "assistant", "content": tokenizer.decode(written, skip_special_tokens=True)},
                }
            ],
            "usage": {"prompt_tokens": length, "completion_tokens": len(written)},
        }

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            folder = str(self._folder)
            tokenizer = self._transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model = self._transformers.AutoModelForCausalLM.from_pretrained(
                folder, dtype=self._dtype, local_files_only=True
            )
            self._loaded = (tokenizer, model.to(self._device).eval())
        return self._loaded


def _end_tokens(model: Any, tokenizer: Any) -> set[int]:
    ends = getattr(model.generation_config, "eos_token_id", None)
    listed = ends if isinstance(ends, list) else [ends]
    return {int(end) for end in (*listed, tokenizer.eos_token_id) if end is not None}

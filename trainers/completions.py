"""``/v1/completions`` of vLLM with token ids in and out."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from operator import index

from metagym.chat.layers import Layer
from metagym.chat.openai import SEED_MASK, OpenAIChat
from metagym.chat.types import Reply, Request
from metagym.errors import ChatError, ServerUnavailable
from metagym.strictjson import strict_json
from metagym_trainers.sampling import Sample


@dataclass(frozen=True, slots=True)
class Sampled(Reply):
    """A reply that carries ids.

    Attributes:
        sample: What was sampled.
    """

    sample: Sample | None = None


class Completions(Layer):
    """A chat model of one request per call, so that the one owner of retries serves ids as well as texts.

    Args:
        inner: The client, whose connections are used.
        model: The server's name of the model.
    """

    def __init__(self, inner: OpenAIChat, model: str) -> None:
        super().__init__(inner)
        self._client, self._model = inner, model

    async def chat(self, request: Request) -> Sampled:
        """Samples once; the prompt's ids stand in the request's ``extra``.

        Raises:
            ChatError, ServerUnavailable: As `read_ids`, and as the client.
        """
        body = {
            "model": self._model,
            **request.extra,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": (request.seed or 0) & SEED_MASK,
            **UNRESTRICTED,
            "n": 1,
            "logprobs": 0,
            "return_token_ids": True,
        }
        answer = await self._client.post("/completions", json.dumps(body).encode())
        return Sampled("", sample=read_ids(answer, request.max_tokens, self.id), backend="server")


UNRESTRICTED = {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
"""What keeps vLLM from cutting the distribution that is trained; left out, the model's own defaults would apply."""


def read_ids(answer: bytes, max_tokens: int, where: str) -> Sample:
    """The sample in a server's answer.

    Args:
        answer: The body.
        max_tokens: What was asked for.
        where: The server, for messages.

    Raises:
        ChatError: The answer holds no ids or no log-probabilities, or not one for one.
        ServerUnavailable: The server gave up in the middle (vLLM says ``"abort"`` when weights are swapped in or it
            shuts down): half an answer is none, and is asked for again.
    """
    try:
        choice = strict_json(answer)["choices"][0]
        ids = [index(number) for number in choice["token_ids"]]
        logprobs = [math.nan if value is None else float(value) for value in choice["logprobs"]["token_logprobs"]]
        finish = choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ChatError(
            f"{where} gave no token ids or no log-probabilities: train against vLLM 0.22 or newer "
            "(return_token_ids), started with --logprobs-mode processed_logprobs"
        ) from None
    if finish not in ("stop", "length"):
        raise ServerUnavailable(f"{where} did not end its answer (finish_reason {finish!r})")
    if not ids or len(ids) != len(logprobs) or len(ids) > max_tokens:
        raise ChatError(f"{where} gave {len(ids)} ids and {len(logprobs)} log-probabilities for at most {max_tokens}")
    return Sample(tuple(ids), tuple(logprobs), finish == "length")

"""Who samples: the model inside a TRL trainer (`LocalPolicy`), or the same weights behind vLLM's HTTP (`HTTPPolicy`).

Token ids go in and token ids come out; text is made of them only for environments to read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from metagym.chat.openai import OpenAIChat
from metagym.chat.retry import Retrying
from metagym.chat.types import Message, Request
from metagym.checks import number, whole
from metagym.errors import BadInput, EngineError
from metagym.playing.runner import FATAL
from metagym_trainers.completions import Completions, Sampled
from metagym_trainers.sampling import Policy as Policy
from metagym_trainers.sampling import Sample as Sample

T = TypeVar("T")


class _Waiting(NamedTuple):
    seed: int
    number: int
    prompt_ids: tuple[int, ...]
    max_tokens: int
    future: asyncio.Future[Sample]

    def place(self) -> tuple[int, tuple[int, ...], int]:
        """By what a batch is ordered; who asked first decides only between equals."""
        return self.seed, self.prompt_ids, self.number


class LocalPolicy:
    """The model of a `GRPOTrainer`, in its own process: everybody who waits is served by one generation call.

    Use `run` inside a ``rollout_func``, and `gather` inside that for one coroutine per episode::

        def rollout_func(prompts, trainer):
            policy = LocalPolicy(trainer)
            episodes = policy.run(policy.gather(episode(policy, prompt) for prompt in prompts))

    A batch is generated when all coroutines of `gather` that are still running wait for the policy, so that what is
    generated together does not depend on time. Requests are ordered by their seeds, then by their ids, before they go
    in; the noise itself
    is the trainer's own generator's, which TRL saves in its checkpoints. Where something outside `gather` asks too, a
    batch goes as soon as the event loop has nothing else to do.

    Args:
        trainer: A `trl.GRPOTrainer`.
        patience: Seconds after which those who wait are served although others are still busy elsewhere (a search that
            hangs must not hang everybody); counted in `late`.

    Attributes:
        calls: Generation calls so far.
        late: Those among them that did not wait for everybody.

    Raises:
        BadInput: The trainer runs in several processes that generate together (vLLM's server mode, tensor parallel,
            ZeRO-3, FSDP): episodes of different lengths would make them wait for each other for ever; use `HTTPPolicy`.
    """

    def __init__(self, trainer: Any, *, patience: float = 60.0) -> None:
        _check_one_process(trainer)
        self._trainer = trainer
        self._ends = frozenset(int(end) for end in trainer.eos_token_ids)
        self._patience = number("patience", patience, 0.0, above=True)
        self._waiting: list[_Waiting] = []
        self._busy = 0
        self._number = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self.calls = 0
        self.late = 0

    @property
    def temperature(self) -> float:
        """The trainer's."""
        return float(self._trainer.args.temperature)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine to its end on an event loop of its own, in this thread unless it runs one (a notebook's)."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(coroutine)
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, coroutine).result()

    async def gather(
        self, episodes: Iterable[Coroutine[Any, Any, T]], *, concurrency: int | None = None
    ) -> list[T | Exception]:
        """Runs one coroutine per episode; what one of them raises is its own result and ends no other.

        Args:
            episodes: The coroutines.
            concurrency: How many run at once; None for all. (A gate inside them would count as somebody busy.)

        Returns:
            One result or exception per coroutine, in order. KeyboardInterrupt and cancellation end them all.

        Raises:
            Exception: What the trainer's own generation raised (out of memory, for one): no episode can go on then.
        """
        self._enter(asyncio.get_running_loop())
        jobs = list(episodes)
        gate = asyncio.Semaphore(whole("concurrency", len(jobs) if concurrency is None else concurrency, 0) or 1)
        waits = _EPISODE.get() is self  # an episode that gathers others waits for them, and is not busy itself

        async def one(episode: Coroutine[Any, Any, T]) -> T | Exception:
            _EPISODE.set(self)
            async with gate:
                self._busy += 1
                try:
                    return await episode
                except Exception as error:
                    return error
                finally:
                    self._busy -= 1

        self._busy -= waits
        try:
            found = list(await asyncio.gather(*map(one, jobs)))
        finally:
            self._busy += waits
        if self._failure is not None:
            raise self._failure
        return found

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        """Samples an answer together with everybody else who waits.

        Raises:
            BadInput: The prompt is empty, or `max_tokens` is below 1.
            EngineError: The trainer gave back something else than one answer per prompt.
        """
        prompt = tuple(prompt_ids)
        if not prompt:
            raise BadInput("the prompt holds no ids")
        limit = whole("max_tokens", max_tokens, 1)
        loop = asyncio.get_running_loop()
        self._enter(loop)
        future: asyncio.Future[Sample] = loop.create_future()
        self._waiting.append(_Waiting(seed, self._number, prompt, limit, future))
        self._number += 1
        if self._server is None or self._server.done():
            self._server = loop.create_task(self._serve(loop))
        return await future

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        """Each rollout has an event loop of its own; what another one left behind is forgotten."""
        if loop is not self._loop:
            self._loop, self._server, self._failure = loop, None, None
            self._waiting, self._busy = [], 0

    async def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        patience = loop.time() + self._patience
        quiet = 0
        while self._waiting:
            before = len(self._waiting)
            # A reply wakes its episode, which may take a few turns of the loop before it asks again.
            await asyncio.sleep(0 if quiet < _QUIET_TURNS else _NAP_SECONDS)
            quiet = quiet + 1 if len(self._waiting) == before else 0
            self._waiting = [waiting for waiting in self._waiting if not waiting.future.done()]  # given up meanwhile
            late = loop.time() > patience
            if quiet < _QUIET_TURNS or (len(self._waiting) < self._busy and not late):
                continue
            self.late += len(self._waiting) < self._busy
            batch, self._waiting = sorted(self._waiting, key=_Waiting.place), []
            self._answer(batch)
            patience, quiet = loop.time() + self._patience, 0

    def _answer(self, batch: list[_Waiting]) -> None:
        try:
            limit = max(waiting.max_tokens for waiting in batch)
            answers = generate_ids(self._trainer, [list(waiting.prompt_ids) for waiting in batch], limit)
        except Exception as error:  # it belongs to those who asked; the task that serves them would swallow it
            self._failure = error
            for waiting in batch:
                waiting.future.set_exception(error)
            return
        self.calls += 1
        for waiting, (ids, logprobs) in zip(batch, answers, strict=True):
            kept = tuple(ids[: waiting.max_tokens])
            known = None if logprobs is None else tuple(logprobs[: waiting.max_tokens])
            waiting.future.set_result(Sample(kept, known, kept[-1] not in self._ends))


_EPISODE: ContextVar[object] = ContextVar("episode", default=None)
_QUIET_TURNS = 8
"""Turns of the event loop without a new request after which nobody is on the way any more: wrappers of models (layers,
timeouts, gates) take one or two each."""
_NAP_SECONDS = 0.001
"""Between looks while some episodes are busy outside the event loop (threads, servers)."""


def generate_ids(trainer: Any, prompts: list[list[int]], max_tokens: int) -> list[tuple[list[int], list[float] | None]]:
    """One generation call of the trainer: the single use of a private method of TRL in this project.

    ``GRPOTrainer._generate_single_turn`` is the one call that works for transformers, continuous batching and vLLM
    alike. A contract test holds its signature; `metagym_trainers.versions` pins TRL's minor version.

    Args:
        trainer: A `trl.GRPOTrainer`.
        prompts: Ids of each prompt.
        max_tokens: Longest answer; the trainer's ``max_completion_length`` stays the upper bound.

    Returns:
        For each prompt its sampled ids and their log-probabilities (None without vLLM).

    Raises:
        EngineError: The number of answers is wrong, or one of them is empty.
    """
    config = trainer.generation_config if not trainer.use_vllm else None
    before = None
    if config is not None:  # transformers would go on to the longest role's limit for everybody
        before, config.max_new_tokens = config.max_new_tokens, min(max_tokens, trainer.max_completion_length)
    try:
        ids, logprobs = trainer._generate_single_turn(prompts, None, {}, 1)
    finally:
        if config is not None:
            config.max_new_tokens = before
    if len(ids) != len(prompts) or (logprobs is not None and len(logprobs) != len(prompts)):
        raise EngineError(f"the trainer generated {len(ids)} answers for {len(prompts)} prompts")
    if not all(ids):
        raise EngineError(
            f"the trainer generated an empty answer to prompt {[bool(answer) for answer in ids].index(False)}"
        )
    return list(zip(ids, logprobs if logprobs is not None else [None] * len(ids), strict=True))


def publish(trainer: Any) -> None:
    """Pushes the weights to vLLM: TRL does so before a generation alone, and the last update would be missing.

    Every process must call it: sharded weights are gathered.
    """
    if trainer.use_vllm:
        trainer.vllm_generation.sync_weights()


def _check_one_process(trainer: Any) -> None:
    if trainer.accelerator.num_processes == 1:
        return
    args = trainer.args
    kind = str(getattr(trainer.accelerator.distributed_type, "value", trainer.accelerator.distributed_type))
    together = kind in ("FSDP", "DEEPSPEED", "MEGATRON_LM")
    if trainer.use_vllm:
        together = together or args.vllm_mode == "server" or args.vllm_tensor_parallel_size > 1
    if together:
        raise BadInput(
            f"the trainer's {trainer.accelerator.num_processes} processes generate together ({kind}), and episodes of "
            "different lengths would make them wait for each other for ever: sample with HTTPPolicy from the vLLM "
            "server that TRL keeps in step"
        )


def results(found: Iterable[T | Exception]) -> list[T | None]:
    """The results of `LocalPolicy.gather`, with None where an episode failed.

    Raises:
        BudgetExceeded, CacheMiss, StoreError, BadInput: What concerns the run as a whole is raised again.
    """
    out: list[T | None] = []
    for result in found:
        if isinstance(result, (*FATAL, BadInput)):
            raise result
        out.append(None if isinstance(result, Exception) else result)
    return out


class HTTPPolicy:
    """A policy behind an OpenAI-compatible server that takes and gives token ids: vLLM, kept in step by TRL.

    Every request says everything: temperature, no nucleus, no top-k, no minimum, its own seed, one sample. A server
    that leaves the ids out is refused, since text would have to be encoded again.

    Args:
        url: Address up to and with ``/v1``.
        model: The server's name of the model.
        temperature: The trainer's; above 0.
        retries: Further tries after a refusal that may pass (429, 5xx, no connection).
        timeout: Seconds for one try.
        deadline: Seconds for all tries of one sample.
        connections: Most connections at once.
        key_env: Environment variable that holds the key, where the server wants one.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        temperature: float = 1.0,
        retries: int = 5,
        timeout: float = 120.0,
        deadline: float = 600.0,
        connections: int = 64,
        key_env: str | None = None,
    ) -> None:
        self._temperature = number("temperature", temperature, 0.0, above=True)
        self._client = OpenAIChat(model, base_url=url, connections=connections, key_env=key_env, choices="off")
        self._asked = Retrying(Completions(self._client, model), retries=retries, timeout=timeout, deadline=deadline)

    @property
    def temperature(self) -> float:
        """As it is sent with every request."""
        return self._temperature

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        """Samples an answer.

        Raises:
            ServerUnavailable, RateLimited: The server did not answer within the tries and the deadline.
            ContextOverflow: Prompt and answer do not fit its window.
            ChatError: Any other refusal, or an answer without ids or log-probabilities.
        """
        if not prompt_ids:
            raise BadInput("the prompt holds no ids")
        fields = {"prompt": list(map(int, prompt_ids))}
        request = Request(
            (Message("user", ""),),
            temperature=self._temperature,
            max_tokens=whole("max_tokens", max_tokens, 1),
            seed=seed,
            extra=fields,
        )
        reply = await self._asked.chat(request)
        assert isinstance(reply, Sampled) and reply.sample is not None
        return reply.sample

    async def aclose(self) -> None:
        """Closes the connections of the running event loop."""
        await self._client.aclose()

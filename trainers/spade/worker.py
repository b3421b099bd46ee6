"""The core as rollout worker of TRL's `AsyncGRPOTrainer`: no block layout and no fillers, generation beside training.

It implements `trl.experimental.async_grpo.RolloutWorkerProtocol` (TRL 1.16). The policy is sampled over HTTP from the
vLLM server that the trainer keeps in step; advantages, groups, roles and masks are made here, and the trainer applies
its clipped loss to what it takes from the queue.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from metagym.checks import number, whole
from metagym.errors import BadInput, HostError
from metagym_trainers.checkpoints import JsonPart
from metagym_trainers.convert import rollout_samples
from metagym_trainers.policies import Policy, Sample
from metagym_trainers.spade.core import Generation, SpadeCore
from metagym_trainers.spade.players import at_once
from metagym_trainers.spade.rows import EDITED
from metagym_trainers.tracking import Tracker

_NAP_SECONDS = 0.05


class SpadeWorker:
    """Makes generations in a thread of its own and puts their rows into a queue.

    Args:
        core: Makes the generations; nobody else may use it meanwhile.
        policy: Who samples; it tells log-probabilities.
        decode: From ids to text, for TRL's traces; None leaves them empty.
        tracker: Counts rows and keeps some of them; None for none.
        ahead: Rows in the queue from which on no further generation is begun; >= 1.
        max_staleness: Versions of the policy after which rows are not worth training on; the trainer's
            ``max_staleness``. Such rows are counted and not handed over. None leaves it to the trainer.
        watch: Given every generation.

    Attributes:
        rollout_buffer: What the trainer takes rows from.
        metrics_queue: What the trainer takes numbers from.
        generations: How many were made since the start.

    Raises:
        BadInput: The policy is sampled at another temperature than the seats ask for.
    """

    def __init__(
        self,
        core: SpadeCore,
        policy: Policy,
        *,
        decode: Callable[[Sequence[int]], str] | None = None,
        tracker: Tracker | None = None,
        ahead: int = 512,
        max_staleness: int | None = 4,
        watch: Callable[[Generation], None] = lambda generation: None,
    ) -> None:
        self.rollout_buffer: queue.Queue[Any] = queue.Queue()
        self.metrics_queue: queue.Queue[dict[str, float]] = queue.Queue()
        self.generations = 0
        self._core, self._decode, self._tracker, self._watch = core, decode, tracker, watch
        self._ahead = whole("ahead", ahead, 1)
        self._max_staleness = None if max_staleness is None else whole("max_staleness", max_staleness, 0)
        self._version = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beat = time.monotonic()
        self._state = core.state()
        core.bind(_Beating(policy, self._alive), at_once)

    # --- what the trainer calls

    def start(self) -> None:
        """Begins to make generations.

        Raises:
            BadInput: It runs already.
        """
        if self._thread is not None and self._thread.is_alive():
            raise BadInput("the rollout worker runs already: stop it before it is started again")
        self._stopping.clear()
        self._failure = None
        self._alive()
        self._thread = threading.Thread(target=self._run, name="spade-rollouts", daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 60.0) -> None:
        """Ends the generation under way and waits for its programs' workers to be gone; a second call does nothing.

        Args:
            timeout: Seconds to wait.

        Raises:
            HostError: It did not end in time.
        """
        self._stopping.set()
        thread, loop = self._thread, self._loop
        if thread is None:
            return
        if loop is not None and thread.is_alive():
            loop.call_soon_threadsafe(_cancel_all, loop)
        thread.join(timeout)
        if thread.is_alive():
            raise HostError(f"the rollout worker did not end within {timeout:g} s: a call in it hangs")
        self._thread = None

    def update_model_version(self, model_version: int) -> None:
        """Takes in which version of the policy the server has now."""
        self._version = int(model_version)

    def check_health(self, stale_after_s: float) -> None:
        """Raises where no more rows will come.

        Args:
            stale_after_s: Seconds without a sampled answer or a finished generation that count as a standstill.

        Raises:
            HostError: The thread died (with its cause), was never started, or stands still.
        """
        if self._failure is not None:
            cause = self._failure
            raise HostError(f"the rollout worker died: {type(cause).__name__}: {cause!s:.300}") from cause
        if self._thread is None or not self._thread.is_alive():
            raise HostError("the rollout worker does not run: start() it, or look at why it was stopped")
        quiet = time.monotonic() - self._beat
        if quiet > number("stale_after_s", stale_after_s, 0.0):
            raise HostError(
                f"the rollout worker stands still: no answer of the policy for {quiet:.0f} s (allowed: "
                f"{stale_after_s:g} s); look at the vLLM server"
            )

    def part(self) -> JsonPart:
        """The core's state after its last whole generation, for `metagym_trainers.checkpoints.StateCallback`."""
        return JsonPart(lambda: self._state, self._restore)

    # --- inside

    def _restore(self, state: Any) -> None:
        self._core.restore(state)
        self._state = self._core.state()

    def _alive(self) -> None:
        self._beat = time.monotonic()

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                self._failure = HostError("its event loop was cancelled")
        except BaseException as error:  # the trainer learns of it by check_health
            self._failure = error

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            if self.rollout_buffer.qsize() >= self._ahead:
                self._alive()  # the trainer is slower: that is no standstill
                await asyncio.sleep(_NAP_SECONDS)
                continue
            version = self._version  # rows of a generation that sees an update are as old as its beginning
            generation = await self._core.generate()
            self._state = self._core.state()
            self.generations += 1
            self._alive()
            self._hand_over(generation, version)

    def _hand_over(self, generation: Generation, version: int) -> None:
        rows = generation.episodes
        numbers = dict(generation.metrics)
        if self._tracker is not None:
            self._tracker.observe(rows, generation.number, more=numbers)
            numbers = dict(self._tracker.pending)
        old = self._version - version
        edits = [EDITED in row.metrics and row.logprobs is None for row in rows]  # how likely, nobody knows
        advantages = [None if edit else value for edit, value in zip(edits, generation.advantages, strict=True)]
        samples = rollout_samples(rows, advantages, version, decode=self._decode)
        stale = self._max_staleness is not None and old > self._max_staleness
        numbers |= {"spade/staleness": float(old), "spade/stale_rows": float(len(samples) if stale else 0)}
        numbers["spade/edits_left_out"] = float(sum(edits))
        self._watch(generation)
        if not stale:
            for sample in samples:
                self.rollout_buffer.put(replace(sample, enqueued_at=time.time()))
        self.metrics_queue.put(numbers)


class _Beating:
    """A policy that tells when it answered."""

    def __init__(self, policy: Policy, beat: Callable[[], None]) -> None:
        self._policy, self._beat = policy, beat

    @property
    def temperature(self) -> float:
        """The policy's."""
        return self._policy.temperature

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        """See `metagym_trainers.policies.Policy`."""
        found = await self._policy.sample(prompt_ids, max_tokens=max_tokens, seed=seed)
        self._beat()
        return found


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()

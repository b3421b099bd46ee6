"""What a policy in training is asked and what it answers: token ids in, token ids out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol


class Sample(NamedTuple):
    """What a policy sampled.

    Attributes:
        ids: The sampled ids, the one that ends an answer included where it was sampled; at least one.
        logprobs: Log-probability of each id, or None where the policy does not tell.
        cut: It ended at the token limit.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None
    cut: bool


class Policy(Protocol):
    """A policy in training. `sample` may be awaited many times at once on one event loop."""

    @property
    def temperature(self) -> float:
        """The one temperature that it samples at; above 0."""
        ...

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        """Samples an answer.

        Args:
            prompt_ids: Everything before it, as ids.
            max_tokens: Longest answer; at least 1.
            seed: Of this sample; a `LocalPolicy` only orders its batch by it.
        """
        ...


@contextmanager
def own_noise(seed: int) -> Iterator[None]:
    """Torch's noise of something beside the training: the training's own generators are afterwards as they were.

    A resumed run leaves out what is known already, and must draw what an uninterrupted one draws after it.

    Args:
        seed: Of the noise.
    """
    import torch

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield

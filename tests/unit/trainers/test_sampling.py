"""Noise of something beside a training."""

from __future__ import annotations

import pytest

from metagym_trainers.sampling import own_noise


def test_noise_of_its_own_moves_no_others_and_is_the_seeds() -> None:
    torch = pytest.importorskip("torch")

    def drawn(*seeds: int) -> tuple[list[float], list[float]]:
        torch.manual_seed(0)
        beside = []
        for seed in seeds:
            with own_noise(seed):
                beside.append(float(torch.rand(())))
        return beside, torch.rand(3).tolist()

    (first, again, other), after = drawn(1, 1, 2)
    assert first == again != other
    assert after == drawn()[1]

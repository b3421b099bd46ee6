"""One torch thread for everything here, and a trainer of TRL on a tiny model for whoever asks for one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func warns of being experimental; TRL is pinned for it
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

HERE = Path(__file__).parent
THIRD_PARTY = ("torch", "transformers", "trl", "accelerate", "datasets", "peft", "huggingface_hub", "multiprocess")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What other libraries warn of while they train is no error of ours; ours stay errors."""
    for item in items:
        if HERE in item.path.parents:
            for name in THIRD_PARTY:
                for kind in ("UserWarning", "FutureWarning", "RuntimeWarning"):
                    item.add_marker(pytest.mark.filterwarnings(rf"ignore::{kind}:{name}\."))
            # `pytest.warns` gives on what it did not wait for, and then no module tells whose it was.
            item.add_marker(pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated"))


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """OpenMP's spin barriers make several threads slower than one on models of this size."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

"""Two real processes, gloo between them: what one of them could not measure ends no run in which the other could."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metagym.errors import TooManyFailures
from metagym_trainers import ranks
from metagym_trainers.advantages import check_scored
from metagym_trainers.checkpoints import StateCallback, read_manifest
from metagym_trainers.ict import ReplayReward, Replays
from metagym_trainers.ict.judged import JudgedTogether
from metagym_trainers.ict.rewards import Measured
from metagym_trainers.tracking import RolloutReward


def together(work: Callable[[int], Any], folder: Path, world: int = 2) -> list[str]:
    """What `work(rank)` gave, or the error it raised, in forked processes that know each other."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children = []
    for rank in range(world):
        if child := os.fork():
            children.append(child)
            continue
        try:
            names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1"}
            os.environ.update({name: str(value) for name, value in names.items()}, MASTER_PORT=str(port))
            from accelerate import PartialState

            PartialState._reset_state()
            PartialState(cpu=True, backend="gloo")
            try:
                said = repr(work(rank))
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            (folder / f"rank-{rank}").write_text(said)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    return [(folder / f"rank-{rank}").read_text() for rank in range(world)]


def test_alone_nothing_is_sent() -> None:
    assert not ranks.several() and ranks.everywhere("x") == "x" and ranks.total(1, 2) == (1, 2)


def test_the_main_process_has_the_word_and_numbers_are_summed(tmp_path: Path) -> None:
    found = together(lambda rank: (ranks.several(), ranks.everywhere([f"of {rank}"]), ranks.total(rank, 10)), tmp_path)
    assert found == ["(True, ['of 0'], (1, 20))"] * 2


@pytest.mark.parametrize(("parts", "ends"), [(([None] * 2, [None, 1.0]), False), (([None] * 2, [None] * 2), True)])
def test_a_part_without_a_score_ends_no_run_in_which_others_have_some(
    parts: tuple[list[float | None], ...], ends: bool, tmp_path: Path
) -> None:
    def work(rank: int) -> Any:
        return RolloutReward()(completions=[""] * 2, reward=parts[rank])

    found = together(work, tmp_path)
    if ends:
        assert all(said.startswith("TooManyFailures: none of the 4 rows") for said in found)
    else:
        assert found == [repr(part) for part in parts]


def test_one_process_judges_its_own_rows() -> None:
    with pytest.raises(TooManyFailures, match="none of the 2 rows"):
        check_scored([None, None], together=True)


@pytest.mark.parametrize(("scored", "ends"), [((0, 3), False), ((0, 0), True)])
def test_replays_are_judged_over_all_processes_before_the_update(
    scored: tuple[int, ...], ends: bool, tmp_path: Path
) -> None:
    def work(rank: int) -> str:
        reward = ReplayReward(Replays())
        judge = JudgedTogether(reward)
        judge.on_train_begin(None, None, None)
        assert reward.together
        judge.on_pre_optimizer_step(None, None, None)  # an update without a new batch asks nobody
        reward.measured = Measured(scored[rank], 4, "the server went away")
        judge.on_pre_optimizer_step(None, None, None)
        assert reward.measured is None
        return "went on"

    found = together(work, tmp_path)
    if ends:
        assert all("none of the 8 replays of this batch could be scored (the server went" in said for said in found)
    else:
        assert found == ["'went on'"] * 2


def test_a_checkpoint_is_whole_once_every_process_has_written_its_own_files(tmp_path: Path) -> None:
    out = tmp_path / "checkpoint-2"
    out.mkdir()

    def work(rank: int) -> Any:
        if rank:  # the other one is slow, on a busy machine or a slow disk
            time.sleep(0.5)
        (out / f"rng_state_{rank}.pth").write_text("noise")  # as transformers does, without waiting for anybody
        args = SimpleNamespace(output_dir=str(tmp_path), should_save=rank == 0)
        StateCallback({}).on_save(args, SimpleNamespace(global_step=2), None)
        return read_manifest(out)["beside"] if rank == 0 else None

    assert together(work, tmp_path) == ["['rng_state_0.pth', 'rng_state_1.pth']", "None"]


def test_alone_the_reward_judges_itself() -> None:
    reward = ReplayReward(Replays())
    judge = JudgedTogether(reward)
    judge.on_train_begin(None, None, None)
    assert not reward.together
    reward.measured = Measured(0, 4, "down")
    judge.on_pre_optimizer_step(None, None, None)  # the reward had its say

"""The core as rollout worker of AsyncGRPO, against a consumer that does what TRL's queue dataset does."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import fields
from typing import Any

import pytest

from metagym.errors import BadInput, HostError
from metagym_trainers.convert import sample_class
from metagym_trainers.spade import SpadeWorker
from metagym_trainers.tiny import locks
from metagym_trainers.tracking import Tracker
from tests.unit.trainers.spade.locksmith import Locksmith, core, mixed, pins, tokenizer, training

PATIENCE = 60.0
SETTINGS = {"slots": 1, "hinted_slots": 0}


def worker(policy: Any = None, **options: Any) -> SpadeWorker:
    given = {"ahead": 1, "decode": tokenizer().decode, **options}
    return SpadeWorker(core(training(**SETTINGS)), policy or Locksmith(mixed), **given)


class Consumer:
    """Takes rows as TRL's `RolloutQueueDataset` does: blocking get, health when nothing came, stale rows dropped."""

    def __init__(self, made: SpadeWorker, max_staleness: int = 3) -> None:
        self.made, self.version, self.max_staleness, self.dropped = made, 0, max_staleness, 0

    def take(self, count: int) -> list[Any]:
        rows: list[Any] = []
        end = time.monotonic() + PATIENCE
        while len(rows) < count:
            assert time.monotonic() < end, "no rows came"
            try:
                row = self.made.rollout_buffer.get(timeout=0.05)
            except queue.Empty:
                self.made.check_health(PATIENCE)
                continue
            if self.version - row.model_version > self.max_staleness:
                self.dropped += 1
                continue
            rows.append(row)
        return rows


def test_rows_are_what_trl_takes_with_masks_advantages_and_versions() -> None:
    made = worker()
    made.update_model_version(5)
    made.start()
    try:
        rows = Consumer(made).take(12)  # all of a generation: the other programs found no slot
    finally:
        made.stop()
    assert {field.name for field in fields(sample_class())} >= {"enqueued_at", "group_id", "old_log_probs"}
    for row in rows:
        assert isinstance(row, sample_class())
        assert len(row.input_ids) == len(row.completion_mask) == len(row.old_log_probs)
        first = int(row.completion_mask.argmax())
        assert row.completion_mask[first:].all() and not row.completion_mask[:first].any()
        assert (row.old_log_probs[:first] == 0).all() and (row.old_log_probs[first:] < 0).all()
        assert tokenizer().decode(row.input_ids[first:]) == row.completion[0]["content"]
        assert row.model_version == 5
        assert row.enqueued_at is not None
        assert row.metrics["reward"] == row.metrics.get("designer/reward", row.metrics.get("agent/reward"))
    sums: dict[int, float] = {}
    for row in rows:
        sums[row.group_id] = sums.get(row.group_id, 0.0) + row.advantage
    assert all(abs(value) < 1e-5 for value in sums.values())
    assert len(sums) == 2, "a group of designs and one of plays"


def test_edits_whose_log_probabilities_nobody_knows_are_left_out_and_counted() -> None:
    settings = training(**SETTINGS, edits=2)
    made = SpadeWorker(core(settings, editor=locks.edit_lock), Locksmith(pins(2)), ahead=1)
    made.start()
    try:
        rows = Consumer(made).take(14)  # 6 sampled designs, 8 plays
        found = made.metrics_queue.get(timeout=PATIENCE)
        assert made.rollout_buffer.empty()
    finally:
        made.stop()
    assert found["spade/edits_left_out"] == 2.0
    assert all((row.old_log_probs[row.completion_mask.astype(bool)] < 0).all() for row in rows)


def test_no_filler_reaches_the_queue() -> None:
    made = worker(Locksmith(lambda family, number: "ruby"))
    made.start()
    try:
        rows = Consumer(made).take(8)
    finally:
        made.stop()
    assert all(row.completion_mask.any() for row in rows)
    assert {len({row.group_id}) for row in rows} == {1}


def test_numbers_of_a_generation_go_to_the_metrics_queue() -> None:
    made = worker(tracker=Tracker())
    made.start()
    try:
        Consumer(made).take(1)
        found = made.metrics_queue.get(timeout=PATIENCE)
    finally:
        made.stop()
    assert found["spade/staleness"] == 0.0
    assert {"designer/reward", "agent/reward", "groups/dead", "rejected/no_code"} <= set(found)
    assert all(isinstance(value, float) for value in found.values())


def test_nothing_is_generated_far_ahead_of_the_trainer() -> None:
    made = worker(ahead=1)
    made.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not made.generations and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        assert made.generations == 1
        made.check_health(PATIENCE)
        Consumer(made).take(made.rollout_buffer.qsize())
        while made.generations < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert made.generations >= 2
    finally:
        made.stop()


def test_rows_that_are_too_old_are_counted_and_not_handed_over() -> None:
    made: list[SpadeWorker] = []

    class Updating(Locksmith):
        """The trainer updates while the first generation is under way."""

        async def sample(self, *args: Any, **options: Any) -> Any:
            if len(self.asked) == 10:
                made[0].update_model_version(7)
            return await super().sample(*args, **options)

    made.append(worker(Updating(mixed), max_staleness=4))
    made[0].start()
    try:
        rows = Consumer(made[0]).take(4)
        first = made[0].metrics_queue.get(timeout=PATIENCE)
    finally:
        made[0].stop()
    assert first["spade/stale_rows"] > 0
    assert first["spade/staleness"] == 7.0
    assert {row.model_version for row in rows} == {7}


def test_it_stops_in_order_leaves_no_thread_and_starts_again() -> None:
    before = threading.active_count()
    made = worker(Locksmith(mixed, wait=0.01))
    made.stop()  # nothing to stop
    made.start()
    with pytest.raises(BadInput, match="runs already"):
        made.start()
    made.stop()
    made.stop()
    with pytest.raises(HostError, match="does not run"):
        made.check_health(PATIENCE)
    assert threading.active_count() <= before + 4, "no thread of ours stays; the validation's pool of threads may"
    assert not [thread for thread in threading.enumerate() if thread.name == "spade-rollouts"]
    made.start()
    try:
        assert Consumer(made).take(1)
    finally:
        made.stop()


def test_a_dead_thread_is_told_with_its_cause() -> None:
    made = worker(Locksmith(pins(1), fails=lambda number: True))
    made.start()
    with pytest.raises(HostError, match=r"died: TooManyFailures: the policy failed in 8 of 8 designs.*down"):
        Consumer(made).take(1)
    made.stop()


def test_a_standstill_is_told() -> None:
    made = worker(Locksmith(mixed, wait=30.0))
    made.start()
    try:
        made.check_health(PATIENCE)
        time.sleep(0.05)
        with pytest.raises(HostError, match="stands still"):
            made.check_health(0.01)
    finally:
        made.stop()
    with pytest.raises(HostError, match="does not run"):
        worker().check_health(PATIENCE)


def test_its_state_is_that_of_the_last_whole_generation() -> None:
    made = worker()
    made.start()
    try:
        Consumer(made).take(1)
    finally:
        made.stop()
    state = made.part()._read()
    assert state["number"] == made.generations >= 1
    other = worker()
    other.part()._write(state)
    assert other.part()._read() == state
    assert locks.pins_in(state["batch"][1]["attempts"][0]["given"]) == 1


def test_it_has_what_trls_protocol_asks_for() -> None:
    import inspect

    from trl.experimental.async_grpo.async_grpo_trainer import RolloutWorkerProtocol

    made = worker()
    for name in ("start", "stop", "update_model_version", "check_health"):
        wanted = list(inspect.signature(getattr(RolloutWorkerProtocol, name)).parameters)[1:]
        assert list(inspect.signature(getattr(made, name)).parameters)[: len(wanted)] == wanted
    assert set(RolloutWorkerProtocol.__annotations__) == {"rollout_buffer", "metrics_queue"}
    assert isinstance(made.rollout_buffer, queue.Queue) and isinstance(made.metrics_queue, queue.Queue)

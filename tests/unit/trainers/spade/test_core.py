"""A generation: rows of both roles by identity, rewards of the presets, memory, state; whatever the trainer."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from metagym.errors import BadInput, StoreCorrupt, TooManyFailures
from metagym.spade.hosts import staged
from metagym.spade.program import EnvProgram
from metagym.spade.validation import ValidationSettings
from metagym_trainers.convert import rollout_columns
from metagym_trainers.spade import Generation, SpadeCore, SpadeTraining
from metagym_trainers.spade.records import Records, line_of
from metagym_trainers.spade.rows import PLAIN, play_rows, weighable
from metagym_trainers.tiny import locks, twins
from tests.unit.trainers.spade.locksmith import Locksmith, bound, core, mixed, pins, tokenizer, training


def one(made: SpadeCore, count: int = 1) -> Generation:
    async def work() -> Generation:
        for _ in range(count):
            found = await made.generate()
        return found

    return asyncio.run(work())


def rows_of(found: Generation, role: str) -> list[Any]:
    return [row for row in found.episodes if row.role == role]


def test_a_block_is_designs_then_plays_then_hinted_plays_in_whole_groups() -> None:
    found = one(bound(Locksmith(mixed)))
    [block] = found.blocks
    assert [row.role for row in block.rows] == ["designer"] * 8 + ["agent"] * 24 + ["hinted"] * 8
    groups = [{row.group for row in block.rows[first : first + 8]} for first in range(0, 40, 8)]
    assert all(len(group) == 1 for group in groups)
    assert len(set().union(*groups)) == 5


def test_groups_are_of_programs_and_never_of_texts() -> None:
    found = one(bound(Locksmith(mixed)))
    digests = {slot.played.digest for slot in found.slots if slot.played is not None}
    assert {row.group[2] for row in rows_of(found, "agent")} == digests
    assert {row.group for row in rows_of(found, "designer")} == {("designer", 0, 0)}
    prompts = Counter(row.prompt_ids for row in rows_of(found, "agent"))
    assert len(prompts) > len(digests), "a group holds several seeds, whose prompts differ"


def test_each_role_has_advantages_of_its_own_around_zero() -> None:
    found = one(bound(Locksmith(mixed)))
    values: dict[tuple[str, Any], list[float]] = {}
    for row, value in zip(found.episodes, found.advantages, strict=True):
        assert (value is None) == (row.reward is None)
        if value is not None:
            values.setdefault((row.role, row.group), []).append(value)
    assert all(abs(sum(group)) < 1e-9 for group in values.values())
    assert {role for (role, _), group in values.items() if any(group)} == {"designer", "agent"}


def test_the_sampled_ids_are_those_that_are_trained() -> None:
    policy = Locksmith(mixed)
    found = one(bound(policy))
    for row in found.episodes:
        if row.reward is not None:
            assert row.prompt_ids in policy.asked
            assert sum(row.mask) == len([value for value in row.logprobs if value != 0.0])


def test_the_designer_is_paid_the_regret_and_invalid_programs_cost_what_the_preset_says() -> None:
    found = one(bound(Locksmith(mixed, skill=0.25)))
    paid = {slot.design.first.code or locks.pins_in(slot.design.first.source): slot for slot in found.slots}
    assert paid["no_code"].paid.breakdown.trained == -0.5
    for count in (1, 3):
        slot = paid[count]
        assert slot.played.estimate.hinted.win_rate == 1.0
        assert slot.paid.breakdown.trained == pytest.approx(1.0 - slot.played.estimate.plain.win_rate)
    assert paid[7].paid.breakdown.trained == 0.0, "seven pins are beyond everybody, hint or no hint"
    valid = {row.metrics["valid"] for row in rows_of(found, "designer")}
    assert valid == {0.0, 1.0}


@pytest.mark.parametrize(("pay", "easy", "hard"), [("absolute", 1.0, 0.0), ("minimax", -1.0, 0.0)])
def test_the_two_controls_pay_success_and_failure(pay: str, easy: float, hard: float) -> None:
    found = one(bound(Locksmith(mixed, skill=1.0), training(pay)))
    paid = {locks.pins_in(slot.design.first.source): slot.paid.breakdown.trained for slot in found.slots}
    assert (paid[1], paid[7], paid[None]) == (easy, hard, -1.0)


def test_rejections_are_counted_by_code() -> None:
    found = one(bound(Locksmith(mixed)))
    refused = sum(not slot.design.ok for slot in found.slots)
    assert found.metrics["rejected/no_code"] == refused > 0
    assert found.metrics["spade/valid"] == 1 - refused / 8
    assert line_of(found)["rejected"] == {"no_code": refused}


def test_copies_of_a_program_share_its_plays_and_spare_slots_go_to_further_seeds() -> None:
    policy = Locksmith(pins(2))
    found = one(bound(policy))
    assert found.metrics["spade/programs"] == 1.0
    assert len({id(slot.played) for slot in found.slots}) == 1
    assert len(found.slots[0].played.outcomes) == 2 * 24
    assert len({outcome.seed for outcome in found.slots[0].played.outcomes}) == 6
    assert all(row.reward is not None for row in rows_of(found, "agent"))


def test_valid_programs_beyond_the_slots_are_unscored_and_not_worth_nothing() -> None:
    found = one(bound(Locksmith(lambda family, number: locks.line_of(number % 7 + 1)), training(slots=1)))
    left = [slot for slot in found.slots if slot.design.ok and slot.played is None]
    assert found.metrics["spade/unplayed"] == len(left) > 0
    assert all(slot.paid is None for slot in left)
    rewards = [row.reward for row in rows_of(found, "designer")]
    assert rewards.count(None) == len(left)
    assert all(not any(row.mask) for row in rows_of(found, "designer") if row.reward is None)


def test_slots_without_a_program_hold_fillers_that_teach_nothing() -> None:
    found = one(bound(Locksmith(lambda family, number: "ruby")))
    assert found.metrics["spade/programs"] == 0.0
    for row, value in zip(found.episodes, found.advantages, strict=True):
        if row.role != "designer":
            assert (row.reward, value, sum(row.mask)) == (None, None, 0)


def test_an_infrastructure_failure_is_unscored_and_a_lost_lock_is_a_number() -> None:
    made = bound(Locksmith(pins(3), skill=0.0, fails=lambda number: number == 9))  # the first play, without a hint
    found = one(made)
    rewards = [row.reward for row in rows_of(found, "agent")]
    assert rewards.count(None) == found.metrics["spade/failed_plays"] == 1.0
    assert 0.0 <= min(reward for reward in rewards if reward is not None) < 1.0


def test_a_play_that_failed_after_some_words_is_silenced_and_its_words_are_not_trained() -> None:
    made = bound(Locksmith(pins(2)))
    [played] = {id(slot.played): slot.played for slot in one(made).slots if slot.played is not None}.values()
    first, *others = played.outcomes
    lost = replace(first, ret=None, success=None, failure="agent_error")
    groups = [
        play_rows(replace(played, outcomes=(outcome, *others)), made._booth.plays, PLAIN, 0, made.training, 0)
        for outcome in (first, lost)
    ]
    whole, silent = ([row for group in found for row in group] for found in groups)
    [place] = [at for at, (row, other) in enumerate(zip(whole, silent, strict=True)) if row != other]
    assert whole[place].reward is not None and any(whole[place].mask)
    assert silent[place].reward is None and not any(silent[place].mask)
    assert silent[place].completion_ids == whole[place].completion_ids


def test_a_policy_that_fails_in_most_designs_ends_the_run_and_nothing_is_remembered() -> None:
    made = bound(Locksmith(mixed, fails=lambda number: number <= 6))
    with pytest.raises(TooManyFailures, match="6 of 8 designs"):
        one(made)
    assert (made.number, len(made.memory)) == (0, 0)


def test_a_policy_that_fails_in_most_plays_ends_the_run() -> None:
    with pytest.raises(TooManyFailures, match="look at the model's server"):
        one(bound(Locksmith(pins(2), fails=lambda number: number > 8)))


def test_success_and_return_are_two_credits() -> None:
    returns = {row.reward for row in rows_of(one(bound(Locksmith(pins(3), skill=0.0))), "agent")}
    wins = {
        row.reward for row in rows_of(one(bound(Locksmith(pins(3), skill=0.0), training(credit="success"))), "agent")
    }
    assert wins == {0.0}
    assert returns <= {0.0, 0.125, 0.25, 0.375} and len(returns) > 1


def test_groups_of_one_seed_or_of_many() -> None:
    def seeds(found: Generation) -> set[int]:
        rows = rows_of(found, "agent")
        return {len({row.prompt_ids for row in rows[first : first + 8]}) for first in range(0, len(rows), 8)}

    whole = SpadeTraining(replace(locks.lock_config(), repeats=8), generations=8, slots=3, hinted_slots=1, mix=False)
    assert max(seeds(one(bound(Locksmith(pins(4)), whole)))) == 1
    assert max(seeds(one(bound(Locksmith(pins(4)))))) > 2


def test_the_sandbox_plays_what_the_twin_plays() -> None:
    settings = training(slots=1)
    sides = [one(bound(Locksmith(pins(2)), settings, stage=stage)) for stage in (staged, twins.twin_stage)]
    assert sides[0].episodes == sides[1].episodes
    assert sides[0].advantages == sides[1].advantages
    assert [slot.played.outcomes for slot in sides[0].slots] == [slot.played.outcomes for slot in sides[1].slots]


def test_equal_seeds_give_equal_generations_and_another_seed_does_not() -> None:
    sides = [one(bound(Locksmith(mixed)), 2) for _ in range(2)]
    assert sides[0].episodes == sides[1].episodes
    assert [line_of(side) for side in sides][0] == line_of(sides[1])
    other = one(bound(Locksmith(mixed), SpadeTraining(locks.lock_config(seed=1), 8, 3, 1)), 2)
    assert other.episodes != sides[0].episodes


def test_the_memory_takes_each_program_once_a_generation_and_repeating_it_changes_nothing() -> None:
    made = bound(Locksmith(pins(2)))
    one(made)
    digest, state = made.memory.snapshot().digest, made.state()
    assert len(made.memory) == 1
    made.number = 0  # a crash between generation and save repeats it
    made._batch, made._batches, made._baseline = [], [], None
    one(made)
    assert made.memory.snapshot().digest == digest
    assert made.state()["memory"] == state["memory"]


def test_the_state_is_plain_json_and_goes_on_as_if_nothing_had_happened() -> None:
    through = bound(Locksmith(mixed))
    one(through, 2)
    state = json.loads(json.dumps(through.state()))
    fresh = bound(Locksmith(mixed))
    fresh.restore(state)
    assert one(fresh).episodes == one(through).episodes
    assert fresh.state() == through.state()


def test_a_damaged_state_is_refused_and_names_itself() -> None:
    made = core()
    for state in ({}, {"memory": [], "number": "x", "baseline": None, "batch": []}, {**made.state(), "batch": [1]}):
        with pytest.raises(StoreCorrupt, match="state of SPADE's core"):
            made.restore(state)


def test_between_regenerations_the_same_programs_are_played_without_hints_and_nobody_designs() -> None:
    settings = SpadeTraining(replace(locks.lock_config(), interval=2), 8, 3, 1)
    policy = Locksmith(mixed)
    made = bound(policy, settings)
    first = one(made)
    asked = len(policy.asked)
    second = one(made)
    assert len(policy.asked) - asked == 24, "unhinted plays alone"
    assert {row.group[2] for row in rows_of(first, "agent")} == {row.group[2] for row in rows_of(second, "agent")}
    assert all(row.reward is None for row in rows_of(second, "designer") + rows_of(second, "hinted"))
    third = one(made)
    assert any(row.reward is not None for row in rows_of(third, "designer"))


def test_a_regeneration_without_a_program_is_made_again_at_once() -> None:
    settings = SpadeTraining(replace(locks.lock_config(), interval=4), 8, 3, 1)
    made = bound(Locksmith(lambda family, number: "ruby" if number < 8 else locks.line_of(2)), settings)
    assert one(made).metrics["spade/valid"] == 0.0
    second = one(made)
    assert second.metrics["spade/valid"] == 1.0
    assert all(row.reward is not None for row in rows_of(second, "designer"))


def test_edits_are_written_by_the_editor_and_only_good_ones_teach() -> None:
    policy = Locksmith(pins(2), skill=1.0)  # without a hint it wins all, so that only unfair locks would pay
    found = one(bound(policy, training("minimax", edits=2, designer_scale=3.0), editor=locks.edit_lock))
    rows = rows_of(found, "designer")
    assert found.edited == {6, 7}
    assert policy.designs == 6
    assert {locks.pins_in(found.slots[place].design.first.source) for place in found.edited} <= {1, 3}
    for place in found.edited:
        line = locks.line_of(locks.pins_in(found.slots[place].design.first.source) or 0)
        assert tokenizer().decode(rows[place].completion_ids[:-1]) == line
        assert (rows[place].prompt_ids, rows[place].logprobs) == (rows[0].prompt_ids, None)
        assert all(rows[place].mask)
    assert found.metrics["spade/valid"] == 1.0
    values = found.advantages[:8]
    assert values[:6] == (0.0,) * 6, "edits do not move the baseline"
    assert all(values[place] == 0.0 for place in found.edited), "no better than what was written"


def test_an_edit_that_is_paid_more_is_pulled_towards() -> None:
    policy = Locksmith(pins(7), skill=1.0)
    found = one(
        bound(policy, training("absolute", edits=4, designer_scale=2.0), editor=lambda source, seed: "lock pin")
    )
    assert [found.advantages[place] for place in sorted(found.edited)] == [2.0] * 4


def test_without_anything_to_edit_the_policy_writes_itself_and_the_memory_is_looked_at_first() -> None:
    settings = training(edits=2)
    empty = Locksmith(lambda family, number: "ruby")
    assert one(bound(empty, settings, editor=locks.edit_lock)).edited == frozenset()
    assert empty.designs == 8
    later = Locksmith(lambda family, number: locks.line_of(2) if number < 6 else "ruby")
    made = bound(
        later, SpadeTraining(replace(locks.lock_config(), skills=("sun",)), 8, 3, 1, edits=2), editor=locks.edit_lock
    )
    one(made)
    assert one(made).edited == {6, 7}, "of the program in the memory"


def test_edits_stand_beside_rows_with_log_probabilities_and_weigh_as_sampled() -> None:
    """As `HTTPPolicy` and vLLM give them; TRL makes a weight of 1 of what is not known."""
    found = one(bound(Locksmith(pins(2)), training(edits=3), editor=locks.edit_lock))
    rows = weighable(found.episodes)
    columns = rollout_columns(rows, len(rows), group_size=8)
    unknown = [at for at, row in enumerate(columns["logprobs"]) if any(map(math.isnan, row))]
    assert unknown == sorted(found.edited) and len(unknown) == 3
    assert [len(row) for row in columns["logprobs"]] == [len(mask) for mask in columns["env_mask"]]


def test_edits_need_an_editor() -> None:
    with pytest.raises(BadInput, match="needs an editor"):
        core(training(edits=1))


class Two:
    """Two processes in turn: each generation is made by both, and what each has goes to both."""

    def __init__(self, settings: SpadeTraining, *policies: Any) -> None:
        self.settings, self.policies = settings, policies
        self.cores = [core(settings) for _ in policies]

    def generate(self) -> list[Generation]:
        """The next one of each: first what each has of its own, then, from the same state, with what all have."""
        parts: list[Any] = []
        for rank, policy in enumerate(self.policies):
            trial = core(self.settings)
            trial.restore(self.cores[rank].state())

            def share(own: list[Any]) -> list[Any]:
                parts.extend(own)
                raise Shared

            trial.bind(policy(), rank=rank, world=2, share=share)
            with pytest.raises(Shared):
                one(trial)
        for rank, made in enumerate(self.cores):
            made.bind(self.policies[rank](), rank=rank, world=2, share=lambda own: parts)
        return [one(made) for made in self.cores]


class Shared(Exception):
    """What a process has was handed over."""


def test_two_processes_have_briefs_of_their_own_and_equal_memories() -> None:
    two = Two(training(slots=1), lambda: Locksmith(pins(1)), lambda: Locksmith(pins(2)))
    found = two.generate()
    assert two.cores[0].memory.snapshot().digest == two.cores[1].memory.snapshot().digest
    assert len(two.cores[0].memory) == 2
    assert {row.group for row in rows_of(found[0], "designer")} == {("designer", 0, 0)}
    assert {row.group for row in rows_of(found[1], "designer")} == {("designer", 0, 1)}
    assert [slot.design.slot for slot in found[1].slots] == list(range(8, 16))


def test_the_state_of_one_process_is_that_of_all_and_each_goes_on_with_its_own_programs() -> None:
    settings = SpadeTraining(replace(locks.lock_config(), interval=3), 8, 1)
    policies = (lambda: Locksmith(pins(1)), lambda: Locksmith(mixed))
    through = Two(settings, *policies)
    through.generate()
    states = [json.loads(json.dumps(made.state())) for made in through.cores]
    assert states[0] == states[1], "the main process alone saves"
    again = Two(settings, *policies)
    for made in again.cores:
        made.restore(states[0])
    found, whole = again.generate(), through.generate()
    assert [side.episodes for side in found] == [side.episodes for side in whole]
    assert {slot.design.slot for slot in found[1].slots} == set(range(8, 16)), "and not the main process's"
    assert [made.state() for made in again.cores] == [made.state() for made in through.cores]


def test_the_state_of_another_number_of_processes_is_refused() -> None:
    settings = SpadeTraining(replace(locks.lock_config(), interval=3), 8, 1)
    two = Two(settings, lambda: Locksmith(pins(1)), lambda: Locksmith(pins(2)))
    two.generate()
    alone = bound(Locksmith(pins(1)), settings)
    alone.restore(two.cores[0].state())
    with pytest.raises(BadInput, match="the designs of 2 processes, and 1 train: resume with as many"):
        one(alone)


def test_measuring_leaves_memory_and_state_alone() -> None:
    made = bound(Locksmith(mixed, skill=1.0))
    one(made)
    state = made.state()
    programs = [EnvProgram.parse(locks.lock_source("sun", count)) for count in (2, 7)]
    found = asyncio.run(made.measure(programs, 4))
    assert [estimate.plain.win_rate for estimate in found] == [1.0, 0.0]
    assert made.state() == state


def test_the_policy_is_bound_at_the_temperature_of_its_seats() -> None:
    policy = Locksmith(mixed)
    policy.temperature = 0.6
    with pytest.raises(BadInput, match=r"sampled at temperature 0\.6"):
        core().bind(policy)
    with pytest.raises(BadInput, match="no policy yet"):
        asyncio.run(core().generate())


def test_an_audit_needs_an_auditor_of_its_own() -> None:
    config = replace(locks.lock_config(), validation=ValidationSettings(audit="reject"))
    with pytest.raises(BadInput, match="name an auditor"):
        core(SpadeTraining(config, generations=8))


def test_the_policy_writes_hints_at_its_own_temperature() -> None:
    config = replace(locks.lock_config(), hint="self")
    policy = Locksmith(pins(2), skill=0.0)
    found = one(bound(policy, SpadeTraining(config, generations=8, slots=1)))
    [hint] = {slot.played.hint.kind for slot in found.slots}
    assert hint == "self"
    assert policy.temperature == 1.0


def test_records_are_written_over_what_a_killed_run_wrote_after_its_save(tmp_path: Any) -> None:
    made = bound(Locksmith(mixed))
    records = Records(tmp_path)
    lines = []
    for _ in range(3):
        found = one(made)
        records.write(found)
        lines.append(found)
    text = records.path.read_text()
    again = Records(tmp_path)
    again.write(lines[1])
    assert again.path.read_text() == "".join(text.splitlines(keepends=True)[:2])
    again.write(lines[2])
    assert again.path.read_text() == text
    assert json.loads(text.splitlines()[0])["designs"][0].keys() >= {"code", "digest", "regret", "reward"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"generations": 6}, "whole portions"),
        ({"generations": 1}, "generations"),
        ({"slots": 0}, "slots"),
        ({"credit": "shaped"}, "credit"),
        ({"agent_rule": "softmax"}, "agent_rule"),
        ({"designer_scale": 0.0}, "designer_scale"),
        ({"edits": 8}, "without samples there is no baseline"),
    ],
)
def test_settings_out_of_range_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        training(**fields)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"attempts": 2}, "writes once"),
        ({"sequential": True}, "writes once"),
        ({"designer_seat": replace(locks.lock_config().designer_seat, temperature=0.5)}, "one temperature"),
        (
            {"player": replace(locks.lock_config().player, seat=replace(locks.lock_config().player.seat, history=2))},
            "history",
        ),
    ],
)
def test_configs_that_cannot_be_trained_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        SpadeTraining(replace(locks.lock_config(), **changes), generations=8)


def test_the_tokenizer_of_the_world_is_small() -> None:
    assert len(tokenizer()) < 40

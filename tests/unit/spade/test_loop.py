"""The loop without any model: records that no timing changes, the canonical curves, every ablation, bad models."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from metagym.errors import BadInput, ChatError, NoTasks, StoreCorrupt, TooManyFailures
from metagym.spade.config import ABLATIONS, SpadeConfig, ablated
from metagym.spade.controls import CONTROLS, reward_of
from metagym.spade.curriculum import statistics
from metagym.spade.hosts import PlayerSettings
from metagym.spade.loop import Loop
from metagym.spade.memory import EnvMemory
from metagym.spade.memory_store import RamStore
from metagym.spade.outcomes import HINTED, PLAIN
from metagym.spade.rewards import PRESETS
from metagym.spade.slots import Design, Paid, Played, Slot, read
from metagym.spade.stand_ins.programs import adversaries, number_lock
from metagym.spade.validation import ValidationSettings
from tests.unit.spade.running import config, run, texts

TRIVIAL = ValidationSettings(audit="off", seeds=3, novelty=False)


# --- the same records, whatever happens around them


def test_equal_seeds_give_equal_records_whatever_the_number_of_workers() -> None:
    settings = config(rounds=3, interval=2, programs=4)
    whole = texts(run(settings, workers=1)[1])
    assert whole == texts(run(settings, workers=5)[1])
    assert whole != texts(run(replace(settings, seed=1))[1])
    keys = [key for key, _ in whole]
    assert len(set(keys)) == len(keys) and keys[-1] == "end"
    assert keys[:4] == [f"round/0/slot/{slot}/design" for slot in range(4)]
    assert not any(key.startswith("round/1/") and key.endswith("design") for key in keys)


@pytest.mark.parametrize("kept", [1, 5, 11])
def test_a_run_that_was_cut_off_anywhere_ends_with_the_records_of_an_uninterrupted_one(kept: int) -> None:
    settings = config(rounds=2, interval=1)
    loop, whole, _ = run(settings)
    partial = RamStore()
    partial.append_many((key, json.loads(text)) for key, text in texts(whole)[:kept])
    again, _, events = run(settings, records=partial)
    assert texts(partial) == texts(whole)
    assert again.memory.snapshot().digest == loop.memory.snapshot().digest
    read_again = [event for event in events if event.kind in ("design", "plays") and not event.seconds]
    assert len(read_again) >= sum(not key.endswith("reward") for key, _ in texts(whole)[:kept] if "slot" in key)


def test_records_round_trip_and_strangers_are_named() -> None:
    _, records, _ = run(config(rounds=1))
    forms: dict[str, type[Any]] = {"design": Design, "plays": Played, "reward": Paid}
    seen = set()
    for key, text in texts(records):
        kind = key.rpartition("/")[2]
        if kind in forms:
            value = json.loads(text)
            assert read(forms[kind], key, value).to_json() == value
            seen.add(kind)
            with pytest.raises(StoreCorrupt, match=f"record '{key}'"):
                read(forms[kind], key, {"kind": kind})
    assert seen == set(forms)


def test_both_arms_of_a_program_are_played_on_the_same_seeds() -> None:
    loop, _, _ = run(config(rounds=1))
    played = [slot.played for slot in loop.slots[0] if slot.played is not None]
    assert played
    for one in played:
        arms = [{(o.seed, o.repeat) for o in one.outcomes if o.arm == arm} for arm in (PLAIN, HINTED)]
        assert arms[0] == arms[1] and len(arms[0]) == 8
        assert [hinted for hinted in one.hinted] == [False, True]
        assert "HINT: " in one.episodes[1].turns[0].observation and "HINT" not in repr(one.episodes[0])
    unpaired, _, _ = run(ablated(config(rounds=1), "pairing-off"))
    one = next(slot.played for slot in unpaired.slots[0] if slot.played is not None)
    arms = [{o.seed for o in one.outcomes if o.arm == arm} for arm in (PLAIN, HINTED)]
    assert not arms[0] & arms[1] and one.estimate.estimator == "unpaired"


def test_between_regenerations_the_same_programs_are_played_without_a_hint() -> None:
    loop, _, _ = run(config(rounds=2, interval=2))
    first, second = loop.slots
    assert [slot.design for slot in first] == [slot.design for slot in second]
    assert all(slot.paid is None for slot in second) and all(slot.paid is not None for slot in first)
    again = [slot.played for slot in second if slot.played is not None]
    assert again and all(one.hint is None and all(o.arm == PLAIN for o in one.outcomes) for one in again)
    views = loop.memory.snapshot().views
    assert views and all(len(view.later) == 1 and view.difficulty is not None for view in views)


def test_skills_come_in_turn_three_at_a_time() -> None:
    settings = SpadeConfig(programs=6)
    assert [settings.skill_of(0, slot) for slot in range(4)] == [*settings.skill_names[:3], settings.skill_names[0]]
    assert [settings.skill_of(1, slot) for slot in range(3)] == list(settings.skill_names[3:])
    assert settings.skill_of(2, 0) == settings.skill_names[0]
    narrow = SpadeConfig(programs=1)
    assert [narrow.skill_of(epoch, 0) for epoch in range(6)] == list(narrow.skill_names)


# --- the three canonical curves


def curve(reward: str, seed: int, rounds: int = 8, trusted: bool = True) -> tuple[list[int], float, Loop]:
    """Pins of the bandit's best lock after each round, theta at the end, and the loop; the agent's cap is 8 steps."""
    seeds, repeats = (12, 2) if reward == "metagym" else (6, 1)
    settings = config(
        agent=f"scripted:learner?theta=4&gain={1.8 / rounds / seeds / repeats}&most=9",
        designer="scripted:bandit?start=3",
        reward=reward,
        # At its lower bound most programs of so few plays earn nothing, and a bandit of three arms finds no way up.
        reward_options={"lower_bound": False} if reward == "metagym" else {},
        rounds=rounds,
        corpus=None,
        seeds=seeds,
        repeats=repeats,
        validation=TRIVIAL,
        seed=seed,
        keep_episodes=0,
    )
    best: list[int] = []
    loop, _, events = run(settings, trusted=trusted)
    for slots in loop.slots:
        best.append(round(sum(int(slot.design.program.title.split()[-1]) for slot in slots) / len(slots)))
    return best, loop.workshop.seats.agent.theta, loop  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_under_regret_the_difficulty_climbs_with_the_agent(seed: int) -> None:
    best, theta, loop = curve("spade_regret", seed)
    assert theta > 7
    assert best[0] <= 3 and best[-1] >= 6  # it climbs
    assert best[-1] <= 9  # and not past what the agent can do: 8 steps
    regrets = [slot.played.estimate.regret.value for slot in loop.slots[-1] if slot.played is not None]
    assert max(value for value in regrets if value is not None) > 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_under_absolute_reward_it_stays_easy(seed: int) -> None:
    best, theta, loop = curve("absolute", seed)
    assert theta > 7 and max(best[2:]) <= 4
    rates = [slot.played.estimate.plain.win_rate for slot in loop.slots[-1] if slot.played is not None]
    assert min(rate for rate in rates if rate is not None) >= 0.8


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_under_minimax_it_goes_impossible(seed: int) -> None:
    best, _, loop = curve("minimax", seed)
    assert best[-1] >= 8 > best[0]
    hardest = [slot for slot in loop.slots[-1] if slot.design.program.title.split()[-1] in ("9", "10", "11", "12")]
    assert hardest  # above the agent's cap
    for slot in hardest:
        assert slot.played is not None
        assert slot.played.estimate.plain.win_rate == slot.played.estimate.hinted.win_rate == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["spade_regret", "metagym", "absolute", "minimax"])
@pytest.mark.parametrize("seed", range(5))
def test_the_curves_over_twenty_rounds_in_the_sandbox(reward: str, seed: int) -> None:
    best, _, _ = curve(reward, seed, rounds=20, trusted=False)
    if reward == "absolute":
        assert max(best[2:]) <= 4
    elif reward == "minimax":
        assert best[-1] >= 8
    else:
        assert 5 <= best[-1] <= 9 and best[-1] > best[0]


# --- ablations


def test_every_ablation_of_the_paper_has_its_switch() -> None:
    assert set(ABLATIONS) == {
        *("no-corpus", "no-memory", "no-designer-training", "fixed-pool", "two-skills"),
        *("learning-potential", "solve-rate", "pairing-off", "hint-off", "audit-off"),
    }
    base = SpadeConfig(pool="somewhere")
    for name in ABLATIONS:
        changed = ablated(base, name)
        assert changed.ablations == (name,)
        assert name == "fixed-pool" or replace(changed, ablations=()) != base
    with pytest.raises(BadInput, match="needs a pool"):
        ablated(SpadeConfig(), "fixed-pool")
    with pytest.raises(BadInput, match="there is no ablation 'no-fun'"):
        ablated(base, "no-fun")
    with pytest.raises(BadInput, match="learning-potential and solve-rate name different rewards"):
        ablated(ablated(base, "solve-rate"), "learning-potential")


def test_without_a_corpus_or_memory_the_designer_sees_neither() -> None:
    plain, _, _ = run(config(rounds=2))
    assert any(slot.design.first.document for slot in plain.slots[1])
    bare, _, _ = run(ablated(config(rounds=2), "no-corpus", "no-memory"))
    designs = [slot.design for slots in bare.slots for slot in slots]
    assert all(design.first.document is None for design in designs)
    assert all(design.shown == {"positives": [], "negatives": []} for design in designs)
    assert len(bare.memory) > 0  # it is kept for the reader, and for novelty


def test_without_designer_training_the_bandit_stays_where_it_is() -> None:
    settings = config(designer="scripted:bandit?start=3", rounds=3, reward="minimax", validation=TRIVIAL, corpus=None)
    learnt, _, _ = run(settings)
    frozen, _, _ = run(ablated(settings, "no-designer-training"))
    assert learnt.workshop.seats.designer.best > 3  # type: ignore[union-attr]
    assert frozen.workshop.seats.designer.best == 3  # type: ignore[union-attr]


def test_without_a_hint_regret_is_unmeasured_and_never_zero() -> None:
    loop, _, _ = run(ablated(config(rounds=1), "hint-off"))
    for slot in loop.slots[0]:
        if slot.played is not None and slot.paid is not None:
            assert slot.played.estimate.regret.value is None and slot.paid.breakdown.total is None
            assert slot.paid.breakdown.masked and "no evidence" in slot.paid.breakdown.reason
    found = statistics(loop.slots[0])
    assert found["programs"]["regret"]["value"] is None and found["roles"]["designer"]["unscored"] > 0


@pytest.mark.parametrize("reward", [*PRESETS, *CONTROLS])
def test_every_reward_can_pay_a_run(reward: str) -> None:
    loop, _, _ = run(config(rounds=2, programs=1, reward=reward, seeds=3, validation=TRIVIAL, corpus=None))
    totals = [slot.paid.breakdown.total for slots in loop.slots for slot in slots if slot.paid is not None]
    low, high = reward_of(reward).bounds
    assert all(total is None or low - 1e-9 <= total <= high + 1e-9 for total in totals)
    assert any(total is not None for total in totals)


# --- bad designers and bad models


def test_every_adversary_is_a_counted_rejection_and_costs_what_the_preset_says() -> None:
    bad = [name for name in adversaries() if name not in ("hang", "memory bomb")]
    only = ",".join(bad)
    settings = config(
        designer=f"scripted:adversary?only={only}", programs=len(bad), rounds=1, reward="metagym",
        validation=ValidationSettings(audit="off", seeds=6, novelty=False),
    )  # fmt: skip
    loop, _, _ = run(settings, trusted=False)
    codes = {name: slot.design.first.code for name, slot in zip(bad, loop.slots[0], strict=True)}
    assert codes["crash"] == "step_crash" and codes["prose"] == "no_code" and codes["global rng"] == "global_rng"
    for slot in loop.slots[0]:
        assert slot.paid is not None
        if slot.design.first.code:
            assert slot.paid.breakdown.total == pytest.approx(-0.1) and slot.played is None
    bimodal = loop.slots[0][bad.index("bimodal")]
    assert codes["bimodal"] == "" and bimodal.paid is not None
    assert bimodal.paid.breakdown.total == pytest.approx(0.0, abs=0.05)  # half trivial, half impossible
    found = statistics(loop.slots[0])["designs"]
    assert sum(found["codes"].values()) == sum(bool(code) for code in codes.values())
    assert found["leak_rate"] is not None and found["leak_rate"] > 0


def test_two_alike_in_one_batch_are_one_and_a_refusal() -> None:
    loop, _, _ = run(config(designer="scripted:adversary?only=duplicate", rounds=2, programs=2))
    codes = [slot.design.first.code for slots in loop.slots for slot in slots]
    assert codes == ["", "duplicate_exact", "duplicate_exact", "duplicate_exact"]


def talker(text: Any) -> Any:
    """A model that always says the same; an exception is raised."""

    def answer(request: Any) -> str | None:
        if isinstance(text, Exception):
            raise text
        return text if isinstance(text, str) or text is None else text(request)

    return answer


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("I would rather not write any code today.", "no_code"),
        (None, "no-reply"),
        ("```python\nclass X(:\n```", "syntax_error"),
        ("```python\n" + "x = 1\n" * 20_000 + "```", "too_long"),
        ("\ud800\x00", "no_code"),
        ("class A:\n    pass\n", "metadata_missing"),
    ],
)
def test_a_model_that_answers_something_else_is_a_counted_rejection(said: Any, code: str) -> None:
    loop, _, _ = run(config(designer=talker(said), rounds=1, programs=2, hinter="rules", auditor="rules"))
    assert [slot.design.first.code for slot in loop.slots[0]] == [code, code]
    assert all(slot.paid is not None and slot.paid.breakdown.total == pytest.approx(-0.1) for slot in loop.slots[0])


def test_a_designer_that_cannot_be_reached_stops_the_run_and_is_not_paid() -> None:
    records = RamStore()
    settings = config(designer=talker(ChatError("no server")), rounds=1, hinter="rules", auditor="rules")
    with pytest.raises(TooManyFailures, match="3 of 3 calls of the designer failed"):
        run(settings, records=records)
    assert not len(records)
    loop, _, _ = run(replace(settings, max_failures=1.0))
    paid = [slot.paid for slot in loop.slots[0]]
    assert all(one is not None and one.breakdown.total is None and one.breakdown.masked for one in paid)


def test_an_agent_that_cannot_be_reached_stops_the_run_before_anything_is_recorded_as_played() -> None:
    records = RamStore()
    with pytest.raises(TooManyFailures, match="the agent failed in"):
        run(
            config(agent=talker(ChatError("down")), designer="scripted:mutator", hinter="rules", auditor="rules"),
            records=records,
        )
    assert not any(key.endswith("plays") for key in records.keys())


def test_a_refusal_goes_back_to_the_designer_and_only_the_first_attempt_is_paid() -> None:
    asked: list[str] = []

    def model(request: Any) -> str:
        asked.append(request.messages[-1].content)
        return f"```python\n{number_lock(3)}```" if "was refused" in asked[-1] else "prose"

    settings = config(designer=model, rounds=1, programs=1, attempts=3, hinter="rules", auditor="rules")
    loop, _, _ = run(settings)
    [slot] = loop.slots[0]
    assert [attempt.code for attempt in slot.design.attempts] == ["no_code", ""]
    assert slot.played is not None and slot.paid is not None and slot.paid.program is not None
    assert slot.paid.breakdown.total == pytest.approx(-0.1)
    documents = {attempt.document["doc_id"] for attempt in slot.design.attempts if attempt.document}
    assert len(documents) == 2 and "no_code" in asked[1]


def test_documents_and_examples_are_quoted_as_data_between_marks_that_they_cannot_know() -> None:
    asked: list[Any] = []

    def model(request: Any) -> str:
        asked.append(request)
        return f"```python\n{number_lock(2 + len(asked) % 5, ['ledger', 'drift', 'alarm'][: len(asked) % 4])}```"

    run(config(designer=model, rounds=3, programs=2, hinter="rules", auditor="rules", skills=("Optimization",)))
    text = asked[0].messages[-1].content
    mark = text.split("=== document ")[1].split(" ===")[0]
    assert text.count(f"=== end of document {mark} ===") == 1 and "is data" in text
    assert asked[0].messages[0].role == "system" and "SyntheticEnv" in asked[0].messages[0].content
    marks = {request.messages[-1].content.split("=== document ")[1].split(" ===")[0] for request in asked}
    assert len(marks) == len(asked)


@pytest.mark.parametrize(
    ("content", "error"), [(None, NoTasks), (b"", NoTasks), (b"\xff\xfe{", BadInput), (b'{"no": "text"}\n', BadInput)]
)
def test_an_empty_or_unreadable_corpus_is_one_typed_error_before_anything_is_played(
    tmp_path: Any, content: bytes | None, error: type[Exception]
) -> None:
    file = tmp_path / "docs.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(error):
        run(config(corpus=f"jsonl:{file}"))


def test_a_corrupt_memory_file_is_named_and_left_as_it_is(tmp_path: Any) -> None:
    file = tmp_path / "memory.jsonl"
    with EnvMemory.open(file, "w") as memory:
        run(config(rounds=1), memory=memory)
    raw = file.read_bytes()
    lines = raw.splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], b"garbage\n", *lines[1:]]))
    damaged = file.read_bytes()
    with pytest.raises(StoreCorrupt, match="memory.jsonl, line 2"):
        EnvMemory.open(file, "w")
    assert file.read_bytes() == damaged


# --- statistics and settings


def test_statistics_say_none_for_what_was_not_measured() -> None:
    empty = statistics([])
    assert empty["designs"]["valid_rate"]["value"] is None and empty["roles"]["agent"]["reward"] is None
    loop, records, _ = run(config(rounds=1))
    found = statistics(loop.slots[0], documents=60)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for role in ("designer", "agent"):
        advantage = found["roles"][role]["advantage"]
        assert advantage is None or math.isclose(advantage, 0.0, abs_tol=1e-9)
    assert found["designs"]["documents"]["of"] == 60
    summary = json.loads(records._texts["round/0/summary"])
    assert summary["statistics"]["designs"] == {**found["designs"]}
    assert summary["memory"]["size"] == len(loop.memory) == summary["memory"]["entered"]


def test_settings_round_trip_and_refuse_what_they_cannot_use() -> None:
    settings = config(skills=("A", "B", "A"), reward="azr", reward_options={"as_code": True})
    assert settings.skills == ("A", "B")
    assert SpadeConfig.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    for bad, words in [
        ({"setting": "chess"}, "setting is one of games, tool_use"),
        ({"hint": "shout"}, "hint is one of self, program, none"),
        ({"rounds": 0}, "rounds is at least 1"),
        ({"skills": ()}, "empty list"),
        ({"reward": "gold"}, "there is no reward 'gold'"),
        ({"reward": "minimax", "reward_options": {"x": 1}}, "has no options"),
        ({"estimator": "lucky"}, "estimator is one of"),
        ({"setting": "tool_use"}, "the scripted designers write games"),
    ]:
        with pytest.raises((BadInput, LookupError), match=words):
            SpadeConfig(**bad)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="unknown run settings: speed"):
        SpadeConfig.from_json({"speed": 3})
    assert SpadeConfig(player=PlayerSettings(max_steps=None)).player.max_steps is None


def test_slots_of_a_run_without_programs_have_nothing_played() -> None:
    loop, _, _ = run(config(designer="scripted:adversary?only=prose", rounds=1, programs=1))
    assert loop.slots == [[Slot(loop.slots[0][0].design, None, loop.slots[0][0].paid)]]
    assert len(loop.memory) == 0

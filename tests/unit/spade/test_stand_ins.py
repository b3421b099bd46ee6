"""The stand-ins are what their names say, and each bad program of the adversary meets its code."""

from __future__ import annotations

import math
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat.types import ChatModel
from metagym.errors import BadInput, SpecError
from metagym.seeding import derive
from metagym.spade.hosts import Insider, Knowledge
from metagym.spade.program import EnvProgram, program_in
from metagym.spade.records import EnvRecord, EnvView
from metagym.spade.samplers import Examples
from metagym.spade.stand_ins import AGENTS, DESIGNERS, Brief, ScriptedDesigner, backend_of, load_seat
from metagym.spade.stand_ins.agents import HintReader, Learner, Skill
from metagym.spade.stand_ins.designers import Adversary, Bandit, FixedList, Mutator
from metagym.spade.stand_ins.programs import RULES, adversaries, noisy_door, number_lock
from metagym.spade.validation import ValidationSettings, validate

QUICK = ValidationSettings(seeds=6)


def brief(slot: int = 0, index: int = 0, seed: int = 1, positives: tuple[EnvView, ...] = ()) -> Brief:
    return Brief(0, slot, index, 0, "Optimization", seed, positives)


@pytest.mark.parametrize(
    "source",
    [
        number_lock(2),
        number_lock(6),
        number_lock(4, RULES),
        *(number_lock(3, [rule]) for rule in RULES),
        noisy_door(0.5),
    ],
    ids=["lock 2", "lock 6", "lock with all rules", *RULES, "noisy door"],
)
def test_the_families_are_fair_environments(source: str) -> None:
    report = validate(source, settings=QUICK)
    assert report.ok, str(report)


@pytest.mark.parametrize("pins", [2, 5, 9])
def test_a_lock_of_k_pins_takes_k_steps_and_pays_in_parts(pins: int) -> None:
    report = validate(number_lock(pins), settings=QUICK)
    assert report.ok and report.metrics["oracle_steps"] == pins


EXPECTED = {
    "crash": "step_crash",
    "hang": "step_timeout",
    "memory bomb": "memory_limit",
    "global rng": "global_rng",
    "leaking hint": "answer_in_hint",
    "duplicate": "",
    "bimodal": "",
    "reward 1e9": "reward_out_of_range",
    "prose": "no_code",
    "two classes": "several_env_classes",
    "no class": "metadata_missing",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_bad_program_meets_its_code(name: str) -> None:
    assert validate(adversaries()[name], settings=QUICK).code == EXPECTED[name]


def test_a_program_that_prints_its_solution_is_refused_one_way_or_another() -> None:
    assert validate(adversaries()["prints solution"], settings=QUICK).code in (
        "answer_in_observation",
        "trivial_policy_wins",
    )


def test_the_adversary_list_is_complete() -> None:
    assert set(adversaries()) == {*EXPECTED, "prints solution"}


def test_a_copy_is_a_duplicate() -> None:
    known = validate(number_lock(3), settings=QUICK)
    assert known.fingerprint is not None
    again = validate(adversaries()["duplicate"], settings=QUICK, known=[known.fingerprint])
    assert again.code == "duplicate_exact"
    assert validate(number_lock(4), settings=QUICK, known=[known.fingerprint]).code == "duplicate_ast"


@given(st.integers(1, 12), st.floats(0, 12), st.booleans())
@settings(max_examples=30, deadline=None)
def test_skill_is_a_chance_that_falls_with_steps_and_rises_with_theta(steps: int, theta: float, hinted: bool) -> None:
    agent = Skill(theta)
    chance = agent.chance(steps, hinted)
    assert 0 <= chance <= 1
    assert chance >= agent.chance(steps + 1, hinted) and chance <= Skill(theta + 1).chance(steps, hinted)
    assert agent.chance(steps, True) >= agent.chance(steps, False)


parsed = cache(EnvProgram.parse)


def known(hint: str | None = None, sampling_seed: int = 0, source: str = "") -> Knowledge:
    return Knowledge(parsed(source or number_lock(4)), 7, hint, sampling_seed, [f"turn {pin}" for pin in (5, 6, 7, 8)])


def wins(agent: Skill, hint: str | None = None, source: str = "", plays: int = 400) -> float:
    """Share of plays in which the stand-in plays its whole solution."""
    won = 0
    for play in range(plays):
        policy = agent.policy(known(hint, derive(0, "play", play), source))
        won += [policy(None) for _ in range(4)][-1].endswith("turn 8")  # type: ignore[arg-type]
    return won / plays


def test_a_skill_wins_at_its_known_rate() -> None:
    agent = Skill(theta=4.0, lift=2.0)
    assert wins(agent) == pytest.approx(agent.chance(4, False), abs=3 * math.sqrt(0.25 / 400))
    assert wins(agent, "any hint") == pytest.approx(agent.chance(4, True), abs=3 * math.sqrt(0.25 / 400))


def test_a_hint_reader_needs_a_tag_and_nobody_opens_a_noisy_door_by_skill() -> None:
    reader = HintReader(theta=2.0, lift=4.0)
    assert wins(reader, "think") < 0.15 < 0.8 < wins(reader, "[strategy: halve] think")
    assert wins(reader, "[strategy: none]") < 0.15
    door = noisy_door(0.5)
    assert wins(Skill(theta=99), source=door) == pytest.approx(0.5, abs=0.08)
    assert wins(Skill(theta=-99), "a hint", source=door) == pytest.approx(0.5, abs=0.08)


def test_a_learner_rises_with_all_plays_so_far_and_stops() -> None:
    agent = Learner(theta=3, gain=0.5, most=5)
    agent.practise(2)
    assert agent.theta == 4
    agent.practise(2)  # the total, not a further portion: a resumed run tells it again
    assert agent.theta == 4
    agent.practise(100)
    assert agent.theta == 5


def test_the_bandit_climbs_to_what_pays_and_forgets() -> None:
    designer = Bandit(most=8)
    for _ in range(12):
        slots = [designer.design(brief(slot)) for slot in range(3)]
        pins = [int(EnvProgram.parse(program_in(reply) or "").title.split()[-1]) for reply in slots]
        assert pins == [min(8, max(2, designer.best + step)) for step in (0, 1, -1)]
        designer.learn(
            [(program_in(reply) or "", 1 - abs(6 - pin) / 6) for reply, pin in zip(slots, pins, strict=True)]
        )
    assert designer.best == 6
    before = designer.values[3]
    designer.learn([(number_lock(6), 1.0)])
    assert designer.values[3] == pytest.approx(0.8 * before)
    designer.learn([("no lock at all", -1.0)])  # what is no lock teaches it nothing
    assert designer.best == 6


def test_the_mutator_edits_what_the_memory_shows_and_names_its_parent() -> None:
    source = number_lock(3, ["alarm"])
    program = EnvProgram.parse(source)
    view = EnvView(EnvRecord.of(program, 0))
    replies = {Mutator().design(brief(seed=seed, positives=(view,))) for seed in range(20)}
    assert len(replies) > 10
    for reply in replies:
        child = EnvProgram.parse(program_in(reply) or "")
        assert child.parents == (program.digest,) and child.digest != program.digest
    assert Mutator().design(brief(seed=3, positives=(view,))) == Mutator().design(brief(seed=3, positives=(view,)))
    assert not EnvProgram.parse(program_in(Mutator().design(brief())) or "").parents


def test_lists_are_written_in_their_order() -> None:
    fixed = FixedList([number_lock(2), number_lock(3)])
    assert [program_in(fixed.design(brief(index=index))) for index in range(3)] == [
        number_lock(pins) for pins in (2, 3, 2)
    ]
    bad = Adversary("prose, crash")
    assert bad.design(brief(index=0)) == adversaries()["prose"]
    assert program_in(bad.design(brief(index=1))) == adversaries()["crash"]


def test_specs_name_stand_ins_with_options() -> None:
    agent = load_seat("scripted:skill?theta=3&slope=2", "agent")
    assert isinstance(agent, Skill) and agent.theta == 3 and agent.slope == 2 and backend_of(agent) == "scripted"
    for name in AGENTS:
        assert isinstance(load_seat(f"scripted:{name}", "agent"), Insider)
    for name in DESIGNERS:
        assert isinstance(load_seat(f"scripted:{name}", "designer"), ScriptedDesigner)
    for seat in ("hint", "auditor"):
        assert isinstance(load_seat("rules", seat), ChatModel)
    assert load_seat(agent, "agent") is agent
    assert Examples() == Examples((), ())


@pytest.mark.parametrize(
    ("spec", "seat", "words"),
    [
        ("scripted:nobody", "agent", "there is no scripted agent 'nobody'; there are oracle"),
        ("scripted:skill?power=3", "agent", "cannot be made of"),
        ("scripted:skill?theta", "agent", "written name=value"),
        ("scripted:skill?theta=x", "agent", "theta is a number"),
        ("scripted:bandit?start=99", "designer", "between least and most"),
        ("scripted:adversary?only=angel", "designer", "there is no adversary 'angel'"),
        ("skript:skill", "agent", "unknown kind of model"),
    ],
)
def test_unusable_specs_are_one_sentence(spec: str, seat: str, words: str) -> None:
    with pytest.raises((BadInput, SpecError), match=words):
        load_seat(spec, seat)

"""The cipher locks: what the language says, what the sandbox thinks of it, and that the twin is one."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any

import pytest

from metagym.sandbox import load
from metagym.spade.hosts import Stage, staged
from metagym.spade.program import EnvProgram
from metagym.spade.validation import MemoryCache, validate
from metagym_trainers.tiny import ladder, locks, twins
from metagym_trainers.tiny.models import prompt_ids, word_tokenizer


def lock(family: str, pins: int) -> EnvProgram:
    return EnvProgram.parse(locks.lock_source(family, pins))


@pytest.mark.parametrize(
    ("line", "pins"),
    [
        ("lock pin", 1),
        ("lock" + " pin" * 8, 8),
        ("lock" + " pin" * 9, None),
        ("lock", None),
        ("lock pin ruby", None),
        ("pin lock", None),
        ("", None),
    ],
)
def test_a_line_is_a_lock_of_the_family_that_was_asked_for_or_none(line: str, pins: int | None) -> None:
    assert locks.pins_of(line) == pins
    for family in locks.FAMILIES:
        source = locks.compile_lock(line, family)
        assert locks.pins_in(source) == pins
        assert source == (line if pins is None else locks.lock_source(family, pins))


@pytest.mark.parametrize("pins", [1, 8])
def test_the_sandbox_accepts_locks_as_fair_environments(pins: int) -> None:
    report = validate(locks.lock_source("sun", pins), settings=locks.lock_config().validation, cache=MemoryCache())
    assert report.ok, str(report)


def test_what_is_no_line_is_refused_as_no_program() -> None:
    report = validate("lock ruby", settings=locks.lock_config().validation)
    assert (report.ok, report.code) == (False, "no_code")


def test_the_twin_plays_the_episodes_of_the_program_in_the_sandbox() -> None:
    async def episodes(stage: Stage, answers: list[str]) -> list[Any]:
        seen = []
        for seed in range(6):
            observation, info = await stage.handle.reset(seed, 1, fresh=True)
            found = [observation, info, await stage.handle.ask("hint", session=1)]
            solution = await stage.handle.ask("solution", session=1)
            for answer in (answers[seed % len(answers)], solution[0]):  # the second comes too late
                found.append(list(await stage.handle.step(answer, 1)))
            await stage.handle.reset(seed, 1, fresh=True)
            found.append(list(await stage.handle.step(solution[0], 1)))
            seen.append([*found, solution])
        return seen

    async def both(program: EnvProgram) -> None:
        answers = ["iron", "iron zinc gold", "gold " * 9, "nonsense"]
        async with staged(program) as real, twins.twin_stage(program) as twin:
            assert (real.family.instructions, real.family.max_steps) == (
                twin.family.instructions,
                twin.family.max_steps,
            )
            sides = [await episodes(stage, answers) for stage in (real, twin)]
        assert [[list(part) if isinstance(part, tuple) else part for part in one] for one in sides[0]] == [
            [list(part) if isinstance(part, tuple) else part for part in one] for one in sides[1]
        ]

    for program in (lock("sun", 1), lock("moon", 3), lock("moon", 8)):
        asyncio.run(both(program))


def test_a_program_of_another_text_is_staged_in_the_sandbox() -> None:
    other = EnvProgram.parse(locks.lock_source("sun", 2) + "\n# mine\n")

    async def handle() -> str:
        async with twins.twin_stage(other) as stage:
            return type(stage.handle).__name__

    assert asyncio.run(handle()) == "AsyncProgram"


def test_rows_kept_for_evaluation_are_never_shown_in_training() -> None:
    shown: dict[bool, set[str]] = {True: set(), False: set()}
    for kept in (True, False):
        with closing(load(locks.lock_source("sun", 2, kept))) as program:
            shown[kept] = {str(program.reset(seed)[0]) for seed in range(120)}
    assert not shown[True] & shown[False]
    assert len(shown[True] | shown[False]) == 16


def test_locks_of_seven_pins_are_beyond_six_words_and_open_to_their_own_solution() -> None:
    with closing(load(locks.lock_source("moon", locks.MOVES + 1))) as program:
        program.reset(0)
        [solution] = program.ask("solution")
        assert len(solution.split()) == locks.MOVES + 1
        assert program.step(" ".join(solution.split()[: locks.MOVES]))[1] < 1.0
        program.reset(0)
        assert program.step(solution)[1] == 1.0


def test_the_warm_start_tells_no_cipher_and_teaches_the_colours() -> None:
    right = said = told = 0
    colours = dict(zip(locks.KEYS, locks.COLOURS, strict=True))
    for number in range(600):
        messages, answer = locks.example(number, seed=1)
        text, keys = messages[-1]["content"], answer.split()
        if number % 4 == 0:
            assert messages[0]["role"] == "system"
            continue
        *_, observed = text.partition("cipher locks")
        family = next(name for name in locks.FAMILIES if f"\n{name} " in observed)
        row = observed[observed.index(f"\n{family} ") :].split()[1:]
        for place, key in enumerate(keys):
            said += 1
            right += locks.cipher(family)[place][row[place]] == key
        if "HINT:" in text:
            hint = text.partition("HINT:")[2].split()
            assert all(word in (sign, colours[key]) for word, sign, key in zip(hint, row, keys, strict=False))
            told += sum(word in locks.COLOURS for word in hint[: len(keys)])
    assert 0.2 < right / said < 0.3, "keys of the warm start are drawn at random among four"
    assert told > 300


def test_real_prompts_are_a_few_ids_for_a_tiny_model_and_of_equal_length() -> None:
    tokenizer = word_tokenizer(locks.WORDS, drop_unknown=True)
    lengths: dict[str, set[int]] = {"design": set(), "play": set(), "hint": set()}
    for number in range(200):
        messages, _ = locks.example(number)
        kind = "design" if number % 4 == 0 else "hint" if "HINT" in messages[-1]["content"] else "play"
        ids = prompt_ids(tokenizer, messages)
        lengths[kind].add(len(ids))
        assert tokenizer.unk_token_id not in ids
    assert lengths == {"design": {10}, "play": {16}, "hint": {25}}


def test_the_ladder_is_climbed_by_solutions_and_by_nothing_else() -> None:
    rungs = ladder.rungs(2)
    solutions = []
    for rung in rungs:
        with closing(load(locks.lock_source(rung.family, rung.pins, kept=True))) as program:
            program.reset(rung.seed)
            solutions.append(program.ask("solution")[0])
    assert ladder.climb(rungs, solutions) == [1.0] * locks.MOVES
    assert ladder.climb(rungs, ["pin"] * len(rungs)) == [0.0] * locks.MOVES
    assert [rung.prompt for rung in ladder.rungs(1)] == [rung.prompt for rung in ladder.rungs(2)][::2]
    assert "HINT" in ladder.rungs(1, hinted=True)[0].prompt[-1]["content"]

"""The four rules of stage 9: what is a leak, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from metagym.seeding import rng
from metagym.spade.program import EnvProgram
from metagym.spade.validation.leaks import check_leaks, words
from metagym.spade.validation.report import Refusal
from metagym.spade.validation.walks import Step, Walk
from metagym.spade.validation.worth import Reference
from tests.unit.spade.programs import LOCK, SHOP

SEEDS = range(8)
CODES = {seed: str(rng(seed, "code").randrange(1000, 9999)) for seed in SEEDS}
WAYS = {seed: rng(seed, "way").choices(["north", "south", "east", "west"], k=5) for seed in SEEDS}
TEXT, TOOLS = EnvProgram.parse(LOCK), EnvProgram.parse(SHOP)


def judged(
    solution: Callable[[int], Sequence[str]],
    first: Callable[[int], str],
    last: Callable[[int], str] = lambda seed: "You lost.",
    hint: Callable[[int], str | None] = lambda seed: None,
    during: Callable[[int], str] = lambda seed: "Go on.",
    program: EnvProgram = TEXT,
) -> str:
    """The code of stage 9 for a game told by its texts; empty if it is fair."""
    found, shown = [], []
    for seed in SEEDS:
        actions = list(solution(seed))
        steps = [Step(None, first(seed)), *(Step(action, during(seed)) for action in actions)]
        found.append(Reference(Walk("reference", seed, steps), hint(seed)))
        idle = [Step(None, first(seed)), Step("", "What?"), Step("", last(seed), truncated=True)]
        shown.append(Walk("no-op", seed, idle))
    try:
        check_leaks(program, found, shown)
    except Refusal as refusal:
        for seed in SEEDS:
            assert CODES[seed] not in refusal.detail and " ".join(WAYS[seed]) not in refusal.detail
        return refusal.code
    return ""


def guess(seed: int) -> list[str]:
    return [f"guess {CODES[seed]}"]


def walk(seed: int) -> list[str]:
    return [f"go {way}" for way in WAYS[seed]]


OBSERVATION = "answer_in_observation"


@pytest.mark.parametrize(
    "first",
    [
        lambda seed: f"Guess the code. (debug: code={CODES[seed]})",
        lambda seed: f"{CODES[seed]} is not told to you. Guess!",
        lambda seed: f'{{"task": "guess", "secret": {CODES[seed]}, "tries": 5}}',
        lambda seed: f"You have {seed} coins and {seed + 3} tries. The vault opens with {CODES[seed]}.",
    ],
)
def test_a_code_that_stands_after_fixed_words_is_a_leak(first: Callable[[int], str]) -> None:
    assert judged(guess, first) == OBSERVATION


def test_a_code_that_is_told_when_the_game_is_lost_is_a_leak() -> None:
    assert judged(guess, lambda seed: "Guess.", lambda seed: f"You lost, the code was {CODES[seed]}.") == OBSERVATION


@pytest.mark.parametrize("separator", [" ", ", go ", "\n", " -> go ", "', 'go "])
def test_a_whole_solution_is_a_leak_wherever_it_is_told(separator: str) -> None:
    def path(seed: int) -> str:
        return f"A maze of {seed} rooms. Best: {separator.join(WAYS[seed])}!".replace("Best: ", "Best: go ")

    if "go" not in separator:
        path_of = path

        def path(seed: int) -> str:
            return path_of(seed).replace(separator.join(WAYS[seed]), " go ".join(WAYS[seed]))

    assert judged(walk, path) == OBSERVATION
    assert judged(walk, lambda seed: "A maze.", last=path) == OBSERVATION


def pins(seed: int) -> list[str]:
    return [f"turn {rng(seed, 'pin', place).randrange(1, 40)}" for place in range(3)]


@pytest.mark.parametrize("end", ["[{}, {}, {}]", "You lost; it was {}, {} and {}.", "{} {} {}", "pins={}/{}/{} of 40"])
def test_answers_that_are_told_in_a_row_are_a_leak(end: str) -> None:
    def told(seed: int) -> str:
        return end.format(*(action.split()[1] for action in pins(seed)))

    def some(seed: int) -> str:
        return end.format(*(action.split()[1] for action in (*pins(seed)[:2], pins(seed + 1)[2])))

    def backwards(seed: int) -> str:
        return end.format(*(action.split()[1] for action in reversed(pins(seed))))

    assert judged(pins, lambda seed: "Three pins, 1 to 39.", last=told) == OBSERVATION
    assert judged(pins, told) == OBSERVATION
    assert judged(pins, lambda seed: "Three pins, 1 to 39.", during=told) == ""  # found on the way
    assert judged(pins, some) == judged(pins, backwards) == ""


def test_tool_calls_may_name_what_the_user_said_and_nothing_more() -> None:
    def call(seed: int) -> list[str]:
        return [
            f'<tool_call>{{"name": "book", "arguments": {{"flight": "{CODES[seed]}"}}}}</tool_call>',
            "<answer>ok</answer>",
        ]

    assert judged(call, lambda seed: f"Please book flight {CODES[seed]}.", program=TOOLS) == ""
    assert judged(call, lambda seed: f"Expected: {' '.join(call(seed))}", program=TOOLS) == OBSERVATION


def options(seed: int) -> str:
    found = [CODES[seed], *(CODES[(seed + shift) % 8] for shift in (1, 2, 3))]
    rng(seed, "options").shuffle(found)
    return f"Which is prime? a) {found[0]} b) {found[1]} c) {found[2]} d) {found[3]}"


@pytest.mark.parametrize(
    ("solution", "first"),
    [
        (guess, options),
        (
            guess,
            lambda seed: f"Sort: {' '.join(sorted([CODES[seed], '1500', '3000', '7000']))}. Which one does not fit?",
        ),
        (walk, lambda seed: "Exits: north, south, east, west. Say: go north, go south, go east, go west."),
        (walk, lambda seed: f"You see an arrow that points {WAYS[seed][0]}."),
        (
            lambda seed: [*walk(seed), f"give parcel {CODES[seed]}"],
            lambda seed: f"Bring the parcel to house {CODES[seed]}.",
        ),
        (lambda seed: ["1", "2", "1"], lambda seed: f"Press 1 or 2. Room {seed}."),
    ],
)
def test_what_only_looks_like_a_leak_passes(
    solution: Callable[[int], Sequence[str]], first: Callable[[int], str]
) -> None:
    assert judged(solution, first) == ""


def test_a_code_that_is_found_on_the_way_is_no_leak() -> None:
    def look(seed: int) -> list[str]:
        return ["look", f"enter {CODES[seed]}"]

    assert judged(look, lambda seed: "A safe.", during=lambda seed: f"The note says {CODES[seed]}.") == ""


def test_an_echo_of_the_players_own_words_is_no_leak() -> None:
    def twice(seed: int) -> list[str]:
        return [f"guess {CODES[seed]}", "submit now"]

    assert judged(twice, lambda seed: "Guess.", during=lambda seed: f"You guessed {CODES[seed]}.") == ""


@pytest.mark.parametrize(
    "hint",
    [
        lambda seed: f"It begins with {CODES[seed]}.",
        lambda seed: f"Think of {CODES[seed][::-1]} backwards.",
        lambda seed: " ".join(walk(seed)),
    ],
)
def test_a_hint_that_holds_values_is_a_leak(hint: Callable[[int], str]) -> None:
    assert judged(lambda seed: [*walk(seed), *guess(seed)], lambda seed: "Guess.", hint=hint) == "answer_in_hint"


@pytest.mark.parametrize(
    "hint",
    [lambda seed: "Halve the range each time.", lambda seed: "The code is between 1000 and 9999.", lambda seed: None],
)
def test_a_hint_without_values_passes(hint: Callable[[int], str | None]) -> None:
    assert judged(lambda seed: [*walk(seed), *guess(seed)], lambda seed: "Guess.", hint=hint) == ""


def test_words_are_letters_and_digits_without_case_and_without_the_box() -> None:
    assert words("Go_NORTH: \\boxed{Go 12}!") == ("go", "north", "go", "12")

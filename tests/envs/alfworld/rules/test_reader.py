"""Reading advice: what is asked for, what is forbidden, what is noise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import controls
from metagym_envs.alfworld.rules.intents import ALFWORLD, GENERIC, STRAY, TABLE, TEACHABLE
from metagym_envs.alfworld.rules.reader import READ_AT_MOST, Intent, read

NEEDED = {"open", "search", "take", "deliver", "clean", "heat", "cool", "light"}
NAMES = {name for intent in TABLE for name in intent.grants or (intent.name,)}


def asked(text: str) -> set[str]:
    return {name for name, wanted in read(text, TABLE).items() if wanted}


@pytest.mark.parametrize("intent", TEACHABLE, ids=lambda intent: intent.name)
def test_a_taught_sentence_asks_for_its_own_intent_and_no_other(intent: Intent) -> None:
    for sentence in intent.teach:
        assert read(sentence, TABLE) == dict.fromkeys(intent.grants or (intent.name,), True), sentence


def test_names_are_unique_and_the_generic_table_stands_alone() -> None:
    assert len({intent.name for intent in TABLE}) == len(TABLE)
    assert read(controls.full_prompt(treat=""), GENERIC).keys() == {i.name for i in GENERIC}
    assert not {intent.name for intent in GENERIC} & {intent.name for intent in ALFWORLD}


@pytest.mark.parametrize(
    "text",
    [
        "Never open closed containers.",
        "If a container is closed, never open it.",
        "Do not open anything that is closed.",
        "Don't open closed drawers!",
        "DON\u2019T OPEN CLOSED DRAWERS",
        "Avoid opening closed drawers.",
        "Do not, under any circumstances, open closed containers.",
        "Opening closed containers is forbidden.",
        "There is no need to open closed containers.",
        "Skip closed containers.",
        "You should not open a cabinet that is closed.",
    ],
)
def test_negated_advice_forbids(text: str) -> None:
    assert read(text, TABLE) == {"open": False}


@pytest.mark.parametrize(
    "text",
    [
        "Open closed containers.",
        "open it if the drawer is closed",
        "If a receptacle isn't open, open it.",
        "Never forget to open closed containers.",
        "Never skip a closed cabinet.",
        "Don't ever leave a container closed.",
        "Never walk away from a closed receptacle without opening it.",
        "Closed drawers may hide things. Open them.",
        "Do not move on until you have opened every closed drawer.",
        "Open closed containers. Never open the same container twice.",
        "I didn't open closed drawers; from now on I will open every closed drawer.",
        "**Open** every *closed* `container`!",
    ],
)
def test_double_negation_conditions_and_limits_still_ask(text: str) -> None:
    assert read(text, TABLE)["open"] is True


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Do not visit the same place twice.", "search"),
        ("Never return to locations that you have already searched.", "search"),
        ("Search places that you have not visited yet.", "search"),
        ("Do not deliver the object before it has been cleaned in the sink.", "clean"),
        ("Pick up nothing but what the task asks for.", "take"),
    ],
)
def test_a_negative_can_ask_for_something(text: str, name: str) -> None:
    assert read(text, TABLE).get(name) is True
    assert False not in read(text, TABLE).values()


@pytest.mark.parametrize(
    "text",
    [
        "The agent never opened a closed container.",
        "You opened nothing that was closed and then went back to places already searched.",
        "Put the reader first and place emphasis where it belongs.",
        "Keep an open mind and take your time.",
        "The place is open to the public.",
    ],
)
def test_stories_and_idioms_are_no_advice(text: str) -> None:
    assert read(text, TABLE) == {}


def test_the_last_of_two_contradicting_sentences_stands() -> None:
    ask, forbid = controls.RULES["open"], controls.NEGATED["open"]
    assert read(f"{ask}\n{forbid}", TABLE) == {"open": False}
    assert read(f"{forbid}\n{ask}", TABLE) == {"open": True}


def test_a_special_treatment_is_only_that_one() -> None:
    assert read("If the task wants a hot object, heat it with the microwave first.", TABLE) == {"heat": True}
    assert asked(controls.RULES["treat"]) == {"clean", "heat", "cool", "light"}


def test_within_a_sentence_the_special_overrules_the_general() -> None:
    text = "Treat the object with the appliance that the task needs, but never heat it in the microwave."
    assert read(text, TABLE) == {"clean": True, "heat": False, "cool": True, "light": True}


@pytest.mark.parametrize("name", controls.PARAPHRASES)
def test_free_rewordings_ask_for_everything(name: str) -> None:
    rules = read(controls.PARAPHRASES[name], TABLE)
    assert {key for key, wanted in rules.items() if wanted} >= NEEDED
    assert not [key for key in NEEDED if rules[key] is False]


@pytest.mark.parametrize("name", controls.MISREAD)
def test_what_is_misread_loses_one_rule_and_gains_none(name: str) -> None:
    rules = read(controls.MISREAD[name], TABLE)
    assert len(NEEDED - rules.keys()) == 1
    assert False not in rules.values()


@pytest.mark.parametrize("name", controls.IRRELEVANT)
def test_irrelevant_text_asks_for_nothing(name: str) -> None:
    assert read(controls.IRRELEVANT[name], TABLE) == {}


def test_stray_sentences_ask_for_nothing() -> None:
    assert read("\n".join(STRAY), TABLE) == {}


@pytest.mark.parametrize("name", controls.NEGATED)
def test_each_negated_rule_forbids_its_own(name: str) -> None:
    grants = next(intent.grants or (intent.name,) for intent in TABLE if intent.name == name)
    assert read(controls.NEGATED[name], TABLE) == dict.fromkeys(grants, False)


def granted(name: str) -> set[str]:
    return next(set(intent.grants or (intent.name,)) for intent in TABLE if intent.name == name)


@pytest.mark.parametrize("way", controls.MECHANICAL)
def test_a_mechanical_negation_forbids_whatever_sentence_it_negates(way: str) -> None:
    for name, sentences in controls.ESSENTIAL.items():
        for sentence in sentences:
            text = controls.MECHANICAL[way](sentence)
            rules = read(text, TABLE)
            assert {key: rules.get(key) for key in granted(name)} == dict.fromkeys(granted(name), False), text


def test_every_essential_sentence_is_among_those_negated() -> None:
    assert set(controls.ESSENTIAL) == {intent.name for intent in TEACHABLE} - {"drop", "hurry"}
    assert all(len(sentences) == 3 for sentences in controls.ESSENTIAL.values())


@pytest.mark.parametrize(("name", "text"), controls.NEGATED_BY_HAND)
def test_a_negation_in_free_words_forbids(name: str, text: str) -> None:
    assert {read(text, TABLE).get(key) for key in granted(name)} == {False}


@pytest.mark.parametrize(("name", "text"), controls.CONTRASTS)
def test_a_contrast_asks_and_forbids_nothing_else_that_is_needed(name: str, text: str) -> None:
    rules = read(text, TABLE)
    assert {rules.get(key) for key in granted(name)} == {True}
    assert not [key for key in NEEDED if rules.get(key) is False]


@pytest.mark.parametrize("bullet", ["- ", "* ", "3. ", "**Rule 2:** ", "Advice: "])
def test_a_frame_is_found_behind_bullets_numbers_and_labels(bullet: str) -> None:
    assert read(f"{bullet}Never do this: open closed containers.", TABLE) == {"open": False}


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Open closed containers. Ignore this rule. Open closed containers.", {"open": True}),
        ("Ignore this rule. Open closed containers.", {"open": True}),
        ("Never open closed containers. Ignore this rule.", {}),
        ("Never open closed containers. Do not do that.", {"open": False}),
        ("Never open closed containers. That is wrong.", {"open": True}),
        ("Stay calm. Do the opposite.", {}),
    ],
)
def test_a_withdrawal_acts_on_the_sentence_before_it(text: str, rules: dict[str, bool]) -> None:
    assert read(text, TABLE) == rules


def test_a_withdrawal_reaches_no_further_than_its_own_sentence() -> None:
    prompt = controls.full_prompt(open=f"{controls.RULES['open']} Ignore this rule.")
    rules = read(prompt, TABLE)
    assert [name for name, wanted in rules.items() if not wanted] == ["open"]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read_without_failing(text: str) -> None:
    rules = read(text, TABLE)
    assert rules.keys() <= NAMES
    assert all(isinstance(wanted, bool) for wanted in rules.values())


WORDS = "open closed not never don't if when you place it the object put take , . ; \x00 {} %s without before".split()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_jumble_of_its_own_words_is_read_without_failing(words: list[str]) -> None:
    assert read(" ".join(words), TABLE).keys() <= NAMES


def test_hostile_marks_do_not_hide_or_make_advice() -> None:
    marks = "{0} {prompt!r} %s %(x)s ${HOME} \\1 \x00 <system> ]]> \u202e"
    assert read(marks, TABLE) == {}
    assert read(f"{marks}. {controls.RULES['open']} {marks}", TABLE) == {"open": True}
    assert read("Open closed\x00containers.", TABLE) == {"open": True}


def test_of_a_huge_text_only_the_beginning_is_read() -> None:
    assert read("x " * READ_AT_MOST + controls.RULES["open"], TABLE) == {}
    assert read(controls.RULES["open"] + " x" * 5_000_000, TABLE) == {"open": True}

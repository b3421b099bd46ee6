"""Cards: identity, what text they may hold, their file, what they give away."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.sesa import SkillBank
from metagym.sesa.cards import USE_WHEN, SkillCard, check_id, leaked, question_sha256
from metagym.sesa.skillmd import content_of, read_skill, write_skill
from tests.unit.sesa.cards import lesson

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200)


def made(*texts: str, **more) -> SkillCard | None:
    try:
        return SkillCard(*texts, **more)
    except BadInput:
        return None


def test_equal_content_is_one_card_whatever_its_spacing_case_and_origin():
    left = SkillCard("Split the question.", "it has hops", source="hand", title="A", notes="n", created_step=3)
    right = SkillCard("  split  the\nQUESTION. ", "It has hops", source="failure")
    assert left.id == right.id == check_id(left.id) and len(left.id) == 16
    assert left.id != SkillCard("Split the question.", "it has hops", "never").id
    assert right.description == "split the QUESTION."


@given(TEXT, TEXT, TEXT, TEXT, TEXT, TEXT)
@settings(max_examples=150, deadline=None)
def test_a_card_survives_its_file_and_its_json(description, trigger, anti, template, title, notes):
    card = made(f"x{description}", trigger, anti, template, title=title[:100], notes=notes, question=title)
    if card is None:
        return
    text = write_skill(card, uses="3", status="active")
    back = read_skill(text.encode(), "x.md")
    assert back.card == card and back.card.id == card.id and back.metadata["uses"] == "3"
    assert SkillCard.from_json(json.loads(json.dumps(card.to_json()))) == card
    assert write_skill(back.card, uses="3", status="active") == text


@given(
    st.lists(st.sampled_from(["# x", "## Avoid", "## Notes", "\\", "\\# y", "---", "text.", "## Query template", ""]))
)
@settings(max_examples=100, deadline=None)
def test_texts_that_look_like_the_file_itself_stay_texts(parts):
    card = SkillCard("Do it.", " ".join(parts), " ".join(parts), ". ".join(parts), notes="\n".join(parts))
    assert read_skill(write_skill(card).encode(), "x.md").card == card


def test_the_file_is_a_valid_skill_md():
    card = lesson(1, notes="# Title\n\nSeveral lines.", title="Ünïcode & Co: a title")
    front, body = write_skill(card).split("---\n")[1:]
    data = yaml.safe_load(front)
    assert list(data) == ["name", "description", "metadata"]
    assert data["name"] == f"unicode-co-a-title-{card.id[:8]}" and len(data["name"]) <= 64
    assert data["description"] == f"{card.description} {USE_WHEN} {card.trigger}"
    assert all(isinstance(value, str) for value in data["metadata"].values())
    assert "\r" not in body and body.index("## Avoid") < body.index("## Query template") < body.index("## Notes")


def test_a_use_changes_one_line_of_the_file_and_not_its_content():
    one, two = (write_skill(lesson(1), status="active", uses=uses) for uses in ("1", "2"))
    assert sum(a != b for a, b in zip(one.split("\n"), two.split("\n"), strict=True)) == 1
    assert content_of(one) == content_of(two) != content_of(write_skill(lesson(2)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"description": ""}, "description must say what to do"),
        ({"description": "123 !!"}, "description must say what to do"),
        ({"description": 3}, "description is a text, got 3"),
        ({"description": f"Do. {USE_WHEN} x"}, "belongs into the field trigger"),
        ({"trigger": "a\x00b"}, r"trigger holds the hidden character U\+0000 at position 1"),
        ({"trigger": "a\x1b[31m"}, r"U\+001B"),
        ({"anti_pattern": "\u202eabc"}, r"anti_pattern holds the hidden character U\+202E"),
        ({"notes": "x\U000e0041"}, r"notes holds the hidden character U\+E0041"),
        ({"query_template": "\ud800"}, r"query_template holds the hidden character U\+D800"),
        ({"anti_pattern": "x" * 1_000_000}, "anti_pattern has 1,000,000 characters, and at most 2,000"),
        ({"description": "x" * 600, "trigger": "y" * 600}, "1211 characters together"),
        ({"source": "llm"}, "source is one of hand, bootstrap, failure"),
        ({"created_step": -1}, "created_step is at least 0"),
        ({"created_step": True}, "created_step is a whole number"),
        ({"parents": ("../../etc/passwd",)}, r"parents: a card id is 16 hex digits.*\(a path\)"),
        ({"parents": "abc"}, "parents is a list"),
        ({"question_sha256": "abc"}, "question_sha256 is 64 hex digits"),
        ({"surprise": "x"}, "unknown field 'surprise'"),
    ],
)
def test_d6_what_no_card_may_hold_is_refused_by_name(fields, message):
    with pytest.raises(BadInput, match=message):
        SkillCard.from_json({"description": "Do it.", **fields})


@pytest.mark.parametrize("data", [None, [], "text", {"trigger": "x"}])
def test_d6_what_is_no_card_at_all_is_refused(data):
    with pytest.raises(BadInput):
        SkillCard.from_json(data)


def test_d4_an_answer_in_any_field_is_found_by_its_words():
    card = SkillCard(
        "Look for the capital.", "Paris's river", "Avoid U.S.A.", "{entity} river", notes="see 14 December 1972"
    )
    assert leaked(card, "PARIS") == (("trigger", "PARIS"),)
    assert leaked(card, ["The Seine", "usa", "u s a"]) == (("anti_pattern", "usa"), ("anti_pattern", "u s a"))
    assert leaked(card, ["The Capital", "U S.A", "A river"]) == (
        ("description", "The Capital"),
        ("anti_pattern", "U S.A"),
        ("trigger", "A river"),
        ("query_template", "A river"),
    )
    assert leaked(card, "14 December, 1972") == (("notes", "14 December, 1972"),)
    assert leaked(card, ["yes", "No", "of", "cap", "aris", "1972 UTC", ""]) == ()


def test_a_question_is_known_by_its_words():
    assert question_sha256("Who wrote  it?") == question_sha256("who wrote it") != question_sha256("Who wrote that?")
    assert SkillCard("Do it.", question="Who?").question_sha256 == question_sha256("who")


def test_a_text_that_grows_in_its_kept_form_is_measured_there(tmp_path):
    growing = "\u0958"  # one character that NFC writes as two
    with pytest.raises(BadInput, match="anti_pattern has 3,000 characters"):
        SkillCard("Do it.", anti_pattern=growing * 1500)
    card = SkillCard("Do it.", anti_pattern=growing * 1000)
    assert len(card.anti_pattern) == 2000 and SkillCard.from_json(card.to_json()) == card
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add(card)
    with SkillBank.open(tmp_path / "bank") as bank:
        assert bank.entry(card.id).card == card

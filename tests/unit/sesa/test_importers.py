"""Cards from elsewhere: what is read, and what each kind of bad content is answered with."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, MetaGymError, StoreError
from metagym.sesa import SkillBank, SkillCard, views
from metagym.sesa.importers import read_cards, write_cards
from metagym.sesa.intake import TakenIn, census, take_in
from metagym.sesa.skillmd import read_skill
from tests.unit.sesa.cards import lesson

SKILLRL = {
    "general_skills": [
        {"skill_id": "g_1", "title": "Split it", "principle": "Search hop by hop.", "when_to_apply": "Several hops."}
    ],
    "query_type_skills": {
        "comparison": [
            {"skill_id": "cmp_001", "title": "Both", "principle": "Find both dates.", "when_to_apply": "Two works."}
        ]
    },
    "task_specific_skills": {
        "entity": [
            {"skill_id": "ent_001", "title": "Name", "principle": "Use the full name.", "when_to_apply": "Namesakes."}
        ]
    },
    "common_mistakes": [
        {
            "mistake_id": "err_001",
            "description": "Answering from the title.",
            "why_it_happens": "It looks right.",
            "how_to_avoid": "Read the passage.",
        }
    ],
    "metadata": {"version": "1"},
}  # fmt: skip

GOOD = b"---\nname: split-it\ndescription: Split the question.\n---\n"


def put(path: Path, data: bytes | str | dict | list) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, (dict, list)):
        data = json.dumps(data)
    path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    return path


def test_skillrl_is_read_with_both_spellings_of_its_key(tmp_path):
    report = read_cards(put(tmp_path / "skills.json", SKILLRL))
    cards = report.all_or_nothing()
    assert [(card.title, card.category, card.source) for card in cards] == [
        ("Split it", "", "bootstrap"),
        ("Name", "entity", "bootstrap"),
        ("Both", "comparison", "bootstrap"),
        ("", "common_mistakes", "bootstrap"),
    ]
    assert cards[0].description == "Search hop by hop." and cards[0].trigger == "Several hops."
    assert cards[3].description == "Read the passage."
    assert cards[3].anti_pattern == "Answering from the title. Why it happens: It looks right."
    assert report.cards[2][0].endswith("query_type_skills.comparison[0]")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({**SKILLRL, "querytype_skills": {}}, "unknown top-level key 'querytype_skills'; a skill file has gen"),
        ([], "its top is list, not an object"),
        ("{", "is no JSON"),
        ('{"general_skills": NaN}', "is no JSON .NaN is not allowed"),
        ("[" * 50_000, "is no JSON .nested too deeply|is no JSON"),
        (b"", "is empty .0 bytes"),
        (b'{"a": "\xff"}', "line 1: not UTF-8 at byte 7"),
        (b'{"a":\n "\0"}', "line 2: a NUL byte"),
        ({"general_skills": {}}, "general_skills is a list"),
        ({"task_specific_skills": []}, "task_specific_skills is an object of lists"),
        ({"query_type_skills": {"x": "y"}}, "query_type_skills.x is a list"),
    ],
)  # fmt: skip
def test_a_skillrl_file_that_is_not_usable_is_refused_as_a_whole(tmp_path, data, message):
    with pytest.raises(BadInput, match=message):
        read_cards(put(tmp_path / "skills.json", data))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("text", r"general_skills\[0\]: an item is an object"),
        ({}, "principle is missing"),
        ({"principle": 3}, "principle is a text, got 3"),
        ({"principle": "Do it.", "when": "x"}, "unknown field 'when'"),
        ({"principle": "Do it.\x1b[2J"}, r"description holds the hidden character U\+001B"),
        ({"principle": "x" * 5000}, "description has 5,000 characters"),
    ],
)
def test_an_item_that_is_not_usable_is_refused_with_its_place(tmp_path, item, message):
    good = {"principle": "Read the passage."}
    report = read_cards(put(tmp_path / "skills.json", {"general_skills": [item, good]}))
    assert len(report.cards) == 1 and len(report.refused) == 1
    with pytest.raises(BadInput, match=message):
        report.all_or_nothing()


def test_json_lines_name_their_line(tmp_path):
    lines = [json.dumps(lesson(n).to_json()) for n in range(3)]
    bad = [
        "no json",
        '{"description": 1}',
        '{"description": "Do.", "id": "../x"}',
        '{"description":"' + "x" * 2_000_000 + '"}',
    ]
    path = put(tmp_path / "cards.jsonl", "\r\n".join([lines[0], *bad, "", lines[1], lines[2]]))
    report = read_cards(path)
    assert [card for _, card in report.cards] == [lesson(n) for n in range(3)]
    assert [refusal.split(": ")[0].rsplit(" ", 1)[1] for refusal in report.refused] == ["2", "3", "4", "5"]
    assert "unknown field 'id'" in report.refused[2] and "2,000,018 characters" in report.refused[3]
    assert report.remarks == [f"{path}: Windows line ends (CR LF) were read as LF"]
    with pytest.raises(BadInput, match=r"cards\.jsonl, line 2: no JSON .*\(and 3 more\)"):
        report.all_or_nothing()


def test_skills_from_elsewhere_keep_their_body_as_notes(tmp_path):
    text = (
        "---\nname: pdf-forms\ndescription: >\n  Fill in PDF forms.\n  Use when: a form is asked for\nlicense: MIT\n"
        "allowed-tools: Bash Read\n---\n# PDF forms\n\nFirst steps.\n\n## Avoid\n\nFlattening. Guessing.\n\n## More\n\n"
        "    code\n"
    )
    put(tmp_path / "skills" / "pdf-forms" / "SKILL.md", text)
    [card] = read_cards(tmp_path / "skills").all_or_nothing()
    assert (card.description, card.trigger) == ("Fill in PDF forms.", "a form is asked for")
    assert card.anti_pattern == "Flattening. Guessing." and card.source == "hand"
    assert card.notes == "# PDF forms\n\nFirst steps.\n\n## More\n\n    code"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"is empty \(0 bytes\)"),
        (b"x" * 1_000_000, "is larger than 65,536 bytes"),
        (GOOD.replace(b"Split", b"Sp\0lit"), "line 3: a NUL byte; this is no text file"),
        (GOOD.replace(b"Split", b"Sp\xfflit"), "line 3: not UTF-8 at byte"),
        (GOOD.replace(b"Split", b"Sp\x1blit"), "the front matter is no YAML"),
        (GOOD.replace(b"Split the question.", b'"Sp\\u001blit"'), r"line 3: field description holds .* U\+001B"),
        (b"# no front matter\n", "line 1: a SKILL.md begins with front matter"),
        (b"---\nname: x\n", "line 1: the front matter is not closed"),
        (b"---\n- a\n---\n", "line 2: the front matter is not made of fields"),
        (b"---\na: [\n---\n", "line 2: the front matter is no YAML"),
        (b"---\nname: &a x\ndescription: *a\n---\n", "line 2: the front matter holds an anchor or alias"),
        (b"---\na: " + b"[" * 30_000 + b"\n---\n", "nested too deeply|no YAML"),
        (GOOD.replace(b"split-it", b"../../etc/passwd"), r"line 2: field name is at most 64 .*\(a path\)"),
        (GOOD.replace(b"split-it", b"Split It"), "line 2: field name is at most 64 of a-z, 0-9 and single hyphens"),
        (GOOD.replace(b"name: split-it\n", b""), "line 1: field name is missing"),
        (GOOD.replace(b"Split the question.", b""), "line 3: field description is missing"),
        (GOOD.replace(b"Split the question.", b"{a: b}"), "line 3: a plain text is expected here"),
        (GOOD.replace(b"---\n", b"---\nname: y\n", 1), "line 3: field name stands there twice"),
        (GOOD.replace(b"---\n", b"---\nauthor: y\n", 1), "line 2: unknown field 'author'"),
        (GOOD[:-4] + b"metadata:\n  source: llm\n---\n", "line 4: field source is one of hand, bootstrap, failure"),
        (GOOD[:-4] + b"metadata:\n  created_step: -1\n---\n", "line 4: field created_step is a whole number"),
        (GOOD[:-4] + b"metadata:\n  parents: ../x\n---\n", r"line 4: field parents: a card id is 16 .*\(a path\)"),
        (GOOD + b"\n## Avoid\n\n" + b"x" * 3000, "line 6: field anti_pattern has 3,001 characters"),
        (GOOD + b"\ntext\xe2\x80\xae\n", r"line 5: field notes holds the hidden character U\+202E"),
    ],
)  # fmt: skip
def test_c7_p5_a_bad_hand_file_names_file_line_and_field(tmp_path, data, message):
    put(tmp_path / "hand" / "bad" / "SKILL.md", data)
    put(tmp_path / "hand" / "good" / "SKILL.md", GOOD)
    report = read_cards(tmp_path / "hand")
    assert len(report.cards) == 1
    with pytest.raises(BadInput, match=rf"(?s)bad/SKILL\.md.*({message})"):
        report.all_or_nothing()


def test_c7_marks_and_line_ends_of_windows_are_read_and_told(tmp_path):
    path = put(tmp_path / "SKILL.md", b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + b"\r\nNotes.\r\n")
    report = read_cards(path)
    [card] = report.all_or_nothing()
    assert card.description == "Split the question." and card.notes == "Notes."
    assert [remark.split(": ")[1] for remark in report.remarks] == [
        "a byte order mark was passed over",
        "Windows line ends (CR LF) were read as LF",
    ]


def test_c7_links_are_not_followed(tmp_path):
    secret = put(tmp_path / "secret" / "SKILL.md", GOOD)
    hand = tmp_path / "hand"
    put(hand / "good" / "SKILL.md", GOOD)
    (hand / "file").mkdir()
    (hand / "file" / "SKILL.md").symlink_to(secret)
    (hand / "folder").symlink_to(secret.parent)
    (hand / "loop.md").symlink_to(hand / "loop.md")
    report = read_cards(hand)
    assert len(report.cards) == 1 and len(report.refused) == 3
    assert all("is a symbolic link; links are not followed" in refusal for refusal in report.refused)
    with pytest.raises(BadInput):
        read_cards(hand / "folder")
    assert "symbolic link" in read_cards(hand / "loop.md").refused[0]


def test_what_is_nothing_to_read_is_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no SKILL.md"):
        read_cards(tmp_path)
    with pytest.raises(BadInput, match="is no folder, .md, .jsonl or .json"):
        read_cards(tmp_path / "cards.yaml")
    with pytest.raises(StoreError, match="No such file"):
        read_cards(tmp_path / "none.json")
    with pytest.raises(BadInput, match="source is one of"):
        read_cards(tmp_path, source="llm")


@pytest.mark.parametrize("blank", [b"\n", b" \t\r\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_d6_a_file_of_blank_lines_is_told(tmp_path, blank):
    path = put(tmp_path / "cards.jsonl", blank)
    with pytest.raises(BadInput, match="holds no card"):
        read_cards(path)


def test_c7_a_pipe_is_no_file_and_nobody_waits_for_it(tmp_path):
    pipe = tmp_path / "cards.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="is no regular file"):
        read_cards(pipe)
    pipe.rename(tmp_path / "SKILL.md")
    with pytest.raises(BadInput, match="is no regular file"):
        read_cards(tmp_path).all_or_nothing()


def test_d6_a_line_of_strange_blanks_is_refused_and_not_left_out(tmp_path):
    path = tmp_path / "cards.jsonl"
    path.write_text('\x1c\n\u3000\n \t\x0c\n{"description": "Do it."}\n', "utf-8")
    report = read_cards(path)
    assert len(report.cards) == 1 and [text.split(": ")[0][-6:] for text in report.refused] == ["line 1", "line 2"]


@given(st.binary(max_size=300), st.sampled_from([b"", GOOD, GOOD[:-4], b"---\n", b'{"general_skills":[']))
@example(b"\xef\xbb\xbf", b"")
@settings(max_examples=200, deadline=None)
def test_d6_no_bytes_crash_a_reader(tmp_path_factory, data, head):
    with suppress(MetaGymError):
        assert read_skill(head + data, "x.md").card.description
    folder = tmp_path_factory.getbasetemp()
    for suffix in (".json", ".jsonl"):
        path = put(folder / f"any{suffix}", head + data)
        with suppress(MetaGymError):
            report = read_cards(path)
            assert report.cards or report.refused or suffix == ".json"


@pytest.mark.parametrize("kind", ["skill-md", "jsonl", "skillrl"])
def test_what_is_exported_can_be_imported(tmp_path, kind):
    cards = [
        lesson(1, "hand", title="A", category="x"),
        lesson(2),
        SkillCard("Read it.", anti_pattern="Guess. Why it happens: haste.", category="common_mistakes"),
    ]
    out = tmp_path / {"skill-md": "out", "jsonl": "out.jsonl", "skillrl": "out.json"}[kind]
    assert write_cards(cards, out, kind) == 3
    back = read_cards(out).all_or_nothing()
    assert sorted(card.id for card in back) == sorted(card.id for card in cards)
    if kind != "skillrl":
        assert {card.id: card for card in back} == {card.id: card for card in cards}
    else:
        assert {card.category for card in back} == {"x", "", "common_mistakes"}
    with pytest.raises(BadInput, match="exists already"):
        write_cards(cards, out, kind)
    with pytest.raises(BadInput, match="format is one of"):
        write_cards(cards, tmp_path / "y", "xml")


def test_an_edited_file_of_the_bank_comes_in_as_a_new_card(tmp_path):
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add_many([lesson(1), lesson(2)])
        bank.flush()
        path = views.card_file(bank.path, lesson(1).id)
        path.write_text(path.read_text().replace(lesson(1).description, "Read both passages to the end."))
        done = take_in(bank, read_cards(bank.path / "cards"))
        assert done == TakenIn(replaced=1, known=1)
        assert bank.entry(lesson(1).id).status == "superseded" and len(bank) == 2
        assert bank.flush() == [] and path.is_file()
        assert take_in(bank, read_cards(bank.path / "cards")) == TakenIn(known=3)
        facts = census(bank)
        assert (facts["cards"], facts["active"], facts["superseded"], facts["active, hand"]) == (3, 2, 1, 1)
        assert facts["wins per use"] is None

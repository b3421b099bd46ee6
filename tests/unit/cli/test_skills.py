"""``metagym skills``: what each command prints and how it refuses."""

from __future__ import annotations

import json

import pytest

from metagym.sesa import SkillBank
from tests.unit.sesa.cards import lesson


def test_a_bank_from_the_command_line(cli, tmp_path):
    done = cli("skills", "add", "bank", "--do", "Split the question.", "--when", "several hops", "--avoid", "guessing")
    assert done.code == 0 and done.out.endswith(" added\n")
    id_ = done.out.split()[0]
    again = cli("skills", "add", "bank", "--do", "split the question.", "--when", "Several hops", "--avoid", "guessing")
    assert again.out == f"{id_} is known already as {id_} (cosine 1.000)\n"
    assert cli("skills", "list", "bank").out.startswith(f"{id_}  active     hand")
    shown = cli("skills", "show", "bank", id_[:5]).out
    assert shown.startswith("---\nname: split-the-question-") and "## Avoid\n\nguessing\n" in shown
    assert cli("skills", "list", "bank", "--query", "a question of two hops").out.split()[1] == id_
    stats = dict(line.split(maxsplit=1) for line in cli("skills", "stats", "bank").out.splitlines() if "," not in line)
    assert (stats["cards"], stats["events"], stats["embedder"]) == ("1", "1", "hash 1")


def test_cards_move_out_and_in(cli, tmp_path):
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add_many(lesson(number) for number in range(3))
    for kind, place in (("skill-md", "out"), ("jsonl", "out.jsonl"), ("skillrl", "out.json")):
        assert cli("skills", "export", "bank", place, "--format", kind).out == f"3 cards: {place}\n"
        assert cli("skills", "import", "bank", place).out == "added 0, replaced 0, known already 3, refused 0\n"
        done = cli("skills", "import", f"new-{kind}", place, "--dedup", "0.9")
        assert done.out == "added 3, replaced 0, known already 0, refused 0\n"
    assert "unknown top-level key" in cli("skills", "import", "bank", put(tmp_path, {"skills": []})).sentence


def put(folder, data):
    path = folder / "skills.json"
    path.write_text(json.dumps(data))
    return path


def test_bad_cards_stop_an_import_or_are_listed(cli, tmp_path):
    path = put(tmp_path, {"general_skills": [{"principle": "Read it."}, {"principle": 3}]})
    assert "general_skills[1]: principle is a text, got 3" in cli("skills", "import", "bank", path).sentence
    done = cli("skills", "import", "bank", path, "--skip-bad")
    assert done.out == "added 1, replaced 0, known already 0, refused 1\n" and "refused: " in done.err


def test_priming_twice_says_so(cli, tmp_path):
    (tmp_path / "hand.jsonl").write_text(json.dumps(lesson(1).to_json()) + "\n")
    first = cli("skills", "prime", "bank", "--hand", "hand.jsonl", "--mined", "hand.jsonl")
    assert first.out == "added 1 hand-written and 0 mined; known already 1\n"
    assert cli("skills", "prime", "bank", "--hand", "hand.jsonl").out.endswith("known already 1\n")


def test_c3_a_damaged_bank_is_exit_code_2_and_repair_lists_what_is_lost(cli, tmp_path):
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add_many(lesson(number) for number in range(3))
    journal = tmp_path / "bank" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"crc":"', b'"crc":"f', 1))
    assert "journal.jsonl, line 1: the record is damaged" in cli("skills", "list", "bank").sentence
    done = cli("skills", "repair", "bank", "copy")
    assert done.code == 0 and done.out.startswith("dropped: line 1: ") and "kept 2 events, dropped 1: copy" in done.out
    assert len(cli("skills", "list", "copy").out.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("list", "nope"), "is no skill bank"),
        (("list", "bank", "--status", "dead"), "--status is one of active"),
        (("show", "bank", "ffff"), "holds no card 'ffff'"),
        (("add", "bank", "--do", "!!"), "description must say what to do"),
        (("add", "bank", "--do", "Do it.", "--embedder", "hash:64"), "was made with the embedder hash 1 (128 wide"),
        (("add", "bank", "--do", "Do it.", "--dedup", "0.5"), "was made with the threshold 0.85"),
        (("export", "bank", "bank"), "exists already"),
        (("import", "bank", "nope.json"), "No such file"),
        (("repair", "bank", "bank"), "exists already"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(cli, tmp_path, arguments, message):
    SkillBank.open(tmp_path / "bank").close()
    assert message in cli("skills", *arguments).sentence

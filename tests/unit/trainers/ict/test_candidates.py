"""Candidates: the loop's own rule decides what a completion says."""

from __future__ import annotations

from typing import Any

import pytest

from metagym.chat.types import Reply
from metagym.ict.reflector import reflection_of
from metagym_trainers.ict.candidates import candidate_of, text_of

TRICKY = '{"cmd": "go"} {} {0} { %s %(x)s $x ${y} {{y}} \\n'


@pytest.mark.parametrize(
    "completion",
    [
        "IMPROVED PROMPT:\nopen it first",
        [{"role": "assistant", "content": "IMPROVED PROMPT:\nopen it first"}],
        {"role": "assistant", "content": "IMPROVED PROMPT:\nopen it first"},
        [{"role": "assistant", "content": [{"type": "text", "text": "IMPROVED PROMPT:\nopen it first"}]}],
    ],
)
def test_strings_and_conversations_are_read_alike(completion: Any) -> None:
    assert candidate_of(completion, "old").prompt == "open it first"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", "empty"),
        ("I would rather not.", "no-section"),
        ("ANALYSIS: all is well\nIMPROVED PROMPT:\n", "empty"),
        ("IMPROVED PROMPT: a\x00b", "error"),
        ("IMPROVED PROMPT: a\ud800", "error"),
        ("IMPROVED PROMPT: " + "x" * 100_001, "error"),
    ],
)
def test_what_the_loop_would_not_use_is_no_candidate(text: str, outcome: str) -> None:
    found = candidate_of(text, "old")
    assert (found.prompt, found.outcome) == (None, outcome) and found.cause
    if text:
        assert reflection_of(Reply(text), "old").prompt == "old"


def test_writing_the_same_prompt_again_is_a_candidate() -> None:
    assert candidate_of("IMPROVED PROMPT: old", "old") == candidate_of("IMPROVED PROMPT:\nold", "old")
    assert candidate_of("IMPROVED PROMPT: old", "old").outcome == "unchanged"


def test_s19_a_prompt_of_braces_is_taken_as_it_is() -> None:
    assert candidate_of(f"IMPROVED PROMPT:\n{TRICKY}", TRICKY * 2).prompt == TRICKY.strip()


def test_trl_issue_12_a_completion_is_cut_unless_it_ends_on_any_of_the_end_ids() -> None:
    text = "IMPROVED PROMPT: use the key"
    assert candidate_of(text, "", [5, 7, 2], {2, 3}).prompt == "use the key"
    assert candidate_of(text, "", [5, 7, 3], {2, 3}).prompt == "use the key"
    assert candidate_of(text, "", [5, 7, 9], {2, 3}).outcome == "cut"
    assert candidate_of("", "", [9], {2}).outcome == "cut"
    assert candidate_of(text, "", [5, 7, 9], None).prompt == "use the key"  # nothing is known of its end


@pytest.mark.parametrize("strange", [None, 3, [None], [{"role": "assistant", "content": None}], [{"content": [7]}]])
def test_a_strange_completion_is_an_empty_text(strange: Any) -> None:
    assert text_of(strange) == ""

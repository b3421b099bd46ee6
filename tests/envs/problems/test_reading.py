"""Where the answer stands in a reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.chat import Reply
from metagym_envs.problems.family import clean
from metagym_envs.problems.reading import FORMS, boxed, code, letter
from metagym_envs.problems.rows import Kind


def read(kind: Kind, text: str | None) -> str:
    return FORMS[kind].read(Reply(text) if text else Reply(None, absence="empty"), None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"so \boxed{42}.", "42"),
        (r"\boxed{1} no, \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{ 7 } and then \boxed{8", "7"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed {x}", "x"),
        (r"\fbox{3}", "3"),
        (r"\boxed{4, \boxed{3}}", "3"),
        ("no box", None),
        (r"\boxed{", None),
        (r"}\boxed}{", None),
    ],
)
def test_the_last_complete_box_counts(text: str, found: str | None) -> None:
    assert boxed(text) == found


def test_thinking_is_not_the_answer() -> None:
    assert read("math", r"<think>\boxed{1}</think> It is \boxed{2}.") == "2"
    assert read("math", r"<think>\boxed{1}") == ""
    assert read("math", r"maybe \boxed{1}</think>\boxed{2}") == "2"
    assert read("math", "<answer>5</answer>") == "5" and read("math", None) == ""
    assert read("program", "<think>\n```python\nwrong\n```\n</think>\n```python\nright\n```") == "right\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A", "A"), ("b", "B"), ("(C)", "C"), ("D.", "D"), (r"\text{A}", "A"), (r"\textbf{(B)}", "B"),
        ("C) methane", "C"), ("Argon", ""), ("I do not know", ""), ("A satellite", ""), 
        ("B - nitrogen", "B"), ("A\n", "A"), ("", ""), ("42", ""), ("K", ""), ("AB", ""),
    ],
)  # fmt: skip
def test_a_letter_is_the_first_thing_that_an_answer_says(text: str, found: str) -> None:
    assert letter(text) == found
    assert read("choice", rf"I think \boxed{{{text}}}") == found


def test_the_last_block_of_python_counts() -> None:
    text = "```python\na = 1\n```\nBetter:\n```py\nif x:\n    a = 2\n```\nRun it:\n```bash\npython a.py\n```\n"
    assert code(text) == "if x:\n    a = 2\n"
    assert code("```\nplain\n```") == "plain\n" and code("```python\ncut off") is None and code("a = 1") is None
    assert read("function", text) == "if x:\n    a = 2\n"
    assert clean("\n    return 1\n\n", None).command == "    return 1"  # the body of a function stays indented


def test_reading_takes_one_pass() -> None:
    assert boxed("\\boxed{" * 100_000) is None and boxed("{" * 100_000 + "}" * 100_000) is None
    assert code("```x\n" * 100_000) is None and code("```python\n```\n" * 50_000) == ""


@given(st.text(alphabet="\\boxedfb{}<>/think`\n AB1", max_size=200))
def test_any_reply_can_be_read(text: str) -> None:
    for kind, form in FORMS.items():
        found = form.read(Reply(text) if text else Reply(None, absence="empty"), None)
        assert isinstance(found, str) and (kind != "choice" or len(found) <= 1)

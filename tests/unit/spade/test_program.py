from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import ProgramRejected
from metagym.sandbox.language.reading import MAX_CHARS
from metagym.spade.program import EnvProgram, program_in, shown_info
from tests.unit.spade.programs import HEADER, LOCK, SHOP, changed


def code_of(source: str | bytes) -> str:
    with pytest.raises(ProgramRejected) as caught:
        EnvProgram.parse(source)
    assert caught.value.message and caught.value.line >= 0
    return caught.value.code


def test_the_header_and_the_class_are_read() -> None:
    program = EnvProgram.parse(LOCK)
    assert program.class_name == "LockEnv"
    assert LOCK.splitlines()[program.line - 1].startswith("class LockEnv")
    assert (program.title, program.skill, program.domain) == ("Number lock", "Logical Deduction", "locks")
    assert (program.action_format, program.max_steps, program.reward_range) == ("text", 12, (0.0, 1.0))
    assert program.methods == ("hint", "reset", "solution", "step") and program.bases == ("SyntheticEnv",)
    assert program.has_hint and not program.has_tools and program.license == "generated" and program.parents == ()
    assert EnvProgram.parse(SHOP).has_tools


def test_bytes_and_text_are_one_program_and_any_change_is_another() -> None:
    program = EnvProgram.parse(LOCK)
    assert program == EnvProgram.parse(LOCK.encode())
    assert len(program.digest) == 64 and program.digest != EnvProgram.parse(LOCK + "\n").digest


@pytest.mark.parametrize("text", ["[0, 1]", "0..1", "(0, 1)", "0 to 1", "0 1.0", "from 0 to 1e0"])
def test_a_reward_range_may_be_written_in_many_ways(text: str) -> None:
    source = changed(LOCK, "reward_range: [0, 1]", f"reward_range: {text}")
    assert EnvProgram.parse(source).reward_range == (0.0, 1.0)
    assert EnvProgram.parse(changed(LOCK, "[0, 1]", "[-1.5, .5]")).reward_range == (-1.5, 0.5)


def test_an_empty_line_of_the_header_takes_nothing_from_the_next() -> None:
    program = EnvProgram.parse(changed(LOCK, "domain: locks", "license:\nparents: abc, def\ndomain: locks"))
    assert (program.license, program.parents) == ("generated", ("abc", "def"))
    with pytest.raises(ProgramRejected, match="there is none for title "):
        EnvProgram.parse(changed(LOCK, "title: Number lock", "title:"))


def test_success_is_the_greatest_return_of_an_episode_that_came_to_its_end() -> None:
    program = EnvProgram.parse(LOCK)
    assert program.solved(1.0, True) and program.solved(1 / 3 + 1 / 3 + 1 / 3, True)
    assert not program.solved(1.0, False) and not program.solved(0.99, True)


@pytest.mark.parametrize("text", ["", "  \n", "Sure! I would be glad to help.", "hello", "x = 1\ny = 2\n", b""])
def test_no_code(text: str | bytes) -> None:
    assert code_of(text) == "no_code"


@pytest.mark.parametrize(
    "text",
    [
        "class X(:\n    pass",
        "class X:\n\tdef f(self):\n        return 1",
        "class X:\n    pass\n" + "\ud800",
        "class X:\0 pass",
        b"class X: pass # \xff\xfe",
        HEADER + "class X:\n    def reset(self, seed):\n        return 0" + "9" * 5000,
    ],
)
def test_syntax_error(text: str | bytes) -> None:
    assert code_of(text) == "syntax_error"


def test_too_long() -> None:
    assert code_of("#" * (MAX_CHARS + 1)) == "too_long"
    assert code_of(b"#" * (MAX_CHARS * 4 + 1)) == "too_long"
    assert code_of("class X:\n    a = " + "+".join(["1"] * 150)) == "too_long"  # deep
    assert code_of("class X:\n    a = " + "(" * 3000 + ")" * 3000) in ("too_long", "syntax_error")
    assert code_of("class X:\n    a = [" + "b," * 25_000 + "]") == "too_long"  # many parts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: Number lock\n", ""),
        ("max_steps: 12", "max_steps: many"),
        ("max_steps: 12", "max_steps: 0"),
        ("max_steps: 12", "max_steps: 201"),
        ("action_format: text", "action_format: telepathy"),
        ("reward_range: [0, 1]", "reward_range: [1, 0]"),
        ("reward_range: [0, 1]", "reward_range: [0, 1e999]"),
        ("reward_range: [0, 1]", "reward_range: one"),
        (HEADER, ""),
    ],
)
def test_metadata_missing(old: str, new: str) -> None:
    assert code_of(changed(LOCK, old, new)) == "metadata_missing"


def test_no_env_class() -> None:
    assert code_of(HEADER + "def step():\n    pass\n") == "no_env_class"
    assert code_of(HEADER + "class X:\n    def step(self, action):\n        pass\n") == "no_env_class"
    assert code_of(HEADER + "class X(SyntheticEnv):\n    pass\n") == "no_env_class"
    assert code_of(HEADER + "class X(X):\n    pass\n") == "no_env_class"


def test_several_env_classes() -> None:
    second = LOCK[len(HEADER) :].replace("LockEnv", "OtherEnv")
    assert code_of(LOCK + second) == "several_env_classes"


def test_helpers_and_bases_of_the_program_are_no_second_environment() -> None:
    helper = "\n\nclass Robot:\n    def step(self, action):\n        return action\n"
    child = "\n\nclass HardEnv(LockEnv):\n    PINS = 3\n"
    program = EnvProgram.parse(LOCK + helper + child)
    assert program.class_name == "HardEnv" and "solution" in program.methods


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200)))
def test_any_text_is_a_program_or_a_refusal_with_a_code(text: str | bytes) -> None:
    try:
        EnvProgram.parse(text)
    except ProgramRejected as refused:
        assert refused.code in ("no_code", "syntax_error", "too_long", "metadata_missing", "no_env_class")


# --- replies


def test_the_first_block_marked_as_python_is_the_program() -> None:
    reply = f"Plan:\n```\nclass Draft: pass\n```\n```json\n{{}}\n```\n```Python\n{LOCK}```\nand\n```python\nx\n```"
    assert program_in(reply) == LOCK


def test_a_block_that_defines_no_class_may_stand_before_the_program() -> None:
    sketch = "```python\nLOW, HIGH = 1, 59\n```\n"
    assert program_in(f"An idea:\n{sketch}The program:\n```python\n{LOCK}```\n{sketch}") == LOCK
    broken = LOCK + "    def more(self:\n"
    assert program_in(f"{sketch}```python\n{broken}```\n") == broken  # its error is what the author is told
    assert program_in(sketch + sketch.replace("1, 59", "2, 3")) == "LOW, HIGH = 1, 59\n"


def test_an_unmarked_block_or_the_whole_text_will_do_if_it_defines_a_class() -> None:
    assert program_in(f"Here:\n~~~\n{LOCK}~~~\n") == LOCK
    assert program_in(LOCK) == LOCK
    assert program_in("```\nls -l\n```") is None
    assert program_in("I cannot do that.") is None and program_in("") is None


def test_a_reply_that_was_cut_off_is_kept_to_its_end() -> None:
    cut = LOCK[: len(LOCK) // 2]
    assert program_in(f"```python\n{cut}") == cut


def test_a_longer_fence_may_hold_a_shorter_one() -> None:
    body = 'TEXT = """\n```\nmap\n```\n"""\n'
    assert program_in(f"````py\n{body}````\n") == body


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="`~python \nclasX:()", max_size=120))
def test_any_reply_has_a_program_or_none(reply: str) -> None:
    found = program_in(reply)
    assert found is None or found in reply


def test_agents_see_numbers_of_the_allowed_keys_only() -> None:
    info = {"steps": 3, "score": 0.5, "success": True, "turn": "the answer is 7", "solution": 7, "valid": [7]}
    assert shown_info(info) == {"steps": 3, "score": 0.5, "success": True}

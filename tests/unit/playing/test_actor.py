from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.chat import Reply
from metagym.errors import BadInput
from metagym.playing import actor
from metagym.playing.actor import FORMAT, ActorSettings, Conversation, command_of, thought_of

LEGAL = ("go north", "open door", "look")


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("Thought: hm.\nAction: go north", "go north"),
        ("thought: hm\nACTION:   go north  ", "go north"),
        ("**Action:** open door", "open door"),
        ("> Action: look", "look"),
        ("Action: look\nObservation: dark\nAction: go north", "look"),
        ("go north", "go north"),
        ("I will leave.\ngo north\n", "go north"),
        ("I will leave.\nThen I rest.", "I will leave."),
        ("Thought: I do not know", ""),
        ("Action:", ""),
        ("\n \n", ""),
        ("open door THEN go north", "open door THEN go north"),
        ("Satisfaction: high\nAction: look", "look"),
    ],
)
def test_one_documented_rule_finds_the_command(reply: str, command: str) -> None:
    assert command_of(Reply(reply), LEGAL) == command


PIECES = st.sampled_from(
    ["Thought: x", "Action: ", "Action:", "action: ", "Reaction: ", "act\u0131on: ", "\nAction: go on", "go", "*", "_"]
    + [" ", "\n", "\r", "\t", "\x1c", "\u2028", "\u0131", "\xe9", "act", "ion: "]
)


@given(st.lists(PIECES, min_size=1, max_size=9).map("".join))
def test_the_short_way_finds_what_the_rule_finds(text: str) -> None:
    match = actor._ACTION.search(text)
    if match is not None:
        assert command_of(Reply(text), None) == match[1].strip().rstrip("*_")


def test_a_reply_of_newlines_alone_is_read_in_linear_time() -> None:
    blank = "\n" * 1_000_000  # quadratic reading would take hours
    assert command_of(Reply(blank), LEGAL) == thought_of(blank) == ""


def test_absent_text_and_reasoning_hold_no_command() -> None:
    assert command_of(Reply(None, absence="length", reasoning="Action: go north"), LEGAL) == ""


@given(st.text(max_size=200))
def test_any_reply_gives_one_line(text: str) -> None:
    command = command_of(Reply(text), LEGAL)
    assert len(command.splitlines()) <= 1
    thought_of(text)


def test_the_thought_is_what_stands_before_the_action() -> None:
    assert thought_of("Thought: it is dark.\nAction: look") == "it is dark."
    assert thought_of("Action: look") == thought_of("look") == thought_of(None) == ""


def conversation(turns: int, **settings: object) -> Conversation:
    talk = Conversation("be kind", "A cave.", ActorSettings(**settings))  # type: ignore[arg-type]
    talk.observe("o0", LEGAL)
    for i in range(turns):
        talk.answer(f"r{i}")
        talk.observe(f"o{i + 1}", LEGAL)
    return talk


def test_the_first_message_says_how_to_answer_and_lists_the_actions() -> None:
    [system, user] = conversation(0).request(1, LEGAL).messages
    assert system.content == "be kind"
    assert user.content == f"A cave.\n\n{FORMAT}\n\no0\n\nAdmissible actions:\n- go north\n- open door\n- look"


def test_without_a_prompt_there_is_no_system_message() -> None:
    talk = Conversation("", "", ActorSettings(show_admissible=False))
    talk.observe("o0", LEGAL)
    assert [m.role for m in talk.request(1, None).messages] == ["user"]
    assert talk.request(1, None).messages[0].content.endswith("\n\no0")


@pytest.mark.parametrize(("history", "count"), [(None, 11), (0, 1), (1, 3), (2, 5), (9, 11)])
def test_the_window_keeps_first_message_and_order(history: int | None, count: int) -> None:
    messages = conversation(5, history=history).request(1, LEGAL).messages[1:]
    assert len(messages) == count
    assert "A cave." in messages[0].content and "o5" in messages[-1].content
    assert [m.role for m in messages] == (["user", "assistant"] * 9)[:count]


def test_choosing_sends_the_legal_actions_and_no_format() -> None:
    request = conversation(0, choose=True).request(1, LEGAL)
    assert request.choices == LEGAL and "Thought" not in request.messages[1].content
    assert conversation(0, choose=True).request(1, None).choices is None


@pytest.mark.parametrize(
    "bad",
    [
        {"history": -1},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"max_tokens": 0},
        {"top_p": 0},
        {"top_p": 1.5},
        {"top_k": 0},
    ],
)
def test_bad_settings_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        ActorSettings(**bad)  # type: ignore[arg-type]


def test_cuts_of_the_sampling_are_asked_of_the_model_only_where_they_are_set() -> None:
    assert conversation(0).request(1, None).extra == {}
    assert conversation(0, top_p=0.95, top_k=20).request(1, None).extra == {"top_p": 0.95, "top_k": 20}

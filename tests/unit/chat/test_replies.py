from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat import Reply
from metagym.chat.replies import read_completion


def completion(content: Any = "look", finish: str | None = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": "m-1",
        "choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}],
    }
    return body if usage is None else {**body, "usage": usage}


@pytest.fixture
def read(ask):
    def read(body: Any, mode: str = "off", **settings: Any) -> Reply:
        return read_completion(body, ask(**settings), model="m", backend="server", mode=mode)

    return read


def test_an_ordinary_answer(read):
    usage = {
        "prompt_tokens": 11,
        "completion_tokens": 3,
        "completion_tokens_details": {"reasoning_tokens": 2},
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    reply = read(json.dumps(completion(usage=usage)).encode())
    assert (reply.text, reply.absence, reply.cut, reply.model, reply.backend) == ("look", None, False, "m-1", "server")
    counts = reply.usage
    assert (counts.calls, counts.prompt_tokens, counts.completion_tokens, counts.reasoning_tokens) == (1, 11, 3, 2)
    assert (counts.cached_tokens, counts.estimated) == (8, False)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_s17_thinking_alone_is_no_answer(read, field):
    reply = read(completion(None, "length", **{field: "go north maybe"}))
    assert (reply.text, reply.absence) == (None, "length")
    assert reply.reasoning == "go north maybe"
    assert reply.usage.completion_tokens == 4 and reply.usage.estimated
    assert read(completion(None, "stop", **{field: "go north maybe"})).absence == "empty"


@pytest.mark.parametrize(
    ("content", "text", "thought"),
    [
        ("<think>north?</think>\n\ngo north", "go north", "north?"),
        ("north?\n</think>go north", "go north", "north?"),
        (" <think></think>go", "go", ""),
        ("say <think> aloud", "say <think> aloud", ""),
    ],
)
def test_thinking_in_the_text_is_kept_apart(read, content, text, thought):
    reply = read(completion(content))
    assert (reply.text, reply.reasoning) == (text, thought)


def test_thinking_that_never_ends_is_no_answer(read):
    reply = read(completion("<think>go north and", "length"))
    assert (reply.text, reply.absence, reply.reasoning) == (None, "length", "go north and")


@pytest.mark.parametrize("content", [None, "", "  \n", []])
def test_no_text_is_empty(read, content):
    reply = read(completion(content))
    assert (reply.text, reply.absence) == (None, "empty") and reply.cause


def test_a_tool_call_is_no_text(read):
    reply = read(completion(None, "tool_calls", tool_calls=[{"function": {"name": "go", "arguments": '{"a":1'}}]))
    assert (reply.absence, reply.cause) == ("empty", "the reply holds a tool call and no text")


@pytest.mark.parametrize("body", [completion("par", "content_filter"), completion(None, refusal="I will not.")])
def test_refusals_are_typed(read, body):
    reply = read(body)
    assert (reply.text, reply.absence) == (None, "refused")


def test_an_answer_at_the_limit_is_marked_as_cut(read):
    reply = read(completion("go nor", "length"))
    assert (reply.text, reply.absence, reply.cut) == ("go nor", None, True)


def test_parts_of_text_are_joined(read):
    assert read(completion([{"type": "text", "text": "go "}, {"type": "text", "text": "north"}])).text == "go north"


def test_stops_are_cut_on_our_side_too(read):
    reply = read(completion("go north\nObservation: dark", "length"), stop=("\n", "dark"))
    assert (reply.text, reply.cut) == ("go north", False)
    assert read(completion("\nthen"), stop=("\n",)).absence == "empty"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<!DOCTYPE html><html></html>", "web page"),
        ("", "not JSON"),
        ('{"choices": [{"mess', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "no JSON object"),
        ("{}", "no choice"),
        ('{"choices": []}', "no choice"),
        ('{"choices": [null]}', "no choice"),
        ('{"choices": [{}]}', "no message"),
        ('{"choices": [{"message": {"content": 3}}]}', "neither text nor null"),
        ('{"choices": [{"message": {"content": [{"type": "text"}]}}]}', "neither text nor null"),
    ],
)
def test_unusable_bodies_are_typed_errors(read, body, says):
    reply = read(body)
    assert (reply.text, reply.absence) == (None, "error")
    assert says in reply.cause
    assert reply.usage.estimated


@pytest.mark.parametrize(
    "usage", [None, {}, 3, {"prompt_tokens": -1, "completion_tokens": True}, {"prompt_tokens": "9"}]
)
def test_missing_or_senseless_usage_is_estimated(read, usage):
    counts = read(completion("12345678", usage=usage)).usage
    assert (counts.prompt_tokens, counts.completion_tokens, counts.estimated) == (6, 2, True)


@pytest.mark.parametrize(
    ("mode", "content", "text", "constraint"),
    [
        ("grammar", "open fridge", "open fridge", "enforced"),
        ("structured_outputs", " open fridge\n", "open fridge", "enforced"),
        ("json_schema", '{"choice": "open fridge"}', "open fridge", "enforced"),
        ("json_schema", "open fridge", "open fridge", "checked"),
        ("off", "open fridge", "open fridge", "checked"),
        ("guided_choice", "Sure! Open it.", "Sure! Open it.", "ignored"),
        ("json_schema", '{"choice": "fly"}', '{"choice": "fly"}', "ignored"),
        ("off", "fly", "fly", "ignored"),
    ],
)
def test_choices_are_checked_whatever_the_server_promised(read, mode, content, text, constraint):
    reply = read(completion(content), mode, choices=("open fridge", "go"))
    assert (reply.text, reply.constraint) == (text, constraint)


def test_a_choice_cut_by_the_limit_is_no_answer(read):
    assert read(completion("open fr", "length"), "grammar", choices=("open fridge",)).absence == "length"


@pytest.mark.parametrize(
    ("content", "constraint"),
    [
        ('{"a": 1, "b": ["x"]}', "enforced"),
        ('{"b": ["x"]}', "ignored"),
        ('{"a": "1"}', "ignored"),
        ('{"a": true}', "ignored"),
        ('{"a": 1, "b": ["z"]}', "ignored"),
        ("[]", "ignored"),
        ("{", "ignored"),
    ],
)
def test_json_answers_are_checked(read, content, constraint):
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"enum": ["x", "y"]}}},
    }
    assert read(completion(content), "json_schema", json_schema=schema).constraint == constraint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "finish_reason"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_no_body_crashes_the_reader(body):
    from metagym.chat import Message, Request

    reply = read_completion(json.dumps(body), Request((Message("user", "x"),)), model="m", backend="server")
    assert (reply.text is None) != (reply.absence is None)

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat.tools import MAX_ARGUMENTS, ToolArguments, ToolParseMessage, parse_tool_arguments
from metagym.errors import BadInput


@pytest.mark.parametrize("absent", [None, "", "  \n"])
def test_s18_absent_arguments_count_only_for_a_tool_without_required_ones(absent):
    assert parse_tool_arguments(absent) == ToolArguments({})
    answer = parse_tool_arguments(absent, ["query"])
    assert isinstance(answer, ToolParseMessage) and "query" in answer.message


@pytest.mark.parametrize("required", [[], ["a"]])
@pytest.mark.parametrize(
    "raw", ['{"a":1', '{"a":1}{"a":1}', '[{"a":1}]', '"{}"', "3", "true", "null", "go north", "{'a': 1}"]
)
def test_s18_malformed_arguments_give_a_message_and_no_arguments(raw, required):
    answer = parse_tool_arguments(raw, required)
    assert isinstance(answer, ToolParseMessage) and answer.message


def test_s18_the_next_well_formed_call_works():
    answer = parse_tool_arguments('{"a":1}', ["a"])
    assert answer == ToolArguments({"a": 1})


@pytest.mark.parametrize(
    "raw", ['{"a":NaN}', '{"a":1,"a":2}', "[" * 100_000, " " * MAX_ARGUMENTS + "{}", '{"a":' + "9" * 9000 + "}"]
)
def test_json_that_strict_readers_refuse_is_refused(raw):
    assert isinstance(parse_tool_arguments(raw), ToolParseMessage)


def test_missing_required_names_are_listed():
    answer = parse_tool_arguments('{"b": null}', ["a", "b", "c"])
    assert answer == ToolParseMessage("Required arguments are missing: a, c.")


def test_decoded_objects_are_taken():
    assert parse_tool_arguments({"a": 1}, ["a"]) == ToolArguments({"a": 1})
    with pytest.raises(BadInput):
        parse_tool_arguments(3)  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_arguments_or_a_message(raw):
    answer = parse_tool_arguments(raw)
    if isinstance(answer, ToolArguments) and raw.strip():
        assert json.loads(raw) == answer.values

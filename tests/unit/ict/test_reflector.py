from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.chat import Reply, Request, scripted
from metagym.errors import BudgetExceeded, RateLimited
from metagym.ict.reflector import Reflection, ReflectorSettings, prompt_in, reflect, reflection_of

NEW = "ANALYSIS:\nIt never opened doors.\n\nIMPROVED PROMPT:\nOpen doors.\nThen go in."


def test_a_new_prompt_is_taken_whole() -> None:
    made = reflection_of(Reply(NEW), "old")
    assert made.prompt == "Open doors.\nThen go in." and made.outcome == "improved"
    assert made.analysis == "It never opened doors." and made.reply == NEW


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply("I think it went well."), "no-section"),
        (Reply("ANALYSIS:\nx\nIMPROVED PROMPT:\n  \n"), "empty"),
        (Reply("IMPROVED PROMPT:\nold"), "unchanged"),
        (Reply("IMPROVED PROMPT:\nOpen do", cut=True), "cut"),
        (Reply(None, absence="length"), "cut"),
        (Reply(None, absence="refused"), "refused"),
        (Reply(None, absence="empty"), "empty"),
        (Reply(None, absence="error", cause="an HTML page"), "error"),
        (Reply("IMPROVED PROMPT:\na\x00b"), "error"),
        (Reply("IMPROVED PROMPT:\n" + "x" * 100_001), "error"),
    ],
)
def test_a_failed_reflection_keeps_the_prompt_as_a_typed_outcome(reply: Reply, outcome: str) -> None:
    made = reflection_of(reply, "old")
    assert made.prompt == "old" and made.outcome == outcome
    assert made.cause or outcome == "unchanged"


@pytest.mark.parametrize(
    "text",
    [
        "IMPROVED PROMPT: Be kind.",
        "## Improved Prompt:\nBe kind.",
        "**IMPROVED PROMPT:**\n\nBe kind.\n",
        "IMPROVED PROMPT:\n```\nBe kind.\n```",
        "improved system prompt:\n```text\nBe kind.\n```\n",
        "I will write IMPROVED PROMPT: below.\nIMPROVED PROMPT:\nBad.\nIMPROVED PROMPT:\nBe kind.",
    ],
)
def test_headings_are_read_tolerantly(text: str) -> None:
    assert prompt_in(text) == "Be kind."


@given(st.text(max_size=300), st.text(max_size=20))
def test_any_reply_is_read_and_records_survive_json(text: str, current: str) -> None:
    made = reflection_of(Reply(text) if text else Reply(None, absence="empty"), current)
    assert Reflection.from_json(made.to_json()) == made
    assert made.outcome != "improved" or made.prompt != current


def test_braces_in_prompts_are_data() -> None:
    prompt = 'Use {"cmd": "go"} {0} %s $x {{y}}'
    assert reflection_of(Reply("IMPROVED PROMPT:\n" + prompt), "").prompt == prompt


def test_a_failed_call_is_an_outcome_and_a_spent_budget_is_not() -> None:
    def limited(request: Request) -> str:
        raise RateLimited("429 after 3 requests")

    def broke(request: Request) -> str:
        raise BudgetExceeded("no money")

    made = asyncio.run(reflect(scripted(limited), "obs", "old", ReflectorSettings(), 1))
    assert made.outcome == "error" and "429" in made.cause and made.prompt == "old"
    with pytest.raises(BudgetExceeded):
        asyncio.run(reflect(scripted(broke), "obs", "old", ReflectorSettings(), 1))


def test_s16_a_hanging_reflector_is_an_outcome() -> None:
    async def silent(request: Request) -> str:
        await asyncio.sleep(3600)
        return NEW

    made = asyncio.run(reflect(scripted(silent), "obs", "old", ReflectorSettings(), 1, deadline=0.05))
    assert made.outcome == "error" and made.prompt == "old"
    assert made.cause == "the model did not answer within 0.05 s"


def test_a_reply_of_newlines_alone_is_read_in_linear_time() -> None:
    assert prompt_in("\n" * 1_000_000) is None  # quadratic reading would take hours


def test_the_request_holds_the_observation_as_it_is() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return NEW

    asyncio.run(reflect(scripted(answer), "{obs} %s", "old", ReflectorSettings(temperature=0.7), 9))
    assert asked[0].messages[1].content == "{obs} %s"
    assert (asked[0].temperature, asked[0].seed, asked[0].tag) == (0.7, 9, "reflector")

"""The client of servers with all its layers, against a server on loopback that fails on demand."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="the extra `openai` is not installed")

from metagym.chat import ChatModel, Message, Reply, Request, aclose, find_layer, load
from metagym.chat.accounts import Accounted, Budget, Ledger
from metagym.errors import (
    BadInput,
    BudgetExceeded,
    ChatError,
    ContextOverflow,
    RateLimited,
    ServerUnavailable,
    SpecError,
)
from tests.support.fake_server import FAULTS, FakeServer, Fault

KEY = "sk-test-abcDEF123456789xyz"


def say(model: ChatModel, *requests: Request) -> list[Any]:
    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(model.chat(request) for request in requests), return_exceptions=True)

    return asyncio.run(all_of_them())


def totals(model: ChatModel) -> dict[str, Any]:
    accounted = find_layer(model, Accounted)
    assert accounted is not None
    return accounted.ledger.totals()["total"]


def test_an_ordinary_call(ask):
    with FakeServer(lambda request: "go " + request.messages[-1].content) as server:
        reply = say(load(server.spec("tiny")), ask("north", stop=("\n",), seed=0, max_tokens=9))[0]
    assert (reply.text, reply.backend, reply.model, reply.attempts, reply.cached) == (
        "go north",
        "server",
        "tiny",
        1,
        False,
    )
    assert reply.usage.prompt_tokens == 6 and not reply.usage.estimated
    assert server.chats == [
        {
            "model": "tiny",
            "messages": [{"role": "user", "content": "north"}],
            "temperature": 0.0,
            "max_tokens": 9,
            "stop": ["\n"],
            "seed": 0,
        }
    ]


def test_s05_zero_reaches_the_server_as_zero(ask):
    with FakeServer() as server:
        say(load(server.spec(temperature=0), seed=0), ask(temperature=0.9, seed=0))
        say(load(server.spec()), ask(temperature=0.0))
    assert [(body["temperature"], body.get("seed")) for body in server.chats] == [(0.0, 0), (0.0, None)]
    assert all(type(body["temperature"]) is float for body in server.chats)


def test_a_seed_is_sent_in_the_range_of_every_server(ask):
    with FakeServer() as server:
        say(load(server.spec()), ask(seed=2**63 - 1))
    assert server.chats[0]["seed"] == 2**31 - 1


# What each fault becomes: text, absence or error, requests made, replies booked.
OUTCOMES: dict[str, tuple[Any, int, int]] = {
    "429": ("ok", 2, 1),
    "500": ("ok", 2, 1),
    "503": ("ok", 2, 1),
    "hang": ("ok", 2, 1),
    "slow": ("ok", 1, 1),
    "cut": ("ok", 2, 1),
    "drop": ("ok", 2, 1),
    "401": (ChatError, 1, 0),
    "404": (ChatError, 1, 0),
    "html": ("error", 1, 1),
    "not-json": ("error", 1, 1),
    "empty-choices": ("error", 1, 1),
    "null-content": ("empty", 1, 1),
    "reasoning-only": ("empty", 1, 1),
    "bad-tool-json": ("empty", 1, 1),
    "length": ("ok", 1, 1),
    "reasoning-length": ("length", 1, 1),
    "content-filter": ("refused", 1, 1),
    "refusal": ("refused", 1, 1),
    "no-usage": ("ok", 1, 1),
}


def test_every_scripted_fault_has_a_known_outcome():
    assert set(OUTCOMES) == set(FAULTS) - {"429-1s"}


@pytest.mark.parametrize("fault", OUTCOMES)
def test_each_fault_is_typed_and_charged_once(fault, ask, monkeypatch):
    monkeypatch.setattr("metagym.chat.retry.BASE_WAIT", 0.01)
    expected, requests, booked = OUTCOMES[fault]
    with FakeServer(faults=[fault]) as server:
        model = load(server.spec(timeout=0.5))
        outcome, after = say(model, ask())[0], say(model, ask())[0]
    if isinstance(expected, type):
        assert type(outcome) is expected
        assert totals(model)["failed"] == 1
    elif expected == "ok":
        assert (outcome.text, outcome.attempts) == ("ok", requests)
    else:
        assert (outcome.text, outcome.absence) == (None, expected) and outcome.cause
    assert after.text == "ok"
    assert len(server.chats) == requests + 1
    assert totals(model)["usage"]["calls"] == booked + 1
    assert totals(model)["retries"] == requests - 1


def test_s17_an_answer_cut_inside_its_thinking(ask):
    with FakeServer(faults=["reasoning-length"]) as server:
        model = load(server.spec())
        reply = say(model, ask())[0]
    assert (reply.text, reply.absence, reply.reasoning) == (None, "length", "go north maybe")
    assert reply.usage.completion_tokens > 0
    assert totals(model)["cut"] == 1


def test_s20_a_conversation_past_the_window_is_not_sent(ask):
    turn = Message("user", "word" * 596)  # 600 tokens with its frame
    with FakeServer(window=1000) as server:
        model = load(server.spec(context=1000))
        first, second = say(model, Request((turn,), max_tokens=512), Request((turn, turn), max_tokens=512))
        assert first.text == "ok"
        assert isinstance(second, ContextOverflow) and "1000" in str(second)
        assert [body["max_tokens"] for body in server.chats] == [400]  # what was left, and never less than 1
        edge = Request((Message("user", "word" * 996),))
        assert isinstance(say(model, edge)[0], ContextOverflow)
    assert len(server.chats) == 1


@pytest.mark.parametrize("words", ["vllm", "openai", "llamacpp"])
def test_s20_the_servers_own_refusal_is_recognised(ask, words):
    with FakeServer(window=1000, overflow=words) as server:
        outcome = say(load(server.spec()), ask("word" * 1200))[0]
    assert isinstance(outcome, ContextOverflow)
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        "Requested tokens (2285) exceed context window of 2048",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        "Input tokens exceed the configured limit of 272000 tokens.",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_s20_the_words_of_other_servers_are_recognised(ask, message, status):
    from metagym.chat.openai import OpenAIChat

    body = json.dumps({"error": {"message": message}}).encode()
    assert isinstance(OpenAIChat("m")._refusal(status, {}, body), ContextOverflow)


def test_s20_another_refusal_still_raises_in_the_servers_words(ask):
    with FakeServer(always=Fault("status", 400)) as server:
        outcome = say(load(server.spec(context=1000)), ask())[0]
    assert type(outcome) is ChatError and "answered 400: scripted fault 400" in str(outcome)
    assert len(server.chats) == 1


def test_s21_samples_are_cached_apart_and_replayed_in_place(ask, tmp_path):
    letters = iter("abcdefgh")
    lock = threading.Lock()

    def next_letter(request: Request) -> str:
        with lock:
            return next(letters)

    requests = [ask(temperature=1.0, sample=sample) for sample in range(4)]
    with FakeServer(next_letter) as server:
        model = load(server.spec(), cache=tmp_path / "c.sqlite")
        first = say(model, *requests)
        assert {reply.text for reply in first} == set("abcd")
        assert all("sample" not in json.dumps(body) for body in server.chats)
        again = say(load(server.spec(), cache=tmp_path / "c.sqlite"), *requests)
        assert [reply.text for reply in again] == [reply.text for reply in first]
        assert len(server.chats) == 4 and all(reply.cached for reply in again)
        other = say(model, *(dataclasses.replace(request, seed=5) for request in requests))
        assert {reply.text for reply in other} == set("efgh")
    replayed = say(load(server.spec(), cache=tmp_path / "c.sqlite", cache_mode="replay-only"), *requests)
    assert [reply.text for reply in replayed] == [reply.text for reply in first]  # with no server at all


def test_s22_one_owner_of_the_retry_policy(ask):
    with FakeServer(always="429-1s") as server:
        model = load(server.spec(retries=2), seed=0)
        outcome = say(model, ask())[0]
    assert type(outcome) is RateLimited and "3 requests" in str(outcome)
    assert len(server.chats) == 3
    at = [request.at for request in server.requests]
    assert at[2] - at[0] >= 2.0
    assert (totals(model)["retries"], totals(model)["failed"]) == (2, 1)


@pytest.mark.parametrize("fault", ["500", "drop", "cut"])
def test_a_server_that_stays_down_is_a_typed_error(fault, ask, monkeypatch):
    monkeypatch.setattr("metagym.chat.retry.BASE_WAIT", 0.01)
    with FakeServer(always=fault) as server:
        outcome = say(load(server.spec(retries=1)), ask())[0]
    assert type(outcome) is ServerUnavailable and "2 requests" in str(outcome)
    assert len(server.chats) == 2


def test_no_server_at_all_is_a_typed_error_that_names_it(ask, monkeypatch):
    monkeypatch.setattr("metagym.chat.retry.BASE_WAIT", 0.01)
    with FakeServer() as server:
        spec = server.spec(retries=1)
    outcome = say(load(spec), ask())[0]
    assert type(outcome) is ServerUnavailable and "127.0.0.1" in str(outcome) and "ConnectError" in str(outcome)


def test_a_used_up_quota_is_not_tried_again(ask):
    from metagym.chat.openai import OpenAIChat

    body = json.dumps({"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}).encode()
    assert type(OpenAIChat("m")._refusal(429, {"retry-after": "5"}, body)) is ChatError


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers, seconds):
    from metagym.chat.openai import OpenAIChat

    assert OpenAIChat("m")._refusal(429, headers, b"{}").retry_after == seconds


# --- keys


def test_the_key_comes_from_the_environment_and_goes_to_the_server_alone(ask, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeServer(lambda request: "fine", key=KEY) as server:
        model = load(server.spec(), cache=tmp_path / "c.sqlite")
        assert say(model, ask())[0].text == "fine"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in model.id + repr(model) + json.dumps(totals(model))
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "MY_SERVER_KEY"])
def test_a_refused_key_names_the_variable_and_is_not_repeated(ask, monkeypatch, variable):
    wrong = "sk-wrong-abcDEF123456789xyz"
    monkeypatch.setenv(variable, wrong)
    with FakeServer(key=KEY) as server:
        outcome = say(load(server.spec(key_env=variable)), ask())[0]
    assert type(outcome) is ChatError and f"read from {variable}, which is set" in str(outcome)
    assert wrong not in str(outcome) and len(server.chats) == 1


def test_a_key_of_unusual_form_is_hidden_in_the_servers_words(ask, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "plainword")
    with FakeServer(key=KEY) as server:
        outcome = say(load(server.spec()), ask())[0]
    assert "plainword" not in str(outcome) and "[hidden]" in str(outcome)


def test_a_missing_key_is_said(ask, monkeypatch):
    with FakeServer(key=KEY) as server:
        outcome = say(load(server.spec()), ask())[0]
        assert "OPENAI_API_KEY, which is not set" in str(outcome)
        with pytest.raises(SpecError, match="key_env=MY_KEY: this environment variable is not set"):
            load(server.spec(key_env="MY_KEY"))
    monkeypatch.setenv("OPENAI_API_KEY", "two\nlines")
    with pytest.raises(SpecError, match="OPENAI_API_KEY") as caught:
        load("openai:m")
    assert "two" not in str(caught.value)


def test_the_address_comes_from_the_environment_too(ask, monkeypatch):
    with FakeServer(lambda request: "found") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert say(load("openai:m"), ask())[0].text == "found"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:pass@host/v1")
    with pytest.raises(SpecError, match="OPENAI_BASE_URL is an address") as caught:
        load("openai:m")
    assert "pass" not in str(caught.value).replace("password", "")


# --- constraints


CHOICES = ("open fridge 1", 'say "hi" \\ now', "go to sink")


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"owned_by": "vllm", "version": "0.12.1"}, "structured_outputs"),
        ({"owned_by": "vllm", "version": "0.9.2"}, "guided_choice"),
        ({"owned_by": "llamacpp"}, "grammar"),
        ({"owned_by": "someone"}, "response_format"),
    ],
)
def test_auto_asks_the_server_once_and_uses_its_field(ask, told, field):
    with FakeServer(lambda request: "say more", **told) as server:
        model = load(server.spec())
        replies = say(model, *(ask(choices=CHOICES, sample=n) for n in range(3)))
        say(model, ask("free"))
    assert {(reply.text, reply.constraint) for reply in replies} == {("open fridge 1", "enforced")}
    assert sum(request.path.endswith("/models") for request in server.requests) == 1
    assert [field in body for body in server.chats] == [True, True, True, False]


@pytest.mark.parametrize("mode", ["structured_outputs", "guided_choice", "grammar", "json_schema", "off"])
@pytest.mark.parametrize("wanted", CHOICES)
def test_a_server_without_the_field_is_noticed(ask, mode, wanted):
    with FakeServer(lambda request: wanted, honours=()) as server:
        model = load(server.spec(choices=mode))
        kept = say(model, ask(choices=CHOICES))[0]
        ignored = say(model, ask(choices=("fly",)))[0]
    assert kept.text == wanted and kept.constraint == ("checked" if mode in ("json_schema", "off") else "enforced")
    assert (ignored.text, ignored.constraint) == (wanted, "ignored")
    assert not any(request.path.endswith("/models") for request in server.requests)


def test_grammars_carry_any_text(ask):
    with FakeServer(lambda request: CHOICES[1]) as server:
        reply = say(load(server.spec(choices="grammar")), ask(choices=CHOICES))[0]
    assert (reply.text, reply.constraint) == (CHOICES[1], "enforced")


def test_a_server_that_does_not_say_what_it_is(ask):
    with FakeServer(lambda request: "go to sink", owned_by="") as server:
        reply = say(load(server.spec()), ask(choices=CHOICES))[0]
    assert (reply.text, reply.constraint) == ("go to sink", "enforced")


@pytest.mark.parametrize(
    "bad",
    [
        {"max_tokens": 0},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"choices": ()},
        {"choices": ("a",), "json_schema": {}},
        {"extra": {"model": "other"}},
    ],
)
def test_senseless_requests_are_refused_before_sending(ask, bad):
    with FakeServer() as server:
        outcome = say(load(server.spec()), ask(**bad))[0]
    assert isinstance(outcome, BadInput)
    assert not server.requests


# --- texts, loops, budgets


@pytest.mark.parametrize(
    "text", ['{"cmd": "go"}', "{}", "{0}", "{", "%s", "$x", "{{y}}", "🗝️ ключ 鍵 ≥", "a\x00b", "\\u0041"]
)
def test_s19_prompts_reach_the_server_byte_for_byte(ask, text):
    with FakeServer(lambda request: request.messages[0].content) as server:
        reply = say(load(server.spec()), ask(text))[0]
    assert server.chats[0]["messages"][0]["content"] == text
    assert reply.text == text


def test_half_a_surrogate_pair_does_not_crash(ask):
    with FakeServer() as server:
        assert say(load(server.spec()), ask("a\ud800b"))[0].text == "ok"
    assert server.chats[0]["messages"][0]["content"].startswith("a\ufffd")


def test_one_model_serves_many_event_loops_and_leaves_nothing_open(ask):
    with FakeServer() as server:
        model = load(server.spec(concurrency=2))
        for _ in range(3):
            assert [reply.text for reply in say(model, *[ask()] * 6)] == ["ok"] * 6
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.extend(say(model, ask())))
        thread.start()
        thread.join()
        assert answers[0].text == "ok"
        gc.collect()  # an open socket would warn here, and warnings are errors


def test_a_closed_model_opens_again(ask):
    async def work(model: ChatModel) -> list[Reply]:
        first = await model.chat(ask())
        await aclose(model)
        return [first, await model.chat(ask())]

    with FakeServer() as server:
        assert [reply.text for reply in asyncio.run(work(load(server.spec())))] == ["ok", "ok"]


def test_a_cancelled_call_ends_at_once_and_frees_its_place(ask):
    async def work(model: ChatModel) -> Reply:
        task = asyncio.create_task(model.chat(ask()))
        while not server.chats:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await model.chat(ask())

    with FakeServer(faults=["hang"]) as server:
        model = load(server.spec(concurrency=1))
        assert asyncio.run(work(model)).text == "ok"
    assert len(server.chats) == 2


def test_a_budget_stops_before_the_call_that_would_pass_it(ask):
    with FakeServer() as server:
        ledger = Ledger(Budget(calls=3))
        model = load(server.spec(), budget=ledger)
        outcomes = say(model, *[ask()] * 8)
    assert sum(isinstance(outcome, BudgetExceeded) for outcome in outcomes) == 5
    assert len(server.chats) == 3


def test_cached_replies_cost_nothing(ask, tmp_path):
    with FakeServer() as server:
        spec = server.spec(price_in=1000, price_out=1000)
        first = load(spec, cache=tmp_path / "c.sqlite")
        paid = say(first, ask())[0]
        second = load(spec, cache=tmp_path / "c.sqlite", budget=Budget(calls=0))
        again = say(second, ask())[0]
    assert paid.usage.cost == pytest.approx(0.007) and totals(first)["usage"]["cost"] == paid.usage.cost
    assert again == dataclasses.replace(paid, cached=True, attempts=0)
    assert (totals(second)["usage"]["cost"], totals(second)["cached"]) == (0.0, 1)


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(ask, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with FakeServer() as server:
        assert say(load(server.spec(retries=0)), ask())[0].text == "ok"


# --- the fake server itself


def test_the_fake_server_takes_a_model_as_brain(ask):
    with FakeServer(load(lambda request: "from a model")) as server:
        assert say(load(server.spec()), ask())[0].text == "from a model"


def test_heavy_tailed_latency_depends_on_the_request_alone():
    from tests.support.fake_server import heavy_tail

    latency: Callable[..., float] = heavy_tail(0)
    waits = sorted(latency({"n": n}) for n in range(400))
    assert waits == sorted(latency({"n": n}) for n in reversed(range(400)))
    assert 0.07 < waits[200] < 0.14 and waits[-1] > 0.8


def test_the_fake_server_answers_many_at_once(ask):
    together = threading.Barrier(16, timeout=30)  # lets nobody pass before all sixteen are there

    def brain(request: Request) -> str:
        together.wait()
        return "all here"

    with FakeServer(brain) as server:
        replies = say(load(server.spec()), *(ask(sample=n) for n in range(16)))
    assert [reply.text for reply in replies] == ["all here"] * 16


def test_sampling_full_sends_every_sampling_parameter_with_every_call(ask):
    with FakeServer() as server:
        plain, full = load(server.spec()), load(server.spec(sampling="full", top_p=0.9, repetition_penalty=1.05))
        for model in (plain, full):
            say(model, ask(temperature=0.7, seed=3, stop=("x",), choices=("ok", "no"), max_tokens=7))
    assert not {"top_p", "top_k", "min_p", "repetition_penalty", "n"} & set(server.chats[0])
    sent = server.chats[1]
    assert {name: sent[name] for name in ("top_p", "top_k", "min_p", "repetition_penalty", "n")} == {
        "top_p": 0.9,
        "top_k": -1,  # no cut
        "min_p": 0.0,
        "repetition_penalty": 1.05,
        "n": 1,
    }
    assert (sent["temperature"], sent["seed"], sent["stop"], sent["max_tokens"]) == (0.7, 3, ["x"], 7)
    assert plain.id != full.id and "repetition_penalty=1.05" in full.id  # replies of one are never the other's


def test_a_given_cut_is_sent_alone_and_the_request_has_the_last_word(ask):
    with FakeServer() as server:
        say(load(server.spec(top_k=20)), ask(), ask(extra={"top_k": 5}))
    assert sorted(chat["top_k"] for chat in server.chats) == [5, 20]
    assert all("top_p" not in chat for chat in server.chats)


@pytest.mark.parametrize("wrong", ["top_p=1.5", "top_k=-1", "min_p=2", "repetition_penalty=0", "sampling=all"])
def test_impossible_sampling_is_refused_when_the_spec_is_read(wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong.split("=")[0]):
        load(f"openai:m?base_url=http://127.0.0.1:1/v1&{wrong}")


class Speechless(FakeServer):
    """Cannot spell any choice, as vLLM with a tokenizer that lacks a token for it."""

    def refusal(self, headers, body):
        if "structured_outputs" in body:
            return 500, {"error": {"message": "The grammar rejected tokens [5]", "code": 500}}
        return super().refusal(headers, body)


@pytest.mark.parametrize(("answer", "constraint"), [("go on", "checked"), ("fly", "ignored")])
def test_a_choice_that_no_grammar_can_spell_is_asked_for_in_words_and_checked(ask, answer, constraint):
    with Speechless(lambda request: answer) as server:
        reply = say(load(server.spec(choices="structured_outputs")), ask(choices=("go on", "wait")))[0]
    assert (reply.text, reply.constraint, reply.attempts, len(server.chats)) == (answer, constraint, 1, 2)

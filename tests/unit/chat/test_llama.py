"""A real language model in this process. Slow lane; skipped with the reason where the weights are not installed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from metagym.chat import ChatModel, Message, Reply, Request, aclose, load
from metagym.errors import ContextOverflow, MissingExtra

pytestmark = [pytest.mark.slow, pytest.mark.realmodel]

PLACES = ("fridge 1", "cabinet 2", "drawer 3", "microwave 1", "safe 1", "box 4", "cupboard 2", "chest 1")


@pytest.fixture(scope="module")
def smollm2() -> Iterator[ChatModel]:
    try:
        model = load("llama:smollm2?threads=1&context=2048")
    except MissingExtra as missing:
        pytest.skip(str(missing))
    yield model
    asyncio.run(aclose(model))


def say(model: ChatModel, *requests: Request) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return await asyncio.gather(*(model.chat(request) for request in requests))

    return asyncio.run(all_of_them())


def test_a_real_model_answers_with_counted_tokens(smollm2, ask):
    reply = say(smollm2, ask("Say hello.", max_tokens=24))[0]
    assert reply.text and (reply.backend, reply.absence) == ("local", None)
    assert reply.usage.prompt_tokens > 10 and reply.usage.completion_tokens > 0 and not reply.usage.estimated


def test_equal_greedy_requests_get_equal_replies(smollm2, ask):
    replies = say(smollm2, *[ask("Name a fruit.", max_tokens=12, seed=0)] * 2)
    assert replies[0].text == replies[1].text
    assert replies[0].usage == replies[1].usage


def test_a_limit_cuts_and_says_so(smollm2, ask):
    assert say(smollm2, ask("Tell a long story.", max_tokens=4))[0].cut


def test_choices_are_enforced(smollm2, ask):
    choices = ("open fridge 1", 'say "hi" now', "go to sinkbasin 1")
    replies = say(
        smollm2, *(ask("Go on.", choices=choices, temperature=2.0, seed=seed, max_tokens=24) for seed in range(6))
    )
    assert all(reply.text in choices and reply.constraint == "enforced" for reply in replies)


def test_a_conversation_past_the_window_is_typed(smollm2, ask):
    with pytest.raises(ContextOverflow):
        say(smollm2, ask("word " * 4000))


def test_the_event_loop_stays_free_while_the_model_writes(smollm2, ask):
    async def work() -> int:
        ticks = 0
        task = asyncio.create_task(smollm2.chat(ask("Tell a long story.", max_tokens=48)))
        while not task.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return ticks

    assert asyncio.run(work()) > 5


def decide(model: ChatModel, rule: str) -> int:
    """How often the model opens the closed thing before it: eight places, greedy, four commands in turning order."""
    requests = []
    for number, place in enumerate(PLACES):
        other, third = PLACES[(number + 1) % 8], PLACES[(number + 4) % 8]
        commands = (f"go to {other}", f"open {place}", f"go to {third}", "look around")
        turned = commands[number % 4 :] + commands[: number % 4]
        system = Message("system", f"You play a text game.{rule}")
        user = Message("user", f"The {place} is closed. What is the best next command?")
        requests.append(Request((system, user), choices=turned, max_tokens=16, seed=0))
    replies = say(model, *requests)
    return sum(reply.text == f"open {place}" for reply, place in zip(replies, PLACES, strict=True))


def test_a_rule_in_the_prompt_moves_the_decisions_of_a_real_model(smollm2):
    rule = " Rules: open every closed container. When something is closed, the best next command is to open it."
    without, with_rule = decide(smollm2, ""), decide(smollm2, rule)
    assert with_rule >= without + 3  # seen: 3 of 8 without, 8 of 8 with


def test_the_same_model_over_http(ask):
    """xllamacpp is an OpenAI-compatible server too: the client against the real thing."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="the extra `llama` is not installed")
    pytest.importorskip("httpx2", reason="the extra `openai` is not installed")
    from metagym.chat.models import locate

    params = xllamacpp.CommonParams()
    params.model.path = str(locate("smollm2"))
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = 1024, 1, False, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    model = load(f"openai:smollm2?base_url={server.listening_address}/v1")
    plain = say(model, ask("Say hello.", max_tokens=8))[0]
    assert plain.text and not plain.usage.estimated
    chosen = say(model, ask("Go on.", choices=("open fridge 1", "look"), max_tokens=16))[0]
    assert chosen.text in ("open fridge 1", "look") and chosen.constraint == "enforced"
    with pytest.raises(ContextOverflow):
        say(model, ask("word " * 3000))
    del server


def test_a_real_model_plays_real_games(smollm2):
    """It wins none; what is shown is that each of its commands is legal, played and counted."""
    import metagym
    from metagym.episodes import Repair
    from metagym.families import load_family
    from metagym.playing.actor import ActorSettings

    family = load_family("ALFWorld")
    tasks = list(family.task_set("train"))[:2]
    seat = ActorSettings(choose=True, max_tokens=24)
    episodes = metagym.play(tasks, smollm2, family=family, system_prompt="Find the object.", seat=seat, max_steps=2)
    for episode in episodes:
        assert (episode.backend, episode.status.value, episode.steps) == ("local", "truncated", 2)
        assert episode.count(Repair.EXACT) == 2
        assert episode.usage.calls == 2 and episode.usage.completion_tokens > 0 and not episode.usage.estimated

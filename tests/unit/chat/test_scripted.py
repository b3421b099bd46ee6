from __future__ import annotations

import asyncio

import pytest

from metagym.chat import ChatModel, Reply, Request, Usage, scripted
from metagym.errors import BadInput, ChatError, ContextOverflow


def answer(model: ChatModel, request: Request) -> Reply:
    return asyncio.run(model.chat(request))


def test_a_callable_becomes_a_chat_model(ask):
    model = scripted(lambda request: request.messages[-1].content.upper(), id="shout")
    reply = answer(model, ask("look"))
    assert isinstance(model, ChatModel)
    assert (reply.text, reply.absence, reply.model, reply.backend) == ("LOOK", None, "shout", "scripted")
    assert reply.usage == Usage(calls=1)


def test_coroutine_functions_and_awaitables_are_awaited(ask):
    async def slow(request: Request) -> str:
        await asyncio.sleep(0)
        return "look"

    assert answer(scripted(slow), ask()).text == "look"
    assert answer(scripted(lambda request: slow(request)), ask()).text == "look"


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_text_is_a_typed_absence(ask, nothing):
    reply = answer(scripted(lambda request: nothing, id="mute"), ask())
    assert (reply.text, reply.absence) == (None, "empty")
    assert "mute" in reply.cause


def test_a_whole_reply_is_passed_on(ask):
    reply = Reply(None, absence="length", usage=Usage(calls=1, completion_tokens=7), cause="cut")
    assert answer(scripted(lambda request: reply), ask()) is reply


def test_an_exception_becomes_a_chat_error_that_names_the_callable(ask):
    def broken(request: Request) -> str:
        raise KeyError("inventory")

    with pytest.raises(ChatError, match=r"broken raised KeyError: 'inventory'"):
        answer(scripted(broken), ask())


def test_typed_errors_pass_unchanged(ask):
    def full(request: Request) -> str:
        raise ContextOverflow("too long")

    with pytest.raises(ContextOverflow, match="^too long$"):
        answer(scripted(full), ask())


def test_interrupts_are_not_swallowed(ask):
    def stop(request: Request) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer(scripted(stop), ask())


def test_a_cancelled_call_stays_cancelled(ask):
    async def forever(request: Request) -> str:
        await asyncio.Event().wait()
        return "never"

    async def cancel() -> None:
        task = asyncio.create_task(scripted(forever).chat(ask()))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())


def test_answers_of_another_type_are_refused(ask):
    with pytest.raises(ChatError, match="returned int"):
        answer(scripted(lambda request: 3), ask())  # type: ignore[arg-type,return-value]


def test_texts_of_a_subclass_of_str_count_as_text(ask):
    class Loud(str):
        pass

    reply = answer(scripted(lambda request: Loud("look")), ask())
    assert type(reply.text) is str and reply.text == "look"


@pytest.mark.parametrize("bad", [{"callable": 3}, {"callable": len, "backend": "cloud"}])
def test_bad_arguments_are_refused(bad):
    with pytest.raises(BadInput):
        scripted(**bad)


def test_messages_may_be_pairs_or_objects_and_anything_else_is_named():
    from metagym.chat import Message, Request
    from metagym.errors import BadInput

    wanted = (Message("system", "be kind"), Message("user", "hi"))
    objects = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    for given in (wanted, list(wanted), [("system", "be kind"), ("user", "hi")], objects):
        assert Request(given).messages == wanted
        assert all(type(message) is Message for message in Request(given).messages)
    for bad in ("hi", [], None, 3, {"role": "user"}, [("robot", "hi")], [("user", None)], ["hi"], [("user", "a", "b")]):
        with pytest.raises(BadInput, match="message"):
            Request(bad)


def test_a_request_at_another_turn_equals_a_replaced_one():
    import dataclasses

    from metagym.chat import Message, Request

    first = Request((Message("user", "a"),), temperature=0.5, max_tokens=9, tag="actor")
    messages = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    again = first.turn(messages, 7, ("x",))
    assert again == dataclasses.replace(first, messages=messages, seed=7, choices=("x",))
    assert first.messages == (Message("user", "a"),) and hash(again.messages)
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.seed = 1

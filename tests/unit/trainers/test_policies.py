"""Who samples: everybody who waits in one generation call, failures apart; ids in and out over HTTP."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from metagym.chat import Message, Request
from metagym.errors import BadInput, BudgetExceeded, ChatError, ContextOverflow, EngineError, ServerUnavailable
from metagym_trainers.policies import HTTPPolicy, LocalPolicy, Sample, results
from metagym_trainers.recording import Recorder
from tests.unit.trainers.stubs import MergingTokenizer, fake_trainer


async def episode(policy: LocalPolicy, number: int, turns: int) -> list[Sample]:
    found = []
    for turn in range(turns):
        found.append(await policy.sample([number, turn], max_tokens=4, seed=1000 - number))
        await asyncio.sleep(0)
    return found


def test_everybody_who_waits_is_served_by_one_call() -> None:
    trainer = fake_trainer()
    policy = LocalPolicy(trainer)
    found = policy.run(policy.gather(episode(policy, number, 1 + number % 3) for number in range(9)))
    assert [len(call) for call in trainer.calls] == [9, 6, 3] and policy.calls == 3 and policy.late == 0
    assert [len(each) for each in found if isinstance(each, list)] == [1, 2, 3] * 3


def test_a_batch_is_ordered_by_seeds_and_does_not_depend_on_time() -> None:
    def calls(naps: list[float]) -> Any:
        trainer = fake_trainer()
        policy = LocalPolicy(trainer)

        async def one(number: int) -> None:
            await asyncio.sleep(naps[number])  # a search, say
            await episode(policy, number, 2)

        policy.run(policy.gather(one(number) for number in range(4)))
        return trainer.calls

    first = calls([0.0, 0.0, 0.02, 0.01])
    assert first == calls([0.02, 0.01, 0.0, 0.0]) and first[0] == [[3, 0], [2, 0], [1, 0], [0, 0]]


def test_equal_seeds_do_not_let_time_decide_either() -> None:
    def calls(naps: list[float]) -> Any:
        trainer = fake_trainer()
        policy = LocalPolicy(trainer)

        async def one(number: int) -> None:
            await asyncio.sleep(naps[number])
            await policy.sample([number], max_tokens=1, seed=7)

        policy.run(policy.gather(one(number) for number in range(3)))
        return trainer.calls

    assert calls([0.0, 0.01, 0.02]) == calls([0.02, 0.01, 0.0]) == [[[0], [1], [2]]]


def test_a_policy_runs_where_a_loop_is_running_already() -> None:
    policy = LocalPolicy(fake_trainer())

    async def notebook() -> Any:
        return policy.run(policy.gather([episode(policy, 1, 1)]))

    assert asyncio.run(notebook()) == [[Sample((5, 0), None, False)]]


def test_samples_end_at_their_own_limit_and_the_batch_at_the_longest() -> None:
    trainer = fake_trainer(lambda prompt: [5] * trainer.generation_config.max_new_tokens)
    policy = LocalPolicy(trainer)

    async def both() -> list[Sample]:
        asked = (policy.sample([1], max_tokens=2, seed=0), policy.sample([2], max_tokens=6, seed=1))
        return list(await asyncio.gather(*asked))

    assert policy.run(both()) == [Sample((5,) * 2, None, True), Sample((5,) * 6, None, True)]
    assert len(trainer.calls) == 1 and trainer.generation_config.max_new_tokens == 64


def test_trl_issue_12_every_end_id_ends_an_answer() -> None:
    policy = LocalPolicy(fake_trainer(lambda prompt: [5, prompt[0]], eos_token_ids=[0, 9]))

    async def cut(number: int) -> bool:
        return (await policy.sample([number], max_tokens=2, seed=0)).cut

    assert [policy.run(cut(number)) for number in (0, 9, 5)] == [False, False, True]


def test_s16_an_episode_that_fails_ends_alone() -> None:
    policy = LocalPolicy(fake_trainer())

    async def broken() -> list[Sample]:
        await policy.sample([1], max_tokens=1, seed=1)
        raise RuntimeError("the engine broke")

    jobs = [broken() if number == 3 else episode(policy, number, 2) for number in range(8)]
    found = policy.run(policy.gather(jobs))
    assert isinstance(found[3], RuntimeError)
    kept = results(found)
    assert kept[3] is None and sum(each is not None for each in kept) == 7


def test_s16_one_that_hangs_does_not_hold_up_the_others() -> None:
    trainer = fake_trainer()
    policy = LocalPolicy(trainer, patience=0.05)

    async def hanging() -> list[Sample]:
        async with asyncio.timeout(0.3):
            await asyncio.Event().wait()
        return []

    found = policy.run(policy.gather([episode(policy, 1, 1), hanging(), episode(policy, 2, 1)]))
    assert isinstance(found[1], TimeoutError) and policy.late == 1 and len(trainer.calls[0]) == 2


def test_an_episode_that_gathers_others_waits_with_them() -> None:
    trainer = fake_trainer()
    policy = LocalPolicy(trainer)

    async def designer() -> int:
        await policy.sample([0], max_tokens=1, seed=0)
        played = await policy.gather(episode(policy, number, 2) for number in range(3))
        await policy.sample([9], max_tokens=1, seed=0)
        return len(played)

    assert policy.run(policy.gather([designer(), designer()])) == [3, 3]
    assert [len(call) for call in trainer.calls] == [2, 6, 6, 2] and policy.late == 0


def test_episodes_that_have_not_begun_hold_up_nobody() -> None:
    trainer = fake_trainer()
    policy = LocalPolicy(trainer)
    found = policy.run(policy.gather((episode(policy, number, 2) for number in range(5)), concurrency=2))
    assert [len(each) for each in found if isinstance(each, list)] == [2] * 5 and policy.late == 0
    assert [len(call) for call in trainer.calls] == [2, 2, 2, 2, 1, 1]
    assert policy.run(policy.gather([])) == []


def test_what_concerns_the_whole_run_is_raised() -> None:
    with pytest.raises(BudgetExceeded):
        results([1, BudgetExceeded("no money left")])

    def broken(prompt: list[int]) -> list[int]:
        raise MemoryError("out of memory")

    policy = LocalPolicy(fake_trainer(broken))
    with pytest.raises(MemoryError, match="out of memory"):
        policy.run(policy.gather(episode(policy, number, 1) for number in range(3)))


def test_s12_a_trainer_that_answers_another_number_is_refused() -> None:
    for answers, words in (([[1]], "generated 1 answers for 2"), ([[1], []], "empty answer to prompt 1")):
        policy = LocalPolicy(fake_trainer(_generate_single_turn=lambda *_: (answers, None)))  # noqa: B023
        with pytest.raises(EngineError, match=words):
            policy.run(policy.gather(episode(policy, number, 1) for number in range(2)))
    with pytest.raises(BadInput, match="no ids"):
        policy.run(policy.sample([], max_tokens=1, seed=0))


@pytest.mark.parametrize("kind", ["FSDP", "DEEPSPEED", "MULTI_GPU"])
def test_trl_issue_02_processes_that_generate_together_are_sent_to_the_server(kind: str) -> None:
    trainer = fake_trainer(use_vllm=True)
    trainer.accelerator.num_processes, trainer.accelerator.distributed_type = 2, kind
    trainer.args.vllm_mode = "server"
    with pytest.raises(BadInput, match="sample with HTTPPolicy"):
        LocalPolicy(trainer)
    if kind == "MULTI_GPU":  # each process has its own engine, and calls it when it likes
        trainer.args.vllm_mode = "colocate"
        assert LocalPolicy(trainer).temperature == 1.0


# --- over HTTP


class Server:
    """``/v1/completions`` of vLLM, scripted: `answers` are bodies or statuses, one per request."""

    def __init__(self, *answers: Any) -> None:
        self.left, self.bodies = list(answers), []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.bodies.append((self.path, body))
                answer = outer.left.pop(0) if len(outer.left) > 1 else outer.left[0]
                status, data = answer if isinstance(answer, tuple) else (200, answer)
                raw = json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def body(ids: Any = (5, 6, 0), known: Any = (-0.1, -0.2, -0.3), finish: str = "stop") -> dict[str, Any]:
    return {
        "choices": [{"token_ids": ids, "logprobs": {"token_logprobs": known}, "finish_reason": finish, "text": "x"}]
    }


@pytest.fixture
def served() -> Iterator[Any]:
    made: list[Server] = []

    def serve(*answers: Any) -> Server:
        made.append(Server(*answers))
        return made[-1]

    yield serve
    for server in made:
        server.close()


def sample(policy: HTTPPolicy, **more: Any) -> Sample:
    return asyncio.run(policy.sample(**{"prompt_ids": [1, 2], "max_tokens": 3, "seed": 2**40 + 7, **more}))


def test_ids_go_in_and_come_out_and_every_setting_is_sent(served: Any) -> None:
    server = served(body())
    found = sample(HTTPPolicy(server.url, "m", temperature=0.7))
    assert found == Sample((5, 6, 0), (-0.1, -0.2, -0.3), False)
    path, sent = server.bodies[0]
    assert path == "/v1/completions"
    assert sent == {
        **{"model": "m", "prompt": [1, 2], "max_tokens": 3, "temperature": 0.7, "seed": 7, "n": 1},
        **{"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
        **{"logprobs": 0, "return_token_ids": True},
    }


def test_cut_answers_say_so(served: Any) -> None:
    assert sample(HTTPPolicy(served(body(finish="length")).url, "m")).cut


def test_trl_issue_02_every_row_is_asked_for_by_itself(served: Any) -> None:
    server = served(body())
    policy = HTTPPolicy(server.url, "m")

    async def group() -> list[Sample]:
        asked = (policy.sample([7, state], max_tokens=3, seed=state) for state in range(3))
        return list(await asyncio.gather(*asked))

    asyncio.run(group())
    sent = [each for _, each in server.bodies]
    assert sorted(each["prompt"][1] for each in sent) == [0, 1, 2] and {each["n"] for each in sent} == {1}
    assert len({each["seed"] for each in sent}) == 3


@pytest.mark.parametrize(
    "answer",
    [
        *(body(ids=None), body(known=None), {"choices": []}, {"choices": [{"text": "a"}]}, {}, [], "text"),
        *(body(ids=["5", "6", "0"]), body(ids=[5.5, 6, 0]), body(known=["a", "b", "c"]), {"choices": ["text"]}),
    ],
)
def test_a_server_that_gives_text_alone_is_refused(served: Any, answer: Any) -> None:
    with pytest.raises(ChatError, match="processed_logprobs"):
        sample(HTTPPolicy(served(answer).url, "m"))


@pytest.mark.parametrize("answer", [body(ids=[5]), body(ids=[], known=[]), body([1] * 4, [-1.0] * 4)])
def test_columns_of_unequal_lengths_are_refused(served: Any, answer: Any) -> None:
    with pytest.raises(ChatError, match="ids and"):
        sample(HTTPPolicy(served(answer).url, "m"))


@pytest.mark.parametrize("finish", ["abort", None])
def test_half_an_answer_is_asked_for_again(served: Any, finish: Any) -> None:
    server = served(body(ids=[5], known=[-0.1], finish=finish), body())
    assert sample(HTTPPolicy(server.url, "m", retries=1)).ids == (5, 6, 0) and len(server.bodies) == 2
    with pytest.raises(ServerUnavailable, match="did not end its answer"):
        sample(HTTPPolicy(served(body(finish=finish)).url, "m", retries=0))


def test_a_log_probability_that_is_not_told_is_unknown(served: Any) -> None:
    known = sample(HTTPPolicy(served(body(known=[-0.1, None, -0.3])).url, "m")).logprobs
    assert known is not None and known[0] == -0.1 and math.isnan(known[1])


def test_a_server_that_is_down_for_a_moment_is_asked_again_and_one_that_stays_down_is_told_of(served: Any) -> None:
    server = served((503, {"error": {"message": "loading"}}), body())
    assert sample(HTTPPolicy(server.url, "m", retries=1)).ids == (5, 6, 0) and len(server.bodies) == 2
    with pytest.raises(ServerUnavailable, match="503"):
        sample(HTTPPolicy(served((503, {"error": {"message": "gone"}})).url, "m", retries=0))
    overflow = (400, {"error": {"message": "This model's maximum context length is 8 tokens"}})
    with pytest.raises(ContextOverflow):
        sample(HTTPPolicy(served(overflow).url, "m"))


def test_a_recorder_plays_over_http_as_well(served: Any) -> None:
    server = served(body())
    recorder = Recorder(HTTPPolicy(server.url, "m"), MergingTokenizer())
    asyncio.run(recorder.chat(Request((Message("user", "a"),), temperature=1.0)))
    assert recorder.episode().logprobs == (-0.1, -0.2, -0.3)

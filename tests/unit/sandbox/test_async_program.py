"""Programs for coroutines: shared messages, limits, cancelled callers, several loops."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled, ProgramRejected
from metagym.sandbox import Ask, Limits, Reset, SandboxPool, Step, load_async
from metagym.sandbox.channel import Talk
from tests.support.sandbox import descriptors, env, gone

COUNTER = env(
    "if action == 'bad': raise ValueError('bad')\nwhile action == 'hang': pass\n"
    "self.n += 1\nreturn [action, self.n], 0.5, False, {}",
    reset="self.n = 0\nreturn seed",
) + ("    def hint(self, word):\n        print(word)\n        return word * 2\n")


def test_coroutines_play_sessions_side_by_side_and_share_messages(
    bare_pool: SandboxPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[int] = []
    feed = Talk.feed

    def counted(talk: Talk, data: bytes, expected: int) -> list[Any]:
        found = feed(talk, data, expected)
        frames.append(len(found))
        return found

    monkeypatch.setattr(Talk, "feed", counted)

    async def episode(program: Any, number: int) -> list[Any]:
        said = [await program.reset(seed=number, session=number)]
        for at in range(10):
            said.append((await program.step(at, session=number))[0])
        return said

    async def main() -> Any:
        async with await bare_pool.load_async(COUNTER) as program:
            frames.clear()
            return await asyncio.gather(*(episode(program, number) for number in range(16)))

    for number, said in enumerate(asyncio.run(main())):
        assert said == [(number, {}), *([at, at + 1] for at in range(10))]
    assert sum(frames) == 16 * 11
    assert len(frames) <= 4 * 11  # 176 one by one


def test_everything_that_ordinary_code_has_is_there(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        async with await load_async(COUNTER, pool=bare_pool, limits=Limits(steps=50)) as program:
            assert program.limits.steps == 50
            assert await program.ask("hint", "ab") == "abab"
            assert await program.play([1, 2], seed=3, session=2) == (
                (3, {}),
                [([1, 1], 0.5, False, False, {}), ([2, 2], 0.5, False, False, {})],
            )
            found = await program.batch([Reset(1), Step("bad"), Step("x"), Ask("none")])
            assert found[0] == (1, {}) and isinstance(found[1], ProgramError)
            assert found[2][0] == ["x", 1] and isinstance(found[3], BadInput)
            await program.drop(2)
            with pytest.raises(BadInput, match="session 2 was not reset"):
                await program.step("x", session=2)
            with pytest.raises(BadInput, match="the action"):
                await program.step(object())
            with pytest.raises(BadInput, match="the action"):
                await program.batch([Step("x"), Step(object())])
            assert program.describe().prints == "ab\n"
            assert (await program.step("x"))[0] == ["x", 2]  # nothing of the refused batch was done

    asyncio.run(main())


def test_a_hang_ends_the_worker_and_every_caller_learns_it(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        program = await bare_pool.load_async(COUNTER, limits=Limits(call_s=0.2))
        for number in range(3):
            await program.reset(session=number)
        pid = program._channel.talk.worker.pid  # type: ignore[union-attr]
        started = time.monotonic()
        calls = [program.step("hang" if number == 1 else "go", session=number) for number in range(3)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert time.monotonic() - started < 1.2
        errors = [error for error in found if isinstance(error, ProgramKilled)]
        assert (
            len(errors) >= 2
            and {error.limit for error in errors} == {"wall"}
            and len(set(map(id, errors))) == len(errors)
        )
        with pytest.raises(ProgramKilled, match="limit of 0.2 s"):
            await program.reset()
        await program.close()
        assert gone(pid)

    asyncio.run(main())


def test_a_loop_that_was_busy_takes_an_answer_that_is_there(bare_pool: SandboxPool) -> None:
    """The caller's own work blocks the loop past the limit; the program answered long before."""

    async def main() -> None:
        async with await bare_pool.load_async(COUNTER, limits=Limits(call_s=0.1)) as program:
            await program.reset()
            step = asyncio.ensure_future(program.step("go"))
            await asyncio.sleep(0.02)
            time.sleep(0.3)
            assert (await step)[0] == ["go", 1]

    asyncio.run(main())


def test_a_cancelled_caller_disturbs_nobody(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        async with await bare_pool.load_async(COUNTER) as program:
            await asyncio.gather(program.reset(), program.reset(session=1))
            under_way = asyncio.ensure_future(program.step("a"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting = asyncio.ensure_future(program.step("b"))
            await asyncio.sleep(0)
            under_way.cancel(), waiting.cancel()
            other = await program.step("c", session=1)
            assert other[0] == ["c", 1]
            assert (await program.step("d"))[0][0] == "d"
            assert under_way.cancelled() and waiting.cancelled()

    asyncio.run(main())


def test_long_requests_are_split_and_too_long_ones_refused_alone(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        limits = Limits(output_chars=500_000, frame_bytes=2**20)
        async with await bare_pool.load_async(COUNTER, limits=limits) as program:
            await program.reset()
            texts = ["é" * 60_000] * 6
            assert [step[0][0] for step in await asyncio.gather(*map(program.step, texts))] == texts
            found = await asyncio.gather(program.step("é" * 300_000), program.step("x"), return_exceptions=True)
            assert isinstance(found[0], BadInput) and found[1][0][0] == "x"

    asyncio.run(main())


def test_programs_that_cannot_be_loaded_raise_and_leave_nothing(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        before = descriptors()
        for source, error in (
            ("prose", ProgramRejected),
            (env("pass").replace("class", "raise ValueError\nclass", 1), ProgramError),
            ("while True: pass\nclass Env:\n    def step(self, a): pass", ProgramKilled),
        ):
            with pytest.raises(error):
                await bare_pool.load_async(source, limits=Limits(load_s=0.3))
        assert descriptors() == before

    asyncio.run(main())


def test_a_load_that_is_cancelled_leaves_no_worker(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        before = descriptors()
        for pause in (0.0, 0.001, 0.02):
            loading = asyncio.ensure_future(bare_pool.load_async("while True: pass\n" + COUNTER))
            await asyncio.sleep(pause)
            loading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await loading
        until = time.monotonic() + 5.0
        while descriptors() != before and time.monotonic() < until:
            await asyncio.sleep(0.01)
        assert descriptors() == before

    asyncio.run(main())


def test_closing_and_forged_answers_reach_the_callers_under_way(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        program = await bare_pool.load_async(COUNTER)
        await program.reset()
        step = asyncio.ensure_future(program.step("hang"))
        await asyncio.sleep(0.02)
        await program.close()
        with pytest.raises(ProgramKilled, match="closed"):
            await step
        forger = await bare_pool.load_async(env("os.write(3, b'\\xff' * 4)\nwhile True: pass", "import os"))
        await forger.reset()
        with pytest.raises(BadOutput, match="4,294,967,295"):
            await forger.step("go")
        await forger.close()

    asyncio.run(main())


def test_several_loops_share_a_pool_and_a_program_stays_on_its_own(bare_pool: SandboxPool) -> None:
    wrong: list[BaseException] = []

    async def play() -> Any:
        program = await bare_pool.load_async(COUNTER)
        for number in range(20):
            assert (await program.reset(seed=number))[0] == number
        return program

    def run() -> None:
        try:
            program = asyncio.run(play())

            async def elsewhere() -> None:
                with pytest.raises(RuntimeError, match="event loop that it was loaded on"):
                    await program.reset()

            asyncio.run(elsewhere())
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_program_that_nobody_closed_is_ended_with_its_object(bare_pool: SandboxPool) -> None:
    async def main() -> None:
        before = descriptors()
        program = await bare_pool.load_async(COUNTER)
        await program.reset()
        pid = program._channel.talk.worker.pid  # type: ignore[union-attr]
        del program
        await asyncio.sleep(0.01)
        assert gone(pid) and descriptors() == before

    asyncio.run(main())


def test_in_process_programs_have_the_same_face(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagym.sandbox.pool._warned", True)
    source = "class Env:\n    def reset(self, seed=None): return seed\n    def step(self, a): return a, 1.0, True, {}\n"

    async def main() -> None:
        async with await load_async(source, isolation="inprocess") as program:
            assert await program.reset(seed=2) == (2, {})
            assert await program.batch([Step("a"), Step("b", 3)]) != []
            assert program.describe().isolation == "inprocess"
        with pytest.raises(ProgramKilled, match="closed"):
            await program.reset()
        with pytest.raises(ProgramRejected):
            await load_async("prose", isolation="inprocess")

    asyncio.run(main())

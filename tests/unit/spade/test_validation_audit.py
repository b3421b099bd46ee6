"""Stage 12: a model reads the program, and no clear word is no acceptance."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

import pytest

from metagym.chat.types import Reply, Request
from metagym.errors import BudgetExceeded, ChatError, ServerUnavailable
from metagym.sandbox import SandboxPool
from metagym.spade.program import EnvProgram
from metagym.spade.validation import MemoryCache, ValidationReport, ValidationSettings, validate
from metagym.spade.validation.audit import INSTRUCTIONS
from tests.unit.spade.programs import LOCK, changed

STRICT = ValidationSettings(seeds=3, audit="reject")
LENIENT = dataclasses.replace(STRICT, audit="flag")


class Auditor:
    """Answers with a text, a typed absence, or an error."""

    id = "auditor"
    backend = "scripted"

    def __init__(self, answer: str | Reply | Exception) -> None:
        self.answer = answer
        self.asked: list[Request] = []

    async def chat(self, request: Request) -> Reply:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if isinstance(self.answer, Reply) else Reply(self.answer)


@pytest.fixture(scope="module")
def pools() -> Iterator[Sequence[SandboxPool]]:
    with SandboxPool() as one, SandboxPool(hash_seed=7) as two:
        yield one, two


@pytest.fixture(scope="module")
def cache() -> MemoryCache:
    return MemoryCache()


def verdict(
    auditor: Auditor | None, settings: ValidationSettings, pools: Sequence[SandboxPool], cache: MemoryCache
) -> ValidationReport:
    return validate(LOCK, settings=settings, auditor=auditor, pools=pools, cache=cache)


def say(verdict: str, reason: str = "because") -> str:
    return json.dumps({"verdict": verdict, "reason": reason})


@pytest.mark.parametrize("settings", [STRICT, LENIENT])
def test_a_clear_word_decides(settings: ValidationSettings, pools: Sequence[SandboxPool], cache: MemoryCache) -> None:
    good = verdict(Auditor(say("accept")), settings, pools, cache)
    assert (good.ok, good.stage, good.flags) == (True, "audit", ())
    bad = verdict(Auditor(say("reject", "the code is never shown")), settings, pools, cache)
    assert (bad.ok, bad.code, bad.stage) == (False, "auditor_rejects", "audit")
    assert "the code is never shown" in bad.detail


UNCLEAR = [
    None,
    Auditor(""),
    Auditor("I accept this program."),
    Auditor('{"verdict": "perhaps", "reason": ""}'),
    Auditor('{"verdict": true}'),
    Auditor('["accept"]'),
    Auditor(say("accept") + say("accept")),
    Auditor(Reply(None, absence="refused")),
    Auditor(Reply(say("accept"), cut=True)),
    Auditor(ServerUnavailable("no answer")),
    Auditor(ChatError("broken")),
]


@pytest.mark.parametrize("auditor", UNCLEAR, ids=lambda found: str(found and found.answer)[:30])
def test_no_clear_word_is_refused_or_flagged_and_never_accepted_in_silence(
    auditor: Auditor | None, pools: Sequence[SandboxPool], cache: MemoryCache
) -> None:
    strict = verdict(auditor, STRICT, pools, cache)
    assert (strict.ok, strict.code, strict.flags) == (False, "auditor_unavailable", ())
    lenient = verdict(auditor, LENIENT, pools, cache)
    assert (lenient.ok, lenient.flags, str(lenient)) == (True, ("unaudited",), "accepted (unaudited)")
    assert ValidationReport.from_json(lenient.to_json()) == lenient


def test_a_spent_budget_ends_the_run(pools: Sequence[SandboxPool], cache: MemoryCache) -> None:
    with pytest.raises(BudgetExceeded):
        verdict(Auditor(BudgetExceeded("spent")), LENIENT, pools, cache)


def test_only_programs_that_passed_are_audited_and_only_if_asked_for(pools: Sequence[SandboxPool]) -> None:
    auditor = Auditor(say("accept"))
    validate(changed(LOCK, "PINS = 2", "PINS = 1"), settings=STRICT, auditor=auditor, pools=pools)
    report = validate(LOCK, settings=dataclasses.replace(STRICT, audit="off"), auditor=auditor, pools=pools)
    assert report.ok and report.stage == "novelty" and not auditor.asked


def test_the_program_is_quoted_as_data_between_marks_that_it_cannot_know(
    pools: Sequence[SandboxPool], cache: MemoryCache
) -> None:
    auditor = Auditor(say("accept"))
    verdict(auditor, STRICT, pools, cache)
    [request] = auditor.asked
    system, user = request.messages
    first, *body, last = user.content.split("\n")
    assert system.content == INSTRUCTIONS and first == last and first not in LOCK
    assert "\n".join(body) == EnvProgram.parse(LOCK).source
    assert request.temperature == 0.0 and request.json_schema is not None and request.tag == "auditor"
    again = Auditor(say("accept"))
    verdict(again, STRICT, pools, cache)
    assert again.asked == auditor.asked

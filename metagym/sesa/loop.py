"""The loop of SESA: prime, then rounds of {challenge, solve, bell, distil, retrieve}.

Everything that happens becomes a record with a unique key, in an order that does not depend on timing. A step whose
record exists is read, not done again: a resumed run therefore ends with the records of an uninterrupted one, whatever
the number of workers.

    start                           the bank before anything was done to it
    prime                           what it was primed with
    round/<r>/slot/<s>/challenge    what the challenger did and asked (self-play)
    round/<r>/slot/<s>/attempt      the solver's rollouts, their skills, the probes
    round/<r>/slot/<s>/paid         success rate and reward
    round/<r>/bank                  cards used, distilled, given up; the bank afterwards
    round/<r>/summary               the figures of the round, the alarms
    end

The bank is a journal of its own. Each record that follows a change of it holds its number of events and its digest:
these are the checkpoints. Whoever resumes takes the bank back to the last of them first
(`metagym.sesa.checkpoints.checkpoint`, `metagym.sesa.repair.rewind`); what a killed run had written past it is set
aside, done again, and so not mixed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from metagym.chat.types import ChatModel
from metagym.errors import BadInput, NoTasks
from metagym.qadata import QARow
from metagym.seeding import derive, rng
from metagym.sesa.cards import question_sha256
from metagym.sesa.challenger import Challenge
from metagym.sesa.checkpoints import bank_state, checkpoint, expect
from metagym.sesa.config import SesaConfig
from metagym.sesa.contexts import Seed, challenger_context
from metagym.sesa.crew import Crew
from metagym.sesa.distil import Distilled, distil
from metagym.sesa.maintenance import Kept, consolidate
from metagym.sesa.materials import Material, question_set
from metagym.sesa.priming import prime
from metagym.sesa.retrieval import SkillRetriever
from metagym.sesa.rounds import Attempt, Paid, attempt, challenge, rewards
from metagym.sesa.shaping import load_shape, measure
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import READERS, MemoryRecords, Records, Slot, paid_json, read
from metagym.sesa.stand_ins import HopBandit
from metagym.sesa.starter import priming_cards
from metagym.sesa.summaries import alarms, figures


@dataclass(frozen=True)
class Event:
    """Something worth showing while a run goes on.

    Attributes:
        kind: ``prime``; ``challenge``, ``attempt``, ``paid`` (a slot is done, worked on or read); ``bank``; ``round``.
        round: The round; -1 for ``prime``.
        slot: The slot; -1 where all of them are meant.
        value: What is recorded.
        seconds: Wall-clock time of the work; 0.0 where it was read from the records, or is counted with another slot.
        key: Of the record.
    """

    kind: str
    round: int
    slot: int
    value: Any
    seconds: float
    key: str


class Loop:
    """One run.

    Args:
        config: Everything that decides it.
        crew: Who sits where.
        material: What it is made of.
        bank: The skill bank, open for writing; None for a run without one (`SesaConfig.uses_bank`).
        records: Where the records are; by default nowhere but in memory.
        workers: Episodes at a time; None for all. Does not change the records.
        keep: Whether `rounds` keeps all rounds, or the last one alone: long runs hold gigabytes of episodes.
        on_event: Told of everything that happens, in the order of the records.

    Raises:
        BadInput, NoTasks: The settings need a bank, answers or questions that are not there.
    """

    def __init__(
        self,
        config: SesaConfig,
        crew: Crew,
        material: Material,
        bank: SkillBank | None,
        records: Records | None = None,
        *,
        workers: int | None = None,
        keep: bool = True,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        if config.uses_bank and bank is None:
            raise BadInput(
                "these settings read or write a skill bank: hand one in, or switch distillation, retrieval "
                "and priming off"
            )
        self.config, self.crew, self.material = config, crew, material
        self.bank = bank if config.uses_bank else None
        self.records = MemoryRecords() if records is None else records
        self.on_event, self.keep = on_event, keep
        self.shape = load_shape(config.shape)
        self.settings = replace(config.rollout, concurrency=workers)
        self.held_out = frozenset(question_sha256(row.question) for row in held_out_rows(config, material))
        self.answers = material.side("train") if config.tasks == "self-play" else ()
        self.fixed = self._fixed_rows() if config.tasks == "fixed" else []
        if config.tasks == "self-play" and not self.answers:
            raise BadInput(f"the material {material.name} has no answers that a challenge could start from")
        self.bandit = HopBandit(config.hops, config.hop_rate)
        self.rounds: list[list[Slot]] = []
        """What happened, round by round; see `keep`."""
        self.summaries: list[dict[str, Any]] = []
        """The figures of the rounds."""
        self._seen: set[str] = set()

    async def run(self) -> list[list[Slot]]:
        """Runs to the end and returns what happened, round by round.

        Raises:
            RunError: The bank is not in the state that the records tell.
            TooManyFailures, BudgetExceeded, ...: The run stopped; what was done and paid is recorded.
        """
        self._prime()
        for number in range(self.config.rounds):
            challenges = await self._challenges(number)
            attempts = await self._attempts(number, challenges)
            paid = self._pay(number, challenges, attempts)
            self.rounds = [*(self.rounds if self.keep else ()), self._slots(number, challenges, attempts, paid)]
            await self._remember(number)
            self._summary(number)
            if self.config.stop_on_collapse and self.summaries[-1]["alarms"]:
                break
        self.records.append_many([("end", {"kind": "end", "rounds": len(self.summaries)})])
        return self.rounds

    # --- before the first round

    def _fixed_rows(self) -> list[QARow]:
        config = self.config
        rows = question_set(config.data, self.material, "train", config.seed, hops=config.hops)
        kept = [row for row in rows if question_sha256(row.question) not in self.held_out]
        if not kept:
            raise BadInput("all questions of the fixed set are kept for evaluation: name others (data, held_out)")
        rng(config.seed, "fixed").shuffle(kept)
        return kept

    def _prime(self) -> None:
        if self.bank is None:
            self.records.append_many([("start", {"kind": "start", "bank": None})])
            return
        if "start" not in self.records:
            self.records.append_many([("start", {"kind": "start", "bank": bank_state(self.bank)})])
        if "prime" in self.records:
            expect(self.bank, checkpoint(self.records))
            record, seconds = self.records.get("prime"), 0.0
        else:
            expect(self.bank, self.records.get("start")["bank"])
            started = time.perf_counter()
            config, bank = self.config, self.bank
            denied = bank.deny(sha256=sorted(self.held_out))
            done = prime(bank, *priming_cards(config))
            bank.flush()
            record = {"kind": "prime", "primed": asdict(done), "denied": denied, "bank": bank_state(bank)}
            self.records.append_many([("prime", record)])
            seconds = time.perf_counter() - started
        self.on_event(Event("prime", -1, -1, record, seconds, "prime"))

    # --- the phases of a round

    def _model(self, name: str) -> ChatModel:
        model = dict(self.crew.models).get(name)
        if model is None:
            raise BadInput(f"these settings need a {name}, and nobody sits there")
        return model

    def _retriever(self, wanted: bool) -> SkillRetriever:
        config = self.config
        bank = self.bank.snapshot() if self.bank is not None and wanted else None
        return SkillRetriever(bank, config.retrieve_k, config.max_skill_tokens)

    def _seeds(self, number: int) -> list[Seed]:
        """Where the challenges of a round start: answers by the seed, hops by the bandit or in turn."""
        config, count = self.config, self.config.questions
        draw = rng(config.seed, "answers", number)
        answers: list[tuple[str, ...]] = []
        while len(answers) < count:
            answers += draw.sample(self.answers, min(count - len(answers), len(self.answers)))
        if config.hop_learning:
            hops = self.bandit.choose(count, derive(config.seed, "hops", number))
        else:
            hops = [config.hops[(number * count + slot) % len(config.hops)] for slot in range(count)]
        return [Seed(one, hop) for one, hop in zip(answers, hops, strict=True)]

    async def _challenges(self, number: int) -> list[Challenge]:
        if self.config.tasks == "fixed":
            return []
        config = self.config
        seeds = self._seeds(number)
        success = self.summaries[-1]["rate"] if self.summaries else None
        memory = self._retriever(config.challenger_sees_memory)
        contexts = [
            challenger_context(
                seed,
                success,
                memory=lambda answer: memory.block(answer).text,
                challenger_sees_memory=config.challenger_sees_memory,
            )
            for seed in seeds
        ]

        async def work() -> list[Challenge]:
            return await challenge(
                seeds,
                contexts,
                self._model("challenger"),
                self.material.searcher,
                settings=replace(self.settings, temperature=config.challenger_temperature),
                filters=config.filters,
                verifier=self.crew.verifier,
                scorer=self.crew.scorer,
                held_out=self.held_out,
                seed=derive(config.seed, "challenge", number),
            )

        return await self._phase("challenge", number, list(range(config.questions)), work, Challenge.to_json)

    async def _attempts(self, number: int, challenges: Sequence[Challenge]) -> list[Attempt]:
        config = self.config
        posed: Sequence[Any] = challenges or self._fixed(number)
        slots = [at for at, one in enumerate(posed) if not isinstance(one, Challenge) or one.valid]

        async def work() -> list[Attempt]:
            return await attempt(
                posed,
                self._retriever(config.train_retrieval),
                self.crew.solver,
                self.material.searcher,
                rollouts=config.rollouts,
                probes=config.probes,
                settings=self.settings,
                scorer=self.crew.scorer,
                seed=derive(config.seed, "attempt", number),
            )

        return await self._phase("attempt", number, slots, work, Attempt.to_json)

    def _fixed(self, number: int) -> list[tuple[str, tuple[str, ...]]]:
        count = self.config.questions
        rows = [self.fixed[(number * count + slot) % len(self.fixed)] for slot in range(count)]
        return [(row.question, row.golds) for row in rows]

    async def _phase(
        self,
        kind: str,
        number: int,
        slots: Sequence[int],
        work: Callable[[], Any],
        to_json: Callable[[Any], Any],
    ) -> list[Any]:
        """Reads a phase where all of its records are there, else does it and records what is missing."""
        keys = [f"round/{number}/slot/{slot}/{kind}" for slot in slots]
        seconds = 0.0
        missing = [key for key in keys if key not in self.records]
        made: dict[str, Any] = {}
        if missing:
            started = time.perf_counter()
            made = dict(zip(keys, await work(), strict=True))
            self.records.append_many((key, to_json(made[key])) for key in missing)
            seconds = time.perf_counter() - started
        # What is used is what was recorded, also where a kill left a part of the phase.
        found = [made[key] if key in missing else read(READERS[kind], key, self.records.get(key)) for key in keys]
        for slot, key, value in zip(slots, keys, found, strict=True):
            self.on_event(Event(kind, number, slot, value, seconds if slot == slots[-1] else 0.0, key))
        return found

    def _pay(self, number: int, challenges: Sequence[Challenge], attempts: Sequence[Attempt]) -> list[Paid]:
        if challenges:
            paid = rewards(challenges, attempts, self.shape, self.config.reward)
        else:
            measured = [measure(one.outcomes, self.config.reward.min_valid) for one in attempts]
            paid = [Paid(None, one, None, "fixed" if one.rate is not None else "dropped") for one in measured]
        keys = [f"round/{number}/slot/{slot}/paid" for slot in range(len(paid))]
        self.records.append_many((key, paid_json(one)) for key, one in zip(keys, paid, strict=True))
        for slot, (key, one) in enumerate(zip(keys, paid, strict=True)):
            self.on_event(Event("paid", number, slot, one, 0.0, key))
        return paid

    @staticmethod
    def _slots(
        number: int, challenges: Sequence[Challenge], attempts: Sequence[Attempt], paid: Sequence[Paid]
    ) -> list[Slot]:
        if not challenges:
            pairs = zip(attempts, paid, strict=True)
            return [Slot(number, at, None, tried, earned) for at, (tried, earned) in enumerate(pairs)]
        tries = iter(attempts)
        return [
            Slot(number, at, one, next(tries) if one.valid else None, earned)
            for at, (one, earned) in enumerate(zip(challenges, paid, strict=True))
        ]

    # --- after a round

    async def _remember(self, number: int) -> None:
        """Counts uses, makes cards of failures, gives up what is of no use, and records the bank's new state."""
        if self.bank is None:
            return
        config, bank, key = self.config, self.bank, f"round/{number}/bank"
        seconds = 0.0
        if key not in self.records:
            started = time.perf_counter()
            expect(self.bank, checkpoint(self.records))
            attempts = [slot.attempt for slot in self.rounds[-1] if slot.attempt is not None]
            bank.record_uses([use for one in attempts for use in one.uses], number)
            made, kept = Distilled(), Kept()
            if config.distil:
                made = await distil(
                    [one.tried for one in attempts],
                    bank,
                    self._model("distiller"),
                    config.distilling,
                    step=number,
                    seed=derive(config.seed, "distil", number),
                )
            if (number + 1) % config.upkeep_every == 0:
                kept = consolidate(bank, config.upkeep, number)
            bank.flush()
            record = {
                "kind": "bank",
                "round": number,
                "distilled": made.to_json(),
                "kept": asdict(kept),
                "active": len(bank),
                "bank": bank_state(bank),
            }
            self.records.append_many([(key, record)])
            seconds = time.perf_counter() - started
        self.on_event(Event("bank", number, -1, self.records.get(key), seconds, key))

    def _summary(self, number: int) -> None:
        slots = self.rounds[-1]
        found = figures(slots, self._seen)
        self._seen.update(question_sha256(slot.question) for slot in slots if slot.question)
        learnt = [(slot.challenge.seed.hops, slot.paid.reward) for slot in slots if slot.challenge and slot.paid]
        policy = None
        if self.config.hop_learning and learnt:
            self.bandit.learn(*zip(*learnt, strict=True))
            policy = [round(one, 6) for one in self.bandit.policy]
        raised = alarms([*self.summaries, found])
        record = {"kind": "summary", "round": number, **found, "hops": policy, "alarms": raised}
        self.summaries.append(record)
        key = f"round/{number}/summary"
        self.records.append_many([(key, record)])
        self.on_event(Event("round", number, -1, record, 0.0, key))


def held_out_rows(config: SesaConfig, material: Material) -> list[QARow]:
    """The questions that are kept for evaluation; of a material without riddles there are none to keep."""
    try:
        return question_set(config.held_out, material, "valid", config.seed, hops=config.hops)
    except NoTasks:
        if config.held_out != "riddles":
            raise
        return []


async def run_loop(
    config: SesaConfig, bank: SkillBank | None = None, records: Records | None = None, **options: Any
) -> Loop:
    """A whole run with seats of its own, for code that wants no folder.

    Args:
        config: The settings.
        bank: As for `Loop`.
        records: As for `Loop`.
        **options: ``material`` (a `Material`), and ``workers`` and ``on_event`` of `Loop`.

    Returns:
        The loop after its run; `Loop.rounds` and `Loop.summaries` tell what happened.
    """
    from metagym.sesa.materials import load_material

    material = options.pop("material", None) or load_material(config.material, config.searcher)
    crew = Crew.of(config, material)
    try:
        loop = Loop(config, crew, material, bank, records, **options)
        await loop.run()
        return loop
    finally:
        await crew.close()

"""The work on one slot of a round: a program is designed and judged, played in both arms, and its author is paid.

Nothing here remembers anything: what is drawn depends on the settings, the round and the slot alone, so that slots may
be worked on in any order and at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from metagym.episodes import Episode, Usage
from metagym.errors import ProgramKilled, SandboxError, SandboxUnavailable, TooManyFailures
from metagym.sandbox import SandboxPool
from metagym.seeding import derive
from metagym.spade.config import SpadeConfig
from metagym.spade.controls import reward_of
from metagym.spade.corpora import load_corpus
from metagym.spade.curriculum import LEAKS
from metagym.spade.designer import FORMATS, Setting, Written, brief_text, request_for, shown_of, write
from metagym.spade.documents import Document, DocumentSampler
from metagym.spade.estimates import estimate
from metagym.spade.evidence import Evidence
from metagym.spade.fingerprint import AstFingerprint
from metagym.spade.hints import HintResult, make_hint
from metagym.spade.hosts import ProgramPlayer, Stage, settled, staged
from metagym.spade.memory import MemorySnapshot
from metagym.spade.novelty import novelty
from metagym.spade.outcomes import HINTED, PLAIN, Outcome, pair_seeds, sampling_seed
from metagym.spade.pool import FixedPool, load_pool
from metagym.spade.program import EnvProgram
from metagym.spade.records import EnvRecord, Plays
from metagym.spade.regret import Sequential, estimate_regret
from metagym.spade.rewards import RewardBreakdown
from metagym.spade.samplers import Examples
from metagym.spade.seating import Seats
from metagym.spade.slots import Attempt, Design, Paid, Played
from metagym.spade.stand_ins import Brief, ScriptedDesigner, backend_of
from metagym.spade.validation import MemoryCache, ReportCache, ValidationReport, ValidationSettings, validate
from metagym.spade.validation.report import CODES

TIMEOUTS = ("load_timeout", "step_timeout")
CLUSTER = 0.5
"""Similarity from which on two programs of a batch count as repetitions; R-Zero's threshold (there of BLEU)."""


class Workshop:
    """Does the work; see the module's text.

    Args:
        config: The settings.
        seats: Who sits where.
        pools: Two sandboxes with different hash seeds, the first of which also plays; None for the shared ones.
        cache: Of validation reports; by default one that lives as long as the workshop.
        player: Makes who plays an episode, from the settings and what is to be given each episode; a trainer has one
            that records what the policy samples.
        stage: Loads a program for playing; see `metagym.spade.hosts.staged`.

    Raises:
        BadInput, NoTasks: The corpus or the fixed pool cannot be used.
    """

    def __init__(
        self,
        config: SpadeConfig,
        seats: Seats,
        *,
        pools: Sequence[SandboxPool] | None = None,
        cache: ReportCache | None = None,
        player: Callable[..., ProgramPlayer] = ProgramPlayer,
        stage: Callable[..., AbstractAsyncContextManager[Stage]] = staged,
    ) -> None:
        self.config, self.seats, self.pools = config, seats, pools
        self._player, self._staged = player, stage
        self.cache = cache or MemoryCache()
        self.reward = reward_of(config.reward, config.reward_options)
        self.documents: DocumentSampler | None = None
        if config.corpus is not None and config.pool is None:
            seed = derive(config.seed, "documents")
            self.documents = DocumentSampler(load_corpus(config.corpus), seed, max_words=config.max_words)
        self.pool: FixedPool | None = None if config.pool is None else load_pool(config.pool)

    # --- designing

    def document(self, epoch: int, slot: int, attempt: int, skill: str) -> Document | None:
        """The document of an attempt; None without a corpus."""
        if self.documents is None:
            return None
        labelled = skill in self.documents.source.skills()
        return self.documents.at(epoch, slot, attempt, skill if labelled else None)

    def examples(self, snapshot: MemorySnapshot, skill: str, seed: int) -> Examples:
        """What the designer is shown of the memory."""
        if not self.config.memory:
            return Examples()
        return snapshot.examples(skill, derive(seed, "examples"), self.config.positives, self.config.negatives)

    async def design(self, round: int, epoch: int, slot: int, snapshot: MemorySnapshot) -> Design:
        """Has the program of a slot written, up to `attempts` times, and judged.

        Args:
            round: Of the regeneration.
            epoch: Number of the regeneration.
            slot: Place in it.
            snapshot: The memory when the round began.
        """
        if self.pool is not None:
            return await self._from_pool(round, epoch, slot)
        config = self.config
        skill = config.skill_of(epoch, slot)
        known = [view.record.ast for view in snapshot.all_views if view.record.ast is not None]
        made: list[Attempt] = []
        examples = self.examples(snapshot, skill, derive(config.seed, "designer", round, slot))
        for number in range(config.attempts):
            seed = derive(config.seed, "designer", round, slot, number)
            document = self.document(epoch, slot, number, skill)
            last = made[-1] if made else None
            refusal, before = (last.words, last.source) if last is not None else ("", "")
            written = await self._write(
                Brief(
                    *(round, slot, epoch * config.programs + slot, number, skill, seed),
                    *(examples.positives, examples.negatives, refusal),
                ),
                document,
                before,
            )
            report = None
            if written.outcome == "program":
                report = await self.judge(written.source, known)
            where = None if document is None else _told(document)
            made.append(Attempt(written.outcome, written.cause, written.reply, None, where, report, written.usage))
            if made[-1].ok:
                break
        return Design(round, slot, skill, tuple(made), shown_of(examples), backend_of(self.seats.designer))

    async def _write(self, brief: Brief, document: Document | None, before: str) -> Written:
        designer, settings = self.seats.designer, self.config.designer_seat
        if isinstance(designer, ScriptedDesigner):
            return Written("program", designer.design(brief), usage=Usage(calls=1))
        examples = Examples(brief.positives, brief.negatives)
        text = brief_text(brief.skill, document, examples, brief.seed, brief.refusal, before)
        request = request_for(text, self.config.setting, settings, derive(brief.seed, "sample"))
        return await write(designer, request, settings.deadline)

    async def judge(
        self, source: str, known: Sequence[AstFingerprint] = (), settings: ValidationSettings | None = None
    ) -> ValidationReport:
        """The verdict on a program, without blocking the event loop."""
        settings = settings or self.config.validation
        auditor = self.seats.auditor if settings.audit != "off" else None
        report = await asyncio.to_thread(
            validate, source, settings=settings, known=known, auditor=auditor, pools=self.pools, cache=self.cache
        )
        return report if self.pool is not None else of_setting(report, source, self.config.setting)

    async def _from_pool(self, round: int, epoch: int, slot: int) -> Design:
        assert self.pool is not None
        program = self.pool.draw(epoch * self.config.programs + slot, derive(self.config.seed, "pool"))
        settings = replace(self.config.validation, novelty=False, audit="off")
        report = await self.judge(program.source, settings=settings)
        attempt = Attempt("pool", given=program.source, report=report)
        return Design(round, slot, program.skill, (attempt,), shown_of(Examples()), "pool")

    # --- playing

    async def play(
        self,
        round: int,
        slot: int,
        program: EnvProgram,
        hinted: bool = True,
        seeds: Sequence[int] | None = None,
    ) -> Played:
        """Plays a program on the seeds of the round, in both arms or without the hint alone.

        Args:
            round: The round.
            slot: Place of the program.
            program: What is played.
            hinted: Play the hinted arm as well.
            seeds: Instead of those of the round.

        Raises:
            TooManyFailures: The agent's side failed in more plays than the settings allow; nothing is recorded.
            SandboxUnavailable: There is no sandbox.
        """
        config = self.config
        seeds = list(seeds or pair_seeds(program.digest, round, config.seeds, config.seed))
        wanted = {sampling_seed(arm, seed, 0) for arm in (PLAIN, HINTED) for seed in seeds[: config.keep_episodes]}
        kept: dict[tuple[bool, int], Episode] = {}
        usages: list[Usage] = []

        def keep(episode: Episode, hint: str | None, sampling: int) -> None:
            usages.append(episode.usage)
            if sampling in wanted:
                kept[hint is not None, seeds.index(episode.task.seed) if episode.task.seed in seeds else 0] = episode

        hint: HintResult | None = None
        outcomes: list[Outcome] = []
        found = killed = None
        try:
            async with self._staged(program, self._sandbox, max_steps=config.player.max_steps) as stage:
                hint = await self._hint(stage, round, seeds) if hinted else None
                found = await estimate_regret(
                    stage,
                    self.seats.agent,
                    seeds,
                    None if hint is None else hint.text,
                    config.repeats,
                    player=self._player(config.player, keep),
                    estimator=config.estimator,
                    sequential=Sequential() if config.sequential else None,
                    keep=outcomes.append,
                )
                killed = stage.killed
        except SandboxUnavailable:
            raise
        except SandboxError as error:
            killed = error if isinstance(error, ProgramKilled) else ProgramKilled("died", str(error))
        if killed is not None or found is None:
            arms = (PLAIN,) if hint is None or hint.text is None else (PLAIN, HINTED)
            planned = [Outcome(seed, repeat, arm) for arm in arms for seed in seeds for repeat in range(config.repeats)]
            outcomes = settled(planned, killed)
            sides = [[one for one in outcomes if one.arm == arm] for arm in (PLAIN, HINTED)]
            found = estimate(*sides, binary=True, estimator=config.estimator)
            kept.clear()
        self._check(outcomes, program)
        order = sorted(kept)
        return Played(
            round,
            slot,
            program.digest,
            hint,
            found,
            tuple(outcomes),
            tuple(kept[place] for place in order),
            tuple(place[0] for place in order),
            "" if killed is None else killed.limit,
            None if killed is not None else Usage.total(usages),
            backend_of(self.seats.agent),
        )

    @property
    def _sandbox(self) -> SandboxPool | None:
        return None if self.pools is None else self.pools[0]

    async def _hint(self, stage: Stage, round: int, seeds: list[int]) -> HintResult:
        kind, config = self.config.hint, self.config
        if kind == "program":
            try:
                await stage.handle.reset(seeds[0])
            except SandboxError as error:
                return HintResult(None, kind, f"error: {type(error).__name__}: {error!s:.300}")
        return await make_hint(
            kind if kind != "program" or stage.program.has_hint else "none",
            source=stage.program.source,
            model=self.seats.hinter,
            program=stage.handle,
            settings=config.hints,
            seed=derive(config.seed, "hint", stage.program.digest, round),
            secrets=await stage.secrets(seeds) if kind != "none" else [],
        )

    def _check(self, outcomes: Sequence[Outcome], program: EnvProgram) -> None:
        lost = sum(one.failure == "agent_error" for one in outcomes)
        if lost > self.config.max_failures * len(outcomes):
            raise TooManyFailures(
                f"the agent failed in {lost} of {len(outcomes)} plays of program {program.digest[:12]} (allowed: "
                f"{self.config.max_failures:.0%}); look at the model's server, then resume"
            )

    # --- paying

    def pay(
        self,
        design: Design,
        played: Played | None,
        snapshot: MemorySnapshot,
        batch: Sequence[Design],
        baseline: float | None,
    ) -> Paid:
        """What the author of a slot's first attempt gets.

        Args:
            design: The slot.
            played: Its plays; None where no program was accepted.
            snapshot: The memory when the round began.
            batch: All slots of the regeneration.
            baseline: Slow average of the agent's win rate before this round.
        """
        first = design.first
        if first.report is None and first.outcome == "error":  # nobody's doing: unscored
            return Paid(design.round, design.slot, "", _unscored(first.cause))
        refused = evidence_of(first.report)
        if not design.ok:
            digest = "" if first.report is None else first.report.digest
            return Paid(design.round, design.slot, digest, self.reward(refused), leak=refused.leak)
        assert played is not None
        new = novelty(record_of(design), [view.record for view in snapshot.views]).value
        leaked = None if played.hint is None or played.hint.kind == "none" else float(played.hint.code == "leak")
        live = [view.skill for view in snapshot.views]
        rate = played.estimate.plain.win_rate
        seen: dict[str, float | None] = {
            "repetition": _repetition(design, batch),
            "win_baseline": baseline,
            "skill_share": live.count(design.skill) / len(live) if live else None,
        }
        history = self._history(design, snapshot, rate, played)
        evidence = Evidence(
            True, played.estimate, played.killed == "wall", seen["win_baseline"], history, new, seen["repetition"],
            leaked, seen["skill_share"],
        )  # fmt: skip
        earned = self.reward(evidence)
        if len(design.attempts) == 1:
            return Paid(
                design.round, design.slot, first.report.digest if first.report else "", earned, None, new, leaked, seen
            )
        digest = "" if first.report is None else first.report.digest
        return Paid(design.round, design.slot, digest, self.reward(refused), earned, new, leaked, seen)

    def _history(
        self, design: Design, snapshot: MemorySnapshot, rate: float | None, played: Played
    ) -> tuple[tuple[float, int], ...] | None:
        points: list[tuple[float, int]] = []
        for view in snapshot.all_views:
            if view.digest == design.program.digest:
                every: list[Plays] = [*([view.admission] if view.admission else []), *view.later]
                points = [(plays.p0.value, plays.p0.n) for plays in every if plays.p0.value is not None]
        return (*points, (rate, played.estimate.plain.counted)) if rate is not None else tuple(points) or None


def evidence_of(refused: ValidationReport | None) -> Evidence:
    """What is known of a first attempt that is no program; None where the designer gave no text at all."""
    if refused is None:
        return Evidence(False)
    return Evidence(False, hung=refused.code in TIMEOUTS, leak=float(refused.code in LEAKS))


def of_setting(report: ValidationReport, source: str, setting: Setting) -> ValidationReport:
    """The verdict, turned into a refusal where the program is of another setting than the one that was asked for.

    A designer that is asked for tools and writes a lock would else be paid for what it can do already.
    """
    if not report.ok or (found := EnvProgram.parse(source).action_format) in FORMATS[setting]:
        return report
    code, asked = "metadata_missing", " or ".join(FORMATS[setting])
    detail = f"action_format is {asked} in the setting {setting}; the header says {found!r}"
    return replace(report, ok=False, code=code, stage=CODES[code], detail=detail, line=1)


def record_of(design: Design) -> EnvRecord:
    """An accepted program as the memory keeps it; its skill is the one that was asked for."""
    report = design.last.report
    assert report is not None
    kept = {"flags": list(report.flags), "metrics": dict(report.metrics), "version": report.version}
    where: Mapping[str, Any] = design.last.document or {}
    made = EnvRecord.of(
        design.program,
        design.round,
        doc_id=where.get("doc_id", ""),
        report=kept,
        ast=report.fingerprint,
        behaviour=report.behaviour,
    )
    return replace(made, skill=design.skill)


def _told(document: Document) -> dict[str, Any]:
    title = document.meta.get("title")
    return {
        "doc_id": document.doc_id,
        "source": document.source,
        "title": title if isinstance(title, str) else "",
        "left_out": document.left_out,
    }


def _unscored(cause: str) -> RewardBreakdown:
    return RewardBreakdown(None, {}, True, f"the designer's call failed: {cause}"[:300])


def _repetition(design: Design, batch: Sequence[Design]) -> float:
    """Share of a batch's accepted programs that are like this one, itself included."""
    mine = design.last.report
    prints = [one.last.report.fingerprint for one in batch if one.ok and one.last.report is not None]
    if mine is None or mine.fingerprint is None:
        return 0.0
    alike = sum(other is not None and mine.fingerprint.similarity(other) >= CLUSTER for other in prints)
    return alike / max(1, len(batch))

"""The designer's half of a generation: briefs, groups of designs for them, edits, and the verdicts of the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from metagym.checks import whole
from metagym.errors import BadInput, TooManyFailures
from metagym.seeding import derive
from metagym.spade.designer import Written, brief_text, request_for, shown_of, write
from metagym.spade.documents import Document
from metagym.spade.fingerprint import AstFingerprint
from metagym.spade.loop import without_copies
from metagym.spade.memory import MemorySnapshot
from metagym.spade.samplers import Examples
from metagym.spade.slots import Attempt, Design
from metagym.spade.validation import ValidationReport
from metagym.spade.workshop import Workshop
from metagym_trainers.recording import Recorder
from metagym_trainers.spade.players import Booth
from metagym_trainers.spade.settings import SpadeTraining

Compiler = Callable[[str, str], str]
"""From a designer's reply and the skill that was asked for to the program's source."""
Editor = Callable[[str, int], str]
"""From a valid program and a seed to what a designer would have written for an edit of it."""


@dataclass(frozen=True)
class Brief:
    """What a group of designs was asked for.

    Attributes:
        skill: What the program is to train.
        document: What grounds it; None without a corpus.
        examples: Of the memory.
        seed: Decides the designs' draws.
    """

    skill: str
    document: Document | None
    examples: Examples
    seed: int


@dataclass(frozen=True)
class Designs:
    """The designs of a generation.

    Attributes:
        made: In the order of their places, brief by brief.
        recorders: What recorded each.
        edited: Places of those that are edits.
    """

    made: list[Design]
    recorders: list[Recorder]
    edited: frozenset[int]


@dataclass
class _Asked:
    """A design while it is made: its place, what it was asked for, what it may be an edit of."""

    place: int
    brief: Brief
    bases: Sequence[str] = ()
    recorder: Recorder = field(init=False)
    design: Design = field(init=False)


class Designing:
    """Has programs written and judged.

    Args:
        workshop: Knows documents, examples and the sandbox.
        booth: Where the policy sits.
        training: The settings.
        compiler: Makes a program of a reply; None takes the program in it as it stands.
        editor: Writes edits.
        judges: Programs that are validated at a time.

    Raises:
        BadInput: Edits are asked for and there is no editor.
    """

    def __init__(
        self,
        workshop: Workshop,
        booth: Booth,
        training: SpadeTraining,
        compiler: Compiler | None = None,
        editor: Editor | None = None,
        judges: int = 4,
    ) -> None:
        if training.edits and editor is None:
            raise BadInput(f"edits={training.edits} needs an editor, which writes what an edited program asks for")
        self.workshop, self._booth, self.training, self.config = workshop, booth, training, training.config
        self._compiler, self._editor, self._judges = compiler, editor, whole("judges", judges, 1)
        self._accepted: dict[str, ValidationReport] = {}  # where a verdict depends on the program alone

    async def make(self, number: int, before: MemorySnapshot, rank: int, world: int) -> Designs:
        """A group of designs for each brief, with their verdicts.

        Args:
            number: The generation.
            before: The memory when it began.
            rank: This process; it decides which briefs are its own.
            world: Number of processes.

        Raises:
            TooManyFailures: The policy failed in more designs than the settings allow.
        """
        size, own = self.training.generations, self.training.generations - self.training.edits
        first = rank * self.training.briefs
        briefs = [self._brief(number, first + at, world, before) for at in range(self.training.briefs)]
        known = [view.record.ast for view in before.all_views if view.record.ast is not None]
        asked = [_Asked(at * size + place, brief) for at, brief in enumerate(briefs) for place in range(own)]
        for one in asked:
            one.recorder = self._booth.recorder(derive(one.brief.seed, one.place))
        await self._written(number, first * size, asked, known)
        edits = []
        for at, brief in enumerate(briefs):
            valid = [one.design.last.source for one in asked[at * own : (at + 1) * own] if one.design.ok]
            valid = valid or [view.record.source for view in before.views if view.skill == brief.skill][-1:]
            edits += [_Asked(at * size + place, brief, valid) for place in range(own, size)]
        for one in edits:  # without anything to edit it is a design as any other
            seed = derive(one.brief.seed, one.place)
            one.recorder = self._booth.recorder(seed)
            if one.bases and self._editor is not None:
                base = one.bases[derive(seed, "base") % len(one.bases)]
                one.recorder = self._booth.dictation(self._editor(base, derive(seed, "edit")))
        await self._written(number, first * size, edits, known)
        every = sorted([*asked, *edits], key=lambda one: one.place)
        designs = without_copies([one.design for one in every], self.config.validation)
        edited = frozenset(one.place for one in edits if one.bases)
        return Designs(designs, [one.recorder for one in every], edited)

    async def _written(
        self, number: int, first_slot: int, asked: Sequence[_Asked], known: Sequence[AstFingerprint]
    ) -> None:
        """Has designs written and judged."""
        config = self.config
        found = await self._booth.gather([self._write(one.brief, one.recorder, one.place) for one in asked])
        for failure in (one for one in found if isinstance(one, BaseException)):
            raise failure
        failed = [one for one in found if one.outcome == "error"]
        if len(failed) > config.max_failures * len(found):
            raise TooManyFailures(
                f"the policy failed in {len(failed)} of {len(found)} designs (allowed: {config.max_failures:.0%}); the "
                f"first: {failed[0].cause}"
            )
        sources = [self._source(written, one.brief) for one, written in zip(asked, found, strict=True)]
        reports = await self._judge({source for source in sources if source is not None}, known)
        for one, written, source in zip(asked, found, sources, strict=True):
            one.design = self._designed(number, first_slot + one.place, one.brief, written, source, reports)

    def _brief(self, number: int, own: int, world: int, before: MemorySnapshot) -> Brief:
        epoch = number // self.config.interval
        skill = replace(self.config, programs=world * self.training.briefs).skill_of(epoch, own)
        seed = derive(self.config.seed, "designer", number, own)
        document = self.workshop.document(epoch, own, 0, skill)
        return Brief(skill, document, self.workshop.examples(before, skill, seed), seed)

    async def _write(self, brief: Brief, recorder: Recorder, place: int) -> Written:
        seat = self.config.designer_seat
        text = brief_text(brief.skill, brief.document, brief.examples, brief.seed)
        request = request_for(text, self.config.setting, seat, derive(brief.seed, "sample", place))
        return await write(recorder, request, seat.deadline)

    def _source(self, written: Written, brief: Brief) -> str | None:
        """What there is to be judged; None where nothing was written."""
        if written.outcome != "program" or written.reply is None:
            return None
        return written.source if self._compiler is None else self._compiler(written.reply, brief.skill)

    async def _judge(self, sources: set[str], known: Sequence[AstFingerprint]) -> dict[str, ValidationReport]:
        """The verdicts on programs, each judged once; whatever is unclear is a refusal."""
        gate = asyncio.Semaphore(self._judges)
        alone = not self.config.validation.novelty and self.config.validation.audit == "off"

        async def one(source: str) -> ValidationReport:
            if alone and source in self._accepted:
                return self._accepted[source]
            async with gate:
                report = await self.workshop.judge(source, known)
            if alone and report.ok:
                self._accepted[source] = report
            return report

        ordered = sorted(sources)
        return dict(zip(ordered, await asyncio.gather(*map(one, ordered)), strict=True))

    def _designed(
        self,
        number: int,
        slot: int,
        brief: Brief,
        written: Written,
        source: str | None,
        reports: Mapping[str, ValidationReport],
    ) -> Design:
        report = None if source is None else reports[source]
        where = None if brief.document is None else {"doc_id": brief.document.doc_id}
        given = None if self._compiler is None else source
        attempt = Attempt(written.outcome, written.cause, written.reply, given, where, report, written.usage)
        return Design(number, slot, brief.skill, (attempt,), shown_of(brief.examples), "local")

"""SPADE's generation, for any trainer: designs and verdicts, plays in both arms, rewards, memory, rows of both roles.

The work on programs is that of ``metagym spade run`` (`metagym.spade.workshop`, validation, regret, rewards, memory);
what is new here is that a brief has a group of designs, and that what the policy samples is kept as ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from metagym.chat.types import ChatModel
from metagym.errors import BadInput, StoreCorrupt
from metagym.sandbox import SandboxPool
from metagym.seeding import derive
from metagym.spade.estimates import RegretEstimate
from metagym.spade.hosts import Stage, staged
from metagym.spade.loop import SLOW, remember
from metagym.spade.memory import EnvMemory, MemorySnapshot
from metagym.spade.memory_store import RamStore
from metagym.spade.outcomes import HINTED, PLAIN, pair_seeds
from metagym.spade.program import EnvProgram
from metagym.spade.seating import Seats
from metagym.spade.slots import Design, Paid, Played, Slot
from metagym.spade.validation import ReportCache
from metagym.spade.workshop import Workshop
from metagym_trainers.episodes import TokenEpisode
from metagym_trainers.policies import Policy
from metagym_trainers.recording import Limits, Recorder, Template
from metagym_trainers.spade.designing import Compiler, Designing, Editor
from metagym_trainers.spade.players import Booth, Gather, PolicySeat, RecordingPlayer, at_once
from metagym_trainers.spade.rows import (
    DESIGNER,
    Block,
    Chosen,
    block_of,
    choose,
    design_rows,
    digest_of,
    joined,
    metrics_of,
    play_rows,
)
from metagym_trainers.spade.settings import SpadeTraining

Share = Callable[[list[Any]], list[Any]]
"""From what one process has to what all have, in the order of their ranks (`accelerate.utils.gather_object`)."""


@dataclass(frozen=True)
class Generation:
    """What came of one generation.

    Attributes:
        number: Which one, from 0.
        slots: The designs in order, with what was played and paid of them; copies of a program share its plays.
        blocks: The rows, brief by brief.
        metrics: Numbers for the log, beside those that follow from the rows.
        edited: Places of the designs that are edits.
    """

    number: int
    slots: tuple[Slot, ...]
    blocks: tuple[Block, ...]
    metrics: Mapping[str, float]
    edited: frozenset[int] = frozenset()

    @property
    def episodes(self) -> tuple[TokenEpisode, ...]:
        """All rows, paid with their rewards."""
        return tuple(row for block in self.blocks for row in block.rows)

    @property
    def advantages(self) -> tuple[float | None, ...]:
        """Their advantages, each role and group on its own."""
        return tuple(value for block in self.blocks for value in block.advantages)


class SpadeCore:
    """Makes one generation after another.

    Args:
        training: The settings.
        tokenizer: The policy's.
        limits: Of the rows, e.g. the model's window.
        compiler: Makes a program of a reply; None takes the program in it as it stands.
        editor: Writes edits; needed where the settings ask for some.
        pools: Two sandboxes with different hash seeds, the first of which also plays; None for the shared ones.
        cache: Of verdicts.
        judges: Programs that are validated at a time.
        stage: Loads a program for playing.
        hinter: Who writes ``self`` hints; None for the policy, at its own temperature. They are not trained on.
        auditor: Who reads programs where the validation asks for an audit: a model of its own, since the validation
            runs beside the event loop that the policy is sampled on.
        options: Of the chat template, e.g. ``{"enable_thinking": False}``.

    Attributes:
        number: The next generation.
        memory: The environment memory.

    Raises:
        BadInput: An audit is asked for without an auditor, edits without an editor, or the corpus or the chat template
            cannot be used.
    """

    def __init__(
        self,
        training: SpadeTraining,
        tokenizer: Any,
        *,
        limits: Limits | None = None,
        compiler: Compiler | None = None,
        editor: Editor | None = None,
        pools: Sequence[SandboxPool] | None = None,
        cache: ReportCache | None = None,
        judges: int = 4,
        stage: Callable[..., AbstractAsyncContextManager[Stage]] = staged,
        hinter: ChatModel | None = None,
        auditor: ChatModel | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if training.config.validation.audit != "off" and auditor is None:
            raise BadInput("the validation asks for an audit: name an auditor, a model of its own, or set audit='off'")
        self.training, self.config = training, training.config
        self.number = 0
        self._store = RamStore()
        self.memory = EnvMemory(self._store, self.config.memory_settings)
        self._booth = Booth(Template(tokenizer, **(options or {})), limits=limits or Limits())
        seat = PolicySeat(self._booth)
        self.workshop = Workshop(
            self.config,
            Seats(seat, seat, hinter or seat, auditor or seat),
            pools=pools,
            cache=cache,
            player=partial(RecordingPlayer, booth=self._booth),
            stage=stage,
        )
        self._end = int(tokenizer.eos_token_id)
        self._designing = Designing(self.workshop, self._booth, training, compiler, editor, judges)
        self._batch: list[Design] | None = []  # this process's; None where it was restored and not looked at yet
        self._batches: list[list[Design]] = []  # of all processes, by rank
        self._baseline: float | None = None
        self._rank, self._world = 0, 1
        self._share: Share = list

    def bind(
        self, policy: Policy, gather: Gather = at_once, *, rank: int = 0, world: int = 1, share: Share = list
    ) -> None:
        """Seats the policy.

        Args:
            policy: Who samples.
            gather: How its episodes are run at once; `LocalPolicy.gather` for a `LocalPolicy`.
            rank: This process; it decides which briefs are its own.
            world: Number of processes.
            share: Hands what one process has to all, so that their memories stay equal.

        Raises:
            BadInput: The policy is sampled at another temperature than the seats ask for.
        """
        if policy.temperature != self.training.temperature:
            raise BadInput(
                f"the policy is sampled at temperature {policy.temperature:g} and the seats ask for "
                f"{self.training.temperature:g}: make them equal, since updates assume the policy's"
            )
        self._booth.policy, self._booth.gather = policy, gather
        self._rank, self._world, self._share = rank, world, share

    # --- one generation

    async def generate(self) -> Generation:
        """Makes the next generation; when it returns, the memory holds what was played.

        Raises:
            TooManyFailures: The policy failed in more designs or plays than the settings allow.
            SandboxUnavailable: There is no sandbox.
        """
        number, training = self.number, self.training
        if self._batch is None:
            self._batch = self._restored()
        before = self.memory.snapshot(before=number)
        self._booth.plays.clear()
        # A batch without a program would leave the generations up to the next regeneration with nothing to train on.
        fresh = number % self.config.interval == 0 or not any(design.ok for design in self._batch)
        recorders: list[Recorder] = []
        edited: frozenset[int] = frozenset()
        if fresh:
            designs = await self._designing.make(number, before, self._rank, self._world)
            self._batch, recorders, edited = designs.made, designs.recorders, designs.edited
        size, taken = training.generations, set[str]()
        firsts = range(0, len(self._batch), size)
        chosen = [choose(self._batch[first : first + size], training.slots, taken, first) for first in firsts]
        everything = [one for brief in chosen for one in brief]
        played = await self._play(number, everything, fresh)
        paid = self._pay(played, before) if fresh else [None] * len(played)
        slots = [Slot(*parts) for parts in zip(self._batch, played, paid, strict=True)]
        places = [one.slot for one in everything]
        self._remember(number, [slots[place] for place in places], before, fresh)
        blocks = [
            self._block(number, place, slots, recorders[place * size : (place + 1) * size], edited, chosen[place])
            for place in range(training.briefs)
        ]
        self.number = number + 1
        return Generation(
            number, tuple(slots), tuple(blocks), metrics_of(slots, places, edited, len(self.memory)), edited
        )

    async def _play(self, number: int, chosen: Sequence[Chosen], hinted: bool) -> list[Played | None]:
        """The plays of each design; copies of a program that is played share its plays, all others have none."""
        assert self._batch is not None
        config, portions = self.config, self.training.portions

        async def portion(program: EnvProgram, slot: int, seeds: list[int]) -> Played:
            return await self.workshop.play(number, slot, program, hinted, seeds)

        async def one(program: EnvProgram, slot: int, groups: int) -> Played:
            seeds = pair_seeds(program.digest, number, groups * portions * config.seeds, config.seed)
            parts = [seeds[at : at + config.seeds] for at in range(0, len(seeds), config.seeds)]
            works = [self._booth.staging(portion(program, slot, part)) for part in parts]
            return joined(await asyncio.gather(*works), config)

        programs = [self._batch[each.slot].program for each in chosen]
        slots = [self._first_slot + each.slot for each in chosen]
        found = await asyncio.gather(*map(one, programs, slots, [each.groups for each in chosen]))
        by_digest = {played.digest: played for played in found}
        return [by_digest.get(digest_of(design)) if design.ok else None for design in self._batch]

    def _pay(self, played: Sequence[Played | None], before: MemorySnapshot) -> list[Paid | None]:
        """What each design earns; None for a valid one that found no slot: it is unscored."""
        assert self._batch is not None
        return [
            None
            if design.ok and plays is None
            else self.workshop.pay(design, plays, before, self._batch, self._baseline)
            for design, plays in zip(self._batch, played, strict=True)
        ]

    def _remember(self, number: int, slots: Sequence[Slot], before: MemorySnapshot, fresh: bool) -> None:
        """Takes the programs of all processes into the memory, in the order of their slots, and notes their designs."""
        assert self._batch is not None
        everybodys, batches = slots, [self._batch]
        if self._world > 1:
            own = [design.to_json() for design in self._batch] if fresh else None
            shared = self._share([{"batch": own, "slots": [_packed(slot) for slot in slots]}])
            everybodys = [_unpacked(data) for part in shared for data in part["slots"]]
            batches = [
                self._batches[rank] if part["batch"] is None else [Design.from_json(item) for item in part["batch"]]
                for rank, part in enumerate(shared)
            ]
        self._batches = batches
        remember(self.memory, number, everybodys, before)
        for slot in everybodys:
            estimate = None if slot.played is None else slot.played.estimate
            rate = None if estimate is None or estimate.invalidated else estimate.plain.win_rate
            if rate is not None:
                self._baseline = rate if self._baseline is None else SLOW * self._baseline + (1 - SLOW) * rate

    def _block(
        self,
        number: int,
        place: int,
        slots: Sequence[Slot],
        recorders: Sequence[Recorder],
        edited: frozenset[int],
        chosen: Sequence[Chosen],
    ) -> Block:
        training, brief = self.training, self._rank * self.training.briefs + place
        first = place * training.generations
        own = slots[first : first + training.generations]
        which = frozenset(one - first for one in edited)
        designs = design_rows(own, recorders, which, (DESIGNER, number, brief), training.generations, self._end)
        plain: list[list[TokenEpisode]] = []
        hinted: list[list[TokenEpisode]] = []
        for played in (slots[one.slot].played for one in chosen):
            if played is not None:
                plain += play_rows(played, self._booth.plays, PLAIN, number, training, self._end)
                hinted += play_rows(played, self._booth.plays, HINTED, number, training, self._end)
        return block_of(designs, plain, hinted, training, (number, brief), self._end)

    @property
    def _first_slot(self) -> int:
        """The number of this process's first design among those of all processes."""
        return self._rank * self.training.briefs * self.training.generations

    async def measure(self, programs: Sequence[EnvProgram], plays: int, seed: int = 0) -> list[RegretEstimate]:
        """Plays programs without a hint, apart from training: nothing enters the memory, and no row is kept.

        Args:
            programs: Kept apart from training.
            plays: Plays of each, on seeds that are the same for every policy.
            seed: Decides these seeds.
        """

        async def one(place: int, program: EnvProgram) -> Played:
            seeds = pair_seeds(program.digest, 0, plays, derive(seed, "measure"))
            return await self._booth.staging(self.workshop.play(0, place, program, False, seeds))

        found = await asyncio.gather(*(one(*each) for each in enumerate(programs)))
        self._booth.plays.clear()
        return [played.estimate for played in found]

    # --- state, for checkpoints

    def state(self) -> dict[str, Any]:
        """What the next generations depend on beside the policy, as plain JSON."""
        return {
            "number": self.number,
            "baseline": self._baseline,
            "batch": [design.to_json() for batch in self._batches for design in batch],
            "memory": [[key, self._store.get(key)] for key in self._store.keys()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes a state back.

        Raises:
            StoreCorrupt: It is no state of a core.
            BadInput: Its memory has other settings.
        """
        store = RamStore()
        try:
            store.append_many((key, value) for key, value in state["memory"])
            number, baseline = int(state["number"]), state["baseline"]
            batch = [Design.from_json(item) for item in state["batch"]]
        except (KeyError, TypeError, ValueError) as error:
            raise StoreCorrupt(f"not the state of SPADE's core: {error!r:.200}") from error
        self.memory, self._store = EnvMemory(store, self.config.memory_settings), store
        self.number, self._baseline, self._batch = number, baseline, None
        size = self.training.briefs * self.training.generations
        self._batches = [batch[first : first + size] for first in range(0, len(batch), size)]

    def _restored(self) -> list[Design]:
        """This process's designs among those that were restored.

        Raises:
            BadInput: They are of another number of processes.
        """
        if self._batches and len(self._batches) != self._world:
            raise BadInput(
                f"the state holds the designs of {len(self._batches)} processes, and {self._world} train: resume with "
                "as many as the run was started with"
            )
        return self._batches[self._rank] if self._batches else []


def _packed(slot: Slot) -> dict[str, Any]:
    """A slot as plain JSON, for the other processes."""
    return {
        "design": slot.design.to_json(),
        "played": None if slot.played is None else slot.played.to_json(),
        "paid": None if slot.paid is None else slot.paid.to_json(),
    }


def _unpacked(data: Mapping[str, Any]) -> Slot:
    played, paid = data["played"], data["paid"]
    return Slot(
        Design.from_json(data["design"]),
        None if played is None else Played.from_json(played),
        None if paid is None else Paid.from_json(paid),
    )

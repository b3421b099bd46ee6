"""The driver: rounds in which the challenger trains, asks, and the solver trains on what was asked.

    challenge   the challenger's trainer, paid by the frozen solver's success rates
    ask         questions for the solver; the frozen solver's rollouts; cards of its failures at the frontier
    solve       the solver's trainer, on these questions with the cards that were found for them

Two trainers with parameters, optimisers and folders of their own; at any time one of them trains and the other stands
still. What is done is on disk before the state says so, and every phase begins from a checkpoint: a run that is killed
and started again ends as an uninterrupted one, reward for reward.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from metagym.errors import BadInput, RunError
from metagym.journal import Journal
from metagym.seeding import derive
from metagym.sesa.cards import question_sha256
from metagym.sesa.challenger import Challenge
from metagym.sesa.checkpoints import bank_state, expect
from metagym.sesa.contexts import challenger_context
from metagym.sesa.deploy import Blocks
from metagym.sesa.distil import Distilled
from metagym.sesa.maintenance import Kept, consolidate
from metagym.sesa.repair import rewind
from metagym.sesa.rounds import Attempt
from metagym.sesa.shaping import load_shape, measure
from metagym.sesa.skills import SkillBank
from metagym.strictjson import plain_json
from metagym_trainers.guards import check_config
from metagym_trainers.policies import publish
from metagym_trainers.sampling import own_noise
from metagym_trainers.sesa.cards import CardDropout
from metagym_trainers.sesa.evaluate import greedy, held_out, refuse_leaks
from metagym_trainers.sesa.opponent import NO_CARDS, FrozenSolver, gathered
from metagym_trainers.sesa.phases import Phases, load_weights
from metagym_trainers.sesa.rewards import ChallengerReward, SolverReward
from metagym_trainers.sesa.rollouts import ChallengerRollout, Row, SolverRollout, run
from metagym_trainers.sesa.settings import Seat, SelfPlaySettings
from metagym_trainers.sesa.state import BANK, RECORDS, ROWS, State, load_rows, load_state, save_rows, save_state
from metagym_trainers.sesa.world import Asked, Question, World
from metagym_trainers.tracking import Tracker


class SelfPlay:
    """One run in a folder; made again on the same folder, it goes on where the last one came to.

    Args:
        world: What is played.
        settings: Everything beside the trainers' arguments.
        challenger: The challenger's seat.
        solver: The solver's.
        folder: Of the run: ``challenger/`` and ``solver/`` (checkpoints), ``bank/``, ``records.jsonl``,
            ``selfplay.json``.
        embedder: Of the bank (`SkillBank.open`).
        dedup: Cosine from which cards are near copies; None takes the bank's own.
        on_event: Told of each record: key and value.

    Attributes:
        trainers: Both trainers by seat.
        state: Where the run stands.

    Raises:
        BadInput: Settings and arguments do not fit each other, or both seats have one and the same model.
        RunError: The folder holds a run with other settings.
    """

    def __init__(
        self,
        world: World,
        settings: SelfPlaySettings,
        challenger: Seat,
        solver: Seat,
        folder: Path,
        *,
        embedder: str = "hash",
        dedup: float | None = None,
        on_event: Callable[[str, Any], None] = lambda key, value: None,
    ) -> None:
        self.world, self.settings, self.folder, self.on_event = world, settings, Path(folder), on_event
        if challenger.model is solver.model and not isinstance(challenger.model, str | Path):
            raise BadInput("challenger and solver have parameters of their own: hand in two models, or two folders")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.records = Journal.open(self.folder / RECORDS, "w")  # its lock keeps a second run out of the folder
        self.bank: SkillBank | None = None
        self.trainers: dict[str, GRPOTrainer] = {}
        try:
            self.state = load_state(self.folder, settings.to_json()) or State(settings.to_json())
            if settings.bank:
                self._open_bank(embedder, dedup)
            self._build(challenger, solver)
            self._catch_up()
        except BaseException:
            self.close()
            raise

    def _open_bank(self, embedder: str, dedup: float | None) -> None:
        if self.state.bank is not None:  # what a killed run wrote past its state is set aside, and done again
            rewind(self.folder / BANK, self.state.bank["seq"])
        self.bank = SkillBank.open(self.folder / BANK, embedder, dedup)
        if self.state.bank is None:
            self.bank.deny(sha256=sorted(question_sha256(one.text) for one in self.world.held_out))
            self.state = replace(self.state, bank=bank_state(self.bank))
            save_state(self.folder, self.state)
        expect(self.bank, self.state.bank)

    def _build(self, challenger: Seat, solver: Seat) -> None:
        """Both trainers with what they call, the solver's first: the challenger's reward asks it."""
        world, settings = self.world, self.settings
        tracker, asked = (
            Tracker(self.folder / name, every=max(1, steps), decode=seat.tokenizer.decode)
            for name, seat, steps in (
                ("solver", solver, settings.solver_steps),
                ("challenger", challenger, settings.challenger_steps),
            )
        )
        self.solving = SolverRollout(world, solver.policy, settings.concurrency, tracker)
        # Its numbers are its reward's to tell, which knows what each challenge is paid; some episodes are kept.
        self.asking = ChallengerRollout(world, challenger.policy, settings.concurrency, asked)
        steps = {"solver": settings.solver_steps, "challenger": settings.challenger_steps}
        reward: Any = SolverReward(self._told, tracker)
        self.trainers["solver"] = self._trainer("solver", solver, steps["solver"], reward, self.solving)
        self.opponent = FrozenSolver(
            world,
            self.solving.serve(self.trainers["solver"]),
            rollouts=settings.rollouts,
            min_valid=settings.reward.min_valid,
            concurrency=settings.concurrency,
            noise=own_noise,
        )
        # The challenger's side is handed a function from questions to success rates: no prompt, no card, no bank.
        self.reward = ChallengerReward(
            world.vet, self.opponent.measured, load_shape(settings.shape), settings.reward, self._told
        )
        self.trainers["challenger"] = self._trainer(
            "challenger", challenger, steps["challenger"], self.reward, self.asking
        )
        self.asking.serve(self.trainers["challenger"])
        self.phases = {
            name: Phases(self.trainers[name], count, name, derive(settings.seed, name))
            for name, count in steps.items()
            if count
        }

    def _trainer(self, name: str, seat: Seat, steps: int, reward: Any, rollout: Any) -> GRPOTrainer:
        fixed = {
            "output_dir": str(self.folder / name),
            "max_steps": self.settings.rounds * max(1, steps),
            "shuffle_dataset": False,
            "remove_unused_columns": False,
            "ignore_data_skip": False,
            "seed": derive(self.settings.seed, name, "trainer") % 2**31,
        }
        args = GRPOConfig(**{"save_strategy": "no", "save_total_limit": 2, **seat.args, **fixed})
        check_config(args, rollout=True)
        if args.world_size > 1:
            raise BadInput(
                f"{args.world_size} processes would each ask, distil and keep records: run the driver in one, and give "
                "the policies' servers more GPUs"
            )
        return GRPOTrainer(
            model=seat.model,
            reward_funcs=reward,
            args=args,
            train_dataset=Dataset.from_list([Row("none", "none", None).record] * args.generation_batch_size),
            processing_class=seat.tokenizer,
            rollout_func=rollout,
            peft_config=seat.peft,
        )

    def _catch_up(self) -> None:
        """Loads what a policy had learnt where the run stands; the one whose phase it is loads its own checkpoint."""
        for name, phases in self.phases.items():
            done = self.state.round + (name == "challenger" and self.state.phase != "challenge")
            if done and (name, self.state.phase) not in (("challenger", "challenge"), ("solver", "solve")):
                load_weights(phases.trainer, phases.checkpoint(done * phases.steps))
                publish(phases.trainer)

    # --- the rounds

    def run(self, phases: int | None = None) -> State:
        """Runs to the end, or for a number of phases.

        Args:
            phases: Phases to do; None for all that are left.

        Raises:
            RunError: Nobody asked a question that counts, or a checkpoint is gone.
            TooManyFailures: Nothing of a batch could be measured.
            BudgetExceeded, CacheMiss, StoreError: The run cannot go on; what was done is kept.
        """
        done = 0
        self._evaluated("start", NO_CARDS)
        while self.state.round < self.settings.rounds and (phases is None or done < phases):
            {"challenge": self._challenge, "ask": self._ask, "solve": self._solve}[self.state.phase](self.state.round)
            save_state(self.folder, self.state)
            done += 1
        return self.state

    def close(self) -> None:
        """Closes bank and records."""
        if self.bank is not None:
            self.bank.close()
        self.records.close()

    def __enter__(self) -> SelfPlay:
        """The run itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def _challenge(self, number: int) -> None:
        if phases := self.phases.get("challenger"):
            rows = self._challenges("train", number, phases.groups)
            seed = derive(self.settings.seed, "challenge", number)
            self.opponent.blocks = self._cards(derive(seed, "cards"))
            self.reward.seed = derive(seed, "reward")
            self.asking.load(rows, seed)
            phases.run(number, rows)
            publish(phases.trainer)
        self.state = replace(self.state, phase="ask")

    def _challenges(self, why: str, number: int, count: int) -> list[Row]:
        """Rows of the challenger: made of seeds and of one number about the solver."""
        starts = self.world.seeds(count, derive(self.settings.seed, "seeds", why, number))
        return [
            Row(
                f"{why}-{number}-{at}",
                self.world.challenger_prompt(challenger_context(start, self.state.success)),
                start,
            )
            for at, start in enumerate(starts)
        ]

    def _ask(self, number: int) -> None:
        chosen, seed = self.settings, derive(self.settings.seed, "ask", number)
        challenges = self._asked(self._challenges("ask", number, chosen.questions), seed)
        valid = [one for one in challenges if one.valid]
        verdicts = Counter(map(_verdict, challenges))
        if not valid:
            raise RunError(
                f"none of the {len(challenges)} challenges of round {number} counts ({dict(verdicts)}): look at the "
                "challenger's episodes, loosen the filters, or warm it up"
            )
        questions = [Question(str(one.question), one.seed.answers, f"{number}-{at}") for at, one in enumerate(valid)]
        self.opponent.blocks = self._cards(derive(seed, "cards"))
        policy = self.opponent.policy
        attempts = run(policy, self.opponent.attempts(questions, derive(seed, "attempts")))
        measured = [measure(one.outcomes, chosen.reward.min_valid) for one in attempts]
        known = [one.rate for one in measured if one.rate is not None]
        distilled, kept = self._remember(attempts, number, derive(seed, "distil"))
        taught = [
            question
            for question, one in zip(questions, measured, strict=True)
            if one.rate is not None and one.rate <= chosen.solved
        ]
        if not taught:
            raise RunError(
                f"none of the {len(questions)} questions of round {number} is left to train on: none could be scored, "
                f"or all were solved more often than solved={chosen.solved:g}"
            )
        save_rows(self.folder / ROWS.format(number), self._solver_rows(taught, number, seed))
        success = sum(known) / len(known) if known else None
        self._record(
            f"round/{number}/ask",
            {
                "verdicts": dict(sorted(verdicts.items())),
                "distinct": len({question.text for question in questions}),
                "success": success,
                "frontier": sum(one.frontier for one in measured) / len(measured),
                "unscored": sum(one.unscored for one in measured),
                "distilled": distilled.to_json(),
                "kept": asdict(kept),
                "cards": None if self.bank is None else len(self.bank),
            },
        )
        bank = None if self.bank is None else bank_state(self.bank)
        self.state = replace(self.state, phase="solve", success=success, bank=bank)

    def _asked(self, rows: Sequence[Row], seed: int) -> list[Challenge]:
        policy = self.asking.serve(self.trainers["challenger"])
        jobs = [self.world.ask(row.subject, row.prompt, policy, derive(seed, row.id)) for row in rows]
        with own_noise(derive(seed, "noise")):
            played = run(policy, gathered(policy, jobs, self.settings.concurrency))
        asked = [one.challenge for one in played if isinstance(one, Asked)]
        return run(policy, self.world.vet(asked, derive(seed, "vet")))

    def _remember(self, attempts: Sequence[Attempt], number: int, seed: int) -> tuple[Distilled, Kept]:
        """Counts uses, makes cards of failures, gives up what is of no use."""
        if self.bank is None:
            return Distilled(), Kept()
        bank = self.bank
        bank.record_uses(self.world.uses(attempts), number)
        made = run(self.opponent.policy, self.world.distil(attempts, bank, number, seed))
        kept = Kept()
        if (number + 1) % self.settings.upkeep_every == 0:
            kept = consolidate(bank, self.settings.upkeep, number)
        bank.flush()
        return made, kept

    def _solver_rows(self, questions: Sequence[Question], number: int, seed: int) -> list[Row]:
        """The rows of a phase: the questions in turn, each time with another draw of the cards that are left out."""
        rows: list[Row] = []
        count, draw = self.phases["solver"].groups, 0
        while len(rows) < count:
            blocks = self._cards(derive(seed, "draw", draw))
            for question in questions[: count - len(rows)]:
                prompt = self.world.solver_prompt(question.text, blocks.block(question.text))
                rows.append(Row(f"{question.id}-{draw}", prompt, question))
            draw += 1
        return rows

    def _solve(self, number: int) -> None:
        phases = self.phases["solver"]
        rows = load_rows(self.folder / ROWS.format(number))
        self.solving.load(rows, derive(self.settings.seed, "solve", number))
        phases.run(number, rows)
        publish(phases.trainer)
        self._evaluated(f"round/{number}/off", NO_CARDS)
        if self.bank is not None:
            self._evaluated(f"round/{number}/on", self.deployed())
        self.state = replace(self.state, round=number + 1, phase="challenge")

    # --- cards, evaluation, records

    def _cards(self, seed: int) -> Blocks:
        """What training prompts are shown."""
        if self.bank is None:
            return NO_CARDS
        return self.world.blocks(self.bank.snapshot(), CardDropout(self.settings.card_dropout, seed))

    def deployed(self) -> Blocks:
        """What a solver with the bank is shown: every card that was found.

        Raises:
            RunError: The run has no bank.
            BadInput: A card was learnt from a held-out question.
        """
        if self.bank is None:
            raise RunError("this run has no bank to deploy")
        snapshot = self.bank.snapshot()
        refuse_leaks(self.world, snapshot)
        return self.world.blocks(snapshot, CardDropout())

    def outcomes(self) -> dict[str, dict[str, bool | None]]:
        """The evaluation at the end: ``start``, ``off`` and, with a bank, ``on`` and ``placebo``.

        Raises:
            RunError: The run is not at its end.
        """
        if self.state.round < self.settings.rounds:
            raise RunError(f"the run is in round {self.state.round} of {self.settings.rounds}: run it to the end first")
        last = self.settings.rounds - 1
        found = {"start": self._evaluated("start", NO_CARDS), "off": self._evaluated(f"round/{last}/off", NO_CARDS)}
        if self.bank is not None:
            found["on"] = self._evaluated(f"round/{last}/on", self.deployed())
            blocks = self.world.placebo(self.deployed(), derive(self.settings.seed, "placebo"))
            found["placebo"] = self._evaluated("placebo", blocks)
        return found

    def _evaluated(self, key: str, blocks: Blocks) -> dict[str, bool | None]:
        """The held-out questions by the solver as it stands; read where it was played before."""
        key = f"{key}/held-out"
        if key not in self.records:
            policy, trainer = self.opponent.policy, self.trainers["solver"]
            seed = derive(self.settings.seed, "held-out")
            with own_noise(seed), greedy(trainer):
                played = held_out(self.world, policy, blocks, seed, self.settings.concurrency)
                self._record(key, run(policy, played))
        return dict(self.records.get(key))

    def _told(self, role: str, step: int, rewards: list[float | None]) -> None:
        self._record(f"{role}/step/{step}/rewards", rewards)

    def _record(self, key: str, value: Any) -> None:
        """Keeps a record; where a resumed run does a step again and differs, both are kept."""
        again, name = 0, key
        while name in self.records and self.records.get(name) != plain_json(value, name):
            again += 1
            name = f"{key}/again-{again}"
        self.records.append(name, value)
        self.on_event(name, value)


def _verdict(challenge: Challenge) -> str:
    if challenge.failed:
        return "failed"
    return challenge.rejected.code if challenge.rejected else "valid"

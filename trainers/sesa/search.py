"""The world of SESA's paper: challenges and questions over a corpus, played with `metagym.sesa`.

Both seats search; what a search brings stands in the row under mask 0, and so do prompts and cards. Everything that is
asked, checked, answered, scored and distilled is what the core does without a trainer: only who samples is another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from metagym.checks import settle, whole
from metagym.episodes import Episode, Status
from metagym.errors import BadInput
from metagym.seeding import derive, rng
from metagym.sesa.cards import question_sha256
from metagym.sesa.challenger import Challenge, challenger_prompt, vet
from metagym.sesa.contexts import MAX_HOPS, ChallengerContext, Seed, SolverContext
from metagym.sesa.crew import Crew
from metagym.sesa.deploy import Blocks, PlaceboRetriever
from metagym.sesa.distil import Distilled, DistilSettings, distil
from metagym.sesa.filters import FilterSettings
from metagym.sesa.materials import Material, question_set
from metagym.sesa.protocol import Final
from metagym.sesa.retrieval import RETRIEVE_K, SkillBlock, SkillRetriever
from metagym.sesa.rollouts import RolloutSettings, final_of, roll
from metagym.sesa.rounds import Attempt
from metagym.sesa.skills import SkillBank
from metagym.sesa.snapshots import BankSnapshot
from metagym.sesa.solver import score_answers, solver_prompt
from metagym_trainers.episodes import TokenEpisode, filler
from metagym_trainers.policies import Policy
from metagym_trainers.recording import Limits, Recorder, Template
from metagym_trainers.sesa.cards import CardDropout, DroppingSearch
from metagym_trainers.sesa.world import Answered, Asked, Question


@dataclass(frozen=True)
class SearchSettings:
    """Settings of `SearchWorld`; the names are those of `metagym.sesa.config.SesaConfig`.

    Attributes:
        hops: Numbers of facts that are asked for, in turn.
        retrieve_k: Cards per question.
        max_skill_tokens: Most tokens of a block of cards; None for no limit.
        rollout: How both seats search; its temperature is the policy's, whatever stands here.
        filters: Which questions count.
        distilling: What is distilled, and how much.
        data: Questions of the evaluation (`metagym.sesa.materials.question_set`).
        count: How many of them at most; None for all.
        max_row: Longest row, prompt and episode together, in tokens; None for no limit.
        seed: Of the evaluation's questions.
    """

    hops: tuple[int, ...] = (1, 2, 3)
    retrieve_k: int = RETRIEVE_K
    max_skill_tokens: int | None = None
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    filters: FilterSettings = field(default_factory=FilterSettings)
    distilling: DistilSettings = field(default_factory=DistilSettings)
    data: str = "riddles"
    count: int | None = None
    max_row: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the settings."""
        object.__setattr__(self, "hops", tuple(whole("a number of hops", hops, 1) for hops in self.hops))
        if not self.hops or max(self.hops) > MAX_HOPS:
            raise BadInput(f"hops are numbers from 1 to {MAX_HOPS}, got {list(self.hops)}")
        settle(self, "retrieve_k", whole, 0)
        for name in ("max_skill_tokens", "max_row", "count"):
            settle(self, name, whole, 1, none=True)


class SearchWorld:
    """Searching challengers and solvers, as a `metagym_trainers.sesa.world.World`.

    Args:
        material: Passages, answers, and what searches.
        crew: Distiller, verifier and scorer; its challenger and solver are not asked, the policies are.
        challenger_tokenizer: The challenger's, with a prefix-preserving chat template.
        solver_tokenizer: The solver's.
        settings: See `SearchSettings`.
        template: Options of the chat templates, e.g. ``{"enable_thinking": False}``.

    Raises:
        BadInput: A seat that the settings need is empty, or the material has no answers.
    """

    def __init__(
        self,
        material: Material,
        crew: Crew,
        challenger_tokenizer: Any,
        solver_tokenizer: Any,
        settings: SearchSettings | None = None,
        template: dict[str, Any] | None = None,
    ) -> None:
        self.material, self.crew, self.settings = material, crew, settings or SearchSettings()
        self.answers = material.side("train")
        if not self.answers:
            raise BadInput(f"the material {material.name} has no answers that a challenge could start from")
        if self.settings.filters.verify and crew.verifier is None:
            raise BadInput("filters.verify is on and nobody verifies: name a verifier, or switch it off")
        self._templates = {
            "challenger": Template(challenger_tokenizer, **(template or {})),
            "solver": Template(solver_tokenizer, **(template or {})),
        }
        self._ends = {"challenger": challenger_tokenizer.eos_token_id, "solver": solver_tokenizer.eos_token_id}
        self._count: Callable[[str], int] = lambda text: len(self._templates["solver"].encode(text))

    @property
    def name(self) -> str:
        """The material's."""
        return self.material.name

    @cached_property
    def held_out(self) -> tuple[Question, ...]:
        """The evaluation's questions; none of their answers starts a challenge."""
        chosen = self.settings
        rows = question_set(chosen.data, self.material, "valid", chosen.seed, chosen.count, chosen.hops)
        return tuple(Question(row.question, tuple(row.golds), f"{row.dataset}/{row.id}") for row in rows)

    @cached_property
    def _held_out_digests(self) -> frozenset[str]:
        return frozenset(question_sha256(one.text) for one in self.held_out)

    def seeds(self, count: int, seed: int) -> list[Seed]:
        """Answers by the seed, each of them once before any comes again; hops in turn."""
        draw, chosen = rng(seed, "answers"), self.settings
        answers: list[tuple[str, ...]] = []
        while len(answers) < count:
            answers += draw.sample(self.answers, min(count - len(answers), len(self.answers)))
        return [Seed(one, chosen.hops[at % len(chosen.hops)]) for at, one in enumerate(answers)]

    def challenger_prompt(self, context: ChallengerContext) -> str:
        """The core's."""
        return challenger_prompt(context)

    def solver_prompt(self, question: str, skills: SkillBlock) -> str:
        """The core's."""
        return solver_prompt(SolverContext(question, skills))

    async def ask(self, start: Seed, prompt: str, policy: Policy, seed: int) -> Asked:
        """One challenge, searches included."""
        episode, tokens = await self._play(prompt, policy, "question", "challenger", seed)
        cause = "" if episode.scored else episode.cause or episode.status.value
        return Asked(Challenge(start, episode, final_of(episode, "question"), None, cause), tokens)

    async def vet(self, challenges: Sequence[Challenge], seed: int) -> list[Challenge]:
        """The core's filters and, where it is on, its verification."""
        return await vet(
            challenges,
            self.settings.filters,
            verifier=self.crew.verifier,
            scorer=self.crew.scorer,
            held_out=self._held_out_digests,
            seed=seed,
        )

    async def answer(self, question: Question, prompt: str, policy: Policy, seed: int) -> Answered:
        """One attempt, searches included."""
        episode, tokens = await self._play(prompt, policy, "answer", "solver", seed)
        own = derive(seed, "score")
        (episode,) = await score_answers(question.text, question.answers, [episode], self.crew.scorer, own)
        return Answered(episode, replace(tokens, reward=episode.ret if episode.scored else None))

    def blocks(self, snapshot: BankSnapshot, dropout: CardDropout) -> Blocks:
        """The nearest cards, some of them left out."""
        chosen = self.settings
        searched = DroppingSearch(snapshot, dropout)
        return SkillRetriever(searched, chosen.retrieve_k, chosen.max_skill_tokens, self._count)

    def placebo(self, blocks: Blocks, seed: int) -> Blocks:
        """The core's."""
        if not isinstance(blocks, SkillRetriever):
            raise BadInput(f"a placebo takes the place of this world's cards, got {type(blocks).__name__}")
        return PlaceboRetriever(blocks, seed)

    async def distil(self, attempts: Sequence[Attempt], bank: SkillBank, step: int, seed: int) -> Distilled:
        """The core's, by the crew's distiller."""
        if self.crew.distiller is None:
            raise BadInput("nobody distils: name a distiller, or train without a bank")
        tried = [one.tried for one in attempts]
        return await distil(tried, bank, self.crew.distiller, self.settings.distilling, step=step, seed=seed)

    def uses(self, attempts: Sequence[Attempt]) -> list[tuple[str, bool]]:
        """Every card of a prompt, for every scored rollout."""
        return [use for one in attempts for use in one.uses]

    async def _play(
        self, prompt: str, policy: Policy, final: Final, role: str, seed: int
    ) -> tuple[Episode, TokenEpisode]:
        recorder = Recorder(policy, self._templates[role], seed=seed, limits=Limits(row=self.settings.max_row))
        # A failure is this episode's alone: whether too many of a batch failed is for the trainer's side to say.
        how = replace(self.settings.rollout, temperature=policy.temperature, concurrency=None, max_failures=1.0)
        ((episode,),) = await roll({"one": prompt}, recorder, self.material.searcher, final, settings=how, seed=seed)
        if not recorder.rows:  # not one token was sampled: nothing to train on
            return episode, filler(self._ends[role], role=role)
        tokens = recorder.episode(
            role=role,
            terminated=episode.terminated and episode.status is Status.OK,
            truncated=episode.truncated,
            metrics={"searches": float(sum(turn.action.startswith("<search>") for turn in episode.turns))},
        )
        return episode, tokens if episode.scored else tokens.silenced()

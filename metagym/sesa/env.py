"""The two environments of SESA: what a solver plays, and what a challenger plays.

They share nothing but functions: the challenger's environment asks a solver, and gives back one number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from metagym import chat
from metagym.answers import AnswerScorer, LLMJudge, golds_of
from metagym.chat.types import ChatModel
from metagym.checks import mapping, shown, whole
from metagym.errors import BadInput, TooManyFailures
from metagym.playing import sync
from metagym.qadata import QARow
from metagym.search import Searcher
from metagym.seeding import derive, rng
from metagym.sesa.challenger import Challenge, challenger_prompt, vet
from metagym.sesa.contexts import MAX_HOPS, Seed, SolverContext, challenger_context
from metagym.sesa.dialogues import MAX_STEPS, DialogueEnv
from metagym.sesa.filters import FilterSettings
from metagym.sesa.materials import Material, Side, load_material, question_set
from metagym.sesa.protocol import Final, tagged
from metagym.sesa.retrieval import RETRIEVE_K, SkillBlock, SkillRetriever
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.rounds import PENALTY, Attempt, RewardSettings, attempt, rewards
from metagym.sesa.shaping import MIN_VALID, check_rollouts, load_shape
from metagym.sesa.skills import SkillBank
from metagym.sesa.solver import ROLLOUTS, solver_prompt
from metagym.sesa.stand_ins import load_seat


def _scorer(measure: str, judge: Any) -> tuple[AnswerScorer, ChatModel | None]:
    model = None if judge is None else chat.load(judge, seat="judge")
    return AnswerScorer(measure, judge=None if model is None else LLMJudge(model)), model


def _bank(bank: str | None) -> SkillBank | None:
    if bank is not None and not isinstance(bank, str):
        raise BadInput(f"bank is the path of a skill bank, got {shown(bank)}")
    return None if bank is None else SkillBank.open(bank, read_only=True)


class SolverEnv(DialogueEnv):
    """Answering questions with a search tool and the cards of a skill bank.

    ## Description
    Each reset asks one question. The agent (the solver) searches a corpus of passages as often as its turns allow and
    ends with an answer. Where a bank is given, the cards nearest to the question stand in the prompt.

    ## Observation
    `FreeText`: first the prompt with the question (and the block of skills); after a search an ``<information>`` block,
    after a turn without an action a notice. Nothing of it is the model's own text: see
    `metagym.sesa.protocol.segments` for the mask.

    ## Actions
    `FreeText`: one turn. Its first complete ``<search>query</search>`` or ``<answer>text</answer>`` outside of
    ``<think>`` counts; a closing tag that a stop string took is put back.

    ## Rewards
    The score of the answer in [0, 1]; 0.0 before it and without one.

    ## Episode end
    Terminated by an answer, truncated after ``max_steps`` turns. ``info["success"]`` is a third thing: None before an
    end, then whether the score is at least 0.5.

    ## Arguments
    * ``material``: ``"invented"``: the small world that comes with the family SearchQA; ``"corpus:FILE"``: passages of
      your own (see `metagym.sesa.materials.load_material`).
    * ``questions``, ``split``: ``"questions"``: those of the material, ``"riddles"`` on its passages, or a file; and
      ``"train"`` or ``"valid"``.
    * ``searcher``: a searcher's spec in place of the material's own, e.g. ``"http://localhost:8000/retrieve"``.
    * ``bank``: folder of a skill bank, opened for reading; None for a solver without skills.
    * ``retrieve_k``, ``max_skill_tokens``: cards in the prompt; their most tokens (None: no limit).
    * ``topk``, ``max_steps``, ``information_tokens``: passages per search, turns, tokens of one block.
    * ``scorer``, ``judge``: ``"em"``, ``"f1"``, ``"sub_em"``, or ``"judge"`` and ``"em+judge"`` with a model's spec.

    ``reset(options={"question": "<id>"})`` asks one question by its id; otherwise the seed draws one.

    ## Source
    SESA (July 2026), from summaries of the paper; the dialogue is Search-R1's (Jin et al. 2025). Written independently
    of either's code.
    """

    final: Final = "answer"

    def __init__(
        self,
        material: str | Material = "invented",
        questions: str = "questions",
        split: Side = "train",
        searcher: str | Searcher | None = None,
        bank: str | None = None,
        retrieve_k: int = RETRIEVE_K,
        max_skill_tokens: int | None = None,
        topk: int = 3,
        max_steps: int = MAX_STEPS,
        information_tokens: int = 500,
        scorer: str = "em",
        judge: Any = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(topk, max_steps, information_tokens, render_mode)
        if split not in get_args(Side):
            raise BadInput(f"split is one of {', '.join(get_args(Side))}, got {shown(split)}")
        self.material = load_material(material, searcher)
        self._own_searcher = isinstance(searcher, str)
        self.rows = question_set(questions, self.material, split)
        if not self.rows:
            raise BadInput(f"questions={shown(questions)} gives no question to ask")
        self.scorer, self._judge = _scorer(scorer, judge)
        self.retriever = SkillRetriever(_bank(bank), retrieve_k, max_skill_tokens)
        self.row: QARow | None = None
        self.skills = SkillBlock()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Asks a question.

        Args:
            seed: Seed of the draw, as in Gymnasium.
            options: ``question``, the id of one; or None.

        Raises:
            BadInput: An unknown option, or no question of that id.
        """
        wanted = mapping("the argument options of reset", options)
        named = wanted.pop("question", None)
        if wanted:
            raise BadInput(f"reset knows the option question, got {sorted(map(str, wanted))}")
        self._draw_seed(seed)
        if named is None:
            self.row = self.rows[rng(self._seed, "question").randrange(len(self.rows))]
        else:
            self.row = next((row for row in self.rows if row.id == named), None)
            if self.row is None:
                raise BadInput(f"there is no question {shown(named)} in this split of {len(self.rows)}")
        self.skills = self.retriever.block(self.row.question)
        prompt = solver_prompt(SolverContext(self.row.question, self.skills))
        return self._begin(prompt, self.material.searcher), self._info(None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one turn.

        Raises:
            BadInput: The action is not text, or no episode is open.
            SearchError: The search tool failed.
            TooManyFailures: The answer could not be scored (judge down): unscored is not wrong.
        """
        move, over = self._turn(action)
        if not over:
            return self._observation, 0.0, False, False, self._info(None)
        assert self.row is not None
        if move.kind != "answer":
            return self._observation, 0.0, False, True, self._info({"value": 0.0, "answer": None, "cause": "no-answer"})
        judging = self.scorer.judged(tagged(move), self.row.golds, self.row.question, derive(self._seed, "judge"))
        score = sync.run(judging)
        if score.value is None:
            raise TooManyFailures(f"the answer to question {self.row.id} was not scored: {score.cause}")
        return self._observation, float(score.value), True, False, self._info(score.to_json())

    def _info(self, score: Mapping[str, Any] | None) -> dict[str, Any]:
        assert self.row is not None
        return {
            "question": self.row.id,
            "skills": list(self.skills.ids),
            "turn": len(self._turns),
            "score": None if score is None else dict(score),
            "success": None if score is None else bool(score["value"] and score["value"] >= 0.5),
        }

    def close(self) -> None:
        """Closes the bank, and what was made from a spec: the searcher, the judge's connections."""
        if self._own_searcher:
            self.material.searcher.close()
        if isinstance(self.retriever.bank, SkillBank):
            self.retriever.bank.close()
        if self._judge is not None:
            sync.run(chat.aclose(self._judge))


class ChallengerEnv(DialogueEnv):
    """Asking questions at the frontier of a solver.

    ## Description
    Each reset gives an answer and a number of facts to chain. The agent (the challenger) searches the corpus and asks a
    question with that answer. The question is checked; if it is valid, a solver tries it several times, and the reward
    is highest where it succeeds at times and not always. The solver may read a skill bank; the challenger never does,
    neither here nor in ``info``: what it learns of the solver is the success rate alone.

    ## Observation
    `FreeText`: first the prompt with answer and number of facts; after a search an ``<information>`` block; at the end
    the success rate, or the reason why the question does not count.

    ## Actions
    `FreeText`: one turn. Its first complete ``<search>query</search>`` or ``<question>text</question>`` outside of
    ``<think>`` counts.

    ## Rewards
    0.0 for searches. At the end ``shape`` of the solver's success rate over ``rollouts`` tries, or ``penalty`` where
    the question is rejected or missing (``info["rejected"]`` has code and reason).

    ## Episode end
    Terminated by a question, truncated after ``max_steps`` turns.

    ## Arguments
    * ``solver``, ``verifier``: specs of the models that try and verify; ``"rules"`` takes the scripted stand-ins of
      `metagym.sesa.stand_ins`, which understand the riddles of the scripted challenger and little else:
      ``info["backend"]`` says which kind played. ``verifier=None`` switches verification off.
    * ``material``, ``searcher``: as for `SolverEnv`; ``answers``: seed answers, by default the training side of the
      material's (titles of its passages).
    * ``hops``: (least, most) facts to chain.
    * ``rollouts``, ``shape``, ``penalty``, ``min_valid``: tries per question; ``quadratic``, ``gaussian``, ``min``,
      ``spice``, ``one_minus_acc`` or ``constant`` (`metagym.sesa.shaping`); reward of a rejected question; scored tries
      below which there is no reward.
    * ``filters``: fields of `metagym.sesa.filters.FilterSettings` by name.
    * ``bank``, ``retrieve_k``, ``max_skill_tokens``: the solver's skills.
    * ``topk``, ``max_steps``, ``information_tokens``: passages per search, turns of the challenger, tokens of a block.
    * ``scorer``, ``judge``: how the solver's answers are scored.

    ``reset(options={"answer": "...", "hops": 2})`` gives an answer (a text, or a list of its forms) and a number.

    ## Source
    SESA (July 2026), from summaries of the paper; the checks are those of SSP's public code. Written independently of
    either's code.
    """

    final: Final = "question"

    def __init__(
        self,
        material: str | Material = "invented",
        answers: Sequence[str] | None = None,
        searcher: str | Searcher | None = None,
        hops: tuple[int, int] | list[int] = (1, 3),
        solver: Any = "rules",
        verifier: Any = "rules",
        rollouts: int = ROLLOUTS,
        shape: str = "quadratic",
        penalty: float = PENALTY,
        min_valid: int = MIN_VALID,
        filters: Mapping[str, Any] | None = None,
        bank: str | None = None,
        retrieve_k: int = RETRIEVE_K,
        max_skill_tokens: int | None = None,
        topk: int = 3,
        max_steps: int = MAX_STEPS,
        information_tokens: int = 500,
        scorer: str = "em",
        judge: Any = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(topk, max_steps, information_tokens, render_mode)
        if not isinstance(hops, (tuple, list)) or len(hops) != 2:
            raise BadInput(f"hops is (least, most), got {shown(hops)}")
        self.hops = (whole("hops", hops[0], 1), whole("hops", hops[1], hops[0]))
        if self.hops[1] > MAX_HOPS:
            raise BadInput(f"hops is at most {MAX_HOPS}, got {shown(hops)}")
        self.shape = load_shape(shape)
        self.rollouts, least = check_rollouts(self.shape, rollouts, min_valid)
        self.pay = RewardSettings(penalty=penalty, min_valid=least)
        limits = mapping("filters", filters)
        if unknown := sorted(set(limits) - set(FilterSettings.__dataclass_fields__)):
            raise BadInput(f"filters has no {unknown[0]!r}; it has {', '.join(FilterSettings.__dataclass_fields__)}")
        self.filters = FilterSettings(**{"verify": verifier is not None, **limits})
        if self.filters.verify and verifier is None:
            raise BadInput("filters says verify=True and there is no verifier")
        if isinstance(answers, (str, bytes)):
            raise BadInput(f"answers is a list of answers, got one text: {shown(answers)}")
        self.material = load_material(material, searcher)
        self._own_searcher = isinstance(searcher, str)
        self.answers = self.material.side("train") if answers is None else tuple(golds_of(one) for one in answers)
        if not self.answers:
            raise BadInput("the material has no passages whose titles could be seed answers: hand in answers=[...]")
        self.verifier = None if verifier is None else load_seat(verifier, "verifier")
        self._solver = load_seat(solver, "solver")
        self.scorer, self._judge = _scorer(scorer, judge)
        self.retriever = SkillRetriever(_bank(bank), retrieve_k, max_skill_tokens)
        self._specs = [isinstance(spec, str) for spec in (solver, verifier)]
        self.seed_answer: Seed | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Gives an answer and a number of facts.

        Args:
            seed: Decides both, and the solver's sampling.
            options: ``answer`` and ``hops``, either or both; or None.

        Raises:
            BadInput: An option is unknown or not usable.
        """
        wanted = mapping("the argument options of reset", options)
        if unknown := sorted(map(str, set(wanted) - {"answer", "hops"})):
            raise BadInput(f"reset knows the options answer and hops, got {unknown[0]!r}")
        self._draw_seed(seed)
        draw = rng(self._seed, "challenge")
        answer, hops = draw.choice(self.answers), draw.randint(*self.hops)
        self.seed_answer = Seed(wanted.get("answer", answer), wanted.get("hops", hops))
        prompt = challenger_prompt(challenger_context(self.seed_answer))
        return self._begin(prompt, self.material.searcher), self._info(None, None, None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one turn; the last one pays.

        Raises:
            BadInput: The action is not text, or no episode is open.
            SearchError: The search tool failed.
            TooManyFailures: Too few of the solver's tries could be scored: there is no reward.
        """
        move, over = self._turn(action)
        if not over:
            return self._observation, 0.0, False, False, self._info(None, None, None)
        assert self.seed_answer is not None
        asked = Challenge(self.seed_answer, self._episode(), move.text if move.kind == "question" else None)
        challenge, tried = sync.run(self._judged(asked))
        paid = rewards([challenge], tried, self.shape, self.pay)[0]
        if paid.reward is None:
            raise TooManyFailures(
                f"the question has no reward: {paid.measured.unscored if paid.measured else 0} of "
                f"{self.rollouts} tries were not scored"
            )
        rejected, rate = challenge.rejected, None if paid.measured is None else paid.measured.rate
        if rejected is not None:
            self._observation = f"The question does not count: {rejected.reason}.\n"
        else:
            self._observation = f"The other agent solved it in {rate or 0:.0%} of its attempts.\n"
        ended = move.kind == "question"
        info = self._info(rate, None if rejected is None else [rejected.code, rejected.reason], challenge.question)
        return self._observation, float(paid.reward), ended, not ended, info

    async def _judged(self, asked: Challenge) -> tuple[Challenge, list[Attempt]]:
        noise = [self._noise(number) for number in range(self.filters.noise)] if self.filters.verify else []
        challenge = (await vet([asked], self.filters, verifier=self.verifier, noise=noise, seed=self._seed))[0]
        tried = await attempt(
            [challenge],
            self.retriever,
            self._solver,
            self.material.searcher,
            rollouts=self.rollouts,
            settings=RolloutSettings(
                topk=self.settings.topk, information_tokens=self.settings.information_tokens, max_failures=1.0
            ),
            scorer=self.scorer,
            seed=self._seed,
        )
        return challenge, tried

    def _noise(self, number: int) -> list[Any]:
        passages = self.material.passages
        count = min(self.settings.topk, len(passages))
        return rng(self._seed, "noise", number).sample(list(passages), count)

    def _info(self, rate: float | None, rejected: list[str] | None, question: str | None) -> dict[str, Any]:
        assert self.seed_answer is not None
        return {
            "answer": self.seed_answer.answer,
            "hops": self.seed_answer.hops,
            "question": question,
            "success_rate": rate,
            "rejected": rejected,
            "turn": len(self._turns),
            "backend": self._solver.backend,
        }

    def close(self) -> None:
        """Closes the bank, and what was made from specs: the searcher, the models' connections."""
        if self._own_searcher:
            self.material.searcher.close()
        if isinstance(self.retriever.bank, SkillBank):
            self.retriever.bank.close()
        for model, ours in zip((self._solver, self.verifier), self._specs, strict=True):
            if ours and model is not None:
                sync.run(chat.aclose(model))
        if self._judge is not None:
            sync.run(chat.aclose(self._judge))

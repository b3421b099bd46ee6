"""Who sits where in a run of SESA: challenger, solver, distiller, verifier, judge; each may be a model of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from metagym.answers import AnswerScorer, LLMJudge
from metagym.chat import aclose
from metagym.chat.types import ChatModel
from metagym.sesa.config import SesaConfig
from metagym.sesa.materials import Material
from metagym.sesa.stand_ins import load_seat


@dataclass(frozen=True)
class Crew:
    """The seats of a run.

    Attributes:
        challenger: Asks; None where the questions are a fixed set.
        solver: Searches and answers.
        distiller: Makes cards of failures; None where nobody does.
        verifier: Answers from the challenger's passages; None where nothing is verified.
        scorer: Scores answers.
    """

    challenger: ChatModel | None
    solver: ChatModel
    distiller: ChatModel | None
    verifier: ChatModel | None
    scorer: AnswerScorer

    @classmethod
    def of(cls, config: SesaConfig, material: Material, **layers: Any) -> Crew:
        """Loads them; `layers` (cache, budget, ...) are shared.

        Raises:
            SpecError: A spec cannot be read, or there is no stand-in for the seat.
        """
        self_play = config.tasks == "self-play"

        def seat(name: str, spec: str | None, wanted: bool = True) -> ChatModel | None:
            chosen = config.solver if spec is None else spec
            return load_seat(chosen, name, material.passages, config.seed, **layers) if wanted else None

        solver = seat("solver", config.solver)
        assert solver is not None
        return cls(
            seat("challenger", config.challenger, self_play),
            solver,
            seat("distiller", config.distiller, config.distil),
            seat("verifier", config.verifier, self_play and config.filters.verify),
            load_scorer(config.scorer, config.judge, config.seed, **layers),
        )

    @property
    def models(self) -> Iterator[tuple[str, ChatModel]]:
        """Seat and model of everybody who is there."""
        judge = None if self.scorer.judge is None else self.scorer.judge.model
        for name, model in (
            ("challenger", self.challenger),
            ("solver", self.solver),
            ("distiller", self.distiller),
            ("verifier", self.verifier),
            ("judge", judge),
        ):
            if model is not None:
                yield name, model

    def told(self) -> dict[str, Any]:
        """Name and kind of each, for manifests."""
        return {name: {"id": model.id, "backend": model.backend} for name, model in self.models}

    async def close(self) -> None:
        """Closes the models' connections."""
        for _, model in self.models:
            await aclose(model)


def load_scorer(scorer: str, judge: str | None, seed: int = 0, **layers: Any) -> AnswerScorer:
    """The scorer of a run; its judge, where it has one, has a seat of its own."""
    if judge is None:
        return AnswerScorer(scorer)
    return AnswerScorer(scorer, judge=LLMJudge(load_seat(judge, "judge", (), seed, **layers)))

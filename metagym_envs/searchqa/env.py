"""One question as a Gymnasium environment, text in and text out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import gymnasium

from metagym.answers import AnswerScorer, Score
from metagym.errors import BadInput, ChatError
from metagym.qadata import QARow
from metagym.search import Searcher
from metagym.searching import SearchDialogue, SearchSettings, neutral
from metagym.spaces import FreeText


class SearchQuestion(gymnasium.Env[str, str]):
    """One question, a search engine, and a limited number of turns.

    ## Description
    The agent reads a question. It may search a collection of passages, several times where the question needs what an
    earlier search told, and ends with an answer.

    ## Observation
    `FreeText`: first the question; after a search an information block with the passages; after a text without an
    action a notice; before the last turn a notice that only an answer is left.

    ## Actions
    `FreeText`: a reply with ``<search>words</search>`` or ``<answer>text</answer>`` in it; the first complete one
    counts.

    ## Rewards
    The score of the answer in [0, 1] at the end, 0.0 before and without an answer.

    ## Episode end
    Terminated by an answer, or after ``max_turns`` turns and one more. `info` holds ``success`` (the score is at least
    0.5), ``queries`` (searches so far), ``answer`` and ``score`` (see `metagym.answers.Score`; None before the end).

    ## Arguments
    * ``row``: the question with its golden answers.
    * ``searcher``: what searches; not closed here.
    * ``scorer``: how answers are scored. A judge that fails raises: an answer that nobody scored is no wrong one.
    * ``settings``: number of passages and turns, size of a block.

    ## Source
    The turn protocol of Jin et al., "Search-R1: Training LLMs to Reason and Leverage Search Engines with
    Reinforcement Learning", 2025.
    """

    metadata = {"render_modes": []}

    def __init__(self, row: QARow, searcher: Searcher, scorer: AnswerScorer, settings: SearchSettings) -> None:
        self.row = row
        self._searcher = searcher
        self._scorer = scorer
        self._settings = settings
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self._dialogue: SearchDialogue | None = None
        self._score: Score | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Asks the question.

        Args:
            seed: As in Gymnasium; a question holds no chance.
            options: None.

        Raises:
            BadInput: An option is given.
        """
        super().reset(seed=seed)
        if options:
            raise BadInput(f"reset of a SearchQA question knows no option, got {sorted(map(str, options))}")
        self._dialogue = SearchDialogue(self._searcher, self._settings)
        self._score = None
        return f"Question: {neutral(self.row.question)}", self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one turn.

        Raises:
            BadInput: The action is not text, or the episode is over or not yet started.
            SearchError: The search engine failed.
            ChatError: The judge failed.
        """
        if not isinstance(action, str):
            raise BadInput(f"an action of SearchQA is text, got {type(action).__name__}")
        if self._dialogue is None or self._dialogue.done:
            raise BadInput("this episode is over or has not begun: call reset before step")
        turn = self._dialogue.reply(action)
        if turn.done:
            self._score = self._judge(self._dialogue)
        reward = 0.0 if self._score is None or self._score.value is None else self._score.value
        return turn.observation, reward, turn.done, False, self._info()

    def close(self) -> None:
        """Ends the episode."""
        self._dialogue = None

    def _judge(self, dialogue: SearchDialogue) -> Score:
        if self._scorer.judge is None:
            return self._scorer.score(dialogue.written, self.row.golds)
        score = _awaited(lambda: self._scorer.judged(dialogue.written, self.row.golds, self.row.question))
        if score.value is None:
            raise ChatError(f"the answer to question {self.row.id} was not scored: {score.cause}")
        return score

    def _info(self) -> dict[str, Any]:
        assert self._dialogue is not None
        score = self._score
        return {
            "success": bool(score is not None and score.right),
            "queries": len(self._dialogue.queries),
            "answer": self._dialogue.answer,
            "score": None if score is None else score.to_json(),
        }


def _awaited(make: Callable[[], Coroutine[Any, Any, Score]]) -> Score:
    """The result of a coroutine, in a thread of its own: the caller's may run an event loop already."""
    found: list[Score | BaseException] = []

    def work() -> None:
        try:
            found.append(asyncio.run(make()))
        except BaseException as error:  # handed to the caller, whatever it is
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]

"""What the tests of self-play share: the invented world, recording models, cards, and scored episodes made by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import lru_cache
from typing import Any, TypeVar

from metagym.chat import scripted
from metagym.chat.types import ChatModel, Reply, Request
from metagym.episodes import Episode, Status, Turn
from metagym.search import Corpus, Hit, Passage, Searcher, searcher_of
from metagym.sesa.cards import SkillCard
from metagym.sesa.rollouts import FAMILY
from metagym.tasks import Task
from metagym_envs.searchqa.material import invented

T = TypeVar("T")

DECOMPOSE = SkillCard(
    "Decompose the question: make one search for each fact.",
    "A question that chains several facts.",
    "Searching for the whole question.",
    "{relation} {entity}",
)


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def passages() -> tuple[Passage, ...]:
    return tuple(invented()["passages"])


def searcher() -> Searcher:
    found: Searcher = invented()["searcher"]
    return found


@lru_cache(maxsize=1)
def small_searcher() -> Searcher:
    made = [
        Passage("1", '"Orlen"\nOrlen is a town. The river of Orlen is the Vash.'),
        Passage("2", '"Mira Tolk"\nMira Tolk was born in Orlen.'),
    ]
    return searcher_of("fts5", Corpus(made))


class BrokenSearcher:
    """Fails at the calls whose numbers are given, counted over all threads in order of the seeds that tests choose."""

    name, digest = "broken", ""

    def __init__(self, fails: Callable[[str], bool], error: Exception) -> None:
        self.fails, self.error = fails, error

    def search(self, queries: Iterable[str], k: int) -> list[list[Hit]]:
        for query in queries:
            if self.fails(query):
                raise self.error
        return [[] for _ in queries]

    def close(self) -> None:
        return None


class Recording:
    """Keeps every request and reply of a model."""

    def __init__(self, inner: ChatModel) -> None:
        self.inner, self.requests, self.replies = inner, list[Request](), list[str]()

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def backend(self) -> Any:
        return self.inner.backend

    async def chat(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = await self.inner.chat(request)
        self.replies.append(reply.text or "")
        return reply

    @property
    def text(self) -> str:
        return "\n".join(message.content for request in self.requests for message in request.messages)


def says(*texts: str | None, id: str = "test") -> ChatModel:
    """A model that says these texts in the turns of an episode, the last one again and again."""

    def write(request: Request) -> str | None:
        turn = sum(message.role == "assistant" for message in request.messages)
        return texts[min(turn, len(texts) - 1)]

    return scripted(write, id=id)


def answered(text: str, success: bool | None, *, status: Status = Status.OK, number: int = 0) -> Episode:
    """A scored episode of one search and one answer."""
    turns = (
        Turn("Question: ...", "<search> q </search>", "<search> q </search>", 0.0, False, False),
        Turn(
            "\n\n<information>Doc 1 (Title: Orlen)\nOrlen is a town.\n\n</information>\n\n",
            f"<answer> {text} </answer>",
            f"<answer> {text} </answer>",
            0.0,
            True,
            False,
        ),
    )
    return Episode(Task(FAMILY, f"t{number}"), turns, "", float(bool(success)), success, status)

"""Episodes of a searching agent: one prompt, turns that search, and one last text (an answer, or a question).

Both seats play them, through `metagym.playing`: many at once, each failure its own, equal seeds equal episodes. What an
agent searched for and what came back is read from the episode itself, so that a record is all that a resumed run needs.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium

from metagym.chat.types import ChatModel, Reply
from metagym.checks import number, settle, whole
from metagym.episodes import Episode
from metagym.families import AnswerForm, Family, as_written
from metagym.playing.actor import ActorSettings
from metagym.playing.runner import PlaySettings, play_async
from metagym.search import Passage, Searcher
from metagym.searching import SearchSettings, information
from metagym.sesa.protocol import Final, Turnwise, closed, last_notice, move_of, notice, tagged
from metagym.spaces import FreeText
from metagym.tasks import Task, TaskSet

FAMILY = "SESA"
"""Family of the tasks that questions and challenges are played as."""

_DOC = re.compile(r"^Doc \d+ \(Title: (.*)\)\n", re.MULTILINE)
_BLOCK = re.compile(r"<information>(.*?)</information>", re.DOTALL)


@dataclass(frozen=True)
class RolloutSettings:
    """How agents search.

    Attributes:
        topk: Passages per search; Search-R1, SSP and SkillRL show 3.
        max_turns: Turns that may search; after them one is left that may only end the episode. SSP's 10.
        information_tokens: Most tokens of one information block, as characters / 4; Search-R1's 500.
        temperature: >= 0.
        max_tokens: Upper bound on one turn, in tokens.
        concurrency: Episodes at once; None means all of them.
        max_failures: Largest share of failed episodes before the batch raises `TooManyFailures`.
        model_deadline: Seconds for one model call.
        search_deadline: Seconds for one search.
    """

    topk: int = 3
    max_turns: int = 10
    information_tokens: int = 500
    temperature: float = 1.0
    max_tokens: int = 500
    concurrency: int | None = None
    max_failures: float = 0.5
    model_deadline: float = 600.0
    search_deadline: float = 60.0

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name in ("topk", "information_tokens", "max_tokens"):
            settle(self, name, whole, 1)
        settle(self, "max_turns", whole, 0)
        settle(self, "concurrency", whole, 1, none=True)
        settle(self, "temperature", number, 0.0)
        settle(self, "max_failures", number, 0.0, 1.0)
        for name in ("model_deadline", "search_deadline"):
            settle(self, name, number, 0.0, above=True)

    @property
    def search(self) -> SearchSettings:
        """The same for `metagym.searching`; passages are written as SSP, SkillRL and verl write them."""
        return SearchSettings(self.topk, self.max_turns, self.information_tokens, "verl", True)


class SearchEnv(gymnasium.Env[str, str]):
    """One episode of a searching agent; pays nothing (what the last text is worth is decided elsewhere).

    Args:
        prompt: The first observation.
        searcher: The search tool.
        final: Tag of the text that ends the episode.
        settings: How the agent searches.
    """

    metadata = {"render_modes": []}

    def __init__(self, prompt: str, searcher: Searcher, final: Final, settings: RolloutSettings) -> None:
        self.prompt, self.searcher, self.final, self.settings = prompt, searcher, final, settings
        self.observation_space, self.action_space = FreeText(), FreeText()
        self.turn = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Shows the prompt."""
        super().reset(seed=seed)
        self.turn = 0
        return self.prompt, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one turn; see `metagym.sesa.protocol`.

        Raises:
            SearchError, StoreError: The search tool failed.
        """
        move = move_of(closed(action, self.final), self.final)
        if move.kind == self.final:
            return "", 0.0, True, False, {"final": move.text}
        if self.turn >= self.settings.max_turns:
            return "", 0.0, False, True, {}
        if move.kind == "search":
            said = information(self.searcher.search([move.text], self.settings.topk)[0], self.settings.search)
        else:
            said = notice(self.final)
        self.turn += 1  # not before the search: one that fails may be tried again
        if self.turn >= self.settings.max_turns:
            said += last_notice(self.final)
        return said, 0.0, False, False, {}


@dataclass(frozen=True)
class _Opener:
    prompts: Mapping[str, str]
    searcher: Searcher
    final: Final
    settings: RolloutSettings

    def __call__(self, task: Task) -> SearchEnv:
        return SearchEnv(self.prompts[task.id], self.searcher, self.final, self.settings)


def _read(final: Final, reply: Reply, admissible: Sequence[str] | None) -> str:
    return tagged(move_of(reply.text, final))


def _no_success(info: Mapping[str, Any], ret: float, terminated: bool) -> bool | None:
    """Nothing is known before it is scored."""
    return None


def task_ids(texts: Iterable[str]) -> list[str]:
    """An id for each text: 16 hex digits of its SHA-256, with a number behind the second and later of equal ones."""
    seen: Counter[str] = Counter()
    out = []
    for text in texts:
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        out.append(f"{name}.{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return out


async def roll(
    prompts: Mapping[str, str],
    model: ChatModel,
    searcher: Searcher,
    final: Final,
    *,
    times: int = 1,
    settings: RolloutSettings | None = None,
    seed: int = 0,
) -> list[list[Episode]]:
    """Plays each prompt some times.

    Args:
        prompts: Task id -> first message. The id and not the prompt decides the sampling seeds: equal questions with
            and without skills are compared under common random numbers.
        model: Who plays.
        searcher: The search tool; searches run in threads.
        final: Tag of the text that ends an episode.
        times: Episodes per prompt.
        settings: How agents search.
        seed: Root of the sampling seeds.

    Returns:
        For each prompt its episodes; success is None until they are scored.

    Raises:
        TooManyFailures: More episodes failed than the settings allow.
        BudgetExceeded, CacheMiss, StoreError: No episode could go on.
    """
    chosen = settings or RolloutSettings()
    times = whole("times", times, 1)
    if not prompts:
        return []
    tasks = [Task(FAMILY, name) for name in prompts]
    family = Family(
        FAMILY,
        partial(_task_set, tasks),
        _Opener(dict(prompts), searcher, final, chosen),
        splits=("played",),
        success=_no_success,
        clean=as_written,
        max_steps=chosen.max_turns + 1,
        host="thread",
        answer=AnswerForm("", partial(_read, final), notice(final)),
    )
    episodes = await play_async(
        [task for task in tasks for _ in range(times)],
        Turnwise(model, final),
        family=family,
        seed=seed,
        seat=ActorSettings(show_admissible=False, temperature=chosen.temperature, max_tokens=chosen.max_tokens),
        settings=PlaySettings(
            chosen.max_turns + 1,
            chosen.concurrency,
            chosen.model_deadline,
            chosen.search_deadline,
            chosen.max_failures,
        ),
    )
    return [episodes[at : at + times] for at in range(0, len(episodes), times)]


def _task_set(tasks: Sequence[Task], split: str) -> TaskSet:
    return TaskSet(tasks, FAMILY)


def searches_of(episode: Episode) -> tuple[str, ...]:
    """The queries of an episode, in order."""
    moves = (move_of(turn.action) for turn in episode.turns)
    return tuple(move.text for move in moves if move.kind == "search")


def final_of(episode: Episode, final: Final) -> str | None:
    """The text that ended an episode; None where it ended without one."""
    if not episode.turns or not episode.turns[-1].terminated:
        return None
    move = move_of(episode.turns[-1].action, final)
    return move.text if move.kind == final else None


def passages_of(episode: Episode) -> tuple[Passage, ...]:
    """The passages that an episode has shown, each once, as they were shown."""
    return passages_in([*(turn.observation for turn in episode.turns[1:]), episode.last_observation])


def passages_in(texts: Iterable[str]) -> tuple[Passage, ...]:
    """The passages in information blocks, each once; ids are digests of what was shown."""
    out: dict[str, Passage] = {}
    for block in (block for text in texts for block in _BLOCK.findall(text)):
        parts = _DOC.split(block)[1:]
        for title, text in zip(parts[::2], parts[1::2], strict=True):
            contents = f'"{title}"\n{text.strip()}'
            name = hashlib.sha256(contents.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            out[name] = Passage(name, contents)
    return tuple(out.values())

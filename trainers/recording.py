"""A chat model for one episode that keeps the ids: whatever plays with a chat model plays with a policy in training.

Token in, token out (TRL issues 5144 and 5224 show what the alternative costs): the first request is rendered by the
chat template; of every later one only what is new is encoded, and put behind the ids that were sampled. A sampled id is
never decoded and encoded again, whatever tokens would merge across a turn's border.
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from metagym.chat.constraints import check_request
from metagym.chat.replies import read_completion
from metagym.chat.types import Backend, Message, Reply, Request
from metagym.checks import settle, whole
from metagym.errors import BadInput, ContextOverflow
from metagym.playing.actor import NO_ANSWER
from metagym.seeding import check_seed, derive
from metagym_trainers.episodes import GroupKey, TokenEpisode, TurnSpan, scored, total
from metagym_trainers.policies import Policy, Sample

_ASKED, _SAID = "metagym-asked", "metagym-said"
"""Stand for a user's and an assistant's text where only what the template writes around them is looked at."""

_OPENINGS = 64
"""Openings, and continuations, that are kept."""


class Template:
    """The chat template of a tokenizer, as text: openings and continuations.

    What a template writes before an assistant's text may change once the turn is an old one (Qwen3's puts an empty
    block of thoughts before the last turn alone): it is not written again, what the policy saw stays. What it writes
    behind that text must not change.

    Args:
        tokenizer: With a chat template that keeps what was said in earlier turns.
        **options: For the template, e.g. ``enable_thinking=False``.

    Raises:
        BadInput: The tokenizer has no chat template, one that does not show what an assistant said, or one that
            rewrites an assistant's turn once something follows it.
    """

    def __init__(self, tokenizer: Any, **options: Any) -> None:
        if tokenizer.chat_template is None:
            raise BadInput("the tokenizer has no chat template: set tokenizer.chat_template")
        self._tokenizer, self._options = tokenizer, options
        self._probe = [Message("user", _ASKED), Message("assistant", _SAID)]
        before, found, self._closing = self._text(self._probe, False).partition(_SAID)
        if not found or _ASKED not in before:
            raise BadInput("the chat template does not show what the assistant said, so that no turn can follow it")
        self.closing_ids: list[int] = self.encode(self._closing)
        # The rows of a group begin alike, and rendering costs more than a tiny model's turn.
        self._opening = lru_cache(maxsize=_OPENINGS)(self._opened)
        self._continuation = lru_cache(maxsize=_OPENINGS)(self._continued)
        self._continued((Message("user", _ASKED),))  # what cannot be continued is refused before anything is sampled

    def opening(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a conversation up to where the model's first answer begins."""
        return list(self._opening(tuple(messages)))

    def _opened(self, messages: tuple[Message, ...]) -> tuple[int, ...]:
        return tuple(self.encode(self._text(messages, True)))

    def continuation(self, messages: Sequence[Message], end: int | None) -> list[int]:
        """The ids from the end of a sampled answer up to where the next answer begins.

        Args:
            messages: What follows the answer.
            end: The last sampled id. Where it is the one that the template ends an assistant's turn with, it is not
                written again; where the answer was cut or ended in another way, the turn is closed first.

        Raises:
            BadInput: The template rewrites an assistant's turn once something follows it.
        """
        ids = self._continuation(tuple(messages))
        return list(ids[1:] if self.closing_ids and end == self.closing_ids[0] == ids[0] else ids)

    def _continued(self, messages: tuple[Message, ...]) -> tuple[int, ...]:
        before, found, after = self._text([*self._probe, *messages], True).partition(_SAID)
        if not found or _ASKED not in before or not after.startswith(self._closing):
            raise BadInput(
                f"the chat template writes {self._closing!r:.40} behind an assistant's last turn and {after!r:.40} "
                "behind one that something follows, so that what was sampled is no prefix of the next input: give the "
                "tokenizer a prefix-preserving one (tokenizer.chat_template = ...), or train another model"
            )
        return tuple(self.encode(after))

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without special tokens of the tokenizer's own."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        """The text that an environment reads of sampled ids."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def _text(self, messages: Sequence[Message], generate: bool) -> str:
        given = [{"role": message.role, "content": message.content} for message in messages]
        return str(
            self._tokenizer.apply_chat_template(given, add_generation_prompt=generate, tokenize=False, **self._options)
        )


@dataclass
class _Row:
    """One conversation as ids: grows at its end, and nowhere else."""

    prompt: list[int]
    messages: tuple[Message, ...]
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] | None = field(default_factory=list)
    turns: list[TurnSpan] = field(default_factory=list)
    said: frozenset[str] = frozenset()
    cut: bool = False

    def foreign(self, ids: Sequence[int]) -> None:
        """Appends what the policy did not write."""
        self.ids += ids
        self.mask += [0] * len(ids)
        if self.logprobs is not None:
            self.logprobs += [0.0] * len(ids)

    def sampled(self, sample: Sample) -> None:
        """Appends what the policy wrote."""
        self.turns.append(TurnSpan(len(self.ids), len(self.ids) + len(sample.ids)))
        self.ids += sample.ids
        self.mask += [1] * len(sample.ids)
        if self.logprobs is None or sample.logprobs is None:
            self.logprobs = None
        else:
            self.logprobs += sample.logprobs
        self.cut = sample.cut

    def new(self, messages: tuple[Message, ...]) -> tuple[Message, ...] | None:
        """What follows the last answer in a longer conversation; None if it is no continuation of this one."""
        old = len(self.messages)
        if len(messages) < old + 2 or messages[:old] != self.messages:
            return None
        answer = messages[old]
        if answer.role != "assistant" or not any(_same(answer.content.strip(), said) for said in self.said):
            return None
        return messages[old + 1 :]


def _same(shown: str, said: str) -> bool:
    """Whether a text of the history is what was said; layers may have cut its end, or put back a tag that closes it."""
    return shown == said or (bool(shown and said) and (shown.startswith(said) or said.startswith(shown)))


@dataclass(frozen=True)
class Limits:
    """How long the rows of an episode may grow.

    Attributes:
        turn: Most sampled tokens of one turn; None leaves it to each request.
        row: Most ids of a row, prompt and completion together (the model's window); None for no limit.
        completion: Most ids of a completion, foreign ones included; None for no limit.
    """

    turn: int | None = None
    row: int | None = None
    completion: int | None = None

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name in ("turn", "row", "completion"):
            settle(self, name, whole, 1, none=True)


_NO_LIMITS = Limits()


class Recorder:
    """A `metagym.chat.ChatModel` for ONE episode, played by a policy in training.

    A request that does not continue the last one (a window that drops old turns, another seat) starts a new row, which
    is trained as one of its own.

    Args:
        policy: Who samples.
        tokenizer: The policy's, or a `Template` made of it (one for many episodes is cheaper).
        seed: Of the episode; used where a request brings none.
        limits: See `Limits`.
        name: Name for records, e.g. of the run.

    Attributes:
        backend: ``local``.
    """

    def __init__(
        self, policy: Policy, tokenizer: Any, *, seed: int = 0, limits: Limits | None = None, name: str = "policy"
    ) -> None:
        self._policy = policy
        self._template = tokenizer if isinstance(tokenizer, Template) else Template(tokenizer)
        self._seed = check_seed(seed)
        self._limits = limits or _NO_LIMITS
        self._name = name
        self._rows: list[_Row] = []
        self._asked = 0
        self._busy = asyncio.Lock()

    @property
    def id(self) -> str:
        """The policy's name; its weights change from step to step, so that no reply of it may be cached."""
        return f"policy:{self._name}"

    @property
    def backend(self) -> Backend:
        """A model in training."""
        return "local"

    async def chat(self, request: Request) -> Reply:
        """Answers one request by sampling the policy.

        Raises:
            ContextOverflow: The row has no room for another token.
            BadInput: The request wants another temperature than the policy is trained at, or two requests of the
                episode are under way at once.
        """
        check_request(request)
        if request.temperature != self._policy.temperature:
            raise BadInput(
                f"the policy is sampled at temperature {self._policy.temperature:g}, since its updates assume so, and "
                f"the seat asks for {request.temperature:g}: play with ActorSettings(temperature="
                f"{self._policy.temperature:g})"
            )
        if self._busy.locked():
            raise BadInput("two requests of one Recorder at once: it records one episode, make one per episode")
        async with self._busy:
            return await self._chat(request)

    async def _chat(self, request: Request) -> Reply:
        row, ahead = self._row_of(request.messages)
        room = self._room(row, len(ahead), request)
        if room < 1:
            raise ContextOverflow(
                f"{self.id}: {len(row.prompt)} ids of prompt and {len(row.ids) + len(ahead)} after it leave no room"
            )
        seed = request.seed if request.seed is not None else derive(self._seed, "turn", self._asked)
        self._asked += 1
        sample = await self._policy.sample([*row.prompt, *row.ids, *ahead], max_tokens=room, seed=seed)
        row.foreign(ahead)
        row.messages = request.messages
        if not self._rows or self._rows[-1] is not row:
            self._rows.append(row)
        if request.stop:
            sample = self._stopped(sample, request.stop)
        row.sampled(sample)
        text = self._template.decode(sample.ids)
        reply = read_completion(_completion(text, sample, row), request, model=self.id, backend="local")
        # The next request may carry the text as it was sampled or as the reply gave it; runners write their own words
        # for an absent reply.
        row.said = frozenset(said.strip() for said in (text, reply.text or NO_ANSWER))
        return reply

    def _row_of(self, messages: tuple[Message, ...]) -> tuple[_Row, list[int]]:
        """The row that a conversation belongs to, and the ids to put behind it."""
        if self._rows and (new := self._rows[-1].new(messages)) is not None:
            row = self._rows[-1]
            return row, self._template.continuation(new, row.ids[-1])
        return _Row(self._template.opening(messages), messages), []

    def _room(self, row: _Row, ahead: int, request: Request) -> int:
        limits, written = self._limits, len(row.ids) + ahead
        rooms = [request.max_tokens if limits.turn is None else min(limits.turn, request.max_tokens)]
        if limits.row is not None:
            rooms.append(limits.row - len(row.prompt) - written)
        if limits.completion is not None:
            rooms.append(limits.completion - written)
        return min(rooms)

    def _stopped(self, sample: Sample, stops: tuple[str, ...]) -> Sample:
        """The sample up to and with the id that completes a stop text, where a server would have ended it."""

        def holds(count: int) -> bool:
            text = self._template.decode(sample.ids[:count])
            return any(stop in text for stop in stops)

        count = len(sample.ids)
        if not holds(count):
            return sample
        kept = bisect.bisect_left(range(1, count + 1), True, key=holds) + 1
        logprobs = None if sample.logprobs is None else sample.logprobs[:kept]
        return Sample(sample.ids[:kept], logprobs, False)

    @property
    def rows(self) -> int:
        """How many rows there are: 1 where every request continued the one before, 0 before the first."""
        return len(self._rows)

    def episodes(
        self,
        reward: float | None = None,
        group: GroupKey = (),
        role: str = "agent",
        *,
        rewards: Sequence[float | None] | None = None,
        terminated: bool = False,
        truncated: bool = False,
        metrics: Mapping[str, float] | None = None,
    ) -> tuple[TokenEpisode, ...]:
        """The rows of the episode; each carries the reward of the whole.

        Args:
            reward: What the episode is paid; None where nothing could score it, or to take the sum of `rewards`.
            group: See `TokenEpisode`.
            role: See `TokenEpisode`.
            rewards: What each turn was paid, in order, one per turn of the policy.
            terminated: The environment ended it.
            truncated: A limit ended it.
            metrics: Numbers for the log.

        Raises:
            BadInput: Nothing was sampled, or `rewards` has another length than there are turns.
        """
        if not self._rows:
            raise BadInput("the episode holds no sampled token: nothing was asked of its Recorder")
        count = sum(len(row.turns) for row in self._rows)
        paid = [None] * count if rewards is None else [scored(each) for each in rewards]
        if len(paid) != count:
            raise BadInput(f"each turn has a reward: {count} turns and {len(paid)} rewards")
        if rewards is not None and reward is None:
            reward = total(paid)
        left = iter(paid)
        out = []
        for row in self._rows:
            turns = tuple(turn._replace(reward=next(left)) for turn in row.turns)
            ids, mask, logprobs = self._trimmed(row)
            out.append(
                TokenEpisode(
                    prompt_ids=tuple(row.prompt),
                    completion_ids=ids,
                    mask=mask,
                    logprobs=logprobs,
                    reward=reward,
                    group=group,
                    role=role,
                    metrics={"turns": float(len(turns)), **(metrics or {})},
                    truncated=truncated,
                    terminated=terminated,
                    turns=turns,
                )
            )
        return tuple(out)

    def episode(
        self, reward: float | None = None, group: GroupKey = (), role: str = "agent", **more: Any
    ) -> TokenEpisode:
        """The episode's one row; see `episodes` for the arguments.

        Raises:
            BadInput: The conversation was not continued somewhere, so that there are several rows.
        """
        found = self.episodes(reward, group, role, **more)
        if len(found) != 1:
            raise BadInput(
                f"the episode has {len(found)} rows, since a request did not continue the one before it: show the "
                "whole history (ActorSettings(history=None)), or take all rows with episodes()"
            )
        return found[0]

    def _trimmed(self, row: _Row) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...] | None]:
        """The completion up to the last sampled id, and the mark that ends a turn where the model did not write it.

        TRL takes a row for cut unless it ends on such a mark, and may then train on nothing of it.
        """
        count = row.turns[-1].stop
        ids, mask = row.ids[:count], row.mask[:count]
        logprobs = None if row.logprobs is None else row.logprobs[:count]
        end = self._template.closing_ids[:1]
        if not row.cut and ids[-1:] != end:
            ids, mask = ids + end, mask + [0] * len(end)
            logprobs = None if logprobs is None else logprobs + [0.0] * len(end)
        return tuple(ids), tuple(mask), None if logprobs is None else tuple(logprobs)


def _completion(text: str, sample: Sample, row: _Row) -> dict[str, Any]:
    """The sample in the form that `read_completion` reads."""
    return {
        "choices": [
            {
                "finish_reason": "length" if sample.cut else "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {
            "prompt_tokens": len(row.prompt) + len(row.ids) - len(sample.ids),
            "completion_tokens": len(sample.ids),
        },
    }

r"""The turns of a search dialogue: ``<search>`` and ``<answer>`` in, information blocks out, and whose text is whose.

    dialogue = SearchDialogue(searcher, SearchSettings(k=3))
    turn = dialogue.reply("<think>I need the town.</think><search>birthplace of Orla Venn</search>")
    turn.observation      # "\n\n<information>Doc 1(Title: ...) ...</information>\n\n"
    dialogue.segments     # who wrote what: nothing but the model's own text is trained on or scored

The tags are those of Search-R1. Passages and model text are hostile: a tag in a passage cannot end an information
block, and a block that the model writes itself is the model's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from metagym.answers import format_valid, visible
from metagym.checks import flag, settle, whole
from metagym.errors import BadInput
from metagym.search import Hit, Searcher

MoveKind = Literal["search", "answer", "invalid"]
Author = Literal["model", "information", "notice"]
Style = Literal["search-r1", "verl"]

# No tags stand in these: a transcript as one text must hold no answer but the model's.
NOTICE = (
    "\nNothing was done: outside the thinking there was no complete search tag or answer tag. Put the words to look up "
    "into a search tag, or the answer alone into an answer tag, which ends the task.\n"
)
"""What the model reads after a reply without an action."""
LAST_NOTICE = "\nNo searches are left: put the answer alone into an answer tag.\n"
"""What the model reads before the one reply that it has left."""

_ACTION = re.compile(r"<(search|answer)>")
# Everything that a prompt of ours, of Search-R1's kind or a chat template gives a meaning to.
_HOSTILE = re.compile(
    r"<(?=\s{0,8}/?\s{0,8}(?:think|search|information|answer|observation|question|experience|skills?|tool_\w+)\b|\|)|(?<=\|)>",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Move:
    """The action of a reply.

    Attributes:
        kind: ``search``, ``answer``, or ``invalid`` where there is none.
        content: Query or answer, stripped; "" for an invalid one.
        used: The reply up to the end of the action: what a model writes after it are results that it imagined.
    """

    kind: MoveKind
    content: str
    used: str


def read_move(reply: str) -> Move:
    """The first complete ``<search>`` or ``<answer>`` of a reply, outside its thinking.

    A tag that is never closed is skipped; an empty search is no action, an empty answer is one. (Search-R1 takes tags
    inside the thinking too: there a model that weighs an answer has given it.)
    """
    seen = visible(reply)
    last = {name: seen.rfind(f"</{name}>") for name in ("search", "answer")}
    for tag in _ACTION.finditer(seen):
        name = tag[1]
        if last[name] < tag.end():
            continue
        end = seen.index(f"</{name}>", tag.end())
        content = seen[tag.end() : end].strip()
        used = reply[: end + len(name) + 3]
        if name == "answer":
            return Move("answer", content, used)
        return Move("search", content, used) if content else Move("invalid", "", used)
    return Move("invalid", "", reply)


def neutral(text: str) -> str:
    """A text in which no tag of the protocol and no mark of a chat template is left: their ``<`` become ``‹``."""
    return _HOSTILE.sub(lambda found: "‹" if found[0] == "<" else "›", text)


@dataclass(frozen=True)
class SearchSettings:
    """How a dialogue runs.

    Attributes:
        k: Passages per search; >= 1 (3 in SSP, Search-R1 and EvolveR).
        max_turns: Replies that may search; after them one is left that may only answer (10 in SSP, 2 to 4 in
            Search-R1); >= 0.
        information_tokens: Most tokens of one block's passages, estimated as characters / 4 (500 in Search-R1).
        style: How a passage is written: ``search-r1`` ``Doc 1(Title: t) text``, or ``verl`` with a line break.
        strip_quotes: Take the quotes off titles; Search-R1's client keeps them.
    """

    k: int = 3
    max_turns: int = 10
    information_tokens: int = 500
    style: Style = "search-r1"
    strip_quotes: bool = False

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "k", whole, 1)
        settle(self, "max_turns", whole, 0)
        settle(self, "information_tokens", whole, 1)
        settle(self, "strip_quotes", flag)
        if self.style not in ("search-r1", "verl"):
            raise BadInput(f"style is 'search-r1' or 'verl', got {self.style!r}")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a transcript and who wrote it: the model, a search, or the protocol itself."""

    author: Author
    text: str


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """What came of one reply.

    Attributes:
        move: The action in it.
        observation: What the model reads next; "" at the end.
        done: Whether the dialogue is over.
        answer: The answer, where it ended with one.
        hits: What the search found.
    """

    move: Move
    observation: str
    done: bool
    answer: str | None = None
    hits: tuple[Hit, ...] = ()


def passages_text(hits: Iterable[Hit], settings: SearchSettings = SearchSettings()) -> str:  # noqa: B008 -- frozen
    """The passages as they stand in a block, cut at the settings' number of tokens, without any tag of the protocol."""
    lines = []
    for number, hit in enumerate(hits, 1):
        title = hit.passage.plain_title if settings.strip_quotes else hit.passage.title
        if settings.style == "verl":
            lines.append(f"Doc {number} (Title: {title})\n{hit.passage.text}\n\n")
        else:
            lines.append(f"Doc {number}(Title: {title}) {hit.passage.text}\n")
    # The whole at once: two harmless ends could make a tag where they meet.
    return neutral("".join(lines))[: 4 * settings.information_tokens]


def information(hits: Iterable[Hit], settings: SearchSettings = SearchSettings()) -> str:  # noqa: B008 -- frozen
    """An information block, to the byte as Search-R1 wraps it (where nothing had to be neutralised or cut)."""
    return f"\n\n<information>{passages_text(hits, settings).strip()}</information>\n\n"


class SearchDialogue:
    """One dialogue between a model and a searcher.

    Attributes:
        segments: All that was written so far, oldest first.
        queries: The searches made.
        turns: Replies taken so far.
        done: Whether it is over.
        answer: The answer it ended with, or None.
    """

    def __init__(self, searcher: Searcher, settings: SearchSettings = SearchSettings()) -> None:  # noqa: B008 -- frozen
        """Starts one.

        Args:
            searcher: What searches; not closed here.
            settings: See `SearchSettings`.
        """
        self.searcher = searcher
        self.settings = settings
        self.segments: list[Segment] = []
        self.queries: list[str] = []
        self.turns = 0
        self.done = False
        self.answer: str | None = None

    @property
    def last(self) -> bool:
        """Whether the next reply is the one that may only answer."""
        return self.turns >= self.settings.max_turns

    def reply(self, text: str | None) -> DialogueTurn:
        """Takes a reply of the model and gives what it reads next.

        Args:
            text: The reply; None where the model gave none, which is no action.

        Raises:
            BadInput: The dialogue is over.
            SearchError, StoreError: The search failed; the dialogue stays as it was, and the reply may be given again.
        """
        if self.done:
            raise BadInput("this dialogue is over: start another")
        move = read_move(text or "")
        hits: tuple[Hit, ...] = ()
        if move.kind == "search" and not self.last:
            hits = tuple(self.searcher.search([move.content], self.settings.k)[0])
            self.queries.append(move.content)
        self.segments.append(Segment("model", move.used))
        self.done = self.last or move.kind == "answer"
        self.turns += 1
        if self.done:
            self.answer = move.content if move.kind == "answer" else None
            return DialogueTurn(move, "", True, self.answer)
        if move.kind == "search":
            seen = [Segment("information", information(hits, self.settings))]
        else:
            seen = [Segment("notice", NOTICE)]
        if self.last:
            seen.append(Segment("notice", LAST_NOTICE))
        self.segments += seen
        return DialogueTurn(move, "".join(one.text for one in seen), False, None, hits)

    @property
    def text(self) -> str:
        """The transcript."""
        return "".join(segment.text for segment in self.segments)

    @property
    def written(self) -> tuple[str, ...]:
        """The model's own pieces, for `metagym.answers.extract`."""
        return tuple(segment.text for segment in self.segments if segment.author == "model")

    def marks(self) -> list[tuple[int, int, bool]]:
        """Spans of `text`: start, end, and whether the model wrote it."""
        return marks(self.segments)

    @property
    def format_valid(self) -> bool:
        """Whether the transcript keeps to the tag automaton; a block that the model wrote itself breaks it."""
        return not any("information>" in piece for piece in self.written) and format_valid(self.text)

    def retrieved(self, golds: Sequence[str], same: Callable[[str, Sequence[str]], float]) -> bool:
        """Whether a golden answer stands in an information block, by a measure such as `metagym.answers.sub_em`."""
        return any(same(segment.text, golds) > 0 for segment in self.segments if segment.author == "information")


def marks(segments: Iterable[Segment]) -> list[tuple[int, int, bool]]:
    """Start and end (in characters) of each segment in the joined text, and whether the model wrote it.

    Trainers turn these into token masks while they append; text that was joined must not be tokenised anew.
    """
    out, at = [], 0
    for segment in segments:
        out.append((at, at + len(segment.text), segment.author == "model"))
        at += len(segment.text)
    return out

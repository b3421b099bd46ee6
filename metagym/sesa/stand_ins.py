"""Scripted stand-ins for the seats of SESA. They show that the loop works and cost nothing; they are no results.

* `ScriptedChallenger` asks riddles (`metagym.sesa.riddles`) on titles of the corpus.
* `SearchingSolver` really searches: it takes a question apart where a card in its prompt tells it to, and otherwise
  searches for the question as it stands. What it gains by the card is the true gain in retrieval.
* `OracleSolver` knows the gold decomposition of a question, and uses it where a card tells it to take questions apart.
* `ScriptedSolver` is right with a probability that is a function of question and skills.
* `ReadingVerifier` answers riddles from the passages that it is shown; `ScriptedDistiller` writes the card that a
  failed riddle calls for; `RaisingJudge` always fails.
* `HopBandit` chooses numbers of hops and learns from rewards.

All draw their chance from the request's seed and so play alike for any number of workers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from metagym.chat import load
from metagym.chat.types import Backend, ChatModel, Reply, Request
from metagym.checks import number, whole
from metagym.episodes import Usage
from metagym.errors import BadInput, ChatError, SpecError
from metagym.search import Passage, query_words
from metagym.seeding import derive, rng
from metagym.sesa.cards import normal
from metagym.sesa.protocol import move_of
from metagym.sesa.riddles import Riddle, Riddler, clues_in, unravel
from metagym.sesa.rollouts import passages_in

UNKNOWN = "unknown"
"""What stand-ins answer when they do not know."""

_ORDER = re.compile(r"Number of facts to chain: (\d+)\nAnswer: (.*)\n\Z")
_QUESTION = re.compile(r"^Question: (.*)\s*\Z", re.MULTILINE)
_SKILLS = re.compile(r"^<skills>\n(.*?)^</skills>$", re.DOTALL | re.MULTILINE)
_DECOMPOSE = re.compile(r"\bdecompos|\bone search (?:for|per) each\b", re.IGNORECASE)
_KEEP = re.compile(r"\bevery telling word\b", re.IGNORECASE)
_MATERIAL = re.compile(r"^\[\d+\] (.*)\n(.*)$", re.MULTILINE)
_USAGE = Usage(calls=1)


class _StandIn:
    """A chat model that is a script; subclasses say what it writes."""

    name = "stand-in"

    @property
    def id(self) -> str:
        """Name and settings."""
        return f"scripted:{self.name}"

    @property
    def backend(self) -> Backend:
        """Always ``scripted``."""
        return "scripted"

    def write(self, request: Request) -> str:
        """The text of the reply."""
        raise NotImplementedError

    async def chat(self, request: Request) -> Reply:
        """Answers one request."""
        return Reply(self.write(request), usage=_USAGE, model=self.id)


def question_in(prompt: str) -> str:
    """The question of a solver's prompt; "" without one."""
    found = _QUESTION.findall(prompt)
    return found[-1].strip() if found else ""


def skills_in(prompt: str) -> str:
    """The block of skills in a solver's prompt; "" without one."""
    found = _SKILLS.search(prompt)  # the instructions name the tags as well, but not alone on a line
    return found[1] if found else ""


def decomposes(prompt: str) -> bool:
    """Whether a card in the prompt tells to take questions apart."""
    return bool(_DECOMPOSE.search(skills_in(prompt)))


def _queries(request: Request) -> list[str]:
    moves = (move_of(message.content) for message in request.messages if message.role == "assistant")
    return [move.text for move in moves if move.kind == "search"]


def _seen(request: Request) -> tuple[Passage, ...]:
    return passages_in(message.content for message in request.messages[1:] if message.role == "user")


class ScriptedChallenger(_StandIn):
    """Asks riddles on titles of the corpus: searches for each clue, then asks.

    Args:
        passages: The corpus.
        seed: Draws among the clues of an answer.
    """

    name = "challenger"

    def __init__(self, passages: Iterable[Passage], seed: int = 0) -> None:
        self.riddler, self.seed = Riddler(passages), seed

    @property
    def titles(self) -> tuple[str, ...]:
        """Answers that it can ask for."""
        return self.riddler.titles

    def riddle(self, answer: str, hops: int) -> Riddle | None:
        """The riddle that it asks for an answer; None where it knows none."""
        return self.riddler.riddle(answer, hops, rng(self.seed, "riddle", answer, hops))

    def write(self, request: Request) -> str:
        """See `_StandIn.write`."""
        order = _ORDER.search(request.messages[0].content)
        riddle = self.riddle(order[2], int(order[1])) if order else None
        if riddle is None:
            return "<think>There is nothing in the corpus that I could ask for this answer.</think>"
        queries = []
        for at, clue in enumerate(riddle.clues):
            following = riddle.path[at + 1] if at + 1 < len(riddle.path) else ""
            queries.append(clue.replace(f"X{at + 1}", following) if following else clue)
        if len(queries) == 1:
            queries.append(riddle.answer)
        done = len(_queries(request))
        if done < len(queries):
            return f"<think>I look for what leads to the answer.</think>\n<search> {queries[done]} </search>"
        return f"<question> {riddle.question} </question>"


class SearchingSolver(_StandIn):
    """Searches and reads; see the module. It makes one search per fact, and none again.

    Of questions that are no riddles it looks up the names, and answers with the title that it found first.

    Args:
        insight: Chance that a sampled rollout takes a question apart though no card says so.
        slip: Chance that a sampled search loses two thirds of its words; half of it where a card warns of that.

    At temperature 0 both are 0.
    """

    name = "solver"

    def __init__(self, insight: float = 0.3, slip: float = 0.25) -> None:
        self.insight, self.slip = number("insight", insight, 0.0, 1.0), number("slip", slip, 0.0, 1.0)

    @property
    def id(self) -> str:
        """Name and settings."""
        return f"scripted:solver?insight={self.insight!r}&slip={self.slip!r}"

    def write(self, request: Request) -> str:
        """See `_StandIn.write`."""
        prompt = request.messages[0].content
        question = question_in(prompt)
        clues, seen, made = clues_in(question), _seen(request), _queries(request)
        draw = rng(request.seed or 0, "searching-solver")
        slip = self.slip / 2 if _KEEP.search(skills_in(prompt)) else self.slip
        luck, slips = draw.random() < self.insight, draw.random() < slip
        if not request.temperature:
            luck = slips = False
        if made:
            apart = decomposes(prompt) or question not in made
        else:
            apart = decomposes(prompt) or luck
        plan = self._parts(question, clues, seen) if apart else question
        budget = (len(clues) or 4) if apart else 1  # a search that slipped is not made good
        if plan and plan not in made and len(made) < budget:
            return f"<search> {self._slipped(plan, draw) if slips and apart else plan} </search>"
        answer = unravel(clues, seen)[0] if clues else ""
        return f"<answer> {answer or (seen[0].plain_title if seen else UNKNOWN)} </answer>"

    @staticmethod
    def _parts(question: str, clues: Sequence[str], seen: Sequence[Passage]) -> str:
        """The next search of a question taken apart; "" where there is nothing left to look for."""
        if clues:
            return unravel(clues, seen)[1]
        names = re.findall(r"[A-Z][\w'’.-]+(?:\s+(?:of |the )?[A-Z][\w'’.-]+)*", question[1:])
        return next((name for name in names if not any(name in passage.contents for passage in seen)), "")

    @staticmethod
    def _slipped(query: str, draw: Any) -> str:
        kept = [word for word in query_words(query) if draw.random() < 1 / 3]
        return " ".join(kept) or query


class OracleSolver(_StandIn):
    """Knows the gold decompositions, and uses them where a card tells it to take questions apart.

    It answers rightly where a gold answer stands in what it has read, and ``unknown`` otherwise.

    Args:
        decompositions: Question -> its parts in order, each with ``question`` and ``answer``; ``#2`` in a part stands
            for the answer of the second one (MuSiQue's form).
        answers: Question -> gold answers.
    """

    name = "oracle"

    def __init__(
        self, decompositions: Mapping[str, Sequence[Mapping[str, str]]], answers: Mapping[str, Sequence[str]]
    ) -> None:
        self.decompositions = {normal(question): list(parts) for question, parts in decompositions.items()}
        self.answers = {normal(question): list(golds) for question, golds in answers.items()}

    def parts(self, question: str) -> list[str]:
        """The sub-questions of a question, earlier answers filled in; the question itself where there are none."""
        steps = self.decompositions.get(normal(question), [])
        out = []
        for step in steps:
            text = step["question"]
            for at in range(len(steps), 0, -1):
                text = text.replace(f"#{at}", steps[at - 1]["answer"])
            out.append(" ".join(text.replace(">>", " ").split()))
        return out or [question]

    def write(self, request: Request) -> str:
        """See `_StandIn.write`."""
        prompt = request.messages[0].content
        question = question_in(prompt)
        plan = self.parts(question) if decomposes(prompt) else [question]
        done = len(_queries(request))
        if done < len(plan):
            return f"<search> {plan[done]} </search>"
        read = normal(" ".join(passage.contents for passage in _seen(request)))
        found = next((gold for gold in self.answers.get(normal(question), []) if normal(gold) in read), UNKNOWN)
        return f"<answer> {found} </answer>"


class ScriptedSolver(_StandIn):
    """Answers at once, rightly with a probability that depends on the question and its skills.

    Args:
        chance: (question, block of skills) -> probability of the right answer.
        key: Question -> right answer.
    """

    name = "chance"

    def __init__(self, chance: Callable[[str, str], float], key: Callable[[str], str]) -> None:
        self.chance, self.key = chance, key

    def write(self, request: Request) -> str:
        """See `_StandIn.write`."""
        prompt = request.messages[0].content
        question = question_in(prompt)
        right = rng(request.seed or 0, "scripted-solver").random() < self.chance(question, skills_in(prompt))
        return f"<answer> {self.key(question) if right else UNKNOWN} </answer>"


class ReadingVerifier(_StandIn):
    """Answers riddles from the passages in its prompt; other questions it cannot verify."""

    name = "verifier"

    def write(self, request: Request) -> str:
        """See `_StandIn.write`."""
        text = request.messages[-1].content
        passages = [Passage(str(at), f'"{title}"\n{body}') for at, (title, body) in enumerate(_MATERIAL.findall(text))]
        clues = clues_in(question_in(text))
        return f"I follow the clues through the passages.\nAnswer: {(clues and unravel(clues, passages)[0]) or UNKNOWN}"


class ScriptedDistiller(_StandIn):
    """Writes the card that a failed attempt calls for: take the question apart, or search again with fewer words."""

    name = "distiller"

    def write(self, request: Request) -> str:
        """See `_StandIn.write`."""
        text = request.messages[-1].content
        found = re.search(r"^Question: (.*)$", text, re.MULTILINE)
        question = found[1] if found else ""
        facts = len(clues_in(question))
        if facts != 1 and f"<search> {question} </search>" in text.replace("‹", "<").replace("›", ">"):
            card = {
                "description": "Decompose the question: make one search for each fact, the innermost one first.",
                "trigger": "A question that reaches its answer through other entities that it does not name.",
                "anti_pattern": "Searching for the whole question at once.",
                "query_template": "{relation} {entity found by the search before}",
            }
        else:
            card = {
                "description": "Keep every telling word of a clue in the query.",
                "trigger": "A search that brings no passage in which the clue stands.",
                "anti_pattern": "Shortening a clue until it fits many passages.",
                "query_template": "{all words of the clue}",
            }
        return f"The attempt shows one mistake.\n```json\n{json.dumps(card)}\n```"


class RaisingJudge(_StandIn):
    """A judge that is down."""

    name = "down"

    async def chat(self, request: Request) -> Reply:
        """Fails.

        Raises:
            ChatError: Always.
        """
        raise ChatError("scripted:down fails on purpose")


class HopBandit:
    """Chooses among arms (numbers of hops) by a softmax over preferences and learns by policy gradient.

    REINFORCE with the batch's mean as baseline (Williams 1992): equal rewards teach nothing, and the choice stays as it
    was.

    Args:
        arms: The choices, at least one.
        rate: Step size, above 0.
    """

    def __init__(self, arms: Sequence[int] = (1, 2, 3, 4), rate: float = 1.0) -> None:
        if not arms:
            raise BadInput("a bandit needs at least one arm")
        self.arms = tuple(whole("an arm", arm, 0) for arm in arms)
        self.rate = number("rate", rate, 0.0, above=True)
        self.preferences = [0.0] * len(self.arms)

    @property
    def policy(self) -> tuple[float, ...]:
        """Probability of each arm."""
        top = max(self.preferences)
        weights = [math.exp(one - top) for one in self.preferences]
        total = math.fsum(weights)
        return tuple(weight / total for weight in weights)

    def choose(self, count: int, seed: int) -> list[int]:
        """Draws arms."""
        return rng(seed, "hop-bandit").choices(self.arms, weights=self.policy, k=whole("count", count, 0))

    def learn(self, chosen: Sequence[int], rewards: Sequence[float | None]) -> None:
        """Takes the rewards of a batch in; None was not measured and teaches nothing."""
        pairs = [(arm, reward) for arm, reward in zip(chosen, rewards, strict=True) if reward is not None]
        if not pairs:
            return
        base = math.fsum(reward for _, reward in pairs) / len(pairs)
        policy = self.policy
        steps = [0.0] * len(self.arms)
        for arm, reward in pairs:
            for at, name in enumerate(self.arms):
                steps[at] += (reward - base) * ((name == arm) - policy[at]) / len(pairs)
        self.preferences = [one + self.rate * step for one, step in zip(self.preferences, steps, strict=True)]

    def state(self) -> dict[str, Any]:
        """The preferences as JSON."""
        return {"arms": list(self.arms), "preferences": list(self.preferences)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a `state`.

        Raises:
            BadInput: It is that of other arms.
        """
        if tuple(state.get("arms", ())) != self.arms or len(state.get("preferences", ())) != len(self.arms):
            raise BadInput(f"the saved bandit has the arms {state.get('arms')}, this one {list(self.arms)}")
        self.preferences = [float(one) for one in state["preferences"]]


_ALONE = {"solver": SearchingSolver, "verifier": ReadingVerifier, "distiller": ScriptedDistiller}


def load_seat(spec: Any, seat: str, passages: Sequence[Passage] = (), seed: int = 0, **layers: Any) -> ChatModel:
    """Whoever sits on a seat.

    Args:
        spec: ``rules`` (the seat's stand-in), any model spec of `metagym.chat.load`, a model, or a callable.
        seat: ``challenger``, ``solver``, ``verifier``, ``distiller`` or ``judge``.
        passages: The corpus, for the scripted challenger.
        seed: Of the stand-in.
        **layers: Reply cache, budget and the like, for models.

    Raises:
        SpecError: The spec cannot be read, or there is no stand-in for the seat.
    """
    if spec != "rules":
        return load(spec, seat=seat, seed=seed, **layers)
    if seat == "challenger":
        if not passages:
            raise SpecError("the scripted challenger asks about a corpus, and none was handed in")
        return ScriptedChallenger(passages, derive(seed, "challenger"))
    if seat not in _ALONE:
        there = ", ".join(("challenger", *_ALONE))
        raise SpecError(f"there is no scripted stand-in for the seat {seat!r}; there is one for {there}")
    return _ALONE[seat]()

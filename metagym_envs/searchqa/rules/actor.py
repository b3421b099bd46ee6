"""The scripted actor: it searches once with the question and answers in a sentence, unless advice says otherwise.

Two rules can be read in its system prompt: to search hop by hop, and to answer with the bare name. It is stateless:
everything comes from the request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed, derive
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.searchqa.rules.intents import TABLE
from metagym_envs.searchqa.rules.reading import QUERIES, Plan, facts, look_up, understand

_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_BLOCK = re.compile(r"<information>(.*?)</information>", re.DOTALL)
_TITLE = re.compile(r'Doc \d+\(Title: "?([^")]*)"?\)')
_SEARCHED = re.compile(r"<search>(.*?)</search>", re.DOTALL)

_read = lru_cache(maxsize=256)(lambda prompt: read(prompt, TABLE))


def choose(request: Request, seed: int = 0) -> str:
    """The reply to a request of the actor's seat.

    Args:
        request: The conversation.
        seed: The actor's own seed, which decides what it guesses.
    """
    prompt = next((m.content for m in request.messages if m.role == "system"), "")
    heard = [m.content for m in request.messages if m.role == "user"]
    rules = _read(prompt) if prompt else {}
    asked = _QUESTION.search(heard[0]) if heard else None
    question = asked[1] if asked else ""
    found = "\n".join(block for text in heard for block in _BLOCK.findall(text))
    searched = [query for m in request.messages if m.role == "assistant" for query in _SEARCHED.findall(m.content)]
    plan = understand(question)
    by_hops = bool(rules.get("decompose")) and plan is not None
    if plan is not None:
        name, missing = _follow(found, plan)
        if missing is None:
            return _answer(name, rules)
        query = QUERIES[missing].format(s=name)
        if by_hops and query not in searched:
            return f"I need the {missing} of {name}.\n<search>{query}</search>"
    if not searched:
        return f"I look it up.\n<search>{question or 'anything'}</search>"
    return _answer(_guess(found, plan, derive(seed, "guess", request.seed or 0, question)), rules)


def _follow(text: str, plan: Plan) -> tuple[str, str | None]:
    """How far a text leads: the last name reached, and the relation that it does not tell (None at the end)."""
    at = plan.subject
    for relation in plan.hops:
        found = look_up(text, relation, at)
        if found is None:
            return at, relation
        at = found
    return at, None


def _guess(text: str, plan: Plan | None, seed: int) -> str:
    """Something of the right kind that the passages name, else one of their titles."""
    options = [value for _, value in facts(text, plan.hops[-1])] if plan is not None else []
    options = options or _TITLE.findall(text) or ["nothing"]
    return options[seed % len(options)]


def _answer(name: str, rules: Mapping[str, bool]) -> str:
    text = name if rules.get("brief") else f"From what I have read it must be {name}, I think"
    return f"That is enough.\n<answer>{text}</answer>"


def actor(seed: int) -> ChatModel:
    """The scripted actor for SearchQA.

    Args:
        seed: Seed of its guesses, >= 0.

    Returns:
        A chat model that answers the actor seat's requests.
    """
    check_seed(seed, "the scripted actor's seed")
    return scripted(lambda request: choose(request, seed), id=f"rules:searchqa-actor-1:{seed}")

"""What a run of SESA is made of: passages, what searches them, questions, and answers that challenges start from.

The answers are split once for all by their digest: of every five, one is held out, so that riddles on held-out answers
are questions that no training challenge can ask.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from metagym.answers import golds_of
from metagym.checks import whole
from metagym.errors import BadInput, MetaGymError, NoTasks, SpecError
from metagym.qadata import QARow, protocol_rows, read_rows
from metagym.search import Passage, Searcher, load_searcher, read_corpus
from metagym.search.loading import searcher_of
from metagym.seeding import derive, rng
from metagym.sesa.riddles import Riddler

Side = Literal["train", "valid"]
HELD_OUT = 5
"""One answer of so many is held out."""
RIDDLES = 60
"""Riddles of a set, unless told otherwise."""

_INVENTED = "metagym_envs.searchqa.material:invented"


@dataclass(frozen=True)
class Material:
    """Passages, questions, answers, and what searches.

    Attributes:
        name: As in run cards.
        searcher: The search tool.
        answers: Answers that challenges start from, each in all its forms.
        passages: The passages, where they are at hand; the scripted challenger needs them.
        rows: Split (``train``, ``valid``) to questions.
    """

    name: str
    searcher: Searcher
    answers: tuple[tuple[str, ...], ...] = ()
    passages: tuple[Passage, ...] = ()
    rows: Mapping[str, Sequence[QARow]] = field(default_factory=dict)

    def side(self, side: Side) -> tuple[tuple[str, ...], ...]:
        """The answers of one side."""
        wanted = side == "valid"
        return tuple(one for one in self.answers if (derive(0, "sesa-half", one[0]) % HELD_OUT == 0) == wanted)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the answers."""
        return sha256(json.dumps([list(one) for one in self.answers]).encode("ascii")).hexdigest()

    @cached_property
    def riddler(self) -> Riddler:
        """Makes riddles over the passages."""
        return Riddler(self.passages)

    def told(self) -> dict[str, Any]:
        """What run cards say of it."""
        return {
            "name": self.name,
            "engine": self.searcher.name,
            "corpus": self.searcher.digest or "unknown",
            "answers": len(self.answers),
            "answers_digest": self.digest,
        }


def load_material(spec: str | Material, searcher: str | Searcher | None = None) -> Material:
    """Loads material.

    Args:
        spec: ``invented``: the world that comes with the family SearchQA; ``corpus:FILE``: a corpus in Search-R1's
            form, whose titles are the answers; ``answers:FILE``: lines of JSON, each a text, a list of texts or a
            question row, whose answers are taken, with a `searcher` beside them; ``python:<module>:<callable>``: a
            callable that gives a `Material`, or a dict with ``rows``, ``passages`` and ``searcher``; or a `Material`.
        searcher: Takes the place of the material's own.

    Raises:
        SpecError: The spec cannot be read, or names something that is not there.
        BadInput: A file cannot be used.
        MissingExtra, SearchError: The searcher cannot be used.
    """
    if isinstance(spec, Material):
        return spec if searcher is None else replace(spec, searcher=load_searcher(searcher))
    if not isinstance(spec, str):
        raise SpecError(f"material is named by a text, got {type(spec).__name__}; {_FORMS}")
    kind, colon, rest = spec.partition(":")
    if spec == "invented":
        return _called(_INVENTED, spec, searcher)
    if kind == "python" and rest:
        return _called(rest, spec, searcher)
    if kind == "corpus" and rest:
        corpus = read_corpus(rest)
        found = searcher_of("bm25", corpus) if searcher is None else load_searcher(searcher)
        return Material(spec, found, titles(corpus.passages), tuple(corpus.passages))
    if kind == "answers" and rest:
        if searcher is None:
            raise SpecError(f"the material {spec!r} holds no passages: name a searcher beside it")
        return Material(spec, load_searcher(searcher), read_answers(rest))
    raise SpecError(f"the material {spec!r} is of no known form; {_FORMS}")


_FORMS = "known forms: invented; corpus:FILE; answers:FILE (with a searcher); python:<module>:<callable>"


def _called(name: str, spec: str, searcher: str | Searcher | None) -> Material:
    module, colon, attribute = name.partition(":")
    try:
        made: Callable[[], Any] = getattr(importlib.import_module(module), attribute)
        found = made()
    except MetaGymError:
        raise
    except Exception as error:  # what a plugin's module does is its own; the reader needs the reason
        raise SpecError(f"the material {spec!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if isinstance(found, Mapping):
        try:
            passages = tuple(found["passages"])
            found = Material(spec, found["searcher"], titles(passages), passages, dict(found["rows"]))
        except (KeyError, TypeError) as error:
            raise SpecError(f"the material {spec!r} lacks rows, passages or searcher: {error!r}") from error
    if not isinstance(found, Material):
        raise SpecError(f"{spec} gives {type(found).__name__}, and no Material")
    return found if searcher is None else replace(found, searcher=load_searcher(searcher))


def titles(passages: Sequence[Passage]) -> tuple[tuple[str, ...], ...]:
    """The titles of passages as answers, in order, each once; shorter ones than 4 characters are left out."""
    found = {" ".join(passage.plain_title.split()) for passage in passages}
    return tuple((title,) for title in sorted(found) if len(title) >= 4)


def read_answers(path: str | Path) -> tuple[tuple[str, ...], ...]:
    """Answers from a file of JSON lines: a text, a list of texts, or an object with ``answers`` or ``golden_answers``.

    Raises:
        BadInput: It cannot be read, or a line holds no answer.
        NoTasks: It holds no line.
    """
    try:
        lines = Path(path).read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the answers {path} cannot be read: {error}") from None
    found: list[tuple[str, ...]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if isinstance(value, dict):
                value = next((value[key] for key in ("answers", "golden_answers", "answer") if key in value), None)
            found.append(tuple(golds_of(value)))
        except (ValueError, RecursionError) as error:  # BadInput is a ValueError
            raise BadInput(f"{path}, line {number}: {error}") from None
    if not found:
        raise NoTasks(f"{path} holds no answer")
    return tuple(dict.fromkeys(found))


def question_set(
    spec: str, material: Material, side: Side, seed: int = 0, count: int | None = None, hops: Sequence[int] = (1, 2, 3)
) -> list[QARow]:
    """A set of questions.

    Args:
        spec: ``riddles`` on the answers of a side (`metagym.sesa.riddles`), ``questions`` of the material,
            ``protocol:FOLDER`` (the 3,125 questions of seven sets, `metagym.qadata.protocol_rows`), ``none``, or a
            file.
        material: The material.
        side: ``train`` or ``valid``.
        seed: Of what is drawn.
        count: How many at most; None for all, of riddles for `RIDDLES`.
        hops: Facts of riddles, in turn.

    Raises:
        BadInput, NoTasks: There are none, or a file cannot be used.
    """
    if count is not None:
        whole("the number of questions", count, 1)
    if spec == "none":
        return []
    if spec == "riddles":
        return riddles(material, side, RIDDLES if count is None else count, seed, hops)
    if spec == "questions":
        rows = list(material.rows.get(side, ()))
    elif spec.startswith("protocol:"):
        rows = protocol_rows(spec.removeprefix("protocol:"), seed)
    else:
        rows = read_rows(spec)
    if not rows:
        raise NoTasks(f"the material {material.name} has no questions of the side {side!r}")
    if count is not None and count < len(rows):
        chosen = set(rng(seed, "questions", spec).sample(sorted(row.id for row in rows), count))
        rows = [row for row in rows if row.id in chosen]
    return rows


def riddles(material: Material, side: Side, count: int, seed: int, hops: Sequence[int]) -> list[QARow]:
    """Riddles on the answers of a side; their set is named by how many facts they chain.

    Raises:
        NoTasks: The material has no passages, or none that a riddle can be made of.
    """
    answers = [one[0] for one in material.side(side)]
    rng(seed, "riddles", side).shuffle(answers)
    found: list[QARow] = []
    seen: set[str] = set()
    for number in range(4 * len(answers)):
        if len(found) >= count:
            break
        wanted = hops[number % len(hops)]
        answer = answers[number % len(answers)]
        made = material.riddler.riddle(answer, wanted, rng(seed, "riddle", side, number)) if material.passages else None
        if made is None or len(made.clues) != wanted or made.question in seen:
            continue
        seen.add(made.question)
        facts = f"{wanted} fact{'s' if wanted > 1 else ''}"
        metadata = {"hops": wanted, "supporting_titles": list(made.path)}
        found.append(QARow(f"{side}-{len(found)}", made.question, (made.answer,), facts, metadata))
    if not found:
        raise NoTasks(
            f"no riddle can be made of the material {material.name}: it has no passages whose sentences name each "
            "other; name questions of your own"
        )
    return found

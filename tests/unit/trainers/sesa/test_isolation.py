"""I1 to I5: no byte of a card reaches the challenger, by prompt, row, reward, record or weight."""

from __future__ import annotations

import gc
import json
import warnings
from dataclasses import replace
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import pytest

from metagym.seeding import rng
from metagym.sesa.contexts import ChallengerContext, challenger_context
from metagym.sesa.skills import SkillBank
from metagym.sesa.snapshots import BankSnapshot
from metagym.sesa.state import BankEntry
from metagym_trainers.tiny.relations import held_out_questions
from tests.unit.trainers.sesa.easy import SETTINGS, EasyWorld, easy_play

pytestmark = [
    pytest.mark.filterwarnings("ignore::metagym_trainers.tracking.DeadGroupsWarning"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning"),
]

CANARY = f"canary{rng(0, 'canary').getrandbits(128):032x}"


class LeakyWorld(EasyWorld):
    """The mutant: a challenger's prompt that shows cards."""

    def challenger_prompt(self, context: ChallengerContext) -> str:
        return f"{super().challenger_prompt(context)} {self.mark}"


def spied(folder: Path, world: type[EasyWorld] = EasyWorld) -> dict[str, Any]:
    """A run with a canary in every field of every card, and all that either side saw, logged or was trained on."""
    seen: dict[str, Any] = {"challenger": [], "solver": [], "logs": [], "rows": [], "reachable": []}

    def words(tokenizer: Any) -> EasyWorld:
        return world(tokenizer, held_out_questions(4), mark=CANARY)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with easy_play(folder, replace(SETTINGS, card_dropout=0.0), world=words, logging_steps=1) as play:
            for seat, rollout in (("challenger", play.asking), ("solver", play.solving)):
                spy(rollout, seen[seat])
            paid = play.reward._paid

            async def watched(challenges: Any, seed: int) -> Any:
                seen["rows"] += challenges
                return await paid(challenges, seed)

            play.reward._paid = watched
            play.run()
            trainer = play.trainers["challenger"]
            for name in ("prompt", "completion", "extra"):
                seen["logs"].append({key: list(map(str, value)) for key, value in trainer._logs["extra"].items()}
                                    if name == "extra" else list(map(str, trainer._logs[name])))  # fmt: skip
            seen["logs"] += [trainer.state.log_history, dict(play.reward.verdicts)]
            seen["dataset"] = [dict(row) for row in trainer.train_dataset]
            seen["records"] = {key: value for key, value in play.records.records() if key.startswith("challenger")}
            seen["asking"] = {name: row.prompt for name, row in play.asking.rows.items()}
            seen["bank"] = [entry.card.to_json() for entry in play.bank.entries()]
    return seen


def spy(rollout: Any, into: list[Any]) -> None:
    """Keeps the columns that go to the trainer, ids decoded."""
    inner = rollout._extra

    def extra(rows: Any, played: Any) -> Any:
        into.extend(row.prompt for row in rows)
        for one in played:
            into.append(rollout.world.tokenizer.decode(one.tokens.ids))
            into.append(json.dumps(one.challenge.to_json() if hasattr(one, "challenge") else one.episode.to_json()))
        return inner(rows, played)

    rollout._extra = extra


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return spied(tmp_path_factory.mktemp("spied"))


def challengers(seen: dict[str, Any]) -> str:
    """All that is the challenger's: prompts, ids, episodes, rows, logs and records."""
    kept = {name: seen[name] for name in ("challenger", "logs", "dataset", "records", "asking")}
    kept["rows"] = [one.to_json() for one in seen["rows"]]
    return json.dumps(kept, default=str)


def shingles(text: str, size: int = 8) -> set[tuple[str, ...]]:
    parts = text.split()
    return {tuple(parts[at : at + size]) for at in range(len(parts) - size + 1)}


def test_i2_no_canary_reaches_the_challenger_and_the_scanner_finds_them_in_the_solver_s_prompts(
    run: dict[str, Any],
) -> None:
    assert run["bank"] and all(json.dumps(card).count(CANARY) >= 5 for card in run["bank"])
    assert len(run["challenger"]) > 50 and len(run["rows"]) == 32
    assert CANARY not in challengers(run)
    assert CANARY in json.dumps(run["solver"]), "the solver's prompts hold cards: the scan above could have found one"


def test_i2_no_eight_words_of_a_card_reach_the_challenger(run: dict[str, Any]) -> None:
    cards = set().union(*(shingles(" ".join(map(str, card.values()))) for card in run["bank"]))
    assert cards and not cards & shingles(challengers(run))


def test_i3_a_leak_is_found(tmp_path: Path) -> None:
    assert CANARY in challengers(spied(tmp_path, LeakyWorld))


def reachable(start: Any, kinds: tuple[type, ...], most: int = 200_000) -> list[Any]:
    """Objects of some kinds that an object leads to; code and classes are not followed."""
    queue, seen, found = [start], {id(start)}, []
    while queue and len(seen) < most:
        one = queue.pop()
        if isinstance(one, kinds):
            found.append(one)
            continue
        for other in gc.get_referents(one):
            if id(other) not in seen and not isinstance(other, (type, ModuleType, FunctionType, BuiltinFunctionType)):
                seen.add(id(other))
                queue.append(other)
    assert len(seen) < most, "the walk did not end"
    return found


def test_i1_nothing_that_the_challenger_is_given_or_logs_leads_to_a_bank(run: dict[str, Any]) -> None:
    kinds = (SkillBank, BankSnapshot, BankEntry)
    for name in ("rows", "dataset", "logs", "records"):
        assert not reachable(run[name], kinds), name
    context = challenger_context(run["rows"][0].seed, 0.5)
    assert not reachable(context, kinds)
    assert len(reachable([BankEntry], kinds)) == 0, "classes are no instances"


def test_i1_the_walk_finds_a_bank_where_there_is_one(tmp_path: Path) -> None:
    with SkillBank.open(tmp_path / "bank", "hash") as bank:
        assert reachable({"row": [bank.snapshot()]}, (SkillBank, BankSnapshot, BankEntry))


def test_i5_the_challenger_learns_one_number_of_the_solver(run: dict[str, Any]) -> None:
    assert {type(value) for values in run["records"].values() for value in values} <= {float, int, type(None)}
    assert set(run["dataset"][0]) == {"prompt"} and set(run["dataset"][0]["prompt"][0]) == {"content", "role", "row"}

"""The driver with real trainers: two sets of parameters (I4), phases that go on, and runs that are killed."""

from __future__ import annotations

import copy
import gc
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, RunError, StoreLocked
from metagym.sesa.cards import question_sha256
from metagym.sesa.checkpoints import bank_state
from tests.unit.trainers.sesa.easy import SETTINGS, EasyWorld, easy_play, rewards

pytestmark = [
    pytest.mark.filterwarnings("ignore::metagym_trainers.tracking.DeadGroupsWarning"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning"),
]


def weights(play: Any, name: str) -> dict[str, Any]:
    return {key: value.detach().clone() for key, value in play.trainers[name].model.state_dict().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    import torch

    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def optimiser(play: Any, name: str) -> Any:
    return copy.deepcopy(play.trainers[name].optimizer.state_dict()["state"])


def storages(play: Any, name: str) -> set[int]:
    trainer = play.trainers[name]
    tensors = [*trainer.model.parameters(), *trainer.model.buffers()]
    if trainer.optimizer is not None:
        for state in trainer.optimizer.state.values():
            tensors += [value for value in state.values() if hasattr(value, "data_ptr")]
    return {one.untyped_storage().data_ptr() for one in tensors}


@pytest.fixture(scope="module", autouse=True)
def frozen() -> Iterator[None]:
    """Accelerate collects garbage before every training: what was imported need not be looked at each time."""
    import trl

    assert trl.GRPOTrainer
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A whole run, with what was seen of both policies between its phases."""
    import torch

    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []
    folder = tmp_path_factory.mktemp("whole")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with easy_play(folder) as play:
            seen.append((weights(play, "challenger"), weights(play, "solver")))
            for phase in range(3 * SETTINGS.rounds):
                if phase == 3:
                    before = optimiser(play, "solver")
                play.run(1)
                if phase == 3:
                    untouched = optimiser(play, "solver")
                seen.append((weights(play, "challenger"), weights(play, "solver")))
            alike = all(torch.equal(before[key][name], untouched[key][name]) for key in before for name in before[key])
            return {
                "folder": folder,
                "seen": seen,
                "rewards": rewards(play),
                "records": dict(play.records.records()),
                "bank": bank_state(play.bank),
                "storages": (storages(play, "challenger"), storages(play, "solver")),
                "optimiser untouched": alike,
                "outcomes": play.outcomes(),
                "steps": [play.trainers[name].state.global_step for name in ("challenger", "solver")],
                "calls": [play.asking.calls, play.solving.calls],
            }


def test_i4_challenger_and_solver_share_no_tensor(uninterrupted: dict[str, Any]) -> None:
    challenger, solver = uninterrupted["storages"]
    assert len(challenger) > 20 and len(solver) > 20 and not challenger & solver


def test_i4_training_one_leaves_the_other_as_it_was_to_the_bit(uninterrupted: dict[str, Any]) -> None:
    seen = uninterrupted["seen"]
    for number, ((challenger, solver), (challenger_after, solver_after)) in enumerate(
        zip(seen, seen[1:], strict=False)
    ):
        phase = ("challenge", "ask", "solve")[number % 3]
        assert same(challenger, challenger_after) == (phase != "challenge"), f"challenger in phase {number} ({phase})"
        assert same(solver, solver_after) == (phase != "solve"), f"solver in phase {number} ({phase})"
    assert uninterrupted["optimiser untouched"]


def test_trl_second_train_goes_on_instead_of_starting_again(uninterrupted: dict[str, Any]) -> None:
    assert uninterrupted["steps"] == [4, 6]
    assert uninterrupted["calls"] == [4, 6], "each step generates once, by our rollout functions"
    keys = list(uninterrupted["rewards"])
    assert keys == [f"{name}/step/{step}/rewards" for name, step in (
        ("challenger", 0), ("challenger", 1), ("solver", 0), ("solver", 1), ("solver", 2),
        ("challenger", 2), ("challenger", 3), ("solver", 3), ("solver", 4), ("solver", 5),
    )]  # fmt: skip
    rows = [json.loads((uninterrupted["folder"] / f"rows-{number}.json").read_text()) for number in range(2)]
    assert {row["prompt"] for row in rows[0]} != {row["prompt"] for row in rows[1]}


def test_cards_are_made_between_the_trainings_and_shown_to_the_solver(uninterrupted: dict[str, Any]) -> None:
    records, folder = uninterrupted["records"], uninterrupted["folder"]
    assert records["round/0/ask"]["cards"] == 6 < records["round/1/ask"]["cards"]
    shown = [json.loads((folder / f"rows-{number}.json").read_text()) for number in range(2)]
    assert all(any(" r2 " in row["prompt"] for row in rows) for rows in shown)


def test_episodes_of_both_seats_are_kept_with_their_words(uninterrupted: dict[str, Any]) -> None:
    for name, steps in (("challenger", (0, 2)), ("solver", (0, 3))):  # one sample a phase
        kept = sorted((uninterrupted["folder"] / name / "episodes").iterdir())
        assert [path.name for path in kept] == [f"step-{step:06d}.jsonl" for step in steps]
        for line in map(json.loads, kept[0].read_text().splitlines()):
            assert line["role"] == name and line["prompt"] and line["completion"]


def test_an_evaluation_ends_it_and_changes_nothing(uninterrupted: dict[str, Any]) -> None:
    assert {name: len(side) for name, side in uninterrupted["outcomes"].items()} == {
        "start": 10, "off": 10, "on": 10, "placebo": 10,
    }  # fmt: skip
    with easy_play(uninterrupted["folder"]) as again:
        assert bank_state(again.bank) == uninterrupted["bank"]
        again.run()
        assert again.outcomes() == uninterrupted["outcomes"]
        assert rewards(again) == uninterrupted["rewards"]


@pytest.mark.parametrize("after", [3, *(pytest.param(phase, marks=pytest.mark.slow) for phase in (1, 2, 4))])
def test_a_run_that_stops_between_phases_ends_like_an_uninterrupted_one(
    uninterrupted: dict[str, Any], tmp_path: Path, after: int
) -> None:
    with easy_play(tmp_path) as play:
        play.run(after)
    with easy_play(tmp_path) as play:
        play.run()
        assert rewards(play) == uninterrupted["rewards"]
        assert bank_state(play.bank) == uninterrupted["bank"]
        assert same(weights(play, "solver"), uninterrupted["seen"][-1][1])
        assert same(weights(play, "challenger"), uninterrupted["seen"][-1][0])


@pytest.mark.parametrize(("role", "step"), [pytest.param("challenger", 3, marks=pytest.mark.slow), ("solver", 5)])
def test_a_run_that_dies_within_a_phase_goes_on_at_its_last_checkpoint(
    uninterrupted: dict[str, Any], tmp_path: Path, role: str, step: int
) -> None:
    class Died(BaseException):
        pass

    def die(key: str, value: Any) -> None:
        if key == f"{role}/step/{step}/rewards":
            raise Died  # the step's rewards are on disk, its update never happens

    saving = {"save_strategy": "steps", "save_steps": 1}  # two are kept: the one that the phase began with is gone
    with easy_play(tmp_path, on_event=die, **saving) as play, pytest.raises(Died):
        play.run()
    with easy_play(tmp_path, **saving) as play:
        play.run()
        assert rewards(play) == uninterrupted["rewards"], "and no step was done again with another outcome"
        assert bank_state(play.bank) == uninterrupted["bank"]
        assert same(weights(play, "solver"), uninterrupted["seen"][-1][1])


def test_cards_of_a_phase_that_did_not_end_are_set_aside(uninterrupted: dict[str, Any], tmp_path: Path) -> None:
    def die(key: str, value: Any) -> None:
        if key == "round/1/ask":
            raise KeyboardInterrupt  # the bank has grown, and the state does not say so yet

    with easy_play(tmp_path, on_event=die) as play, pytest.raises(KeyboardInterrupt):
        play.run()
    with easy_play(tmp_path) as play:
        play.run()
        assert bank_state(play.bank) == uninterrupted["bank"]
        assert rewards(play) == uninterrupted["rewards"]
    assert list((tmp_path / "bank" / "set-aside").iterdir())


@pytest.mark.parametrize("at", ["ask", pytest.param("challenge", marks=pytest.mark.slow)])
def test_a_run_that_dies_between_a_checkpoint_and_its_note_does_not_train_twice(
    uninterrupted: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    from metagym_trainers.sesa import selfplay

    save = selfplay.save_state

    def die(folder: Path, state: Any) -> None:
        if (state.round, state.phase) == (1, at):
            raise KeyboardInterrupt
        save(folder, state)

    monkeypatch.setattr(selfplay, "save_state", die)
    with easy_play(tmp_path) as play, pytest.raises(KeyboardInterrupt):
        play.run()
    monkeypatch.undo()
    with easy_play(tmp_path) as play:
        play.run()
        assert rewards(play) == uninterrupted["rewards"] and bank_state(play.bank) == uninterrupted["bank"]
        assert same(weights(play, "challenger"), uninterrupted["seen"][-1][0])
        assert play.asking.calls + play.solving.calls < 10, "a phase that had ended was trained again"


@pytest.mark.parametrize("name", ["optimizer.pt", pytest.param("rng_state.pth", marks=pytest.mark.slow)])
def test_a_checkpoint_that_lacks_a_file_is_not_gone_on_from(tmp_path: Path, name: str) -> None:
    """Transformers would begin with fresh moments, or other noise, and say nothing."""
    with easy_play(tmp_path) as play:
        play.run(4)  # the challenger's second phase has begun from its first one's end
        before = rewards(play)
    (tmp_path / "solver" / "checkpoint-3" / name).unlink()
    with easy_play(tmp_path) as play:
        play.run(1)
        with pytest.raises(RunError, match=f"checkpoint-3 is gone or lacks .*{name}.*the solver cannot go on"):
            play.run()
        assert rewards(play) == before, "nothing was trained"


def test_a_second_run_in_the_same_folder_is_kept_out(tmp_path: Path) -> None:
    with easy_play(tmp_path), pytest.raises(StoreLocked):
        easy_play(tmp_path)


def test_other_settings_cannot_go_on_in_a_folder(uninterrupted: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="card_dropout"):
        easy_play(uninterrupted["folder"], replace(SETTINGS, card_dropout=0.25))


def test_without_a_bank_there_is_none_and_off_is_all_there_is(tmp_path: Path) -> None:
    with easy_play(tmp_path, replace(SETTINGS, rounds=1, bank=False, challenger_steps=0)) as play:
        play.run()
        assert set(play.outcomes()) == {"start", "off"} and not (tmp_path / "bank").exists()
        with pytest.raises(RunError, match="no bank"):
            play.deployed()


def test_s27_the_evaluation_s_questions_make_no_cards_and_change_no_bank(uninterrupted: dict[str, Any]) -> None:
    with easy_play(uninterrupted["folder"]) as play:
        held = {question_sha256(one.text) for one in play.world.held_out}
        assert not held & {entry.card.question_sha256 for entry in play.bank.entries()}
        before = bank_state(play.bank)
        play.outcomes()
        assert bank_state(play.bank) == before


def test_one_model_for_both_seats_is_refused(tmp_path: Path) -> None:
    from metagym_trainers.sesa.selfplay import SelfPlay
    from metagym_trainers.sesa.settings import Seat
    from metagym_trainers.sesa.tiny import arguments
    from metagym_trainers.tiny.models import tiny_model, word_tokenizer
    from metagym_trainers.tiny.relations import VOCABULARY

    tokenizer = word_tokenizer(VOCABULARY)
    seat = Seat(tiny_model(tokenizer, hidden=16, layers=1, heads=2), tokenizer, arguments(4, 2, 5))
    with pytest.raises(BadInput, match="parameters of their own"):
        SelfPlay(EasyWorld(tokenizer), SETTINGS, seat, seat, tmp_path)


def test_a_phase_that_cuts_a_generation_batch_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="multiple"):
        easy_play(tmp_path, replace(SETTINGS, solver_steps=3), steps_per_generation=2, gradient_accumulation_steps=1)


def test_questions_that_nobody_asked_end_the_run_in_one_sentence(tmp_path: Path) -> None:
    from metagym_trainers.tiny.relations import RelationsWorld, held_out_questions

    settings = replace(SETTINGS, challenger_steps=0)
    with easy_play(tmp_path, settings, world=lambda tok: RelationsWorld(tok, held_out_questions(4))) as play:
        with pytest.raises(RunError, match="none of the 6 challenges of round 0 counts.*no-question"):
            play.run()


@pytest.mark.slow
def test_a_run_killed_by_kill_9_ends_like_an_uninterrupted_one(uninterrupted: dict[str, Any], tmp_path: Path) -> None:
    script = (
        "import os, sys, pathlib; import torch; torch.set_num_threads(1)\n"
        "from tests.unit.trainers.sesa.easy import easy_play\n"
        "def told(key, value):\n"
        "    print(key, flush=True)\n"
        "    if key == sys.argv[2]: os.kill(os.getpid(), 9)\n"
        "with easy_play(pathlib.Path(sys.argv[1]), on_event=told, save_strategy='steps', save_steps=1) as play:\n"
        "    play.run()\n"
    )
    root = Path(__file__).parents[4]
    for at in ("challenger/step/1/rewards", "round/0/ask", "solver/step/3/rewards"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path), at],
            cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    with easy_play(tmp_path, save_strategy="steps", save_steps=1) as play:
        play.run()
        assert rewards(play) == uninterrupted["rewards"]
        assert bank_state(play.bank) == uninterrupted["bank"]
        assert play.outcomes() == uninterrupted["outcomes"]

"""The suite of games: paired seats, models against each other, and the ratings that follow from the records."""

from pathlib import Path

import pytest

pytest.importorskip("textarena", reason="TextArena is not installed (extra games)")

from metagym.chat.types import Request
from metagym.errors import BadInput
from metagym.evaluation import load_suite
from metagym.evaluation.elo import Game, ratings
from metagym.evaluation.run import Entrant
from metagym.runs.elo import elo_games, elo_ratings
from metagym.runs.evals import EvalConfig, run_eval_sync
from metagym.runs.evals_results import EvalResults, load_evals
from metagym.runs.evals_rows import all_rows, elo_rows


def first(request: Request) -> str:
    """Takes the first legal move of the list."""
    return "Action: " + request.messages[-1].content.split("\n- ")[1]


def last(request: Request) -> str:
    """Takes the last one."""
    return "Action: " + request.messages[-1].content.split("\n- ")[-1]


OPTIONS = {"games": "TicTacToe,Nim", "puzzles": "", "opponents": "random", "size": 3, "between": True}
PLAYERS = tuple(Entrant(name, f"python:{__name__}:{name}") for name in ("first", "last"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_eval_sync(EvalConfig("games", PLAYERS, OPTIONS), tmp_path_factory.mktemp("games") / "run")


@pytest.fixture(scope="module")
def results(run: Path) -> EvalResults:
    return load_evals(run)


def test_every_model_meets_every_opponent_from_both_seats(results: EvalResults) -> None:
    assert [one.name for one in results.benchmarks] == [
        f"{game}-vs-{other}" for game in ("tictactoe", "nim") for other in ("random", "first", "last")
    ]
    for score in results.scores:
        seats = [(one.episode.task.seed, one.episode.task.params["seat"]) for one in score.episodes]
        assert len(seats) == 6 and len({seed for seed, _ in seats}) == 3 and [seat for _, seat in seats] == [0, 1] * 3


def test_what_one_model_wins_the_other_loses(results: EvalResults) -> None:
    """The same two players, seen once from each side: deterministic players play the very same games."""
    for game in ("tictactoe", "nim"):
        one = {
            (e.episode.task.seed, e.episode.task.params["seat"]): e.episode.ret
            for e in results.score("first", f"{game}-vs-last").episodes
        }
        other = {
            (e.episode.task.seed, 1 - e.episode.task.params["seat"]): e.episode.ret
            for e in results.score("last", f"{game}-vs-first").episodes
        }
        assert one.keys() == other.keys() and all(one[key] == -other[key] for key in one)


def test_ratings_are_made_of_the_records_without_self_play(results: EvalResults) -> None:
    games, left_out = elo_games(results)
    wanted = []
    for score in results.scores:
        opponent = score.benchmark.name.partition("-vs-")[2]
        if opponent == score.entrant.name:
            continue
        for one in score.episodes:
            task = one.episode.task
            name = {"random": "random (script)"}.get(opponent, opponent)
            outcome = {1.0: 1.0, 0.0: 0.5, -1.0: 0.0}[one.episode.ret]
            wanted.append(Game(score.entrant.name, name, outcome, f"{task.type}/{task.seed}/0"))
    assert games == wanted and left_out == 0 and len(games) == 48
    found, notes = elo_ratings(results)
    assert found == ratings(wanted) and {one.player for one in found} == {"first", "last", "random (script)"}
    assert "48 games of 6 starts" in notes[0]
    rows = elo_rows(results)
    assert rows in all_rows(results) and [line[0] for line in rows.lines] == [one.player for one in found]


def test_concurrency_changes_no_game(run: Path, tmp_path: Path) -> None:
    again = run_eval_sync(EvalConfig("games", PLAYERS, OPTIONS), tmp_path / "again", concurrency=1)
    lines = [(path / "records.jsonl").read_bytes() for path in (run, again)]
    assert lines[0] == lines[1]


def test_puzzles_have_no_opponent_and_no_ratings(tmp_path: Path) -> None:
    options = {"games": "", "puzzles": "TowerOfHanoi", "size": 2}
    results = load_evals(run_eval_sync(EvalConfig("games", PLAYERS[:1], options), tmp_path / "run"))
    assert [one.name for one in results.benchmarks] == ["towerofhanoi"]
    assert elo_ratings(results) == ([], ()) and not elo_rows(results).lines


def test_between_needs_a_model_that_can_sit_opposite() -> None:
    with pytest.raises(BadInput, match="between=true needs a model"):
        load_suite("games", {"a": "random"}, between=True)
    with pytest.raises(BadInput, match="between=true needs a model"):
        load_suite("games", between=True)
    assert all("-vs-" not in one.name for one in load_suite("games", games="").benchmarks)

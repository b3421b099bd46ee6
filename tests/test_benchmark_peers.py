"""Peers on the same work: equal results or no ratio, absent ones named, each comparison in a tiny configuration."""

from __future__ import annotations

import functools
import json
import math
import sys
import urllib.request
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.common import Report, machine
from benchmarks.peers import gem, loading, places
from benchmarks.peers import report as all_peers
from benchmarks.peers.pairs import Contest, Line, Unequal, contest
from benchmarks.peers.places import Absent, Measured, measured, missing, python_of
from metagym.errors import BadInput
from metagym.sandbox import SandboxPool
from tests.support.fake_server import FakeServer

ROOT = Path(__file__).resolve().parents[1]


def played(arms: dict[str, Callable[[], Sequence[tuple]]], repeats: int = 2, lead: bool = False) -> Contest:
    return contest(
        "a game",
        arms,
        [Line("peer: its loop", "ours", "theirs", "a note", lead)],
        repeats=repeats,
        count=len,
        unit="task",
        scale="us",
        equal="reward of every task",
    )


def arm(name: str, calls: list[str], results: Sequence[tuple]) -> Callable[[], Sequence[tuple]]:
    def play() -> Sequence[tuple]:
        calls.append(name)
        return results

    return play


def test_arms_are_played_by_turns_after_one_round_that_is_not_measured() -> None:
    calls: list[str] = []
    found = played({name: arm(name, calls, [(1.0,), (0.0,)]) for name in ("ours", "theirs")}, repeats=3)
    assert calls == ["ours", "theirs", "ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert {len(seconds) for seconds in found.seconds.values()} == {3}
    assert (found.count, found.tasks, found.distinct) == (2, 2, 2)
    assert "reward of every task are equal" in found.sameness() and "2 different results" in found.sameness()


def test_a_ratio_is_the_peers_time_over_ours_with_the_exact_interval_of_its_median() -> None:
    seconds = {"ours": [1.0] * 9, "theirs": [float(n) for n in range(1, 10)]}
    found = Contest("a game", 2, "task", "s", seconds, [Line("peer: loop", "ours", "theirs", "why")], "rewards", 2, 1)
    [figure] = found.figures()
    assert (figure.value, figure.low, figure.high, figure.unit) == (5.0, 2.0, 8.0, "x")
    assert figure.note == "2.50 against 0.500 s/task; why"
    assert Contest.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_few_repetitions_show_their_extremes() -> None:
    seconds = {"ours": [1.0, 2.0], "theirs": [1.0, 8.0]}
    [figure] = Contest("t", 1, "task", "s", seconds, [Line("p: l", "ours", "theirs")], "", 1, 1).figures()
    assert (figure.low, figure.value, figure.high) == (1.0, 2.5, 4.0)


@pytest.mark.parametrize(
    ("other", "words"),
    [([(1.0,), (0.5,)], r"task 1 came to \(0.0,\) in ours and to \(0.5,\) in theirs"), ([(1.0,)], "2 results")],
)
def test_unequal_results_make_no_ratio(other: Sequence[tuple], words: str) -> None:
    with pytest.raises(Unequal, match=words):
        played({"ours": arm("ours", [], [(1.0,), (0.0,)]), "theirs": arm("theirs", [], other)})


def test_a_repetition_that_differs_from_the_first_makes_no_ratio_either() -> None:
    numbers = iter(range(10))
    with pytest.raises(Unequal, match="no ratio"):
        played({"ours": lambda: [(next(numbers),)], "theirs": lambda: [(0,)]})


# --- where peers live


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No peer has an environment, and none is in ours."""

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(places, "FOLDER", tmp_path / ".venv-peers")
    monkeypatch.delenv("METAGYM_PEER_GEM", raising=False)
    monkeypatch.setattr(places, "version", absent)


def named(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """A program that `METAGYM_PEER_GEM` names."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("METAGYM_PEER_GEM", str(program))
    return program


def test_an_absent_peer_is_left_out_with_the_commands_that_bring_it(nowhere: None) -> None:
    found = measured("gem", tiny=True)
    assert isinstance(found, Absent) and found.name == "gem"
    assert found.reason.startswith("gem-llm is not installed: make bench-peers brings it")
    assert "requirements-gem.txt" in found.reason and "METAGYM_PEER_GEM" in found.reason


def test_the_command_of_an_absent_peer_says_so_and_succeeds(
    nowhere: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gem", "--tiny"])
    assert places.command("gem") == 0
    assert capsys.readouterr().out.startswith("gem is left out: gem-llm is not installed")


def test_another_python_that_lacks_the_peer_says_so_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named(
        monkeypatch,
        tmp_path,
        f"exec {sys.executable} -c \"import sys, json; open(sys.argv[4], 'w').write("
        "json.dumps({'absent': 'it is not here'}))\" \"$@\"",
    )
    assert measured("gem", tiny=True) == Absent("gem", "it is not here")


def test_a_wrong_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "version", lambda name: "9.9")
    assert missing(gem.PEER).startswith("gem-llm 9.9 is installed, and this comparison is written for 0.1.0")


def test_a_variable_that_names_no_program_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METAGYM_PEER_GEM", "/no/such/python")
    with pytest.raises(BadInput, match="METAGYM_PEER_GEM names /no/such/python"):
        python_of(gem.PEER)
    with pytest.raises(SystemExit, match="METAGYM_PEER_GEM"):
        all_peers.report(["gem"])


def test_an_environment_of_its_own_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("METAGYM_PEER_GEM", raising=False)
    monkeypatch.setattr(places, "FOLDER", tmp_path)
    assert python_of(gem.PEER) == sys.executable
    own = tmp_path / "gem" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.touch()
    assert python_of(gem.PEER) == str(own)
    assert python_of(loading.PEER) == sys.executable


def test_a_peer_whose_measuring_fails_is_left_out_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named(monkeypatch, tmp_path, "echo first >&2; echo 'ImportError: broken' >&2; exit 3")
    assert measured("gem") == Absent("gem", "measuring failed: ImportError: broken")
    assert "first" in capsys.readouterr().err


def test_unequal_results_in_the_other_process_end_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named(monkeypatch, tmp_path, """echo '{"unequal": "task 3 came to ..."}' > "$4\"""")
    with pytest.raises(SystemExit, match="task 3 came to"):
        measured("gem")


def test_every_peer_with_a_place_has_its_requirements_and_a_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for module in all_peers.MODULES:
        peer = places._load(module).PEER
        if peer.place:
            wanted = (ROOT / "benchmarks" / "peers" / f"requirements-{peer.place}.txt").read_text(encoding="utf-8")
            assert all(f"\n{name}=={version}" in wanted for name, version in peer.packages.items())
            assert f"$(PEERS)/{peer.place}/made" in makefile
        assert len(peer.unlike) > 200  # what is unlike is said


# --- each comparison, tiny


@pytest.mark.parametrize("module", ["textarena", "vector", "lock_step", "loading"])
def test_a_peer_beside_us_is_measured(module: str) -> None:
    tiny(module)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["alfworld", "gem", "verifiers_classic", "verifiers"])
def test_a_peer_with_an_engine_or_a_place_of_its_own_is_measured_where_it_is(module: str) -> None:
    tiny(module)


def tiny(module: str) -> None:
    found = measured(module, tiny=True)
    if isinstance(found, Absent):
        assert not found.reason.startswith("measuring failed"), found.reason
        pytest.skip(found.reason)
    figures = found.figures()
    assert figures and sum(len(one.lines) for one in found.contests) == len(figures)
    for figure in figures:
        assert math.isfinite(figure.value) and 0 < figure.low <= figure.value <= figure.high
        assert ": " in figure.name and " against " in figure.note
    for one in found.contests:
        assert one.tasks > 0 and one.sameness() in found.words()


# --- the report


def a_result(monkeypatch: pytest.MonkeyPatch) -> dict:
    def found(module: str, tiny: bool) -> Measured | Absent:
        if module == "gem":
            return Absent("gem", "it is not here")
        results = [(1.0,), (0.0,)]
        arms = {name: arm(name, [], results) for name in ("ours", "theirs")}
        return Measured(module, {"textarena": "0.7.4"}, [played(arms, 6, lead=True)])

    monkeypatch.setattr(all_peers, "measured", found)
    report = all_peers.report(["textarena", "gem"])
    assert Report.from_json(json.loads(json.dumps(report.to_json(), allow_nan=False))) == report
    assert report.details["absent"] == {"gem": "it is not here"}
    assert any(note == "**gem** is left out: it is not here." for note in report.details["notes"])
    return {"report": report.to_json(), "day": "2026-01-01"}


def test_the_report_holds_ratios_reasons_and_what_is_unlike(monkeypatch: pytest.MonkeyPatch) -> None:
    result = a_result(monkeypatch)
    [figure] = result["report"]["figures"]
    assert figure["name"] == "peer: its loop" and figure["repeats"] == 6
    assert any(note.startswith("**textarena.** textarena 0.7.4.") for note in result["report"]["details"]["notes"])


def test_the_tables_section_tells_below_it_what_is_unlike_and_who_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"command": "make bench-peers", "seconds": 1.0, "machine": machine()}
    lines = command.section({**a_result(monkeypatch), **facts}).splitlines()
    assert lines.index("- **gem** is left out: it is not here.") > max(
        n for n, line in enumerate(lines) if line[:1] == "|"
    )
    assert any(line.startswith("- **textarena.** textarena 0.7.4.") for line in lines)


def test_a_run_without_names_leaves_the_peers_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[str] = []
    monkeypatch.setattr(command, "run", lambda name, folder: ran.append(name) or Report(name, "", []))
    monkeypatch.setattr(command, "renew_all", lambda results: None)
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    assert command.main() == 0 and "overhead" in ran and "peers" not in ran
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--only", "peers"])
    assert command.main() == 0 and ran[-1] == "peers"


def test_the_readmes_table_is_renewed_between_its_markers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{all_peers.BEGIN}\nold\n{all_peers.END}\nafter\n", encoding="utf-8")
    result = a_result(monkeypatch)
    all_peers.renew_readme(result, readme)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{all_peers.BEGIN}\n") and text.endswith(f"{all_peers.END}\nafter\n")
    assert "old" not in text and "| peer | its loop **" in text and "Left out on that machine: gem" in text
    all_peers.renew_readme(result, readme)
    assert readme.read_text(encoding="utf-8") == text
    readme.write_text("words", encoding="utf-8")
    with pytest.raises(SystemExit, match="markers"):
        all_peers.renew_readme(result, readme)


def test_the_projects_readme_has_the_table_and_keeps_it_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, begin, rest = text.partition(all_peers.BEGIN)
    table, end, _ = rest.partition(all_peers.END)
    assert begin and end and len(table.strip().splitlines()) <= 14


# --- what the arms are made of


def test_gems_model_answers_what_it_was_told_last() -> None:
    assert gem.reply("You are playing Guess The Number.") == "\\boxed{4}"
    low, high = (
        f"At turn 1, you guessed {n}, and the target number is {w} than {n}." for n, w in ((4, "higher"), (11, "lower"))
    )
    assert gem.reply(low) == "\\boxed{11}" and gem.reply(f"{low}\n\\boxed{{11}}\n{high}") == "\\boxed{10}"


def test_a_program_comes_to_the_same_in_all_three_ways_of_running_it() -> None:
    actions = ["east", "south", "nowhere", "west"]
    walks = []
    with SandboxPool() as pool:
        for way in (loading.InProcess, loading.InSubprocess, functools.partial(loading.InSandbox, pool)):
            program = way(loading.WALK)
            walks.append([program.reset(0), *(tuple(program.step(action)) for action in actions)])
            program.close()
    assert walks[0] == walks[1] == walks[2] and walks[0][2] == ("You stand at (1, 1).", 0.0, False)


def test_what_a_program_prints_in_a_subprocess_is_no_answer() -> None:
    source = (
        "class Env:\n    def reset(self):\n        print('{}')\n        return 'start'\n    def step(self, action):\n"
    )
    program = loading.InSubprocess(source + "        print('x')\n        return action, 1, True, {}\n")
    assert program.reset(0) == "start" and tuple(program.step("go")) == ("go", 1.0, True)
    program.close()


def test_the_test_server_streams_where_it_is_asked_to() -> None:
    body = {"model": "fake", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    with FakeServer(lambda request: "good day") as server:
        request = urllib.request.Request(
            f"{server.base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            assert reply.headers["Content-Type"] == "text/event-stream"
            *events, last, rest = reply.read().decode().split("\n\n")
    parts = [json.loads(event.removeprefix("data: ")) for event in events]
    assert last == "data: [DONE]" and rest == ""
    assert "".join(choice["delta"].get("content", "") for part in parts for choice in part["choices"]) == "good day"
    assert parts[-1]["usage"]["completion_tokens"] == 2 and parts[-2]["choices"][0]["finish_reason"] == "stop"

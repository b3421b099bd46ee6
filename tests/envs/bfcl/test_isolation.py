"""Nothing of one conversation reaches another, the package's modules or the disk."""

from __future__ import annotations

import decimal
import gc
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from metagym_envs.bfcl import package
from metagym_envs.bfcl.calls import Call, written
from metagym_envs.bfcl.checking import judge
from metagym_envs.bfcl.data import CATEGORIES, Entry, entries
from metagym_envs.bfcl.env import ToolConversation
from metagym_envs.bfcl.world import World
from tests.envs.bfcl import playing

UTILS = "bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils"
BACKENDS = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"


def shared() -> dict[str, str]:
    """Everything that the package's modules hold: their globals, and default arguments of their classes' methods."""
    found: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        if not name.startswith("bfcl_eval"):
            continue
        for key, value in vars(module).items():
            if key.startswith("__"):
                continue
            found[f"{name}.{key}"] = repr(value)
            if isinstance(value, type) and value.__module__ == name:
                for method, function in vars(value).items():
                    if isinstance(function, FunctionType):
                        found[f"{name}.{key}.{method}"] = repr(function.__defaults__)
    return found


def living() -> int:
    """Number of back ends, files and folders of the package that are alive."""
    gc.collect()
    return sum(str(type(one).__module__).startswith(BACKENDS) for one in gc.get_objects())


def test_conversations_leave_nothing_in_the_package_and_no_object() -> None:
    some = [one for category in CATEGORIES for one in list(entries(category).values())[::5]]
    playing.play(some[0], playing.answer)  # imports what is imported when it is first used
    for one in some:
        World(one)
    before, alive = shared(), living()
    for one in some:
        playing.play(one, playing.answer)
    left = ToolConversation(some[0])
    left.reset()
    left.close()
    assert living() - alive == 0
    assert shared() == before and len(before) > 300


def test_the_packages_own_executor_is_never_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with the package's executor the same fixture fails, so it would be noticed."""
    utils = package.module(UTILS)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("text was evaluated")

    monkeypatch.setattr(utils, "eval", never, raising=False)
    assert playing.play(playing.entry("multi_turn_base_0"), playing.answer)["success"]
    one = playing.entry("multi_turn_base_0")
    try:
        results, _ = utils.execute_multi_turn_func_call(["pwd()"], one.config, list(one.classes), "control", one.id)
    finally:
        for name in [name for name in vars(utils) if name.startswith("control")]:
            delattr(utils, name)
    assert results == ["Error during execution: text was evaluated"]


def test_a_mention_reaches_no_later_tweet() -> None:
    """The package keeps a tweet's mentions in the default argument of the function that posts."""
    one = next(
        e for e in entries("multi_turn_base").values() if "TwitterAPI" in e.classes and "password" in str(e.config)
    )
    login = Call("authenticate_twitter", kwargs=_twitter(one.config))
    for _ in range(2):
        world = World(one)
        world.call(login)
        posted = json.loads(world.call(Call("post_tweet", kwargs={"content": "Hello"})))
        assert posted["mentions"] == []
        found = world.call(Call("mention", kwargs={"tweet_id": posted["id"], "mentioned_usernames": ["@you"]}))
        assert "error" not in found


def _twitter(config: Any) -> dict[str, str]:
    return {name: config["TwitterAPI"][name] for name in ("username", "password")}


def test_the_precision_that_a_tool_sets_is_given_back() -> None:
    import mpmath

    one = next(e for e in entries("multi_turn_base").values() if "MathAPI" in e.classes)
    before = (mpmath.mp.dps, decimal.getcontext().prec)
    short, long = (
        World(one).call(Call("logarithm", kwargs={"value": 2.0, "base": 10.0, "precision": digits}))
        for digits in (5, 40)
    )
    root = World(one).call(Call("square_root", kwargs={"number": 2, "precision": 7}))
    assert len(long) > len(short) + 20 and "1.414214" in root
    assert (mpmath.mp.dps, decimal.getcontext().prec) == before


def test_cards_of_the_long_context_are_charged_in_one_conversation_alone() -> None:
    one = next(e for e in entries("multi_turn_long_context").values() if "TravelAPI" in e.classes)
    first, second = World(one), World(one)
    card = next(
        iter(set(first.instances["TravelAPI"].credit_card_list) - set(one.config["TravelAPI"]["credit_card_list"]))
    )
    first.instances["TravelAPI"].credit_card_list[card]["balance"] = -1
    assert second.instances["TravelAPI"].credit_card_list[card]["balance"] != -1
    assert World(one).instances["TravelAPI"].credit_card_list[card]["balance"] != -1


def test_the_package_itself_goes_on_in_the_state_of_an_earlier_conversation() -> None:
    """What is guarded against: after a conversation that failed early, the right one fails under that name."""
    utils, some = package.module(UTILS), list(entries("multi_turn_base").values())[100:140]
    try:
        assert not any(_official(one, "leak", [[] for _ in one.truth])["valid"] for one in some)
        leaked = sum(_official(one, "leak", _answer(one))["valid"] for one in some)
    finally:
        objects = _purge(utils, "leak")
    assert leaked < 40 and objects > 80
    for one in some:
        assert not judge(one, [[] for _ in one.truth]).valid and judge(one, _answer(one)).valid


def _answer(one: Entry) -> list[list[tuple[Call, ...]]]:
    return [[calls] if calls else [] for calls in one.truth]


def _official(one: Entry, name: str, played: list[list[tuple[Call, ...]]]) -> dict[str, Any]:
    """The verdict of the package's unchanged checker, with its own executor."""
    checker = package.module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker").multi_turn_checker
    texts = [[[written((call,))[1:-1] for call in calls] for calls in steps] for steps in played]
    truth = [[written((call,))[1:-1] for call in calls] for calls in one.truth]
    told = {"id": one.id, "initial_config": one.config, "involved_classes": list(one.classes)}
    found: dict[str, Any] = checker(texts, truth, told, one.category, name)
    return found


def _purge(utils: Any, name: str) -> int:
    left = [key for key in vars(utils) if key.startswith(name)]
    for key in left:
        delattr(utils, key)
    return len(left)


@pytest.mark.parametrize("category", CATEGORIES)
def test_verdicts_are_those_of_the_packages_unchanged_checker(category: str) -> None:
    """The same conversations, right and wrong, through the package's own executor under fresh names."""
    utils, seen = package.module(UTILS), set()
    for number, one in enumerate(list(entries(category).values())[::4]):
        played = _answer(one)
        turn = number % len(played)
        if number % 3 == 1:
            played[turn] *= 2
        elif number % 3 == 2:
            played[turn] = [calls[:-1] for calls in played[turn] if calls[:-1]]
        try:
            theirs = _official(one, f"fresh{number}", played)
        finally:
            _purge(utils, "fresh")
        ours = judge(one, played)
        assert (ours.valid, ours.error) == (theirs["valid"], theirs.get("error_type", "")), one.id
        seen.add(ours.valid)
    assert seen == {True, False}


def test_nothing_is_written_beside_the_package_or_where_we_stand(tmp_path: Path) -> None:
    code = """
        import sys
        import gymnasium, metagym
        env = gymnasium.make("MetaGym/BFCL-MultiTurn-v0")
        env.reset(seed=0)
        for _ in range(9):
            if env.step("[pwd()]")[2] or env.step("Done.")[2]:
                break
        import metagym_envs.bfcl as bfcl
        family = bfcl.BFCL(["multi_turn_long_context"])
        metagym.play(family.task_set("test")[:5], "rules", family=family)
        assert "bfcl_eval.constants.eval_config" not in sys.modules and "bfcl_eval.utils" not in sys.modules
        """
    around = package.root().parent
    before = _files(around)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    assert _files(around) == before


def _files(around: Path) -> dict[str, tuple[int, int]]:
    """Names beside the package, and files in it with their sizes and times; compiled modules apart."""
    inside = (path for path in (around / "bfcl_eval").rglob("*") if "__pycache__" not in path.parts)
    found = {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in inside if path.is_file()}
    traps = ("result", "score", ".file_locks")
    return found | {name: (int((around / name).exists()), 0) for name in traps}


def test_the_data_are_read_as_the_package_reads_them(tmp_path: Path) -> None:
    pytest.importorskip("filelock", reason="the package's own loader needs filelock")
    code = """
        import json
        from bfcl_eval.utils import load_dataset_entry, load_ground_truth_entry
        from metagym_envs.bfcl.data import CATEGORIES, Entry, entries
        for category in CATEGORIES:
            theirs = load_dataset_entry(category, include_language_specific_hint=False)
            truths = load_ground_truth_entry(category)
            for one, entry, truth in zip(theirs, entries(category).values(), truths, strict=True):
                assert one["id"] == entry.id == truth["id"]
                assert one["function"] == list(entry.tools), entry.id
                held = {int(turn): tuple(tools) for turn, tools in one.get("missed_function", {}).items()}
                assert held == dict(entry.held), entry.id
                assert one["initial_config"] == entry.config and one["involved_classes"] == list(entry.classes)
                said = [[message["content"] for message in turn] for turn in one["question"]]
                assert said == [[words] if words else [] for words in entry.turns]
                assert [len(calls) for calls in truth["ground_truth"]] == [len(calls) for calls in entry.truth]
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={"BFCL_PROJECT_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

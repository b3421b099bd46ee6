"""Data and back ends of a checkout: read, never imported, and named where they are not usable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.tasks import Task
from metagym_envs.acebench import judging, prompts, sample
from metagym_envs.acebench.checkout import back_end, checkout, constant, digest
from metagym_envs.acebench.entries import entries, entry_of, identity, resolve, task_set
from metagym_envs.acebench.family import ACEBench
from tests.envs.acebench.conftest import edited

STEP, TURN = "data_agent_multi_step.json", "data_agent_multi_turn.json"
CLASSES = ("BaseApi", "MessageApi", "ReminderApi", "FoodPlatform")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ReminderApi", "ReminderApi"), ("ReminderAPI", "ReminderApi"), ("Reminderpi", "ReminderApi"),
        ("BaseAPI", "BaseApi"), ("foodplatform", "FoodPlatform"), ("Remindeapi", "ReminderApi"), ("Calendar", None),
        ("Api", None), ("", None), ("ReminderApiXY", None),
    ],
)  # fmt: skip
def test_names_of_gold_classes_are_made_good_where_only_one_can_be_meant(name: str, meant: str | None) -> None:
    assert resolve(name, CLASSES) == meant


def test_a_name_that_may_mean_two_classes_means_none() -> None:
    assert resolve("ApiX", ("ApiA", "ApiB")) is None and resolve("api", ("Api", "API")) is None


@given(st.sampled_from(CLASSES), st.integers(0, 11), st.characters(codec="ascii", categories=["Ll"]))
def test_one_wrong_letter_is_seen_through(name: str, at: int, letter: str) -> None:
    for wrong in (name[:at] + name[at + 1 :], name[:at] + letter + name[at:], name[:at] + letter + name[at + 1 :]):
        assert resolve(wrong, CLASSES) == name


def test_no_gold_class_is_skipped() -> None:
    found = entries("sample", "multi_step")[0]
    assert found.renamed == {"ReminderAPI": "ReminderApi"} and set(found.gold) == {"BaseApi", "ReminderApi"}
    assert found.unjudged == ()


@pytest.mark.parametrize(
    ("file", "fields", "words"),
    [
        (STEP, {"question": 1}, "'question' is text"),
        (STEP, {"involved_classes": []}, "'involved_classes' is a list of names"),
        (STEP, {"involved_classes": ["os.system"]}, "'involved_classes' is a list of names"),
        (STEP, {"id": "agent_multi_step_99"}, "there is no answer to the id 'agent_multi_step_99'"),
        (STEP, {"function": None}, "'function' is a list of documents"),
        (f"possible_answer/{STEP}", {"ground_truth": []}, "'ground_truth' is a list of states"),
        (f"possible_answer/{STEP}", {"ground_truth": [{"BaseApi": {}}, {"BaseAPI": {}}]}, "names BaseApi twice"),
        (f"possible_answer/{STEP}", {"mile_stone": None}, "'mile_stone' is a list"),
        (f"possible_answer/{STEP}", {"mile_stone": [["a"], "b"]}, "milestones are texts"),
    ],
)
def test_a_row_that_is_not_usable_is_named(
    file: str, fields: dict[str, Any], words: str, checked_out: Callable[..., str]
) -> None:
    with pytest.raises(BadInput) as caught:
        entries(checked_out(edited(file, 1, **fields)), "multi_step")
    assert words in str(caught.value) and ("row 2" in str(caught.value) or "agent_multi_step_1" in str(caught.value))


def test_what_is_no_checkout_is_named(tmp_path: Path, checked_out: Callable[..., str]) -> None:
    with pytest.raises(BadInput, match="a checkout of its public repository .* is none"):
        checkout(str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="holds no data_all/data_en/data_agent_multi_step.json"):
        entries(str(tmp_path), "multi_step")
    broken = checked_out(lambda files: files.update({f"data_all/data_en/{TURN}": "{"}))
    with pytest.raises(BadInput, match="data_agent_multi_turn.json is no JSON"):
        entries(broken, "multi_turn")


def test_both_layouts_of_the_repository_are_read(checked_out: Callable[..., str]) -> None:
    def newer(files: dict[str, str]) -> None:
        for path in list(files):
            files[path.replace("data_all/data_en", "data/en").replace("multi_turn/scen", "scenarios/scen")] = files.pop(
                path
            ).replace("model_inference.multi_turn.", "model_inference.scenarios.")

    old, new = checked_out(), checked_out(newer)
    assert entries(old, "multi_step") == entries(new, "multi_step") == entries("sample", "multi_step")
    assert list(back_end(checkout(new), "multi_step", ["ReminderApi"])) == [
        "model_inference.scenarios.scenariosen.phone_platform.base_api",
        "model_inference.scenarios.scenariosen.phone_platform.reminder",
    ]
    assert digest(old) == digest("sample")


def test_back_ends_are_found_by_class_and_never_imported() -> None:
    found = back_end(checkout("sample"), "multi_step", ["BaseApi", "ReminderApi"])
    assert [names for _, names in found.values()] == ["BaseApi", "ReminderApi"]
    assert not [name for name in sys.modules if name.startswith("model_inference")]
    with pytest.raises(BadInput, match="defines no class Travel"):
        back_end(checkout("sample"), "multi_step", ["Travel"])


def test_a_module_that_is_no_python_is_named(checked_out: Callable[..., str]) -> None:
    def break_it(files: dict[str, str]) -> None:
        files["model_inference/multi_turn/scenariosen/travel.py"] = "class Travel(:"

    with pytest.raises(BadInput, match="travel.py of the ACEBench checkout .* is no Python"):
        back_end(checkout(checked_out(break_it)), "multi_step", ["BaseApi"])


def test_the_wording_of_the_checkout_is_read_as_text(checked_out: Callable[..., str]) -> None:
    def add(files: dict[str, str]) -> None:
        files["model_inference/multi_step/APIModel_agent.py"] = (
            "import no_such_module\nMULTI_TURN_AGENT_PROMPT_SYSTEM_EN = '''Their rules: {time} {evil.attr}'''\n"
        )
        files["model_inference/multi_turn/APIModel_user.py"] = (
            "raise SystemExit\nSYSTEM_PROMPT_BASE_EN = 'You are told: {instruction} {0.__class__}'\n"
        )

    path = checked_out(add)
    step, turn = entries(path, "multi_step")[0], entries(path, "multi_turn")[0]
    assert prompts.agent(path, step).startswith("Their rules: {time} {evil.attr}\n\nFunctions:")
    assert prompts.user(path, turn) == f"You are told: {turn.question} {{0.__class__}}"
    assert prompts.source(path) == "mixed" and prompts.source("sample") == "own"
    assert "finish conversation" in prompts.agent("sample", step)
    assert constant(checkout(path), "model_inference/multi_step/APIModel_agent.py", "OTHER") is None


def test_the_rules_of_a_world_are_the_checkouts_too(checked_out: Callable[..., str]) -> None:
    def add(files: dict[str, str]) -> None:
        files["model_inference/prompt_en.py"] = "BASE_PROMPT_EN = 'Their world.'\nTRAVEL_PROMPT_EN = 'Another.'\n"

    path = checked_out(add)
    step, turn = entries(path, "multi_step")[0], entries(path, "multi_turn")[0]
    assert "\nTheir world.\n" in prompts.agent(path, turn) and "Another" not in prompts.agent(path, turn)
    assert "Their world" not in prompts.agent(path, step) and prompts.source(path) == "mixed"


def test_a_task_knows_its_entry_and_refuses_other_data(checked_out: Callable[..., str]) -> None:
    tasks = list(task_set("sample"))
    assert [task.type for task in tasks] == ["multi_step"] * 25 + ["multi_turn"] * 13
    assert len({identity(entry_of("sample", task)) for task in tasks}) == 38
    other = checked_out(edited(STEP, 0, question="Something else."))
    with pytest.raises(BadInput, match="is of other data"):
        entry_of(other, tasks[0])
    assert entry_of(other, Task.from_json(tasks[1].to_json())) == entries("sample", "multi_step")[1]


def test_an_unknown_gold_class_is_named_and_never_skipped(checked_out: Callable[..., str]) -> None:
    gold = [{"BaseApi": {"wifi": True, "logged_in": True}}, {"Calendar": {"days": []}}]
    path = checked_out(edited(f"possible_answer/{STEP}", 1, ground_truth=gold))
    found = entries(path, "multi_step")[1]
    assert (found.unknown, found.unjudged, found.renamed) == (("Calendar",), ("ReminderApi",), {})
    reached = {"BaseApi": {"wifi": True, "logged_in": True}, "ReminderApi": {"reminder_list": {}}}
    assert judging.state_faults(found, reached) == ["the gold state names Calendar, which is no class of the task"]
    assert judging.state_faults(found, reached, skip=found.renamed) == []  # the official scorer does not see it
    assert ACEBench(path=path).versions["unknown_classes"] == {"agent_multi_step_1": ["Calendar"]}


# --- scoring


def state(**changes: Any) -> dict[str, Any]:
    entry = entries("sample", "multi_step")[0]
    found = {name: dict(gold) for name, gold in entry.gold.items()}
    found["ReminderApi"] |= {"wifi": False, "synced": [], **changes}
    return found


def test_the_final_state_is_compared_as_the_benchmark_does() -> None:
    entry = entries("sample", "multi_step")[0]
    assert judging.state_faults(entry, state()) == []
    more = {**entry.gold["ReminderApi"]["reminder_list"], "3": {"title": "another"}}
    assert (
        judging.state_faults(entry, state(reminder_list=more)) == []
    )  # what is there beyond the gold state is not seen
    assert judging.state_faults(entry, state(reminder_list={})) == [
        "ReminderApi.reminder_list.1 is another", "ReminderApi.reminder_list.2 is another",
    ]  # fmt: skip
    assert judging.state_faults(entry, state(reminder_list=[])) == ["ReminderApi.reminder_list is no dict"]
    assert judging.state_faults(entry, {"BaseApi": {"wifi": True, "logged_in": False}}) == [
        "BaseApi.logged_in is another", "ReminderApi is not there",
    ]  # fmt: skip


def test_the_official_scorer_does_not_see_a_class_of_another_name() -> None:
    entry = entries("sample", "multi_step")[0]
    wrong = state(reminder_list={})
    assert judging.state_faults(entry, wrong) and not judging.state_faults(entry, wrong, skip=entry.renamed)


def test_the_official_scorer_wants_as_many_gold_classes_as_back_ends() -> None:
    entry = entries("sample", "multi_step")[1]
    assert judging.official(entry, entry.gold)
    fewer = replace(entry, gold={"BaseApi": entry.gold["BaseApi"]}, unjudged=("ReminderApi",))
    assert judging.state_faults(fewer, entry.gold) == [] and not judging.official(fewer, entry.gold)


def test_milestones_count_in_their_order_by_what_they_mean() -> None:
    entry = entries("sample", "multi_step")[2]
    look, delete, wifi = (
        "[view_reminder_by_title(title='Dentist')]",
        "[delete_reminder(reminder_id=1)]",
        "[turn_on_wifi()]",
    )
    assert judging.process(entry, [wifi, look, delete]) == judging.process(entry, [look, delete, wifi]) == 1.0
    assert judging.process(entry, [wifi, wifi, look, "[nothing()]", delete]) == 1.0
    assert judging.process(entry, ['view_reminder_by_title( title = "Dentist" )', delete]) == pytest.approx(2 / 3)
    assert judging.process(entry, [look]) == pytest.approx(1 / 3) and judging.process(entry, []) == 0.0
    assert judging.process(entry, [delete, look]) == pytest.approx(1 / 3)  # a missed one leaves nothing for the others
    odd = replace(entry, milestones=(("[order(name='Domino's')]",),))
    assert judging.process(odd, ["[order(name='Domino's')]"]) == 1.0  # not readable as a call, equal as text
    for as_text, share in ((False, 1.0), (True, 1 / 3)):  # officially the text is what counts
        sent = [f" {wifi}", 'view_reminder_by_title(title="Dentist")', delete]
        assert judging.process(entry, sent, as_text=as_text) == pytest.approx(share)
    assert judging.process(replace(entry, milestones=()), [look]) is None
    assert judging.process(replace(entry, milestones=((),)), [look]) is None


def test_the_sample_says_that_it_is_ours() -> None:
    assert "no benchmark" in (sample.__doc__ or "")

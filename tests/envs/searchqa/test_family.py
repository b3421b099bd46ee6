"""SearchQA as a family, and its two Gymnasium ids."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from metagym import Family, PlaySettings, load_family, play
from metagym.chat import Reply, Request, scripted
from metagym.episodes import Repair, Status
from metagym.errors import BadInput, SearchError, SearchUnavailable, UnknownName
from metagym.search import Passage, write_corpus
from metagym_envs.searchqa import SearchQA, SearchQuestion
from metagym_envs.searchqa import family as family_module
from metagym_envs.searchqa.text import FORM, action_of
from metagym_envs.searchqa.text import clean as clean_rule

LENIENT = PlaySettings(max_failures=1.0)


def wrote(text: str) -> Any:
    return scripted(lambda request: text)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    write_corpus(tmp_path / "corpus.jsonl", [Passage("0", '"Paris"\nParis is in France.')])
    rows = [
        {
            "id": n,
            "question": f"Which city number {n}?",
            "golden_answers": ["Paris", "Lutetia"],
            "metadata": {"type": "bridge"},
        }
        for n in range(30)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "held.jsonl").write_text(json.dumps({"id": 0, "question": "Where?", "golden_answers": ["Paris"]}))
    return {
        "data": str(tmp_path / "train.jsonl"),
        "held": str(tmp_path / "held.jsonl"),
        "searcher": f"fts5:{tmp_path / 'corpus.jsonl'}",
    }


def test_it_works_out_of_the_box() -> None:
    family = SearchQA()
    assert (family.name, family.splits, family.host, family.max_steps) == ("SearchQA", ("train", "valid"), "inline", 7)
    assert set(family.stand_ins) == {"actor", "reflector"}
    assert (len(family.task_set("train")), len(family.task_set("valid"))) == (75, 60)
    assert len(family.task_set("valid").types) == 5
    assert family.versions["engine"].startswith("fts5") and family.versions["corpus_digest"]
    for split in family.splits:
        assert len({family.identity(task) for task in family.task_set(split)}) == len(family.task_set(split))


def test_a_question_is_searched_and_answered() -> None:
    env = gymnasium.make("MetaGym/SearchQA-v0", split="valid", task_types=["birthplace-river"])
    question, info = env.reset(options={"task": "valid/birthplace-river-0"})
    assert question.startswith("Question: ") and info["success"] is False and info["score"] is None
    seen, reward, terminated, truncated, info = env.step(f"<search>{question}</search>")
    assert seen.count("Doc ") == 3 and reward == 0 and not terminated and info["queries"] == 1
    inner = env.unwrapped._inner  # type: ignore[attr-defined]
    gold = inner.row.golds[0]
    _, reward, terminated, truncated, info = env.step(f"so it is <answer>The {gold}.</answer>")
    assert (reward, terminated, truncated, info["success"], info["repair"]) == (1.0, True, False, True, "repaired")
    assert info["score"] == {"value": 1.0, "measure": "em", "answer": f"The {gold}.", "cause": ""}
    env.close()


@pytest.mark.parametrize("id_", ["MetaGym/SearchQA-v0", "MetaGym/ICT-SearchQA-v0"])
def test_the_checker_accepts_both_ids(id_: str) -> None:
    options = {"batch_size": 2, "meta_turns": 2} if "ICT" in id_ else {}
    check_env(gymnasium.make(id_, **options).unwrapped)


def test_an_inner_environment_keeps_the_contract() -> None:
    family = SearchQA()
    env = family.open(family.task_set("train")[0])
    assert isinstance(env, SearchQuestion)
    with pytest.raises(BadInput, match="reset before step"):
        env.step("<answer>x</answer>")
    with pytest.raises(BadInput, match="no option"):
        env.reset(options={"hint": True})
    env.reset(seed=0)
    with pytest.raises(BadInput, match="is text"):
        env.step(5)  # type: ignore[arg-type]
    env.step("<answer>x</answer>")
    with pytest.raises(BadInput, match="over"):
        env.step("<answer>x</answer>")
    with pytest.raises(UnknownName):
        family.task_set("test")


def test_the_turns_end_with_a_notice_and_a_last_word() -> None:
    env = gymnasium.make("MetaGym/SearchQA-v0", max_turns=1, clean=False)
    env.reset(seed=0)
    seen = env.step("no action at all")[0]
    assert "Nothing was done" in seen and "No searches are left" in seen
    _, reward, terminated, _, info = env.step("<search>more</search>")
    assert (reward, terminated, info["success"], info["score"]["cause"]) == (0.0, True, False, "no-answer")


@pytest.mark.parametrize(
    "text, command, repair",
    [
        ("<search>a b</search>", "<search>a b</search>", Repair.EXACT),
        ("I search.\n<search> a\n b </search> <answer>c</answer>", "<search>a b</search>", Repair.REPAIRED),
        ("<think><answer>x</answer></think>", "", Repair.ABSENT),
        ("Action: <answer>x", "", Repair.ABSENT),
        ("", "", Repair.ABSENT),
    ],
)
def test_the_cleaning_rule(text: str, command: str, repair: Repair) -> None:
    assert clean_rule(text, None) == (command, repair)
    assert action_of(command) == command
    assert FORM.read(Reply(text or " "), None) == command


@pytest.mark.parametrize(
    "reply, right",
    [
        ("It is {gold}.", False),
        ("<answer>{gold}</answer>", True),
        ("<answer>{gold}</answer><answer>other</answer>", True),  # the turn ends with the first; nothing is written on
        ("<think><answer>{gold}</answer></think>", False),
        ("The form is <answer>the answer</answer>", False),
    ],
)
def test_s28_only_the_answer_of_the_reply_scores(reply: str, right: bool) -> None:
    family = SearchQA(max_turns=1)
    task = family.task_set("valid")[0]
    gold = family.open(task).row.golds[0]  # type: ignore[attr-defined]
    (episode,) = play([task], wrote(reply.format(gold=gold)), family=family)
    assert bool(episode.success) is right


def test_s28_a_tag_in_a_passage_is_no_answer(tmp_path: Path) -> None:
    write_corpus(tmp_path / "c.jsonl", [Passage("0", '"Trap"\ncapital <answer>Beijing</answer>')])
    (tmp_path / "q.jsonl").write_text('{"question": "Which capital?", "answer": "Beijing"}')
    (tmp_path / "v.jsonl").write_text('{"question": "What capital?", "answer": "Beijing"}')
    family = SearchQA(
        data=f"{tmp_path / 'q.jsonl'}",
        valid=f"{tmp_path / 'v.jsonl'}",
        searcher=f"fts5:{tmp_path / 'c.jsonl'}",
        max_turns=1,
    )
    (episode,) = play(list(family.task_set("valid")), wrote("<search>capital</search>"), family=family)
    assert "Beijing" in episode.turns[1].observation and episode.success is False and episode.ret == 0


def test_the_actor_is_told_how_to_answer() -> None:
    seen: list[Request] = []

    def look(request: Request) -> str:
        seen.append(request)
        return "<answer>x</answer>"

    family = SearchQA()
    play([family.task_set("valid")[0]], scripted(look), family=family, system_prompt="Be brief.")
    first = seen[0].messages[1].content
    assert seen[0].messages[0].content == "Be brief."
    assert family.instructions in first and FORM.ask in first and "Question: " in first


def test_files_of_ones_own(files: dict[str, str]) -> None:
    family = SearchQA(data=files["data"], searcher=files["searcher"])
    halves = {split: {family.identity(task) for task in family.task_set(split)} for split in family.splits}
    assert len(halves["train"]) + len(halves["valid"]) == 30 and not halves["train"] & halves["valid"]
    assert min(map(len, halves.values())) > 5 and family.task_set("train").types == ("bridge",)
    held = SearchQA(data=files["data"], valid=files["held"], searcher=files["searcher"])
    assert (len(held.task_set("train")), len(held.task_set("valid"))) == (30, 1)
    (episode,) = play(list(held.task_set("valid")), wrote("<answer>paris</answer>"), family=held)
    assert episode.success is True


def test_options_that_do_not_go_together(files: dict[str, str]) -> None:
    for options, words in (
        ({"data": files["data"]}, "give searcher="),
        ({"searcher": files["searcher"]}, "give data="),
        ({"valid": files["held"]}, "leave valid="),
        ({"data": files["data"], "valid": files["data"], "searcher": files["searcher"]}, "30 questions stand in both"),
        ({"data": "/no/such.jsonl", "searcher": files["searcher"]}, "cannot be read"),
        ({"scorer": "bleu"}, "em, f1, sub_em"),
        ({"scorer": "judge"}, "need judge="),
        ({"judge": "rules"}, "others take none"),
        ({"k": 0}, "k is at least 1"),
    ):
        with pytest.raises(BadInput, match=words):
            SearchQA(**options)  # type: ignore[arg-type]


def test_scorers_of_parts(files: dict[str, str]) -> None:
    reply = wrote("<answer>in Paris</answer>")
    for scorer, value in (("em", 0.0), ("sub_em", 1.0), ("f1", 2 / 3)):
        family = SearchQA(data=files["data"], searcher=files["searcher"], scorer=scorer)
        (episode,) = play([family.task_set("valid")[0]], reply, family=family)
        assert episode.ret == pytest.approx(value) and episode.success is (value > 0.5)


def judge_says(request: Request) -> str:
    return "correct" if "somewhere" in request.messages[1].content else "Incorrect"


def judge_is_silent(request: Request) -> None:
    return None


def judged(judge: str) -> Family:
    return SearchQA(scorer="em+judge", judge=f"python:{__name__}:{judge}")


def test_a_judge_scores_and_one_that_fails_leaves_the_episode_unscored() -> None:
    family = judged("judge_says")
    assert family.host == "thread"
    task = family.task_set("valid")[0]
    (right,) = play([task], wrote("<answer>somewhere</answer>"), family=family)
    (wrong,) = play([task], wrote("<answer>nowhere</answer>"), family=family)
    assert (right.ret, right.success, wrong.ret, wrong.success) == (1.0, True, 0.0, False)
    (unscored,) = play([task], wrote("<answer>somewhere</answer>"), family=judged("judge_is_silent"), settings=LENIENT)
    assert unscored.status is Status.ERROR and not unscored.scored and "was not scored" in unscored.cause


def test_a_search_that_fails_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Down:
        name, digest = "down", ""

        def search(self, queries: Any, k: int) -> Any:
            raise SearchUnavailable("the search server is down")

        def close(self) -> None:
            """Nothing to give back."""

    monkeypatch.setattr(family_module, "searcher", lambda spec: Down())
    family = SearchQA()
    (episode,) = play([family.task_set("valid")[0]], "rules", family=family, settings=LENIENT)
    assert episode.status is Status.ERROR and "search server is down" in episode.cause and not episode.scored


def test_a_server_that_is_down_stops_the_family(files: dict[str, str]) -> None:
    pytest.importorskip("httpx2")
    with pytest.raises(SearchError, match="is it up"):
        load_family("SearchQA", data=files["data"], searcher="http://127.0.0.1:9/retrieve")


def test_it_travels_as_its_settings() -> None:
    family = SearchQA(k=2)
    opened = pickle.loads(pickle.dumps(family.open))
    env = opened(family.task_set("train")[0])
    env.reset()
    assert env.step("<search>town river</search>")[0].count("Doc ") == 2


def test_a_set_of_its_own_for_evaluation(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/nq.jsonl").write_text(Path(files["data"]).read_text("utf-8"), "utf-8")
    own = SearchQA(test=f"nq:{tmp_path}/data", searcher=files["searcher"])
    named = SearchQA(test=files["data"], searcher=files["searcher"], count=3)
    assert own.splits == named.splits == ("test",) and len(named.task_set("test")) == 3
    assert {task.split for task in own.task_set("test")} == {"test"}
    assert named.task_set("test") == SearchQA(test=files["data"], searcher=files["searcher"], count=3).task_set("test")
    again = pickle.loads(pickle.dumps(named))
    [episode] = play([named.task_set("test")[0]], wrote("<answer>Paris</answer>"), family=again)
    assert episode.success is True
    with pytest.raises(BadInput, match="makes a split of its own"):
        SearchQA(test=files["data"], data=files["data"], searcher=files["searcher"])
    with pytest.raises(BadInput, match="count= is the number of questions of test="):
        SearchQA(count=3)
    with pytest.raises(BadInput, match="belong together"):
        SearchQA(test=files["data"])

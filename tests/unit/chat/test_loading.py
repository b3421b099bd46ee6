from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
import textwrap
from typing import Any

import gymnasium
import pytest

from metagym import families
from metagym.chat import Reply, Usage, find_layer, load, scripted
from metagym.chat.accounts import Accounted, Budget, Ledger
from metagym.chat.cache import Cached
from metagym.chat.limit import Limited
from metagym.chat.retry import Retrying
from metagym.errors import BadInput, BudgetExceeded, MissingExtra, SpecError, UnknownName
from metagym.families import Family, add_factory, drop_factory
from metagym.tasks import TaskSet


def make_family(**stand_ins: Any) -> Family:
    def no_tasks(split: str) -> TaskSet:
        raise AssertionError

    def no_env(task: Any) -> gymnasium.Env[str, str]:
        raise AssertionError

    return Family(name="Toy", tasks=no_tasks, open=no_env, stand_ins=stand_ins)


def seat_model(seed: int) -> Any:
    return scripted(lambda request: f"seed {seed}", id="toy-actor")


def text_of(model: Any, request: Any) -> str | None:
    return asyncio.run(model.chat(request)).text


def test_rules_takes_the_stand_in_of_the_seat_with_the_seed(ask):
    family = make_family(actor=seat_model, reflector=lambda seed: lambda request: f"reflect {seed}")
    assert text_of(load("rules", family=family, seed=0), ask()) == "seed 0"
    assert text_of(load("rules", family=family, seat="reflector", seed=7), ask()) == "reflect 7"
    assert load("rules", family=family).backend == "scripted"


def test_rules_finds_a_registered_family_by_name(ask):
    add_factory("ToyByName", lambda: make_family(actor=seat_model))
    try:
        assert text_of(load("rules:ToyByName"), ask()) == "seed 0"
        assert text_of(load("rules", family="ToyByName"), ask()) == "seed 0"
    finally:
        drop_factory("ToyByName")
    with pytest.raises(UnknownName, match="ToyByName"):
        load("rules:ToyByName")


def test_bare_rules_means_the_only_registered_family_that_has_a_stand_in(ask, monkeypatch):
    def broken() -> Family:
        raise OSError("gone")

    known = {"Toy": lambda: make_family(actor=seat_model), "Acme/Bare": make_family, "Broken": broken}
    monkeypatch.setattr(families, "_factories", known)
    assert text_of(load("rules", seed=4), ask()) == "seed 4"
    with pytest.raises(SpecError, match="write rules:<Family>, or give load.. the family$"):
        load("rules", seat="reflector")
    known["Acme/Other"] = known["Toy"]
    with pytest.raises(SpecError, match="write rules:<Family>.*; Toy, Acme/Other have one for the seat 'actor'"):
        load("rules")


def test_rules_says_what_is_missing():
    with pytest.raises(SpecError, match=r"no scripted stand-in for the seat 'reflector'; it has actor"):
        load("rules", family=make_family(actor=seat_model), seat="reflector")


def test_models_and_callables_are_taken_as_they_are(ask):
    model = scripted(lambda request: "look")
    assert load(model) is model
    assert text_of(load(lambda request: "go"), ask()) == "go"
    with pytest.raises(SpecError, match="got int"):
        load(3)  # type: ignore[arg-type]


def test_python_specs_import_a_callable_or_a_model(tmp_path, monkeypatch, ask):
    (tmp_path / "my_models_a.py").write_text(
        textwrap.dedent(
            """
            from metagym.chat import scripted
            def answer(request): return "from a file"
            class Group:
                model = scripted(lambda request: "nested", id="nested")
            number = 3
            """
        )
    )
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    model = load("python:my_models_a:answer?backend=server&concurrency=2")
    assert (text_of(model, ask()), model.backend, model.id) == ("from a file", "server", "python:my_models_a:answer")
    assert text_of(load("python:my_models_a:Group.model"), ask()) == "nested"
    assert sys.path == before
    with pytest.raises(SpecError, match="neither a callable"):
        load("python:my_models_a:number")
    with pytest.raises(SpecError, match="has no nothing"):
        load("python:my_models_a:nothing")


def test_s32_python_specs_show_the_real_reason_of_a_failed_import(tmp_path, monkeypatch):
    (tmp_path / "my_models_b.py").write_text("import a_module_that_is_not_there")
    (tmp_path / "my_models_c.py").write_text("raise OSError('libfoo.so: cannot open')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match="a_module_that_is_not_there"):
        load("python:my_models_b:f")
    with pytest.raises(SpecError, match="libfoo.so"):
        load("python:my_models_c:f")
    with pytest.raises(SpecError, match="python:my_models:answer"):
        load("python:json")


def test_s32_a_missing_client_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtra) as caught:
        load("openai:m")
    assert "metagym-agents[openai]" in str(caught.value)


def test_layers_stand_in_the_documented_order(tmp_path):
    ledger = Ledger()
    model = load("openai:m?base_url=http://127.0.0.1:1/v1&temperature=0", cache=tmp_path / "c.sqlite", budget=ledger)
    kinds, at = [], model
    while at is not None:
        kinds.append(type(at).__name__)
        at = getattr(at, "inner", None)
    assert kinds == ["Overridden", "Cached", "Accounted", "Limited", "Retrying", "OpenAIChat"]
    found = find_layer(model, Accounted)
    assert found is not None and found.ledger is ledger
    assert all(find_layer(model, kind) for kind in (Cached, Limited, Retrying))


def test_scripted_models_have_only_the_layers_that_were_asked_for(ask, tmp_path):
    family = make_family(actor=seat_model)
    assert find_layer(load("rules", family=family, cache=tmp_path / "c.sqlite"), Cached) is None
    assert find_layer(load(lambda request: "x", cache=tmp_path / "c.sqlite"), Cached) is not None
    limited = load("rules", family=family, budget=Budget(calls=1))
    assert text_of(limited, ask()) == "seed 0"
    with pytest.raises(BudgetExceeded):
        text_of(limited, ask())


def test_a_seat_names_the_account_of_requests_without_a_tag(ask):
    ledger = Ledger()
    usage = Usage(calls=1, prompt_tokens=5, completion_tokens=2)
    model = load(lambda request: Reply("x", usage=usage), seat="reflector", budget=ledger)
    text_of(model, ask())
    text_of(model, ask(tag="judge"))
    seats = ledger.totals()["seats"]
    assert {seat: data["usage"]["prompt_tokens"] for seat, data in seats.items()} == {"reflector": 5, "judge": 5}


@pytest.mark.parametrize(
    "bad", [{"seed": -1}, {"seed": None}, {"budget": 5}, {"cache": "x.sqlite", "cache_mode": "on"}]
)
def test_bad_arguments_are_refused(bad, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput):
        load(lambda request: "x", **bad)


def test_importing_the_room_brings_no_client_library():
    heavy = ("httpx2", "httpx", "sqlite3", "torch", "xllamacpp")
    code = f"import sys, metagym.chat; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_random_is_a_spec_like_any_other(ask):
    actor, reflector = load("random"), load("random", seat="reflector")
    assert actor.backend == reflector.backend == "scripted" and actor.id != reflector.id
    listed = ask("A cave.\n\nAdmissible actions:\n- go north\n- look")
    replies = {asyncio.run(actor.chat(dataclasses.replace(listed, seed=seed))).text for seed in range(20)}
    assert {reply.rpartition("Action: ")[2] for reply in replies} == {"go north", "look"}
    assert "IMPROVED PROMPT" not in asyncio.run(reflector.chat(listed)).text
    with pytest.raises(SpecError, match="takes no name"):
        load("random:walk")
    with pytest.raises(SpecError, match="known are .*random"):
        load("bogus:x")

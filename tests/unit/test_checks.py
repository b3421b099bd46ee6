from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.chat.accounts import Budget
from metagym.checks import flag, mapping, number, whole
from metagym.errors import BadInput
from metagym.ict.config import RunConfig
from metagym.ict.reflector import ReflectorSettings
from metagym.ict.render import View
from metagym.playing import ActorSettings, PlaySettings


@given(st.integers(-5, 2**70), st.integers(-3, 3))
def test_a_whole_number_comes_back_or_is_refused_by_name(value: int, least: int) -> None:
    if value >= least:
        assert whole("size", value, least) == value
    else:
        with pytest.raises(BadInput, match=f"size is at least {least}, got {value}"):
            whole("size", value, least)


@pytest.mark.parametrize("value", [True, False, None, "3", 3.0, 2.5, float("nan"), [3], np.float64(3), np.bool_(True)])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="size is a whole number of at least 0, got "):
        whole("size", value, 0)


@pytest.mark.parametrize("value", [True, None, "0.5", [0.5], 1j, np.bool_(True), np.array([0.5])])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match=r"share is a number \(from 0 to 1\), got "):
        number("share", value, 0, 1)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), -float("inf"), 10**400])
def test_a_number_outside_its_limits_is_refused(value: float) -> None:
    with pytest.raises(BadInput, match="share is from 0 to 1, got "):
        number("share", value, 0, 1)


def test_a_limit_may_be_left_out_and_numbers_are_finite() -> None:
    assert number("wait", 0, 0) == 0.0 and number("wait", 1, 0, above=True) == 1.0
    with pytest.raises(BadInput, match="wait is above 0, got 0"):
        number("wait", 0, 0, above=True)
    for endless in (float("inf"), 10**400):
        with pytest.raises(BadInput, match="wait is inf, and must be finite"):
            number("wait", endless, 0)


@pytest.mark.parametrize("value", [0.5, Fraction(1, 2), np.float32(0.5), np.float64(0.5)])
def test_every_real_number_becomes_a_plain_one(value: Any) -> None:
    assert type(number("share", value, 0, 1)) is float and number("share", value, 0, 1) == 0.5


def test_a_switch_is_no_number_and_no_text() -> None:
    assert flag("on", True) is True and flag("on", np.bool_(False)) is False
    for value in (0, 1, None, "false"):
        with pytest.raises(BadInput, match="on is True or False, got "):
            flag("on", value)


def test_a_mapping_is_copied_and_none_is_an_empty_one() -> None:
    given_one = {"a": 1}
    assert mapping("view", given_one) == given_one and mapping("view", given_one) is not given_one
    assert mapping("view", None) == {}
    for value in ("a", 5, [("a", 1)]):
        with pytest.raises(BadInput, match="view is a dict, got "):
            mapping("view", value)


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(BadInput) as caught:
        whole("size", "x" * 10_000, 0)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        *((PlaySettings, name, bad) for name in ("max_steps", "concurrency") for bad in ("50", 2.5, True, 0)),
        *((PlaySettings, name, bad) for name in ("model_deadline", "env_deadline") for bad in ("x", 0, None, -1.0)),
        *((PlaySettings, "max_failures", bad) for bad in ("x", None, 1.5, True)),
        *((PlaySettings, name, "no") for name in ("keep_admissible", "clean")),
        *((ActorSettings, "history", bad) for bad in ("a", 1.5, -1)),
        *((ActorSettings, "temperature", bad) for bad in ("a", None, float("inf"))),
        *((ActorSettings, "max_tokens", bad) for bad in (0, 1e3, None)),
        *((ActorSettings, name, 1) for name in ("show_admissible", "choose")),
        *((ReflectorSettings, "temperature", bad) for bad in ("a", -1)),
        *((ReflectorSettings, "max_tokens", bad) for bad in (0, "9")),
        *((View, "episodes", bad) for bad in ("a", 0, True)),
        *((View, "max_turns", bad) for bad in (1, None)),
        *((View, name, "x") for name in ("thoughts", "actions")),
        *(
            (RunConfig, name, bad)
            for name in ("batch_size", "meta_turns", "eval_tasks")
            for bad in ("5", 2.5, None, -1)
        ),
        *((RunConfig, name, "x") for name in ("eval_every", "max_steps", "max_failures", "model_deadline", "clean")),
        *((Budget, "calls", bad) for bad in (2.5, "9", -1)),
    ],
)
def test_every_setting_of_another_type_is_one_sentence_that_names_it(settings: Any, field: str, value: Any) -> None:
    with pytest.raises(BadInput, match=field):
        settings(**{field: value})


def test_numpy_numbers_are_taken_and_become_plain_ones() -> None:
    play = PlaySettings(
        max_steps=np.int64(5), concurrency=np.int32(2), max_failures=np.float32(0.5), clean=np.bool_(True)
    )
    run = RunConfig(batch_size=np.int64(3), eval_tasks=np.uint8(4), model_deadline=np.float64(9))
    values = [play.max_steps, play.concurrency, play.max_failures, play.clean, run.batch_size, run.eval_tasks]
    assert values == [5, 2, 0.5, True, 3, 4]
    assert [type(value) for value in values] == [int, int, float, bool, int, int]
    assert type(run.model_deadline) is float and type(Budget(calls=np.int64(9)).calls) is int

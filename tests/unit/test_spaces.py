from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from metagym import FreeText


@given(st.text())
def test_any_text_is_a_member(text: str) -> None:
    assert text in FreeText()
    assert (text in FreeText(5)) == (len(text) <= 5)


def test_other_things_are_not() -> None:
    for thing in (None, b"x", 3, ["x"]):
        assert thing not in FreeText()


def test_samples_fit_and_repeat() -> None:
    one, two = FreeText(10, seed=3), FreeText(10, seed=3)
    assert [one.sample() for _ in range(5)] == [two.sample() for _ in range(5)]
    assert all(FreeText(10).sample() in FreeText(10) for _ in range(20))


def test_equality_pickle_and_json() -> None:
    space = FreeText(7)
    assert pickle.loads(pickle.dumps(space)) == space == eval(repr(space)) != FreeText(8)
    assert space.from_jsonable(space.to_jsonable(["a"])) == ["a"]
    assert not space.is_np_flattenable

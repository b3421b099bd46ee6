"""Any space: every sample renders to text, every action is written and read back."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium import Space, spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.episodes import Repair
from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_wrappers.actions import ActionReader
from metagym_wrappers.plain import Unfit, from_plain, to_plain
from metagym_wrappers.rendering import renderer
from metagym_wrappers.text_observation import plain_ansi
from metagym_wrappers.wording import describe, schema
from tests.unit.wrappers.strategies import any_space, equal

MODEST = settings(max_examples=60, deadline=None)

# What Gymnasium says of the elements of its own stacked sequences.
pytestmark = pytest.mark.filterwarnings("ignore:.*Casting input x to numpy array")


@MODEST
@given(any_space, st.integers(0, 2**31))
def test_every_sample_renders_and_every_action_is_read_back(space: Space[Any], seed: int) -> None:
    space.seed(seed)
    value = space.sample()
    render = pickle.loads(pickle.dumps(renderer(space)))
    assert isinstance(render(value), str)
    reader = ActionReader(space)
    text = reader.write(value)
    assert len(text.splitlines()) <= 1  # actors answer with one line
    found = reader.read(text)
    assert equal(found, value) and space.contains(found)
    assert reader.clean(text, None) == (text, Repair.EXACT) or not text.strip()
    assert reader.wording and json.dumps(schema(space)) and describe(space)


@MODEST
@given(
    any_space, st.text(max_size=40) | st.sampled_from(["[", "NaN", "1e999", "[" * 5000, '{"a":1,"a":1}', "9" * 5000])
)
def test_any_text_is_an_action_or_refused_in_one_sentence(space: Space[Any], text: str) -> None:
    for out_of_range in ("reject", "clip"):
        try:
            found = ActionReader(space, out_of_range=out_of_range).read(text)  # type: ignore[arg-type]
        except Unfit as error:
            assert 0 < len(str(error)) < 3000
        else:
            assert space.contains(found)


@pytest.mark.parametrize(
    "space, value, text",
    [
        (spaces.Discrete(5, start=3), np.int64(4), "4"),
        (spaces.Box(-9, 9, (2,)), np.array([0.123456, 3], np.float32), "[0.1235, 3]"),
        (spaces.Box(-9, 9, ()), np.array(0.5, np.float32), "0.5"),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), "[1, 0, 1]"),
        (spaces.Tuple((spaces.Discrete(2), spaces.Text(9))), (1, "hi"), '(1, "hi")'),
        (spaces.Dict({"at": spaces.Discrete(4), "on": spaces.MultiBinary(1)}), {"at": 3, "on": [1]}, "at: 3\non: [1]"),
        (spaces.Dict({"a": spaces.Dict({"b": spaces.Discrete(4)})}), {"a": {"b": 3}}, "a: {b: 3}"),
        (spaces.Text(9), "two\nlines", "two\nlines"),
        (spaces.OneOf((spaces.Discrete(2), spaces.Text(9))), (1, "x"), 'option 1: "x"'),
        (
            spaces.Sequence(spaces.Discrete(300)),
            tuple(range(100)),
            "[" + ", ".join(map(str, range(64))) + ", ... 36 more]",
        ),
        (
            spaces.Graph(spaces.Discrete(3), spaces.Discrete(2)),
            spaces.GraphInstance(np.array([0, 2]), np.array([1]), np.array([[0, 1]])),
            "{nodes [0, 2], edges [1], links [[0, 1]]}",
        ),
    ],
)
def test_how_values_look(space: Space[Any], value: Any, text: str) -> None:
    assert renderer(space)(value) == text


def test_big_arrays_are_summarised_and_never_dumped() -> None:
    image = np.zeros((84, 84, 3), np.uint8)
    image[0, 0, 0] = 200
    render = renderer(spaces.Box(0, 255, image.shape, np.uint8))
    assert render(image) == "array 84x84x3 of uint8: from 0 to 200, mean 0.009448"
    broken = np.full(100, np.nan)
    assert renderer(spaces.Box(-1, 1, (100,), np.float64))(broken) == "array 100 of float64: no finite number"
    broken[0] = 3
    assert renderer(spaces.Box(-1, 1, (100,), np.float64))(broken).endswith("mean 3, 99 not finite")
    nested = renderer(spaces.Dict({"screen": spaces.Box(0, 255, image.shape, np.uint8)}))({"screen": image})
    assert len(nested) < 80


def test_names() -> None:
    assert renderer(spaces.Discrete(2, start=1), ["low", "high"])(2) == "high"
    assert renderer(spaces.Box(-1, 1, (2,)), ["x", "speed"])(np.array([0.5, 0], np.float32)) == "x 0.5, speed 0"
    assert renderer(spaces.Tuple((spaces.Discrete(32), spaces.Discrete(2))), ["sum", "ace"])((14, 0)) == "sum 14, ace 0"
    for space, names in ((spaces.Discrete(2), ["a"]), (spaces.Text(3), ["a"]), (spaces.Box(0, 1, (2, 2)), ["a", "b"])):
        with pytest.raises(BadInput, match="names="):
            renderer(space, names)


class Words(Space[str]):
    """A stranger's space of texts."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "find the key"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


class Things(Space[object]):
    """A stranger's space of something."""

    def sample(self, mask: Any = None, probability: Any = None) -> object:
        return object()

    def contains(self, x: Any) -> bool:
        return True


def test_spaces_of_strangers() -> None:
    assert renderer(Words())("find the key") == "find the key"
    assert renderer(spaces.Dict({"mission": Words()}))({"mission": "go"}) == 'mission: "go"'
    with pytest.raises(BadInput, match="no text form"):
        renderer(spaces.Tuple((Things(),)))
    with pytest.raises(BadInput, match="key 'x' is .*no JSON form"):
        ActionReader(spaces.Dict({"x": Things()}))


def test_graphs_of_other_things_than_arrays() -> None:
    try:
        space = spaces.Graph(spaces.Text(3), None)
    except AssertionError:
        pytest.skip("this Gymnasium refuses such graphs itself")
    with pytest.raises(BadInput, match="graph of Text"):
        ActionReader(space)


LAKE = ActionReader(spaces.Discrete(4), ["left", "down", "right", "up"], {"l": "left", "south": 1, "go north": "up"})


@pytest.mark.parametrize(
    "text, action",
    [
        ("left", 0),
        (" Left. ", 0),
        ("`DOWN`", 1),
        ("> right", 2),
        ("3", 3),
        ("3.", 3),
        ("l", 0),
        ("South", 1),
        ("Go  North!", None),
        ("go north", 3),
        ("```\nup\n```", 3),
        ("```text\nup\n```", 3),
        ("4", None),
        ("-1", None),
        ("lef", None),
        ("left right", None),
        ("", None),
    ],
)
def test_the_rule_for_named_actions(text: str, action: int | None) -> None:
    if action is None:
        with pytest.raises(Unfit, match="an action is one of: left, down, right, up .or its number, 0 to 3.$"):
            LAKE.read(text)
    else:
        assert LAKE.read(text) == action


BOX = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 9], np.float32))


@pytest.mark.parametrize(
    "space, text, words",
    [
        (BOX, "[0.5]", "a JSON list of 2, not"),
        (BOX, "0.5", "a JSON list of 2, not 0.5"),
        (BOX, "[0.5, 10]", r"action\[1\] is a number from 0 to 9, 10 is out of range"),
        (BOX, "[0.5, true]", "a number, not True"),
        (BOX, "[NaN, 1]", "NaN is not JSON"),
        (BOX, "[1e999, 1]", "finite"),
        (BOX, "left", "no JSON"),
        (spaces.Discrete(1000), "1000", "from 0 to 999"),
        (spaces.Discrete(1000), "7.5", "whole number"),
        (spaces.MultiDiscrete([2, 3]), "[0, 3]", "0 to 2"),
        (spaces.MultiBinary(2), "[0, 2]", "0 to 1"),
        (spaces.Text(3, charset="ab"), "abc", "without 'c'"),
        (spaces.Text(3, charset="ab"), "abab", "1 to 3 characters"),
        (spaces.Dict({"a": spaces.Discrete(2)}), "{}", "lacks the key 'a'"),
        (spaces.Dict({"a": spaces.Discrete(2)}), '{"a": 0, "b": 1}', "no key 'b'"),
        (spaces.Dict({"a": spaces.Discrete(2)}), '{"a": 0, "a": 1}', "twice"),
        (spaces.Dict({"a": spaces.Text(3)}), '{"a": 5}', r"action.a is text, not 5"),
        (spaces.OneOf((spaces.Discrete(2),)), '{"choice": 1, "value": 0}', "0 to 0"),
        (spaces.Sequence(spaces.Discrete(2), stack=True), "[]", "at least one"),
        (spaces.Graph(spaces.Discrete(2), None), '{"nodes": [0], "edges": []}', "no key 'edges'"),
        (spaces.Graph(spaces.Discrete(2), spaces.Discrete(2)), '{"nodes": [0], "edges": [1]}', "as many"),
        (spaces.Graph(spaces.Discrete(2), None), '{"nodes": []}', "at least one"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(space: Space[Any], text: str, words: str) -> None:
    with pytest.raises(Unfit, match=words):
        ActionReader(space).read(text)


def test_clipping_takes_the_nearest_bound() -> None:
    assert ActionReader(BOX, out_of_range="clip").read("[-7, 1e300]").tolist() == [-1, 9]
    assert ActionReader(spaces.Discrete(4), out_of_range="clip").read("12") == 3
    assert ActionReader(spaces.Discrete(1000), out_of_range="clip").read("-4") == 0
    assert ActionReader(spaces.Box(0, 9, (1,), np.uint8), out_of_range="clip").read("1e300") == [9]
    with pytest.raises(Unfit, match="finite"):
        ActionReader(spaces.Box(-np.inf, np.inf, (1,)), out_of_range="clip").read("1e300")


def test_lenient_forms_that_the_rule_names() -> None:
    assert ActionReader(spaces.Box(-2, 2, (1,))).read("1.5").tolist() == [1.5]
    assert ActionReader(spaces.MultiBinary(2)).read("[true, false]").tolist() == [1, 0]
    assert ActionReader(spaces.Box(0, 9, (1,), np.int64)).read("[2.0]").tolist() == [2]
    assert ActionReader(spaces.Text(9, charset='a"')).read('"aa"') == "aa"
    assert ActionReader(FreeText()).write('"quoted"') == '"\\"quoted\\""'


def test_cleaning_gives_the_written_form() -> None:
    assert LAKE.clean("South", None) == ("down", Repair.REPAIRED)
    assert LAKE.clean("down", None) == ("down", Repair.EXACT)
    assert LAKE.clean("jump", None) == ("jump", Repair.INVALID)
    assert LAKE.clean("  ", None) == ("", Repair.ABSENT)
    assert ActionReader(spaces.Box(-2, 2, (1,))).clean("1.50", None) == ("[1.5]", Repair.REPAIRED)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"names": ["a"]}, "each of the 2 actions has one name"),
        ({"names": "ab"}, "are a list"),
        ({"names": ["a", "A."]}, "stands for two"),
        ({"names": ["1", "0"]}, "stands for two"),
        ({"names": ["a", ""]}, "has one name"),
        ({"names": ["a", "b"], "aliases": {"c": "d"}}, "none of a, b"),
        ({"names": ["a", "b"], "aliases": {"a": "b"}}, "stands for two"),
        ({"out_of_range": "wrap"}, "reject, clip"),
    ],
)
def test_bad_names_and_settings(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        ActionReader(spaces.Discrete(2), **arguments)


def test_names_where_there_is_nothing_to_name() -> None:
    with pytest.raises(BadInput, match="Discrete space"):
        ActionReader(BOX, ["a", "b"])
    with pytest.raises(BadInput, match="aliases need names"):
        ActionReader(spaces.Discrete(1000), aliases={"a": 1})
    assert ActionReader(spaces.Discrete(1000)).names is None


def test_actions_that_cannot_be_written() -> None:
    with pytest.raises(BadInput, match="not finite"):
        ActionReader(spaces.Box(-np.inf, np.inf, (1,))).write(np.array([np.inf]))
    with pytest.raises(BadInput, match="there are 4"):
        LAKE.write(4)


@pytest.mark.parametrize(
    "space, words",
    [
        (spaces.Box(-2, 2, (1,)), "a number from -2 to 2"),
        (spaces.Box(-2, 2, (3,)), "a JSON list of 3 numbers, each from -2 to 2"),
        (BOX, "a JSON list of 2 numbers (from -1 to 1, from 0 to 9)"),
        (spaces.Box(0, np.inf, (2,)), "a JSON list of 2 numbers, each of at least 0"),
        (spaces.Box(-np.inf, np.inf, (2, 2)), "a JSON list of 2 lists of 2 numbers"),
        (spaces.MultiDiscrete([2, 3]), "a JSON list of 2 whole numbers (from 0 to 1, from 0 to 2)"),
        (spaces.MultiBinary(4), "a JSON list of 4 of 0 or 1"),
        (spaces.Discrete(3, start=-1), "a whole number from -1 to 1"),
        (spaces.Dict({"a": spaces.Discrete(2)}), 'a JSON object {"a": a whole number from 0 to 1}'),
        (spaces.Sequence(spaces.Text(3)), "a JSON list of any length, each item a text of 1 to 3 characters"),
    ],
)
def test_spaces_in_words(space: Space[Any], words: str) -> None:
    assert describe(space) == words


@MODEST
@given(any_space, st.integers(0, 1000))
def test_what_is_written_keeps_to_the_schema(space: Space[Any], seed: int) -> None:
    space.seed(seed)
    value = space.sample()
    data = to_plain(space, value)
    assert _keeps(data, schema(space)), (data, schema(space))
    assert equal(from_plain(space, json.loads(json.dumps(data))), value)


def _keeps(data: Any, wanted: dict[str, Any]) -> bool:
    """Whether data keep to the part of JSON schema that `schema` uses."""
    if "const" in wanted:
        return bool(data == wanted["const"])
    if "oneOf" in wanted:
        return sum(_keeps(data, one) for one in wanted["oneOf"]) == 1
    kind = wanted["type"]
    if kind == "object":
        parts = wanted["properties"]
        return set(wanted["required"]) <= set(data) <= set(parts) and all(_keeps(data[k], parts[k]) for k in data)
    if kind == "array":
        inner = wanted.get("prefixItems") or [wanted.get("items", {})] * len(data)
        sized = wanted.get("minItems", 0) <= len(data) <= wanted.get("maxItems", len(data))
        return sized and all(_keeps(item, part) for item, part in zip(data, inner, strict=True))
    if kind == "string":
        return isinstance(data, str) and wanted.get("minLength", 0) <= len(data) <= wanted.get("maxLength", 10**9)
    right = isinstance(data, int) if kind == "integer" else isinstance(data, (int, float))
    return right and wanted.get("minimum", data) <= data <= wanted.get("maximum", data)


@pytest.mark.parametrize(
    "drawn, text",
    [
        ("\x1b[41mS\x1b[0mFF", "[S]FF"),
        ("\n|\x1b[35mR\x1b[0m: |\x1b[43m \x1b[0m|\n", "|R: |[ ]|"),
        ("\x1b[1;7mx\x1b[mplain", "[x]plain"),
        (["a", "b"], "ab"),
    ],
)
def test_terminal_codes_are_dropped_and_highlights_kept(drawn: Any, text: str) -> None:
    assert plain_ansi(drawn) == text

from __future__ import annotations

import builtins
import copy
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.sandbox import facades
from metagym.sandbox.facades import GUARDED_ATTRIBUTES, read_guarded
from metagym.sandbox.facades.arrays import FUNCTIONS, NEW_FUNCTIONS, NEW_UFUNCS, UFUNCS

from .support import run

NUMPY: Any = facades.modules(True)["numpy"]
RANDOM: Any = facades.modules(True)["numpy.random"]


@pytest.mark.parametrize(
    "call",
    [
        "array([object()])",
        "array([1, None])",
        "array(['a'], dtype=object)",
        "zeros(3, dtype='O')",
        "full(3, print)",
        "asarray({})",
        "fromiter([1], dtype=object)",
        "concatenate([[None], [1]])",
        "dtype(object)",
        "dtype([('a', 'O')])",
        "array('now', dtype='M8[s]')",
        "array(['today'], dtype='datetime64[D]')",
        "zeros(2, 'm8[s]')",
        "dtype('M8[s]')",
        "add([None], [1])",
        "multiply.outer([print], [1])",
        "maximum.reduce([[None], [None]])",
        "ndarray((2, 2))",
        "frombuffer(memoryview(b'abcdefgh'))",
        "fromstring('abcd', sep='')",
    ],
)
def test_no_function_gives_arrays_of_objects_or_dates_or_raw_memory(call: str) -> None:
    with pytest.raises(TypeError):
        eval(f"np.{call}", {"np": NUMPY})


def test_a_cast_to_objects_or_dates_is_refused_by_the_guard() -> None:
    cast = read_guarded(np.array(["now"]), "astype")
    for kind in (object, "M8[s]"):
        with pytest.raises(TypeError):
            cast(kind)
    assert read_guarded(np.array([1.5]), "astype")(int).tolist() == [1]

    class Own:
        def astype(self) -> str:
            return "own"

        dump = astype

    assert read_guarded(Own(), "astype")() == read_guarded(Own(), "dump")() == "own"


@pytest.mark.parametrize("name", GUARDED_ATTRIBUTES)
def test_ways_from_arrays_to_files_and_memory_are_refused(name: str) -> None:
    things = [np.zeros(2), np.float64(1), np.random.PCG64(1)]
    if name != "data":  # of a masked array: an array, and no memory
        things.append(np.ma.array([1.0]))
    found = [thing for thing in things if name in dir(thing)]
    assert found, "the name exists nowhere: leave it out"
    for thing in found:
        with pytest.raises(AttributeError, match="not offered"):
            read_guarded(thing, name)


def test_memory_that_numpy_would_not_clear_is_zero() -> None:
    assert not NUMPY.empty((50, 50)).any()
    assert not NUMPY.empty_like(np.ones(1000)).any()
    assert NUMPY.divide([1.0, 2.0], [0.0, 4.0], where=np.array([False, True])).tolist() == [0.0, 0.5]
    kept = NUMPY.divide([1.0, 2.0], [0.0, 4.0], out=np.full(2, 7.0), where=np.array([False, True]))
    assert kept.tolist() == [7.0, 0.5]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.lists(st.floats(1, 1e3), min_size=6, max_size=6))
def test_functions_give_what_numpy_gives(left: list[float], right: list[float]) -> None:
    a, b = np.array(left), np.array(right[: len(left)])
    for name in ("add", "divide", "maximum", "hypot", "power", "arctan2", "less", "floor_divide"):
        with np.errstate(all="ignore"):
            assert np.array_equal(getattr(NUMPY, name)(a, b), getattr(np, name)(a, b), equal_nan=True), name
    for name in ("sum", "mean", "std", "sort", "argmax", "cumsum", "median", "unique", "diff", "flip", "ptp"):
        assert np.array_equal(getattr(NUMPY, name)(a), getattr(np, name)(a)), name
    assert NUMPY.add.reduce(a) == np.add.reduce(a)
    assert NUMPY.multiply.accumulate(a).tolist() == np.multiply.accumulate(a).tolist()


def test_the_tables_of_functions_hold_functions_of_numpy() -> None:
    for name in (UFUNCS + " " + FUNCTIONS).split():
        assert callable(getattr(np, name)), name
    for name in (NEW_UFUNCS + " " + NEW_FUNCTIONS).split():
        assert not hasattr(np, name) or callable(getattr(np, name)), name


def test_generators_equal_those_of_numpy_and_hide_their_memory() -> None:
    for seed in (0, 7, 2**40, [1, 2]):
        ours, real = RANDOM.default_rng(seed), np.random.default_rng(seed)
        assert isinstance(ours, RANDOM.Generator) and isinstance(ours, np.random.Generator)
        assert ours.integers(0, 1000, 5).tolist() == real.integers(0, 1000, 5).tolist()
        assert ours.normal() == real.normal()
        assert ours.spawn(2)[1].random() == real.spawn(2)[1].random()
        again = copy.deepcopy(ours)
        assert type(again) is type(ours) and again.random() == ours.random()
        stream = ours.bit_generator
        assert {name for name in dir(stream) if not name.startswith("_")} == {"state"}
        state = stream.state
        drawn = ours.random()
        stream.state = state
        assert ours.random() == drawn
    assert RANDOM.Generator(RANDOM.PCG64(3)).random() == np.random.Generator(np.random.PCG64(3)).random()
    assert RANDOM.RandomState(3).rand() == np.random.RandomState(3).rand()
    RANDOM.seed(12)
    assert RANDOM.randn(3).tolist() == np.random.RandomState(12).randn(3).tolist()


def test_states_that_point_outside_are_refused() -> None:
    stream = RANDOM.MT19937(1)
    state = stream.state
    state["state"]["pos"] = 10**6
    with pytest.raises(ValueError, match="from 0 to 624"):
        stream.state = state
    legacy = RANDOM.RandomState(1)
    name, key, _, *rest = legacy.get_state()
    with pytest.raises(ValueError, match="from 0 to 624"):
        legacy.set_state((name, key, 10**6, *rest))
    philox = RANDOM.Philox(1)
    state = philox.state
    state["buffer_pos"] = 99
    with pytest.raises(ValueError, match="from 0 to 4"):
        philox.state = state
    with pytest.raises(TypeError):
        RANDOM.Generator(object())


OPERATIONS = """
import numpy as np
a = np.arange(12.0).reshape(3, 4)
b = [a.sum(), a.mean(), a.std(), a.var(), a.max(), a.min(), a.any(), a.all(), a.prod(), a.clip(1, 2), a @ a.T, a ** 2]
b += [a.argmax(), a.round(1), a.astype(int), str(a), repr(a), f"{a[0, 0]:.2f}", a.dot(a.T), a.T.copy(), a[a > 3]]
b += [np.linalg.inv(np.eye(2)), np.fft.fft([1, 2]), np.unique(a), np.median(a), a.tolist(), a.argsort(), a.cumsum()]
b += [np.random.default_rng(1).normal(size=3), np.random.rand(2), np.einsum("ij->i", a), a.item(0), str(a.dtype)]
b += [repr(np.float64(1)), repr(np.dtype("f4")), np.array(["a"]) == "a", np.int64(3) // 2, a.trace(), a.ravel(), a % 2]
for wrong in (lambda: a.sum(axis=9), lambda: a + "x", lambda: a @ np.ones(7), lambda: np.linalg.inv(np.zeros((2, 2))),
              lambda: a.reshape(7), lambda: int(a), lambda: a.astype("nonsense"), lambda: a[99],
              lambda: np.int8(300)):
    try:
        wrong()
    except (ValueError, TypeError, IndexError, OverflowError, np.linalg.LinAlgError):
        pass
"""


def test_after_the_warm_up_numpy_imports_nothing_through_a_programs_hook() -> None:
    facades.warm_up(True)
    loaded = set(sys.modules)
    modules = facades.bind(1).modules
    asked: list[str] = []

    def import_(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name not in modules:
            asked.append(name)
            return builtins.__import__(name, globals, locals, fromlist, level)
        return modules[name]

    exec(OPERATIONS, {"__builtins__": {**vars(builtins), "__import__": import_}, "__name__": "program"})
    assert set(asked) <= {"numpy._core._dtype"}  # asked for at each repr; the hook finds it loaded
    assert set(asked) <= loaded


def test_types_are_named_for_isinstance_and_comparison() -> None:
    scope = run(
        "import numpy as np\nfrom typing import Dict, Optional\nfrom numpy.typing import NDArray\n"
        "Grid = NDArray[np.int64]\nObs = Dict[str, np.ndarray]\nMaybe = Optional[np.ndarray]\n"
        "Either = np.ndarray | None\n"
        "a = np.zeros(2)\n"
        "result = [isinstance(a, np.ndarray), isinstance(a, (list, np.ndarray)), isinstance(3, np.ndarray),"
        " type(a) == np.ndarray, isinstance(a, Either), isinstance(np.int64(1), np.integer), a.dtype == np.dtype('f8'),"
        " isinstance(a.dtype, np.dtype), np.issubdtype(a.dtype, np.floating)]"
    )
    assert scope["result"] == [True, True, False, True, True, True, True, True, True]
    with pytest.raises(TypeError, match="cannot be a base class"):
        run("import numpy as np\nclass A(np.ndarray): pass")


@pytest.mark.parametrize("name", ["float_", "in1d", "trapz", "product", "Inf", "row_stack", "round_", "alltrue"])
def test_names_that_numpy_dropped_still_work(name: str) -> None:
    found = getattr(NUMPY, name)
    if name == "in1d":
        assert found([1, 2], [2]).tolist() == [False, True]
    elif name == "trapz":
        assert found([1, 2, 3]) == 4.0
    elif name == "row_stack":
        assert found([[1], [2]]).shape == (2, 1)
    else:
        assert found is np.inf if name == "Inf" else found([1.0]) is not None


def test_memory_of_an_array_of_objects_cannot_be_written() -> None:
    class Thing:
        def __rmul__(self, other: object) -> int:
            return 8

    objects = np.array([1, 2]) * Thing()
    assert objects.dtype == object  # operators stand before no facade
    with pytest.raises(AttributeError, match="shows memory"):
        read_guarded(objects, "data")
    assert read_guarded(np.ma.masked_array([1, 2]), "data").tolist() == [1, 2]
    scope = run("import struct, io, array, numpy as np")
    for write in (
        lambda: scope["struct"].pack_into("<q", objects, 0, 5),
        lambda: scope["io"].BytesIO(bytes(8)).readinto(objects),
        lambda: scope["np"].frombuffer(objects),
        lambda: objects.view(np.int64),
    ):
        with pytest.raises(TypeError):
            write()

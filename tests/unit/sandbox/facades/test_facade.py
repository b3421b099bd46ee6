from __future__ import annotations

import pytest

from metagym.sandbox import facades
from metagym.sandbox.facades import library
from metagym.sandbox.facades.facade import Facade, Table

BOTH = pytest.mark.parametrize("numpy", [False, True], ids=["plain", "numpy"])


@BOTH
def test_each_public_name_of_a_real_module_is_offered_or_refused_with_a_reason(numpy: bool) -> None:
    for table in library.tables(numpy):
        assert table.unjudged() == frozenset(), table.module
        assert all(entry.reason for entry in table.entries.values()), table.module
        assert all(table.refused.values()), table.module


@BOTH
def test_each_name_taken_from_a_real_module_exists_there(numpy: bool) -> None:
    for table in library.tables(numpy):
        for name, entry in table.entries.items():
            if entry.kind == "real" and not entry.newer:
                table.value(name)


@BOTH
def test_what_is_exported_is_what_can_be_read(numpy: bool) -> None:
    modules = facades.modules(numpy)
    for module, facade in modules.items():
        assert facades.exported(module, numpy) == set(dir(facade)), module
        for name in dir(facade):
            getattr(facade, name)
    assert facades.exported("os", numpy) is None
    assert (facades.exported("numpy", numpy) is None) is not numpy


@BOTH
def test_a_facade_can_only_be_read(numpy: bool) -> None:
    for module, facade in facades.modules(numpy).items():
        assert isinstance(facade, Facade)
        assert not hasattr(facade, "__dict__"), module
        for name in [*dir(facade)[:3], "new_name"]:
            with pytest.raises(AttributeError, match="read-only"):
                setattr(facade, name, 1)
            with pytest.raises(AttributeError, match="read-only"):
                delattr(facade, name)


def test_a_facade_cannot_be_copied() -> None:
    import copy

    with pytest.raises(TypeError, match="module math cannot be copied"):
        copy.deepcopy(facades.modules(False)["math"])


def test_submodules_are_attributes_and_older_names_are_the_same_module() -> None:
    modules = facades.modules(True)
    assert modules["collections"].abc is modules["collections.abc"]  # type: ignore[attr-defined]
    assert modules["numpy"].random is modules["numpy.random"]  # type: ignore[attr-defined]
    assert modules["gym"] is modules["gymnasium"]
    assert modules["gym.spaces"] is modules["gymnasium"].spaces  # type: ignore[attr-defined]
    assert facades.exported("gym.utils", True) == facades.exported("gymnasium.utils", True)


def test_programs_get_their_base_classes() -> None:
    from metagym.sandbox import bases

    spade = facades.modules(False)["metagym.spade"]
    assert set(dir(spade)) == set(bases.EXPORTS)
    assert spade.SyntheticEnv is bases.SyntheticEnv  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        ("os", None, "os is not offered: there are no files"),
        ("os.path", None, "there are no files; keep the data in the program (posixpath takes paths apart)"),
        ("torch", None, "use plain Python lists or numpy"),
        ("nonsense", None, "programs may import"),
        ("time", "time", "there is no clock"),
        ("time", "sleep", "nobody to wait for"),
        ("math", "sqr", "did you mean sqrt"),
        ("random", "SystemRandom", "use random.Random"),
        ("sys", "modules", "the interpreter is not offered"),
        ("sys", "getallocatedblocks", "the interpreter is not offered"),
        ("string", "Formatter", "f-string"),
        ("gym", "make_vec", "a program is one environment"),
        ("numpy", "load", "there are no files"),
        ("dataclasses", "sys", "has no 'sys' here"),
    ],
)
def test_a_missing_name_is_told_with_the_way_out(module: str, name: str | None, says: str) -> None:
    assert says in facades.hint(module, name)


def test_a_name_that_only_newer_pythons_have_is_told_so() -> None:
    table = Table("math").real("x", "sqrt").real("x", "sqrt_of_the_future", newer=True)
    assert table.hint("sqrt_of_the_future").startswith("math.sqrt_of_the_future is not in the Python that runs here")
    assert "future" not in table.hint("sqrt_of_the_futur")


def test_without_numpy_the_hint_says_so() -> None:
    assert "not offered in this pool" in facades.hint("numpy.linalg", None, numpy=False)


def test_a_name_cannot_stand_twice_and_no_facade_holds_a_module_or_a_list() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        Table("math").real("x", "sqrt").ours("y", sqrt=1)
    with pytest.raises(ValueError, match="holds? one|is a module"):
        Table("collections").real("x", "abc").kind({})
    with pytest.raises(ValueError, match="is a list"):
        Table("keyword").real("x", "kwlist").kind({})


@BOTH
def test_sessions_share_no_generator_and_a_seed_gives_the_same_draws(numpy: bool) -> None:
    one, same, other = (facades.bind(seed, numpy=numpy) for seed in (3, 3, 4))

    def draws(session: facades.Session) -> list[object]:
        modules = session.modules
        found = [modules["random"].random(), modules["random"].Random().random()]  # type: ignore[attr-defined]
        found += [str(modules["uuid"].uuid4()), modules["secrets"].token_hex(4)]  # type: ignore[attr-defined]
        if numpy:
            found += [modules["numpy"].random.rand(), modules["numpy"].random.default_rng().random()]  # type: ignore[attr-defined]
            found += [modules["gymnasium"].spaces.Discrete(1000).sample()]  # type: ignore[attr-defined]
        return found

    first = draws(one)
    assert first == draws(same) != draws(other)
    one.reseed(9)
    same.reseed(9)
    assert draws(one) == draws(same) != first
    one.reseed(3)
    assert draws(one) == first


def test_modules_of_which_little_is_offered_have_no_clock_and_no_interpreter() -> None:
    modules = facades.modules(False)
    for module in facades.NARROW:
        assert len(dir(modules[module])) < 10
        for name in ("time", "sleep", "perf_counter", "modules", "exit", "settrace", "stdout", "path"):
            assert not hasattr(modules[module], name)

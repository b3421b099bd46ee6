from __future__ import annotations

import copy
import random
import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.sandbox import facades

from .support import run

CALLS = [
    "random()",
    "randint(1, 100)",
    "randrange(3, 90, 2)",
    "choice('abcdef')",
    "choices([1, 2, 3], weights=[1, 2, 3], k=4)",
    "choices([1, 2], cum_weights=[1, 5], k=3)",
    "sample(range(100), 5)",
    "sample([1, 2], 3, counts=[2, 2])",
    "uniform(-1, 1)",
    "triangular(0, 4, 1)",
    "betavariate(1, 2)",
    "expovariate(0.5)",
    "gammavariate(2, 1)",
    "gauss(0, 1)",
    "lognormvariate(0, 1)",
    "normalvariate(0, 1)",
    "vonmisesvariate(0, 1)",
    "paretovariate(2)",
    "weibullvariate(1, 2)",
    "getrandbits(70)",
    "randbytes(4)",
]


@settings(max_examples=25, deadline=None)
@given(st.integers() | st.text(max_size=5) | st.floats(allow_nan=False) | st.binary(max_size=4))
def test_equal_seeds_draw_what_the_real_module_draws(seed: Any) -> None:
    ours = facades.bind(0, numpy=False).modules["random"]
    real = random.Random(seed)
    ours.seed(seed)  # type: ignore[attr-defined]
    own = ours.Random(seed)  # type: ignore[attr-defined]
    for call in CALLS:
        wanted = eval(f"generator.{call}", {"generator": real})
        assert eval(f"generator.{call}", {"generator": ours}) == wanted, call
        assert eval(f"generator.{call}", {"generator": own}) == wanted, call


def test_state_can_be_kept_and_restored_and_generators_are_copied() -> None:
    scope = run(
        "import random, copy\n"
        "state = random.getstate(); a = random.random(); random.setstate(state); b = random.random()\n"
        "r = random.Random(); s = copy.deepcopy(r); result = (a == b, r.random() == s.random())\n"
        "class Dice(random.Random):\n    def roll(self): return self.randint(1, 6)\n"
        "d = Dice(4).roll()\n"
        "kind = isinstance(r, random.Random)\n"
    )
    assert scope["result"] == (True, True)
    assert scope["d"] == random.Random(4).randint(1, 6)
    assert scope["kind"]


def test_generators_without_a_seed_hang_on_the_session_and_on_nothing_else() -> None:
    source = (
        "import random, secrets, uuid\nrandom.seed()\n"
        "result = [random.random(), random.Random().random(), random.Random(None).random(), secrets.token_urlsafe(8),"
        " secrets.randbelow(1000), secrets.token_bytes(3), secrets.choice('abc'), str(uuid.uuid4())]"
    )
    first = run(source, seed=5)["result"]
    assert run(source, seed=5)["result"] == first
    assert run(source, seed=6)["result"] != first
    assert first[1] != first[2]


def test_reseeding_starts_the_module_anew_whatever_was_drawn_before() -> None:
    session = facades.bind(1)
    random_, numpy_random = session.modules["random"], session.modules["numpy.random"]
    draw = random_.random  # type: ignore[attr-defined]  # as from-imports bind it
    first = [draw() for _ in range(3)]
    legacy = numpy_random.rand()  # type: ignore[attr-defined]
    session.reseed(2)
    assert [draw() for _ in range(3)] != first
    session.reseed(1)
    assert [draw() for _ in range(3)] == first
    assert numpy_random.rand() == legacy  # type: ignore[attr-defined]


def test_a_binding_of_a_session_does_not_touch_the_real_module() -> None:
    random.seed(3)
    state = random.getstate()
    run("import random, numpy as np\nrandom.seed(9); random.random(); np.random.seed(3); np.random.rand()")
    assert random.getstate() == state


def test_samples_of_a_distribution_need_a_seed() -> None:
    scope = run("from statistics import NormalDist\nd = (NormalDist(1, 2) + NormalDist(0, 1)) * 2")
    with pytest.raises(TypeError, match="seed"):
        scope["d"].samples(3)
    real = (statistics.NormalDist(1, 2) + statistics.NormalDist(0, 1)) * 2
    assert scope["d"].samples(3, seed=4) == real.samples(3, seed=4)
    assert copy.copy(scope["d"]).mean == real.mean


def test_binomial_draws_exist_on_every_python() -> None:
    scope = run("import random\nresult = [random.binomialvariate(10, 0.5) for _ in range(50)]")
    assert all(0 <= each <= 10 for each in scope["result"])
    assert len(set(scope["result"])) > 2

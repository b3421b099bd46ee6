"""Sessions of one program share a worker, and no setting and no note goes from one to the other."""

from __future__ import annotations

import pytest

from metagym.sandbox import SandboxPool
from tests.support.sandbox import env

SETTINGS = {
    "decimal": ("import decimal", "decimal.getcontext().prec = 3", "decimal.getcontext().prec"),
    "numpy_errors": ("import numpy as np", "np.seterr(all='raise')", "np.geterr()['divide']"),
    "numpy_prints": ("import numpy as np", "np.set_printoptions(precision=2)", "np.get_printoptions()['precision']"),
    "base_class": (
        "from metagym.spade import SyntheticEnv",
        "try:\n    SyntheticEnv.metadata['n'] = 1\nexcept TypeError:\n    pass",
        "len(SyntheticEnv.metadata)",
    ),
    "text_wrapper": (
        "import textwrap",
        "try:\n    textwrap.TextWrapper.unicode_whitespace_trans[97] = 98\nexcept TypeError:\n    pass",
        "textwrap.TextWrapper().fill('a a')",
    ),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_one_session_sets_no_other_sees(pool: SandboxPool, setting: str) -> None:
    head, change, shown = SETTINGS[setting]
    source = env(
        f"if action == 'set':\n    self.x = 1\n{_indented(change)}\nreturn str({shown}), 0.0, False, {{}}", head
    )
    with pool.load(source) as program:
        for session in (0, 1):
            program.reset(session=session)
        before = program.step("look", session=1)[0]
        program.step("set", session=0)
        assert program.step("look", session=1)[0] == before
        program.reset(session=2)
        assert program.step("look", session=2)[0] == before


def test_notes_of_an_instance_are_its_own(pool: SandboxPool) -> None:
    source = (
        "from metagym.spade import SyntheticEnv\nclass Env(SyntheticEnv):\n"
        "    def reset(self, seed=0): return 'start', {}\n"
        "    def step(self, action):\n        self.metadata['n'] = self.metadata.get('n', 0) + 1\n"
        "        return str(self.metadata), 0.0, False, False, {}\n"
    )
    with pool.load(source) as program:
        for session in (0, 1):
            program.reset(session=session)
            assert program.step("go", session=session)[0] == "{'n': 1}"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())

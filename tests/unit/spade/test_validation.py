"""Every code has a minimal offending program; the fair ones pass."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, ProgramRejected, StoreError
from metagym.sandbox import Limits, SandboxPool
from metagym.seeding import rng
from metagym.spade.fingerprint import ast_fingerprint
from metagym.spade.program import shown_info
from metagym.spade.validation import (
    CODES,
    STAGES,
    VERSION,
    JournalCache,
    MemoryCache,
    ValidationReport,
    ValidationSettings,
    validate,
)
from metagym.spade.validation.static import from_policy
from tests.unit.spade.programs import HEADER, LOCK, SHOP, changed

LIMITS = Limits(call_s=0.5, load_s=1.0, memory_mb=64)
QUICK = ValidationSettings(seeds=6)


@pytest.fixture(scope="module")
def pools() -> Iterator[Sequence[SandboxPool]]:
    with SandboxPool(limits=LIMITS) as one, SandboxPool(limits=LIMITS, hash_seed=7) as two:
        yield one, two


def step(text: str, source: str = LOCK) -> str:
    """The lock with lines at the beginning of its step."""
    return changed(source, "        if self.over:\n", f"        {text}\n        if self.over:\n")


def reset(text: str, source: str = LOCK) -> str:
    """The lock with lines at the beginning of its reset."""
    return changed(source, "        self.at = 0\n", f"        {text}\n        self.at = 0\n")


FREE = changed(LOCK, "int(words[1][:9]) == self.pins[self.at]", "True")
"""A lock that every number opens."""

OFFENDERS = {
    "no_code": ["", "I would rather talk about locks."],
    "syntax_error": [changed(LOCK, "def reset(self, seed):", "def reset(self, seed)")],
    "too_long": [LOCK + "#" * 70_000],
    "metadata_missing": [
        changed(LOCK, "skill: Logical Deduction\n", ""),
        changed(SHOP, "action_format: tool_call", "action_format: text"),
        changed(LOCK, "action_format: text", "action_format: tool_call"),
    ],
    "forbidden_import": [changed(LOCK, "\n\nclass", "\nimport socket\n\nclass"), step("import os")],
    "forbidden_call": [
        step("open('/etc/passwd').read()"),
        step("().__class__.__bases__[0].__subclasses__()"),
        step("eval(action)"),
    ],
    "global_rng": [
        reset("import random; self.pins = [random.randint(1, 59)]"),
        changed(LOCK, "\n\nclass", "\nfrom random import randint as draw\n\nclass").replace(
            "self.at = 0", "self.at = draw(0, 0)"
        ),
        reset("import numpy as np; self.other = np.random.rand()"),
        reset("import random as r; r.seed(seed)"),
    ],
    "no_env_class": [HEADER + "def reset(seed):\n    return 'x', {}\n"],
    "several_env_classes": [
        LOCK + LOCK[len(HEADER) :].replace("LockEnv", "OtherEnv"),
        LOCK.replace("LockEnv", "Env") + "\n\nclass HardEnv(Env):\n    PINS = 3\n",
    ],
    "bad_signature": [
        changed(LOCK, "def reset(self, seed):", "def reset(self):").replace("return f", "seed = 1\n        return f"),
        changed(LOCK, "def reset(self, seed):", "def reset(self, seed, level):"),
        changed(LOCK, "def step(self, action):", "def step(self, action, more):"),
        changed(LOCK, "def step(self, action):", "async def step(self, action):"),
        changed(LOCK, "def solution(self):", "def solved(self):"),
        changed(LOCK, "def solution(self):", "def __init__(self, level):\n        pass\n\n    def solution(self):"),
        changed(LOCK, 'return "Halve the range that is left with every try."', "return ['halve']"),
        SHOP + "\n    def tools(self):\n        return [{'type': 'function', 'function': {'name': 'look'}}]\n",
        SHOP + "\n    def tools(self):\n        return []\n",
    ],
    "load_error": [
        changed(LOCK, "\n\nclass", "\nx = 1 / 0\n\nclass"),
        changed(LOCK, "def hint(self):", "def __init__(self):\n        raise ValueError('no')\n\n    def hint(self):"),
        SHOP + "\n    def tools(self):\n        raise ValueError('no')\n",
    ],
    "load_timeout": [changed(LOCK, "\n\nclass", "\nwhile True:\n    pass\n\nclass")],
    "memory_limit": [
        changed(LOCK, "\n\nclass", "\nx = bytearray(10 ** 9)\n\nclass"),
        step("self.big = [0] * 10 ** 8"),
    ],
    "bad_reset_type": [
        changed(LOCK, 'return f"The lock has', 'return 3, {}; f"The lock has'),
        changed(LOCK, 'Write: turn N", {}', "Write: turn N\", {'x': object()}"),
    ],
    "empty_observation": [
        changed(LOCK, 'return f"The lock has', 'return "  ", {}; f"The lock has'),
        changed(LOCK, "return text, reward, done", "return '', reward, done"),
    ],
    "bad_step_type": [
        changed(LOCK, "return text, reward, done", "return [text], reward, done"),
        changed(LOCK, "return text, reward, done, truncated,", "return text, reward, 'no', truncated,"),
        changed(LOCK, "return text, reward, done, truncated,", "return text, 'much', done, truncated,"),
    ],
    "reward_not_finite": [
        changed(LOCK, "return text, reward, done", "return text, float('nan'), done"),
        changed(LOCK, "return text, reward, done", "return text, float('inf'), done"),
        changed(LOCK, "reward, self.over = 1.0, True", "reward, self.over = float('nan'), True"),
    ],
    "reward_out_of_range": [
        changed(LOCK, "return text, reward, done", "return text, 1e9, done"),
        changed(LOCK, "return text, reward, done", "return text, reward - 0.1, done"),
    ],
    "step_crash": [step("{}['x']"), reset("{}['x']")],
    "step_timeout": [step("while True: pass"), reset("while True: pass")],
    "never_ends": [
        changed(LOCK, "self.steps >= 12 and", "self.steps >= 99 and"),
        changed(LOCK, "max_steps: 12", "max_steps: 3"),
    ],
    "step_after_end": [
        changed(LOCK, '"The lock rests.", 0.0, True', '"The lock rests.", 0.0, False'),
        step("if self.over and self.at > 1: return 'Again.', 1.0, True, False, {}"),
        changed(LOCK, '"The lock rests.", 0.0', '"The lock rests.", 0.5'),
    ],
    "nondeterministic": [
        reset("self.notes = sorted({f'note {n}' for n in range(9)}, key=len)").replace(
            'return f"The', 'return f"{self.notes} The'
        ),
        changed(LOCK, "    PINS = 2", "    PINS = 2\n    PLAYED = []")
        .replace("self.at = 0", "self.at = 0; self.PLAYED.append(1)")
        .replace('return f"The', 'return f"Game {len(self.PLAYED)}. The'),
        changed(LOCK, "\n\nclass", "\nPLAYED = []\n\nclass")
        .replace("self.at = 0", "self.at = 0; PLAYED.append(1)")
        .replace('"Too low.', 'f"Too low {len(PLAYED)}.'),
        # nothing but info shows it
        changed(LOCK, "\n\nclass", "\nPLAYED = []\n\nclass")
        .replace("self.at = 0", "self.at = 0; PLAYED.append(1)")
        .replace('{"steps": self.steps}', '{"steps": len(PLAYED)}'),
    ],
    "seed_insensitive": [changed(LOCK, "self.rng.randrange(1, 60)", "17")],
    "crash_on_garbage": [
        changed(LOCK, " or not words[1].isascii()", ""),  # a superscript two is a digit, and no number
        step("assert len(action) < 5000"),
        step("action.encode('ascii')"),
        step("[][0] if not action.strip() else 0"),
        changed(LOCK, "int(words[1][:9]) <", "int(words[1][:9]) + 0 // int(words[1][:9]) <"),
    ],
    "oracle_fails": [
        changed(LOCK, "for pin in self.pins]", "for pin in self.pins[:-1]]"),
        changed(LOCK, 'return [f"turn {pin}"', "return [pin + 1"),
        changed(LOCK, 'return [f"turn {pin}" for pin in self.pins]', "return []"),
        changed(LOCK, 'return [f"turn {pin}" for pin in self.pins]', "return self.nothing"),
        changed(LOCK, 'return [f"turn {pin}" for pin in self.pins]', "while True: pass"),
        changed(LOCK, "reward, self.over = 1.0, True", "reward, self.over = 0.9, True"),
        # one seed in four cannot be won
        reset("self.stuck = seed % 4 == 0")
        .replace("if self.at == len(self.pins)", "if not self.stuck and self.at == 2")
        .replace("self.pins[self.at]:", "self.pins[self.at % 2]:")
        .replace("< self.pins[self.at]", "< self.pins[self.at % 2]"),
    ],
    "trivial_policy_wins": [
        changed(
            FREE, 'len(words) != 2 or words[0] != "turn" or not words[1].isdigit() or not words[1].isascii()', "False"
        ),
        # the way out is one of two doors, told by neither
        changed(LOCK, "randrange(1, 60)", "randrange(0, 2)")
        .replace('words[0] != "turn" or not words[1]', "not words[0]")
        .replace("len(words) != 2", "len(words) != 1")
        .replace("words[1][:9]", "words[0][:9]")
        .replace("words[1].isascii", "words[0].isascii")
        .replace("turn {pin}", "{pin}")
        .replace("PINS = 2", "PINS = 1"),
    ],
    "solution_seed_independent": [FREE],
    "answer_in_observation": [
        changed(LOCK, 'Write: turn N", {}', 'Write: turn N. Debug: {self.solution()}", {}').replace(
            "PINS = 2", "PINS = 5"
        ),
        changed(LOCK, 'Write: turn N", {}', 'First {self.pins[0]}, second {self.pins[1]}. Write: turn N", {}'),
        changed(
            LOCK,
            "done, self.over = self.over, self.over or truncated",
            "done, self.over = self.over, self.over or truncated\n"
            "        if truncated:\n"
            "            text += f' You lost. It was {self.pins[0]}, then {self.pins[1]}.'",
        ),
        changed(LOCK, '{"steps": self.steps}', '{"score": self.pins[0], "turn": self.pins[1]}'),
    ],
    "answer_in_hint": [
        changed(LOCK, 'return "Halve the range', 'return f"The first pin is {self.pins[0]}. Halve the range'),
        changed(LOCK, 'return "Halve the range', 'return str(self.solution()) + "Halve the range'),
    ],
    "single_step": [changed(LOCK, "PINS = 2", "PINS = 1")],
}


@pytest.mark.parametrize(
    ("code", "source"),
    [
        pytest.param(code, source, id=f"{code}-{n}")
        for code, found in OFFENDERS.items()
        for n, source in enumerate(found)
    ],
)
def test_each_code_has_its_offender(code: str, source: str, pools: Sequence[SandboxPool]) -> None:
    report = validate(source, settings=QUICK, pools=pools)
    assert (report.ok, report.code) == (False, code), report
    assert report.stage == CODES[code] and report.detail and report.version == VERSION
    assert ValidationReport.from_json(json.loads(json.dumps(report.to_json()))) == report
    assert len(str(report)) < 1_300


def test_every_code_of_the_table_is_tested() -> None:
    elsewhere = {"duplicate_exact", "duplicate_ast", "near_duplicate", "auditor_rejects", "auditor_unavailable"}
    assert set(OFFENDERS) | elsewhere == set(CODES) and not set(OFFENDERS) & elsewhere
    assert len(STAGES) == 12 and set(CODES.values()) == set(STAGES)


def test_what_the_policy_refuses_is_told_with_line_and_rule(pools: Sequence[SandboxPool]) -> None:
    source = changed(LOCK, "\n\nclass", "\nimport socket\n\nclass")
    report = validate(source, pools=pools)
    assert source.splitlines()[report.line - 1] == "import socket"
    assert "socket" in report.detail and "[forbidden_import]" in report.detail


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("forbidden_import", "forbidden_import"),
        ("forbidden_name", "forbidden_call"),
        ("forbidden_syntax", "forbidden_call"),
        ("too_deep", "too_long"),
        ("no_env_class", "no_env_class"),
    ],
)
def test_every_rule_of_the_policy_has_a_code_and_keeps_its_words(rule: str, code: str) -> None:
    refusal = from_policy(ProgramRejected(rule, 3, "do it otherwise"))
    assert (refusal.code, refusal.line, refusal.detail) == (code, 3, f"do it otherwise [{rule}]")


# --- what is accepted


@pytest.mark.parametrize("source", [LOCK, SHOP, LOCK.encode(), LOCK.replace("\n", "\r\n")])
def test_fair_programs_pass_all_stages(source: str | bytes, pools: Sequence[SandboxPool]) -> None:
    report = validate(source, pools=pools)
    assert report.ok, report
    assert (report.code, report.stage, str(report)) == ("", "novelty", "accepted")
    assert report.isolation == "process" and {"rlimit", "seccomp", "landlock"} <= set(report.layers)
    assert len(report.seeds) == len(set(report.seeds)) == 8 and report.behaviour
    assert report.metrics["oracle_share"] == 1.0 and report.metrics["oracle_steps"] >= 2
    assert set(report.metrics["trivial"].values()) == {0.0}
    assert ValidationReport.from_json(json.loads(json.dumps(report.to_json()))) == report


BOXED = (
    changed(LOCK, "action_format: text", "action_format: boxed")
    .replace(
        "words = action.split()", "import re\n        words = (re.findall(r'boxed{(.*?)}', action) or [''])[-1].split()"
    )
    .replace('f"turn {pin}"', "'\\\\boxed{turn ' + str(pin) + '}'")
)
POLICY = changed(
    LOCK,
    'def solution(self):\n        return [f"turn {pin}" for pin in self.pins]',
    "def state(self):\n        return {'pin': self.pins[self.at]}\n\n"
    "    def reference_policy(self, observation, state):\n        return f\"turn {state['pin']}\"",
)
PLAIN = (
    changed(LOCK, "(SyntheticEnv)", "")
    .replace("\n\nclass", "\nimport random\n\nclass")
    .replace("self.at = 0", "self.at = 0", 1)
    .replace("self.pins = [self.rng", "self.rng = random.Random(seed)\n        self.pins = [self.rng")
)
QUEST = (
    HEADER
    + '''
class Quest(SyntheticEnv):
    """A note tells a code; reading and copying it is no leak, since one must look."""

    def reset(self, seed):
        self.code = self.rng.randrange(1000, 9999)
        self.place = self.rng.choice(["shelf", "drawer", "carpet", "clock"])
        self.steps, self.over, self.known = 0, False, False
        return f"A safe and a note somewhere near the {self.place}. Commands: look PLACE, enter CODE. Places: " \\
            "shelf, drawer, carpet, clock.", {}

    def step(self, action):
        if self.over:
            return "Over.", 0.0, True, False, {}
        self.steps += 1
        text = "Nothing happens."
        if action == f"look {self.place}":
            text = f"The note says {self.code}."
        won = action == f"enter {self.code}"
        self.over = won or self.steps >= 12
        return text, float(won), won, self.over and not won, {}

    def solution(self):
        return [f"look {self.place}", f"enter {self.code}"]
'''
)


LATE = changed(
    LOCK, "def hint(self):", "def __init__(self):\n        self.rng = random.Random()\n\n    def hint(self):"
)
LATE = changed(LATE, "\n\nclass", "\nimport random\n\nclass").replace(
    "self.pins = [", "self.rng.seed(seed)\n        self.pins = ["
)
GYM = (
    changed(LOCK, "\n\nclass", "\nimport gymnasium as gym\nimport numpy as np\n\nclass")
    .replace("(SyntheticEnv)", "(gym.Env)")
    .replace("def reset(self, seed):", "def reset(self, *, seed=None, options=None):\n        super().reset(seed=seed)")
    .replace("self.rng.randrange(1, 60)", "int(self.np_random.integers(1, 60))")
)
NUMPY = (
    changed(PLAIN, "import random", "import numpy as np")
    .replace("random.Random(seed)", "np.random.default_rng(seed)")
    .replace("self.rng.randrange(1, 60)", "int(self.rng.integers(1, 60))")
)
IMPORTED = changed(LOCK, "\n\nclass", "\nfrom metagym.spade import SyntheticEnv\n\nclass")
WAYS = {
    "boxed": BOXED,
    "policy": POLICY,
    "no base": PLAIN,
    "note": QUEST,
    "seeded late": LATE,
    "gymnasium": GYM,
    "numpy": NUMPY,
    "imported base": IMPORTED,
    "private": LOCK.replace("LockEnv", "_LockEnv"),
}


@pytest.mark.parametrize("source", WAYS.values(), ids=WAYS)
def test_other_ways_to_write_a_program_pass_too(source: str, pools: Sequence[SandboxPool]) -> None:
    report = validate(source, settings=QUICK, pools=pools)
    assert report.ok, report


def test_equal_programs_get_equal_reports_on_either_pool(pools: Sequence[SandboxPool]) -> None:
    first = validate(LOCK, settings=QUICK, pools=pools)
    assert validate(LOCK, settings=QUICK, pools=list(reversed(pools))) == first
    assert validate(LOCK, settings=ValidationSettings(seeds=6, seed=1), pools=pools).seeds != first.seeds


def test_reports_are_equal_in_processes_of_other_hash_seeds(tmp_path: Path) -> None:
    code = (
        "import json, sys\n"
        "from metagym.spade.validation import ValidationSettings, validate\n"
        "for source in json.load(open(sys.argv[1])):\n"
        "    print(json.dumps(validate(source, settings=ValidationSettings(seeds=4)).to_json()))\n"
    )
    file = tmp_path / "programs.json"
    leak, hint = OFFENDERS["answer_in_observation"][1], OFFENDERS["answer_in_hint"][0]
    file.write_text(json.dumps([LOCK, SHOP, leak, hint, OFFENDERS["trivial_policy_wins"][0]]))
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(file)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1 and printed.pop().count("\n") == 5


def test_behaviour_tells_a_changed_rule_and_not_a_changed_name(pools: Sequence[SandboxPool]) -> None:
    first = validate(LOCK, settings=QUICK, pools=pools).behaviour
    told = validate(changed(LOCK, "It clicks.", "It clicks!"), settings=QUICK, pools=pools)
    assert told.ok and told.behaviour not in ("", first)  # probes never hear it: a solved episode does
    assert validate(LOCK, settings=QUICK, pools=pools).behaviour == first


def test_programs_that_answer_alike_have_one_behaviour_whatever_their_text(pools: Sequence[SandboxPool]) -> None:
    # What this program shows depends on the seed, so it must be seen on the same seeds under every text.
    texts = (QUEST, QUEST + "# a note\n", QUEST.replace("self.place", "self.where"))
    found = [validate(text, settings=QUICK, pools=pools) for text in texts]
    assert len({report.behaviour for report in found}) == 1 and len({report.seeds for report in found}) == 3
    other = validate(QUEST.replace("randrange(1000, 9999)", "randrange(100, 999)"), settings=QUICK, pools=pools)
    assert other.ok and other.behaviour != found[0].behaviour


def test_programs_are_never_run_in_this_process(pools: Sequence[SandboxPool], tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for source in (
        changed(LOCK, "\n\nclass", f"\nopen({str(marker)!r}, 'w')\n\nclass"),
        LOCK + f"\n    def __del__(self):\n        open({str(marker)!r}, 'w')\n",
    ):
        validate(source, settings=QUICK, pools=pools)
    assert not marker.exists()


LONG = changed(POLICY, "'pin': self.pins[self.at]", "'pin': self.pins[self.at], 'x': 'y' * 60_000").replace(
    '"Write: turn N"', '"Write: turn N" + " " * 30_000'
)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (
            LONG.replace("Too low.", "Too low." + " " * 30_000).replace(
                'Write: turn N", {}', 'Write: turn N" + "." * 30_000, {}'
            ),
            "oracle_fails",
        ),
        (changed(LOCK, 'f"turn {pin}"', 'f"turn {pin}" + " " * 60_000'), "oracle_fails"),
        (changed(LOCK, 'f"turn {pin}"', 'f"turn {pin}" + " " * 30_000'), ""),
        (changed(LOCK, 'f"turn {pin}"', 'f"turn {pin}\\ud800"'), "oracle_fails"),
        (changed(LOCK, "self.at = 0\n", "self.at = 0; 1 / ({1, 'a', 'b', 'c', 'd', 'e', 'f'}.pop() != 'a')\n"), None),
    ],
)
def test_texts_at_the_limits_of_a_call_end_in_a_report(
    source: str, code: str | None, pools: Sequence[SandboxPool]
) -> None:
    report = validate(source, settings=QUICK, pools=pools)
    assert code is None or report.code == code, report


# --- the private channel


CANARIES = ("canaryhint", "canarysolution", "canarystate", "canaryinfo")
SECRETIVE = (
    changed(POLICY, "Halve the range that is left with every try.", "canaryhint")
    .replace("return {'pin': self.pins[self.at]}", "return {'pin': self.pins[self.at], 'x': 'canarystate'}")
    .replace("return f\"turn {state['pin']}\"", "return f\"turn {state['pin']} canarysolution\"")
    .replace("words = action.split()", "words = action.replace('canarysolution', '').split()")
    .replace('{"steps": self.steps}', '{"steps": self.steps, "answer": "canaryinfo", "score": self.pins}')
)


@pytest.mark.parametrize("broken", ["", "reward", "oracle"])
def test_no_report_and_nothing_that_an_agent_sees_holds_hint_solution_or_state(
    broken: str, pools: Sequence[SandboxPool]
) -> None:
    source = SECRETIVE
    if broken:
        value = "0.9" if broken == "oracle" else "7.0"
        source = changed(source, "reward, self.over = 1.0, True", f"reward, self.over = {value}, True")
    report = validate(source, settings=QUICK, pools=pools)
    assert report.ok == (not broken)
    with pools[0].load(source) as player:
        seen: list[Any] = [player.reset(3)]
        for action in ("turn 1", "", "turn 1"):
            observation, *_, info = player.step(action)
            seen.append((observation, shown_info(info)))
        assert player.ask("hint") == "canaryhint"  # it is there, on its own channel
    text = json.dumps([report.to_json(), seen, str(report)])
    assert not [word for word in CANARIES if word in text]


def test_a_leak_is_told_without_the_answer(pools: Sequence[SandboxPool]) -> None:
    source = LOCK.replace("turn", "uvwxyz", 1) and OFFENDERS["answer_in_observation"][1]
    report = validate(source, settings=QUICK, pools=pools)
    with pools[0].load(source) as player:
        for seed in report.seeds:
            player.reset(seed)
            for action in player.ask("solution"):
                assert action not in report.detail and action.split()[1] not in report.detail.split()


@pytest.mark.parametrize("what", ["{}['x']", "[0 for _ in iter(int, 1)]"])
def test_an_action_that_is_made_of_a_solution_is_not_told(what: str, pools: Sequence[SandboxPool]) -> None:
    guarded = changed(LOCK, 'f"turn {pin}"', 'f"turn {pin} canary"')
    guarded = guarded.replace("words = action.split()", "words = action.replace(' canary', '').split()")
    source = step(f"if 'canary' in action and action.count('turn') > 1: {what}", guarded)
    twin = step(f"if 'canary' in action and self.steps > 1: {what}", guarded)  # breaks under another seed's solution
    for text in (source, twin):
        report = validate(text, settings=QUICK, pools=pools)
        assert not report.ok and "canary" not in report.detail, report


# --- novelty


def test_known_programs_are_refused(pools: Sequence[SandboxPool]) -> None:
    known = [ast_fingerprint(SHOP), ast_fingerprint(LOCK)]
    renamed = LOCK.replace("pins", "bolts").replace("It clicks", "It snaps")
    near = changed(LOCK, "self.steps += 1", "self.steps += 1 * 1")
    verdicts = [validate(source, settings=QUICK, known=known, pools=pools) for source in (LOCK, renamed, near)]
    assert [report.code for report in verdicts] == ["duplicate_exact", "duplicate_ast", "near_duplicate"]
    assert all(ast_fingerprint(LOCK).digest[:12] in report.detail for report in verdicts)
    assert validate(LOCK, settings=QUICK, known=known[:1], pools=pools).metrics["similarity"] < 0.3
    free = dataclasses.replace(QUICK, novelty=False)
    assert validate(LOCK, settings=free, known=known, pools=pools).ok


# --- cache


class Unusable(SandboxPool):
    def __init__(self, hash_seed: int = 0) -> None:
        super().__init__(limits=LIMITS, hash_seed=hash_seed)

    def load(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the program was run again")


def test_equal_sources_are_proved_once_and_novelty_is_asked_each_time(
    pools: Sequence[SandboxPool], tmp_path: Path
) -> None:
    never = (Unusable(), Unusable(7))
    bad = changed(LOCK, "PINS = 2", "PINS = 1")
    with JournalCache(tmp_path / "reports.jsonl") as disk:
        for cache in (MemoryCache(), disk):
            found = [validate(source, settings=QUICK, pools=pools, cache=cache) for source in (LOCK, bad)]
            again = [validate(source, settings=QUICK, pools=never, cache=cache) for source in (LOCK, bad)]
            assert found == again and [report.code for report in again] == ["", "single_step"]
            known = [ast_fingerprint(LOCK)]
            assert validate(LOCK, settings=QUICK, known=known, pools=never, cache=cache).code == "duplicate_exact"
            with pytest.raises(AssertionError):
                validate(LOCK, settings=dataclasses.replace(QUICK, seeds=7), pools=never, cache=cache)
    with JournalCache(tmp_path / "reports.jsonl") as disk:
        assert validate(LOCK, settings=QUICK, pools=never, cache=disk) == found[0]


def test_a_verdict_is_kept_for_the_same_limits_and_kind_of_sandbox_alone(pools: Sequence[SandboxPool]) -> None:
    numpy = changed(LOCK, "\n\nclass", "\nimport numpy as np\n\nclass")
    cache = MemoryCache()
    narrow = dataclasses.replace(LIMITS, output_chars=20)
    assert not validate(LOCK, settings=QUICK, pools=pools, cache=cache, limits=narrow).ok
    assert validate(LOCK, settings=QUICK, pools=pools, cache=cache).ok
    assert not validate(LOCK, settings=QUICK, pools=pools, cache=cache, limits=narrow).ok
    with SandboxPool(limits=LIMITS, numpy=False) as one, SandboxPool(limits=LIMITS, numpy=False, hash_seed=7) as two:
        assert validate(numpy, settings=QUICK, pools=(one, two), cache=cache).code == "forbidden_import"
    assert validate(numpy, settings=QUICK, pools=pools, cache=cache).ok


def test_pools_of_one_hash_seed_prove_nothing(pools: Sequence[SandboxPool]) -> None:
    with pytest.raises(BadInput, match="different hash seeds, got 2 with"):
        validate(OFFENDERS["nondeterministic"][0], settings=QUICK, pools=(pools[0], pools[0]))


def test_a_time_limit_is_no_verdict_for_ever(pools: Sequence[SandboxPool]) -> None:
    cache = MemoryCache()
    hangs_on_garbage = step("while action == '': pass")
    for source, code in ((OFFENDERS["step_timeout"][0], "step_timeout"), (hangs_on_garbage, "crash_on_garbage")):
        assert validate(source, settings=QUICK, pools=pools, cache=cache).code == code
        with pytest.raises(AssertionError):
            validate(source, settings=QUICK, pools=(Unusable(), Unusable(7)), cache=cache)


# --- bad input


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(max_size=300), st.binary(max_size=300)))
def test_any_text_and_any_bytes_get_a_report(source: str | bytes) -> None:
    report = validate(source, pools=(Unusable(), Unusable(7)))
    assert not report.ok and report.code and len(report.digest) == 64


@settings(max_examples=12, deadline=None)
@given(st.integers(0, len(LOCK)), st.text(alphabet="():'\"\\\n \t{}[]@#", min_size=1, max_size=4))
def test_a_damaged_program_gets_a_report(pools: Sequence[SandboxPool], place: int, damage: str) -> None:
    report = validate(LOCK[:place] + damage + LOCK[place:], settings=ValidationSettings(seeds=3), pools=pools)
    assert report.ok or report.code


class Mutator(ast.NodeTransformer):
    """Changes one node of a program at random: an operator, a constant, a statement, a name."""

    def __init__(self, draws: random.Random, tree: ast.AST) -> None:
        self.draws = draws
        self.place = draws.randrange(sum(1 for _ in ast.walk(tree)))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.place -= 1
        if self.place == 0:
            return self.changed(node)
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:  # noqa: N802
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:  # noqa: N802
        return node  # parts of it cannot be anything

    def changed(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Constant():
                values = (0, -1, 1.5, "", "x", None, True, 10**30, float("inf"), b"x")
                return ast.Constant(self.draws.choice(values))
            case ast.expr():
                return ast.Constant(self.draws.choice((0, "", None)))
            case ast.stmt() if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                return ast.parse(self.draws.choice(("pass", "return", "raise ValueError", "self.at = 0"))).body[0]
            case ast.operator():
                return self.draws.choice((ast.Add(), ast.Mod(), ast.Pow(), ast.Div()))
            case ast.cmpop():
                return self.draws.choice((ast.Lt(), ast.Is(), ast.NotIn(), ast.Eq()))
        return node


@pytest.mark.slow
@pytest.mark.parametrize("source", [LOCK, SHOP, POLICY], ids=["lock", "shop", "policy"])
def test_mutated_programs_get_a_report_and_the_same_one_again(source: str, pools: Sequence[SandboxPool]) -> None:
    codes = set()
    for seed in range(60):
        draws, tree = rng(seed, "mutation"), ast.parse(source)
        for _ in range(1 + seed % 3):
            tree = Mutator(draws, tree).visit(tree)
        header = ast.get_docstring(ast.parse(source))
        body = [node for node in tree.body if not isinstance(node, ast.Expr)]
        made = f'"""{header}"""\n' + ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
        report = validate(made, settings=ValidationSettings(seeds=3), pools=pools)
        assert report.ok or report.code in CODES
        assert ValidationReport.from_json(json.loads(json.dumps(report.to_json()))) == report
        if "timeout" not in report.code:
            assert validate(made, settings=ValidationSettings(seeds=3), pools=list(reversed(pools))) == report
        codes.add(report.code)
    assert len(codes) > 3  # mutants are refused for many reasons


def test_what_is_no_source_is_refused_at_once() -> None:
    for bad in (None, 3, ["class X: pass"]):
        with pytest.raises(BadInput):
            validate(bad)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="two pools"):
        validate(LOCK, pools=(Unusable(),))


@pytest.mark.parametrize(
    "bad",
    [
        {"seeds": 2},
        {"seeds": 33},
        {"min_steps": 0},
        {"oracle_share": 0},
        {"trivial_share": 1},
        {"near_duplicate": 2},
        {"audit": "maybe"},
        {"novelty": 1},
        {"seed": -1},
    ],
)
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        ValidationSettings(**bad)


def test_settings_survive_json_and_only_what_matters_is_in_the_key() -> None:
    made = ValidationSettings(seeds=5, audit="flag")
    assert ValidationSettings(**json.loads(json.dumps(made.to_json()))) == made
    assert made.key() == dataclasses.replace(made, audit="off", novelty=False, near_duplicate=0.5).key()
    assert made.key() != dataclasses.replace(made, seeds=6).key()


def test_other_data_is_no_report() -> None:
    good = ValidationReport(True, "0" * 64).to_json()
    for bad in (
        None,
        [],
        {},
        {**good, "more": 1},
        {**good, "code": "no_code"},
        {**good, "ok": False, "code": "unheard"},
    ):
        with pytest.raises(StoreError):
            ValidationReport.from_json(bad)

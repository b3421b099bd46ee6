from __future__ import annotations

import datetime as real
import math
import struct
from collections import deque
from queue import Empty, Full
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.sandbox import facades

from .support import run

DATES: Any = facades.modules(False)["datetime"]


def test_now_is_one_moment_in_every_episode() -> None:
    assert DATES.datetime.now() == DATES.datetime.utcnow() == DATES.datetime.today() == real.datetime(2025, 1, 1)
    assert DATES.datetime.now(DATES.timezone.utc).isoformat() == "2025-01-01T00:00:00+00:00"
    assert DATES.date.today().isoformat() == "2025-01-01"
    assert DATES.datetime.now(DATES.timezone(DATES.timedelta(hours=2))).hour == 2


@settings(max_examples=60, deadline=None)
@given(
    st.datetimes(real.datetime(1800, 1, 1), real.datetime(2200, 1, 1)),
    st.timedeltas(real.timedelta(-999), real.timedelta(999)),
)
def test_arithmetic_of_dates_equals_the_real_one_and_stays_without_a_clock(moment: Any, span: Any) -> None:
    parts = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond)
    ours = DATES.datetime(*parts)
    for found, wanted in [
        (ours + span, moment + span),
        (span + ours, span + moment),
        (ours - span, moment - span),
        (ours.date() + span, moment.date() + span),
        (ours.date(), moment.date()),
        (ours.replace(year=2000, day=1), moment.replace(year=2000, day=1)),
        (DATES.datetime.fromisoformat(moment.isoformat()), moment),
        (DATES.datetime.combine(ours.date(), ours.time()), moment),
        (DATES.date.fromordinal(moment.toordinal()), moment.date()),
        (DATES.datetime.strptime(ours.strftime("%Y-%m-%d"), "%Y-%m-%d"), real.datetime(*parts[:3])),
        (ours.astimezone(), moment.replace(tzinfo=real.UTC)),
        (DATES.datetime.fromtimestamp(0.5), real.datetime(1970, 1, 1, microsecond=500_000)),
    ]:
        assert found == wanted
        assert type(found) in (DATES.date, DATES.datetime)
    assert ours - DATES.datetime(2000, 1, 1) == moment - real.datetime(2000, 1, 1)
    assert ours.timestamp() == moment.replace(tzinfo=real.UTC).timestamp()
    assert isinstance(ours, DATES.date) and isinstance(ours.date(), DATES.date)
    assert type(ours.min) is type(ours.max) is DATES.datetime


def test_days_of_a_calendar_have_no_clock_either() -> None:
    calendar: Any = facades.modules(False)["calendar"]
    for day in calendar.Calendar().itermonthdates(2024, 2):
        assert type(day) is DATES.date
    assert type(calendar.TextCalendar().monthdatescalendar(2024, 2)[0][0]) is DATES.date
    assert "February 2024" in calendar.month(2024, 2)
    with pytest.raises(TypeError):
        calendar.TextCalendar().prmonth(2024, 2)


def test_the_module_time_computes_and_reads_no_clock() -> None:
    time: Any = facades.modules(False)["time"]
    assert set(dir(time)) == {"gmtime", "strftime", "strptime", "struct_time"}
    assert time.strftime("%Y-%m-%d", time.gmtime(86_400)) == "1970-01-02"
    with pytest.raises(TypeError):
        time.gmtime(None)
    with pytest.raises(TypeError):
        time.strftime("%Y", None)


def test_logs_warnings_and_tracebacks_go_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    scope = run(
        "import logging, warnings, traceback\nlog = logging.getLogger('a')\nlog.setLevel('DEBUG')\n"
        "log.addHandler(logging.StreamHandler())\nlog.error('x'); logging.warning('y'); log.getChild('b').info('z')\n"
        "warnings.warn('w')\nwith warnings.catch_warnings(record=True) as caught: warnings.warn('v')\n"
        "try:\n    {}['k']\nexcept KeyError:\n    traceback.print_exc(); text = traceback.format_exc()\n"
        "result = [log.level, log.isEnabledFor(50), log.getEffectiveLevel(), caught, text, logging.getLevelName(20)]"
    )
    assert scope["result"] == [10, False, 10, [], "KeyError: 'k'\n", "INFO"]
    assert capfd.readouterr() == ("", "")
    assert scope["logging"].getLogger("a") is not scope["log"]


def test_pretty_printing_goes_where_print_goes_and_shows_no_address() -> None:
    lines: list[str] = []
    session = facades.bind(1, numpy=False, print_to=lines.append)
    run(
        "from pprint import pprint, pformat\npprint({'b': 1, 'a': 2})\ntext = pformat([pprint, object()])",
        session=session,
    )
    scope = run("from pprint import pformat, saferepr\ntext = pformat([pformat]) + saferepr(pformat)", session=session)
    assert lines == ["{'a': 2, 'b': 1}\n"]
    assert "0x" not in scope["text"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9) | st.none(), max_size=30), st.sampled_from(["Queue", "LifoQueue", "PriorityQueue"]))
def test_queues_give_the_real_order_and_never_wait(steps: list[int | None], kind: str) -> None:
    ours = getattr(facades.modules(False)["queue"], kind)(4)
    held: Any = deque()
    for step in steps:
        if step is None:
            if not held:
                with pytest.raises(Empty):
                    ours.get(timeout=99)
                continue
            if kind == "Queue":
                wanted = held.popleft()
            elif kind == "LifoQueue":
                wanted = held.pop()
            else:
                wanted = min(held)
                held.remove(wanted)
            assert ours.get() == wanted
        elif len(held) == 4:
            with pytest.raises(Full):
                ours.put(step)
        else:
            ours.put(step)
            held.append(step)
        assert (ours.qsize(), ours.empty(), ours.full()) == (len(held), not held, len(held) == 4)


def test_no_buffer_but_a_bytearray_is_written() -> None:
    scope = run("import struct, io, array\na = array.array('q', [0])\nf = io.BytesIO(b'abcdefgh')", numpy=False)
    buffer = bytearray(8)
    scope["struct"].pack_into("<q", buffer, 0, 5)
    scope["struct"].Struct("<q").pack_into(buffer, 0, 6)
    assert struct.unpack("<q", buffer) == (6,)
    for write in (
        lambda: scope["struct"].pack_into("<q", scope["a"], 0, 5),
        lambda: scope["struct"].Struct("<q").pack_into(scope["a"], 0, 5),
        lambda: scope["f"].readinto(scope["a"]),
        lambda: scope["f"].getbuffer(),
        lambda: scope["a"].buffer_info(),
        lambda: scope["a"].tofile(scope["f"]),
    ):
        with pytest.raises(TypeError):
            write()
    assert scope["a"][0] == 0
    assert scope["f"].readinto(buffer) == 8


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("__import__('os')", ValueError), ("[" * 40_000, ValueError), ("1" * 70_000, ValueError), (b"1", TypeError)],
)
def test_only_literals_are_evaluated(text: Any, wrong: type[Exception]) -> None:
    evaluate = facades.modules(False)["ast"].literal_eval  # type: ignore[attr-defined]
    with pytest.raises((wrong, SyntaxError, MemoryError, RecursionError)):
        evaluate(text)
    assert evaluate("{'a': [1, (2.5, None)]}") == {"a": [1, (2.5, None)]}


def test_digests_take_known_algorithms_only() -> None:
    scope = run("import hashlib, hmac, codecs")
    assert scope["hashlib"].new("SHA256", b"x").hexdigest() == scope["hashlib"].sha256(b"x").hexdigest()
    for call in (
        lambda: scope["hashlib"].new("nonsense"),
        lambda: scope["hmac"].new(b"k", b"m", "nonsense"),
        lambda: scope["hmac"].new(b"k", b"m", print),
        lambda: scope["codecs"].decode(b"x", "idna"),
    ):
        with pytest.raises((ValueError, LookupError)):
            call()
    assert scope["codecs"].encode("Hello", "rot13") == "Uryyb"


def test_functions_tell_their_parameters_and_nothing_else() -> None:
    scope = run(
        "import inspect\ndef f(a, b: int = 2, *c, d=4, **e):\n    'doc'\nclass A:\n    def __init__(self, x): pass\n"
        "s = inspect.signature(f)\nresult = [list(s.parameters), s.parameters['b'].default, str(s),"
        " list(inspect.signature(A).parameters), s.parameters['a'].annotation is inspect.Parameter.empty]"
    )
    assert scope["result"] == [["a", "b", "c", "d", "e"], 2, "(a, b=..., *c, d=..., **e)", ["x"], True]
    with pytest.raises(TypeError):
        scope["inspect"].signature(3)
    with pytest.raises(AttributeError):
        scope["s"].parameters = {}


def test_numbers_are_those_of_the_library() -> None:
    modules = facades.modules(False)
    assert modules["math"].sqrt is math.sqrt  # type: ignore[attr-defined]
    assert modules["sys"].maxsize == 2**63 - 1  # type: ignore[attr-defined]


def test_the_limit_of_calls_within_calls_is_set_without_effect() -> None:
    deep = "import sys\nsys.setrecursionlimit(10**9)\ndef deep(n): return n and 1 + deep(n - 1)\nresult = deep({})"
    assert run(deep.format(50))["result"] == 50
    with pytest.raises(RecursionError):
        run(deep.format(10**6))

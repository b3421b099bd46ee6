"""Dates and times without a clock: arithmetic is real, and now is always the same moment.

Equal seeds must give equal episodes on any day, so ``datetime.now()`` and its brothers give `EPOCH`, and a time zone
that is not named is UTC. The module ``time`` has no clock at all: its names that read one, or wait, are refused.
"""

from __future__ import annotations

import calendar
import datetime as real
import time
from collections.abc import Iterable
from typing import Any, NoReturn

from metagym.sandbox.facades.facade import Table

EPOCH = (2025, 1, 1)
"""What every program takes for now: midnight UTC of this day."""


class date(real.date):  # noqa: N801  (the name of the real class)
    """``datetime.date``; `today` is the first of January 2025."""

    __slots__ = ()

    @classmethod
    def today(cls) -> date:
        """The day that every program takes for today."""
        return cls(*EPOCH)

    @classmethod
    def fromtimestamp(cls, timestamp: float, /) -> date:
        """The day of a POSIX timestamp in UTC."""
        moment = real.datetime.fromtimestamp(timestamp, real.UTC)
        return cls(moment.year, moment.month, moment.day)

    @classmethod
    def strptime(cls, date_string: str, format: str, /) -> date:
        """The day that a text gives."""
        moment = real.datetime.strptime(date_string, format)
        return cls(moment.year, moment.month, moment.day)

    def __sub__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return _ours(real.date.__sub__(self, other))

    def __add__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return _ours(real.date.__add__(self, other))

    __radd__ = __add__


class datetime(real.datetime, date):  # noqa: N801
    """``datetime.datetime``; now is midnight of the first of January 2025, UTC, and naive times are UTC."""

    __slots__ = ()

    @classmethod
    def now(cls, tz: real.tzinfo | None = None) -> datetime:
        """The moment that every program takes for now."""
        moment = cls(*EPOCH, tzinfo=real.UTC)
        return cls._from(moment.replace(tzinfo=None) if tz is None else moment.astimezone(tz))

    @classmethod
    def today(cls) -> datetime:
        """The same moment."""
        return cls.now()

    @classmethod
    def utcnow(cls) -> datetime:
        """The same moment."""
        return cls.now()

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: real.tzinfo | None = None) -> datetime:
        """The moment of a POSIX timestamp, in UTC where no time zone is given."""
        moment = real.datetime.fromtimestamp(timestamp, tz or real.UTC)
        return cls._from(moment if tz else moment.replace(tzinfo=None))

    @classmethod
    def utcfromtimestamp(cls, timestamp: float, /) -> datetime:
        """The moment of a POSIX timestamp in UTC."""
        return cls.fromtimestamp(timestamp)

    @classmethod
    def strptime(cls, date_string: str, format: str, /) -> datetime:
        """The moment that a text gives."""
        return cls._from(real.datetime.strptime(date_string, format))

    @classmethod
    def combine(cls, date: real.date, time: real.time, tzinfo: Any = True) -> datetime:
        """A day and a time of day."""
        zone = time.tzinfo if tzinfo is True else tzinfo
        return cls._from(real.datetime.combine(date, time, zone))

    @classmethod
    def _from(cls, moment: real.datetime) -> datetime:
        return cls(
            moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond,
            moment.tzinfo, fold=moment.fold,
        )  # fmt: skip

    def date(self) -> date:
        """The day."""
        return _DATE(self.year, self.month, self.day)

    def timestamp(self) -> float:
        """The POSIX timestamp; a naive time is UTC."""
        return real.datetime.timestamp(self if self.tzinfo else self.replace(tzinfo=real.UTC))

    def astimezone(self, tz: real.tzinfo | None = None) -> datetime:
        """The same moment in another zone; a naive time is UTC."""
        aware = self if self.tzinfo else self.replace(tzinfo=real.UTC)
        return self._from(real.datetime.astimezone(aware, tz or real.UTC))

    def __sub__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return _ours(real.datetime.__sub__(self, other))

    def __add__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return _ours(real.datetime.__add__(self, other))

    __radd__ = __add__


_DATE = date


def _ours(value: Any) -> Any:
    if type(value) is real.datetime:
        return datetime._from(value)
    return date(value.year, value.month, value.day) if type(value) is real.date else value


date.min, date.max = date(1, 1, 1), date(9999, 12, 31)
datetime.min, datetime.max = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)

DATETIME = (
    Table("datetime")
    .ours("arithmetic of the calendar; now is a fixed moment, as there is no clock", date=date, datetime=datetime)
    .real("immutable value types", "time timedelta timezone tzinfo UTC")
    .real("constants", "MAXYEAR MINYEAR")
)


def gmtime(secs: float, /) -> time.struct_time:
    """``time.gmtime`` of a given number of seconds since 1970."""
    return time.gmtime(float(secs))  # gmtime(None) would read the clock


def strftime(format: str, t: Any, /) -> str:
    """``time.strftime`` of a given time tuple."""
    return time.strftime(format, t)


TIME = (
    Table("time")
    .ours("arithmetic of the calendar; the moment must be given", gmtime=gmtime, strftime=strftime)
    .real("a tuple with names, and a text read into it", "struct_time strptime")
    .refuse(
        "there is no clock, so that a replay is equal; count steps instead",
        "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns thread_time "
        "thread_time_ns clock_gettime clock_gettime_ns localtime ctime asctime mktime",
    )
    .refuse("there is nobody to wait for; leave it out", "sleep")
    .refuse("the time zone is UTC", "timezone tzname tzset altzone daylight")
    .rest("there is no clock, so that a replay is equal; count steps instead")
)


class Calendar(calendar.Calendar):
    """``calendar.Calendar``."""

    def itermonthdates(self, year: int, month: int) -> Iterable[date]:  # type: ignore[override]
        """The days of the weeks of a month."""
        for day in super().itermonthdates(year, month):
            yield date(day.year, day.month, day.day)


class TextCalendar(Calendar, calendar.TextCalendar):
    """``calendar.TextCalendar``, in English and without printing."""

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("print(calendar.formatmonth(...)) instead")

    prmonth = pryear = prweek = _refused


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def month(theyear: int, themonth: int, w: int = 0, l: int = 0) -> str:  # noqa: E741
    """``calendar.month``: a month as text."""
    return TextCalendar().formatmonth(theyear, themonth, w, l)


def whole_year(theyear: int, w: int = 2, l: int = 1, c: int = 6, m: int = 3) -> str:  # noqa: E741
    """``calendar.calendar``: a year as text."""
    return TextCalendar().formatyear(theyear, w, l, c, m)


CALENDAR = (
    Table("calendar")
    .real("numbers in, numbers out", "isleap leapdays monthcalendar monthrange timegm weekday firstweekday")
    .real("constants", "MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY")
    .real(
        "constants",
        "JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER Day Month",
        newer=True,
    )
    .real("exception classes", "IllegalMonthError IllegalWeekdayError")
    .ours("its days have no clock", Calendar=Calendar, TextCalendar=TextCalendar)
    .ours("text", month=month, calendar=whole_year)
    .ours(
        "English names, whatever the machine's language",
        day_name=_DAYS,
        day_abbr=tuple(day[:3] for day in _DAYS),
        month_name=_MONTHS,
        month_abbr=tuple(name[:3] for name in _MONTHS),
    )
    .refuse("print(calendar.month(...)) instead", "prcal prmonth weekheader")
    .refuse("a setting that all programs would share; make calendar.Calendar(firstweekday=...)", "setfirstweekday")
    .refuse("use calendar.TextCalendar", "HTMLCalendar LocaleHTMLCalendar LocaleTextCalendar")
)

TABLES = (DATETIME, TIME, CALENDAR)

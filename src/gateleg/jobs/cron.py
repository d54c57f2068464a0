"""Cron expressions of five fields, in a time zone. Pure.

The fields are minute, hour, day of the month, month and day of the week, with lists (`1,15`), ranges (`8-18`, `mon-fri`) and steps
(`*/15`). If both days are restricted, either is enough, as in cron. When clocks go back, a time that occurs twice runs once, unless the
hour field begins with `*`. When they go forward, a time that is skipped runs an hour later.

Written here instead of using cronsim or croniter: it is short, needs no dependency, and its errors name the field.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateleg.jobs.errors import BadSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
#: A leap day comes at most eight years after another.
_HORIZON_DAYS = 366 * 8


@dataclass(frozen=True)
class Cron:
    """A parsed cron expression."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    #: whether the day of the month, the day of the week and the hour were left open
    any_day: bool
    any_weekday: bool
    any_hour: bool
    zone: ZoneInfo

    def on(self, day: date) -> bool:
        """Whether the expression matches this day."""
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_day and by_weekday if self.any_day or self.any_weekday else by_day or by_weekday

    def times(self, day: date) -> Iterator[datetime]:
        """The matching times of a day, in UTC."""
        for hour in self.hours:
            for minute in self.minutes:
                local = datetime.combine(day, time(hour, minute), self.zone)
                first = local.astimezone(UTC)
                exists = first.astimezone(self.zone).replace(fold=0, tzinfo=None) == local.replace(fold=0, tzinfo=None)
                if exists or not self.any_hour:
                    yield first
                if exists and self.any_hour:
                    yield local.replace(fold=1).astimezone(UTC)

    def after(self, moment: datetime) -> datetime:
        """The first matching time after a moment. Raises `BadSchedule` if no day matches."""
        day = moment.astimezone(self.zone).date() - timedelta(days=1)
        for _ in range(_HORIZON_DAYS):
            if self.on(day):
                later = [run for run in self.times(day) if run > moment]
                if later:
                    return min(later)
            day += timedelta(days=1)
        raise BadSchedule("The schedule names a day that does not exist, such as 31 February.", fix="Correct the day or the month.")

    def latest(self, since: datetime, until: datetime) -> datetime:
        """The last time from `since`, which is one of its times, to `until`."""
        # A time that is skipped when clocks go forward may run on the day after its own.
        day, first = until.astimezone(self.zone).date(), since.astimezone(self.zone).date() - timedelta(days=1)
        while day >= first:
            days = [candidate for candidate in (day, day - timedelta(days=1)) if self.on(candidate)]
            past = [run for candidate in days for run in self.times(candidate) if since <= run <= until]
            if past:
                return max(past)
            day -= timedelta(days=1)
        return since


def parse_cron(text: str, timezone: str = "UTC") -> Cron:
    """Parse an expression such as `*/15 8-18 * * mon-fri`, or `@daily`. Raises `BadSchedule` if it or the time zone is invalid."""
    fields = _NICKNAMES.get(text.strip().lower(), text).split()
    if len(fields) != 5:
        raise BadSchedule(f"{text!r} has {len(fields)} {'field' if len(fields) == 1 else 'fields'}, and cron needs five.")
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadSchedule(f"There is no time zone {timezone!r}.", fix="Name one such as Europe/Berlin.") from None
    minute, hour, day, month, weekday = (field.lower() for field in fields)
    weekdays = _field(text, "weekday", weekday, 0, 7, _DAYS, 0)
    return Cron(
        minutes=_field(text, "minute", minute, 0, 59),
        hours=_field(text, "hour", hour, 0, 23),
        days=_field(text, "day", day, 1, 31),
        months=_field(text, "month", month, 1, 12, _MONTHS, 1),
        weekdays=frozenset(number % 7 for number in weekdays),
        any_day=day.startswith("*"),
        any_weekday=weekday.startswith("*"),
        any_hour=hour.startswith("*"),
        zone=zone,
    )


def _field(whole: str, name: str, text: str, low: int, high: int, names: tuple[str, ...] = (), first: int = 0) -> frozenset[int]:
    """The numbers that one field of an expression matches. `whole` and `name` are for error messages."""
    numbers: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        begin, dash, end = span.partition("-")
        if span == "*":
            start, stop = low, high
        else:
            start = _number(whole, name, begin, names, first)
            # As in cron, `5/10` means from 5 on.
            stop = _number(whole, name, end, names, first) if dash else (high if step else start)
        width = _number(whole, name, step, (), 0) if step else 1
        if not low <= start <= stop <= high or width < 1 or ("/" in part and not step):
            raise BadSchedule(f"The {name} {part!r} of {whole!r} is outside {low} to {high}, or goes backwards.")
        numbers |= set(range(start, stop + 1, width))
    return frozenset(numbers)


def _number(whole: str, name: str, text: str, names: tuple[str, ...], first: int) -> int:
    if text in names:
        return names.index(text) + first
    if not text.isascii() or not text.isdigit() or len(text) > 4:
        raise BadSchedule(f"The {name} of {whole!r} has {text!r}, which is not a number.")
    return int(text)

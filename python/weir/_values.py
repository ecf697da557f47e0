"""Values of Arrow that Python has no exact type for, and Python's values as parameters of statements."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

__all__ = ["Duration", "Interval", "Timestamp"]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_NS = 1_000_000_000


class Timestamp(dt.datetime):
    """An instant with its nanoseconds: a datetime, whose last three digits are in ``nanosecond``.

    >>> from weir import Timestamp
    >>> at = Timestamp.from_ns(1_328_821_153_010_000_001)
    >>> str(at)
    '2012-02-09 20:59:13.010000001+00:00'
    >>> at.ns
    1328821153010000001
    """

    _nanosecond: int

    @classmethod
    def from_ns(cls, ns: int, tz: dt.tzinfo | None = dt.timezone.utc) -> Timestamp:
        """The instant so many nanoseconds after 1970-01-01; without a zone a time of the clock."""
        micros, rest = divmod(ns, 1000)
        at = _EPOCH + dt.timedelta(microseconds=micros)
        at = at.replace(tzinfo=None) if tz is None else at.astimezone(tz)
        made = cls(
            at.year,
            at.month,
            at.day,
            at.hour,
            at.minute,
            at.second,
            at.microsecond,
            at.tzinfo,
            fold=at.fold,
        )
        made._nanosecond = rest
        return made

    @property
    def nanosecond(self) -> int:
        """The nanoseconds beyond the microseconds: 0 to 999."""
        return getattr(self, "_nanosecond", 0)

    @property
    def ns(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""
        at = self if self.tzinfo is not None else dt.datetime.replace(self, tzinfo=dt.timezone.utc)
        since = dt.datetime.__sub__(at, _EPOCH)
        micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        return micros * 1000 + self.nanosecond

    def __str__(self) -> str:
        return self.isoformat(" ")

    def __repr__(self) -> str:
        return f"Timestamp({str(self)!r})"

    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        """As of a datetime, with nine digits of the second where there are nanoseconds."""
        if timespec != "auto" or not self.nanosecond:
            return super().isoformat(sep, timespec)
        plain = super().isoformat(sep, "microseconds")
        # The zone follows the six digits of the microseconds.
        end = plain.index(".") + 7
        return f"{plain[:end]}{self.nanosecond:03}{plain[end:]}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Timestamp):
            return dt.datetime.__eq__(self, other) and self.nanosecond == other.nanosecond
        return bool(dt.datetime.__eq__(self, other)) and not self.nanosecond

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__() if not self.nanosecond else hash((super().__hash__(), self.nanosecond))

    def __lt__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        return (dt.datetime.__lt__(self, other)) or (
            dt.datetime.__eq__(self, other) and self.nanosecond < _nanosecond(other)
        )

    def __gt__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        return (dt.datetime.__gt__(self, other)) or (
            dt.datetime.__eq__(self, other) and self.nanosecond > _nanosecond(other)
        )

    def __le__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        return not self > other

    def __ge__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        return not self < other

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _timestamp_of, (self.ns, self.tzinfo)


def _nanosecond(value: dt.datetime) -> int:
    return value.nanosecond if isinstance(value, Timestamp) else 0


def _timestamp_of(ns: int, tz: dt.tzinfo | None) -> Timestamp:
    return Timestamp.from_ns(ns, tz)


class Duration(dt.timedelta):
    """A length of time with its nanoseconds: ``ns`` has all of it.

    >>> from weir import Duration
    >>> Duration.from_ns(1_500).ns
    1500
    """

    _ns: int

    @classmethod
    def from_ns(cls, ns: int) -> Duration:
        """So many nanoseconds."""
        made = cls(microseconds=ns // 1000)
        made._ns = ns
        return made

    @property
    def ns(self) -> int:
        """Nanoseconds."""
        micros = (self.days * 86_400 + self.seconds) * 1_000_000 + self.microseconds
        return getattr(self, "_ns", micros * 1000)

    def __repr__(self) -> str:
        return f"Duration.from_ns({self.ns})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Duration):
            return self.ns == other.ns
        return bool(dt.timedelta.__eq__(self, other)) and self.ns % 1000 == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__() if self.ns % 1000 == 0 else hash(("ns", self.ns))

    def __reduce__(self) -> tuple[Any, ...]:
        return Duration.from_ns, (self.ns,)


class Interval(NamedTuple):
    """An interval of SQL, whose months and days have no fixed length."""

    months: int
    days: int
    nanoseconds: int


def _zone(name: str) -> dt.tzinfo:
    if name in ("UTC", "+00:00", "Z"):
        return dt.timezone.utc
    if name[:1] in "+-" and len(name) >= 6:
        offset = dt.timedelta(hours=int(name[1:3]), minutes=int(name[4:6]))
        return dt.timezone(-offset if name[0] == "-" else offset)
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def timestamp(ns: int, zone: str | None) -> Timestamp:
    """An instant of the native half."""
    return Timestamp.from_ns(ns, None if zone is None else _zone(zone))


def duration(ns: int) -> Duration:
    """A duration of the native half."""
    return Duration.from_ns(ns)


def date(days: int) -> dt.date:
    """A day of the native half."""
    return dt.date(1970, 1, 1) + dt.timedelta(days=days)


def time(ns: int) -> dt.time | str:
    """A time of day of the native half; as text when it has nanoseconds."""
    seconds, rest = divmod(ns, _NS)
    micros, nanos = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    if nanos:
        return f"{hour:02}:{minute:02}:{second:02}.{rest:09}"
    return dt.time(hour, minute, second, micros)


def decimal(digits: int, scale: int) -> Decimal:
    """A decimal of the native half."""
    sign, magnitude = (1, -digits) if digits < 0 else (0, digits)
    return Decimal((sign, tuple(int(digit) for digit in str(magnitude)), -scale))


def of_parameter(value: object) -> tuple[str, object]:
    """What a value is in SQL: a time, a list, or something plain."""
    if isinstance(value, Timestamp):
        exact = value if value.tzinfo is None else Timestamp.from_ns(value.ns)
        return "time", exact.isoformat()
    if isinstance(value, dt.datetime):
        at = value if value.tzinfo is None else value.astimezone(dt.timezone.utc)
        # Of pandas, too: its instants say their nanoseconds.
        nanos = getattr(value, "nanosecond", 0)
        if isinstance(nanos, int) and nanos:
            plain = at.replace(tzinfo=None)
            digits = dt.datetime.isoformat(plain, "T", "microseconds")[:26] + f"{nanos:03}"
            return "time", digits + ("" if value.tzinfo is None else "+00:00")
        return "time", dt.datetime.isoformat(at)
    if isinstance(
        value,
        (
            ipaddress.IPv4Address,
            ipaddress.IPv6Address,
            ipaddress.IPv4Network,
            ipaddress.IPv6Network,
        ),
    ):
        return "plain", str(value)
    if isinstance(value, os.PathLike):
        return "plain", os.fspath(value)
    if isinstance(value, memoryview):
        return "plain", bytes(value)
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        # One of numpy's numbers.
        return "plain", item()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict)):
        return "list", list(value)
    return "none", None

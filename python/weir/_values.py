"""Values of Arrow that Python has no exact type for, and Python's values as parameters of statements."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import re
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
        return _of(at, rest)

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
        equal = dt.datetime.__eq__(self, other)
        if equal is NotImplemented:
            return NotImplemented
        return equal and self.nanosecond == _nanosecond(other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return super().__hash__() if not self.nanosecond else hash((super().__hash__(), self.nanosecond))

    def __lt__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        less = dt.datetime.__lt__(self, other)
        if less is NotImplemented:
            return NotImplemented
        return less or (
            dt.datetime.__eq__(self, other) and self.nanosecond < _nanosecond(other)
        )

    def __gt__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        more = dt.datetime.__gt__(self, other)
        if more is NotImplemented:
            return NotImplemented
        return more or (
            dt.datetime.__eq__(self, other) and self.nanosecond > _nanosecond(other)
        )

    def __le__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        more = self.__gt__(other)
        return NotImplemented if more is NotImplemented else not more

    def __ge__(self, other: dt.datetime) -> bool:  # type: ignore[override]
        less = self.__lt__(other)
        return NotImplemented if less is NotImplemented else not less

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, dt.timedelta):
            return NotImplemented
        micros, rest = divmod(self.nanosecond + _nanoseconds(other), 1000)
        return _of(dt.datetime.__add__(self, dt.timedelta(microseconds=micros)), rest)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, dt.datetime):
            since = dt.datetime.__sub__(self, other)
            return Duration.from_ns(_nanoseconds(since) + self.nanosecond - _nanosecond(other))
        if isinstance(other, dt.timedelta):
            return self + Duration.from_ns(-_nanoseconds(other))
        return NotImplemented

    def __rsub__(self, other: Any) -> Any:
        if not isinstance(other, dt.datetime):
            return NotImplemented
        since = dt.datetime.__sub__(other, self)
        return Duration.from_ns(_nanoseconds(since) + _nanosecond(other) - self.nanosecond)

    def astimezone(self, tz: dt.tzinfo | None = None) -> Timestamp:
        """The same instant in another zone."""
        return _of(super().astimezone(tz), self.nanosecond)

    def replace(self, *args: Any, **fields: Any) -> Timestamp:
        """With other fields; the nanoseconds stay, unless the microsecond is another."""
        is_other = len(args) > _MICROSECOND or "microsecond" in fields
        return _of(super().replace(*args, **fields), 0 if is_other else self.nanosecond)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _timestamp_of, (self.ns, self.tzinfo)


# The place of the microsecond among the fields of a datetime.
_MICROSECOND = 6


def _nanosecond(value: object) -> int:
    """The nanoseconds beyond the microseconds: pandas has them, too."""
    found = getattr(value, "nanosecond", 0)
    return found if isinstance(found, int) else 0


def _nanoseconds(value: dt.timedelta) -> int:
    """All of a length of time."""
    if isinstance(value, Duration):
        return value.ns
    return ((value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds) * 1000


def _of(at: dt.datetime, nanosecond: int) -> Timestamp:
    """An instant with its nanoseconds."""
    made = Timestamp(
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
    made._nanosecond = nanosecond
    return made


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

    def total_seconds(self) -> float:
        """Seconds, with as many digits as a float has."""
        return self.ns / _NS

    def __repr__(self) -> str:
        return f"Duration.from_ns({self.ns})"

    def __str__(self) -> str:
        rest = self.ns % 1000
        plain = super().__str__()
        if not rest:
            return plain
        return f"{plain}{rest:03}" if self.microseconds else f"{plain}.000000{rest:03}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dt.timedelta):
            return NotImplemented
        return self.ns == _nanoseconds(other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal

    def __lt__(self, other: Any) -> bool:
        return self.ns < _nanoseconds(other) if isinstance(other, dt.timedelta) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.ns > _nanoseconds(other) if isinstance(other, dt.timedelta) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.ns <= _nanoseconds(other) if isinstance(other, dt.timedelta) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.ns >= _nanoseconds(other) if isinstance(other, dt.timedelta) else NotImplemented

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, dt.timedelta):
            return NotImplemented
        return Duration.from_ns(self.ns + _nanoseconds(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, dt.timedelta):
            return NotImplemented
        return Duration.from_ns(self.ns - _nanoseconds(other))

    def __rsub__(self, other: Any) -> Any:
        if not isinstance(other, dt.timedelta):
            return NotImplemented
        return Duration.from_ns(_nanoseconds(other) - self.ns)

    def __neg__(self) -> Duration:
        return Duration.from_ns(-self.ns)

    def __abs__(self) -> Duration:
        return Duration.from_ns(abs(self.ns))

    def __mul__(self, other: Any) -> Any:
        return Duration.from_ns(self.ns * other) if isinstance(other, int) else super().__mul__(other)

    __rmul__ = __mul__

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
    found = re.fullmatch(r"([+-])(\d\d)(?::?(\d\d))?", name)
    if found:
        offset = dt.timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return dt.timezone(-offset if found[1] == "-" else offset)
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


def _is_missing(value: object) -> bool:
    """NaT and NA of pandas, and NaT of numpy, which are NULL."""
    return type(value).__name__ in ("NaTType", "NAType") or (
        type(value).__name__ == "datetime64" and str(value) == "NaT"
    )


def _of_numpy(value: Any) -> str:
    """An instant of numpy as text, with nine digits of the second where it has them."""
    unit = "us" if value.dtype.name in _COARSE else "ns"
    return str(value.astype(f"datetime64[{unit}]"))


# Instants of numpy whose years may be beyond those that nanoseconds have.
_COARSE = frozenset(f"datetime64[{unit}]" for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us"))


def of_parameter(value: object) -> tuple[str, object]:
    """What a value is in SQL: a time, a decimal, a list, or something plain."""
    if _is_missing(value):
        return "plain", None
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
    if isinstance(value, dt.date):
        return "time", value.isoformat()
    if isinstance(value, Decimal):
        return ("decimal", format(value, "f")) if value.is_finite() else ("plain", float(value))
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
        # One of numpy's: its instants are numbers where Python's have no room for their digits.
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        if kind == "M":
            return "time", _of_numpy(value)
        return ("none", None) if kind == "m" else ("plain", item())
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict)):
        return "list", list(value)
    return "none", None

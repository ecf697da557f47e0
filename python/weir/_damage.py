"""What was found damaged, and how Python is told."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

__all__ = ["Damage", "DamageWarning", "Fault"]


def _log(message: str) -> None:
    """Says something to the logger ``weir``; what says nothing does not wait for `logging`."""
    import logging

    logging.getLogger("weir").info("%s", message)


class DamageWarning(UserWarning):
    """A file is damaged, or holds what is not decoded: the rows up to there were given."""


@dataclass(frozen=True)
class Fault:
    """One damaged place: the file, and what is wrong where."""

    path: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


@dataclass(frozen=True)
class Damage:
    """What was found damaged while a result was read. It is false when nothing was.

    ``complete`` says whether the result has been read to its end: before that, what is damaged behind
    is not known yet.
    """

    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    records: int = 0
    bytes: int = 0
    stopped: int = 0
    unknown_link: int = 0
    complete: bool = False

    def __bool__(self) -> bool:
        return bool(self.faults) or self.unknown_link > 0

    def __str__(self) -> str:
        lines = [str(fault) for fault in self.faults]
        lines.extend(self._remarks())
        lines.extend(self.notes)
        if not self.complete:
            lines.append("the result has not been read to its end")
        return "\n".join(lines) or f"{self.records} records, none damaged"

    def _remarks(self) -> list[str]:
        remarks = []
        if self.unknown_link:
            remarks.append(
                f"{self.unknown_link} of {self.records} records have a link type that is not decoded; "
                "SELECT frame.link_type, count(*) … GROUP BY 1 shows which"
            )
        stopped = self.stopped - self.unknown_link
        if stopped > 0:
            remarks.append(
                f"{stopped} of {self.records} records are cut or damaged inside and decoded as far as "
                "they go; frame.stopped says why"
            )
        return remarks


def _of(
    faults: list[tuple[str, str, str | None]],
    notes: list[str],
    records: int,
    octets: int,
    stopped: int,
    unknown_link: int,
    complete: bool,
) -> Damage:
    found = [Fault(*fault) for fault in faults]
    return Damage(found, notes, records, octets, stopped, unknown_link, complete)


def _ended(
    faults: list[tuple[str, str, str | None]],
    notes: list[str],
    records: int,
    octets: int,
    stopped: int,
    unknown_link: int,
    complete: bool,
) -> None:
    """The native half calls it when a result has come to its end."""
    damage = _of(faults, notes, records, octets, stopped, unknown_link, complete)
    for note in damage.notes:
        _log(note)
    remarks = damage._remarks()
    if damage.unknown_link:
        warnings.warn(remarks.pop(0), DamageWarning, stacklevel=4)
    for remark in remarks:
        _log(remark)
    shown = damage.faults[:_SHOWN]
    for fault in shown:
        warnings.warn(str(fault), DamageWarning, stacklevel=4)
    if len(damage.faults) > len(shown):
        more = len(damage.faults) - len(shown)
        warnings.warn(
            f"{more} more damaged places: Result.damage has all", DamageWarning, stacklevel=4
        )


# Damaged places that are told one by one.
_SHOWN = 10

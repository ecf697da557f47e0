"""SIP Common Log Format (RFC 6873): written, searched in SQL, converted.

>>> import os, tempfile, weir
>>> folder = tempfile.TemporaryDirectory()
>>> path = os.path.join(folder.name, "calls.clf")
>>> with weir.clf.create(path) as log:
...     log.write(
...         b"OPTIONS sip:a@b.example SIP/2.0\\r\\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\\r\\n"
...         b"From: <sip:c@d.example>;tag=1\\r\\nTo: <sip:a@b.example>\\r\\nCall-ID: 7\\r\\n"
...         b"CSeq: 1 OPTIONS\\r\\nMax-Forwards: 70\\r\\n\\r\\n",
...         time_ns=1_328_821_153_010_000_000,
...         source="10.0.0.1:5060",
...     )
>>> weir.clf.open(path).agg("count(*)").fetchall()
[(1,)]
>>> folder.cleanup()
"""

from __future__ import annotations

import builtins
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from weir import _weir

if TYPE_CHECKING:
    from weir._relation import Relation

__all__ = ["Converted", "Form", "Log", "convert", "create", "open"]

#: The forms of a log: RFC 6873, the two drafts of 2009, and a JSON object a line.
Form = Literal["rfc6873", "text", "binary", "json"]


class Log:
    """A log while it is written: it goes on where it ended, and is closed by ``with`` or :meth:`close`."""

    def __init__(self, writer: _weir.ClfWriter) -> None:
        self._writer = writer
        self.losses: dict[str, int] = {}

    def write(
        self,
        message: bytes | str,
        *,
        time_ns: int | None = None,
        source: str | None = None,
        destination: str | None = None,
    ) -> None:
        """Appends the record of a SIP message; ``source`` and ``destination`` are ``10.0.0.1:5060``."""
        octets = message.encode() if isinstance(message, str) else bytes(message)
        at = time.time_ns() if time_ns is None else time_ns
        self._writer.write(octets, at, source, destination)

    def close(self) -> None:
        """Writes what is still held back; ``losses`` then says what the form had no place for."""
        self.losses.update(self._writer.close())

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create(
    path: str | os.PathLike[str],
    *,
    form: Form = "rfc6873",
    headers: builtins.list[str] | None = None,
    body: bool = False,
    message: bool = False,
    index: bool = True,
) -> Log:
    """A log to write into: one that is there goes on. ``headers``, ``body`` and ``message`` are logged beside the
    mandatory fields; ``index`` writes the sidecar that searches use."""
    writer = _weir.ClfWriter(path, form, headers or [], body, message, index)
    return Log(writer)


def open(*paths: str | os.PathLike[str]) -> Relation:
    """Logs of any form, with all their segments, as a relation: filter, select and group it."""
    from weir._relation import Capture

    if not paths:
        raise ValueError("no log is named")
    return Capture([os.fspath(path) for path in paths], {}, None).table("clf")


@dataclass(frozen=True)
class Converted:
    """What a conversion came to."""

    records: int
    losses: dict[str, int]
    damage: builtins.list[tuple[int, str]]


def convert(source: str | os.PathLike[str], target: str | os.PathLike[str], form: Form) -> Converted:
    """Writes a log in another form; the file takes its name when it is whole."""
    records, losses, damage = _weir.clf_convert(source, target, form)
    return Converted(records, dict(losses), damage)

"""Megaco (H.248) messages in any encoding: text, BER, PER, Erlang's external term format.

>>> from weir import h248
>>> message = h248.decode(b"!/1 [124.124.124.222]:55555\\nP=9999{C=-{MF=11111111/00000000/00000000}}")
>>> message.encoding
'compact'
>>> octets = message.encode("ber")
>>> h248.decode(octets) == message
True
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from weir import _weir
from weir._h248_records import Choice, of_term, records, to_term

__all__ = [
    "Choice",
    "Comparison",
    "Encoding",
    "Finding",
    "Message",
    "check",
    "compare",
    "convert",
    "decode",
    "detect",
    "encode",
    "records",
]

#: The encodings that messages are written in.
Encoding = Literal["pretty", "compact", "ber", "per", "erl", "erl-mc", "erl-z", "erl-mc-z"]


class Message:
    """A message, whatever it was encoded in. Two are equal when they say the same."""

    def __init__(
        self, octets: bytes, encoding: str | None = None, strict: bool = False, native: bool = False
    ) -> None:
        self._octets = bytes(octets)
        self._how = (encoding, strict, native)
        self._json = _weir.h248_show(self._octets, encoding, strict, native, "json")

    @property
    def octets(self) -> bytes:
        """The message as it came."""
        return self._octets

    @property
    def encoding(self) -> str | None:
        """The encoding that it came in."""
        return self._how[0] or _weir.h248_detect(self._octets)

    @property
    def value(self) -> dict[str, Any]:
        """The message as dictionaries and lists."""
        return cast("dict[str, Any]", json.loads(self._json))

    @property
    def record(self) -> Any:
        """The message as a ``MegacoMessage`` of :data:`records`: a dataclass for each record of the ASN.1, to look into
        and to change. An alternative of a choice is a :class:`Choice`, octets are ``bytes``, words ``str``, and what is
        not there is ``None``. :func:`encode` is the way back.

        >>> from weir import h248
        >>> message = h248.decode(b"!/1 [10.0.0.1] T=1{C=-{AV=ROOT{AT{M}}}}").record
        >>> message.mess.version, message.mess.body.name
        (1, 'transactions')
        >>> message.mess.body.value[0].value.id = 7
        >>> h248.encode(message)
        b'!/1 [10.0.0.1]\\nT=7{C=-{AV=ROOT{AT{M}}}}'
        """
        return of_term(self.encode("erl"))

    def text(self, style: Literal["pretty", "compact"] = "pretty") -> str:
        """The message as text, with long or short words."""
        return _weir.h248_show(self._octets, *self._how, style)

    def tree(self) -> str:
        """All values of the message, one below the other."""
        return _weir.h248_show(self._octets, *self._how, "tree")

    def encode(self, encoding: Encoding, *, erlang: bool = False) -> bytes:
        """The message in an encoding; ``erlang`` writes text as Erlang's megaco does."""
        return _weir.h248_convert(self._octets, encoding, *self._how, erlang)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<weir.h248.Message {self.text('compact')!r}>"


def decode(
    octets: bytes, encoding: Encoding | None = None, *, strict: bool = False, native: bool = False
) -> Message:
    """Decodes a message; its encoding is found by content, unless it is named. ``strict`` insists on what the
    standard says about text; ``native`` leaves names of binary encodings as the numbers that they are.

    Raises :class:`weir.DecodeError`, which says where.
    """
    return Message(octets, encoding, strict, native)


def encode(record: Any, encoding: Encoding = "compact", *, erlang: bool = False) -> bytes:
    """A message of dataclasses in an encoding: see :attr:`Message.record`.

    Raises :class:`weir.DecodeError` for a message that cannot be, and ``TypeError`` or ``ValueError`` for what is none.
    """
    return decode(to_term(record), "erl").encode(encoding, erlang=erlang)


def detect(octets: bytes) -> str | None:
    """The encoding that octets begin like; ``None`` for none.

    >>> from weir import h248
    >>> h248.detect(b"MEGACO/1 [10.0.0.1]")
    'pretty'
    """
    return _weir.h248_detect(octets)


def convert(octets: bytes, to: Encoding, *, erlang: bool = False) -> bytes:
    """A message in another encoding.

    >>> from weir import h248
    >>> h248.convert(b"!/1 [10.0.0.1] T=1{C=-{AV=ROOT{AT{M}}}}", "pretty")[:8]
    b'MEGACO/1'
    """
    return _weir.h248_convert(octets, to, None, False, False, erlang)


@dataclass(frozen=True)
class Finding:
    """Something about a message that is not as it should be."""

    severity: Literal["error", "warning"]
    message: str
    offset: int | None

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"


def check(octets: bytes) -> list[Finding]:
    """What does not keep to the standard, and where."""
    return [
        Finding("error" if is_error else "warning", message, offset)
        for is_error, message, offset in _weir.h248_check(octets)
    ]


class Comparison:
    """What messages cost in every encoding: octets, and nanoseconds to encode and to decode."""

    def __init__(self, value: dict[str, Any], table: str, page: str) -> None:
        self.value = value
        self._table = table
        self._page = page

    def html(self) -> str:
        """A page with the plots."""
        return self._page

    def __str__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self._table)}</pre>"


def compare(
    messages: Mapping[str, bytes] | Iterable[bytes | Message], *, microseconds: int = 200
) -> Comparison:
    """Measures messages in every encoding; one measurement lasts ``microseconds`` at least."""
    named: list[tuple[str, bytes]] = []
    if isinstance(messages, Mapping):
        named = [(str(name), bytes(octets)) for name, octets in messages.items()]
    else:
        for number, message in enumerate(messages, 1):
            octets = message.octets if isinstance(message, Message) else bytes(message)
            named.append((str(number), octets))
    value, table, page = _weir.h248_compare(named, microseconds)
    return Comparison(json.loads(value), table, page)

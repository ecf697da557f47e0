"""SIP messages in their parts, and calls as ladders.

>>> from weir import sip
>>> message = sip.parse(
...     b"INVITE sip:bob@biloxi.example SIP/2.0\\r\\n"
...     b"Via: SIP/2.0/UDP pc33.atlanta.example;branch=z9hG4bK776asdhds\\r\\n"
...     b"From: Alice <sip:alice@atlanta.example>;tag=1928301774\\r\\n"
...     b"To: Bob <sip:bob@biloxi.example>\\r\\nMax-Forwards: 70\\r\\n"
...     b"Call-ID: a84b4c76e66710\\r\\nCSeq: 314159 INVITE\\r\\nContent-Length: 0\\r\\n\\r\\n"
... )
>>> message.method, message.from_.user, message.header("call-id")
('INVITE', 'alice', 'a84b4c76e66710')
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from weir import _weir
from weir._errors import RunError

__all__ = ["Address", "CSeq", "Fault", "Ladder", "Message", "Via", "ladder", "parse"]


@dataclass(frozen=True)
class Address:
    """What From and To say."""

    display: str
    uri: str
    user: str | None
    host: str
    tag: str | None


@dataclass(frozen=True)
class CSeq:
    """Number and method of a CSeq."""

    number: int
    method: str


@dataclass(frozen=True)
class Via:
    """One element of Via."""

    transport: str
    host: str
    port: int | None
    branch: str | None


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a message, and the octet where."""

    severity: str
    message: str
    offset: int


@dataclass(frozen=True)
class Message:
    """A request (``method``, ``uri``) or a response (``status``, ``reason``)."""

    method: str | None
    uri: str | None
    status: int | None
    reason: str | None
    version: str
    headers: list[tuple[str, str]]
    from_: Address | None
    to: Address | None
    call_id: str | None
    cseq: CSeq | None
    vias: list[Via]
    content_type: str | None
    body: bytes
    faults: list[Fault]

    @property
    def is_request(self) -> bool:
        """True for a request."""
        return self.method is not None

    def header(self, name: str) -> str | None:
        """The value of the first header of this name, without regard to case."""
        wanted = name.lower()
        return next((value for known, value in self.headers if known.lower() == wanted), None)


def parse(message: bytes | str, *, strict: bool = False) -> Message:
    """Takes a message apart. As much is understood as can be: what is wrong is in ``faults``, or, with
    ``strict``, a :class:`weir.DecodeError`, as is what is no SIP message at all."""
    octets = message.encode() if isinstance(message, str) else bytes(message)
    parts = _weir.sip_parse(octets, strict)

    def address(value: tuple[str, str, str | None, str, str | None] | None) -> Address | None:
        return None if value is None else Address(*value)

    cseq = parts["cseq"]
    return Message(
        method=parts.get("method"),
        uri=parts.get("uri"),
        status=parts.get("status"),
        reason=parts.get("reason"),
        version=parts["version"],
        headers=parts["headers"],
        from_=address(parts["from"]),
        to=address(parts["to"]),
        call_id=parts["call_id"],
        cseq=None if cseq is None else CSeq(*cseq),
        vias=[Via(*via) for via in parts["vias"]],
        content_type=parts["content_type"],
        body=parts["body"],
        faults=[
            Fault("error" if is_error else "note", text, offset)
            for is_error, text, offset in parts["faults"]
        ],
    )


class Ladder:
    """The messages of a call, drawn; a notebook shows it."""

    def __init__(self, text: str, svg: str, page: str) -> None:
        self._text = text
        self._svg = svg
        self._page = page

    def __repr__(self) -> str:
        return "<weir.sip.Ladder>"

    def svg(self) -> str:
        """The drawing as SVG."""
        return self._svg

    def html(self) -> str:
        """A page with the drawing."""
        return self._page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page (``.html``), an image (``.svg``) or text."""
        name = os.fspath(path)
        drawn = self._text
        if name.endswith((".html", ".htm")):
            drawn = self._page
        elif name.endswith(".svg"):
            drawn = self._svg
        with open(name, "w", encoding="utf-8") as file:
            file.write(drawn)

    def __str__(self) -> str:
        return self._text

    def _repr_svg_(self) -> str:
        return self._svg


_STEPS = """\
SELECT frame.time, addr.src, port.src, addr.dst, port.dst, sip.method, sip.status_code,
sip.reason_phrase, sip.cseq.seq, sip.cseq.method, sip.resend,
lower(sip.content_type) LIKE 'application/sdp%' AND sip.msg_body IS NOT NULL,
frame.number, coalesce(sip.request_line, sip.status_line), sip.msg_hdr, sip.msg_body
FROM sip($files{merge}) WHERE sip.call_id = $call_id"""

_MEDIA = """\
SELECT media.start, addr.src, port.src, addr.dst, port.dst, media.protocol, media.codec,
media.lost_percent, media.mos
FROM media($files{merge}) WHERE sip.call_id = $call_id"""


def ladder(source: Any, call_id: str) -> Ladder:
    """Draws a call as a ladder: a column for each address and port, an arrow for each message, a bar for each
    stream of sound, of video and of a fax, with loss and MOS.

    ``source`` is a capture of :func:`weir.open`, or what that takes; several files are merged in the
    order of time.
    """
    from weir._connection import sql
    from weir._relation import Capture
    from weir._relation import open as open_capture

    capture = source if isinstance(source, Capture) else open_capture(source)
    merge = ", merge => true" if len(capture.paths) > 1 else ""

    def ask(statement: str) -> list[tuple[Any, ...]]:
        return sql(statement.format(merge=merge), files=capture.paths, call_id=call_id).fetchall()

    rows = ask(_STEPS)
    if not rows:
        raise RunError(
            f"no SIP message with Call-ID {call_id!r}", "capture.calls().select('sip.call_id') lists them"
        )
    steps = []
    for time, src, sport, dst, dport, method, status, reason, seq, of, resend, sdp, frame, line, head, body in rows:
        steps.append(
            (
                None if time is None else time.ns,
                _socket(src, sport),
                _socket(dst, dport),
                method,
                # A status line without a code of three digits has the code 0, as in ``parse``.
                (status or 0, reason or "") if method is None else None,
                None if seq is None else (seq, of or ""),
                bool(sdp),
                bool(resend),
                frame,
                None if line is None else f"{line}\n{(head or '').rstrip()}\n\n{body or ''}",
            )
        )
    media = [
        (None if start is None else start.ns, src, sport, dst, dport, protocol, codec, lost, mos)
        for start, src, sport, dst, dport, protocol, codec, lost, mos in ask(_MEDIA)
    ]
    return Ladder(*_weir.sip_ladder(f"Call-ID {call_id}", steps, media))


def _socket(address: str | None, port: int | None) -> str:
    """The heading of a column."""
    shown = address or "?"
    if port is None:
        return shown
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"

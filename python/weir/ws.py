"""WebSocket compression: which permessage-deflate settings fit these messages and this memory.

>>> from weir import ws
>>> messages = ['{"type":"msg","sender":"ann","text":"good morning"}'] * 50
>>> advice = ws.advise(messages, connections=1_000_000, memory="20g")
>>> advice.value["chosen"] is not None
True
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterable
from typing import Any, Union

from weir import _plot, _weir
from weir._connection import _bytes
from weir._plot import Plot
from weir._relation import Capture

__all__ = ["Advice", "Study", "advise", "study"]

#: A message: text or octets; or a tuple of its connection's number, whether the server sent it, and the message.
Given = Union[str, bytes, "tuple[int, bool | None, str | bytes]"]


def _typed(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class Study:
    """Sizes with every setting, for each direction and kind of message."""

    def __init__(self, value: dict[str, Any], table: str) -> None:
        self.value = value
        self._table = table

    def rows(self) -> list[dict[str, str]]:
        """A row for each setting, as text."""
        return list(csv.DictReader(io.StringIO(self._table)))

    def table(self) -> list[dict[str, Any]]:
        """A row for each setting, as numbers."""
        return [{name: _typed(value) for name, value in row.items()} for row in self.rows()]

    def plot(self) -> Plot:
        """What every setting of all messages together costs in memory a connection, and what it leaves of them."""
        values = [
            {
                "memory": (row["deflate_bytes"] + row["inflate_idle_bytes"]) / 1024,
                "ratio": row["ratio"],
                "takeover": "takeover" if row["takeover"] else "no takeover",
                "window bits": row["window_bits"],
                "level": row["level"],
                "memLevel": row["mem_level"],
            }
            for row in self.table()
            if row["direction"] == "all" and row["kind"] == "all"
        ]
        told = ["memory", "ratio", "takeover", "window bits", "level", "memLevel"]
        spec = {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "width": 640,
            "height": 300,
            "data": {"values": values},
            "mark": {"type": "point", "tooltip": True},
            "encoding": {
                "x": {"field": "memory", "type": "quantitative", "title": "KiB per connection"},
                "y": {
                    "field": "ratio",
                    "type": "quantitative",
                    "title": "compressed to",
                    "axis": {"format": "%"},
                },
                "color": {"field": "window bits", "type": "ordinal"},
                "shape": {"field": "takeover", "type": "nominal"},
                "tooltip": [{"field": name} for name in told],
            },
        }
        return Plot("points", spec)

    def _repr_html_(self) -> str:
        wanted = {"direction": "all", "kind": "all", "level": "6", "mem_level": "8"}
        rows = [
            row for row in self.rows() if all(row[name] == value for name, value in wanted.items())
        ]
        return _plot.table(rows) + f"<p>level 6, memLevel 8; {len(self.rows())} settings in all</p>"

    def to_csv(self) -> str:
        """A line for each setting."""
        return self._table

    def __repr__(self) -> str:
        return f"<weir.ws.Study of {len(self.rows())} rows>"


class Advice:
    """One setting, and why; a notebook shows the report with its plots."""

    def __init__(self, value: dict[str, Any], page: str) -> None:
        self.value = value
        self._page = page

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        return str(self.value["reason"])

    def html(self) -> str:
        """The report as a page."""
        return self._page

    def __str__(self) -> str:
        return self.reason

    def table(self) -> list[dict[str, Any]]:
        """The settings that no other beats: the first in memory, the next in size."""
        return [dict(row) for row in self.value["front"]]

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self._page)}" width="100%" height="600"></iframe>'


def _given(messages: Iterable[Given] | Capture) -> list[tuple[int, bool | None, bool, bytes]]:
    if isinstance(messages, Capture):
        return [
            (connection, way == "to_client", kind == "text", text.encode() if text else octets or b"")
            for connection, way, kind, text, octets in messages.websocket()
            .filter("websocket.type IN ('text', 'binary') AND websocket.whole")
            .select(*_COLUMNS)
            .fetchall()
        ]
    given = []
    for message in messages:
        connection, from_server, payload = (
            message if isinstance(message, tuple) else (0, None, message)
        )
        is_text = isinstance(payload, str)
        octets = payload.encode() if isinstance(payload, str) else bytes(payload)
        given.append((connection, from_server, is_text, octets))
    return given


# What of a capture's messages is studied.
_COLUMNS = (
    "websocket.connection",
    "websocket.direction",
    "websocket.type",
    "websocket.payload.text",
    "websocket.payload.binary",
)


def study(messages: Iterable[Given] | Capture) -> Study:
    """What every setting makes of messages, or of those in a capture, to the byte: takeover, window bits, level,
    memLevel. CPU times are estimates.

    >>> import weir
    >>> study = weir.ws.study(weir.open("demo/websocket.pcap"))
    >>> {row["messages"] for row in study.table() if (row["direction"], row["kind"]) == ("all", "all")}
    {129}
    """
    value, table = _weir.ws_study(_given(messages))
    return Study(json.loads(value), table)


def advise(
    messages: Iterable[Given] | Capture,
    *,
    connections: int,
    memory: int | str,
    cores: float | None = None,
    rate: float | None = None,
    threshold: int = 0,
) -> Advice:
    """The setting for so many connections in so much memory; with ``cores`` and ``rate``, messages a second of
    all connections together, also for so much CPU time."""
    limit = _bytes(memory) or 0
    value, page = _weir.ws_advise(_given(messages), connections, limit, cores, rate, threshold)
    return Advice(json.loads(value), page)

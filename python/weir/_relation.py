"""Captures as tables that are put together without writing SQL as a whole."""

from __future__ import annotations

import io
import os
import re
import weakref
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

from weir._connection import Connection
from weir._result import Result

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from weir._plot import Kind, Plot

__all__ = ["Capture", "Grouped", "Relation", "open"]


# The name of a column. An expression may be an aggregate, and an alias may be what the order goes by.
_PLAIN = re.compile(r"[\w.]+")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Capture:
    """A capture, or several: each of its tables is a :class:`Relation`.

    >>> import weir
    >>> capture = weir.open("demo/voip.pcap")
    >>> capture.packets().filter("udp.dstport = 5060").to_sql()
    "SELECT * FROM packets('demo/voip.pcap') WHERE (udp.dstport = 5060)"
    """

    def __init__(self, paths: list[str], options: dict[str, Any], spooled: object | None) -> None:
        self.paths = paths
        self._options = options
        self._spooled = spooled

    def _table(self, name: str, merge: bool, arguments: dict[str, object]) -> Relation:
        written = [_quoted(path) for path in self.paths]
        if merge:
            written.append("merge => true")
        for key, value in arguments.items():
            written.append(f"{key} => {_literal(value)}")
        return Relation(self, f"{name}({', '.join(written)})")

    def packets(self, *, merge: bool = False) -> Relation:
        """Every packet, with the fields of all protocols: ``weir.fields()`` lists them."""
        return self._table("packets", merge, {})

    def flows(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Flows of both directions, and how they went. ``arguments`` are those of ``flows(…)`` in SQL."""
        return self._table("flows", merge, arguments)

    def flow_packets(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Packets with the flow that each belongs to."""
        return self._table("flow_packets", merge, arguments)

    def flow_fragments(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Fragments of IP, with the flows of the packets that they are parts of."""
        return self._table("flow_fragments", merge, arguments)

    def stream(self, *, merge: bool = False, **arguments: object) -> Relation:
        """What flows carry, put in order."""
        return self._table("stream", merge, arguments)

    def sip(self, *, merge: bool = False, **arguments: object) -> Relation:
        """SIP messages over UDP, TCP and SCTP."""
        return self._table("sip", merge, arguments)

    def calls(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Calls: who, when, how long, and how they ended."""
        return self._table("calls", merge, arguments)

    def call_packets(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Packets that carry calls: all that their SIP messages came in, and their media."""
        return self._table("call_packets", merge, arguments)

    def h248(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Commands of Megaco (H.248) in any encoding."""
        return self._table("h248", merge, arguments)

    def websocket(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Messages of WebSocket connections."""
        return self._table("websocket", merge, arguments)

    def dns(self, *, merge: bool = False, **arguments: object) -> Relation:
        """DNS messages."""
        return self._table("dns", merge, arguments)

    def lookups(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Questions of DNS with their answers."""
        return self._table("lookups", merge, arguments)

    def tls(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Handshakes of TLS and QUIC."""
        return self._table("tls", merge, arguments)

    def http(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Requests and responses of HTTP."""
        return self._table("http", merge, arguments)

    def dhcp(self, *, merge: bool = False, **arguments: object) -> Relation:
        """DHCP messages."""
        return self._table("dhcp", merge, arguments)

    def ntp(self, *, merge: bool = False, **arguments: object) -> Relation:
        """NTP messages."""
        return self._table("ntp", merge, arguments)

    def rtp(self, *, merge: bool = False, **arguments: object) -> Relation:
        """RTP packets."""
        return self._table("rtp", merge, arguments)

    def rtcp(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Reports of RTCP."""
        return self._table("rtcp", merge, arguments)

    def media(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Streams of RTP: loss, jitter and quality."""
        return self._table("media", merge, arguments)

    def radius(self, *, merge: bool = False, **arguments: object) -> Relation:
        """RADIUS messages."""
        return self._table("radius", merge, arguments)

    def snmp(self, *, merge: bool = False, **arguments: object) -> Relation:
        """SNMP messages."""
        return self._table("snmp", merge, arguments)

    def mqtt(self, *, merge: bool = False, **arguments: object) -> Relation:
        """MQTT messages."""
        return self._table("mqtt", merge, arguments)

    def stun(self, *, merge: bool = False, **arguments: object) -> Relation:
        """STUN messages."""
        return self._table("stun", merge, arguments)

    def diameter(self, *, merge: bool = False, **arguments: object) -> Relation:
        """Diameter messages."""
        return self._table("diameter", merge, arguments)

    def mgcp(self, *, merge: bool = False, **arguments: object) -> Relation:
        """MGCP messages."""
        return self._table("mgcp", merge, arguments)

    def m3ua(self, *, merge: bool = False, **arguments: object) -> Relation:
        """M3UA messages."""
        return self._table("m3ua", merge, arguments)

    def sccp(self, *, merge: bool = False, **arguments: object) -> Relation:
        """SCCP messages over M3UA."""
        return self._table("sccp", merge, arguments)

    def tcap(self, *, merge: bool = False, **arguments: object) -> Relation:
        """TCAP messages over SCCP."""
        return self._table("tcap", merge, arguments)

    def table(self, name: str, *, merge: bool = False, **arguments: object) -> Relation:
        """The table of this name: one of the others, or one that is newer than they are."""
        return self._table(name, merge, arguments)

    def __repr__(self) -> str:
        return f"<weir.Capture {', '.join(self.paths)}>"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    text = str(value)
    # INTERVAL '30 seconds' is an expression, not a word.
    return text if text.upper().startswith("INTERVAL ") else _quoted(text)


@dataclass(frozen=True, repr=False)
class Relation:
    """A table, with what was asked of it so far. Nothing is read until the rows are asked for."""

    _capture: Capture
    _source: str
    _filters: tuple[str, ...] = field(default=())
    _columns: tuple[str, ...] = field(default=())
    _keys: tuple[str, ...] = field(default=())
    _order: tuple[str, ...] = field(default=())
    _limit: int | None = None

    def filter(self, condition: str) -> Relation:
        """The rows for which a condition in SQL holds."""
        at = self._nested() if self._columns or self._limit is not None else self
        return replace(at, _filters=(*at._filters, condition))

    def select(self, *columns: str) -> Relation:
        """These columns, or expressions of SQL: ``.select("ip.src", "ip.len * 8 AS bits")``. They are those of the rows
        so far, in their order: ``.limit(3).select("count(*)")`` counts three rows."""
        if not columns:
            raise ValueError("select what? Name a column, or '*'")
        is_bounded = bool(self._order) or self._limit is not None
        is_plain = all(_PLAIN.fullmatch(column) for column in columns)
        at = self._nested() if self._columns or (is_bounded and not is_plain) else self
        return replace(at, _columns=columns)

    def group_by(self, *keys: str) -> Grouped:
        """Groups of rows with the same keys, for :meth:`Grouped.agg`. They have no order of their rows: an aggregate has
        its own, as in ``"array_agg(ip.src ORDER BY frame.len)"``."""
        at = self._nested() if self._columns or self._limit is not None else self
        return Grouped(replace(at, _order=()), keys)

    def agg(self, *expressions: str) -> Relation:
        """Aggregates over all rows: ``.agg("count(*)", "sum(ip.len) AS bytes")``."""
        return self.group_by().agg(*expressions)

    def order_by(self, *columns: str) -> Relation:
        """In this order: ``.order_by("bytes DESC")``."""
        at = self._nested() if self._limit is not None else self
        return replace(at, _order=columns)

    def limit(self, rows: int) -> Relation:
        """The first rows only."""
        if rows < 0:
            raise ValueError(f"the first {rows} rows cannot be given")
        least = rows if self._limit is None else min(rows, self._limit)
        return replace(self, _limit=least)

    def _nested(self) -> Relation:
        # Rows of a query in FROM have its order.
        return Relation(self._capture, f"({self.to_sql()})")

    def to_sql(self) -> str:
        """The SQL that it is."""
        parts = [f"SELECT {', '.join(self._columns) or '*'} FROM {self._source}"]
        if self._filters:
            parts.append("WHERE " + " AND ".join(f"({each})" for each in self._filters))
        if self._keys:
            parts.append("GROUP BY " + ", ".join(self._keys))
        if self._order:
            parts.append("ORDER BY " + ", ".join(self._order))
        if self._limit is not None:
            parts.append(f"LIMIT {self._limit}")
        return " ".join(parts)

    def result(self) -> Result:
        """The answer, planned: see :class:`weir.Result`."""
        connection = Connection(**self._capture._options)
        return connection._answer(self.to_sql(), {}, (self._capture,))

    def arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow."""
        return self.result().arrow()

    def pl(self) -> polars.DataFrame:
        """All rows as a data frame of Polars."""
        return self.result().pl()

    def df(self) -> pandas.DataFrame:
        """All rows as a data frame of pandas."""
        return self.result().df()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples of Python's values."""
        return self.result().fetchall()

    def show(self, rows: int = 20, width: int = 40) -> None:
        """Prints the first rows as a table."""
        self.limit(rows + 1).result().show(rows, width)

    def plot(
        self, kind: Kind | None = None, *, title: str | None = None, rows: int = 20_000
    ) -> Plot:
        """A chart of the rows: see :meth:`weir.Result.plot`."""
        return self.limit(rows + 1).result().plot(kind, title=title, rows=rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.result().columns

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.result().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.result().__arrow_c_schema__()

    def __datafusion_table_provider__(self, session: object | None = None) -> object:
        return self.result().__datafusion_table_provider__(session)

    def __repr__(self) -> str:
        return f"<weir.Relation {self.to_sql()}>"

    def _repr_html_(self) -> str:
        return self.limit(21).result()._repr_html_()


@dataclass(frozen=True)
class Grouped:
    """Rows in groups."""

    _relation: Relation
    _keys: tuple[str, ...]

    def agg(self, *expressions: str) -> Relation:
        """A row for each group: its keys and these aggregates."""
        if not expressions:
            raise ValueError("aggregate what? count(*) counts the rows")
        return replace(
            self._relation, _columns=(*self._keys, *expressions), _keys=self._keys
        )

    def count(self) -> Relation:
        """A row for each group with the number of its rows."""
        return self.agg("count(*) AS count")


def open(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | list[str],
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    time_zone: str | None = None,
) -> Capture:
    """A capture by its path, several by a pattern or a list, or one that is at hand as bytes or as an
    open binary file (which is read to its end into a temporary file).

    >>> import weir
    >>> weir.open("demo/voip.pcap").calls().select("call.state").columns
    ['call.state']
    """
    options = {"threads": threads, "memory_limit": memory_limit, "time_zone": time_zone}
    if isinstance(source, (str, os.PathLike)):
        return Capture([os.fspath(source)], options, None)
    if isinstance(source, list):
        if not source:
            raise ValueError("no file is named")
        return Capture([os.fspath(path) for path in source], options, None)
    stream: IO[bytes]
    if isinstance(source, (bytes, bytearray, memoryview)):
        stream = io.BytesIO(source)
    elif hasattr(source, "read"):
        stream = source
    else:
        raise TypeError(f"a path, a list of paths, bytes or a file that is open, not {type(source).__name__}")
    spooled = _Spooled(stream)
    return Capture([spooled.path], options, spooled)


class _Spooled:
    """Bytes in a temporary file, which goes with whoever reads it."""

    def __init__(self, stream: IO[bytes]) -> None:
        # It is long to import, and rarely wanted.
        import tempfile

        handle, self.path = tempfile.mkstemp(prefix="weir-", suffix=".pcap")
        self._finalizer = weakref.finalize(self, _removed, self.path, os.getpid())
        with os.fdopen(handle, "wb") as file:
            while piece := stream.read(1 << 20):
                if not isinstance(piece, (bytes, bytearray, memoryview)):
                    raise TypeError("the file is open as text: open it with 'rb'")
                file.write(piece)


def _removed(path: str, process: int) -> None:
    if os.getpid() != process:
        # A child that was forked ends before its parent, which still reads the file.
        return
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass

"""Values are those of the command line, in every library that takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.ipc
import pytest
import weir

CommandLine = Callable[[str, Path], None]

TABLES = [
    "demo/voip.pcap",
    "demo/office.pcapng",
    "demo/sunatm.pcap",
    "demo/framerelay.pcap",
    "demo/wan.erf",
    "demo/atm.erf",
    "demo/megaco.pcap",
    "demo/websocket.pcap",
]
QUERIES = [f"SELECT * FROM '{path}' LIMIT 400" for path in TABLES] + [
    "SELECT * FROM records('demo/recorder.bin', 'demo/recorder.toml')",
    "SELECT * FROM flows('demo/office.pcapng')",
    "SELECT * FROM sip('demo/voip.pcap')",
    "SELECT * FROM calls('demo/voip.pcap')",
    "SELECT * FROM h248('demo/megaco.pcap')",
    "SELECT * FROM websocket('demo/websocket.pcap')",
    "SELECT * FROM dns('demo/voip.pcap')",
    "SELECT * FROM lookups('demo/voip.pcap')",
    "SELECT * FROM tls('demo/office.pcapng')",
    "SELECT * FROM http('demo/office.pcapng')",
    "SELECT * FROM dhcp('demo/office.pcapng')",
    "SELECT * FROM ntp('demo/office.pcapng')",
    # What libraries like to lose: unsigned maximum, NULL, nanoseconds, lists, lengths of time, decimals.
    "SELECT 18446744073709551615 AS most UNION ALL SELECT NULL ORDER BY 1",
    "SELECT ip.src, sum(frame.len) AS bytes, max(frame.time) FROM 'demo/voip.pcap' GROUP BY 1 ORDER BY 1",
    "SELECT arrow_cast(1328821153010000001, 'Timestamp(Nanosecond, Some(\"UTC\"))') AS at, [1, NULL, 3] AS list",
    "SELECT max(frame.time) - min(frame.time) AS took, CAST(1.25 AS DECIMAL(10, 2)) AS d FROM 'demo/voip.pcap'",
    "SELECT X'00ff' AS bytes, true AS yes, CAST('2026-11-22' AS DATE) AS day, -1 AS less, 'x' AS text",
]


_ANSWERS: dict[str, pa.Table] = {}


def _expected(query: str, folder: Path, command_line: CommandLine) -> pa.Table:
    if query in _ANSWERS:
        return _ANSWERS[query]
    path = folder / "answer.arrow"
    command_line(query, path)
    with pa.OSFile(str(path)) as file:
        return _ANSWERS.setdefault(query, pa.ipc.open_file(file).read_all())


def _plain(table: pa.Table) -> pa.Table:
    """Without views, and with instants as numbers, which every library keeps."""

    def of(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            return pa.int64()
        if pa.types.is_string_view(kind) or pa.types.is_string(kind):
            return pa.large_string()
        if pa.types.is_binary_view(kind) or pa.types.is_binary(kind):
            return pa.large_binary()
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return pa.large_list(of(kind.value_type))
        return kind

    fields = [pa.field(field.name, of(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


@pytest.mark.parametrize("query", QUERIES)
def test_pyarrow_and_python(query: str, tmp_path: Path, command_line: CommandLine) -> None:
    expected = _expected(query, tmp_path, command_line)
    table = weir.sql(query).arrow()
    assert table.schema.equals(expected.schema), (table.schema, expected.schema)
    assert table.equals(expected)
    rows = weir.sql(query).fetchall()
    columns = [column.to_pylist() for column in _plain(expected).columns]
    kinds = expected.schema.types
    assert len(rows) == expected.num_rows
    for at, row in enumerate(rows):
        for column, kind, value in zip(columns, kinds, row):
            if isinstance(value, (weir.Timestamp, weir.Duration)):
                assert value.ns == column[at] * _NS[kind.unit]
            elif pa.types.is_float64(kind) and value != value:
                assert column[at] != column[at]
            elif isinstance(value, weir.Interval):
                assert tuple(value) == tuple(column[at])
            else:
                assert value == column[at], (kind, value, column[at])


_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@pytest.mark.parametrize("query", QUERIES)
def test_polars(query: str, tmp_path: Path, command_line: CommandLine) -> None:
    expected = _expected(query, tmp_path, command_line)
    frame = weir.sql(query).pl()
    assert isinstance(frame, polars.DataFrame)
    assert _plain(frame.to_arrow()).equals(_plain(expected))


@pytest.mark.parametrize("query", QUERIES)
def test_pandas(query: str, tmp_path: Path, command_line: CommandLine) -> None:
    expected = _expected(query, tmp_path, command_line)
    frame = weir.sql(query).df()
    assert list(frame.columns) == expected.column_names
    assert _plain(pa.Table.from_pandas(frame, preserve_index=False)).equals(_plain(expected))


@pytest.mark.parametrize("query", QUERIES)
def test_duckdb(query: str, tmp_path: Path, command_line: CommandLine) -> None:
    expected = _expected(query, tmp_path, command_line)
    result = weir.sql(query)
    with duckdb.connect() as connection:
        found = connection.sql("SELECT * FROM result")
        table = found.to_arrow_table() if hasattr(found, "to_arrow_table") else found.arrow()
    if isinstance(table, pa.RecordBatchReader):
        table = table.read_all()
    assert _of_duckdb(table, expected.schema).equals(_plain(expected))


def _of_duckdb(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """DuckDB finds names without regard to case, and keeps a length of time as an interval."""
    columns = []
    for column, field in zip(table.columns, wanted):
        if pa.types.is_duration(field.type):
            pieces = [None if at is None else at[2] for at in column.to_pylist()]
            column = pa.chunked_array([pa.array(pieces, pa.int64())])
        columns.append(column)
    return _plain(pa.table(columns, names=wanted.names))


def test_json_of_the_command_line_says_the_same(tmp_path: Path, command_line: CommandLine) -> None:
    query = "SELECT frame.number, frame.time, ip.src, udp.srcport FROM 'demo/voip.pcap' LIMIT 50"
    path = tmp_path / "answer.ndjson"
    command_line(query, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = weir.sql(query).fetchall()
    assert len(rows) == len(lines) > 10
    for row, line in zip(rows, lines):
        number, at, src, port = row
        assert (number, src, port) == (
            line["frame.number"],
            line.get("ip.src"),
            line.get("udp.srcport"),
        )
        assert weir.sql("SELECT TIMESTAMP '" + line["frame.time"] + "'").fetchall()[0][0].ns == at.ns


def test_unsigned_maximum_beside_null_keeps_its_digits() -> None:
    query = "SELECT 18446744073709551615 AS n UNION ALL SELECT NULL ORDER BY 1"
    frame = weir.sql(query).df()
    assert frame["n"].max() == 18446744073709551615
    assert frame["n"].isna().sum() == 1
    assert weir.sql(query).pl()["n"].to_list() == [18446744073709551615, None]
    assert weir.sql(query).fetchall() == [(18446744073709551615,), (None,)]


@pytest.mark.parametrize("value", [0, -1, 2**63, 2**64 - 1, 1.5, -0.25, 1e300, "a'b\\", "", b"\x00\xff", True, None])
def test_parameters_come_back(value: Any) -> None:
    assert weir.sql("SELECT $v AS v", v=value).fetchall() == [(value,)]

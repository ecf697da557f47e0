"""Questions, answers and what is wrong with them."""

from __future__ import annotations

import datetime as dt
import io
import ipaddress
import logging
import pickle
from decimal import Decimal
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow as pa
import pytest
import weir

VOIP = "demo/voip.pcap"


@pytest.mark.parametrize(
    ("query", "error", "kind", "says"),
    [
        ("SELECT 1 +", weir.ParseError, "syntax", "Expected"),
        ("", weir.ParseError, "syntax", "no statement"),
        (f"SELECT ip.sr FROM '{VOIP}'", weir.PlanError, "plan", "did you mean ip.src?"),
        ("SELECT 1 FROM 'nowhere.pcap'", weir.SourceError, "source", "nowhere.pcap"),
        ("SELECT 1 FROM nothing", weir.PlanError, "plan", "nothing"),
        ("SELECT $x", weir.PlanError, "plan", "$x"),
    ],
)
def test_what_is_wrong_is_raised_when_it_is_asked(
    query: str, error: type[weir.Error], kind: str, says: str
) -> None:
    with pytest.raises(error) as raised:
        weir.sql(query)
    assert raised.value.kind == kind
    assert says in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), str(again), again.hint) == (error, str(raised.value), raised.value.hint)


def test_what_fails_while_it_runs_is_raised_by_who_reads() -> None:
    query = "SELECT 1 / (frame.number - 3) FROM 'demo/voip.pcap'"
    for read in ("arrow", "pl", "df", "fetchall", "show"):
        result = weir.sql(query)
        with pytest.raises(weir.RunError, match="division by zero"):
            getattr(result, read)()
    with pytest.raises(Exception, match="division by zero"):
        polars.DataFrame(weir.sql(query))


def test_a_result_is_read_once() -> None:
    result = weir.sql("SELECT 1 AS one")
    result.show()
    assert result.fetchall() == [(1,)]
    assert "read" in repr(result)
    for again in (result.fetchall, result.arrow, lambda: result.to_parquet("again.parquet")):
        with pytest.raises(weir.RunError, match="read already"):
            again()
    assert weir.sql("SELECT 1 AS one WHERE false").fetchall() == []


def test_parameters() -> None:
    count = f"SELECT count(*) FROM '{VOIP}' WHERE "
    plain = weir.sql(count + "ip.src = '10.1.0.5'").fetchall()
    assert plain[0][0] > 0
    assert weir.sql(count + "ip.src = $a", a=ipaddress.ip_address("10.1.0.5")).fetchall() == plain
    assert weir.sql(count + "ip.src IN ($a)", a=["10.1.0.5", "9.9.9.9"]).fetchall() == plain
    assert weir.sql(count + "ip.src IN ($a)", a=[]).fetchall() == [(0,)]
    every = weir.sql(count + "true").fetchall()
    assert weir.sql(count + "ip.src NOT IN ($a)", a=[]).fetchall() == every
    at = weir.sql(f"SELECT max(frame.time) FROM '{VOIP}'").fetchall()[0][0]
    last = weir.sql(count + "frame.time = $at", at=at).fetchall()
    assert last[0][0] >= 1
    assert weir.sql(count + "frame.time > $at", at=at).fetchall() == [(0,)]
    zoned = at.astimezone(dt.timezone(dt.timedelta(hours=5)))
    assert weir.sql(count + "frame.time >= $at", at=zoned).fetchall() == last
    # Instants of numpy were numbers.
    exact = numpy.datetime64(at.ns, "ns")
    assert weir.sql(count + "frame.time = $at", at=exact).fetchall() == last
    assert weir.sql("SELECT $at AS at", at=exact).fetchall() == [(weir.Timestamp.from_ns(at.ns, None),)]
    day = weir.sql("SELECT $at AS at", at=numpy.datetime64("2026-01-31")).fetchall()[0][0]
    assert (day.year, day.month, day.day) == (2026, 1, 31)
    assert weir.sql(count + "frame.time >= $day", day=at.date()).fetchall()[0][0] >= 1
    price = weir.sql("SELECT $d AS d", d=Decimal("-12.50")).fetchall()
    assert price == [(Decimal("-12.50"),)] and str(price[0][0]) == "-12.50"
    for missing in (None, pandas.NaT, pandas.NA, numpy.datetime64("NaT")):
        assert weir.sql("SELECT $n IS NULL AS n", n=missing).fetchall() == [(True,)]
    files = weir.sql("SELECT count(*) FROM packets($files)", files=[VOIP, VOIP]).fetchall()
    assert files[0][0] == 2 * every[0][0]
    with pytest.raises(weir.PlanError, match="no parameter"):
        weir.sql("SELECT 1", nobody=1)
    with pytest.raises(TypeError, match="cannot be a value of type object"):
        weir.sql("SELECT $x", x=object())
    with pytest.raises(OverflowError):
        weir.sql("SELECT $x", x=1 << 200)


def test_a_text_that_looks_like_sql_stays_a_text() -> None:
    text = "' OR 1 = 1; DROP TABLE x --"
    assert weir.sql("SELECT $t AS t", t=text).fetchall() == [(text,)]
    assert weir.sql(f"SELECT count(*) FROM '{VOIP}' WHERE frame.file = $t", t=text).fetchall() == [(0,)]


def test_views_settings_and_tables_of_a_connection() -> None:
    with weir.connect(threads=2, memory_limit="64m") as connection:
        connection.execute(f"CREATE VIEW five AS SELECT * FROM '{VOIP}' LIMIT 5")
        assert connection.sql("SELECT count(*) FROM five").fetchall() == [(5,)]
        connection.execute("SET TIME ZONE = '+02:00'")
        at = connection.sql("SELECT frame.time FROM five LIMIT 1").fetchall()[0][0]
        assert at.utcoffset() == dt.timedelta(hours=2)
        hosts = polars.DataFrame({"ip": ["10.1.0.5", "10.1.0.2"], "name": ["ann", "proxy"]})
        connection.register("Hosts", hosts)
        query = f"SELECT name, count(*) FROM '{VOIP}' JOIN hosts ON ip.src = hosts.ip GROUP BY 1 ORDER BY 1"
        named = connection.sql(query).fetchall()
        assert [name for name, _ in named] == ["ann", "proxy"]
        assert weir.sql(query, hosts=pa.table(hosts)).fetchall() == named
        assert connection.unregister("hosts")
        with pytest.raises(weir.PlanError):
            connection.sql("SELECT * FROM hosts")
        with pytest.raises(weir.PlanError, match="no Arrow stream"):
            connection.register("numbers", [1, 2])
        with pytest.raises(weir.PlanError, match="no name"):
            connection.register("a; b", hosts)


def test_batches_are_arrow() -> None:
    batches = list(weir.sql(f"SELECT frame.number FROM '{VOIP}'").batches())
    assert sum(len(batch) for batch in batches) == sum(pa.table(batch).num_rows for batch in batches)
    assert batches[0].column_names == ["frame.number"]


def test_files_are_written(tmp_path: Path) -> None:
    query = f"SELECT frame.number, ip.src FROM '{VOIP}'"
    path = tmp_path / "out.parquet"
    rows = weir.sql(query).fetchall()
    assert weir.sql(query).to_parquet(path) == len(rows)
    assert weir.sql(f"SELECT * FROM '{path}'").fetchall() == rows
    packets = f"SELECT * FROM '{VOIP}' WHERE udp.srcport = $p"
    capture = tmp_path / "out.pcap"
    written = weir.sql(packets, p=5060).to_pcap(capture)
    assert written > 0
    assert weir.sql(f"SELECT count(*) FROM '{capture}'").fetchall() == [(written,)]
    # A capture that is there is not lost.
    with pytest.raises(weir.SourceError, match="is not replaced"):
        weir.sql(packets, p=5060).to_pcap(capture)
    assert weir.sql(packets, p=5060).to_pcap(capture, overwrite=True) == written
    with pytest.raises(weir.RunError, match="not the name of a capture"):
        weir.sql(packets, p=5060).to_pcap(tmp_path / "out.txt")
    with pytest.raises(weir.SourceError, match="is not replaced"):
        weir.sql(query).to_parquet(capture)
    assert weir.sql(f"SELECT count(*) FROM '{capture}'").fetchall() == [(written,)]
    copied = weir.sql(f"COPY ({query}) TO '{tmp_path / 'copy.parquet'}'")
    assert (tmp_path / "copy.parquet").exists()
    assert copied.fetchall() == [(len(rows),)]


def test_explain() -> None:
    result = weir.sql(f"SELECT ip.src, count(*) FROM '{VOIP}' GROUP BY 1")
    plan = result.explain()
    assert "voip.pcap" in plan
    assert len(result.fetchall()) > 1


def _damaged(folder: Path) -> Path:
    whole = Path(VOIP).read_bytes()
    path = folder / "cut.pcap"
    path.write_bytes(whole[: len(whole) // 2 + 7])
    return path


def test_damage_is_a_warning_and_a_report(tmp_path: Path) -> None:
    path = _damaged(tmp_path)
    result = weir.sql(f"SELECT frame.number FROM '{path}'")
    assert not result.damage.complete
    with pytest.warns(weir.DamageWarning, match="cut.pcap"):
        rows = result.fetchall()
    assert len(rows) > 3
    damage = result.damage
    assert damage and damage.complete and damage.records == len(rows)
    assert damage.faults[0].path == str(path)
    assert str(path) in str(damage)
    assert not weir.sql("SELECT 1").damage
    # Whoever makes errors of warnings gets one, through every library.
    for read in ("arrow", "pl", "fetchall"):
        with pytest.raises(weir.DamageWarning):
            getattr(weir.sql(f"SELECT frame.number FROM '{path}'"), read)()
    result = weir.sql(f"SELECT frame.number FROM '{path}' ORDER BY 1 DESC")
    with pytest.warns(weir.DamageWarning):
        page = result._repr_html_()
    assert "cut.pcap" in page and "<table>" in page


def test_notes_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="weir"):
        weir.sql("SELECT frame.stopped FROM 'demo/office.pcapng'").fetchall()
    stopped = weir.sql("SELECT count(frame.stopped) FROM 'demo/office.pcapng'")
    cut = stopped.fetchall()[0][0]
    assert bool(cut) == any("frame.stopped" in record.message for record in caplog.records)


def test_what_is_shown_steers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    weir.sql("SELECT $t AS t", t="\x1b[2J<b>").show()
    assert "\x1b" not in capsys.readouterr().out
    assert "&lt;b&gt;" in weir.sql("SELECT $t AS t", t="<b>")._repr_html_()


def test_statements_stay_in_their_root(home: Path, tmp_path: Path) -> None:
    demo = home / "demo"
    inside = weir.sql("SELECT count(*) FROM 'voip.pcap'", root=demo).fetchall()
    assert inside == weir.sql(f"SELECT count(*) FROM '{VOIP}'").fetchall()
    assert weir.sql(f"SELECT count(*) FROM '{demo / 'voip.pcap'}'", root=demo).fetchall() == inside
    outside = tmp_path / "outside.pcap"
    outside.write_bytes(Path(VOIP).read_bytes())
    link = demo / "link.pcap"
    link.symlink_to(outside)
    try:
        for query in (
            f"SELECT count(*) FROM '{outside}'",
            "SELECT count(*) FROM '../demo/voip.pcap'",
            "SELECT count(*) FROM 'link.pcap'",
            "SELECT count(*) FROM 'l*.pcap'",
            "SELECT count(*) FROM '/etc/passwd'",
            "SELECT count(*) FROM '-'",
            "SELECT count(*) FROM packets('voip.pcap', '../x.pcap')",
            "SELECT * FROM records('recorder.bin', '/etc/passwd')",
            "COPY (SELECT 1 AS one) TO '../out.parquet'",
            f"COPY (SELECT 1 AS one) TO '{tmp_path}/out.parquet'",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
            "EXPLAIN SELECT count(*) FROM '/etc/passwd'",
            "CREATE VIEW v AS SELECT count(*) FROM '/etc/passwd'",
        ):
            with pytest.raises(weir.Error):
                weir.sql(query, root=demo)
        assert not (tmp_path / "out.parquet").exists() and not (home / "out.parquet").exists()
    finally:
        link.unlink()
    with pytest.raises(weir.SourceError):
        weir.connect(root=tmp_path / "nowhere")


def test_relations(home: Path) -> None:
    capture = weir.open(VOIP)
    packets = capture.packets()
    every = packets.agg("count(*)").fetchall()
    sip = packets.filter("udp.dstport = 5060").filter("ip.src IS NOT NULL")
    by = sip.group_by("ip.src").agg("count(*) AS n").order_by("n DESC", "ip.src").limit(1)
    plain = weir.sql(
        f"SELECT ip.src, count(*) AS n FROM '{VOIP}' WHERE udp.dstport = 5060 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
    )
    assert by.fetchall() == plain.fetchall()
    # The order of the packets is none of their groups.
    assert sip.order_by("frame.len").agg("count(*)").fetchall() == sip.agg("count(*)").fetchall()
    # Neither an order nor a limit is lost to what is selected then.
    longest = packets.select("frame.number AS n", "frame.len AS size").order_by("size DESC", "n")
    expected = [(n,) for n, _ in longest.fetchall()]
    assert expected != sorted(expected)
    assert longest.select("n").fetchall() == expected
    assert longest.filter("n > 0").select("n").limit(5).fetchall() == expected[:5]
    by_size = packets.order_by("frame.len DESC", "frame.number")
    assert by_size.select("frame.number").fetchall() == expected
    assert by_size.select("frame.number AS n", "-frame.len AS \"frame.len\"").select("n").fetchall() == expected
    assert packets.limit(3).select("count(*)").fetchall() == [(3,)]
    assert packets.limit(3).select("frame.number").fetchall() == [(1,), (2,), (3,)]
    assert by.filter("n < 0").fetchall() == []
    assert packets.select("frame.number").limit(3).filter("frame.number > 2").fetchall() == [(3,)]
    assert polars.DataFrame(capture.calls().select("call.state")).height > 0
    data = Path(VOIP).read_bytes()
    for source in (data, bytearray(data), io.BytesIO(data), Path(VOIP), [VOIP]):
        assert weir.open(source).packets().agg("count(*)").fetchall() == every
    with open(VOIP, "rb") as file:
        assert weir.open(file).packets().agg("count(*)").fetchall() == every
    with pytest.raises(TypeError), open(__file__) as text:
        weir.open(text)  # type: ignore[arg-type]
    joined = weir.sql(
        "SELECT count(*) FROM messages JOIN talks ON messages.sip.call_id = talks.sip.call_id",
        messages=capture.sip(),
        talks=capture.calls(),
    )
    assert joined.fetchall()[0][0] > 0


def test_a_spooled_capture_goes_with_its_readers() -> None:
    result = weir.open(Path(VOIP).read_bytes()).packets().agg("count(*)").result()
    capture = result._keep[1]
    spooled = Path(capture.paths[0])  # type: ignore[attr-defined]
    del capture
    assert spooled.exists() and result.fetchall()[0][0] > 0
    del result
    assert not spooled.exists()


def test_every_table_has_its_method() -> None:
    from weir import _weir

    capture = weir.open(VOIP)
    for name in _weir.tables():
        relation = getattr(capture, name)()
        assert relation.to_sql() == f"SELECT * FROM {name}('{VOIP}')"
        assert relation.columns


def test_fields_are_those_of_the_command_line() -> None:
    assert {field.table for field in weir.fields()} >= {"packets", "sip", "calls"}
    found = weir.fields("ip.src")
    assert any(field.name == "ip.src" and field.type == "address" for field in found)
    assert weir.fields("no such thing") == []


def test_timestamps_compare_by_their_nanoseconds() -> None:
    early, late = weir.Timestamp.from_ns(1001), weir.Timestamp.from_ns(1002)
    assert early < late and early != late and late > early and early <= late
    assert early.replace(microsecond=1) is not None
    assert weir.Timestamp.from_ns(2000) == dt.datetime(1970, 1, 1, microsecond=2, tzinfo=dt.timezone.utc)
    assert early != dt.datetime(1970, 1, 1, microsecond=1, tzinfo=dt.timezone.utc)
    assert pickle.loads(pickle.dumps(late)) == late
    assert len({early, late, weir.Timestamp.from_ns(1001)}) == 2
    assert weir.Duration.from_ns(-1).ns == -1
    for ns in (-1, 0, 999, -(2**63), 2**63 - 1):
        assert weir.Timestamp.from_ns(ns).ns == ns


def test_instants_and_lengths_equal_no_other_values() -> None:
    # `==` was true for whatever is no instant.
    for value in (weir.Timestamp.from_ns(0), weir.Duration.from_ns(1000)):
        for other in (None, 0, "text", [], object()):
            assert value != other and not value == other
            assert value not in [other]
        with pytest.raises(TypeError):
            assert value <= 5  # type: ignore[operator]


def test_nanoseconds_are_computed_with() -> None:
    early, late = weir.Timestamp.from_ns(1999), weir.Timestamp.from_ns(2001)
    assert (late - early).ns == 2 and (early - late).ns == -2
    assert early + (late - early) == late and (late - early) + early == late
    assert late - weir.Duration.from_ns(2) == early
    day = dt.timedelta(days=1)
    assert (early + day).ns == 86_400_000_001_999 and (early + day - day) == early
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    assert (epoch - late).ns == -2001 and (late - epoch).ns == 2001
    assert late.astimezone(dt.timezone(dt.timedelta(hours=2))).ns == 2001
    assert late.replace(year=1971).nanosecond == 1 and late.replace(microsecond=0).nanosecond == 0
    lengths = [weir.Duration.from_ns(ns) for ns in (3, -1, 2)]
    assert [length.ns for length in sorted(lengths)] == [-1, 2, 3]
    assert max(lengths).ns == 3 and sum(lengths, dt.timedelta()).ns == 4  # type: ignore[attr-defined]
    assert (-lengths[0]).ns == -3 and abs(lengths[1]).ns == 1 and (lengths[0] * 2).ns == 6
    assert lengths[0] > dt.timedelta() > lengths[1] and weir.Duration.from_ns(1000) == dt.timedelta(microseconds=1)
    assert str(lengths[0]) == "0:00:00.000000003" and lengths[0].total_seconds() == 3e-9
    assert len({weir.Duration.from_ns(1000), dt.timedelta(microseconds=1)}) == 1


def test_offsets_of_zones_are_written_in_several_ways() -> None:
    from weir import _values

    for name, minutes in [("+02:00", 120), ("+0530", 330), ("-02", -120), ("UTC", 0)]:
        assert _values._zone(name).utcoffset(None) == dt.timedelta(minutes=minutes)


def test_a_day_beyond_those_of_python_is_a_text() -> None:
    day = "arrow_cast(arrow_cast({}, 'Int32'), 'Date32')"
    days = weir.sql(f"SELECT {day.format(2932896)} AS last, {day.format(2932897)} AS beyond")
    last, beyond = days.fetchall()[0]
    assert last == dt.date(9999, 12, 31) and "10000-01-01" in beyond


def test_live_needs_an_interface_that_is_there() -> None:
    with pytest.raises(weir.SourceError):
        weir.live("no-such-interface", "SELECT * FROM live")

"""Tables in sessions of datafusion-python."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from pathlib import Path

import datafusion
import pyarrow as pa
import pytest
import weir
from weir import _weir

VOIP = "demo/voip.pcap"
OFFICE = "demo/office.pcapng"


@pytest.fixture
def session() -> datafusion.SessionContext:
    session = datafusion.SessionContext()
    session.register_table("packets", weir.open(OFFICE).packets())
    session.register_table("calls", weir.open(VOIP).calls())
    return session


def _rows(session: datafusion.SessionContext, query: str) -> list[tuple[object, ...]]:
    table = session.sql(query).to_arrow_table()
    return list(zip(*(column.to_pylist() for column in table.columns))) if table.num_columns else []


@pytest.mark.parametrize(
    "query",
    [
        'SELECT count(*) FROM {packets}',
        'SELECT "frame.number", "ip.src" FROM {packets} LIMIT 7',
        'SELECT "ip.src", count(*), sum("frame.len") FROM {packets} GROUP BY 1',
        'SELECT "frame.number", "ip.dst" FROM {packets} WHERE "udp.dstport" = 53 AND "ip.dst" <> \'8.8.8.8\'',
        'SELECT count(*) FROM {packets} WHERE "udp.dstport" IN (53, 123) OR "tcp.dstport" BETWEEN 80 AND 443',
        'SELECT count(*) FROM {packets} WHERE NOT "ip.src" IS NULL AND "frame.len" > "ip.len"',
        # A function, and a subquery, which the session decides itself.
        'SELECT count(*) FROM {packets} WHERE abs("frame.len") > 100 AND "ip.src" LIKE \'192.%\'',
        'SELECT count(*) FROM {packets} WHERE "frame.len" > (SELECT avg("frame.len") FROM {packets})',
        'SELECT count(*) FROM {packets} a JOIN {packets} b ON a."frame.number" = b."frame.number" + 1',
        'SELECT max("frame.time"), min("frame.time") FROM {packets}',
    ],
)
def test_another_session_answers_what_weir_answers(
    session: datafusion.SessionContext, query: str
) -> None:
    theirs = _rows(session, query.replace("{packets}", "packets"))
    ours = weir.sql(query.replace("{packets}", f"'{OFFICE}'")).arrow()
    # Groups come in no order.
    assert sorted(theirs, key=str) == sorted(zip(*(column.to_pylist() for column in ours.columns)), key=str)
    assert theirs


@pytest.mark.parametrize("table", ["packets", "flows", "sip", "calls", "dns", "media", "rtp"])
def test_every_value_crosses(table: str) -> None:
    session = datafusion.SessionContext()
    relation = getattr(weir.open([OFFICE, VOIP]), table)()
    session.register_table("t", relation)
    theirs = session.sql("SELECT * FROM t").to_arrow_table()
    ours = relation.arrow()
    assert theirs.cast(ours.schema).equals(ours) and ours.num_rows > 0


def test_conditions_columns_and_a_limit_are_decided_while_packets_are_read(
    session: datafusion.SessionContext,
) -> None:
    plan = str(session.sql('SELECT "frame.number" FROM packets WHERE "udp.dstport" = 53 LIMIT 3').execution_plan())
    assert "WeirScan" in plan
    # Nothing but the limit is left to the session, which is not told that it was kept.
    assert "Filter" not in plan
    plan = str(session.sql('SELECT "frame.number" FROM packets WHERE abs("udp.dstport") = 53').execution_plan())
    assert "Filter" in plan


def test_functions_of_the_session_stay_its_own(session: datafusion.SessionContext) -> None:
    twice = datafusion.udf(
        lambda numbers: pa.array([None if n is None else 2 * n for n in numbers.to_pylist()], pa.int64()),
        [pa.int64()],
        pa.int64(),
        "immutable",
        "twice",
    )
    session.register_udf(twice)
    found = _rows(session, 'SELECT count(*) FROM packets WHERE twice(CAST("frame.len" AS BIGINT)) > 200')
    assert found == weir.sql(f"SELECT count(*) FROM '{OFFICE}' WHERE frame.len * 2 > 200").fetchall()


def test_it_joins_tables_of_the_session(session: datafusion.SessionContext) -> None:
    session.from_pydict({"who": ["alice"], "room": [7]}, "rooms")
    query = 'SELECT room, "call.state" FROM calls JOIN rooms ON who = "call.from.user"'
    assert _rows(session, query) == [(7, "completed")]


def test_a_result_is_a_table_too_with_its_parameters() -> None:
    session = datafusion.SessionContext()
    session.register_table("t", weir.sql(f"SELECT udp.dstport AS port FROM '{VOIP}' WHERE udp.dstport = $p", p=5060))
    gc.collect()
    once = _rows(session, "SELECT count(*), min(port) FROM t")
    # It is asked again by each query.
    assert once == _rows(session, "SELECT count(*), min(port) FROM t") and once[0][1] == 5060


def test_bytes_stay_as_long_as_their_table() -> None:
    session = datafusion.SessionContext()
    session.register_table("t", weir.open(Path(VOIP).read_bytes()).packets())
    gc.collect()
    assert _rows(session, "SELECT count(*) FROM t") == weir.sql(f"SELECT count(*) FROM '{VOIP}'").fetchall()


def test_damage_is_told(tmp_path: Path) -> None:
    whole = Path(VOIP).read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole[: len(whole) // 2 + 7])
    session = datafusion.SessionContext()
    session.register_table("t", weir.open(path).packets())
    with pytest.warns(weir.DamageWarning, match="cut.pcap"):
        _rows(session, 'SELECT "frame.number" FROM t')


def test_what_is_wrong_is_an_error_of_the_session(session: datafusion.SessionContext) -> None:
    session.register_table("t", weir.sql(f"SELECT 1 / (frame.number - 3) AS n FROM '{VOIP}'"))
    with pytest.raises(Exception, match="division by zero"):
        _rows(session, "SELECT n FROM t")
    for query, says in (
        ("SELECT x.a, y.a FROM (SELECT 1 AS a) x, (SELECT 2 AS a) y", "two columns of the table are named a"),
        ("CREATE VIEW v AS SELECT 1", "only a query can create a table"),
    ):
        with pytest.raises(weir.PlanError, match=says):
            session.register_table("u", weir.sql(query))


@pytest.mark.parametrize("version", ["54.1.0", "56.0.0", "5.5.0", "550.1", "", "none"])
def test_another_major_version_is_refused_before_anything_is_handed_over(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _weir.datafusion_version() == 55
    session = datafusion.SessionContext()
    result = weir.sql("SELECT 1 AS n")
    handed: list[object] = []
    monkeypatch.setattr(result, "_offer", lambda: handed.append(1))
    monkeypatch.setattr(datafusion, "__version__", version)
    with pytest.raises(weir.PlanError, match="DataFusion") as raised:
        session.register_table("t", result)
    assert "55" in str(raised.value)
    assert not handed and not session.table_exist("t")


def test_without_datafusion_nothing_is_handed_over() -> None:
    code = """
    import weir
    try:
        weir.sql("SELECT 1 AS n").__datafusion_table_provider__()
    except weir.PlanError as error:
        print(error)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(weir.__file__).parent.parent)},
    )
    assert "does not say which DataFusion it is" in ran.stdout


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_capsule_that_nobody_takes_is_let_go() -> None:
    session = datafusion.SessionContext()
    for _ in range(50):
        capsule = weir.open(VOIP).calls().__datafusion_table_provider__(session)
        assert "datafusion_table_provider" in repr(capsule)
        del capsule
    session.register_table("calls", weir.open(VOIP).calls())
    session.deregister_table("calls")

//! Clients of Python, and many of them.

use std::process::Command;

use weir_testkit::Limited as _;

use crate::served::Served;

/// Runs a script when its modules are there.
fn python(served: &Served, modules: &str, script: &str) {
    let has = Command::new("python3")
        .args(["-c", &format!("import {modules}")])
        .output_limited();
    if !has.is_ok_and(|output| output.status.success()) {
        let client = modules.split(['.', ',']).next().unwrap_or(modules);
        weir_testkit::missing(client, "the server beside a client of Python");
        return;
    }
    let output = Command::new("python3")
        .args(["-c", script])
        .env("PORT", served.postgres.port().to_string())
        .env("FLIGHT", served.flight.port().to_string())
        .output_limited()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

#[test]
fn psycopg_gets_the_values() {
    let served = Served::plain();
    python(
        &served,
        "psycopg",
        r#"
import os, ipaddress, psycopg
from decimal import Decimal
with psycopg.connect(f"host=127.0.0.1 port={os.environ['PORT']} user=me dbname=weir") as c:
    for binary in (False, True):
        row = c.execute("SELECT arrow_cast(18446744073709551615, 'UInt64'), NULL, TIMESTAMPTZ '2026-01-02 03:04:05.5Z', true, 1.5, [1, 2]", binary=binary).fetchone()
        assert int(row[0]) == 2**64 - 1 and row[1] is None and row[3] is True and float(row[4]) == 1.5 and row[5] == [1, 2], row
        assert row[2].microsecond == 500000, row
        address = c.execute("SELECT ip.src FROM 'office.pcapng' WHERE ip.src IS NOT NULL LIMIT 1", binary=binary).fetchone()[0]
        assert isinstance(address, ipaddress.IPv4Address), address
        for sql, expected in (
            ("[arrow_cast(18446744073709551615, 'UInt64'), NULL]", [2**64 - 1, None]),
            ("['x', 'é\"{}', NULL]", ["x", 'é"{}', None]),
            ("[X'00ff']", [b"\x00\xff"]),
            ("[true, false]", [True, False]),
            ("make_array()", []),
            ("arrow_cast(NULL, 'List(Int64)')", None),
            ("[arrow_cast(70000, 'UInt32')]", [70000]),
        ):
            assert c.execute(f"SELECT {sql}", binary=binary).fetchone()[0] == expected, sql
    for binary in (False, True):
        for value in (1, 2**40, 1.5, True, "x", b"\x00a", [1, 2], None):
            row = c.execute("SELECT %s AS a, 1 AS b", (value,), binary=binary).fetchone()
            assert row == (value, 1), row
        for value in (Decimal("12.50"), Decimal("-0.001"), Decimal("1E+3"), Decimal(0), 2**70, Decimal("1" * 76), Decimal("0." + "3" * 70)):
            for place in ("%s", "%b", "%t"):
                row = c.execute(f"SELECT {place} AS a, 1 AS b", (value,), binary=binary).fetchone()
                assert row == (value, 1), row
        assert str(c.execute("SELECT %s", (Decimal("12.50"),), binary=binary).fetchone()[0]) == "12.50"
    n = c.execute("SELECT count(*) FROM 'office.pcapng' WHERE frame.len > %s AND ip.src = %s", (60, str(address))).fetchone()[0]
    assert n > 0
    with c.cursor().copy("COPY (SELECT frame.number FROM 'office.pcapng' LIMIT 3) TO STDOUT") as copy:
        assert len(list(copy.rows())) == 3
try:
    with psycopg.connect(f"host=127.0.0.1 port={os.environ['PORT']} user=me dbname=weir") as c:
        c.execute("SELECT nothing FROM 'office.pcapng'")
    raise SystemExit("no error")
except psycopg.Error as error:
    assert "no column named nothing" in str(error), error
"#,
    );
}

#[test]
fn psycopg_reads_by_cursors_on_the_server() {
    let served = Served::plain();
    python(
        &served,
        "psycopg",
        r#"
import os, psycopg
where = f"host=127.0.0.1 port={os.environ['PORT']} user=me dbname=weir"
with psycopg.connect(where) as c:
    rows = c.execute("SELECT frame.number, ip.src FROM 'office.pcapng' WHERE frame.len > 60 ORDER BY 1").fetchall()
    for binary in (False, True):
        with c.cursor("piece by piece") as cursor:
            cursor.itersize = 100
            cursor.execute("SELECT frame.number, ip.src FROM 'office.pcapng' WHERE frame.len > %s ORDER BY 1", (60,), binary=binary)
            assert [column.name for column in cursor.description] == ["frame.number", "ip.src"]
            assert list(cursor) == rows, binary
            assert cursor.fetchmany(5) == []
    # The first rows of a scan that is not read to its end.
    with c.cursor("endless") as cursor:
        cursor.execute("SELECT v FROM generate_series(1, 1000000000000) a(v)")
        assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
        assert c.execute("SELECT 42").fetchone() == (42,)
        assert cursor.fetchone() == (4,)
    for sql, says in (
        ("FETCH 1 FROM unknown", 'cursor "unknown" does not exist'),
        ("DECLARE c SCROLL CURSOR FOR SELECT 1", "can only scan forward"),
        ("DECLARE c CURSOR FOR CREATE VIEW v AS SELECT 1", "a cursor takes a query"),
        ("DECLARE c CURSOR FOR SELECT * FROM '/etc/passwd'", "restricted"),
    ):
        try:
            c.execute(sql)
            raise SystemExit(f"{sql}: no error")
        except psycopg.Error as error:
            assert says in str(error), error
        c.rollback()
with psycopg.connect(where, autocommit=True) as c:
    c.execute("BEGIN")
    c.execute("DECLARE held CURSOR WITH HOLD FOR SELECT v FROM generate_series(1, 5) a(v)")
    c.execute("DECLARE gone CURSOR FOR SELECT v FROM generate_series(1, 5) a(v)")
    assert c.execute("FETCH 2 FROM held").fetchall() == [(1,), (2,)]
    assert c.execute("MOVE 1 IN held").statusmessage == "MOVE 1"
    c.execute("COMMIT")
    assert c.execute("FETCH ALL FROM held").fetchall() == [(4,), (5,)]
    assert c.execute("FETCH held").fetchall() == []
    try:
        c.execute("FETCH gone")
        raise SystemExit("it outlived its transaction")
    except psycopg.errors.InvalidCursorName:
        pass
    assert c.execute("CLOSE ALL").statusmessage == "CLOSE CURSOR ALL"
"#,
    );
    served.wait_for("weir_queries_running 0");
}

#[test]
fn asyncpg_gets_the_values() {
    let served = Served::plain();
    python(
        &served,
        "asyncpg",
        r#"
import os, asyncio, asyncpg, ipaddress, datetime
async def main():
    c = await asyncpg.connect(host="127.0.0.1", port=int(os.environ["PORT"]), user="me", database="weir")
    row = await c.fetchrow("SELECT arrow_cast(18446744073709551615, 'UInt64'), NULL, 1.5")
    assert int(row[0]) == 2**64 - 1 and row[1] is None and float(row[2]) == 1.5, row
    rows = await c.fetch("SELECT frame.number, ip.src, frame.time FROM 'office.pcapng' WHERE frame.len > $1 LIMIT 3", 60)
    assert len(rows) == 3, rows
    row = await c.fetchrow("SELECT [1, NULL, 3], ['a', NULL], [true], [1.5], [arrow_cast(18446744073709551615, 'UInt64')], array_agg(DISTINCT ip.src ORDER BY ip.src) FROM 'office.pcapng' WHERE ip.src IS NOT NULL")
    assert row[0] == [1, None, 3] and row[1] == ["a", None] and row[2] == [True] and row[3] == [1.5], row
    assert [int(n) for n in row[4]] == [2**64 - 1] and len(row[5]) > 3 and all(ipaddress.ip_address(a) for a in row[5]), row
    row = await c.fetchrow("SELECT dns.a, dns.resp.ttl FROM dns('office.pcapng') WHERE dns.a IS NOT NULL LIMIT 1")
    assert ipaddress.ip_address(row[0][0]) and isinstance(row[1][0], int), row
    async with c.transaction():
        seen = 0
        async for row in c.cursor("SELECT frame.number FROM 'office.pcapng'", prefetch=10):
            seen += 1
    assert seen == await c.fetchval("SELECT count(*) FROM 'office.pcapng'"), seen
    rows = await c.fetch("SELECT frame.number FROM 'office.pcapng' LIMIT $1 OFFSET $2", 2, 1)
    assert len(rows) == 2, rows
    long, day = datetime.timedelta(days=1, seconds=2, microseconds=3), datetime.date(2026, 1, 2)
    row = await c.fetchrow("SELECT $1::interval, $2::date", long, day)
    assert list(row) == [long, day], row
    await c.reset()
    await c.close()
asyncio.run(main())
"#,
    );
}

#[test]
fn adbc_gets_the_values() {
    let served = Served::plain();
    python(
        &served,
        "adbc_driver_postgresql.dbapi, pyarrow",
        r#"
import os, adbc_driver_postgresql.dbapi as d
with d.connect(f"postgresql://me@127.0.0.1:{os.environ['PORT']}/weir") as c, c.cursor() as cur:
    cur.execute("SELECT frame.number, frame.len, NULL AS nothing FROM 'office.pcapng'")
    table = cur.fetch_arrow_table()
    cur.execute("SELECT count(*) FROM 'office.pcapng'")
    assert cur.fetchone()[0] == table.num_rows, table.num_rows
"#,
    );
}

#[test]
fn adbc_gets_the_values_over_flight_sql() {
    let served = Served::plain();
    python(
        &served,
        "adbc_driver_flightsql.dbapi, pyarrow",
        r#"
import os, threading, time, datetime, pyarrow, adbc_driver_flightsql.dbapi as d
uri = f"grpc://127.0.0.1:{os.environ['FLIGHT']}"
with d.connect(uri, autocommit=True) as c, c.cursor() as cur:
    cur.execute("SELECT arrow_cast(18446744073709551615, 'UInt64') AS most, NULL AS nothing, TIMESTAMP '2026-01-02 03:04:05.123456789' AS at, [1, NULL, 3] AS list, 1.5 AS half, X'00ff' AS bytes")
    table = cur.fetch_arrow_table()
    row = table.to_pylist()[0]
    assert row["most"] == 2**64 - 1 and row["nothing"] is None and row["half"] == 1.5 and row["bytes"] == b"\x00\xff", row
    assert row["list"] == [1, None, 3], row
    assert table["at"].cast(pyarrow.int64())[0].as_py() % 10**9 == 123456789, row
    cur.execute("SELECT frame.number, frame.time, ip.src, tcp.dstport FROM 'office.pcapng' ORDER BY 1")
    table = cur.fetch_arrow_table()
    cur.execute("SELECT count(*), count(ip.src), count(tcp.dstport), max(frame.time) FROM 'office.pcapng'")
    count, sources, ports, latest = cur.fetchone()
    assert count == table.num_rows and count - sources == table["ip.src"].null_count and count - ports == table["tcp.dstport"].null_count
    assert max(table["frame.time"].to_pylist()) == latest
    address = next(a for a in table["ip.src"].to_pylist() if a)
    cur.execute("SELECT count(*) FROM 'office.pcapng' WHERE ip.src = $1 AND frame.len > $2", (address, 60))
    counted = cur.fetchone()[0]
    cur.execute(f"SELECT count(*) FROM 'office.pcapng' WHERE ip.src = '{address}' AND frame.len > 60")
    assert counted == cur.fetchone()[0] > 0
    cur.execute("CREATE VIEW long AS SELECT * FROM 'office.pcapng' WHERE frame.len > 1000")
    cur.execute("SELECT count(*) FROM long")
    assert cur.fetchone()[0] > 0
    objects = c.adbc_get_objects(depth="columns", table_name_filter="office.pcapng").read_all().to_pylist()
    table = objects[0]["catalog_db_schemas"][0]["db_schema_tables"][0]
    assert table["table_name"] == "office.pcapng" and "ip.src" in [column["column_name"] for column in table["table_columns"]]
    assert c.adbc_get_table_types() == ["TABLE"] and c.adbc_get_info()["vendor_name"] == "weir"
    try:
        cur.execute("SELECT nothing FROM 'office.pcapng'")
        raise SystemExit("no error")
    except d.Error as error:
        assert "no column named nothing" in str(error), error
    threading.Timer(0.5, cur.adbc_cancel).start()
    begun = time.time()
    try:
        cur.execute("SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000")
        cur.fetchone()
        raise SystemExit("it was not cancelled")
    except d.Error as error:
        assert "cancel" in str(error).lower(), error
    assert time.time() - begun < 2
    cur.execute("SELECT 42")
    assert cur.fetchone() == (42,)
"#,
    );
    served.wait_for("weir_queries_running 0");
}

#[test]
fn adbc_says_its_password_over_flight_sql() {
    let served = Served::with(|options| {
        options.password = Some("right".to_owned());
        options.token = Some("sesame".to_owned());
    });
    python(
        &served,
        "adbc_driver_flightsql.dbapi, pyarrow",
        r#"
import os, adbc_driver_flightsql as f, adbc_driver_flightsql.dbapi as d
uri = f"grpc://127.0.0.1:{os.environ['FLIGHT']}"
def ask(**options):
    with d.connect(uri, db_kwargs=options, autocommit=True) as c, c.cursor() as cur:
        cur.execute("SELECT 42")
        return cur.fetchone()[0]
header = f.DatabaseOptions.AUTHORIZATION_HEADER.value
assert ask(username="me", password="right") == 42
assert ask(**{header: "Bearer sesame"}) == 42
for wrong in ({"username": "me", "password": "wrong"}, {header: "Bearer wrong"}, {}):
    try:
        ask(**wrong)
        raise SystemExit(f"{wrong} was let in")
    except d.Error as error:
        assert "nauthenticated" in str(error), error
"#,
    );
}

#[test]
fn fifty_connections_get_what_one_gets() {
    let served = Served::plain();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = format!(
        "host=127.0.0.1 port={} user=me dbname=weir",
        served.postgres.port()
    );
    let queries = [
        "SELECT count(*), sum(frame.len) FROM 'office.pcapng'",
        "SELECT ip.src, count(*) FROM 'office.pcapng' GROUP BY ip.src ORDER BY 2 DESC, 1 LIMIT 5",
        "SELECT count(*) FROM flows('office.pcapng')",
        "SELECT frame.number FROM 'office.pcapng' ORDER BY frame.number DESC LIMIT 3",
    ];
    let ask = |config: String, times: usize| async move {
        let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let mut all = Vec::new();
        for index in 0..times {
            let answer = client
                .simple_query(queries[index % queries.len()])
                .await
                .unwrap();
            all.push(format!("{answer:?}"));
        }
        all
    };
    runtime.block_on(async {
        let alone = ask(config.clone(), 20).await;
        let together: Vec<_> = (0..50)
            .map(|_| tokio::spawn(ask(config.clone(), 20)))
            .collect();
        for one in together {
            assert_eq!(one.await.unwrap(), alone);
        }
    });
}

/// Lists as pgx and postgres.js send them, and patterns and objects as SQLAlchemy asks for them.
#[test]
fn lists_are_one_parameter() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let config = format!(
            "host=127.0.0.1 port={} user=me dbname=weir",
            served.postgres.port()
        );
        let connected = tokio_postgres::connect(&config, tokio_postgres::NoTls).await;
        let (client, connection) = connected.unwrap();
        tokio::spawn(connection);
        let count = async |condition: &str, list: &(dyn tokio_postgres::types::ToSql + Sync)| {
            let sql = format!("SELECT count(*) FROM 'office.pcapng' WHERE {condition}");
            let row = client.query_one(&sql, &[list]).await.unwrap();
            row.get::<_, i64>(0)
        };
        let numbers = vec![1_i64, 2, 3];
        assert_eq!(count("frame.number = ANY($1::bigint[])", &numbers).await, 3);
        let others = "frame.number <> ALL($1::bigint[]) AND frame.number < 6";
        assert_eq!(count(others, &numbers).await, 2);
        let none = Vec::<i64>::new();
        assert_eq!(count("frame.number = ANY($1::bigint[])", &none).await, 0);
        let sql = "SELECT CAST(ip.src AS TEXT), count(*) FROM 'office.pcapng' WHERE ip.src IS NOT NULL GROUP BY 1 LIMIT 1";
        let row = client.query_one(sql, &[]).await.unwrap();
        let (address, of_address) = (row.get::<_, String>(0), row.get::<_, i64>(1));
        let addresses = vec![address];
        assert_eq!(count("ip.src = ANY($1::text[])", &addresses).await, of_address);
        let sql = "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE $1 || '%' ESCAPE '/' ORDER BY nspname";
        let rows = client.query(sql, &[&"pg/_"]).await.unwrap();
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(names, ["information_schema", "public"]);
        let sql = "SELECT json_build_object('a', 1, 'b', c.relname = 'pg_class') FROM pg_class c WHERE c.relname = 'pg_class'";
        let row = client.query_one(sql, &[]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), r#"{"a" : 1, "b" : true}"#);
    });
}

/// `SELECT $1` was described as text whatever the client had said of the parameter, and then refused its own answer.
#[test]
fn columns_have_the_types_that_clients_say_of_parameters() {
    use tokio_postgres::types::Type;
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let config = format!(
            "host=127.0.0.1 port={} user=me dbname=weir",
            served.postgres.port()
        );
        let connected = tokio_postgres::connect(&config, tokio_postgres::NoTls).await;
        let (client, connection) = connected.unwrap();
        tokio::spawn(connection);
        for (sql, kind) in [
            ("SELECT $1 AS a", Type::INT8),
            ("SELECT coalesce(NULL, $1) AS a", Type::INT8),
            ("SELECT $1 AS a", Type::FLOAT8),
            ("SELECT $1 AS a", Type::NUMERIC),
            ("SELECT $1 AS a", Type::BOOL),
            ("SELECT $1 AS a", Type::BYTEA),
            ("SELECT $1 AS a", Type::TEXT),
        ] {
            let types = std::slice::from_ref(&kind);
            let prepared = client.prepare_typed(sql, types).await.unwrap();
            assert_eq!(*prepared.columns()[0].type_(), kind, "{sql}");
            assert_eq!(prepared.columns()[0].name(), "a");
        }
        let counted = "SELECT count(*) FROM generate_series(1, $1)";
        let prepared = client.prepare_typed(counted, &[Type::INT8]).await.unwrap();
        let row = client.query_one(&prepared, &[&7_i64]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 7);
        let one = "SELECT $1 AS a";
        let prepared = client.prepare_typed(one, &[Type::INT8]).await.unwrap();
        for value in [Some(5_i64), None] {
            let row = client.query_one(&prepared, &[&value]).await.unwrap();
            assert_eq!(row.get::<_, Option<i64>>(0), value);
        }
    });
}

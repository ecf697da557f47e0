//! Clients of Python, and many of them.

use std::process::Command;

use crate::served::Served;

/// Runs a script when its modules are there.
fn python(served: &Served, modules: &str, script: &str) {
    let has = Command::new("python3")
        .args(["-c", &format!("import {modules}")])
        .output();
    if !has.is_ok_and(|output| output.status.success()) {
        let client = modules.split(['.', ',']).next().unwrap_or(modules);
        weir_testkit::missing(client, "the PostgreSQL protocol beside a client of Python");
        return;
    }
    let output = Command::new("python3")
        .args(["-c", script])
        .env("PORT", served.postgres.port().to_string())
        .output()
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
with psycopg.connect(f"host=127.0.0.1 port={os.environ['PORT']} user=me dbname=weir") as c:
    for binary in (False, True):
        row = c.execute("SELECT arrow_cast(18446744073709551615, 'UInt64'), NULL, TIMESTAMPTZ '2026-01-02 03:04:05.5Z', true, 1.5, [1, 2]", binary=binary).fetchone()
        assert int(row[0]) == 2**64 - 1 and row[1] is None and row[3] is True and float(row[4]) == 1.5 and row[5] == [1, 2], row
        assert row[2].microsecond == 500000, row
        address = c.execute("SELECT ip.src FROM 'office.pcapng' WHERE ip.src IS NOT NULL LIMIT 1", binary=binary).fetchone()[0]
        assert isinstance(address, ipaddress.IPv4Address), address
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
fn asyncpg_gets_the_values() {
    let served = Served::plain();
    python(
        &served,
        "asyncpg",
        r#"
import os, asyncio, asyncpg
async def main():
    c = await asyncpg.connect(host="127.0.0.1", port=int(os.environ["PORT"]), user="me", database="weir")
    row = await c.fetchrow("SELECT arrow_cast(18446744073709551615, 'UInt64'), NULL, 1.5")
    assert int(row[0]) == 2**64 - 1 and row[1] is None and float(row[2]) == 1.5, row
    rows = await c.fetch("SELECT frame.number, ip.src, frame.time FROM 'office.pcapng' WHERE frame.len > $1 LIMIT 3", 60)
    assert len(rows) == 3, rows
    async with c.transaction():
        seen = 0
        async for row in c.cursor("SELECT frame.number FROM 'office.pcapng'", prefetch=10):
            seen += 1
    assert seen == await c.fetchval("SELECT count(*) FROM 'office.pcapng'"), seen
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

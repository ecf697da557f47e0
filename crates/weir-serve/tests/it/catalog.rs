//! Tests of the catalog, queried in the session of all other statements.

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::served::{Served, write_late_column};

async fn connected(served: &Served) -> Client {
    let config = format!(
        "host=127.0.0.1 port={} user=me dbname=weir",
        served.postgres.port()
    );
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The rows of a text, with `|` between values.
async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await;
    let messages = messages.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.map(|row| {
        let values = (0..row.len()).map(|index| row.get(index).unwrap_or("NULL"));
        values.collect::<Vec<_>>().join("|")
    })
    .collect()
}

async fn error(client: &Client, sql: &str) -> String {
    let error = client.simple_query(sql).await.map(drop).unwrap_err();
    error.as_db_error().map_or_else(
        || panic!("{sql}: {error}"),
        |error| error.message().to_owned(),
    )
}

fn on_runtime(work: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(work);
}

#[test]
fn captures_are_joined_with_the_catalog() {
    let served = Served::plain();
    on_runtime(async {
        let client = connected(&served).await;
        let joined = "SELECT c.relname, count(*) AS n FROM 'office.pcapng' p JOIN pg_class c ON c.relname = 'office.pcapng' WHERE p.frame.len > 60 GROUP BY 1";
        let counted = "SELECT 'office.pcapng' AS name, count(*) AS n FROM 'office.pcapng' WHERE frame.len > 60";
        let expected = rows(&client, counted).await;
        assert_eq!(rows(&client, joined).await, expected);
        // HTTP, which has no PostgreSQL catalog of its own, gives the same answer.
        let post = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
        let answer = served.request(post, joined);
        assert!(answer.contains("office.pcapng"), "{answer}");
        let view = "CREATE VIEW files AS SELECT relname, oid FROM pg_class WHERE relnamespace = 'public'::regnamespace; SELECT count(*) FROM files WHERE relname = 'office.pcapng'";
        assert_eq!(rows(&client, view).await, ["1"]);
    });
}

#[test]
fn columns_have_the_types_that_answers_have() {
    let served = Served::plain();
    on_runtime(async {
        let client = connected(&served).await;
        let sql = "SELECT a.attname, a.atttypid FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname = 'office.pcapng' ORDER BY a.attnum";
        let listed = client.query(sql, &[]).await.unwrap();
        let listed: Vec<(String, u32)> =
            listed.iter().map(|row| (row.get(0), row.get(1))).collect();
        let answer = client.prepare("SELECT * FROM 'office.pcapng'").await;
        let answer = answer.unwrap();
        let answered: Vec<(String, u32)> = (answer.columns().iter())
            .map(|column| (column.name().to_owned(), column.type_().oid()))
            .collect();
        assert!(listed.len() > 100 && listed == answered, "{listed:?}");
        assert!(listed.contains(&("ip.src".to_owned(), 869)));
    });
}

#[test]
fn what_clients_ask_has_its_answers() {
    let served = Served::plain();
    on_runtime(async {
        let client = connected(&served).await;
        // A file has the same number in every process, so that a client may go on with it in its next question.
        let oid = rows(&client, "SELECT 'office.pcapng'::regclass::oid").await;
        let others = connected(&served).await;
        assert_eq!(
            rows(
                &others,
                "SELECT oid FROM pg_class WHERE relname = 'office.pcapng'"
            )
            .await,
            oid
        );
        let oid = &oid[0];
        let of_file = |text: &str| text.replace("OID", oid);
        for (sql, expected) in [
            (
                "SELECT relname FROM pg_catalog.pg_class WHERE oid = 'OID'",
                "office.pcapng",
            ),
            (
                "SELECT OID::regclass, 'pg_class'::regclass",
                "\"office.pcapng\"|pg_class",
            ),
            (
                "SELECT 'int8'::regtype::oid, 20::regtype::text, 'public'::regnamespace::oid",
                "20|bigint|2200",
            ),
            (
                "SELECT format_type(1043, 24), pg_catalog.format_type(869, -1)",
                "character varying(20)|inet",
            ),
            (
                "SELECT pg_catalog.pg_get_userbyid(relowner), pg_table_is_visible(oid) FROM pg_class WHERE oid = OID",
                "weir|t",
            ),
            (
                "SELECT current_schemas(true), current_schemas(false), current_schema",
                "{pg_catalog,public}|{public}|public",
            ),
            (
                "SELECT current_database(), current_catalog, current_user, session_user",
                "weir|weir|weir|weir",
            ),
            (
                "SELECT obj_description(OID, 'pg_class'), col_description(OID, 1)",
                "NULL|NULL",
            ),
            (
                "SELECT has_table_privilege('me', OID, 'select'), has_table_privilege(OID, 'delete')",
                "t|f",
            ),
            (
                "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()",
                "UTF8",
            ),
            (
                "SELECT quote_ident('a b'), quote_ident('ab'), array_upper(parse_ident('a.\"B\"'), 1)",
                "\"a b\"|ab|2",
            ),
            (
                "SELECT nspname FROM pg_namespace n WHERE n.nspname = ANY(current_schemas(true)) ORDER BY 1",
                "pg_catalog,public",
            ),
            (
                "SELECT relkind FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^(office.pcapng)$' COLLATE pg_catalog.default",
                "r",
            ),
            (
                "SELECT setting FROM pg_settings WHERE name = 'max_index_keys'",
                "32",
            ),
            (
                "SELECT typarray, typelem FROM pg_type WHERE typname = '_int8' OR typname = 'int8' ORDER BY 1",
                "0|20,1016|0",
            ),
            (
                "SELECT t.typname FROM pg_range r JOIN pg_type t ON t.oid = r.rngsubtype WHERE r.rngtypid = 'int8range'::regtype",
                "int8",
            ),
            ("SELECT count(*) FROM pg_index", "0"),
            (
                "SELECT a.attname FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid WHERE a.attrelid = 'pg_am'::regclass AND a.attnum > 0 ORDER BY attnum",
                "oid,amname,amhandler,amtype",
            ),
            (
                "SELECT (SELECT n.nspname FROM pg_namespace n WHERE n.oid = c.relnamespace) FROM pg_class c WHERE c.relname = 'office.pcapng'",
                "public",
            ),
            (
                "SELECT ARRAY(SELECT nspname FROM pg_namespace WHERE nspname < 'public' ORDER BY 1)",
                "{information_schema,pg_catalog}",
            ),
            (
                "SELECT table_type FROM information_schema.tables WHERE table_name = 'office.pcapng'",
                "BASE TABLE",
            ),
            (
                "SELECT ordinal_position, is_nullable FROM information_schema.columns WHERE table_name = 'office.pcapng' AND column_name = 'frame.number'",
                "2|YES",
            ),
            ("SELECT pg_size_pretty(10240::bigint)", "10 kB"),
            ("SELECT xmin, tableoid FROM pg_class WHERE oid = OID", "0|0"),
            (
                "SELECT current_setting('server_version_num')::int/100",
                "1600",
            ),
        ] {
            let sql = of_file(sql);
            assert_eq!(rows(&client, &sql).await.join(","), expected, "{sql}");
        }
        let says = error(&client, "SELECT 'nothing'::regclass").await;
        assert!(
            says.contains("relation \"nothing\" does not exist"),
            "{says}"
        );
        let number: u32 = oid.parse().unwrap();
        let by_number = "SELECT relname FROM pg_class WHERE oid = $1::oid";
        let value = client.query_one(by_number, &[&number]).await.unwrap();
        assert_eq!(value.get::<_, &str>(0), "office.pcapng");
        let by_numbers = "SELECT typname FROM pg_type WHERE oid = ANY($1::oid[]) ORDER BY 1";
        let names = client
            .query(by_numbers, &[&vec![20_u32, 25]])
            .await
            .unwrap();
        let names: Vec<&str> = names.iter().map(|row| row.get(0)).collect();
        assert_eq!(names, ["int8", "text"]);
    });
}

#[test]
fn the_catalog_is_only_read() {
    for allow_write in [false, true] {
        let served = Served::with(|options| options.allow_write = allow_write);
        on_runtime(async {
            let client = connected(&served).await;
            let before = rows(&client, "SELECT count(*) FROM pg_catalog.pg_class").await;
            for sql in [
                "INSERT INTO pg_catalog.pg_class SELECT * FROM pg_catalog.pg_class",
                "INSERT INTO pg_class SELECT * FROM pg_class",
                "CREATE TABLE pg_catalog.mine AS SELECT 1 AS a",
                "CREATE VIEW pg_catalog.pg_class AS SELECT 1 AS a",
                "DROP TABLE pg_catalog.pg_class",
                "DROP VIEW pg_catalog.pg_class",
                "DELETE FROM pg_catalog.pg_class",
                "WITH x AS (DELETE FROM pg_index) SELECT 1 FROM pg_index, x",
                "SELECT oid INTO pg_catalog.mine FROM pg_class",
            ] {
                let says = error(&client, sql).await;
                assert!(!says.is_empty(), "{sql}");
                let after = rows(&client, "SELECT count(*) FROM pg_catalog.pg_class").await;
                assert_eq!(after, before, "{sql}");
            }
        });
    }
}

/// JSON of 200 MiB, which gzip makes 300 KB of, was read whole for its columns: every list of relations and of columns ran into
/// `--max-time`.
#[test]
fn columns_in_lists_are_those_of_the_beginnings_of_files() {
    let served = Served::with(|options| write_late_column(&options.roots[0]));
    on_runtime(async {
        let client = connected(&served).await;
        for list in [
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'late.ndjson' ORDER BY ordinal_position",
            "SELECT attname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE relname = 'late.ndjson' ORDER BY attnum",
        ] {
            assert_eq!(rows(&client, list).await, ["a", "b"], "{list}");
        }
        let own = "SELECT a, late FROM 'late.ndjson' WHERE late";
        assert_eq!(rows(&client, own).await, ["1.5|t"]);
    });
}

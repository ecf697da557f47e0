//! The queries of client programs at their start: sent by the programs where they are installed, and replayed from recordings.

use std::path::{Path, PathBuf};
use std::process::Command;

use tokio_postgres::NoTls;
use weir_testkit::Limited as _;

use crate::served::Served;

/// The statements of a file: an empty line ends one, and lines with `#` are comments.
fn statements(text: &str) -> impl Iterator<Item = String> {
    let statements = text.split("\n\n").map(|statement| {
        let lines = statement.lines().filter(|line| !line.starts_with('#'));
        lines.collect::<Vec<_>>().join("\n")
    });
    statements.filter(|statement| !statement.trim().is_empty())
}

/// SHOW gave another style of dates and another time zone than the connection began with.
#[test]
fn parameters_of_a_connection_are_those_that_show_gives() {
    let served = Served::plain();
    let port = served.postgres.port();
    let config = format!("host=127.0.0.1 port={port} user=me dbname=weir");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        let names = [
            "DateStyle",
            "IntervalStyle",
            "TimeZone",
            "client_encoding",
            "server_version",
            "standard_conforming_strings",
        ];
        let given = names.map(|name| connection.parameter(name).map(str::to_owned));
        tokio::spawn(connection);
        for (name, given) in names.into_iter().zip(given) {
            let shown = crate::attacks::simple(&client, &format!("SHOW {name}")).await;
            assert_eq!(shown.unwrap(), [given.unwrap()], "{name}");
        }
    });
}

#[test]
fn programs_get_what_they_ask_for_when_they_start() {
    let served = Served::plain();
    let config = format!(
        "host=127.0.0.1 port={} user=me dbname=weir",
        served.postgres.port()
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut wrong = String::new();
    runtime.block_on(async {
        for (program, text, least) in [
            ("DBeaver", include_str!("../startup/dbeaver.sql"), 25),
            ("Grafana", include_str!("../startup/grafana.sql"), 7),
            ("Metabase", include_str!("../startup/metabase.sql"), 12),
            ("Npgsql", include_str!("../startup/npgsql.sql"), 4),
            ("pgAdmin", include_str!("../startup/pgadmin.sql"), 4),
        ] {
            let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
            tokio::spawn(connection);
            let mut count = 0;
            // All on one connection: none of them ends it.
            for sql in statements(text) {
                count += 1;
                let simple = client.simple_query(&sql).await.map(drop);
                let prepared = client.query(&sql, &[]).await.map(drop);
                for error in [simple, prepared].into_iter().filter_map(Result::err) {
                    let says = error.as_db_error().map_or(error.to_string(), |error| error.message().to_owned());
                    wrong.push_str(&format!("{program}: {sql}\n    {says}\n"));
                }
            }
            assert!(count >= least, "{program}: {count} statements are found");
            assert!(!client.is_closed(), "{program}");
        }
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        tokio::spawn(connection);
        let one = async |sql: &str| {
            let row = client.query_one(sql, &[]).await;
            row.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
        };
        let version: i32 = one("SELECT (current_setting('server_version_num')::int/100)::int AS version").await.get(0);
        assert_eq!(version, 1600);
        let column = one("SELECT data_type, udt_name FROM information_schema.columns WHERE table_name = 'office.pcapng' AND column_name = 'frame.len'").await;
        assert_eq!((column.get::<_, &str>(0), column.get::<_, &str>(1)), ("bigint", "int8"));
    });
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn pgcli_completes_and_lists() {
    let served = Served::plain();
    let has = Command::new("python3")
        .args(["-c", "import pgcli.main"])
        .output_limited();
    if !has.is_ok_and(|output| output.status.success()) {
        weir_testkit::missing("pgcli", "the server beside pgcli");
        return;
    }
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/startup/pgcli_asks.py"))
        .arg(served.postgres.port().to_string())
        .env("HOME", served.path())
        // The program writes its settings into its home folder.
        .current_dir(served.path())
        .output_limited()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// The driver of PostgreSQL for Java: the one that the gate has fetched, or the newest that Maven keeps.
fn driver() -> Option<PathBuf> {
    if let Some(driver) = std::env::var_os("WEIR_PGJDBC") {
        return Some(PathBuf::from(driver)).filter(|driver| driver.exists());
    }
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let versions = home.join(".m2/repository/org/postgresql/postgresql");
    let versions = std::fs::read_dir(versions).ok()?;
    let jars = versions.flatten().flat_map(|version| {
        std::fs::read_dir(version.path())
            .into_iter()
            .flatten()
            .flatten()
    });
    let mut jars: Vec<PathBuf> = jars
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "jar"))
        .collect();
    jars.sort();
    jars.pop()
}

#[test]
fn jdbc_gets_tables_columns_and_values() {
    let served = Served::plain();
    let has = Command::new("java")
        .arg("-version")
        .output_limited()
        .is_ok();
    let (true, Some(driver)) = (has, driver()) else {
        weir_testkit::missing("pgjdbc", "the server beside JDBC");
        return;
    };
    let output = Command::new("java")
        .arg("-cp")
        .arg(driver)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/startup/Asks.java"))
        .arg(served.postgres.port().to_string())
        .output_limited()
        .unwrap();
    let (told, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{told}{errors}");
}

/// An unknown setting was `off` for `current_setting`, and so was the time zone; SHOW did not know that the server only reads.
#[test]
fn settings_are_those_that_show_gives() {
    let served = Served::plain();
    let port = served.postgres.port();
    let config = format!("host=127.0.0.1 port={port} user=me dbname=weir");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        tokio::spawn(connection);
        let ask = async |sql: &str| crate::attacks::simple(&client, sql).await;
        for zone in ["", "SET timezone = 'Europe/Berlin'"] {
            ask(zone).await.unwrap();
            for name in [
                "TimeZone",
                "DateStyle",
                "search_path",
                "server_version",
                "default_transaction_read_only",
                "jit",
            ] {
                let shown = ask(&format!("SHOW {name}")).await;
                let current = ask(&format!("SELECT current_setting('{name}')")).await;
                assert_eq!(shown.unwrap(), current.unwrap(), "{name}");
            }
        }
        let shown = ask("SHOW default_transaction_read_only").await;
        assert_eq!(shown.unwrap(), ["on"]);
        let unknown = client.simple_query("SELECT current_setting('nope')").await;
        let code = unknown.err().and_then(|error| error.code().cloned());
        assert_eq!(
            code,
            Some(tokio_postgres::error::SqlState::UNDEFINED_OBJECT)
        );
        let missing = ask("SELECT current_setting('nope', true)").await;
        assert_eq!(missing.unwrap(), ["NULL"]);
    });
}

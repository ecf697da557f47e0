//! The settings of connections of the PostgreSQL protocol: they change answers, or are refused.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use crate::attacks::{postgres, simple};
use crate::served::Served;

/// The only value of the answer, or the message of the error.
async fn one(client: &Client, sql: &str) -> String {
    match simple(client, sql).await {
        Ok(rows) => rows.join("\n"),
        Err(message) => message,
    }
}

/// SHOW gave the values back, and answers were as before.
#[test]
fn settings_change_answers_or_are_refused() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let interval = "SELECT INTERVAL '-1 day 2 hours'";
        let number = "SELECT 2.0::double / 3";
        let instant = "SELECT TIMESTAMPTZ '2026-07-01 00:00:00Z'";
        for (set, query, expected) in [
            ("SET a.b = 1", interval, "-1 days +02:00:00"),
            ("SET IntervalStyle = iso_8601", interval, "P-1DT2H"),
            (
                "SET intervalstyle TO 'sql_standard'",
                interval,
                "+0-0 -1 +2:00:00",
            ),
            (
                "SET intervalstyle TO DEFAULT",
                interval,
                "-1 days +02:00:00",
            ),
            ("SET extra_float_digits = 0", number, "0.666666666666667"),
            ("RESET extra_float_digits", number, "0.6666666666666666"),
            (
                "SET TIME ZONE 'europe/berlin'",
                "SHOW timezone",
                "Europe/Berlin",
            ),
            ("SET a.b = 2", instant, "2026-07-01 02:00:00+02"),
            ("SET TIME ZONE -7", instant, "2026-06-30 17:00:00-07"),
            ("RESET TIME ZONE", instant, "2026-07-01 00:00:00+00"),
            ("SET datestyle = 'ISO', DMY", "SHOW datestyle", "ISO, DMY"),
            ("SET a.b = 'x y'", "SHOW a.b", "x y"),
            // It had the text of the literal.
            (r"SET a.b = E'x\ty'", "SHOW a.b", "x\ty"),
            (
                "SET statement_timeout = 90000",
                "SHOW statement_timeout",
                "90s",
            ),
            ("DISCARD ALL", "SHOW statement_timeout", "0"),
            ("RESET ALL", "SHOW datestyle", "ISO, MDY"),
        ] {
            simple(&client, set).await.unwrap();
            assert_eq!(one(&client, query).await, expected, "{set}: {query}");
        }
        for (set, message) in [
            (
                "SET datestyle = German",
                "invalid value for parameter \"DateStyle\": \"German\"",
            ),
            (
                "SET bytea_output = 'escape'",
                "invalid value for parameter \"bytea_output\": \"escape\"",
            ),
            (
                "SET client_encoding = 'LATIN1'",
                "invalid value for parameter \"client_encoding\": \"LATIN1\"",
            ),
            (
                "SET NAMES 'latin1'",
                "invalid value for parameter \"client_encoding\": \"latin1\"",
            ),
            (
                "SET standard_conforming_strings = off",
                "invalid value for parameter \"standard_conforming_strings\": \"off\"",
            ),
            (
                "SET timezone = 'nowhere'",
                "invalid value for parameter \"TimeZone\": \"nowhere\"",
            ),
            (
                "SET server_version = '17'",
                "parameter \"server_version\" cannot be changed",
            ),
            ("SET a.b = 1, a.c = 2", "SET is of one setting"),
            ("SET (a, b) = (1, 2)", "SET is of one setting"),
        ] {
            assert_eq!(one(&client, set).await, message);
        }
        assert_eq!(one(&client, "SHOW client_encoding").await, "UTF8");
    });
}

/// `current_setting` gave the values of the server, and `set_config` set nothing.
#[test]
fn functions_read_and_write_the_settings_of_the_connection() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let now = "SELECT current_setting('application_name')";
        simple(&client, "SET application_name = 'one'").await.unwrap();
        assert_eq!(one(&client, now).await, "one");
        assert_eq!(one(&client, "SELECT set_config('application_name', 'two', false)").await, "two");
        assert_eq!(one(&client, now).await, "two");
        assert_eq!(one(&client, "SHOW application_name").await, "two");
        let set = "SELECT pg_catalog.set_config('my.own', $1, $2::boolean)";
        client.query(set, &[&"x", &false]).await.unwrap();
        assert_eq!(one(&client, "SELECT current_setting('My.Own')").await, "x");
        let local = "BEGIN; SELECT set_config('my.own', 'y', true); SELECT current_setting('my.own'); COMMIT; SELECT current_setting('my.own')";
        assert_eq!(one(&client, local).await, "y\ny\nx");
        simple(&client, "SELECT set_config('my.own', 'z', true)").await.unwrap();
        assert_eq!(one(&client, "SHOW my.own").await, "x");
        let zone = "SELECT set_config('TimeZone', 'Europe/Berlin', false)";
        simple(&client, zone).await.unwrap();
        assert_eq!(
            one(&client, "SELECT TIMESTAMPTZ '2026-07-01 00:00:00Z'").await,
            "2026-07-01 02:00:00+02"
        );
        let refused = one(&client, "SELECT set_config('bytea_output', 'escape', false)").await;
        assert!(refused.starts_with("invalid value for parameter"), "{refused}");
        let other = postgres(&served).await;
        let missing = "SELECT current_setting('my.own', true)";
        assert_eq!(one(&other, missing).await, "NULL");
    });
}

/// Calls of `set_config` set nothing where the statement was no query, and gave the value back.
#[test]
fn calls_of_set_config_set_or_are_refused() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        for refused in [
            "PREPARE p AS SELECT set_config('my.own', 'x', false)",
            "PREPARE p AS SELECT set_config('my.own', $1, false)",
            "CREATE VIEW v AS SELECT set_config('my.own', 'x', false) AS a",
        ] {
            let message = one(&client, refused).await;
            assert!(
                message.starts_with("not supported: set_config"),
                "{refused}: {message}"
            );
        }
        let missing = "unrecognized configuration parameter \"my.own\"";
        assert_eq!(one(&client, "SHOW my.own").await, missing);
        let analyzed = "EXPLAIN ANALYZE SELECT set_config('my.own', 'x', false)";
        simple(&client, analyzed).await.unwrap();
        assert_eq!(one(&client, "SHOW my.own").await, "x");
        simple(
            &client,
            &analyzed.replace("ANALYZE", "").replace("'x'", "'y'"),
        )
        .await
        .unwrap();
        assert_eq!(one(&client, "SHOW my.own").await, "x");
        let copied = "COPY (SELECT set_config('my.own', 'z', false)) TO STDOUT";
        let rows = client.copy_out(copied).await.unwrap();
        let rows: Vec<_> = futures::StreamExt::collect(rows).await;
        assert!(rows.iter().all(Result::is_ok), "{rows:?}");
        assert_eq!(one(&client, "SHOW my.own").await, "z");
    });
}

/// The path of schemas was kept, and had no effect.
#[test]
fn the_path_of_schemas_is_that_of_the_connection() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let path = "SELECT current_schema(), current_schemas(true), current_schemas(false)";
        for (set, expected) in [
            ("SET a.b = 1", "public|{pg_catalog,public}|{public}"),
            (
                "SET search_path = \"$user\", public",
                "public|{pg_catalog,public}|{public}",
            ),
            (
                "SET search_path TO information_schema, nowhere, public",
                "information_schema|{pg_catalog,information_schema,public}|{information_schema,public}",
            ),
            (
                "SELECT set_config('search_path', 'public, pg_catalog', false)",
                "public|{public,pg_catalog}|{public,pg_catalog}",
            ),
            ("SET search_path = ''", "NULL|{pg_catalog}|{}"),
            ("RESET search_path", "public|{pg_catalog,public}|{public}"),
        ] {
            simple(&client, set).await.unwrap();
            assert_eq!(one(&client, path).await, expected, "{set}");
        }
        let refused = one(&client, "SELECT set_config('search_path', 'a b', false)").await;
        assert_eq!(
            refused,
            "invalid value for parameter \"search_path\": \"a b\""
        );
    });
}

/// What asyncpg sends when a connection returns to its pool failed, and so did a text that begins with a statement about cursors.
#[test]
fn pools_reset_connections() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        for reset in [
            "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;",
            "CLOSE ALL; UNLISTEN *; RESET ALL;",
            "CLOSE ALL;",
        ] {
            assert!(simple(&client, reset).await.is_ok(), "{reset}");
        }
        let many = simple(&client, &"CLOSE ALL;".repeat(1001)).await;
        assert_eq!(many.unwrap_err(), "a text has 1000 statements at most");
    });
}

/// SET LOCAL was one of the session, or none, and a rollback undid nothing.
#[test]
fn settings_of_a_transaction_end_with_it() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let instant = "SELECT TIMESTAMPTZ '2026-07-01 00:00:00Z'";
        for (begins, ends, hour) in [
            ("BEGIN; SET LOCAL TIME ZONE '+02:00'", "COMMIT", "00"),
            ("BEGIN; SET TIME ZONE '+02:00'", "ROLLBACK", "00"),
            (
                "BEGIN; SET TIME ZONE '+02:00'; SELECT nothing",
                "COMMIT",
                "00",
            ),
            (
                "BEGIN; SET TIME ZONE '+03:00'; SET LOCAL TIME ZONE '+02:00'",
                "COMMIT",
                "03",
            ),
            (
                "BEGIN; RESET ALL; SET LOCAL TIME ZONE '+02:00'",
                "ROLLBACK",
                "03",
            ),
            ("SET LOCAL TIME ZONE '+02:00'", "BEGIN; COMMIT", "03"),
        ] {
            let within = simple(&client, begins).await;
            if begins.starts_with("BEGIN") && within.is_ok() {
                let now = one(&client, instant).await;
                assert_eq!(now, "2026-07-01 02:00:00+02", "{begins}");
            }
            simple(&client, ends).await.unwrap();
            let now = one(&client, instant).await;
            assert_eq!(now.get(11..13), Some(hour), "{begins}; {ends}: {now}");
        }
    });
}

/// A rollback to a savepoint undid nothing.
#[test]
fn settings_since_a_savepoint_end_with_a_rollback_to_it() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let instant = "SELECT TIMESTAMPTZ '2026-07-01 00:00:00Z'";
        let begins = "BEGIN; SET TIME ZONE '+01:00'; SAVEPOINT One; SET TIME ZONE '+02:00'";
        simple(&client, begins).await.unwrap();
        assert_eq!(one(&client, instant).await, "2026-07-01 02:00:00+02");
        assert!(simple(&client, "SELECT nothing").await.is_err());
        simple(&client, "ROLLBACK TO SAVEPOINT one").await.unwrap();
        assert_eq!(one(&client, instant).await, "2026-07-01 01:00:00+01");
        let missing = one(&client, "ROLLBACK TO other").await;
        assert_eq!(missing, "savepoint \"other\" does not exist");
        simple(&client, "ROLLBACK TO one; RELEASE one; COMMIT")
            .await
            .unwrap();
        assert_eq!(one(&client, instant).await, "2026-07-01 01:00:00+01");
    });
}

/// Savepoints outside of a transaction were accepted, and a rollback to one undid nothing.
#[test]
fn savepoints_are_of_transactions() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        for (sql, command) in [
            ("SAVEPOINT one", "SAVEPOINT"),
            ("RELEASE one", "RELEASE SAVEPOINT"),
            ("RELEASE SAVEPOINT one", "RELEASE SAVEPOINT"),
            ("ROLLBACK TO one", "ROLLBACK TO SAVEPOINT"),
            ("ROLLBACK TO SAVEPOINT one", "ROLLBACK TO SAVEPOINT"),
            ("SET a.b = 1; SAVEPOINT one", "SAVEPOINT"),
            ("BEGIN; COMMIT; SAVEPOINT one", "SAVEPOINT"),
        ] {
            let expected = format!("{command} can only be used in transaction blocks");
            assert_eq!(one(&client, sql).await, expected, "{sql}");
            let error = client.execute(sql.rsplit("; ").next().unwrap(), &[]).await;
            let code = error.unwrap_err().code().cloned();
            assert_eq!(code, Some(SqlState::NO_ACTIVE_SQL_TRANSACTION), "{sql}");
        }
        let within = "BEGIN; SAVEPOINT one; ROLLBACK TO one; RELEASE one; COMMIT";
        assert_eq!(simple(&client, within).await, Ok(Vec::new()));
    });
}

/// Settings of the startup message, as JDBC and libpq send them, were kept and had no effect.
#[test]
fn settings_of_the_startup_message_are_those_of_the_connection() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let port = served.postgres.port();
        let config = |options: &str| {
            format!("host=127.0.0.1 port={port} user=me application_name=tests options='{options}'")
        };
        let options = "-c intervalstyle=iso_8601 -c TimeZone=Europe/Berlin";
        let (client, connection) = tokio_postgres::connect(&config(options), NoTls)
            .await
            .unwrap();
        let given = ["TimeZone", "IntervalStyle", "application_name"]
            .map(|name| connection.parameter(name).map(str::to_owned));
        tokio::spawn(connection);
        let expected = ["Europe/Berlin", "iso_8601", "tests"].map(|value| Some(value.to_owned()));
        assert_eq!(given, expected);
        simple(&client, "SET TIME ZONE 'UTC'; RESET ALL")
            .await
            .unwrap();
        let row = client
            .query_one(
                "SELECT CAST(TIMESTAMPTZ '2026-07-01 00:00:00Z' AS TEXT)",
                &[],
            )
            .await;
        let text = row.unwrap().get::<_, String>(0);
        assert!(text.contains("02:00"), "{text}");
        assert_eq!(one(&client, "SELECT INTERVAL '1 day'").await, "P1D");
        let refused = tokio_postgres::connect(&config("-c datestyle=German"), NoTls).await;
        let message = refused
            .err()
            .and_then(|error| Some(error.as_db_error()?.message().to_owned()));
        let expected = "invalid value for parameter \"DateStyle\": \"German\"";
        assert_eq!(message.as_deref(), Some(expected));
    });
}

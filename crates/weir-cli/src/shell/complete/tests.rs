//! Tests of the completions at places of a statement.

use std::sync::{Arc, Mutex};

use super::super::catalog::SessionTables;
use super::*;
use crate::message::{ColorChoice, Messages};
use crate::session::Session;

fn catalog() -> Catalog {
    let messages = Messages::new(ColorChoice::Never, true);
    let session = Session::new(&weir_engine::Options::default(), messages, false).unwrap();
    let view = session
        .parse("CREATE VIEW days AS SELECT 1 AS day, 2 AS \"Of Week\"")
        .unwrap();
    for statement in view {
        session.plan(statement, None).unwrap();
    }
    let known: Arc<Mutex<SessionTables>> = Arc::default();
    known.lock().unwrap().add("days");
    Catalog::new(&Arc::new(session), &known)
}

/// The values at the bar in a text, and the meaning of the first.
fn at_bar(text: &str, catalog: &Catalog) -> (Vec<String>, String) {
    let place = text.find('|').unwrap();
    let line = text.replacen('|', "", 1);
    let found = complete(&line, place, catalog);
    let meaning = found.first().map(|one| one.meaning.clone());
    for candidate in &found {
        assert!(line.get(candidate.range.clone()).is_some(), "{text}");
    }
    let values = found.into_iter().map(|one| one.value).collect();
    (values, meaning.unwrap_or_default())
}

#[test]
fn columns_are_those_of_the_tables_of_the_statement() {
    let catalog = catalog();
    let (values, meaning) = at_bar("SELECT ip.| FROM 'a.pcap'", &catalog);
    assert!(values.contains(&"ip.src".to_owned()) && values.contains(&"ip.ttl".to_owned()));
    assert!(
        values.iter().all(|value| value.starts_with("ip.")),
        "{values:?}"
    );
    assert!(!meaning.is_empty());
    // Packets are likely while the statement has no FROM yet.
    assert_eq!(at_bar("SELECT ip.|", &catalog).0, values);
    // The tables of another statement do not count.
    let (values, _) = at_bar(
        "SELECT 1 FROM 'a.pcap'; SELECT d| FROM days; SELECT 1",
        &catalog,
    );
    assert_eq!(values.first().map(String::as_str), Some("day"));
    assert!(
        !values.iter().any(|value| value.starts_with("data.")),
        "{values:?}"
    );
    let (values, _) = at_bar("SELECT of| FROM days", &catalog);
    assert_eq!(values.first().map(String::as_str), Some("\"Of Week\""));
    let (values, _) = at_bar("SELECT c.sip.ca| FROM calls('a.pcap') c", &catalog);
    assert!(
        values.is_empty() || values.iter().all(|value| value.starts_with("c.")),
        "{values:?}"
    );
    let (values, _) = at_bar("SELECT p.ip.tt| FROM 'a.pcap' AS p", &catalog);
    assert_eq!(values, ["p.ip.ttl"]);
    let (values, _) = at_bar(
        "SELECT count(*) AS packets_seen FROM 'a.pcap' ORDER BY packets_s|",
        &catalog,
    );
    assert_eq!(values, ["packets_seen"]);
}

#[test]
fn functions_and_words_follow_columns() {
    let catalog = catalog();
    let (values, meaning) = at_bar("SELECT cidr_|", &catalog);
    assert_eq!(values, ["cidr_match("]);
    assert!(meaning.contains("network"), "{meaning}");
    assert!(at_bar("SEL|", &catalog).0.contains(&"SELECT".to_owned()));
    assert!(at_bar("sel|", &catalog).0.contains(&"select".to_owned()));
    // A prefix without a match is searched within names.
    let (values, _) = at_bar("SELECT ttl|", &catalog);
    assert!(values.contains(&"ip.ttl".to_owned()), "{values:?}");
    for text in ["SELECT 'ip.|", "-- ip.|", "SELECT 1 WHERE x = 'a|"] {
        assert!(at_bar(text, &catalog).0.is_empty(), "{text}");
    }
}

#[test]
fn tables_stand_behind_from() {
    let catalog = catalog();
    assert_eq!(at_bar("SELECT * FROM da|", &catalog).0, ["days"]);
    let (values, meaning) = at_bar("SELECT * FROM cal|", &catalog);
    assert_eq!(values, ["call_packets('", "calls('"]);
    assert!(!meaning.is_empty());
    catalog.known().is_open = true;
    assert_eq!(
        at_bar("SELECT * FROM cal|", &catalog).0,
        ["call_packets", "calls"]
    );
    assert_eq!(
        at_bar("SELECT * FROM days, cal|", &catalog).0,
        ["call_packets", "calls"]
    );
}

#[test]
fn commands_and_their_words_are_completed() {
    let catalog = catalog();
    assert_eq!(at_bar(".ti|", &catalog).0, [".timer"]);
    assert_eq!(at_bar(".mode li|", &catalog).0, ["line"]);
    assert_eq!(
        at_bar(".filter tcp.port == 1 && ip.tt|", &catalog).0,
        ["ip.ttl"]
    );
    assert_eq!(at_bar(".timer o|", &catalog).0, ["on", "off"]);
}

#[test]
fn files_are_completed_within_their_quotes() {
    let folder = std::env::temp_dir().join(format!("weir-files-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    for name in ["one.pcap", "o'ne.pcap", "evil\u{1b}[2J.pcap", ".hidden"] {
        std::fs::write(folder.join(name), b"").unwrap();
    }
    let path = folder.display().to_string();
    let catalog = catalog();
    let (values, _) = at_bar(&format!("SELECT * FROM '{path}/|"), &catalog);
    let expected = ["deep/", "o''ne.pcap'", "one.pcap'"].map(|name| format!("{path}/{name}"));
    assert_eq!(values, expected);
    let (values, _) = at_bar(&format!("SELECT * FROM dns('{path}/on|')"), &catalog);
    assert_eq!(values, [format!("{path}/one.pcap")]);
    let (values, _) = at_bar(&format!(".open {path}/.h|"), &catalog);
    assert_eq!(values, [format!("{path}/.hidden")]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn tables_are_found_however_they_are_written() {
    for (sql, expected) in [
        ("SELECT 1 FROM 'a.pcap'", vec![("'a.pcap'", None)]),
        (
            "SELECT 1 FROM 'a.pcap' p, dns('b', ip => true) AS d JOIN flows f ON 1",
            vec![
                ("'a.pcap'", Some("p")),
                ("dns('b', ip => true)", Some("d")),
                ("flows", Some("f")),
            ],
        ),
        (
            "FROM ['a', 'b'] x WHERE 1 IN (SELECT y FROM z)",
            vec![("['a', 'b']", Some("x")), ("z", None)],
        ),
        (
            "SELECT 1 FROM (SELECT 2 FROM inner_one) o",
            vec![("inner_one", None)],
        ),
        ("SELECT 1 FROM", vec![]),
        ("SELECT 1 FROM dns('a", vec![("dns('a", None)]),
    ] {
        let tables = tables_of(sql);
        let found: Vec<(&str, Option<&str>)> = tables
            .iter()
            .map(|table| (table.text.as_str(), table.alias.as_deref()))
            .collect();
        assert_eq!(found, expected, "{sql}");
    }
    let own = tables_of("WITH dns AS (SELECT 1) SELECT * FROM dns, flows");
    let plain: Vec<Option<&str>> = own.iter().map(TableUse::plain_name).collect();
    assert_eq!(plain, [None, Some("flows")]);
}

#[test]
fn every_beginning_of_a_statement_can_be_completed() {
    let catalog = catalog();
    let text = "SELECT é, p.ip.src FROM '日.pcap' p WHERE \"x\" = 'a' /* c */ -- d\n; .mode";
    for (place, _) in text.char_indices() {
        let _ = complete(text, place, &catalog);
        let _ = complete(&text[..place], place, &catalog);
    }
    assert!(
        complete("é", 1, &catalog).is_empty(),
        "no place between the bytes of a character"
    );
}

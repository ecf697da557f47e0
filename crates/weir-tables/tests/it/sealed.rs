//! The contents of TLS, decrypted by the secrets that OpenSSL logged, are those that were sent and that tshark reads.
//! `tests/tls/make.py` made the sessions: TLS 1.2 and 1.3 with each suite, resumed, and with a second hello;
//! `make_h2.py` those of HTTP/2, and `make_early.py` those with early data.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use weir_tables::{Extraction, Scan, ScanOptions, Setting, Settings, Source, Table};
use weir_testkit::peer::Question;

use crate::sip::column;
use crate::tshark;

mod segments;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tls")
        .join(name)
}

/// Returns a table of a capture, with or without a file of secrets.
fn read(table: &str, capture: &Path, keys: Option<&Path>) -> (RecordBatch, Vec<String>) {
    let extraction = Extraction::named(table).unwrap();
    let mut settings = Settings::default();
    if let Some(keys) = keys {
        let named = Some(Setting::Word("keys.log"));
        extraction.set(&mut settings, "keylog", named).unwrap();
        settings.open_keylog(keys).unwrap();
    }
    let table = Table::extracted(extraction).with_settings(settings);
    let projection: Vec<usize> = (0..table.columns().len()).collect();
    let sources = vec![Source::capture(capture)];
    let mut scan = Scan::new(&table, &projection, None, sources, ScanOptions::default());
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        batches.push(batch);
    }
    (
        concat_batches(table.schema(), &batches).unwrap(),
        scan.notes(),
    )
}

/// Returns the values of tshark for `fields` of the sessions, a line a packet.
fn theirs(filter: &str, fields: &[&str]) -> Option<Vec<String>> {
    theirs_of("sessions.pcap", "keys.log", filter, fields)
}

fn theirs_of(capture: &str, keys: &str, filter: &str, fields: &[&str]) -> Option<Vec<String>> {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges what is read through TLS");
        return None;
    }
    let mut command = Question::to("tshark");
    command.args(["-n", "-T", "fields", "-Y", filter, "-o"]);
    command.file_behind("tls.keylog_file:", file(keys));
    for field in fields {
        command.args(["-e", field]);
    }
    command.arg("-r").file(file(capture));
    let text = command.answer().unwrap().text();
    Some(text.lines().map(str::to_owned).collect())
}

fn lines(batch: &RecordBatch, names: &[&str]) -> Vec<String> {
    let columns: Vec<Vec<String>> = names.iter().map(|name| column(batch, name)).collect();
    let rows = 0..batch.num_rows();
    rows.map(|row| {
        let values: Vec<&str> = columns.iter().map(|column| &*column[row]).collect();
        values.join("\t")
    })
    .collect()
}

#[test]
fn http_is_read_through_every_suite_as_it_was_sent() {
    let (sealed, _) = read("http", &file("sessions.pcap"), None);
    assert_eq!(sealed.num_rows(), 0);
    let (batch, notes) = read("http", &file("sessions.pcap"), Some(&file("keys.log")));
    assert!(notes.is_empty(), "{notes:?}");
    // There are nine sessions of two requests each, and the one with which a WebSocket begins.
    assert_eq!(batch.num_rows(), 19);
    let uris = column(&batch, "http.request.uri");
    let lengths = column(&batch, "http.response.body_len");
    for (uri, length) in uris.iter().zip(lengths).filter(|(uri, _)| *uri != "/chat") {
        let (name, number) = uri[1..].split_once('/').unwrap();
        let times = if number == "1" { 20 } else { 1500 };
        assert_eq!(length, (name.len() * times).to_string(), "{uri}");
    }
    let ours = lines(
        &batch,
        &[
            "http.request.frame",
            "http.request.method",
            "http.request.uri",
            "http.host",
        ],
    );
    let fields = [
        "frame.number",
        "http.request.method",
        "http.request.uri",
        "http.host",
    ];
    if let Some(theirs) = theirs("http.request", &fields) {
        assert_eq!(ours, theirs);
    }
    let mut suites = column(&read("tls", &file("sessions.pcap"), None).0, "tls.cipher");
    suites.sort();
    suites.dedup();
    assert_eq!(suites.len(), 6, "{suites:?}");
}

#[test]
fn sip_and_websocket_are_read_through_tls() {
    let keys = file("keys.log");
    let (sip, _) = read("sip", &file("sessions.pcap"), Some(&keys));
    let ours = lines(&sip, &["frame.number", "sip.call_id", "sip.status_code"]);
    assert_eq!(ours.len(), 2);
    if let Some(theirs) = theirs("sip", &["frame.number", "sip.Call-ID", "sip.Status-Code"]) {
        assert_eq!(ours, theirs);
    }
    let (messages, _) = read("websocket", &file("sessions.pcap"), Some(&keys));
    let ours = lines(&messages, &["frame.number", "websocket.payload.text"]);
    let texts = ["asked in private", "answered in private"];
    assert!(
        ours.len() == 2
            && ours
                .iter()
                .zip(texts)
                .all(|(ours, text)| ours.ends_with(text)),
        "{ours:?}"
    );
    if let Some(theirs) = theirs("websocket", &["frame.number"]) {
        assert_eq!(lines(&messages, &["frame.number"]), theirs);
    }
}

#[test]
fn http_2_is_read_through_tls() {
    let (sealed, _) = read("http", &file("h2.pcap"), None);
    assert_eq!(sealed.num_rows(), 0);
    let (batch, notes) = read("http", &file("h2.pcap"), Some(&file("h2-keys.log")));
    assert!(notes.is_empty(), "{notes:?}");
    // The rows are three streams of each session, in the order of their ends.
    let rows = lines(
        &batch,
        &[
            "http.request.method",
            "http.request.uri",
            "http.response.code",
            "http.request.body_len",
            "http.response.body_len",
            "http.location",
            "http.content_type",
            "http.request.version",
        ],
    );
    let expected = |name: &str, length: usize| {
        [
            format!("GET\t/{name}/none\t404\t0\t0\t\t\tHTTP/2"),
            format!("POST\t/{name}/second\t201\t500\t12\t/{name}/made\t\tHTTP/2"),
            format!("GET\t/{name}/first\t200\t0\t{length}\t\ttext/html\tHTTP/2"),
        ]
    };
    let expected = [expected("two", 3 * 2700), expected("three", 3 * 4500)].concat();
    assert_eq!(rows, expected);
    let theirs = |filter, fields: &[&str]| theirs_of("h2.pcap", "h2-keys.log", filter, fields);
    let (method, status) = ("http2.headers.method", "http2.headers.status");
    for (filter, of_request, field) in [
        (method, true, "http2.headers.path"),
        (status, false, status),
    ] {
        // tshark has a line a packet, with the values of all streams in it.
        let Some(theirs) = theirs(filter, &["frame.number", field]) else {
            return;
        };
        let theirs = theirs.iter().flat_map(|line| {
            let (frame, values) = line.split_once('\t').unwrap();
            values
                .split(',')
                .map(move |value| format!("{frame}\t{value}"))
        });
        let mut theirs: Vec<String> = theirs.collect();
        let mut ours = match of_request {
            true => lines(&batch, &["http.request.frame", "http.request.uri"]),
            false => lines(&batch, &["http.response.frame", "http.response.code"]),
        };
        theirs.sort();
        ours.sort();
        assert_eq!(ours, theirs);
    }
}

/// `tests/tls/make_messages.py` lists the sent messages.
#[test]
fn messages_of_every_protocol_are_read_through_tls() {
    let (capture, keys) = (file("messages.pcap"), file("messages-keys.log"));
    let tables: &[(&str, &[&str], &[&str])] = &[
        (
            "dns",
            &[
                "frame.number",
                "dns.qry.name",
                "dns.flags.response",
                "proto",
            ],
            &["8\tprivate.test\tfalse\ttcp", "9\tprivate.test\ttrue\ttcp"],
        ),
        ("lookups", &["lookup.query"], &["private.test"]),
        (
            "mqtt",
            &["frame.number", "mqtt.msgtype", "mqtt.topic"],
            &["19\t1\t", "20\t2\t", "21\t3\t[private/topic]"],
        ),
        (
            "diameter",
            &["frame.number", "diameter.cmd.code", "diameter.origin_host"],
            &["31\t257\thost.private.test", "32\t257\thost.private.test"],
        ),
        (
            "radius",
            &["radius.code", "radius.user_name"],
            &["1\talice", "2\t"],
        ),
        (
            "h248",
            &["h248.transaction_id", "h248.command"],
            &["5\tServiceChange"],
        ),
        (
            "media",
            &["media.found_by", "sip.call_id", "media.packets"],
            &["sip\tprivate@weir.test\t3"],
        ),
        (
            "rtp",
            &["sip.call_id", "rtp.seq"],
            &[
                "private@weir.test\t0",
                "private@weir.test\t1",
                "private@weir.test\t2",
            ],
        ),
    ];
    for (table, columns, expected) in tables {
        let (sealed, _) = read(table, &capture, None);
        // Between ports of Megaco encrypted octets may look like a damaged message.
        assert!(*table == "h248" || sealed.num_rows() == 0, "{table}");
        let found = lines(&sealed, columns);
        assert!(
            !found.iter().any(|row| expected.contains(&row.as_str())),
            "{found:?}"
        );
        let (batch, notes) = read(table, &capture, Some(&keys));
        assert!(notes.is_empty(), "{table}: {notes:?}");
        assert_eq!(lines(&batch, columns), *expected, "{table}");
    }
    let filter = "dns or mqtt or diameter";
    if let Some(theirs) = theirs_of(
        "messages.pcap",
        "messages-keys.log",
        filter,
        &["frame.number"],
    ) {
        let mut ours = Vec::new();
        for table in ["dns", "mqtt", "diameter"] {
            ours.extend(lines(
                &read(table, &capture, Some(&keys)).0,
                &["frame.number"],
            ));
        }
        assert_eq!(ours, theirs);
    }
    // The decrypted octets are those that were sent, in their order.
    let (pieces, _) = read("stream", &capture, Some(&keys));
    let data = column(&pieces, "stream.text");
    assert!(
        data[0].contains("private") && data[0].len() == 32,
        "{data:?}"
    );
    assert!(
        data.iter()
            .any(|text| text.starts_with("INVITE sip:b@weir.test"))
    );
    let (records, _) = read("stream", &capture, None);
    assert!(
        !column(&records, "stream.text")
            .iter()
            .any(|text| text.contains("INVITE"))
    );
}

#[test]
fn what_follows_a_missing_segment_is_not_made_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gap.pcap");
    let bytes = std::fs::read(file("sessions.pcap")).unwrap();
    // The third segment of the first long response is left out.
    let mut kept = bytes[..24].to_vec();
    let (mut at, mut long) = (24, 0);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        long += u32::from(length == 1440);
        if !(long == 3 && length == 1440) {
            kept.extend_from_slice(&bytes[at..at + 16 + length]);
        }
        at += 16 + length;
    }
    std::fs::write(&path, kept).unwrap();
    let (batch, notes) = read("http", &path, Some(&file("keys.log")));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("directions of TLS connections could not be decrypted to their end"),
        "{notes:?}"
    );
    let rows = lines(&batch, &["http.request.uri", "http.whole"]);
    assert_eq!(rows[0], "/two-aes128/1\ttrue");
    assert!(
        rows.contains(&"/two-aes128/2\tfalse".to_owned()),
        "{rows:?}"
    );
    assert_eq!(
        rows.iter().filter(|row| row.ends_with("true")).count(),
        18,
        "{rows:?}"
    );
}

/// The records of a capture, each with its header.
fn records(capture: &Path) -> (Vec<u8>, Vec<Vec<u8>>) {
    let bytes = std::fs::read(capture).unwrap();
    let (header, mut rest) = bytes.split_at(24);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(16 + length);
        records.push(record.to_vec());
        rest = behind;
    }
    (header.to_vec(), records)
}

/// The octets that a record of raw IP carries in TCP; neither header has options.
fn segment_of(record: &[u8]) -> &[u8] {
    record.get(16 + 40..).unwrap_or_default()
}

/// Requests in early data (RFC 8446, 2.3) were passed over without a word. A refused request is sent again.
#[test]
fn early_data_is_read_where_the_server_accepts_it() {
    let (capture, keys) = (file("early.pcap"), file("early-keys.log"));
    let columns = [
        "http.request.frame",
        "http.request.uri",
        "http.response.code",
    ];
    let (batch, notes) = read("http", &capture, Some(&keys));
    assert_eq!(notes, Vec::<String>::new());
    let expected = [
        "13\t/early-0\t200",
        "18\t/later\t404",
        "35\t/early-1\t200",
        "40\t/later\t404",
        "56\t/early-2\t200",
        "61\t/later\t404",
        "81\t/refused\t200",
        "83\t/later\t404",
    ];
    assert_eq!(lines(&batch, &columns), expected);
    let filter = "http.request and frame.number != 77";
    let fields = ["frame.number", "http.request.uri"];
    if let Some(theirs) = theirs_of("early.pcap", "early-keys.log", filter, &fields) {
        assert_eq!(lines(&batch, &columns[..2]), theirs);
    }
    // Connections whose early data has no secret are counted.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.log");
    let log = std::fs::read_to_string(&keys).unwrap();
    let others: Vec<&str> = log
        .lines()
        .filter(|line| !line.starts_with("CLIENT_EARLY"))
        .collect();
    std::fs::write(&path, others.join("\n")).unwrap();
    let (_, notes) = read("http", &capture, Some(&path));
    let note = "3 TLS connections were read without their early data";
    assert!(notes.iter().any(|it| it.contains(note)), "{notes:?}");
}

/// The packets of both hellos were captured in the wrong order: nothing was read.
#[test]
fn a_hello_of_the_server_before_that_of_the_client_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("swapped.pcap");
    let keys = file("keys.log");
    let (header, mut all) = records(&file("sessions.pcap"));
    let mut swapped = 0;
    for at in 1..all.len() {
        let is_hello = |at: usize, kind: u8| matches!(segment_of(&all[at]), [22, 3, _, _, _, is, ..] if *is == kind);
        if is_hello(at - 1, 1) && is_hello(at, 2) {
            all.swap(at - 1, at);
            swapped += 1;
        }
    }
    assert!(swapped >= 10, "{swapped}");
    std::fs::write(&path, [header, all.concat()].concat()).unwrap();
    let columns = ["http.request.uri", "http.response.body_len", "http.whole"];
    let (expected, _) = read("http", &file("sessions.pcap"), Some(&keys));
    let (batch, notes) = read("http", &path, Some(&keys));
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(lines(&batch, &columns), lines(&expected, &columns));
}

/// Records of a client whose server was not captured were passed over without a word.
#[test]
fn one_direction_of_a_sealed_connection_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.pcap");
    let keys = file("keys.log");
    let (header, all) = records(&file("sessions.pcap"));
    let is_server = |record: &&Vec<u8>| record[16 + 12..16 + 16] == [10, 0, 0, 2];
    let (server, client): (Vec<_>, Vec<_>) = all.iter().partition(is_server);
    for side in [server, client] {
        let side: Vec<u8> = side.into_iter().flatten().copied().collect();
        std::fs::write(&path, [&header[..], &side].concat()).unwrap();
        let (batch, notes) = read("http", &path, Some(&keys));
        assert_eq!(batch.num_rows(), 0);
        let note = "11 TLS connections were not read because the key log has no secrets of them";
        assert!(notes.iter().any(|it| it.contains(note)), "{notes:?}");
    }
}

#[test]
fn a_file_without_secrets_is_refused_and_a_wrong_secret_reads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.log");
    let mut settings = Settings::default();
    std::fs::write(&path, "# nothing\nCLIENT_RANDOM 00 11\n").unwrap();
    let refused = settings.open_keylog(&path).unwrap_err();
    assert!(
        refused.ends_with("it has no secret in the SSLKEYLOGFILE format"),
        "{refused}"
    );
    assert!(settings.open_keylog(&folder.path().join("none")).is_err());
    let log = std::fs::read_to_string(file("keys.log")).unwrap();
    let wrong: String = log
        .lines()
        .map(|line| {
            let cut = line.len().saturating_sub(4);
            format!("{}0000\n", &line[..cut])
        })
        .collect();
    std::fs::write(&path, wrong).unwrap();
    let (batch, notes) = read("http", &file("sessions.pcap"), Some(&path));
    assert_eq!(batch.num_rows(), 0);
    // The connections were left out without a word.
    let note = "TLS connections were not read because the key log has no secrets of them";
    assert!(notes.len() == 1 && notes[0].contains(note), "{notes:?}");
}

//! Settings of HTTP/2 and priorities of its streams are compared with tshark's.

use std::collections::BTreeMap;

use weir_testkit::http2::{PREFACE, frame, settings};
use weir_testkit::peer::Question;

use crate::sip::{column, read_with_notes};
use crate::tshark;
use crate::wire::{self, Connection};

/// Wireshark's names of settings, without their prefix.
const NAMES: &[&str] = &[
    "header_table_size",
    "enable_push",
    "max_concurrent_streams",
    "initial_window_size",
    "max_frame_size",
    "max_header_list_size",
    "extended_connect",
];

/// A request, with a place in the tree of streams and a field `priority` or without.
fn get(stream: u32, place: Option<(u32, u8)>, priority: Option<&str>) -> Vec<u8> {
    let mut block = b"\x82\x86\x84".to_vec();
    if let Some(priority) = priority {
        block.extend(b"\x00\x08priority");
        block.push(priority.len() as u8);
        block.extend(priority.as_bytes());
    }
    let Some((depends_on, weight)) = place else {
        return frame(1, 5, stream, &block);
    };
    let place = [&depends_on.to_be_bytes()[..], &[weight]].concat();
    frame(1, 0x25, stream, &[place, block].concat())
}

fn update(stream: u32, value: &str) -> Vec<u8> {
    frame(
        16,
        0,
        0,
        &[&stream.to_be_bytes()[..], value.as_bytes()].concat(),
    )
}

/// Returns frames, one a packet, of the client (true) or the server.
fn sent() -> Vec<(bool, Vec<u8>)> {
    let first = settings(&[(1, 65_536), (2, 0), (4, 131_072), (6, 262_144)]);
    let ok = |stream| (false, frame(1, 5, stream, b"\x88"));
    vec![
        (true, [PREFACE, &first].concat()),
        (false, settings(&[(3, 100), (5, 16_777_215), (8, 1)])),
        (true, get(1, Some((0, 255)), None)),
        (true, update(3, "u=1")),
        (true, get(3, Some((1 | 1 << 31, 15)), Some("u=5, i"))),
        (true, get(5, None, Some("i"))),
        (true, frame(2, 0, 5, &[0, 0, 0, 3, 41])),
        (true, update(5, "u=0, i")),
        ok(1),
        (false, settings(&[(3, 250)])),
        (true, settings(&[(4, 9_999)])),
        (true, get(7, None, None)),
        ok(3),
        ok(5),
        ok(7),
    ]
}

/// The lines that tshark gives of these fields, each with its values.
fn theirs(path: &std::path::Path, filter: &str, fields: &[String]) -> Vec<Vec<String>> {
    let mut command = Question::to("tshark");
    command.args(["-n", "-T", "fields", "-Y", filter]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.arg("-r").file(path);
    let text = command.answer().unwrap().text();
    let lines = text.lines();
    lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

#[test]
fn tshark_reads_the_same_settings_and_priorities_of_http_2() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges settings and priorities of HTTP/2");
        return;
    }
    let mut packets = Vec::new();
    let ends = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 80)];
    let [client, server] = ends.map(|(address, port)| (address.into(), port));
    let mut connection = Connection::open(client, server, &mut packets);
    for (from_client, bytes) in sent() {
        connection.send_one(from_client, &bytes, &mut packets);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.pcap");
    wire::write(&packets, &path);
    let (batch, notes) = read_with_notes("http", &[&path], 100);
    assert_eq!(notes, Vec::<String>::new());
    let streams = column(&batch, "http2.streamid");
    assert_eq!(streams, ["1", "3", "5", "7"]);

    // The expected settings are those that each side sent up to the frame of the head.
    let mut fields = vec!["frame.number".to_owned(), "tcp.srcport".to_owned()];
    fields.extend(NAMES.iter().map(|name| format!("http2.settings.{name}")));
    let lines = theirs(&path, "http2.settings", &fields);
    assert_eq!(lines.len(), 4);
    for (side, port) in [("request", "40000"), ("response", "80")] {
        let heads = column(&batch, &format!("http.{side}.frame"));
        let ours = column(&batch, &format!("http2.{side}.settings"));
        for (head, ours) in heads.iter().zip(ours) {
            let head: u64 = head.parse().unwrap();
            let mut expected = BTreeMap::new();
            let before = lines
                .iter()
                .filter(|line| line[0].parse::<u64>().unwrap() < head && line[1] == port);
            for line in before {
                let values = NAMES.iter().zip(&line[2..]);
                expected.extend(values.filter(|(_, value)| !value.is_empty()));
            }
            let ours: BTreeMap<&str, &str> = ours
                .trim_matches(['[', ']'])
                .split(", ")
                .map(|line| line.split_once(": ").unwrap())
                .collect();
            let expected: BTreeMap<&str, &str> = expected
                .into_iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            assert_eq!(ours, expected, "{side} in frame {head}");
        }
    }

    // The expected values are the last place and the last update of each stream.
    let fields = [
        "http2.streamid",
        "http2.stream_dependency",
        "http2.exclusive",
        "http2.headers.weight",
        "http2.priority_update_stream_id",
        "http2.priority_update_field_value",
    ];
    let lines = theirs(
        &path,
        "http2.type in {1, 2, 16}",
        &fields.map(str::to_owned),
    );
    let mut expected: BTreeMap<&str, [&str; 4]> = BTreeMap::new();
    for line in &lines {
        let [stream, depends_on, exclusive, weight, updated, value] = &line[..] else {
            panic!("{line:?}");
        };
        if !depends_on.is_empty() {
            let place = expected.entry(stream).or_default();
            let exclusive = ["false", "true"][usize::from(exclusive != "0")];
            (place[0], place[1], place[2]) = (depends_on, exclusive, weight);
        }
        if !updated.is_empty() {
            expected.entry(updated).or_default()[3] = value;
        }
    }
    let ours = fields[1..4]
        .iter()
        .chain(&fields[5..])
        .map(|name| column(&batch, name));
    let ours: Vec<Vec<String>> = ours.collect();
    for (row, stream) in streams.iter().enumerate() {
        let expected = expected.get(stream.as_str()).copied().unwrap_or_default();
        let ours: Vec<&str> = ours.iter().map(|column| column[row].as_str()).collect();
        assert_eq!(ours, expected, "stream {stream}");
    }
    assert_eq!(
        column(&batch, "http.request.priority"),
        ["", "u=5, i", "i", ""]
    );
}

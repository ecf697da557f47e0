//! TLS has the same rows in segments of any size: hellos, and the contents of its records.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use arrow::datatypes::DataType;
use weir_capture::Reader;
use weir_packet::{Decoder, Frame, Layer, LinkType};
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};

use super::*;

/// The number of octets of the headers of IPv4 and TCP in these captures: neither has options.
const IP: usize = 20;
const TCP: usize = 20;

/// Returns a packet whose segment is cut into pieces of `octets` octets; one without data is unchanged.
fn pieces(packet: &[u8], octets: usize) -> Vec<Vec<u8>> {
    let (headers, data) = packet.split_at(IP + TCP);
    if data.is_empty() {
        return vec![packet.to_vec()];
    }
    let seq = u32::from_be_bytes(headers[IP + 4..IP + 8].try_into().unwrap());
    let all = data.chunks(octets).enumerate();
    all.map(|(at, piece)| {
        let mut packet = [headers, piece].concat();
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        let seq = seq.wrapping_add((at * octets) as u32);
        packet[IP + 4..IP + 8].copy_from_slice(&seq.to_be_bytes());
        packet
    })
    .collect()
}

/// Cuts the segments of TCP of a capture of raw IP; returns, for each packet, the number of the packet of which it is a
/// piece, from 1.
fn cut(capture: &Path, octets: usize, into: &Path) -> Vec<u64> {
    let mut reader = Reader::new(BufReader::new(File::open(capture).unwrap())).unwrap();
    let file = BufWriter::new(File::create(into).unwrap());
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    let mut decoder = Decoder::default();
    let mut origins = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let frame = Frame::new(LinkType(record.link_type), record.data);
        let cut = match decoder.decode(frame).transport() {
            Some(Layer::Tcp) => {
                assert_eq!((record.data[0], record.data[IP + 12] >> 4), (0x45, 5));
                pieces(record.data, octets)
            }
            _ => vec![record.data.to_vec()],
        };
        let time = record.time_ns.unwrap() as u64;
        for piece in cut {
            writer.packet(time, piece.len() as u32, &piece).unwrap();
            origins.push(record.number);
        }
    }
    writer.into_inner().flush().unwrap();
    origins
}

/// Returns the rows of a table, with numbers of frames as those of the packets of which they are pieces; in the order
/// of their values, as messages that end in one packet may end in several.
fn rows(batch: &RecordBatch, origins: Option<&[u64]>) -> Vec<Vec<String>> {
    let schema = batch.schema();
    let is_number = |name: &str| {
        let ends = ["frame", ".number", "_to"];
        ends.iter().any(|end| name.ends_with(end))
    };
    let columns: Vec<Vec<String>> = schema
        .fields()
        .iter()
        .filter(|field| field.name() != "frame.file")
        .map(|field| {
            let mut values = column(batch, field.name());
            if let (true, Some(origins)) = (is_number(field.name()), origins)
                && field.data_type() == &DataType::UInt64
            {
                for value in values.iter_mut().filter(|value| !value.is_empty()) {
                    let number: usize = value.parse().unwrap();
                    *value = origins[number - 1].to_string();
                }
            }
            values
        })
        .collect();
    let mut rows: Vec<Vec<String>> = (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect();
    rows.sort();
    rows
}

/// Checks that a table of a capture has at least these rows, and the same ones where each segment has 1, 3 or 7 octets.
#[track_caller]
fn is_the_same(table: &str, (capture, keys): (&str, Option<&str>), least: usize) {
    let keys = keys.map(file);
    let (whole, notes) = read(table, &file(capture), keys.as_deref());
    let expected = rows(&whole, None);
    assert!(expected.len() >= least, "{table}: {}", expected.len());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    for octets in [1, 3, 7] {
        let origins = cut(&file(capture), octets, &path);
        assert!(origins.len() > 1_000);
        let (found, found_notes) = read(table, &path, keys.as_deref());
        let found = rows(&found, Some(&origins));
        assert_eq!(
            found.len(),
            expected.len(),
            "{table} of {capture} by {octets}"
        );
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{table} of {capture} by {octets}");
        }
        assert_eq!(found_notes, notes, "{table} of {capture} by {octets}");
    }
}

#[test]
fn hellos_and_certificates_are_those_of_whole_segments() {
    for (capture, least) in [("sessions.pcap", 10), ("messages.pcap", 5), ("h2.pcap", 2)] {
        is_the_same("tls", (capture, None), least);
    }
}

#[test]
fn what_is_sealed_is_that_of_whole_segments() {
    for (table, least) in [("http", 10), ("websocket", 1), ("sip", 1)] {
        is_the_same(table, ("sessions.pcap", Some("keys.log")), least);
    }
    is_the_same("http", ("h2.pcap", Some("h2-keys.log")), 6);
    for table in ["dns", "lookups", "mqtt", "diameter", "radius"] {
        is_the_same(table, ("messages.pcap", Some("messages-keys.log")), 1);
    }
}

/// All segments of a record in several segments, and of a message in several records, belong to the call.
#[test]
fn sealed_messages_of_calls_have_all_of_their_segments() {
    let keys = file("keys.log");
    let capture = file("sessions.pcap");
    let (whole, _) = read("call_packets", &capture, Some(&keys));
    let mut expected = rows(&whole, None);
    expected.dedup();
    assert!(!expected.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    for octets in [1, 3, 7] {
        let origins = cut(&capture, octets, &path);
        let (found, _) = read("call_packets", &path, Some(&keys));
        let mut found = rows(&found, Some(&origins));
        // Each message has more than 200 octets on average.
        assert!(found.len() * octets > expected.len() * 200, "by {octets}");
        found.dedup();
        assert_eq!(found, expected, "by {octets}");
    }
}

/// Puts a request to a proxy, and its response, before the contents of each TCP connection of a capture of raw IP.
fn behind_connect(capture: &Path, into: &Path) {
    let request = b"CONNECT server.example:443 HTTP/1.1\r\nHost: server.example:443\r\n\r\n";
    let answer = b"HTTP/1.1 200 Connection established\r\n\r\n";
    let mut reader = Reader::new(BufReader::new(File::open(capture).unwrap())).unwrap();
    let file = BufWriter::new(File::create(into).unwrap());
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    let number = |packet: &[u8], at: usize| {
        u32::from_be_bytes(packet[IP + at..IP + at + 4].try_into().unwrap())
    };
    let with = |headers: &[u8], seq: u32, ack: u32, data: &[u8]| {
        let mut packet = [headers, data].concat();
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[IP + 4..IP + 8].copy_from_slice(&seq.to_be_bytes());
        packet[IP + 8..IP + 12].copy_from_slice(&ack.to_be_bytes());
        packet
    };
    // The entries are the client's port, and whether it has sent something.
    let mut clients: Vec<(u16, bool)> = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let time = record.time_ns.unwrap() as u64;
        let mut put = |packet: &[u8]| writer.packet(time, packet.len() as u32, packet).unwrap();
        let port = |at: usize| u16::from_be_bytes([record.data[IP + at], record.data[IP + at + 1]]);
        let is_tcp = record.data[9] == 6;
        if is_tcp && record.data[IP + 13] & 0x12 == 2 {
            clients.push((port(0), false));
        }
        let client = clients
            .iter_mut()
            .find(|it| [port(0), port(2)].contains(&it.0));
        let Some(client) = client.filter(|_| is_tcp) else {
            put(record.data);
            continue;
        };
        let (headers, data) = record.data.split_at(IP + TCP);
        let (seq, ack) = (number(headers, 4), number(headers, 8));
        let is_there = port(0) == client.0;
        if !client.1 && is_there && !data.is_empty() {
            client.1 = true;
            put(&with(headers, seq, ack, request));
            let mut back = headers.to_vec();
            back[12..16].copy_from_slice(&headers[16..20]);
            back[16..20].copy_from_slice(&headers[12..16]);
            back[IP..IP + 2].copy_from_slice(&headers[IP + 2..IP + 4]);
            back[IP + 2..IP + 4].copy_from_slice(&headers[IP..IP + 2]);
            put(&with(
                &back,
                ack,
                seq.wrapping_add(request.len() as u32),
                answer,
            ));
        }
        let shift = |is_there: bool| match (client.1, is_there) {
            (false, _) => 0,
            (true, true) => request.len() as u32,
            (true, false) => answer.len() as u32,
        };
        let (seq, ack) = (
            seq.wrapping_add(shift(is_there)),
            ack.wrapping_add(shift(!is_there)),
        );
        put(&with(headers, seq, ack, data));
    }
    writer.into_inner().flush().unwrap();
}

/// TLS was read with secrets at the beginning of a connection only.
#[test]
fn what_is_sealed_behind_a_proxy_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("behind.pcap");
    behind_connect(&file("sessions.pcap"), &path);
    let keys = file("keys.log");
    let columns = [
        "http.request.method",
        "http.request.uri",
        "http.response.body_len",
    ];
    let (direct, _) = read("http", &file("sessions.pcap"), Some(&keys));
    let (behind, notes) = read("http", &path, Some(&keys));
    assert!(notes.is_empty(), "{notes:?}");
    let (direct, behind) = (lines(&direct, &columns), lines(&behind, &columns));
    let (asked, inside): (Vec<_>, Vec<_>) = behind
        .into_iter()
        .partition(|line| line.starts_with("CONNECT"));
    assert!(asked.len() >= 10, "{asked:?}");
    assert_eq!(inside, direct);
    // Without secrets only the requests to the proxy are found.
    let (sealed, _) = read("http", &path, None);
    assert_eq!(sealed.num_rows(), asked.len());
}

//! TLS says the same in segments of any size: hellos, and what its records seal.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use arrow::datatypes::DataType;
use weir_capture::Reader;
use weir_packet::{Decoder, Frame, Layer, LinkType};
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};

use super::*;

/// Octets of IPv4's and TCP's headers in these captures: neither has options.
const IP: usize = 20;
const TCP: usize = 20;

/// A packet whose segment is cut into pieces of so many octets; one without data is as it was.
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

/// Cuts the segments of TCP of a capture of raw IP; gives of each packet the number of the one that it is a piece of, from 1.
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

/// The rows of a table, numbers of frames as those of the packets that they are pieces of; in the order of their values, as what ends
/// in one packet may end in several.
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

/// A table of a capture has these rows at least, and the same ones where each segment has 1, 3 or 7 octets.
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

/// Of a record in several segments, and of a message in several records, each segment is of the call.
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
        // Its messages have more octets each.
        assert!(found.len() * octets > expected.len() * 200, "by {octets}");
        found.dedup();
        assert_eq!(found, expected, "by {octets}");
    }
}

//! `flow_packets` with `fragments => true`: all fragments have the flow of their packet, in the order of the capture.

use std::collections::{BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::path::Path;

use arrow::compute::concat_batches;
use weir_tables::{Extraction, Scan, ScanOptions, Setting, Settings, Source, Table};
use weir_testkit::Rng;
use weir_testkit::packet::{Gre, Ipv4, ethertype, protocol, udp};

use crate::sip::{column, read_with_notes};
use crate::wire;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Number and flow of each packet, and the notes.
fn with_fragments(sources: &[&Path], batch_rows: usize) -> (Vec<(u64, String)>, Vec<String>) {
    let extraction = Extraction::named("flow_packets").unwrap();
    let mut settings = Settings::default();
    extraction
        .set(&mut settings, "fragments", Some(Setting::Flag(true)))
        .unwrap();
    let table = Table::extracted(extraction).with_settings(settings);
    let wanted = ["frame.number", "flow.id"].map(|name| table.position(name).unwrap());
    let mut options = ScanOptions::default();
    options.batch_rows = batch_rows;
    let sources = sources.iter().map(|path| Source::capture(*path)).collect();
    let mut scan = Scan::new(&table, &wanted, None, sources, options);
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        batches.push(batch);
    }
    assert!(scan.take_errors().is_empty());
    let batch = concat_batches(&batches[0].schema(), &batches).unwrap();
    let [numbers, flows] = ["frame.number", "flow.id"].map(|name| column(&batch, name));
    let numbers = numbers.iter().map(|number| number.parse().unwrap());
    (numbers.zip(flows).collect(), scan.notes())
}

/// Datagrams of some clients, whole and in fragments, some of them in a tunnel, in any order; some fragments are missing.
fn packets(random: &mut Rng) -> Vec<Vec<u8>> {
    let mut all: Vec<(u64, Vec<u8>)> = Vec::new();
    for number in 0..60_u16 {
        let client = Ipv4Addr::new(10, 0, 1, random.below(4) as u8);
        let datagram = udp(
            client.into(),
            SERVER.into(),
            4_000,
            4_001,
            &vec![7; random.below(900) as usize],
        );
        let packet = Ipv4::new(client, SERVER, protocol::UDP).identification(number);
        let mut carried = match random.below(3) {
            0 => vec![packet.packet(&datagram)],
            _ => packet.fragments(&datagram, 8 * (10 + random.below(50) as usize)),
        };
        if random.below(4) == 0 {
            let outer = Ipv4::new(SERVER, client, protocol::GRE);
            carried = (0..)
                .zip(&carried)
                .flat_map(|(at, packet)| {
                    let tunnelled = Gre::default().packet(ethertype::IPV4, packet);
                    let outer = outer.clone().identification(100 * number + at);
                    outer.fragments(&tunnelled, 200)
                })
                .collect();
        }
        let when = 10 * u64::from(number);
        for packet in carried {
            if random.below(30) > 0 {
                all.push((when + random.below(40), packet));
            }
        }
    }
    all.sort_by_key(|(when, _)| *when);
    all.into_iter().map(|(_, packet)| packet).collect()
}

/// Both tables, joined, say the same.
#[test]
fn fragments_have_the_flow_of_flow_fragments() {
    for seed in 0..30 {
        println!("seed {seed}");
        let packets = packets(&mut Rng::new(seed));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.pcap");
        wire::write(&packets, &path);
        let (found, notes) = with_fragments(&[&path], 7);
        let flows = |table: &str| {
            let (batch, notes) = read_with_notes(table, &[&path], 100);
            let [numbers, flows] = ["frame.number", "flow.id"].map(|name| column(&batch, name));
            (numbers.into_iter().zip(flows), notes)
        };
        let (of_packets, _) = flows("flow_packets");
        let mut expected: HashMap<u64, String> = of_packets
            .map(|(number, flow)| (number.parse().unwrap(), flow))
            .collect();
        let (of_fragments, fragment_notes) = flows("flow_fragments");
        expected.extend(of_fragments.map(|(number, flow)| (number.parse().unwrap(), flow)));
        let numbers: Vec<u64> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=packets.len() as u64).collect::<Vec<_>>());
        for (number, flow) in &found {
            assert_eq!(expected.get(number), Some(flow), "{number}");
        }
        // All packets are of IP: what has no flow is what is noted.
        let without = found.iter().filter(|(_, flow)| flow.is_empty()).count();
        let counted = |table: &str, notes: &[String]| -> usize {
            let count = |note: &String| -> usize {
                let note = note.strip_prefix(&format!("{table}: ")).unwrap();
                note.split(' ').next().unwrap().parse().unwrap()
            };
            notes.iter().map(count).sum()
        };
        assert_eq!(counted("flow_packets", &notes), without, "{notes:?}");
        assert_eq!(counted("flow_fragments", &fragment_notes), without);
        // The rest of a packet may come in another file.
        let (first, second) = packets.split_at(packets.len() / 2);
        let halves = ["1.pcap", "2.pcap"].map(|name| folder.path().join(name));
        for (packets, path) in [first, second].iter().zip(&halves) {
            wire::write(packets, path);
        }
        let (in_halves, _) = with_fragments(&[&halves[0], &halves[1]], 100);
        let flows = |rows: &[(u64, String)]| -> Vec<String> {
            rows.iter().map(|(_, flow)| flow.clone()).collect()
        };
        assert_eq!(flows(&in_halves), flows(&found));
        assert_eq!(in_halves[first.len()].0, 1);
    }
}

#[test]
fn what_waits_for_a_fragment_is_limited() {
    let client = Ipv4Addr::new(10, 0, 0, 1);
    let datagram = |payload: &[u8]| udp(client.into(), SERVER.into(), 4_000, 4_001, payload);
    let packet = Ipv4::new(client, SERVER, protocol::UDP).identification(1);
    let fragments = packet.clone().fragments(&datagram(&[1; 1_000]), 600);
    let [first, second] = <[Vec<u8>; 2]>::try_from(fragments).unwrap();
    let whole = packet.identification(2).packet(&datagram(&[2; 30_000]));
    let mut packets = vec![second.clone()];
    packets.resize(2_500, whole);
    packets.push(first);
    packets.push(second);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.pcap");
    wire::write(&packets, &path);
    let (found, notes) = with_fragments(&[&path], 8_192);
    assert_eq!(found.len(), packets.len());
    let without: BTreeSet<u64> = found
        .iter()
        .filter(|(_, flow)| flow != "1")
        .map(|(number, _)| *number)
        .collect();
    // The first one was given up; that which is repeated begins another packet.
    assert_eq!(without, BTreeSet::from([1, 2_502]));
    assert_eq!(
        notes,
        [
            "flow_packets: 1 fragments are of no flow because they are copies of earlier ones whose packet did not come again",
            "flow_packets: 1 fragments are of no flow because more than 64 MiB of packets waited for the others of theirs"
        ]
    );
}

/// The copy of the last fragment was said to lack the others of its packet.
#[test]
fn a_copy_of_a_fragment_is_counted_as_one() {
    let client = Ipv4Addr::new(10, 0, 0, 1);
    let datagram = udp(client.into(), SERVER.into(), 4_000, 4_001, &[1; 1_000]);
    let packet = Ipv4::new(client, SERVER, protocol::UDP).identification(1);
    let mut packets = packet.fragments(&datagram, 600);
    packets.push(packets.last().unwrap().clone());
    assert_eq!(packets.len(), 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.pcap");
    wire::write(&packets, &path);
    let (batch, notes) = read_with_notes("flow_fragments", &[&path], 100);
    assert_eq!(column(&batch, "frame.number"), ["1", "2"]);
    assert_eq!(
        notes,
        [
            "flow_fragments: 1 fragments are of no flow because they are copies of earlier ones whose packet did not come again"
        ]
    );
}

/// A packet in more fragments than are kept is given up: those so far are of its flow, and the rest is of none.
#[test]
fn no_fragment_of_a_packet_in_too_many_waits_for_ever() {
    let client = Ipv4Addr::new(10, 0, 0, 1);
    let datagram = udp(client.into(), SERVER.into(), 4_000, 4_001, &[1; 8_240 - 8]);
    let packet = Ipv4::new(client, SERVER, protocol::UDP).identification(1);
    let packets = packet.fragments(&datagram, 28);
    assert_eq!(packets.len(), 1_030);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.pcap");
    wire::write(&packets, &path);
    let (found, notes) = with_fragments(&[&path], 100);
    let flow = |number: u64| if number <= 1_025 { "1" } else { "" };
    let expected: Vec<(u64, String)> = (1..=1_030)
        .map(|number| (number, flow(number).to_owned()))
        .collect();
    assert_eq!(found, expected);
    assert!(
        notes[0].starts_with("flow_packets: 5 fragments "),
        "{notes:?}"
    );
}

//! `COPY … TO` a capture keeps records byte by byte: beside the capture they came from, and beside
//! what tshark and editcap keep.

use std::path::Path;
use std::process::Command;

use weir_testkit::Limited as _;

use crate::samples;
use crate::slt::Runner;

/// The properties of a record that both pcap and pcapng have.
#[derive(Debug, PartialEq, Eq)]
struct CopiedRecord {
    time_ns: Option<i64>,
    wire_len: u32,
    link_type: u32,
    data: Vec<u8>,
}

fn records(path: &Path) -> Vec<CopiedRecord> {
    let mut reader = weir_capture::open(path).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        records.push(CopiedRecord {
            time_ns: record.time_ns,
            wire_len: record.wire_len,
            link_type: record.link_type,
            data: record.data.to_vec(),
        });
    }
    records
}

/// The numbers of the records for which a condition holds.
fn numbers(runner: &Runner, path: &str, condition: &str) -> Vec<usize> {
    let sql = format!("SELECT frame.number FROM '{path}' WHERE {condition}");
    let rows = runner.rows(&sql).ok().unwrap().rows;
    rows.iter().map(|row| row.parse().unwrap()).collect()
}

fn copy(runner: &Runner, path: &str, condition: &str, to: &str) -> String {
    let sql = format!(
        "COPY (SELECT * FROM '{path}' WHERE {condition}) TO '{to}' OPTIONS (overwrite true)"
    );
    runner.rows(&sql).ok().unwrap().rows.concat()
}

#[test]
fn records_are_kept_byte_by_byte() {
    samples::enter();
    let runner = Runner::new(&weir_engine::Options::default());
    for path in [
        "net.pcap",
        "net.capture",
        "snapped.pcap",
        "mixed.pcapng",
        "cooked.pcap",
        "unknown.pcap",
        "demo/office.pcapng",
        "demo/wan.erf",
        "demo/framerelay.pcap",
        "demo/atm.erf",
        "demo/sunatm.pcap",
    ] {
        for (index, condition) in ["true", "frame.len > 90", "ip.src IS NULL", "frame.len < 0"]
            .into_iter()
            .enumerate()
        {
            let name = path.replace('/', "-");
            let to = format!("kept-{name}-{index}.pcapng");
            let count = copy(&runner, path, condition, &to);
            let whole = records(Path::new(path));
            let mut expected = Vec::new();
            for number in numbers(&runner, path, condition) {
                let CopiedRecord {
                    time_ns,
                    wire_len,
                    link_type,
                    data,
                } = &whole[number - 1];
                expected.push(CopiedRecord {
                    // A record without a time gets the time 0.
                    time_ns: time_ns.or(Some(0)),
                    // ERF's header counts outside of ERF's own files.
                    wire_len: match (Path::new(path).extension(), link_type) {
                        (Some(extension), 197) if extension == "erf" => {
                            let wire_len = u32::from(u16::from_be_bytes([data[14], data[15]]));
                            wire_len + weir_packet::LinkType::ERF.pseudo_header_len(data)
                        }
                        _ => *wire_len,
                    },
                    link_type: *link_type,
                    data: data.clone(),
                });
            }
            assert_eq!(records(Path::new(&to)), expected, "{path} {condition}");
            assert_eq!(count, expected.len().to_string());
        }
    }
}

/// tshark keeps the same packets for a filter of its own, and reads the same out of ours.
#[test]
fn tshark_keeps_the_same() {
    if Command::new("tshark")
        .arg("--version")
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("tshark", "nothing judges captures that COPY writes");
        return;
    }
    samples::enter();
    let runner = Runner::new(&weir_engine::Options::default());
    for (path, filter, condition, extension) in [
        ("net.pcap", "udp.dstport == 53", "udp.dstport = 53", "pcap"),
        ("net.pcap", "arp", "arp.opcode IS NOT NULL", "pcapng"),
        (
            "demo/office.pcapng",
            "tcp",
            "tcp.srcport IS NOT NULL",
            "pcapng",
        ),
        (
            "demo/office.pcapng",
            "frame.len > 200",
            "frame.len > 200",
            "pcapng",
        ),
        ("demo/framerelay.pcap", "ip", "ip.src IS NOT NULL", "pcap"),
        ("demo/wan.erf", "frame.len > 60", "frame.len > 60", "pcap"),
    ] {
        let name = path.replace('/', "-");
        let (ours, theirs) = (
            format!("ours-{name}.{extension}"),
            format!("theirs-{name}.{extension}"),
        );
        copy(&runner, path, condition, &ours);
        let status = Command::new("tshark")
            .args(["-r", path, "-Y", filter, "-w", &theirs])
            .status_limited()
            .unwrap();
        assert!(status.success());
        let (ours_read, theirs_read) = (tshark(&ours), tshark(&theirs));
        assert!(!ours_read.is_empty(), "{path} {filter}");
        assert_eq!(ours_read, theirs_read, "{path} {filter}");
    }
}

/// The fields and all bytes of each record, from tshark.
fn tshark(path: &str) -> String {
    let fields = [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "frame.protocols",
    ];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let decoded = Command::new("tshark")
        .args(["-r", path, "-T", "fields"])
        .args(fields)
        .output_limited()
        .unwrap();
    assert!(decoded.status.success(), "{path}: {decoded:?}");
    let bytes = Command::new("tshark")
        .args(["-r", path, "-x"])
        .output_limited()
        .unwrap();
    format!(
        "{}{}",
        String::from_utf8_lossy(&decoded.stdout),
        String::from_utf8_lossy(&bytes.stdout)
    )
}

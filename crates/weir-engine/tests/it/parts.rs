//! One large file that is read in parts on several threads gives, row by row, what it gives on one.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::trace::{atm_cells, ethernet_pcap, frame_relay_erf};

use crate::samples;
use crate::slt::Runner;

/// Large enough for three parts.
const BYTES: u64 = 13 << 20;

fn runner(threads: usize) -> Runner {
    let mut options = weir_engine::Options::default();
    options.threads = Some(threads);
    Runner::new(&options)
}

fn made(name: &str, make: impl FnOnce(BufWriter<File>)) -> String {
    samples::enter();
    if !Path::new(name).exists() {
        make(BufWriter::new(File::create(name).unwrap()));
    }
    name.to_owned()
}

/// The answer, which is the same for all numbers of threads; says whether the file was read in parts.
fn answer(sql: &str) -> (Vec<String>, bool) {
    let one = runner(1);
    let expected = one.rows(sql).unwrap().rows;
    // The number of readers influences how many records are interpreted before the compiled code is ready.
    let totals = |runner: &Runner| {
        let mut totals = runner.totals();
        totals.compiled = 0;
        totals
    };
    for threads in 2..=3 {
        let several = runner(threads);
        let rows = several.rows(sql).unwrap().rows;
        let differing = rows
            .iter()
            .zip(&expected)
            .find(|(rows, expected)| rows != expected);
        assert_eq!(differing, None, "{threads} threads: {sql}");
        assert_eq!(rows.len(), expected.len(), "{threads} threads: {sql}");
        // The totals do not count records that were read in vain.
        assert_eq!(totals(&several), totals(&one), "{threads} threads: {sql}");
    }
    let plan = runner(3)
        .rows(&format!("EXPLAIN {sql}"))
        .unwrap()
        .rows
        .join("\n");
    (expected, plan.contains("parts of the file side by side"))
}

/// The seed and the row's number decide about a row, with any number of readers.
#[test]
fn a_repeatable_sample_is_the_same_for_all_readers() {
    let pcap = made("parts.pcap", |out| {
        ethernet_pcap(out, 5, BYTES).unwrap();
    });
    for sample in ["1 PERCENT", "300 ROWS", "BERNOULLI (2)", "SYSTEM (10)"] {
        let sample = match sample.contains('(') {
            true => sample.to_owned(),
            false => format!("({sample})"),
        };
        let sql = |seed: u32, condition: &str| {
            format!(
                "SELECT frame.number, ip.src FROM '{pcap}' TABLESAMPLE {sample} REPEATABLE ({seed}){condition}"
            )
        };
        let (rows, _) = answer(&sql(7, ""));
        assert!(rows.len() > 200, "{sample}: {}", rows.len());
        let (again, _) = answer(&sql(7, ""));
        assert_eq!(rows, again, "{sample}");
        let (others, _) = answer(&sql(8, ""));
        assert_ne!(rows, others, "{sample}");

        let mut unfused = weir_engine::Options::default();
        unfused.unfused = true;
        unfused.threads = Some(2);
        let unfused = Runner::new(&unfused).rows(&sql(7, "")).unwrap().rows;
        assert_eq!(rows, unfused, "{sample} unfused");

        // A condition chooses among the rows of the sample.
        let (some, _) = answer(&sql(7, " WHERE frame.number % 2 = 0"));
        let even = |row: &&String| {
            let number = row.split(' ').next().unwrap();
            number.parse::<u64>().unwrap() % 2 == 0
        };
        let even: Vec<&String> = rows.iter().filter(even).collect();
        assert_eq!(some.iter().collect::<Vec<_>>(), even, "{sample}");
    }
}

#[test]
fn parts_of_every_format_give_what_the_file_gives() {
    let pcap = made("parts.pcap", |out| {
        ethernet_pcap(out, 5, BYTES).unwrap();
    });
    let erf = made("parts.erf", |out| {
        frame_relay_erf(out, 5, BYTES).unwrap();
    });
    let cells = made("parts.bin", |out| {
        atm_cells(out, 5, BYTES).unwrap();
    });
    let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/tribeca/atm.toml");
    let cells = format!("records('{cells}', '{}')", layout.display());
    for sql in [
        format!("SELECT count(*), sum(frame.len), avg(ip.len) FROM '{pcap}'"),
        format!(
            "SELECT port.src, port.dst, count(*), first_value(ip.id), last_value(frame.time)
            FROM '{pcap}' GROUP BY 1, 2"
        ),
        format!(
            "SELECT proto, count(DISTINCT addr.src), max(frame.time) FROM '{pcap}' GROUP BY 1 ORDER BY 1"
        ),
        format!("SELECT frame.interface_name, erf.flags.cap, count(*) FROM '{erf}' GROUP BY 1, 2"),
        format!("SELECT fr.dlci, sum(ip.len) FROM '{erf}' WHERE ip.version = 4 GROUP BY 1"),
        format!("SELECT vpi, vci, count(*) FROM {cells} GROUP BY 1, 2"),
    ] {
        let (rows, in_parts) = answer(&sql);
        assert!(!rows.is_empty() && in_parts, "{sql}");
    }
    // The number of a record is known only after reading those before it.
    for sql in [
        format!("SELECT max(frame.number) FROM '{pcap}'"),
        format!("SELECT count(*) FROM packets('{erf}', sorted => true)"),
    ] {
        let plan = runner(3)
            .rows(&format!("EXPLAIN {sql}"))
            .unwrap()
            .rows
            .join("\n");
        assert!(
            plan.contains("FusedAggregate") && !plan.contains("side by side"),
            "{plan}"
        );
    }
}

#[test]
fn a_capture_inside_a_capture_counts_once() {
    let outer = made("inside.pcap", |out| {
        // USB transfers may be as large as a capture.
        let (link_type, snaplen) = (189, u32::MAX);
        let mut inner = Vec::new();
        ethernet_pcap(&mut inner, 7, 3 << 20).unwrap();
        let mut outer =
            PcapWriter::new(out, link_type, snaplen, PcapVariant::Micro, Endian::Little).unwrap();
        for second in 0..5 {
            let len = u32::try_from(inner.len()).unwrap();
            outer
                .packet(1_700_000_000_000_000_000 + second, len, &inner)
                .unwrap();
        }
    });
    let (rows, in_parts) = answer(&format!("SELECT count(*), sum(frame.len) FROM '{outer}'"));
    assert!(in_parts);
    assert!(rows.join(" ").starts_with('5'), "{rows:?}");
}

#[test]
fn damage_in_a_part_is_reported_once_with_its_place() {
    let damaged = made("damaged-parts.pcap", |_| {
        let mut bytes = Vec::new();
        ethernet_pcap(&mut bytes, 5, BYTES).unwrap();
        // Somewhere behind the middle, a record claims more bytes than any has.
        let (mut at, middle) = (24, bytes.len() * 2 / 3);
        while at < middle {
            let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
            at += 16 + len as usize;
        }
        bytes[at + 8..at + 12].fill(0xff);
        std::fs::write("damaged-parts.pcap", &bytes).unwrap();
    });
    let sql = format!("SELECT count(*), sum(frame.len) FROM '{damaged}'");
    answer(&sql);
    let errors = |threads| {
        let runner = runner(threads);
        runner.rows(&sql).unwrap();
        runner.errors()
    };
    let expected = errors(1);
    assert_eq!(expected.len(), 1, "{expected:?}");
    assert_eq!(errors(3), expected);
}

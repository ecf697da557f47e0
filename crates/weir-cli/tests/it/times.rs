//! Tests of warnings about times that packets cannot have, and about packets that are not in time order.

use weir_testkit::capture::{Endian, Interface, PcapngWriter, link_type};

use crate::shell::{folder, run};

/// A capture of packets at these seconds.
fn capture(seconds: &[u64], data: &[u8]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), Endian::Little, &[]).unwrap();
    let interface = Interface::new(link_type::ETHERNET);
    let interface = writer.interface(interface).unwrap();
    for second in seconds {
        writer
            .packet(
                interface,
                second * 1_000_000_000,
                data.len() as u32,
                data,
                &[],
            )
            .unwrap();
    }
    writer.into_inner()
}

/// Such packets had the last representable time, without a note.
#[test]
fn packets_from_after_2262_are_counted() {
    let folder = folder("packets_from_after_2262_are_counted");
    let seconds = [1_700_000_000, 9_223_372_036, 9_223_372_037, 18_446_744_073];
    std::fs::write(folder.join("late.pcapng"), capture(&seconds, &[0; 60])).unwrap();
    for (compile, sql) in [
        ("", "SELECT max(frame.time)"),
        ("--no-compile ", "SELECT count(*)"),
        ("", "SELECT frame.time"),
    ] {
        let line = format!("weir query {compile}\"{sql} FROM 'late.pcapng'\"");
        let ended = run(&line, &folder);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let expected = "2 of 4 records have a time before 1677-09-21 or after 2262-04-11";
        assert!(ended.stderr.contains(expected), "{line}: {}", ended.stderr);
    }
    let within = capture(&seconds[..2], &[0; 60]);
    std::fs::write(folder.join("within.pcapng"), within).unwrap();
    let ended = run(
        "weir query \"SELECT count(*) FROM 'within.pcapng'\"",
        &folder,
    );
    assert!(!ended.stderr.contains("2262"), "{}", ended.stderr);
}

/// 400 packets of 100,000 bytes are more than the 32 MiB that wait: the last one is too late for the first ones.
#[test]
fn packets_that_are_too_late_to_be_merged_are_counted() {
    let folder = folder("packets_that_are_too_late_to_be_merged_are_counted");
    let data = vec![0; 100_000];
    let sql = "weir query --merge -q --format csv \"SELECT frame.number, frame.time FROM 'swapped.pcapng'\"";
    let mut seconds: Vec<u64> = (1_000..1_400).collect();
    for (place, late) in [
        (250, None),
        (399, Some("1 of 400 records are not in time order")),
    ] {
        seconds.sort_unstable();
        // The earliest of all stands so far behind.
        let earliest = seconds.remove(0);
        seconds.insert(place, earliest);
        std::fs::write(folder.join("swapped.pcapng"), capture(&seconds, &data)).unwrap();
        let rows = run(&format!("{sql} | sed -n 2p"), &folder);
        let is_first = rows.stdout.starts_with(&format!("{},", place + 1));
        assert_eq!(is_first, late.is_none(), "{}", rows.stdout);
        let written = run(&sql.replace("-q ", "-o rows.csv "), &folder);
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        let note = "are not in time order";
        assert_eq!(
            written.stderr.contains(note),
            late.is_some(),
            "{}",
            written.stderr
        );
        assert!(
            written.stderr.contains(late.unwrap_or_default()),
            "{}",
            written.stderr
        );
        std::fs::remove_file(folder.join("rows.csv")).unwrap();
    }
}

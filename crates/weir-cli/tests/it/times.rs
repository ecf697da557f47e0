//! What is said of times that are not those of their packets.

use weir_testkit::capture::{Endian, Interface, PcapngWriter, link_type};

use crate::shell::{folder, run};

/// A capture of packets at these seconds.
fn capture(seconds: &[u64], data: &[u8]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), Endian::Little, &[]).unwrap();
    let interface = Interface::new(link_type::ETHERNET as u16);
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

/// They were given as the last time that there is without a word.
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
        let said = "2 of 4 records have a time before 1677-09-21 or after 2262-04-11";
        assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
    }
    let within = capture(&seconds[..2], &[0; 60]);
    std::fs::write(folder.join("within.pcapng"), within).unwrap();
    let ended = run(
        "weir query \"SELECT count(*) FROM 'within.pcapng'\"",
        &folder,
    );
    assert!(!ended.stderr.contains("2262"), "{}", ended.stderr);
}

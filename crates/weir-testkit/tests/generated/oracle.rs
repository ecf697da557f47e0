//! tshark as a judge of generated captures.

use std::path::Path;

use weir_testkit::peer::Question;

/// The numbers of the records that match a display filter; `None`, said loudly, where there is no
/// tshark.
pub(crate) fn matching(capture: &Path, filter: &str) -> Option<Vec<u64>> {
    let numbers = tshark(
        capture,
        &["-T", "fields", "-e", "frame.number", "-Y", filter],
    )?;
    Some(numbers.lines().map(|line| line.parse().unwrap()).collect())
}

/// The number of records that match each filter (which may not contain a comma), from one run of tshark.
pub(crate) fn counts(capture: &Path, filters: &[&str]) -> Option<Vec<u64>> {
    let statistics = format!("io,stat,0,{}", filters.join(","));
    let table = tshark(capture, &["-q", "-z", &statistics])?;
    // One interval, so one row: its bounds, then frames and bytes for each filter.
    let row = table
        .lines()
        .find(|line| line.contains("<>") && !line.contains("Interval"))
        .unwrap();
    let cells: Vec<&str> = row
        .split('|')
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect();
    let frames: Vec<u64> = cells[1..]
        .iter()
        .step_by(2)
        .map(|count| count.parse().unwrap())
        .collect();
    assert_eq!(frames.len(), filters.len(), "{table}");
    Some(frames)
}

/// Runs tshark with all checksums checked and ERF HDLC read as frame relay.
fn tshark(capture: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Question::to("tshark");
    for preference in [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
        "sctp.checksum:crc32c",
        "erf.hdlc_type:frelay",
    ] {
        command.args(["-o", preference]);
    }
    let answer = match command
        .arg("-n")
        .args(arguments)
        .arg("-r")
        .file(capture)
        .answer()
    {
        Ok(answer) => answer,
        Err(error) => {
            weir_testkit::missing("tshark", &format!("{error}: {}", capture.display()));
            return None;
        }
    };
    let messages = String::from_utf8_lossy(&answer.stderr);
    assert!(
        answer.is_success(),
        "{}: tshark says {messages}",
        capture.display()
    );
    Some(String::from_utf8(answer.stdout).unwrap())
}

/// The display filter for packets that tshark finds malformed or cut.
pub(crate) const DAMAGED: &str = "_ws.malformed || _ws.short";

/// The display filter for wrong checksums; checksums that tshark cannot verify do not match.
pub(crate) const BAD_CHECKSUM: &str = "ip.checksum.status == 0 || tcp.checksum.status == 0 \
    || udp.checksum.status == 0 || sctp.checksum.status == 0 || icmp.checksum.status == 0 \
    || icmpv6.checksum.status == 0 || gre.checksum.status == 0 || igmp.checksum.status == 0";

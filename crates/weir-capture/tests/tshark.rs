//! Every public capture beside the checkout gives the records that tshark gives.
//!
//! One file in twelve is compared; `WEIR_ALL=1` compares all, `WEIR_CAPTURES=FOLDER` others.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use weir_capture::{ErrorKind, Record, open};

#[test]
fn records_are_those_of_tshark() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    }
    let folder = std::env::var_os("WEIR_CAPTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/captures"),
        PathBuf::from,
    );
    let mut paths = Vec::new();
    walk(&folder, &mut paths);
    paths.sort();
    if paths.is_empty() {
        eprintln!("SKIPPED: there are no captures in {}", folder.display());
        return;
    }
    let stride = if std::env::var_os("WEIR_ALL").is_some() {
        1
    } else {
        12
    };
    let paths: Vec<_> = paths.iter().step_by(stride).collect();
    // Two at a time: tshark takes a fifth of a second to start.
    let (left, right) = paths.split_at(paths.len() / 2);
    let differences: Vec<String> = std::thread::scope(|scope| {
        let left = scope.spawn(|| {
            left.iter()
                .filter_map(|path| compare(path))
                .collect::<Vec<_>>()
        });
        let mut all: Vec<_> = right.iter().filter_map(|path| compare(path)).collect();
        all.extend(left.join().unwrap());
        all
    });
    println!("{} captures compared", paths.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, paths);
        } else {
            paths.push(path);
        }
    }
}

/// What differs, if anything does.
fn compare(path: &Path) -> Option<String> {
    let theirs = Command::new("tshark")
        .args(["-n", "-T", "fields", "-E", "separator= "])
        .args([
            "-e",
            "frame.number",
            "-e",
            "frame.time_epoch",
            "-e",
            "frame.len",
        ])
        .args(["-e", "frame.cap_len", "-e", "frame.interface_id"])
        // Only the frame itself is of interest, so every other protocol is off: quicker.
        .args(["--disable-protocol", "all", "-r"])
        .arg(path)
        .output()
        .unwrap();
    let rows = String::from_utf8(theirs.stdout).unwrap();
    let complaint: Vec<_> = String::from_utf8_lossy(&theirs.stderr)
        .lines()
        .filter(|line| !line.contains("could be dangerous"))
        .map(str::to_owned)
        .collect();
    let complaint = complaint.join(" ");
    if complaint.contains("network type") {
        // A link type that this Wireshark does not know, and therefore does not read.
        return None;
    }
    let mut rows = rows.lines();
    let different = |what: String| Some(format!("{}: {what}", path.display()));
    let mut reader = match open(path) {
        Ok(reader) => reader,
        Err(error) => {
            // What Wireshark refuses to open, or does not know, need not be read here either.
            let agreed = rows.next().is_none() && !complaint.is_empty();
            return if agreed {
                None
            } else {
                different(error.to_string())
            };
        }
    };
    let mut damaged = false;
    loop {
        let record = match reader.next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::Damaged && !complaint.is_empty() => {
                damaged = true;
                break;
            }
            Err(error) => return different(format!("{error}; tshark: {complaint:?}")),
        };
        let Some(row) = rows.next() else {
            return different(format!("{} is not in tshark: {complaint}", record.number));
        };
        let (wire_len, captured) = lengths(&record);
        let ours = (
            record.number,
            record.time_ns.map(i128::from),
            wire_len,
            captured,
            record.interface.id,
        );
        if parse(row) != Some(ours) {
            return different(format!("{ours:?} here, `{row}` in tshark"));
        }
    }
    match rows.next() {
        Some(row) => different(format!("`{row}` is only in tshark")),
        None if !damaged && !complaint.is_empty() => different(format!("tshark: {complaint}")),
        None => None,
    }
}

/// Number, time, length, captured length, interface; tshark names none for pcap.
fn parse(row: &str) -> Option<(u64, Option<i128>, u32, u32, u32)> {
    let fields: Vec<_> = row.split(' ').collect();
    let &[number, time, wire_len, captured, interface] = &fields[..] else {
        return None;
    };
    let time = if time.is_empty() {
        None
    } else {
        // tshark prints a fraction of 10^9 or more as it is, so it is added as a number.
        let (seconds, fraction) = time.split_once('.')?;
        let (seconds, fraction) = (
            seconds.parse::<i128>().ok()?,
            fraction.parse::<i128>().ok()?,
        );
        let sign = if time.starts_with('-') { -1 } else { 1 };
        Some(seconds * 1_000_000_000 + sign * fraction)
    };
    Some((
        number.parse().ok()?,
        time,
        wire_len.parse().ok()?,
        captured.parse().ok()?,
        if interface.is_empty() {
            0
        } else {
            interface.parse().ok()?
        },
    ))
}

/// The lengths without what Wireshark takes for a pseudo header and does not count.
fn lengths(record: &Record<'_>) -> (u32, u32) {
    let (wire_len, captured) = (record.wire_len, record.data.len() as u32);
    match record.link_type {
        // SunATM: direction, VPI, VCI.
        123 => (wire_len.saturating_sub(4), captured.saturating_sub(4)),
        197 => {
            let mut headers = 16;
            while record.data[if headers == 16 { 8 } else { headers - 8 }] & 0x80 != 0 {
                headers += 8;
            }
            headers += match record.data[8] & 0x7f {
                2 | 11 | 16 | 20 => 2,
                5..=9 | 12 | 17 | 18 => 4,
                _ => 0,
            };
            (
                wire_len,
                wire_len.min(captured.saturating_sub(headers as u32)),
            )
        }
        _ => (wire_len, captured),
    }
}

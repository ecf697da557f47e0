//! Captures give the records that tshark 4.0 gives: those made here, and the public ones that lie
//! beside the checkout.
//!
//! All are compared by count, bytes and first and last time with capinfos, which is quick; one in
//! sixty record by record with tshark, which takes a fifth of a second to start. `WEIR_ALL=1` does
//! that with all, and `WEIR_CAPTURES=FOLDER` with others. Deliberate differences:
//!
//! - Link types that Wireshark does not know are read here; it refuses the file.
//! - Damaged options cost themselves here, and Wireshark the rest of the file.
//! - Custom, journal and sysdig blocks take a frame number, as there, but are no records.
//! - Times beyond 64 bits of nanoseconds saturate. Wireshark overflows, but not this reader, on
//!   units below a nanosecond and on fractions of a second above 2 s, where it shows a negative time.
//! - Ixia's hardware variant counts nanoseconds, as later versions of Wireshark know.
//! - AIX FDDI packets keep the three bytes of padding that Wireshark takes off.
//! - ERF types from 32 are not recognised, so that text is not taken for ERF.
//! - A pcap with the record headers of Nokia or of patched libpcaps shows from two records on.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::*;
use weir_capture::{ErrorKind, Record, open};
use weir_testkit::Limited as _;
use weir_testkit::captures;
use weir_testkit::peer::Question;

#[test]
fn public_captures_are_read_as_tshark_reads_them() {
    let mut paths = Vec::new();
    let folder = std::env::var_os("WEIR_CAPTURES").map(PathBuf::from);
    match &folder {
        Some(folder) => walk(folder, &mut paths),
        // Files that only their name calls captures are among them: tshark refuses these, too.
        None => {
            let files = captures::listed_by_name("captures");
            paths.extend(files.into_iter().map(|file| file.path));
        }
    }
    paths.sort();
    if paths.is_empty() {
        let folder = folder.unwrap_or_else(|| captures::data().join("captures"));
        weir_testkit::missing("captures", &folder.display().to_string());
        return;
    }
    compare_all(&paths, 60);
}

#[test]
fn made_captures_are_read_as_tshark_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, bytes) in [Little, Big].into_iter().flat_map(made).chain(made_erf()) {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        paths.push(path);
    }
    compare_all(&paths, 3);
}

/// Files that editcap wrote as snoop and as NetMon 2 have the records of their original pcap, also according to tshark.
#[test]
fn snoop_and_netmon_captures_are_read_as_tshark_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for link_type in [1, 6, 10, 101, 123, 104] {
        let mut bytes = pcap_header(Little, 0xa1b2_c3d4, (2, 4), link_type);
        for number in 0..40_u32 {
            let data: Vec<u8> = (0..60 + number * 7).map(|at| at as u8).collect();
            let time = (1_700_000_000 + number * 3600, number * 24_999);
            bytes.extend(pcap_record(
                Little,
                time,
                &data,
                data.len() as u32 + number % 2 * 9,
            ));
        }
        let original = folder.path().join(format!("{link_type}.pcap"));
        fs::write(&original, &bytes).unwrap();
        let (expected, _) = read_all(open(&original));
        for format in ["snoop", "netmon2"] {
            let path = folder.path().join(format!("{link_type}.{format}"));
            let mut editcap = Command::new("editcap");
            // Times of NetMon have no zone.
            editcap.env("TZ", "UTC").args(["-F", format]);
            let Ok(output) = editcap.arg(&original).arg(&path).output_limited() else {
                weir_testkit::missing("editcap", "snoop and NetMon are not compared");
                return;
            };
            // NetMon has a header of its own in front of cells of ATM.
            if !output.status.success() || (link_type, format) == (123, "netmon2") {
                // These formats have few link types.
                continue;
            }
            let (kept, error) = read_all(open(&path));
            assert!(error.is_none(), "{}: {error:?}", path.display());
            assert_eq!(kept.len(), expected.len(), "{}", path.display());
            for (ours, theirs) in kept.iter().zip(&expected) {
                let of =
                    |kept: &OwnedRecord| (kept.number, kept.time_ns, kept.wire_len, kept.link_type);
                assert_eq!(of(ours), of(theirs), "{}", path.display());
                assert_eq!(ours.data, theirs.data, "{}", path.display());
            }
            // Every prefix, and every byte that is another one.
            let bytes = fs::read(&path).unwrap();
            for at in (0..bytes.len().min(3000)).step_by(7) {
                let (cut, error) = read_all(weir_capture::Reader::new(&bytes[..at]));
                assert_eq!(cut[..], kept[..cut.len()]);
                let whole = at >= 16 && format == "snoop" && error.is_none();
                assert!(error.is_some() || whole, "{at}");
                let mut changed = bytes.clone();
                changed[at] ^= 0xff;
                let (changed, _) = read_all(weir_capture::Reader::new(&changed[..]));
                assert!(changed.len() <= 200);
            }
            paths.push(path);
        }
    }
    assert!(paths.len() >= 6, "{paths:?}");
    if let Some(netmon) = paths.iter().find(|path| path.ends_with("1.netmon2")) {
        // A table that is not that of the frames.
        let mut bytes = fs::read(netmon).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let (kept, error) = read_all(weir_capture::Reader::new(&bytes[..]));
        assert_eq!(kept.len(), 40);
        assert!(error.unwrap().to_string().contains("the frame table"));
    }
    // A file of version 2.3 has network and time behind each frame.
    let later = "../../fuzz/corpus/capture_others/netmon23";
    paths.push(Path::new(env!("CARGO_MANIFEST_DIR")).join(later));
    compare_all(&paths, 1);
}

/// The reader drops exactly the duplicates that editcap drops, and keeps the numbers of the other records.
#[test]
fn repeated_packets_are_those_that_editcap_drops() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 7_u32;
    let mut next = |bound: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % bound
    };
    let mut bytes = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 1);
    for number in 0..600 {
        let data = vec![next(4) as u8; 60 + next(2) as usize];
        bytes.extend(pcap_record(Little, (number, 0), &data, 80));
    }
    let (original, without) = (folder.path().join("a.pcap"), folder.path().join("b.pcap"));
    fs::write(&original, &bytes).unwrap();
    let mut options = weir_capture::ReadOptions::default();
    options.repeats_window = 4;
    let (ours, error) = read_all(weir_capture::open_with(&original, &options));
    assert!(error.is_none(), "{error:?}");
    assert!(ours.len() > 50 && ours.len() < 500, "{}", ours.len());
    assert!(
        ours.iter()
            .all(|kept| kept.time_ns == Some((kept.number as i64 - 1) * 1_000_000_000))
    );
    let mut editcap = Command::new("editcap");
    if editcap
        .args(["-F", "pcap", "-d"])
        .arg(&original)
        .arg(&without)
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("editcap", "repeated packets are not compared");
        return;
    }
    let (theirs, _) = read_all(open(&without));
    let times = |all: &[OwnedRecord]| all.iter().map(|kept| kept.time_ns).collect::<Vec<_>>();
    assert_eq!(times(&ours), times(&theirs));
}

/// Captures with what the public ones lack: name and bytes.
fn made(order: Order) -> Vec<(String, Vec<u8>)> {
    let packet = [0xaa; 61];
    let record = |seconds: u32, more: &[u8]| {
        pcap_record_with(
            order,
            (1_700_000_000 + seconds, 999_999),
            &packet,
            61 + seconds,
            more,
        )
    };
    let mut made = Vec::new();
    for (magic, version, more) in [
        (0xa1b2_c3d4, (2, 4), 4),
        (0xa1b2_c3d4, (2, 4), 8),
        (0xa1b2_cd34, (2, 4), 8),
        (0xa1b2_cd34, (2, 4), 12),
        (0xa1b2_3c4d, (2, 4), 0),
        (0xa1b2_c3d4, (2, 3), 0),
        (0xa1b2_c3d4, (2, 2), 0),
        (0xa1b2_c3d4, (2, 5), 0),
        (0xa1b2_c3d4, (1, 0), 0),
    ] {
        let header = pcap_header(order, magic, version, 1);
        let records = [record(0, &vec![0; more]), record(1, &vec![0; more])].concat();
        let name = format!("{order:?}-{magic:x}-{version:?}-{more}.pcap");
        made.push((name, [header, records].concat()));
    }
    let ixia = pcap_header(order, 0x1c00_01ab, (2, 4), 1);
    made.push((
        format!("{order:?}-ixia.pcap"),
        [ixia, vec![0; 4], record(0, &[])].concat(),
    ));

    let ticks = 1_700_000_000_000_001;
    let enhanced = |interface| enhanced(order, interface, ticks, &packet, 70, &[]);
    let other = if order == Big { Little } else { Big };
    let offset = |seconds: i64| match order {
        Big => seconds.to_be_bytes(),
        Little => seconds.to_le_bytes(),
    };
    let mut clocks = section(order);
    for (number, resolution) in (0..).zip([6, 7, 9, 12, 0xa0, 0x9f]) {
        let options = [
            option(order, 9, &[resolution]),
            option(order, 14, &offset(i64::from(number) - 4)),
        ];
        clocks.extend(interface(order, 1, 0, &options.concat()));
        clocks.extend(enhanced(number));
    }
    made.push((format!("{order:?}-clocks.pcapng"), clocks));
    let blocks = [
        section(order),
        interface(order, 1, 60, &[]),
        simple(order, &packet[..60], 100),
        simple(order, &packet[..20], 20),
        interface(order, 101, 0, &[]),
        block(order, 0x777, &[1; 5000]),
        block(order, 4, &[0; 4]),
        obsolete(order, 1, ticks, &packet, 100),
        block(order, 0x0bad, &[0, 0, 0, 1, 5, 6, 7, 8]),
        enhanced(1),
        section(other),
        interface(other, 1, 0, &[]),
        crate::common::enhanced(other, 0, ticks, &packet, 61, &[]),
    ];
    made.push((format!("{order:?}-blocks.pcapng"), blocks.concat()));
    let begin = [section(order), interface(order, 1, 0, &[]), enhanced(0)].concat();
    for (name, block) in [
        ("interface", enhanced(3)),
        ("length", Bytes::new(order).u32(0x777).u32(8).bytes),
        ("cut", enhanced(0)[..50].to_vec()),
        ("closing", [&enhanced(0)[..92], &[9; 4]].concat()),
        (
            "version",
            section(order)
                .iter()
                .map(|&byte| if byte == 1 { 3 } else { byte })
                .collect(),
        ),
    ] {
        made.push((
            format!("{order:?}-{name}.pcapng"),
            [&begin[..], &block, &enhanced(0)].concat(),
        ));
    }
    made
}

fn made_erf() -> Vec<(String, Vec<u8>)> {
    let time = |number: u64| (1_700_000_000 << 32) + number * 0x1234_5678;
    let rest = [0x55; 64];
    let mut kinds = Vec::new();
    for kind in 1..=27 {
        kinds.extend(erf(
            time(u64::from(kind)),
            kind,
            kind,
            &rest,
            60 + u16::from(kind),
        ));
        let extended = [
            &[0x83, 1, 2, 3, 4, 5, 6, 7, 0x04, 0, 0, 0, 0, 0, 0, 0][..],
            &rest,
        ]
        .concat();
        kinds.extend(erf(time(u64::from(kind)), kind | 0x80, kind, &extended, 20));
        kinds.extend(erf(0, 48, 0, &[0; 8], 0));
    }
    let records: Vec<u8> = (0..9).flat_map(|n| erf(time(n), 3, 0, &rest, 64)).collect();
    let mut empty = records.clone();
    empty.extend(erf(time(20), 1, 0, &[], 0));
    vec![
        ("kinds.erf".to_owned(), kinds),
        ("cut.erf".to_owned(), records[..700].to_vec()),
        ("cut-header.erf".to_owned(), records[..645].to_vec()),
        ("empty.erf".to_owned(), empty),
    ]
}

fn compare_all(paths: &[PathBuf], stride: usize) {
    let installed = |program| {
        Command::new(program)
            .arg("--version")
            .output_limited()
            .is_ok()
    };
    if !installed("tshark") || !installed("capinfos") {
        weir_testkit::missing("tshark", "nothing judges how captures are read");
        return;
    }
    let mut differences: Vec<_> = paths.chunks(200).flat_map(compare_summaries).collect();
    let all = std::env::var_os("WEIR_ALL").is_some();
    let sample: Vec<_> = paths.iter().step_by(if all { 1 } else { stride }).collect();
    let (left, right) = sample.split_at(sample.len() / 2);
    let compare_half =
        |half: &[&PathBuf]| -> Vec<_> { half.iter().filter_map(|path| compare(path)).collect() };
    differences.extend(std::thread::scope(|scope| {
        let left = scope.spawn(|| compare_half(left));
        let right = compare_half(right);
        [left.join().unwrap(), right].concat()
    }));
    println!(
        "{} captures compared with capinfos, {} with tshark",
        paths.len(),
        sample.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The differences from the summaries of capinfos.
fn compare_summaries(paths: &[PathBuf]) -> Vec<String> {
    let output = Command::new("capinfos")
        .args(["-T", "-M", "-r", "-c", "-d", "-a", "-e", "-S"])
        .args(paths)
        .output_limited()
        .unwrap();
    let rows = String::from_utf8(output.stdout).unwrap();
    let mut differences = Vec::new();
    for row in rows.lines() {
        let fields: Vec<_> = row.split('\t').collect();
        let &[path, count, bytes, first, last] = &fields[..] else {
            panic!("capinfos gave {row:?}");
        };
        let mut reader = open(Path::new(path)).unwrap();
        let (mut wire_bytes, mut numbered) = (0_u64, 0);
        let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
        let mut timed = true;
        // An error after the good records is compared record by record, elsewhere.
        while let Ok(Some(record)) = reader.next() {
            numbered = record.number;
            wire_bytes += u64::from(lengths(&record).0);
            timed &= record.time_ns.is_some();
            earliest = earliest.min(record.time_ns.unwrap_or(i64::MAX));
            latest = latest.max(record.time_ns.unwrap_or(i64::MIN));
        }
        let mut check = |what: &str, ours: String, theirs: &str| {
            if ours != theirs {
                differences.push(format!(
                    "{path}: {what} is {ours} here, {theirs} in capinfos"
                ));
            }
        };
        if path.contains("blocks") {
            // Custom blocks have numbers and bytes here or there, and are no packets.
            continue;
        }
        check("the number of packets", numbered.to_string(), count);
        check("the number of bytes", wire_bytes.to_string(), bytes);
        // capinfos neither prints fractions above a second nor compares times beyond 2038 well.
        let sound = earliest <= latest && latest < 1_000_000_000 << 31;
        if timed && sound && !first.contains('-') && !last.contains('-') {
            for (what, ours, theirs) in [
                ("the first time", earliest, first),
                ("the last time", latest, last),
            ] {
                let digits = theirs
                    .split_once('.')
                    .map_or(0, |(_, fraction)| fraction.len());
                let text = format!("{}.{:09}", ours / 1_000_000_000, ours % 1_000_000_000);
                check(what, text[..text.len() - 9 + digits].to_owned(), theirs);
            }
        }
    }
    differences
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

/// The first difference, if there is one.
fn compare(path: &Path) -> Option<String> {
    let mut question = Question::to("tshark");
    question
        .args(["-n", "-T", "fields", "-E", "separator= "])
        .args(["-e", "frame.number", "-e", "frame.time_epoch"])
        .args(["-e", "frame.len", "-e", "frame.cap_len"])
        .args(["-e", "frame.interface_id"])
        .arg("-r")
        .file(path);
    let theirs = question.answer().unwrap();
    let rows = String::from_utf8(theirs.stdout).unwrap();
    let complaint: Vec<_> = String::from_utf8_lossy(&theirs.stderr)
        .lines()
        .filter(|line| !line.contains("could be dangerous") && !line.contains("[Epan "))
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
            // A file that Wireshark refuses to open, or does not know, may be refused here, too.
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
        // Frames that are no packets have a number and no record.
        let number = |row: &str| row.split(' ').next().and_then(|field| field.parse().ok());
        let row = rows.find(|row| number(row).is_none_or(|number: u64| number >= record.number));
        let Some(row) = row else {
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
        let theirs = parse(row);
        // A fraction that overflows there, see above.
        let overflown = row.contains('-');
        let ours = match theirs {
            Some((_, time, ..)) if overflown => (ours.0, time, ours.2, ours.3, ours.4),
            _ => ours,
        };
        if theirs != Some(ours) {
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
        Some(seconds * 1_000_000_000 + fraction)
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

//! The CPU time of walking a capture, beside that of copying it.
//!
//! Makes a pcap of 963,374 records and 272 MB (once, in the temporary folder) and reads it warm
//! from the page cache: with this crate at several buffer sizes, with `dd bs=1M`, and with the C
//! program beside this file. The contestants take turns; medians of their CPU time are printed.
//!
//! `cargo bench -p weir-capture --bench read`

use std::{
    fs::{self, File},
    io::{BufWriter, Read, Write},
    path::{Path, PathBuf},
    process::Command,
};

use weir_capture::{ReadOptions, Reader};

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        // `cargo test --benches` only asks whether it starts.
        return;
    }
    let folder = std::env::temp_dir().join("weir-capture-bench");
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    let pcap = prepare(&folder, "ethernet.pcap", pcap_capture);
    let pcapng = prepare(&folder, "ethernet.pcapng", pcapng_capture);
    let erf = prepare(&folder, "ethernet.erf", erf_capture);
    let peer = compile_peer(&folder);

    let mut contestants: Vec<(String, Contestant)> = Vec::new();
    let path = pcap.clone();
    contestants.push(("dd bs=1M".to_owned(), Box::new(move || dd(&path))));
    let path = pcap.clone();
    contestants.push((
        "read() alone".to_owned(),
        Box::new(move || Some(read_alone(&path))),
    ));
    for offset in [0, 1, 8, 16, 31, 32, 64] {
        let path = pcap.clone();
        contestants.push((
            format!("read() at {offset}"),
            Box::new(move || Some(read_at(&path, offset))),
        ));
    }
    for kibibytes in [64, 128, 256, 512, 1024, 2048] {
        let path = pcap.clone();
        contestants.push((
            format!("pcap, {kibibytes} KiB"),
            Box::new(move || Some(ours(&path, kibibytes << 10))),
        ));
    }
    for (name, path) in [("pcapng, 256 KiB", pcapng), ("ERF, 256 KiB", erf)] {
        contestants.push((
            name.to_owned(),
            Box::new(move || Some(ours(&path, 256 << 10))),
        ));
    }
    if let Some(peer) = peer {
        for (name, mode, bytes) in [
            ("C, read 256 KiB", "read", 256 << 10),
            ("C, read 1 MiB", "read", 1 << 20),
            ("C, mmap", "mmap", 0),
        ] {
            let (peer, path) = (peer.clone(), pcap.clone());
            contestants.push((
                name.to_owned(),
                Box::new(move || run_peer(&peer, mode, bytes, &path)),
            ));
        }
    }

    let mut times = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in contestants.iter().zip(&mut times) {
            times.extend(run());
        }
    }
    let medians: Vec<_> = times.iter_mut().map(|times| median(times)).collect();
    let [dd, read, ..] = medians[..] else {
        unreachable!("dd and read() are the first contestants");
    };
    println!(
        "{:<18} {:>8} {:>6} {:>8} {:>12}",
        "", "CPU ms", "x dd", "x read()", "records/s"
    );
    for ((name, _), median) in contestants.iter().zip(&medians) {
        match median {
            Some(ms) => println!(
                "{name:<18} {ms:>8.1} {:>6.2} {:>8.2} {:>10.1} M",
                dd.map_or(f64::NAN, |dd| ms / dd),
                read.map_or(f64::NAN, |read| ms / read),
                RECORDS as f64 / ms / 1000.0,
            ),
            None => println!("{name:<18} not available"),
        }
    }
}

/// A consumer of the bytes of a file.
type Sink<'a> = dyn FnMut(&[u8]) + 'a;

/// A program under test, which returns the CPU milliseconds of one pass.
type Contestant = Box<dyn Fn() -> Option<f64>>;

/// Writes a capture unless it is there.
fn prepare(folder: &Path, name: &str, write: fn(&mut Sink<'_>)) -> PathBuf {
    let path = folder.join(name);
    if !path.exists() {
        let part = folder.join("part");
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&part).expect("created"));
        write(&mut |bytes| file.write_all(bytes).expect("written"));
        file.flush().expect("written");
        fs::rename(part, &path).expect("renamed");
    }
    path
}

/// Calls `each` with number, time in microseconds and length of every record: 60 to 1514 bytes,
/// mostly small, in all as many as in the public trace whose size this is.
fn packets(mut each: impl FnMut(u64, &[u8])) {
    let packet: Vec<u8> = (0..=255).cycle().take(1514).collect();
    let mut left = PACKET_BYTES;
    let mut random = 1_u64;
    for number in 0..RECORDS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let records_left = RECORDS - number;
        // Aims at the mean that is left, so that the file comes out at exactly its size.
        let mean = left / records_left;
        let wanted = if random.is_multiple_of(8) {
            mean * 4
        } else {
            mean * 4 / 7
        };
        let least = left.saturating_sub((records_left - 1) * 1514).max(60);
        let most = (left - (records_left - 1) * 60).min(1514);
        let len = wanted.clamp(least, most);
        each(
            1_700_000_000_000_000 + number * 100,
            &packet[..len as usize],
        );
        left -= len;
    }
    assert_eq!(left, 0);
}

fn pcap_capture(write: &mut Sink<'_>) {
    write(b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0");
    packets(|time, packet| {
        let len = packet.len() as u32;
        for field in [
            (time / 1_000_000) as u32,
            (time % 1_000_000) as u32,
            len,
            len,
        ] {
            write(&field.to_le_bytes());
        }
        write(packet);
    });
}

fn pcapng_capture(write: &mut Sink<'_>) {
    write(b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0");
    write(b"\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0");
    write(b"\x01\0\0\0\x14\0\0\0\x01\0\0\0\0\0\0\0\x14\0\0\0");
    packets(|time, packet| {
        let len = packet.len() as u32;
        let block_len = 32 + len.next_multiple_of(4);
        for field in [6, block_len, 0, (time >> 32) as u32, time as u32, len, len] {
            write(&field.to_le_bytes());
        }
        write(packet);
        write(&[0; 3][..(len.next_multiple_of(4) - len) as usize]);
        write(&block_len.to_le_bytes());
    });
}

fn erf_capture(write: &mut Sink<'_>) {
    packets(|time, packet| {
        let seconds = time / 1_000_000;
        let fraction = ((time % 1_000_000) << 32) / 1_000_000;
        write(&(seconds << 32 | fraction).to_le_bytes());
        write(&[1, 0]);
        write(&(packet.len() as u16 + 16).to_be_bytes());
        write(&[0, 0]);
        write(&(packet.len() as u16).to_be_bytes());
        write(packet);
    });
}

/// CPU milliseconds of reading a file into one buffer without parsing it.
fn read_alone(path: &Path) -> f64 {
    let before = thread_cpu_ms();
    let mut file = File::open(path).expect("opened");
    let mut buffer = vec![0; 256 << 10];
    // A reader of captures reads the file header first, so that all further reads begin in the middle of pages.
    file.read_exact(&mut buffer[..24]).expect("read");
    while file.read(&mut buffer[24..]).expect("read") > 0 {}
    thread_cpu_ms() - before
}

/// CPU milliseconds of reading the file in whole pages to so many octets behind the beginning of a page: the offset at which
/// copies are slow is a matter of the processor.
fn read_at(path: &Path, offset: usize) -> f64 {
    const PAGE: usize = 4096;
    let mut buffer = vec![0; (256 << 10) + 2 * PAGE];
    let start = buffer.as_ptr().align_offset(PAGE) + offset;
    let place = &mut buffer[start..start + (256 << 10)];
    let before = thread_cpu_ms();
    let mut file = File::open(path).expect("opened");
    while file.read(place).expect("read") > 0 {}
    thread_cpu_ms() - before
}

/// CPU milliseconds of one pass with this crate.
fn ours(path: &Path, buffer_bytes: usize) -> f64 {
    let before = thread_cpu_ms();
    let mut options = ReadOptions::default();
    options.buffer_bytes = buffer_bytes;
    let mut reader = Reader::with_options(File::open(path).expect("opened"), &options)
        .expect("the file is a capture");
    let (mut records, mut wire_bytes) = (0_u64, 0_u64);
    while let Some(record) = reader.next().expect("the capture is whole") {
        records += 1;
        wire_bytes += u64::from(record.wire_len);
    }
    assert_eq!(records, RECORDS);
    assert_eq!(wire_bytes, PACKET_BYTES);
    thread_cpu_ms() - before
}

fn thread_cpu_ms() -> f64 {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat")
        .expect("the bench runs on Linux, which counts CPU time in nanoseconds");
    let nanoseconds = statistics
        .split(' ')
        .next()
        .and_then(|n| n.parse::<f64>().ok());
    nanoseconds.expect("the first number is the CPU time") / 1e6
}

/// CPU milliseconds of `dd`.
fn dd(path: &Path) -> Option<f64> {
    let script = "TIMEFORMAT='%U %S'; time dd if=\"$0\" of=/dev/null bs=1M status=none";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(path)
        .output()
        .ok()?;
    let times = String::from_utf8(output.stderr).ok()?;
    let seconds: f64 = times
        .split_whitespace()
        .filter_map(|n| n.parse::<f64>().ok())
        .sum();
    (seconds > 0.0).then_some(seconds * 1000.0)
}

/// Builds the C program; `None` without a compiler.
fn compile_peer(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peer.c");
    let program = folder.join("peer");
    let status = Command::new("cc")
        .args(["-O3", "-march=native", "-o"])
        .args([&program, &source])
        .status();
    status
        .is_ok_and(|status| status.success())
        .then_some(program)
}

fn run_peer(peer: &Path, mode: &str, bytes: usize, path: &Path) -> Option<f64> {
    let output = Command::new(peer)
        .args([mode, &bytes.to_string()])
        .arg(path)
        .output()
        .ok()?;
    let line = String::from_utf8(output.stdout).ok()?;
    let mut numbers = line
        .split_whitespace()
        .filter_map(|n| n.parse::<u64>().ok());
    assert_eq!(numbers.next(), Some(RECORDS));
    numbers
        .nth(1)
        .map(|microseconds| microseconds as f64 / 1000.0)
}

fn median(times: &mut [f64]) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

const RECORDS: u64 = 963_374;
/// The pcap has 272 MB, with 16 bytes per record header and the file header.
const PACKET_BYTES: u64 = 272_000_000 - 24 - 16 * RECORDS;
const ROUNDS: usize = 15;

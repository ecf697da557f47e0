//! The cost of a packet in the flow table, the memory of a flow, and the longest time of a packet.
//!
//! `cargo bench -p weir-flow --bench flows`, or `cargo xtask bench flows`. Packets are of random flows,
//! so that nearly each one misses the caches; decoding is not part of it. The peer is hashbrown with the
//! same keys and the same hash function, which counts packets and bytes and keeps the times, and knows
//! nothing of TCP, of timeouts or of limits. Then the same capture of 150,000 connections is read from a
//! file by weir's reader, decoder and flow table, by `tshark -z conv,tcp`, and by `nfpcapd`, as far as
//! these are installed. Lines that begin with `@` are comparisons.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use weir_dict::ProcessKey;
use weir_flow::{Endpoint, FlowKey, FlowTable, Options, Segment, Sighting, Tracker};
use weir_packet::{Decoder, Frame, LinkType, Needs};
use weir_testkit::Rng;

/// The counts of the peer.
#[derive(Clone, Copy, Default)]
struct Counts {
    packets: [u32; 2],
    bytes: [u64; 2],
    first_ns: i64,
    last_ns: i64,
}

type Peer = hashbrown::HashMap<FlowKey, Counts, ProcessKey>;

const BATCH: usize = 1_024;

fn main() {
    let number = |name: &str, default: u32| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    if let Some(path) = std::env::var_os(PAUSES) {
        return first_run(number("WEIR_BENCH_FLOWS", 0)).write(Path::new(&path));
    }
    let rounds = number("WEIR_BENCH_ROUNDS", 5) as usize;
    let packets = number("WEIR_BENCH_PACKETS", 2_000_000) as usize;
    many_packets(150_000, packets, rounds);
    match number("WEIR_BENCH_FLOWS", 10_000_000) {
        0 => {}
        flows => many_flows(flows, packets),
    }
    from_file(150_000);
}

/// A packet of flow `number`, of which the `turn`-th comes.
fn sighting(number: u32, turn: u32, time_ns: i64) -> Sighting {
    let [_, a, b, c] = number.to_be_bytes();
    let client = Endpoint {
        address: Ipv4Addr::new(10, a, b, c).into(),
        port: 1_024 + (number.wrapping_mul(2_654_435_761) >> 17) as u16,
    };
    let server = Endpoint {
        address: Ipv4Addr::new(192, 168, (number >> 3) as u8, 1).into(),
        port: 443,
    };
    let from_client = turn.is_multiple_of(2);
    let (from, to) = if from_client {
        (client, server)
    } else {
        (server, client)
    };
    let (key, sender) = FlowKey::new(from, to, 6, 0);
    let handshake = turn < 2;
    let flags = [2, 18, 16, 16][turn.min(3) as usize];
    let data = turn.saturating_sub(2) / 2 * 1_000;
    Sighting {
        key,
        sender,
        time_ns: Some(time_ns),
        ip_bytes: 1_040,
        payload_bytes: if handshake { 0 } else { 1_000 },
        ttl: 64,
        bad_checksum: false,
        segment: Some(Segment {
            seq: if handshake { 0 } else { 1 + data },
            ack: u32::from(turn > 0),
            flags,
            window: 1_000,
            len: if handshake { 0 } else { 1_000 },
            is_cut: false,
            scale: None,
            may_be_padding: false,
        }),
    }
}

/// Nanoseconds a packet, over batches of packets of random flows.
fn measure(
    packets: usize,
    seed: u64,
    turns: &mut [u32],
    start_ns: i64,
    mut each: impl FnMut(&[Sighting]),
) -> f64 {
    let mut random = Rng::new(seed);
    let mut batch = Vec::with_capacity(BATCH);
    let (mut elapsed, mut count) = (0, 0);
    while count < packets {
        batch.clear();
        for index in 0..BATCH {
            let number = random.below(turns.len() as u64) as u32;
            let turn = &mut turns[number as usize];
            let time_ns = start_ns + 1_000 * (count + index) as i64;
            batch.push(sighting(number, *turn, time_ns));
            *turn += 1;
        }
        let start = Instant::now();
        each(&batch);
        elapsed += start.elapsed().as_nanos();
        count += BATCH;
    }
    elapsed as f64 / count as f64
}

fn many_packets(flows: u32, packets: usize, rounds: usize) {
    let mut results = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..rounds {
        let seed = round as u64 + 1;
        // Each way once to warm up: what is measured are flows that are there.
        let mut turns = vec![0; flows as usize];
        let mut table = FlowTable::new(Options::default());
        let warm = 6 * flows as usize;
        // Time goes on from one to the next: a clock that is set back is rare, and costs each flow a record of it.
        let after_ns = |packets: usize| 1_000 * packets.next_multiple_of(BATCH) as i64;
        let (batched_ns, single_ns) = (after_ns(warm), after_ns(warm) + after_ns(packets));
        measure(warm, seed, &mut turns, 0, |batch| {
            table.packets(batch, |_| {});
        });
        let mut ended = 0_u64;
        let batched = measure(packets, seed + 100, &mut turns, batched_ns, |batch| {
            table.packets(batch, |_| ended += 1);
        });
        let single = measure(packets, seed + 200, &mut turns, single_ns, |batch| {
            for sighting in batch {
                black_box(table.packet(sighting, |_| ended += 1));
            }
        });
        assert_eq!(ended, 0);
        drop(table);
        let mut peer = Peer::with_hasher(ProcessKey);
        let mut turns = vec![0; flows as usize];
        measure(warm, seed, &mut turns, 0, |batch| {
            count_all(&mut peer, batch);
        });
        let theirs = measure(packets, seed + 100, &mut turns, batched_ns, |batch| {
            count_all(&mut peer, batch);
        });
        for (list, result) in results.iter_mut().zip([batched, single, theirs]) {
            list.push(result);
        }
    }
    let [batched, single, theirs] = results.map(median);
    println!("{flows} connections, packets of random ones: ns a packet, medians of {rounds}");
    println!("  in batches {batched:.1}, one by one {single:.1}, hashbrown counting {theirs:.1}");
    println!(
        "  updates a second: in batches {:.1} M, one by one {:.1} M, hashbrown counting {:.1} M",
        1e3 / batched,
        1e3 / single,
        1e3 / theirs
    );
    println!("@flows: a packet, 150,000 flows, batches\t{batched:.1}\t{theirs:.1}\thashbrown\tns");
    println!("@flows: a packet, 150,000 flows, single\t{single:.1}\t{theirs:.1}\thashbrown\tns");
}

fn count_all(peer: &mut Peer, batch: &[Sighting]) {
    for sighting in batch {
        count_one(peer, sighting);
    }
}

fn count_one(peer: &mut Peer, sighting: &Sighting) {
    let time_ns = sighting.time_ns.unwrap_or(0);
    let counts = peer.entry(sighting.key).or_insert_with(|| Counts {
        first_ns: time_ns,
        ..Counts::default()
    });
    let side = usize::from(sighting.sender == weir_flow::Sender::High);
    counts.packets[side] += 1;
    counts.bytes[side] += u64::from(sighting.ip_bytes);
    counts.first_ns = counts.first_ns.min(time_ns);
    counts.last_ns = time_ns;
}

/// Every flow begins with its SYN, and continues.
fn many_flows(flows: u32, packets: usize) {
    let mut pauses = Pauses::new(flows);
    let before = resident_bytes();
    let mut table = FlowTable::new(options());
    pauses.run_table(&mut table);
    assert_eq!(table.len(), flows as usize);
    let (asked, resident) = (table.allocated_bytes(), resident_bytes() - before);
    let a_flow = asked as f64 / f64::from(flows);
    println!("  longest packets of one run: {:?}", pauses.worst());
    // Delays by other programs hit another packet in each run, while the table's own pauses come every time. A process
    // of its own has new memory from the system.
    let mut new_memory = Pauses(pauses.0.clone());
    for _ in 1..PAUSE_RUNS {
        new_memory.run_process(flows);
    }
    println!(
        "  longest packets, each the shortest of {PAUSE_RUNS} runs, memory new from the system: {:?}",
        new_memory.worst()
    );
    drop(new_memory);
    for _ in 1..PAUSE_RUNS {
        drop(table);
        table = FlowTable::new(options());
        pauses.run_table(&mut table);
    }
    let worst = pauses.worst();
    println!(
        "{flows} flows: {:.2} GB asked of the allocator ({a_flow:.0} bytes a flow), {:.2} GB resident",
        asked as f64 / 1e9,
        resident as f64 / 1e9
    );
    println!(
        "  longest packets, each the shortest of {PAUSE_RUNS} runs, memory used before: {worst:?}"
    );
    let mut turns = vec![1; flows as usize];
    let start_ns = i64::from(flows);
    let ours = measure(packets, 5, &mut turns, start_ns, |batch| {
        table.packets(batch, |_| {});
    });
    drop(table);
    let mut longest = Pauses::new(flows);
    let mut peer = Peer::with_hasher(ProcessKey);
    longest.run(|number| count_one(&mut peer, &first(number)));
    turns.fill(1);
    let theirs = measure(packets, 5, &mut turns, start_ns, |batch| {
        count_all(&mut peer, batch);
    });
    let their_flow = peer.allocation_size() as f64 / f64::from(flows);
    let their_worst = longest.worst();
    println!(
        "hashbrown, counting: {their_flow:.0} bytes a flow, longest packets of one run: {their_worst:?}"
    );
    println!(
        "  packets of random flows, in batches {ours:.1} ns ({:.1} M updates a second), hashbrown counting {theirs:.1} ns ({:.1} M)",
        1e3 / ours,
        1e3 / theirs
    );
    println!(
        "@flows: memory a flow, {flows} flows\t{a_flow:.0}\t{their_flow:.0}\thashbrown, counts only\tbytes"
    );
    println!("@flows: a packet, {flows} flows, batches\t{ours:.1}\t{theirs:.1}\thashbrown\tns");
    if let (Some((ours, _)), Some((theirs, _))) = (worst.first(), their_worst.first()) {
        println!("@flows: longest packet, {flows} flows\t{ours:.0}\t{theirs:.0}\thashbrown\tµs");
    }
}

const PAUSE_RUNS: usize = 3;
/// Names the file into which a process of [`Pauses::run_process`] writes.
const PAUSES: &str = "WEIR_BENCH_PAUSES";

fn options() -> Options {
    let mut options = Options::default();
    options.tcp_attempt_ns = options.tcp_idle_ns;
    options
}

/// The measurement of a process without other work.
fn first_run(flows: u32) -> Pauses {
    let mut pauses = Pauses::new(flows);
    pauses.run_table(&mut FlowTable::new(options()));
    pauses
}

fn first(number: u32) -> Sighting {
    sighting(number, 0, i64::from(number))
}

/// The time of each packet, the shortest of several runs.
struct Pauses(Vec<u32>);

impl Pauses {
    fn new(packets: u32) -> Self {
        Self(vec![u32::MAX; packets as usize])
    }

    fn run(&mut self, mut each: impl FnMut(u32)) {
        for (number, least) in (0..).zip(&mut self.0) {
            let start = Instant::now();
            each(number);
            let elapsed = u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX);
            *least = elapsed.min(*least);
        }
    }

    fn run_table(&mut self, table: &mut FlowTable) {
        self.run(|number| {
            black_box(table.packet(&first(number), |_| {}));
        });
    }

    /// A run of a process of its own.
    fn run_process(&mut self, flows: u32) {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let status = std::env::current_exe().and_then(|this| {
            let mut command = Command::new(this);
            command.env("WEIR_BENCH_FLOWS", flows.to_string());
            command.env(PAUSES, file.path()).status()
        });
        assert!(status.is_ok_and(|status| status.success()));
        let bytes = std::fs::read(file.path()).expect("what the process wrote");
        let (times, _) = bytes.as_chunks::<4>();
        assert_eq!(times.len(), self.0.len());
        for (least, elapsed) in self.0.iter_mut().zip(times) {
            *least = (*least).min(u32::from_ne_bytes(*elapsed));
        }
    }

    fn write(&self, path: &Path) {
        let bytes: Vec<u8> = self.0.iter().flat_map(|ns| ns.to_ne_bytes()).collect();
        std::fs::write(path, bytes).expect("the file of another process");
    }

    /// The longest, in µs, with the numbers of their packets.
    fn worst(&self) -> Vec<(f64, usize)> {
        let mut all: Vec<(u32, usize)> = self.0.iter().copied().zip(0..).collect();
        all.sort_unstable_by_key(|(ns, _)| std::cmp::Reverse(*ns));
        all.truncate(5);
        all.iter()
            .map(|(ns, at)| (f64::from(*ns) / 1e3, *at))
            .collect()
    }
}

/// The same from a file, decoding included, beside programs that read it too.
fn from_file(flows: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("connections.pcap");
    let packets = write_capture(&path, flows).expect("the capture is written");
    let mut times: Vec<f64> = (0..3)
        .map(|_| by_weir(&path, flows).as_secs_f64())
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    let ours = times[1];
    println!(
        "{packets} packets of {flows} connections from a file, with decoding: {ours:.2} s, {:.2} M packets a second",
        packets as f64 / ours / 1e6
    );
    let text = path.to_string_lossy().into_owned();
    let out = folder.path().to_string_lossy().into_owned();
    let peers: [(&str, Vec<&str>); 2] = [
        ("tshark", vec!["-n", "-q", "-z", "conv,tcp", "-r", &text]),
        ("nfpcapd", vec!["-r", &text, "-l", &out]),
    ];
    for (program, arguments) in peers {
        let start = Instant::now();
        let status = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match status {
            Ok(status) if status.success() => {
                let theirs = start.elapsed().as_secs_f64();
                println!("  {program}: {theirs:.2} s");
                println!(
                    "@flows: a capture of 150,000 connections\t{ours:.3}\t{theirs:.3}\t{program}\ts"
                );
            }
            Ok(status) => println!("  {program}: SKIPPED, it ended with {status}"),
            Err(_) => println!("  {program}: SKIPPED, it is not installed"),
        }
    }
}

fn by_weir(path: &Path, flows: u32) -> Duration {
    let start = Instant::now();
    let mut reader = weir_capture::open(path).expect("the capture opens");
    let mut decoder = Decoder::new(weir_packet::Options::default(), [Needs::All]);
    let mut tracker = Tracker::new(Options::default());
    let mut ended = 0_u32;
    while let Some(record) = reader.next().expect("a record") {
        let mut frame = Frame::new(LinkType(record.link_type), record.data);
        frame.time_ns = record.time_ns;
        frame.wire_len = record.wire_len;
        tracker.packet(&decoder.decode(frame), |_| ended += 1);
    }
    tracker.finish(|_| ended += 1);
    assert_eq!(ended, flows);
    start.elapsed()
}

/// A pcap of six packets a connection, which come in turns; gives how many packets.
fn write_capture(path: &Path, flows: u32) -> std::io::Result<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(&0xa1b2_c3d4_u32.to_le_bytes())?;
    out.write_all(&[
        2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0,
    ])?;
    let mut count = 0_u64;
    for turn in 0..6 {
        for number in 0..flows {
            let sighting = sighting(number, turn, 0);
            let (Some(segment), (from, to)) =
                (sighting.segment, sighting.key.ends(sighting.sender))
            else {
                continue;
            };
            let mut frame = vec![2; 12];
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((40 + segment.len as u16).to_be_bytes());
            frame.extend([0, 0, 0, 0, 64, 6, 0, 0]);
            for end in [from, to] {
                if let std::net::IpAddr::V4(address) = end.address {
                    frame.extend(address.octets());
                }
            }
            frame.extend(from.port.to_be_bytes());
            frame.extend(to.port.to_be_bytes());
            frame.extend(segment.seq.to_be_bytes());
            frame.extend(segment.ack.to_be_bytes());
            frame.extend([0x50, segment.flags]);
            frame.extend(segment.window.to_be_bytes());
            frame.extend([0; 4]);
            // A microsecond apart, as captured with a snap length of 54 bytes.
            let (seconds, micros) = ((count / 1_000_000) as u32, (count % 1_000_000) as u32);
            for word in [
                seconds,
                micros,
                frame.len() as u32,
                frame.len() as u32 + segment.len,
            ] {
                out.write_all(&word.to_le_bytes())?;
            }
            out.write_all(&frame)?;
            count += 1;
        }
    }
    out.flush()?;
    Ok(count)
}

/// Bytes of memory that the process has, where the system says it.
fn resident_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<i64> = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4_096
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

//! What a packet costs in the flow table, what a flow needs, and how long the longest packet takes.
//!
//! `cargo bench -p weir-flow --bench flows`, or `cargo xtask bench flows`. Packets are of random flows,
//! so that nearly each one misses the caches; decoding is not part of it. The peer is hashbrown with the
//! same keys and the same hash function, which counts packets and bytes and keeps the times, and knows
//! nothing of TCP, of timeouts or of limits. Lines that begin with `@` are comparisons.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::Instant;

use weir_dict::ProcessKey;
use weir_flow::{Endpoint, FlowKey, FlowTable, Options, Segment, Sighting};
use weir_testkit::Rng;

/// What the peer keeps.
#[derive(Clone, Copy, Default)]
struct Counts {
    packets: [u32; 2],
    bytes: [u64; 2],
    first_ns: i64,
    last_ns: i64,
}

type Peer = hashbrown::HashMap<FlowKey, Counts, ProcessKey>;

const BATCH: usize = 1_024;
const ROUNDS: usize = 7;

fn main() {
    let flows_max: u32 = std::env::var("WEIR_BENCH_FLOWS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10_000_000);
    many_packets(150_000, 3_000_000);
    many_flows(flows_max);
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
        }),
    }
}

/// Nanoseconds a packet, over batches of packets of random flows.
fn measure(
    flows: u32,
    packets: usize,
    seed: u64,
    turns: &mut [u32],
    mut each: impl FnMut(&[Sighting]),
) -> f64 {
    let mut random = Rng::new(seed);
    let mut batch = Vec::with_capacity(BATCH);
    let (mut elapsed, mut count) = (0, 0);
    while count < packets {
        batch.clear();
        for index in 0..BATCH {
            let number = random.below(flows.into()) as u32;
            let turn = &mut turns[number as usize];
            batch.push(sighting(number, *turn, 1_000 * (count + index) as i64));
            *turn += 1;
        }
        let start = Instant::now();
        each(&batch);
        elapsed += start.elapsed().as_nanos();
        count += BATCH;
    }
    elapsed as f64 / count as f64
}

fn many_packets(flows: u32, packets: usize) {
    let mut results = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        let seed = round as u64 + 1;
        // Each way once to warm up: what is measured are flows that are there.
        let mut turns = vec![0; flows as usize];
        let mut table = FlowTable::new(Options::default());
        let warm = 6 * flows as usize;
        measure(flows, warm, seed, &mut turns, |batch| {
            table.packets(batch, |_| {});
        });
        let mut ended = 0_u64;
        let batched = measure(flows, packets, seed + 100, &mut turns, |batch| {
            table.packets(batch, |_| ended += 1);
        });
        let single = measure(flows, packets, seed + 200, &mut turns, |batch| {
            for sighting in batch {
                black_box(table.packet(sighting, |_| ended += 1));
            }
        });
        assert_eq!(ended, 0);
        drop(table);
        let mut peer = Peer::with_hasher(ProcessKey);
        let mut turns = vec![0; flows as usize];
        measure(flows, warm, seed, &mut turns, |batch| {
            count_all(&mut peer, batch);
        });
        let theirs = measure(flows, packets, seed + 100, &mut turns, |batch| {
            count_all(&mut peer, batch);
        });
        for (list, result) in results.iter_mut().zip([batched, single, theirs]) {
            list.push(result);
        }
    }
    let [batched, single, theirs] = results.map(median);
    println!("{flows} connections, packets of random ones: ns a packet, medians of {ROUNDS}");
    println!("  in batches {batched:.1}, one by one {single:.1}, hashbrown counting {theirs:.1}");
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

/// Every flow begins once, with its SYN, and then gets an answer.
fn many_flows(flows: u32) {
    let mut options = Options::default();
    options.tcp_attempt_ns = options.tcp_idle_ns;
    let mut table = FlowTable::new(options);
    let before = resident_bytes();
    let mut longest = std::time::Duration::ZERO;
    for turn in 0..2 {
        for number in 0..flows {
            let sighting = sighting(number, turn, i64::from(number));
            let start = Instant::now();
            black_box(table.packet(&sighting, |_| {}));
            longest = longest.max(start.elapsed());
        }
    }
    assert_eq!(table.len(), flows as usize);
    let (asked, resident) = (table.allocated_bytes(), resident_bytes() - before);
    let ours_longest = longest.as_secs_f64() * 1e6;
    let a_flow = asked as f64 / f64::from(flows);
    println!(
        "{flows} flows: {:.2} GB asked of the allocator ({a_flow:.0} bytes a flow), {:.2} GB resident; \
         longest packet {ours_longest:.0} µs",
        asked as f64 / 1e9,
        resident as f64 / 1e9
    );
    drop(table);
    let mut peer = Peer::with_hasher(ProcessKey);
    let mut longest = std::time::Duration::ZERO;
    for number in 0..flows {
        let sighting = sighting(number, 0, i64::from(number));
        let start = Instant::now();
        count_one(&mut peer, &sighting);
        longest = longest.max(start.elapsed());
    }
    let theirs = peer.allocation_size() as f64 / f64::from(flows);
    let theirs_longest = longest.as_secs_f64() * 1e6;
    println!(
        "hashbrown, counting: {theirs:.0} bytes a flow, longest packet {theirs_longest:.0} µs"
    );
    println!(
        "@flows: memory a flow, {flows} flows\t{a_flow:.0}\t{theirs:.0}\thashbrown, counts only\tbytes"
    );
    println!(
        "@flows: longest packet, {flows} flows\t{ours_longest:.0}\t{theirs_longest:.0}\thashbrown\tµs"
    );
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

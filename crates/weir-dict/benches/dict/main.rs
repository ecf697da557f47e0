//! triple
#![allow(unsafe_code, clippy::unwrap_used)]
mod meter;
use meter::*;
use std::hint::black_box;
use weir_dict::{Dict, FoldState};
#[global_allocator]
static ALLOC: Counting = Counting;
const STATE: FoldState = FoldState::new(0x1234_5678_9abc_def1, 0xfedc_ba98_7654_3211);
macro_rules! triple { ($name:expr, $make:expr, $n:expr) => {{
    let n: u64 = $n;
    let keys: Vec<[u8;38]> = (0..n).map(key).collect();
    let before = (bytes(), asked());
    let mut map = $make;
    let mut worst = vec![u32::MAX; n as usize];
    for _ in 0..2 { let mut map = $make; let mut last = cpu_ns(); for (i,k) in keys.iter().enumerate() { map.insert(*k, i as u64); let now = cpu_ns(); worst[i] = worst[i].min((now-last) as u32); last = now; } }
    let before2 = (bytes(), asked());
    let t = cpu_ns();
    let mut last = t;
    for (i,k) in keys.iter().enumerate() { map.insert(*k, i as u64); let now = cpu_ns(); worst[i] = worst[i].min((now-last) as u32); last = now; }
    if n >= 1000 { let mut idx: Vec<usize> = (0..n as usize).collect(); idx.sort_unstable_by_key(|&i| !worst[i]); println!("{:?}", idx[..12].iter().map(|&i| (i, worst[i])).collect::<Vec<_>>()); }
    let _ = before;
    let b = (bytes()-before2.0) as f64 / n as f64; let a = (asked()-before2.1) as f64 / n as f64;
    let ins = (cpu_ns()-t) as f64 / n as f64;
    worst.sort_unstable();
    println!("{:10} n {n} insert(+clock) {ins:.0} worst {:?} us p99.99 {:.2} us; B/entry malloc {b:.1} asked {a:.1}", $name, worst[worst.len()-5..].iter().map(|x| x/1000).collect::<Vec<_>>(), worst[(n as f64*0.9999) as usize] as f64/1000.0);
    let look: Vec<[u8;38]> = { let mut r = Random(7); (0..1_000_000).map(|_| key(r.below(n))).collect() };
    let miss: Vec<[u8;38]> = { let mut r = Random(9); (0..1_000_000).map(|_| key(n + r.below(n))).collect() };
    for _ in 0..5 {
        let t = cpu_ns(); let mut s = 0u64; for k in &look { s = s.wrapping_add(*map.get(k).unwrap()); } black_box(s);
        let hit = (cpu_ns()-t) as f64/1e6;
        let t = cpu_ns(); let mut s = 0u64; for k in &miss { s += u64::from(map.get(k).is_some()); } black_box(s);
        let mi = (cpu_ns()-t) as f64/1e6;
        println!("  hit {hit:.1} miss {mi:.1}");
    }
    (map, look, miss)
}} }
fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    for n in std::env::args().filter_map(|a| a.parse::<u64>().ok()) {
        {
            let (map, look, miss) = triple!(
                "weir",
                Dict::<[u8; 38], u64, FoldState>::with_hasher(STATE),
                n
            );
            println!(
                "  allocated_bytes {:.1}",
                map.allocated_bytes() as f64 / n as f64
            );
            for _ in 0..3 {
                let t = cpu_ns();
                let mut s = 0u64;
                map.get_batch(&look, |_, v| s = s.wrapping_add(*v.unwrap()));
                black_box(s);
                let h = (cpu_ns() - t) as f64 / 1e6;
                let t = cpu_ns();
                let mut s = 0u64;
                map.get_batch(&miss, |_, v| s += u64::from(v.is_some()));
                black_box(s);
                let m = (cpu_ns() - t) as f64 / 1e6;
                println!("  batch hit {h:.1} miss {m:.1}");
            }
            let t = cpu_ns();
            let s: u64 = map.values().sum();
            black_box(s);
            println!("  iterate {:.2}", (cpu_ns() - t) as f64 / n as f64);
        }
        {
            triple!(
                "hashbrown",
                hashbrown::HashMap::<[u8; 38], u64, FoldState>::with_hasher(STATE),
                n
            );
        }
    }
}

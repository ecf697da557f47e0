//! The memory formulas beside the requests of stock zlib to its allocator.

use std::process::Command;

use weir_testkit::Limited as _;
use weir_ws::{
    Setting, ZlibBuild, deflate_bytes, inflate_bytes, resident_bytes, resident_inflate_bytes,
};

#[test]
fn deflate_and_inflate_allocate_what_the_formulas_say() {
    let build = ZlibBuild::STOCK_1_3_2;
    for window_bits in 9..=15 {
        for mem_level in 1..=9 {
            let mut deflate = weir_zlib::Deflate::new(6, window_bits, mem_level, 0).unwrap();
            let mut wire = Vec::new();
            deflate.message(&vec![b'x'; 100_000], &mut wire);
            assert_eq!(
                deflate.allocated().bytes as u64,
                deflate_bytes(window_bits, mem_level, build),
                "zlib {} deflate {window_bits}/{mem_level}",
                weir_zlib::version()
            );
        }
    }
    for window_bits in 8..=15 {
        let mut deflate = weir_zlib::Deflate::new(6, window_bits.max(9), 8, 0).unwrap();
        let mut wire = Vec::new();
        deflate.message(b"a message that is longer than nothing", &mut wire);
        let mut inflate = weir_zlib::Inflate::new(window_bits).unwrap();
        let (idle, active) = inflate_bytes(window_bits, build);
        assert_eq!(
            inflate.allocated().bytes as u64,
            idle,
            "inflate {window_bits}"
        );
        let mut out = Vec::new();
        wire.extend([0, 0, 0xff, 0xff]);
        assert!(inflate.feed(&wire, &mut out));
        assert_eq!(
            inflate.allocated().bytes as u64,
            active,
            "inflate {window_bits}"
        );
    }
}

/// Connections of the measured process.
const CONNECTIONS: usize = 1000;

#[test]
#[ignore = "measures processes of 1,000 connections: cargo test -p weir-ws -- --ignored resident"]
fn resident_estimates_agree_with_processes_of_1000_connections() {
    let mut wrong = Vec::new();
    for (window_bits, mem_level) in [(15, 8), (15, 5), (13, 6), (12, 5), (11, 4), (9, 1)] {
        for messages in [1usize, 20, 300] {
            let setting = Setting::ZLIB
                .with_window_bits(window_bits)
                .with_mem_level(mem_level);
            // The test runs in a new process, so that no freed memory is used again.
            let output = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--ignored",
                    "--exact",
                    "--nocapture",
                    "memory::child_of_the_resident_test",
                ])
                .env(
                    "WEIR_RESIDENT",
                    format!("{window_bits} {mem_level} {messages}"),
                )
                .output_limited()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let found = text
                .lines()
                .find_map(|line| line.split_once("resident "))
                .unwrap();
            let words: Vec<u64> = found
                .1
                .split(' ')
                .map(|word| word.parse().unwrap())
                .collect();
            let (measured, sent, symbols) = (words[0] as f64, words[1], words[2]);
            let build = ZlibBuild::STOCK_1_3_2;
            let estimate = resident_bytes(setting, build, sent, symbols)
                + resident_inflate_bytes(window_bits, build, sent);
            let off = estimate as f64 / measured - 1.0;
            println!(
                "{window_bits}/{mem_level} after {messages}: {:.1} KiB measured, {:.1} KiB estimated, {:+.1} %",
                measured / 1024.0,
                estimate as f64 / 1024.0,
                off * 100.0
            );
            if off.abs() > 0.1 {
                wrong.push((window_bits, mem_level, messages, off));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Opens as many connections as `WEIR_RESIDENT` gives and prints the resident bytes of each, the bytes
/// that were sent on it, and the symbols of its longest block.
#[test]
#[ignore = "run by resident_estimates_agree_with_processes_of_1000_connections"]
fn child_of_the_resident_test() {
    let Ok(wanted) = std::env::var("WEIR_RESIDENT") else {
        return;
    };
    let words: Vec<usize> = wanted
        .split(' ')
        .map(|word| word.parse().unwrap())
        .collect();
    let (window_bits, mem_level, count) = (words[0] as u8, words[1] as u8, words[2]);
    let messages: Vec<String> = (0..count)
        .map(|n| {
            let mut text = format!(
                "{{\"type\":\"msg\",\"timestamp\":{n},\"sender\":\"user{}\",\"msg\":\"",
                n % 7
            );
            for k in 0..14 {
                text.push_str(&format!("w{} ", (n * 31 + k * k * 17) % 701));
            }
            text + "\"}"
        })
        .collect();
    let resident = || -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            * 1024
    };
    let mut connections = Vec::with_capacity(CONNECTIONS);
    let mut wire = Vec::with_capacity(1 << 16);
    let mut back = Vec::with_capacity(1 << 16);
    let before = resident();
    for _ in 0..CONNECTIONS {
        let deflate = weir_zlib::Deflate::new(6, window_bits, mem_level, 0).unwrap();
        let inflate = weir_zlib::Inflate::new(window_bits).unwrap();
        connections.push((deflate, inflate));
    }
    for message in &messages {
        for (deflate, inflate) in &mut connections {
            wire.clear();
            back.clear();
            deflate.message(message.as_bytes(), &mut wire);
            wire.extend([0, 0, 0xff, 0xff]);
            assert!(inflate.feed(&wire, &mut back) && back == message.as_bytes());
        }
    }
    let each = (resident() - before) / CONNECTIONS as u64;
    let sent: usize = messages.iter().map(String::len).sum();
    let longest = messages.iter().map(String::len).max().unwrap();
    // No symbol stands for less than a byte.
    println!("resident {each} {sent} {longest}");
}

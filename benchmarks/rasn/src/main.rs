//! The cost of rasn for the BER messages of a folder, one per file: prints `codec;size;encode;decode`, octets and microseconds
//! per message, each the lower quartile of many short rounds.

use std::{env, fs, hint::black_box, time::Instant};

#[allow(warnings)]
mod types {
    include!(concat!(env!("OUT_DIR"), "/types.rs"));
}
use types::media_gateway_control_v3::MegacoMessage;

const ROUNDS: usize = 101;

fn quartile(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}

fn main() {
    let folder = env::args().nth(1).expect("a folder of messages in BER");
    let messages: Vec<Vec<u8>> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| fs::read(entry.expect("a file").path()).expect("a message"))
        .collect();
    let values: Vec<MegacoMessage> = messages
        .iter()
        .map(|message| rasn::ber::decode(message).expect("the corpus decodes"))
        .collect();
    for (value, message) in values.iter().zip(&messages) {
        let again = rasn::ber::encode(value).expect("the corpus encodes");
        assert!(again == *message, "rasn writes other octets");
    }
    let count = messages.len() as f64;
    let (mut encode, mut decode) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for message in &messages {
            let value: Result<MegacoMessage, _> = rasn::ber::decode(black_box(message));
            black_box(value.is_ok());
        }
        decode.push(start.elapsed().as_nanos() as f64 / count / 1000.0);
        let start = Instant::now();
        for value in &values {
            black_box(rasn::ber::encode(black_box(value)).is_ok());
        }
        encode.push(start.elapsed().as_nanos() as f64 / count / 1000.0);
    }
    let size = messages.iter().map(Vec::len).sum::<usize>() as f64 / count;
    println!(
        "ber [native];{size:.1};{:.3};{:.3}",
        quartile(&mut encode),
        quartile(&mut decode)
    );
}

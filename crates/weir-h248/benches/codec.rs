//! The cost of the measurement corpus: `cargo bench -p weir-h248 --bench codec [-- ROUNDS]`.
//!
//! The table has the rows of Erlang's own study (size, encode, decode, total), in nanoseconds a
//! message, mean over the 149 messages; each figure is the lower quartile of many rounds shorter than
//! a slice of the scheduler, which alternate over all encodings: what other programs take of the
//! machine hardly shows. The floor is a scalar tokenizer over the same texts, measured in
//! the same run: on a slow or busy machine the ratio to it matters more than the nanoseconds. Erlang's
//! megaco is measured behind, where it is installed, and rasn (`benchmarks/rasn`).

use std::{
    fs,
    hint::black_box,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use weir_h248::{
    Arena, BinaryOptions, ErlOptions, Limits, Message, TextOptions, TextStyle, decode_ber,
    decode_erl, decode_per, decode_text, encode_ber, encode_compact, encode_erl, encode_per,
    encode_pretty,
};

#[derive(Clone, Copy)]
enum Codec {
    Pretty,
    Compact,
    Ber(BinaryOptions),
    Per(BinaryOptions),
    Erl(ErlOptions),
}

impl Codec {
    fn decode<'a>(self, input: &'a [u8], arena: &'a Arena) -> Message<'a> {
        match self {
            Self::Pretty | Self::Compact => decode_text(input, arena, TextOptions::default()),
            Self::Ber(options) => decode_ber(input, arena, options),
            Self::Per(options) => decode_per(input, arena, options),
            Self::Erl(_) => decode_erl(input, arena, BinaryOptions::default(), Limits::default()),
        }
        .expect("the corpus decodes")
    }

    fn encode(self, message: &Message<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Pretty => encode_pretty(message, TextStyle::erlang(), out),
            Self::Compact => encode_compact(message, TextStyle::erlang(), out),
            Self::Ber(options) => encode_ber(message, options, out),
            Self::Per(options) => encode_per(message, options, out),
            Self::Erl(options) => encode_erl(message, BinaryOptions::default(), options, out),
        }
        .expect("the corpus encodes");
    }
}

/// Characters of words, for the floor.
static SAFE: [bool; 256] = {
    let mut safe = [false; 256];
    let marks = b"+-&!_/'?@^`~*$\\()%|.";
    let mut at = 0;
    while at < 256 {
        safe[at] = (at as u8).is_ascii_alphanumeric();
        at += 1;
    }
    at = 0;
    while at < marks.len() {
        safe[marks[at] as usize] = true;
        at += 1;
    }
    safe
};

/// The floor: finds every word and mark of a text, and does nothing with them.
fn tokenize(text: &[u8]) -> usize {
    let mut tokens = 0;
    let mut in_word = false;
    for octet in text {
        let safe = SAFE[usize::from(*octet)];
        tokens += usize::from(!(safe && in_word) && *octet > b' ');
        in_word = safe;
    }
    tokens
}

fn quartile(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/h248/time_test");
    let mut files: Vec<_> = match fs::read_dir(root.join("pretty")) {
        Ok(entries) => entries
            .map(|entry| entry.expect("a folder").path())
            .collect(),
        Err(_) => {
            eprintln!("SKIPPED: no corpus at {}", root.display());
            return;
        }
    };
    files.sort();
    let texts: Vec<Vec<u8>> = files
        .iter()
        .map(|path| fs::read(path).expect("a message"))
        .collect();
    let rounds = std::env::args()
        .filter_map(|word| word.parse().ok())
        .next()
        .unwrap_or(301);
    let erl = |megaco_compressed, compressed| {
        let mut options = ErlOptions::default();
        options.megaco_compressed = megaco_compressed;
        options.compressed = compressed;
        Codec::Erl(options)
    };
    let default = BinaryOptions::default();
    let rows = [
        ("pretty", Codec::Pretty),
        ("compact", Codec::Compact),
        ("per", Codec::Per(default)),
        ("per [native]", Codec::Per(BinaryOptions::native())),
        ("ber", Codec::Ber(default)),
        ("ber [native]", Codec::Ber(BinaryOptions::native())),
        ("erl_dist", erl(false, false)),
        ("erl_dist [megaco_compressed]", erl(true, false)),
        ("erl_dist [compressed]", erl(false, true)),
        ("erl_dist [megaco_compressed,compressed]", erl(true, true)),
    ];
    let encoded: Vec<Vec<Vec<u8>>> = rows
        .iter()
        .map(|(_, codec)| {
            let encode = |text: &Vec<u8>| {
                let arena = Arena::new();
                let message =
                    decode_text(text, &arena, TextOptions::default()).expect("the corpus decodes");
                let mut out = Vec::new();
                match codec {
                    // Native values have no names for what text calls by name: take them from BER.
                    Codec::Per(_) => encode_per(&message, default, &mut out),
                    Codec::Ber(_) => encode_ber(&message, default, &mut out),
                    codec => {
                        codec.encode(&message, &mut out);
                        Ok(())
                    }
                }
                .expect("the corpus encodes");
                out
            };
            texts.iter().map(encode).collect()
        })
        .collect();
    let mut times = vec![(Vec::new(), Vec::new()); rows.len()];
    let mut floors = Vec::new();
    let count = texts.len() as f64;
    let mut arena = Arena::new();
    let mut out = Vec::with_capacity(1 << 16);
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..3 {
            for text in &encoded[1] {
                black_box(tokenize(black_box(text)));
            }
        }
        floors.push(start.elapsed().as_nanos() as f64 / count / 3.0);
        for ((messages, (_, codec)), (encode, decode)) in encoded.iter().zip(&rows).zip(&mut times)
        {
            let start = Instant::now();
            for _ in 0..3 {
                for message in messages {
                    arena.reset();
                    black_box(codec.decode(black_box(message), &arena));
                }
            }
            decode.push(start.elapsed().as_nanos() as f64 / count / 3.0);
            let arenas: Vec<Arena> = messages.iter().map(|_| Arena::new()).collect();
            let values: Vec<Message<'_>> = messages
                .iter()
                .zip(&arenas)
                .map(|(message, arena)| codec.decode(message, arena))
                .collect();
            let start = Instant::now();
            for _ in 0..3 {
                for value in &values {
                    out.clear();
                    codec.encode(black_box(value), &mut out);
                    black_box(&out);
                }
            }
            encode.push(start.elapsed().as_nanos() as f64 / count / 3.0);
        }
    }
    println!(
        "{} messages, {rounds} rounds; floor (scalar tokenizer, compact): {:.0} ns",
        texts.len(),
        quartile(&mut floors)
    );
    println!(
        "{:<42} {:>5} {:>9} {:>9} {:>9}",
        "codec", "size", "encode ns", "decode ns", "total ns"
    );
    let mut ours = Vec::new();
    for (((name, _), messages), (encode, decode)) in rows.iter().zip(&encoded).zip(&mut times) {
        let size = messages.iter().map(Vec::len).sum::<usize>() as f64 / count;
        let (encode, decode) = (quartile(encode), quartile(decode));
        println!(
            "{name:<42} {size:>5.0} {encode:>9.0} {decode:>9.0} {:>9.0}",
            encode + decode
        );
        ours.push((*name, encode, decode));
    }
    for (codec, encode, decode) in SEED {
        compare(
            &ours,
            codec,
            encode * 1000.0,
            decode * 1000.0,
            "the seed, then",
        );
    }
    for (codec, encode, decode) in GOALS {
        compare(&ours, codec, *encode, *decode, "the goal");
    }
    let benchmarks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks");
    let mut erlang = Command::new("escript");
    erlang
        .arg(benchmarks.join("erlang/megaco.escript"))
        .arg(root.join("pretty"));
    measure_peer(erlang, "Erlang/OTP here", &ours);
    let mut rasn = Command::new(env!("CARGO"));
    rasn.args(["run", "--quiet", "--release", "--manifest-path"])
        .arg(benchmarks.join("rasn/Cargo.toml"))
        .arg("--")
        .arg(root.join("ber"));
    measure_peer(rasn, "rasn here", &ours);
}

/// The goals, in nanoseconds: codec, encode, decode.
const GOALS: &[(&str, f64, f64)] = &[
    ("pretty", 180.0, 550.0),
    ("compact", 120.0, 400.0),
    ("per", 250.0, 250.0),
    ("ber", 120.0, 250.0),
    ("erl_dist", 100.0, 300.0),
];

/// The measurements of the original, in microseconds: codec, encode, decode.
const SEED: [(&str, f64, f64); 10] = [
    ("pretty", 30.0, 98.0),
    ("compact", 26.0, 80.0),
    ("per", 57.0, 58.0),
    ("per [native]", 36.0, 37.0),
    ("ber", 46.0, 51.0),
    ("ber [native]", 26.0, 29.0),
    ("erl_dist", 7.0, 13.0),
    ("erl_dist [megaco_compressed]", 8.0, 9.0),
    ("erl_dist [compressed]", 143.0, 31.0),
    ("erl_dist [megaco_compressed,compressed]", 119.0, 17.0),
];

/// Lines for `cargo xtask bench h248`: what, ours, the peer's, the peer, the unit.
fn compare(ours: &[(&str, f64, f64)], codec: &str, encode: f64, decode: f64, peer: &str) {
    for (name, our_encode, our_decode) in ours {
        if *name == codec {
            println!("@{codec} encode\t{our_encode:.1}\t{encode:.1}\t{peer}\tns");
            println!("@{codec} decode\t{our_decode:.1}\t{decode:.1}\t{peer}\tns");
        }
    }
}

/// The same of another program, in the same run on the same machine: it prints a line a codec, with
/// size, encode and decode in octets and microseconds.
fn measure_peer(mut command: Command, peer: &str, ours: &[(&str, f64, f64)]) {
    let output = match command.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => output,
        _ => {
            println!("SKIPPED: {peer} is not installed, or did not run to its end");
            return;
        }
    };
    println!("{peer}");
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let [codec, size, encode, decode] = fields[..] else {
            println!("{line}");
            continue;
        };
        let number = |text: &str| text.parse::<f64>().expect("a number of the peer's");
        let (encode, decode) = (number(encode) * 1000.0, number(decode) * 1000.0);
        println!(
            "{codec:<42} {size:>5} {encode:>9.0} {decode:>9.0} {:>9.0}",
            encode + decode
        );
        compare(ours, codec, encode, decode, peer);
    }
}

//! The work of one encoding of the measurement corpus, for a profiler: `valgrind --tool=callgrind
//! target/profiling/examples/encoding_cost compact decode 20`.

use std::{fs, hint::black_box, path::Path};

use weir_h248::{
    Arena, BinaryOptions, DecodeOptions, EncodeOptions, Encoding, Message, TextStyle, decode_as,
    encode,
};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [encoding, direction, rounds] = &words[..] else {
        panic!("usage: cost pretty|compact|ber|per|erl|erl_mc|erl_z|erl_mcz decode|encode ROUNDS");
    };
    let mut options = EncodeOptions::default();
    options.text = TextStyle::erlang();
    let encoding = match encoding.as_str() {
        "pretty" => Encoding::Pretty,
        "compact" => Encoding::Compact,
        "ber" => Encoding::Ber,
        "per" => Encoding::Per,
        "erl" => Encoding::Erl,
        "erl_mc" => {
            options.erl.megaco_compressed = true;
            Encoding::Erl
        }
        "erl_z" => {
            options.erl.compressed = true;
            Encoding::Erl
        }
        "erl_mcz" => {
            (options.erl.megaco_compressed, options.erl.compressed) = (true, true);
            Encoding::Erl
        }
        name => panic!("no encoding is called {name}"),
    };
    let rounds: usize = rounds.parse().expect("a number of rounds");
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/h248/time_test/pretty");
    let texts: Vec<Vec<u8>> = fs::read_dir(root)
        .expect("the corpus")
        .map(|entry| fs::read(entry.expect("a folder").path()).expect("a message"))
        .collect();
    let arenas: Vec<Arena> = texts.iter().map(|_| Arena::new()).collect();
    let decode_options = DecodeOptions::default();
    let values: Vec<Message<'_>> = texts
        .iter()
        .zip(&arenas)
        .map(|(text, arena)| decode_as(Encoding::Pretty, text, arena, &decode_options))
        .collect::<Result<_, _>>()
        .expect("the corpus decodes");
    let mut encoded = vec![Vec::new(); values.len()];
    for (value, out) in values.iter().zip(&mut encoded) {
        encode(value, encoding, &options, out).expect("the corpus encodes");
    }
    let mut arena = Arena::new();
    let mut out = Vec::with_capacity(1 << 16);
    let _ = BinaryOptions::default();
    for _ in 0..rounds {
        if direction == "decode" {
            for message in &encoded {
                arena.reset();
                let value = decode_as(encoding, black_box(message), &arena, &decode_options);
                black_box(value.is_ok());
            }
        } else {
            for value in &values {
                out.clear();
                let done = encode(black_box(value), encoding, &options, &mut out);
                black_box((done.is_ok(), &out));
            }
        }
    }
}

//! Erlang's megaco as the other side: random messages go there in every encoding and come back equal.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use weir_h248::{
    Arena, BinaryOptions, DecodeOptions, EncodeOptions, Encoding, Message, TextStyle, decode_as,
    encode, encode_compact,
};
use weir_testkit::Limited as _;

use crate::generate::Generator;

/// Random messages of a run, which take half a minute; the variable `WEIR_INTEROP_MESSAGES` is another
/// number: 10,000 take two minutes.
const MESSAGES: u64 = 3000;

/// A program that converts messages from one of Erlang's encodings to another.
pub(crate) struct Converter {
    name: String,
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Converter {
    /// Starts the program; an error where Erlang is not installed.
    pub(crate) fn start(from: &str, to: &str) -> io::Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/erlang/convert.escript");
        let mut child = Command::new("escript")
            .arg(script)
            .args([from, to])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn_limited()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            name: format!("{from} to {to}"),
            child,
            input,
            output,
        })
    }

    /// The message in the other encoding, or why Erlang does not take it.
    pub(crate) fn convert(&mut self, octets: &[u8]) -> io::Result<Result<Vec<u8>, String>> {
        self.input.write_all(&(octets.len() as u32).to_be_bytes())?;
        self.input.write_all(octets)?;
        self.input.flush()?;
        let mut len = [0; 4];
        self.output.read_exact(&mut len)?;
        let mut reply = vec![0; u32::from_be_bytes(len) as usize];
        self.output.read_exact(&mut reply)?;
        let body = reply.split_off(1);
        Ok(if reply == [0] {
            Ok(body)
        } else {
            Err(String::from_utf8_lossy(&body).into_owned())
        })
    }
}

impl Drop for Converter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether Erlang with megaco is installed; reports it when not.
pub(crate) fn is_installed() -> bool {
    let module = "halt(case code:which(megaco) of non_existing -> 1; _ -> 0 end).";
    let found = Command::new("erl")
        .args(["-noshell", "-eval", module])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status_limited()
        .is_ok_and(|status| status.success());
    if !found {
        weir_testkit::missing("erlang", "Erlang's megaco judges no message");
    }
    found
}

pub(crate) fn messages() -> u64 {
    match std::env::var("WEIR_INTEROP_MESSAGES") {
        Ok(count) => count.parse().unwrap(),
        Err(_) => MESSAGES,
    }
}

/// An encoding by Erlang's name, and weir's with the options that make it.
fn codec(name: &str) -> (Encoding, EncodeOptions) {
    let mut options = EncodeOptions::default();
    let encoding = match name {
        "pretty" => Encoding::Pretty,
        "compact" => Encoding::Compact,
        "ber_native" => Encoding::Ber,
        "per_native" => Encoding::Per,
        name => {
            options.binary = BinaryOptions::native();
            options.erl.megaco_compressed = name.contains("_mc");
            options.erl.compressed = name.ends_with('z');
            Encoding::Erl
        }
    };
    (encoding, options)
}

/// The value as Erlang has it in terms: names and identifiers are numbers.
pub(crate) fn native<'a>(message: &Message<'_>, arena: &'a Arena) -> Message<'a> {
    let mut ber = Vec::new();
    encode(message, Encoding::Ber, &EncodeOptions::default(), &mut ber).unwrap();
    let mut options = DecodeOptions::default();
    options.binary = BinaryOptions::native();
    decode_as(Encoding::Ber, arena.list(&ber), arena, &options).unwrap()
}

/// Both in Erlang's own way of writing, which loses quotes and case.
pub(crate) fn text_of(message: &Message<'_>) -> String {
    let mut out = Vec::new();
    encode_compact(message, TextStyle::erlang(), &mut out)
        .unwrap_or_else(|error| panic!("{error}\n{message:?}"));
    out.escape_ascii().to_string().to_ascii_lowercase()
}

fn round(from: &str, to: &str) {
    if !is_installed() {
        return;
    }
    let mut converter = Converter::start(from, to).unwrap();
    let (encoding, options) = codec(from);
    let (back_encoding, _) = codec(to);
    let is_text = matches!(encoding, Encoding::Pretty | Encoding::Compact);
    let (mut wrong, mut refused, mut equal) = (Vec::new(), Vec::new(), 0_u64);
    for seed in 0..messages() {
        let arena = Arena::new();
        let mut generator = Generator::new(seed, &arena);
        if is_text {
            generator = generator.for_erlang_text();
        }
        let message = generator.message();
        let value = match options.binary == BinaryOptions::native() {
            true => native(&message, &arena),
            false => message,
        };
        let mut octets = Vec::new();
        encode(&value, encoding, &options, &mut octets).unwrap();
        let answer = match converter.convert(&octets).unwrap() {
            Ok(answer) => answer,
            Err(reason) => {
                refused.push(format!("{seed} {reason:.300}\n{}", octets.escape_ascii()));
                continue;
            }
        };
        let mut decode_options = DecodeOptions::default();
        if back_encoding == Encoding::Erl {
            decode_options.binary = BinaryOptions::native();
        }
        let expected = match back_encoding {
            Encoding::Erl => native(&message, &arena),
            _ => message,
        };
        match decode_as(back_encoding, &answer, &arena, &decode_options) {
            Ok(back) if is_text && text_of(&back) == text_of(&message) => equal += 1,
            Ok(back) if !is_text && back == expected => equal += 1,
            Ok(back) if is_text => wrong.push(format!(
                "{seed}: sent {}\ncame back {}",
                text_of(&message),
                text_of(&back)
            )),
            Ok(back) => wrong.push(format!("{seed}: sent {message:?}\ncame back {back:?}")),
            Err(error) => wrong.push(format!("{seed}: {error}\n{}", answer.escape_ascii())),
        }
    }
    let name = &converter.name;
    assert!(
        wrong.is_empty(),
        "{name}: {} wrong, first\n{}",
        wrong.len(),
        wrong[0]
    );
    assert!(
        refused.is_empty(),
        "{name}: {} refused, {equal} equal, first\n{}",
        refused.len(),
        refused[0]
    );
    eprintln!("{name}: {equal} messages came back equal");
}

#[test]
fn text_goes_to_erlang_and_back() {
    round("compact", "pretty");
    round("pretty", "compact");
}

#[test]
fn ber_and_per_go_to_erlang_and_back() {
    round("ber_native", "per_native");
    round("per_native", "ber_native");
}

#[test]
fn erlang_terms_go_to_erlang_and_back() {
    round("erl_dist", "ber_native");
    round("ber_native", "erl_dist");
    round("erl_dist_mc", "erl_dist_z");
    round("erl_dist_z", "erl_dist_mcz");
    round("erl_dist_mcz", "erl_dist_mc");
}

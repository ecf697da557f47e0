//! Erlang's megaco as the other side: random messages go there in BER and PER and come back equal.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use weir_h248::{Arena, DecodeOptions, EncodeOptions, Encoding, decode_as, encode};

use crate::generate::Generator;

/// Random messages of a run; the variable `WEIR_INTEROP_MESSAGES` asks for more.
const MESSAGES: u64 = 500;

/// A program that converts messages from one of Erlang's encodings to another.
struct Converter {
    name: String,
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Converter {
    /// Nothing where Erlang is not installed.
    fn start(from: &str, to: &str) -> io::Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/erlang/convert.escript");
        let mut child = Command::new("escript")
            .arg(script)
            .args([from, to])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
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
    fn convert(&mut self, octets: &[u8]) -> io::Result<Result<Vec<u8>, String>> {
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

/// Whether Erlang is here and has megaco; says so when not.
fn is_installed() -> bool {
    let module = "halt(case code:which(megaco) of non_existing -> 1; _ -> 0 end).";
    let found = Command::new("erl")
        .args(["-noshell", "-eval", module])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("SKIPPED: Erlang with megaco is not installed");
    }
    found
}

fn messages() -> u64 {
    match std::env::var("WEIR_INTEROP_MESSAGES") {
        Ok(count) => count.parse().unwrap(),
        Err(_) => MESSAGES,
    }
}

/// Sends random messages in one encoding and takes them back in the other.
fn round(from: (&str, Encoding), to: (&str, Encoding)) {
    if !is_installed() {
        return;
    }
    let mut converter = Converter::start(from.0, to.0).unwrap();
    let (mut wrong, mut refused, mut equal) = (Vec::new(), Vec::new(), 0_u64);
    for seed in 0..messages() {
        let arena = Arena::new();
        let message = Generator::new(seed, &arena).message();
        let mut octets = Vec::new();
        encode(&message, from.1, &EncodeOptions::default(), &mut octets).unwrap();
        let answer = match converter.convert(&octets).unwrap() {
            Ok(answer) => answer,
            Err(reason) => {
                refused.push(format!("{seed} {reason:.300}\n{}", octets.escape_ascii()));
                continue;
            }
        };
        match decode_as(to.1, &answer, &arena, &DecodeOptions::default()) {
            Ok(back) if back == message => equal += 1,
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
fn ber_and_per_go_to_erlang_and_back() {
    // Erlang's `native` takes names and identifiers as they are.
    let (ber, per) = (("ber_native", Encoding::Ber), ("per_native", Encoding::Per));
    round(ber, per);
    round(per, ber);
}

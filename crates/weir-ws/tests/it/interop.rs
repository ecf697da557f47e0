//! Real servers and clients on loopback: what they send is what is read out of the bytes.

use std::path::Path;
use std::process::Command;

use weir_testkit::Limited as _;
use weir_ws::{Connection, ConnectionEvent, DecoderOptions, Direction, Event, Opcode, Violation};

type SentMessage = (Direction, Opcode, Vec<u8>);

#[derive(Default)]
struct Case {
    name: String,
    sent: Vec<SentMessage>,
    found: Vec<SentMessage>,
    compressed: usize,
    agreed: bool,
    violations: Vec<Violation>,
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .map(|digit| char::from(digit).to_digit(16).unwrap() as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

#[test]
fn python_libraries_are_read_to_the_byte() {
    let has = |module: &str| {
        Command::new("python3")
            .args(["-c", &format!("import {module}")])
            .output_limited()
            .is_ok_and(|output| output.status.success())
    };
    if !has("websockets.asyncio.server") {
        weir_testkit::missing(
            "python-websockets",
            "messages of Python's libraries (pip install websockets aiohttp)",
        );
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/interop.py");
    let output = Command::new("python3")
        .arg(script)
        .output_limited()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    if !output.stderr.is_empty() {
        weir_testkit::missing(
            "python-websockets",
            &String::from_utf8_lossy(&output.stderr),
        );
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    let mut connection = Connection::new(DecoderOptions::default());
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let direction = match words.get(1) {
            Some(&"C") => Direction::ToServer,
            _ => Direction::ToClient,
        };
        match words[0] {
            "case" => {
                connection = Connection::new(DecoderOptions::default());
                cases.push(Case {
                    name: words[1].to_owned(),
                    ..Case::default()
                });
            }
            "sent" => {
                let opcode = if words[2] == "TEXT" {
                    Opcode::Text
                } else {
                    Opcode::Binary
                };
                let payload = hex(words.get(3).copied().unwrap_or_default());
                cases
                    .last_mut()
                    .unwrap()
                    .sent
                    .push((direction, opcode, payload));
            }
            _ => {
                let case = cases.last_mut().unwrap();
                connection.feed(direction, &hex(words[2]), &mut |event| match event {
                    ConnectionEvent::Handshake(handshake) => {
                        assert_eq!(handshake.fault, None, "{}", case.name);
                        case.agreed = handshake.agreed.is_some();
                    }
                    ConnectionEvent::Wire(direction, Event::Message(message)) => {
                        if !message.opcode.is_control() {
                            case.compressed += usize::from(message.compressed);
                            case.found
                                .push((direction, message.opcode, message.payload.to_vec()));
                        }
                    }
                    ConnectionEvent::Wire(_, Event::Violation(violation)) => {
                        case.violations.push(violation);
                    }
                    // The pieces in which came what waited for the response.
                    ConnectionEvent::Replay { .. } => {}
                    other => panic!("{}: {other:?}", case.name),
                });
            }
        }
    }
    assert!(cases.len() >= 256, "{} cases", cases.len());
    for case in &cases {
        assert!(case.agreed && case.compressed > 30, "{}", case.name);
        assert_eq!(case.violations, [], "{}", case.name);
        // Each direction by itself: the lines of the two sides may be written in another order.
        for direction in [Direction::ToServer, Direction::ToClient] {
            let of = |all: &[SentMessage]| -> Vec<SentMessage> {
                all.iter()
                    .filter(|sent| sent.0 == direction)
                    .cloned()
                    .collect()
            };
            assert!(
                of(&case.sent) == of(&case.found),
                "{} {direction:?}",
                case.name
            );
        }
    }
}

//! The call flows of RFC 3525 Appendix I.

use std::{fs, path::Path};

use weir_h248::{
    Arena, BinaryOptions, TextOptions, TextStyle, decode_ber, decode_text, encode_ber,
    encode_compact, encode_pretty,
};

/// The messages of the appendix, without what the RFC's pages put between their lines.
fn messages() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs/h248/rfc3525.txt");
    let Ok(text) = fs::read_to_string(&path) else {
        weir_testkit::missing("specs", &path.display().to_string());
        return Vec::new();
    };
    let lines = text.lines().filter(|line| {
        !line.contains("[Page ") && !line.starts_with("RFC 3525") && !line.contains('\u{c}')
    });
    let mut messages: Vec<String> = Vec::new();
    let mut open = None;
    for line in lines {
        if open.is_none() && line.trim_start().starts_with("MEGACO/1 [") {
            messages.push(String::new());
            open = Some(0_i32);
        }
        let (Some(depth), Some(message)) = (&mut open, messages.last_mut()) else {
            continue;
        };
        message.push_str(line.trim_start());
        message.push('\n');
        let before = *depth;
        *depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
        if *depth == 0 && (before > 0 || line.contains('}')) {
            open = None;
        }
    }
    messages
}

#[test]
fn every_call_flow_decodes_and_comes_back() {
    let messages = messages();
    let mut wrong = Vec::new();
    for message in &messages {
        let arena = Arena::new();
        let value = match decode_text(message.as_bytes(), &arena, TextOptions::default()) {
            Ok(value) => value,
            Err(error) => {
                wrong.push(format!("{error}\n{message}"));
                continue;
            }
        };
        for encode in [encode_compact, encode_pretty] {
            let mut out = Vec::new();
            encode(&value, TextStyle::default(), &mut out).unwrap();
            assert_eq!(
                decode_text(&out, &arena, TextOptions::default()).as_ref(),
                Ok(&value)
            );
        }
        // BER can carry the message when all identifiers have a form that binary encodings have.
        let mut ber = Vec::new();
        if encode_ber(&value, BinaryOptions::default(), &mut ber).is_ok() {
            assert_eq!(
                decode_ber(&ber, &arena, BinaryOptions::default()),
                Ok(value)
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} wrong:\n{}",
        wrong.len(),
        messages.len(),
        wrong.join("\n")
    );
    assert!(
        messages.is_empty() || messages.len() == 28,
        "{} messages",
        messages.len()
    );
}

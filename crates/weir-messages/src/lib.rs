//! What do the messages of application protocols say?
//!
//! Readers for what lies above the transport: each is handed the bytes of one message, or those of a
//! stream in order, and gives back what they say.
//!
//! ```
//! use weir_messages::dns::{Dialect, Message};
//!
//! let bytes = b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x04weir\x04test\0\0\x01\0\x01";
//! let message = Message::new(bytes, Dialect::Unicast).ok_or("twelve octets of a header")?;
//! let question = message.questions().next().ok_or("a question")?;
//! assert_eq!(question.name.to_string(), "weir.test");
//! assert_eq!((message.id(), question.kind), (0x1234, 1));
//! # Ok::<(), &str>(())
//! ```
//!
//! Reading is lenient: what is damaged is understood as far as it goes, and a fault says why it stopped.
//! What grows has a limit with a name, and what was given up for it is counted.
//!
//! This crate performs no IO, asks no clock, and deliberately does not know packets, captures, flows or
//! tables: who calls it says what came when, and on which connection.

mod ber;
pub mod dhcp;
pub mod diameter;
pub mod dns;
pub mod hep;
pub mod http;
pub mod m3ua;
pub mod mgcp;
pub mod mqtt;
pub mod ntp;
pub mod radius;
pub mod rtp;
pub mod sccp;
pub mod sdp;
pub mod snmp;
pub mod stun;
pub mod tcap;
mod text;
pub mod tls;

/// Bytes that are to be a text, as Wireshark writes them: what is not to be printed as `\` and three octal
/// digits.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    text::write(bytes, &mut text);
    text
}

/// The octets of a text in base 64 (RFC 4648, 4), with or without its padding; `None` when it is none.
#[must_use]
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let mut octets = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            octets.push((bits >> count) as u8);
        }
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_read() {
        assert_eq!(
            super::base64("QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap(),
            b"Aladdin:open sesame"
        );
        assert_eq!(super::base64("Zm9vYg").unwrap(), b"foob");
        assert_eq!(super::base64("?"), None);
    }
}

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

pub mod dns;
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

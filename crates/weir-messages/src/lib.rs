//! Parsers of the messages of application protocols.
//!
//! Readers for what lies above the transport: each is handed the bytes of one message, or those of a
//! stream in order, and gives back what they say.
//!
//! ```
//! use weir_messages::dns::{Dialect, DnsMessage};
//!
//! let bytes = b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x04weir\x04test\0\0\x01\0\x01";
//! let message = DnsMessage::new(bytes, Dialect::Unicast).ok_or("twelve octets of a header")?;
//! let question = message.questions().next().ok_or("a question")?;
//! assert_eq!(question.name.to_string(), "weir.test");
//! assert_eq!((message.id(), question.kind), (0x1234, 1));
//! # Ok::<(), &str>(())
//! ```
//!
//! Reading is lenient: a damaged message is read as far as it goes, and a fault gives the reason why it stopped.
//! Everything that grows has a limit with a name, and what was dropped for it is counted.
//!
//! This crate performs no IO, reads no clock, and deliberately does not know packets, captures, flows or
//! tables: its caller gives the bytes with their time and their connection.

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

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The text of bytes as Wireshark writes it: bytes that are not printable become `\` and three octal digits.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    text::write(bytes, &mut text);
    text
}

/// The octets of a text in base 64 (RFC 4648, 4), with or without its padding; `None` for any other text.
#[must_use]
pub fn base64(text: &str) -> Option<Vec<u8>> {
    LENIENT_BASE64.decode(text).ok()
}

const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

#[cfg(test)]
mod tests {
    use crate::tls;

    #[test]
    fn base64_is_read() {
        assert_eq!(
            super::base64("QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap(),
            b"Aladdin:open sesame"
        );
        assert_eq!(super::base64("Zm9vYg").unwrap(), b"foob");
        assert_eq!(super::base64("?"), None);
    }

    /// The readers of the telephone's signalling and of HTTP/2 read random octets, and samples with random changes, to their
    /// end, and lists stay within their limits.
    #[test]
    fn random_octets_are_survived() {
        use crate::{diameter, http, m3ua, mgcp, sccp, tcap};

        let samples: [&[u8]; 5] = [
            b"\x01\0\0\x40\xc0\0\x01\x10\0\0\0\x04\0\0\0\x07\0\0\0\x08\0\0\x01\x07\x40\0\0\x0aab\0\0\
              \0\0\x01\xbb\x40\0\0\x14\0\0\x01\xc2\x40\0\0\x0c\0\0\0\x01\0\0\x01\xa0\x40\0\0\x0c\0\0\0\x01",
            b"DLCX 1210 a/1@x MGCP 1.0\r\nC: A3\r\nP: PS=1, PL=1\r\n.\r\n200 7 OK\r\n\r\nv=0\r\n",
            b"\x01\0\x01\x01\0\0\0\x44\0\x06\0\x08\0\0\0\x0a\x02\x10\0\x31\0\0\x04\x01\0\0\x08\x02\x03\x02\0\x05\
              \x09\0\x03\x05\x09\x02\x42\x06\x04\x43\x01\x04\x08\x13\x62\x11\x48\x01\x07\x6c\x0c\xa1\x0a\x02\x01\x01\
              \x02\x01\x02\x30\x02\x04\0\0\0\0",
            b"\x62\x80\x48\x01\x07\x6c\x80\xa1\x06\x02\x01\x01\x02\x01\x02\0\0\0\0",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x04\x01\x01\0\0\0\x01\x82\x84\x86\x41\
              \0\0\x03\x09\x04\0\0\0\x01\x01a\xbe\0\0\x02\0\x01\0\0\0\x03hi",
        ];
        let mut state = 7_u64;
        let mut random = move |below: usize| {
            // Xorshift (Marsaglia, 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let mut found = [0_usize; 6];
        for round in 0..60_000 {
            let mut bytes = match round % 6 {
                5 => (0..random(120)).map(|_| random(256) as u8).collect(),
                sample => samples[sample].to_vec(),
            };
            for _ in 0..random(6) {
                let at = random(bytes.len() + 1);
                match random(3) {
                    0 => bytes.insert(at, random(256) as u8),
                    1 => bytes.truncate(at),
                    _ => bytes
                        .iter_mut()
                        .skip(at)
                        .take(1)
                        .for_each(|octet| *octet = random(256) as u8),
                }
            }
            if let Some(message) = diameter::DiameterMessage::new(&bytes) {
                for avp in message.avps() {
                    assert!(avp.data.len() + 8 <= bytes.len());
                    found[0] += avp.text().len();
                }
            }
            for message in mgcp::messages(&bytes) {
                assert!(message.bytes.len() <= bytes.len());
                found[1] += message.parameters().count() + message.counted("PL").map_or(0, |_| 1);
            }
            if let Some(message) = m3ua::M3uaMessage::new(&bytes) {
                assert!(message.parameters().count() <= m3ua::PARAMETERS_MAX);
                found[2] += message.transfer().map_or(0, |it| it.user.len());
            }
            let mut parts = sccp::Reassembly::default();
            for begin in 0..bytes.len().min(50) {
                let Some(message) = sccp::SccpMessage::new(&bytes[begin..]) else {
                    continue;
                };
                for party in [message.called, message.calling].into_iter().flatten() {
                    assert!(party.digits().is_none_or(|it| it.len() <= 2 * bytes.len()));
                }
                found[3] += parts.take(7, &message).map_or(0, <[u8]>::len);
            }
            let components = tcap::TcapMessage::new(&bytes).map_or(0, |it| it.components.len());
            assert!(components <= tcap::COMPONENTS_MAX);
            found[4] += components;
            let mut connection = http::Connection::searching();
            for (side, piece) in bytes.chunks(1 + random(40)).enumerate() {
                let side = usize::from(side % 5 == 4);
                connection.take(side, piece, tls::Stamp::default(), &mut |_| found[5] += 1);
                if round % 7 == 0 {
                    connection.gap(side, random(9) as u64, &mut |_| found[5] += 1);
                }
            }
            connection.finish(&mut |_| found[5] += 1);
        }
        assert!(found.iter().all(|count| *count > 100), "{found:?}");
    }
}

//! TLS 1.0 to 1.3 (RFC 2246 to 8446), DTLS (RFC 6347, 9147) and the first packets of QUIC (RFC 9001,
//! 9369): what both ends say before they talk in private.
//!
//! A [`Session`] is fed with both directions of a stream, with datagrams of DTLS or of QUIC, and gathers what
//! the handshake says. It keeps at most [`HANDSHAKE_OCTETS_MAX`] octets of a message under way in either
//! direction, and passes over longer messages. A [`Decryptor`] reads what streams carry behind it, where a [`KeyLog`]
//! has their secrets. An [`OpenVpn`] puts the stream together that OpenVPN's control channel carries.

mod certificate;
mod decrypt;
mod fingerprint;
mod hello;
mod openvpn;
mod quic;
mod record;
mod session;
mod suites;
mod validity;
mod words;

pub use certificate::Certificate;
pub use decrypt::{Decryptor, KeyLog, Opened};
pub use fingerprint::{ja3, ja3_text, ja3s, ja3s_text, ja4};
pub use hello::{ClientHello, ServerHello};
pub use openvpn::{OPENVPN_PORT, OpenVpn, OpenVpnPiece, begins_with_openvpn, openvpn_key};
pub use quic::{
    QuicHeader, QuicIds, has_long_header as has_quic_long_header, headers as quic_headers,
    is_initial as is_quic_initial, is_of_unknown_version as is_quic_of_unknown_version,
    may_be_initial as may_be_quic_initial,
    may_be_initial_of_server as may_be_quic_initial_of_server, write_initial as write_quic_initial,
};
pub use record::{
    HANDSHAKE_OCTETS_MAX, Stamp, begins as begins_with_hello,
    begins_datagram as begins_with_datagram_hello, is_of_records as is_of_datagram_records,
    may_begin as may_begin_with_hello, may_begin_datagram as may_begin_with_datagram_hello,
    random_of_datagram as random_of_datagram_hello, ssl2_hello,
};
pub use session::{Alert, Carrier, Session, SessionState};
pub use suites::suite_word;
pub use words::{alert_word, group_word, version_word};

/// True for the values that clients throw in so that servers keep passing over what they do not know
/// (RFC 8701).
#[must_use]
pub const fn is_grease(number: u16) -> bool {
    number & 0x0f0f == 0x0a0a && number >> 8 == number & 0xff
}

#[cfg(test)]
mod tests;

//! Tables whose rows are the contents of packets: messages, dialogs, connections.
//!
//! An [`Extraction`] names such a table, its columns, and the extractor that makes its rows. It reads packets in the
//! order of the capture, and returns rows in the order in which they are complete.

mod call_packets;
mod calls;
mod came_in;
mod conversation;
pub(crate) mod conversations;
pub(crate) mod descriptions;
mod dhcp;
mod diameter;
mod dns;
mod early;
pub(crate) mod extraction;
mod flow_fragments;
mod flow_packets;
mod flows;
mod followed;
pub mod h248;
mod http;
pub(crate) mod http_frames;
mod item_field;
mod list;
mod lookups;
mod m3ua;
mod media;
mod messages;
mod mgcp;
mod mqtt;
mod networks;
mod note;
mod ntp;
mod on_opened;
mod opened;
mod over_websocket;
mod prefaces;
pub(crate) mod quoted;
mod radius;
mod relayed;
mod requests;
mod rtcp;
mod rtp;
mod sccp;
mod settings;
mod sip;
mod snmp;
mod stream;
mod stun;
mod tcap;
mod tls;
pub(crate) mod tls_records;
mod tunnel;
mod value;
mod websocket;

pub use calls::{CallMedia, CallSight, CallSound, CallWatch};
pub use extraction::Extraction;
pub use note::Note;
pub use settings::{Setting, Settings};
pub use sip::{SipMessage, SipMessages, SipTransport, SipWay};
pub use websocket::{WebSocketEnds, WebSocketSight, WebSockets};

/// All tables that are made from packets.
pub const EXTRACTIONS: &[Extraction] = &[
    flows::EXTRACTION,
    flow_packets::EXTRACTION,
    flow_fragments::EXTRACTION,
    stream::EXTRACTION,
    sip::EXTRACTION,
    calls::EXTRACTION,
    call_packets::EXTRACTION,
    h248::EXTRACTION,
    websocket::EXTRACTION,
    dns::EXTRACTION,
    lookups::EXTRACTION,
    tls::EXTRACTION,
    http::EXTRACTION,
    dhcp::EXTRACTION,
    ntp::EXTRACTION,
    rtp::EXTRACTION,
    rtcp::EXTRACTION,
    media::EXTRACTION,
    radius::EXTRACTION,
    snmp::EXTRACTION,
    mqtt::EXTRACTION,
    stun::EXTRACTION,
    diameter::EXTRACTION,
    mgcp::EXTRACTION,
    m3ua::EXTRACTION,
    sccp::EXTRACTION,
    tcap::EXTRACTION,
];

impl Extraction {
    /// The table of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        EXTRACTIONS
            .iter()
            .find(|extraction| extraction.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_a_name_of_its_own_and_columns_with_meaning() {
        let mut names: Vec<&str> = vec!["packets", "records"];
        for extraction in EXTRACTIONS {
            assert!(!names.contains(&extraction.name), "{}", extraction.name);
            names.push(extraction.name);
            let mut seen = std::collections::HashSet::new();
            for column in (extraction.columns)() {
                assert!(seen.insert(column.name.clone()), "{}", column.name);
                assert_eq!(&*column.name, column.name.to_lowercase());
                assert!(!column.doc.is_empty() && !column.reference.is_empty());
            }
        }
    }
}

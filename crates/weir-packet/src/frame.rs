//! Captured frames, the input of the decoder.

use crate::LinkType;
use crate::field::{Field, Needs};

/// A captured frame: the bytes and what the capture says about them.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Number of the record in its capture, from 1.
    pub number: u64,
    /// Capture time in nanoseconds since 1970-01-01 UTC, when the capture has one.
    pub time_ns: Option<i64>,
    /// The link type of `data`.
    pub link_type: LinkType,
    /// Length on the wire in bytes, as the capture's record header says.
    pub wire_len: u32,
    /// Interface number in its pcapng section; `None` where the format has none.
    pub interface_id: Option<u32>,
    /// Name of the interface, when the capture gives one.
    pub interface_name: Option<&'a str>,
    /// Description of the interface, when the capture gives one.
    pub interface_description: Option<&'a str>,
    /// Comment on the packet, when the capture gives one.
    pub comment: Option<&'a str>,
    /// The captured bytes.
    pub data: &'a [u8],
}

impl<'a> Frame<'a> {
    /// A frame that was captured whole, without time or number.
    #[must_use]
    pub fn new(link_type: LinkType, data: &'a [u8]) -> Self {
        Self {
            number: 1,
            time_ns: None,
            link_type,
            wire_len: u32::try_from(data.len()).unwrap_or(u32::MAX),
            interface_id: None,
            interface_name: None,
            interface_description: None,
            comment: None,
            data,
        }
    }

    /// Length on the wire in bytes, without the capture's pseudo header.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        match self.link_type.inner_wire_len(self.data) {
            Some(len) => len,
            None => self.wire_len.saturating_sub(self.pseudo_header_len()),
        }
    }

    /// Whether the length on the wire is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes captured, without the capture's pseudo header.
    #[inline]
    #[must_use]
    pub fn cap_len(&self) -> u32 {
        let captured = u32::try_from(self.data.len())
            .unwrap_or(u32::MAX)
            .saturating_sub(self.pseudo_header_len());
        // The bytes beyond the length on the wire are padding of the record.
        let wire_len = self.link_type.inner_wire_len(self.data);
        captured.min(wire_len.unwrap_or(u32::MAX))
    }

    /// Length of the whole frame, captured or not, with the capture's pseudo header.
    #[inline]
    pub(crate) fn declared_len(&self) -> u32 {
        match self.link_type.inner_wire_len(self.data) {
            Some(len) => len.saturating_add(self.pseudo_header_len()),
            None => self.wire_len,
        }
    }

    #[inline]
    fn pseudo_header_len(&self) -> u32 {
        self.link_type.pseudo_header_len(self.data)
    }
}

/// The fields that a capture's own record header gives, and what the decoder says of the packet.
pub(crate) static FIELDS: &[(Field, Needs)] = &[
    (
        Field::u64(
            "frame.number",
            |p| Some(p.frame().number),
            "Number of the record in its capture, from 1",
            "capture format",
        ),
        Needs::Record,
    ),
    (
        Field::time(
            "frame.time",
            |p| p.frame().time_ns,
            "Capture time, nanoseconds UTC; NULL where the capture has none",
            "capture format",
        ),
        Needs::Record,
    ),
    (
        Field::u32(
            "frame.len",
            |p| Some(p.frame().len()),
            "Length on the wire in bytes, without the capture's pseudo header",
            "capture format",
        ),
        Needs::Record,
    ),
    (
        Field::u32(
            "frame.cap_len",
            |p| Some(p.frame().cap_len()),
            "Bytes captured, at most frame.len unless the capture is damaged",
            "capture format",
        ),
        Needs::Record,
    ),
    (
        Field::u32(
            "frame.link_type",
            |p| Some(p.frame().link_type.0),
            "Link type, a LINKTYPE_ number (1 is Ethernet)",
            "LINKTYPE registry of the pcap formats",
        ),
        Needs::Record,
    ),
    (
        Field::text(
            "frame.link_type_name",
            |p| p.frame().link_type.name(),
            "Name of the link type without LINKTYPE_, such as LINUX_SLL2; NULL for a number that is not registered",
            "LINKTYPE registry of the pcap formats",
        ),
        Needs::Record,
    ),
    (
        Field::u32(
            "frame.interface_id",
            |p| p.frame().interface_id,
            "Number of the interface in its pcapng section; NULL in other formats",
            "pcapng, Interface Description Block",
        ),
        Needs::Record,
    ),
    (
        Field::text(
            "frame.interface_name",
            |p| p.frame().interface_name,
            "Name of the interface; unknown where a pcapng gives none, NULL in formats without interfaces",
            "pcapng, if_name option",
        ),
        Needs::Record,
    ),
    (
        Field::text(
            "frame.interface_description",
            |p| p.frame().interface_description,
            "Description of the interface, where a pcapng gives one",
            "pcapng, if_description option",
        ),
        Needs::Record,
    ),
    (
        Field::text(
            "frame.comment",
            |p| p.frame().comment,
            "Comment on the packet, where the capture gives one",
            "pcapng, opt_comment",
        ),
        Needs::Record,
    ),
    (
        Field::write(
            "frame.layers",
            |p, out| {
                for (index, layer) in p.layers().enumerate() {
                    if index > 0 {
                        out.write_char(':')?;
                    }
                    out.write_str(layer.name())?;
                }
                Ok(true)
            },
            "Protocols found, outermost first, each named once, such as eth:vlan:ip:udp",
            "weir",
        ),
        Needs::All,
    ),
    (
        Field::write(
            "frame.stopped",
            |p, out| match p.stop() {
                None => Ok(false),
                Some(stop) => write!(out, "{stop}").map(|()| true),
            },
            "Layer and reason when decoding stopped early; NULL for a sound packet",
            "weir",
        ),
        Needs::All,
    ),
];

//! sFlow version 5. The first packet header that a datagram samples is decoded behind it.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "sflow",
    title: "InMon sFlow",
    decode,
    on: &[On::UdpPort(6343)],
    fields: &[plain!(
            u32,
            "sflow_245.version",
            [Location::bits(Layer::Sflow, Bits::be32(0))],
            "Version of the datagram",
            "sFlow version 5, 5",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    match input.u32_be(0)? {
        5 => {}
        2 | 4 => return Ok(Header::new(8, Next::Payload)),
        _ => return Ok(Header::foreign(Next::Payload)),
    }
    let address = match input.u32_be(4)? {
        1 => 4,
        2 => 16,
        _ => return Ok(Header::new(8, Next::Payload)),
    };
    let header = 8 + address + 16;
    let samples = input.u32_be(header - 4)?;
    Ok(first_sampled(input, header, samples).unwrap_or(Header::new(header, Next::Payload)))
}

/// The first sampled header; `None` when there is none or what is in front of it was cut.
fn first_sampled(input: &Input<'_>, mut at: usize, samples: u32) -> Option<Header> {
    for _ in 0..samples.min(SAMPLES_MAX) {
        let (kind, end) = block(input, &mut at)?;
        let records = match kind {
            FLOW_SAMPLE => at.checked_add(28)?,
            EXPANDED_FLOW_SAMPLE => at.checked_add(40)?,
            _ => {
                at = end;
                continue;
            }
        };
        let mut record = records.checked_add(4)?;
        for _ in 0..input.u32_be(records).ok()?.min(SAMPLES_MAX) {
            let (kind, end) = block(input, &mut record)?;
            if kind == RAW_HEADER {
                return raw_header(input, record);
            }
            record = end;
        }
        at = end;
    }
    None
}

/// Reads the format and the length at `at`, and moves on behind them.
fn block(input: &Input<'_>, at: &mut usize) -> Option<(u32, usize)> {
    let kind = input.u32_be(*at).ok()?;
    let len = input.u32_be(at.checked_add(4)?).ok()?;
    *at = at.checked_add(8)?;
    Some((kind, at.checked_add(usize::try_from(len).ok()?)?))
}

fn raw_header(input: &Input<'_>, at: usize) -> Option<Header> {
    let layer = match input.u32_be(at).ok()? {
        1 => Layer::Ethernet,
        11 => Layer::Ipv4,
        12 => Layer::Ipv6,
        _ => return None,
    };
    let len = usize::try_from(input.u32_be(at.checked_add(12)?).ok()?).ok()?;
    let start = at.checked_add(16)?;
    Some(Header::new(start, Next::Quote(layer)).with_total(start.checked_add(len)?))
}

// Formats of enterprise 0 (sFlow version 5, 5.3 and 5.4).
const FLOW_SAMPLE: u32 = 1;
const EXPANDED_FLOW_SAMPLE: u32 = 3;
const RAW_HEADER: u32 = 1;
/// Samples looked at, and records of each: a datagram has room for fewer.
const SAMPLES_MAX: u32 = 64;

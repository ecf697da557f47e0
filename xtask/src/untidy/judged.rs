//! A capture with the program's answer for it, and the numbers, flows and ends that rows of an answer name.

use std::collections::BTreeMap;
use std::net::IpAddr;

use weir_testkit::untidy::{Capture, Ends};

use super::answers::{TableAnswers, TableRow};
use super::tables::FLOW_PACKETS;

/// A capture, and what the program says of it.
pub(super) struct JudgedCapture<'c> {
    pub(super) capture: &'c Capture,
    pub(super) answer: &'c TableAnswers,
}

impl JudgedCapture<'_> {
    /// The frame of the whole tidy capture, from 1, that a record's number stands for.
    pub(super) fn origin(&self, number: u64) -> Option<u64> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        Some(self.capture.frames.get(index)?.origin? as u64 + 1)
    }
}

/// The flow of each record.
pub(super) fn flows_of_records(answer: &TableAnswers) -> BTreeMap<u64, u64> {
    let rows = answer.rows(FLOW_PACKETS).iter();
    rows.filter_map(|row| Some((number(row, "frame.number")?, id(row)?)))
        .collect()
}

/// The flow of a row.
pub(super) fn id(row: &TableRow) -> Option<u64> {
    number(row, "flow.id")
}

/// The number in a column of a row.
pub(super) fn number(row: &TableRow, column: &str) -> Option<u64> {
    row.get(column)?.as_u64()
}

/// The ends of a row of `flows`.
pub(super) fn ends(row: &TableRow) -> Option<Ends> {
    let protocol = u8::try_from(number(row, "ip.proto")?).ok()?;
    let (src, dst) = sockets(row)?;
    Some(Ends::new(protocol, src, dst))
}

/// The source and the destination of a row, with port 0 where there are no ports.
pub(super) fn sockets(row: &TableRow) -> Option<((IpAddr, u16), (IpAddr, u16))> {
    let address = |column: &str| row.get(column)?.as_str()?.parse::<IpAddr>().ok();
    let port = |column: &str| number(row, column).and_then(|port| u16::try_from(port).ok());
    let src = (address("addr.src")?, port("port.src").unwrap_or(0));
    let dst = (address("addr.dst")?, port("port.dst").unwrap_or(0));
    Some((src, dst))
}

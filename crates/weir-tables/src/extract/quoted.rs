//! The headers that ICMP errors quote, for display filters.

use std::collections::VecDeque;

use weir_packet::{Decoder, Frame, Layer, Needs, Options, Packet};

use super::extraction::Extract;
use super::note::Note;
use crate::rows::Rows;
use crate::{Column, Row, Table};

/// An extraction that also reads the datagrams of UDP and the segments of TCP that ICMP errors quote (RFC 792; RFC
/// 4443, 3), as Wireshark does.
///
/// Quoted packets were sent before, and mostly elsewhere than they are captured: tables do not have them as messages.
/// Each is read by itself, so that it is no question of an answer, and repeats none; a segment is all that is known of
/// its connection.
pub(crate) struct Quoted {
    table: Table,
    sent: Box<dyn Extract>,
    columns: Vec<Column>,
    decoder: Decoder,
    /// Segments with more rows than there was room for.
    unfinished: VecDeque<Box<dyn Extract>>,
}

impl Quoted {
    /// The extraction of a table, if it has one.
    pub(crate) fn of(table: &Table, options: Options) -> Option<Self> {
        Some(Self {
            sent: table.start()?,
            table: table.clone(),
            columns: Vec::new(),
            decoder: Decoder::new(options, [Needs::All]),
            unfinished: VecDeque::new(),
        })
    }

    /// Reports the waiting rows of segments; true when there are more.
    fn finish_quoted(&mut self, rows: &mut Rows) -> bool {
        while let Some(segment) = self.unfinished.front_mut() {
            if segment.finish(rows) {
                return true;
            }
            self.unfinished.pop_front();
        }
        false
    }
}

impl Extract for Quoted {
    fn keeps_records(&self) -> bool {
        self.sent.keeps_records()
    }

    fn set_columns(&mut self, columns: &[Column]) {
        self.sent.set_columns(columns);
        self.columns = columns.to_vec();
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        self.sent.packet(row, rows);
        let Some((layer, bytes)) = quote(row.packet) else {
            return;
        };
        let frame = Frame {
            data: bytes,
            // The sender of the error left out the rest: the packet is truncated.
            wire_len: u32::from(u16::MAX),
            ..*row.packet.frame()
        };
        let packet = self.decoder.decode_as(frame, layer);
        // A packet of a tunnel is quoted with those inside.
        let has = |wanted: Layer| packet.headers().any(|(layer, _)| layer == wanted);
        let is_segment = has(Layer::Tcp);
        if !is_segment && !has(Layer::Udp) {
            return;
        }
        let Some(mut alone) = self.table.start() else {
            return;
        };
        alone.set_columns(&self.columns);
        alone.packet(&Row::new(row.file, &packet), rows);
        if is_segment {
            // No more octets of its connection are quoted.
            self.unfinished.push_back(alone);
            self.finish_quoted(rows);
        }
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        self.finish_quoted(rows) || self.sent.finish(rows)
    }

    fn notes(&self) -> Vec<Note> {
        self.sent.notes()
    }
}

/// The IP packet that an ICMP error quotes, from its header on. A redirect is no error: it quotes a packet that was
/// forwarded, and Wireshark shows only its headers.
fn quote<'p>(packet: &Packet<'p>) -> Option<(Layer, &'p [u8])> {
    let mut headers = packet.headers();
    let (layer, message) =
        headers.find(|(layer, _)| matches!(layer, Layer::Icmp | Layer::Icmpv6))?;
    let kind = *message.first()?;
    let is_error = match layer {
        // These types are destination unreachable, source quench, time exceeded and parameter problem.
        Layer::Icmp => matches!(kind, 3 | 4 | 11 | 12),
        // Error messages have types below 128 (RFC 4443, 2.1).
        _ => kind < 128,
    };
    headers.find(|(layer, _)| is_error && matches!(layer, Layer::Ipv4 | Layer::Ipv6))
}

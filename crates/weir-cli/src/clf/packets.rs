//! SIP messages in the packets of a capture.

use weir_capture::Record;
use weir_clf::{Flags, Passage, Retransmission, Time, Transport};
use weir_packet::{Decoder, Frame, LinkType, Needs, Options};
use weir_tables::{SipMessage, SipMessages, SipTransport};

/// Finds the messages of a capture, as the table `sip` does.
pub(super) struct Packets {
    decoder: Decoder,
    messages: SipMessages,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(Options::default(), [Needs::Transport]),
            messages: SipMessages::new(),
        }
    }
}

impl Packets {
    /// Calls `each` with the messages that the packet completes.
    pub(super) fn take(&mut self, record: &Record<'_>, each: &mut dyn FnMut(&[u8], &Passage)) {
        let mut frame = Frame::new(LinkType(record.link_type), record.data);
        frame.number = record.number;
        frame.time_ns = record.time_ns;
        frame.wire_len = record.wire_len;
        let packet = self.decoder.decode(frame);
        self.messages.packet(&packet, &mut |message| {
            each(message.bytes, &passage(message));
        });
    }

    /// The capture is over: calls `each` with what waited for missing segments.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&[u8], &Passage)) {
        self.messages
            .finish(&mut |message| each(message.bytes, &passage(message)));
    }

    /// What was not read.
    pub(super) fn notes(&self) -> Vec<String> {
        self.messages.notes()
    }
}

fn passage(message: &SipMessage<'_>) -> Passage {
    let way = &message.way;
    Passage {
        time: Time::from_nanoseconds(way.time_ns.unwrap_or(0)),
        source: Some(way.source()),
        destination: Some(way.destination()),
        // Who looks on keeps no transactions.
        flags: Flags {
            retransmission: Retransmission::Stateless,
            transport: match way.transport {
                SipTransport::Tcp => Transport::Tcp,
                SipTransport::Sctp => Transport::Sctp,
                SipTransport::WebSocket => Transport::WebSocket,
                _ => Transport::Udp,
            },
            ..Flags::default()
        },
    }
}

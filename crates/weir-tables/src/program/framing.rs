//! The framing of records, and the fields in front of their data.

use weir_capture::RecordFraming;
use weir_compile::{Builder, Bytes, Operation, Register, Relation, SpaceId};

use super::lower::{Lowering, PORTS_WORD};
use super::records::ProgramFraming;

impl Lowering<'_> {
    /// Frames the current record; returns the beginning and the end of its data.
    pub(super) fn frame(&mut self) -> (Register, Register) {
        let (at, window) = (Register::AT, Register::WINDOW_LEN);
        let leave = self.leave;
        let b = &mut self.builder;
        let (data, data_end, end) = match self.framing {
            ProgramFraming::Fixed(len) => {
                b.require_bytes(at, len, window, leave);
                let end = b.compute(Operation::Add, at, u64::from(len));
                (at, end, end)
            }
            ProgramFraming::Capture(RecordFraming::Erf) => self.frame_erf(),
            ProgramFraming::Capture(RecordFraming::Pcapng {
                is_little_endian,
                captured_len_max,
                options_bytes_max,
                tick_ns,
            }) => self.frame_pcapng(
                is_little_endian,
                captured_len_max,
                options_bytes_max,
                tick_ns,
            ),
            ProgramFraming::Capture(RecordFraming::Pcap {
                header_len,
                is_little_endian,
                captured_len_at,
                wire_len_at,
                smaller_is_captured,
                captured_len_max,
                ..
            }) => {
                b.require_bytes(at, header_len, window, leave);
                let mut captured =
                    b.load_in_order(at, captured_len_at, Bytes::Four, is_little_endian);
                if smaller_is_captured {
                    let other = b.load_in_order(at, wire_len_at, Bytes::Four, is_little_endian);
                    captured = b.compute(Operation::Minimum, captured, other);
                }
                b.require(
                    Relation::LessOrEqual,
                    captured,
                    u64::from(captured_len_max),
                    leave,
                );
                let data = b.compute(Operation::Add, at, u64::from(header_len));
                let end = b.reach(data, captured, window, leave);
                (data, end, end)
            }
        };
        self.builder.set(self.record_end, end);
        (data, data_end)
    }

    /// Frames a record of an ERF file; returns the beginning and the end of its data, and its own end.
    fn frame_erf(&mut self) -> (Register, Register, Register) {
        let (at, window, leave) = (Register::AT, Register::WINDOW_LEN, self.leave);
        let b = &mut self.builder;
        b.require_bytes(at, 16, window, leave);
        // Padding, and the first record of a port, are left to the reader.
        let kind = b.load(at, 8, Bytes::One);
        let kind = b.compute(Operation::And, kind, 0x7f);
        b.require(Relation::NotEqual, kind, 48, leave);
        let len = b.load(at, 10, Bytes::Two);
        b.require(Relation::Greater, len, 16, leave);
        let end = b.reach(at, len, window, leave);
        let flags = b.load(at, 9, Bytes::One);
        let port = b.compute(Operation::And, flags, 3);
        self.require_port(port);
        (at, end, end)
    }

    /// Frames an enhanced packet block; returns the beginning and the end of its data, and its own end.
    fn frame_pcapng(
        &mut self,
        is_little_endian: bool,
        captured_len_max: u32,
        options_bytes_max: u32,
        tick_ns: u64,
    ) -> (Register, Register, Register) {
        let (at, window, leave) = (Register::AT, Register::WINDOW_LEN, self.leave);
        let b = &mut self.builder;
        let word = |b: &mut Builder, at, offset| {
            b.load_in_order(at, offset, Bytes::Four, is_little_endian)
        };
        b.require_bytes(at, 32, window, leave);
        let kind = word(b, at, 0);
        b.require(Relation::Equal, kind, 6, leave);
        let len = word(b, at, 4);
        b.require(Relation::GreaterOrEqual, len, 32, leave);
        let odd = b.compute(Operation::And, len, 3);
        b.require(Relation::Equal, odd, 0, leave);
        // The length is repeated at the end; it is 4 at least, which the checker of programs cannot derive.
        let before = b.compute(Operation::Subtract, len, 4);
        let before = b.compute(Operation::Minimum, before, u64::from(u32::MAX));
        let closing_at = b.reach(at, before, window, leave);
        b.require_bytes(closing_at, 4, window, leave);
        let closing = word(b, closing_at, 0);
        let end = b.compute(Operation::Add, closing_at, 4);
        b.require(Relation::Equal, closing, len, leave);
        let captured = word(b, at, 20);
        b.require(
            Relation::LessOrEqual,
            captured,
            u64::from(captured_len_max),
            leave,
        );
        let room = b.compute(Operation::Subtract, len, 32);
        b.require(Relation::LessOrEqual, captured, room, leave);
        let options = b.compute(Operation::Subtract, room, captured);
        b.require(
            Relation::LessOrEqual,
            options,
            u64::from(options_bytes_max),
            leave,
        );
        // A later time is the largest one, and counted, by the reader.
        let ticks = self.ticks(is_little_endian);
        let most = i64::MAX as u64 / tick_ns.max(1);
        self.builder
            .require(Relation::LessOrEqual, ticks, most, leave);
        let interface = word(&mut self.builder, at, 8);
        self.builder
            .require(Relation::LessOrEqual, interface, 7, leave);
        self.require_port(interface);
        let b = &mut self.builder;
        let data = b.compute(Operation::Add, at, 28);
        let data_end = b.reach(data, captured, end, leave);
        (data, data_end, end)
    }

    /// The record is left to the reader unless its port or interface, at most 7, has a bit in the state.
    fn require_port(&mut self, port: Register) {
        let leave = self.leave;
        let b = &mut self.builder;
        let ports = b.read(SpaceId::STATE, None, PORTS_WORD);
        let is_known = b.compute(Operation::ShiftRight, ports, port);
        let is_known = b.compute(Operation::And, is_known, 1);
        b.require(Relation::NotEqual, is_known, 0, leave);
    }

    /// The time of an enhanced packet block in units of its interface.
    fn ticks(&mut self, is_little_endian: bool) -> Register {
        let b = &mut self.builder;
        let high = b.load_in_order(Register::AT, 12, Bytes::Four, is_little_endian);
        let low = b.load_in_order(Register::AT, 16, Bytes::Four, is_little_endian);
        let high = b.compute(Operation::ShiftLeft, high, 32);
        b.compute(Operation::Or, high, low)
    }

    pub(super) fn wire_len(&mut self) -> Option<Register> {
        let at = Register::AT;
        let b = &mut self.builder;
        match self.framing {
            ProgramFraming::Fixed(_) => None,
            ProgramFraming::Capture(RecordFraming::Erf) => Some(b.load(at, 14, Bytes::Two)),
            ProgramFraming::Capture(RecordFraming::Pcapng {
                is_little_endian, ..
            }) => Some(b.load_in_order(at, 24, Bytes::Four, is_little_endian)),
            ProgramFraming::Capture(RecordFraming::Pcap {
                is_little_endian,
                captured_len_at,
                wire_len_at,
                smaller_is_captured,
                ..
            }) => {
                let wire_len = b.load_in_order(at, wire_len_at, Bytes::Four, is_little_endian);
                Some(match smaller_is_captured {
                    true => {
                        let other =
                            b.load_in_order(at, captured_len_at, Bytes::Four, is_little_endian);
                        b.compute(Operation::Maximum, wire_len, other)
                    }
                    false => wire_len,
                })
            }
        }
    }

    pub(super) fn time(&mut self) -> Option<Register> {
        let at = Register::AT;
        if let ProgramFraming::Capture(RecordFraming::Pcapng {
            is_little_endian,
            tick_ns,
            ..
        }) = self.framing
        {
            let ticks = self.ticks(is_little_endian);
            return Some(self.builder.compute(Operation::Multiply, ticks, tick_ns));
        }
        let b = &mut self.builder;
        match self.framing {
            ProgramFraming::Fixed(_) | ProgramFraming::Capture(RecordFraming::Pcapng { .. }) => {
                None
            }
            ProgramFraming::Capture(RecordFraming::Erf) => {
                // The timestamp is 32.32 fixed point, rounded to the nearest nanosecond.
                let stamp = b.load_in_order(at, 0, Bytes::Eight, true);
                let seconds = b.compute(Operation::ShiftRight, stamp, 32);
                let seconds = b.compute(Operation::Multiply, seconds, 1_000_000_000);
                let fraction = b.compute(Operation::And, stamp, u64::from(u32::MAX));
                let fraction = b.compute(Operation::Multiply, fraction, 1_000_000_000);
                let fraction = b.compute(Operation::Add, fraction, 1 << 31);
                let fraction = b.compute(Operation::ShiftRight, fraction, 32);
                Some(b.compute(Operation::Add, seconds, fraction))
            }
            ProgramFraming::Capture(RecordFraming::Pcap {
                is_little_endian,
                fraction_ns,
                ..
            }) => {
                let seconds = b.load_in_order(at, 0, Bytes::Four, is_little_endian);
                let seconds = b.compute(Operation::Multiply, seconds, 1_000_000_000);
                let fraction = b.load_in_order(at, 4, Bytes::Four, is_little_endian);
                let fraction = b.compute(Operation::Multiply, fraction, u64::from(fraction_ns));
                Some(b.compute(Operation::Add, seconds, fraction))
            }
        }
    }
}

//! pcapng: blocks of a type and a length; interfaces described before the packets captured on them
//! (draft-ietf-opsawg-pcapng).

mod clock;
mod options;
mod section;

use std::io::Read;

use crate::{
    Error, Interface, ReadOptions, RecordFraming,
    error::Reason,
    plausible::{Candidate, Plausible},
    stream::{FoundRecord, Span, Stream},
};

pub(crate) use self::section::sniff;
use self::section::{
    BLOCK_LEN_MIN, BlockHeader, BlockKind, CLOSING_LEN, HEAD_LEN, PacketOptions, SectionState,
};

/// Reads blocks.
#[derive(Debug)]
pub(crate) struct Pcapng {
    section: SectionState,
    options: ReadOptions,
    /// Section headers and interface descriptions read so far.
    descriptions: u64,
}

impl Pcapng {
    /// Reads the first section header, so that a damaged one shows at once.
    pub(crate) fn begin<R: Read>(
        stream: &mut Stream<R>,
        options: &ReadOptions,
    ) -> Result<Self, Error> {
        let mut pcapng = Self {
            section: SectionState::new(),
            options: options.clone(),
            descriptions: 0,
        };
        match pcapng.begin_section(stream) {
            Ok(()) => Ok(pcapng),
            Err(error) => Err(error.in_file_header()),
        }
    }

    fn begin_section<R: Read>(&mut self, stream: &mut Stream<R>) -> Result<(), Error> {
        match self.block_header(stream)? {
            Some(header) => self.description(stream, header),
            None => Ok(()),
        }
    }

    /// Finds the next packet and passes over its block.
    #[inline(never)]
    pub(crate) fn find<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
    ) -> Result<Option<FoundRecord>, Error> {
        loop {
            if stream.is_at_stop() {
                return Ok(None);
            }
            let Some(header) = self.block_header(stream)? else {
                return Ok(None);
            };
            match header.kind {
                BlockKind::Enhanced | BlockKind::Simple | BlockKind::Obsolete => {
                    return self.packet(stream, header).map(Some);
                }
                BlockKind::Section | BlockKind::Interface => self.description(stream, header)?,
                BlockKind::Secrets => self.secrets(stream, header)?,
                BlockKind::Other => skip(stream, header)?,
                BlockKind::CountedOther => {
                    skip(stream, header)?;
                    stream.number += 1;
                }
            }
        }
    }

    /// See [`crate::Reader::framing`]: that of the first interface of the section, when it counts whole units since 1970.
    pub(crate) fn framing(&self) -> Option<RecordFraming> {
        let (clock, captured_len_max) = self.section.clock_and_limit(0)?;
        let tick_ns = clock.whole_ns()?;
        Some(RecordFraming::Pcapng {
            is_little_endian: self.section.is_little_endian(),
            captured_len_max,
            options_bytes_max: self.options.block_bytes_max,
            tick_ns,
        })
    }

    /// A bit for each of the first eight interfaces whose packets are like those of the first.
    pub(crate) fn alike(&self, interfaces: &[Interface]) -> u8 {
        let kind = |number: usize| {
            let (clock, limit) = self.section.clock_and_limit(u32::try_from(number).ok()?)?;
            let link_type = interfaces.get(number)?.link_type;
            Some((clock.whole_ns()?, limit, link_type))
        };
        let first = kind(0);
        (0..8).fold(0, |bits, number| {
            let is_alike = first.is_some() && kind(number) == first;
            bits | u8::from(is_alike) << number
        })
    }

    /// The header of the block at the start of the window; `None` at the end of the stream.
    #[inline]
    fn block_header<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
    ) -> Result<Option<BlockHeader>, Error> {
        loop {
            if let Some(head) = stream.buffer.window().first_chunk() {
                let header = self.section.block_header(head);
                return header.map(Some).map_err(|reason| stream.damaged(reason));
            }
            if !stream.more(BLOCK_LEN_MIN, "the block header")? {
                return Ok(None);
            }
        }
    }

    /// Reads a packet block.
    #[inline]
    fn packet<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
        header: BlockHeader,
    ) -> Result<FoundRecord, Error> {
        let head_len = header.kind.packet_head_len();
        if stream.buffer.window().len() < head_len {
            stream.need(head_len, 0, "the packet block")?;
        }
        let mut packet = self
            .section
            .packet(header.kind, stream.buffer.window())
            .map_err(|reason| stream.damaged(reason))?;
        let Some((time_ns, record_bytes_max)) = self.section.time_and_limit(&packet) else {
            return Err(stream.damaged(Reason::Unexpected {
                part: "the interface number",
                expected: "the number of an interface described before",
                found: u64::from(packet.interface),
            }));
        };
        if header.kind == BlockKind::Simple {
            // The block has no captured length: packets are cut at the snapshot length of the interface.
            match stream.interfaces.first().map(|first| first.snap_len) {
                None | Some(0) => {}
                Some(snap_len) => packet.captured = packet.captured.min(snap_len),
            }
        }
        let total = header.padded_len();
        let body_end = header.len as usize - CLOSING_LEN;
        let Some(room) = body_end.checked_sub(head_len) else {
            return Err(stream.damaged(Reason::Unexpected {
                part: "the length of the block",
                expected: "enough for a packet block",
                found: u64::from(header.len),
            }));
        };
        self.check_room(stream, packet.captured, record_bytes_max, room)?;
        if stream.buffer.window().len() < total {
            stream.need(total, 0, "the packet block")?;
        }
        let window = stream.buffer.window();
        let closing = window.get(total - CLOSING_LEN..).unwrap_or_default();
        self.section
            .check_closing_len(closing, header.len)
            .map_err(|reason| stream.damaged(reason))?;
        let len = packet.captured as usize;
        let options_start = head_len + padded(len);
        let options = match window.get(options_start..body_end) {
            Some(bytes) if !bytes.is_empty() && header.kind != BlockKind::Simple => {
                self.section.packet_options(bytes)
            }
            _ => PacketOptions::default(),
        };
        let position = stream.buffer.position();
        stream.number += 1;
        let time_ns = time_ns.map(|time_ns| stream.held(time_ns));
        let found = FoundRecord {
            number: stream.number,
            offset: stream.buffer.offset(),
            time_ns,
            wire_len: packet.wire_len,
            flags: options.flags,
            interface: packet.interface as usize,
            data: Span {
                position: position + head_len,
                len,
            },
            comment: options.comment.map(|(start, len)| Span {
                position: position + options_start + start,
                len,
            }),
        };
        stream.buffer.consume(total);
        Ok(found)
    }

    /// Checks that a packet fits its block, and that neither it nor its options are beyond a limit,
    /// before the buffer grows for them.
    #[inline]
    fn check_room<R: Read>(
        &self,
        stream: &Stream<R>,
        captured: u32,
        record_bytes_max: u32,
        room: usize,
    ) -> Result<(), Error> {
        let part = "the captured length";
        if captured > record_bytes_max {
            return Err(stream.damaged(Reason::TooLarge {
                part,
                limit: u64::from(record_bytes_max),
                found: u64::from(captured),
            }));
        }
        let Some(options_len) = room.checked_sub(captured as usize) else {
            return Err(stream.damaged(Reason::TooLarge {
                part,
                limit: room as u64,
                found: u64::from(captured),
            }));
        };
        if options_len > self.options.block_bytes_max as usize {
            return Err(stream.limit(
                "the length of the packet's options",
                u64::from(self.options.block_bytes_max),
                options_len as u64,
            ));
        }
        Ok(())
    }

    /// Stores TLS secrets, and skips others and those beyond the limit.
    fn secrets<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
        header: BlockHeader,
    ) -> Result<(), Error> {
        let kept = stream.secrets.len() as u64;
        if u64::from(header.len).saturating_add(kept) > u64::from(self.options.block_bytes_max) {
            return skip(stream, header);
        }
        let total = header.padded_len();
        stream.need(total, 0, "the block")?;
        let window = stream.buffer.window();
        let body = window.get(HEAD_LEN..(header.len as usize).saturating_sub(CLOSING_LEN));
        let lines = self.section.tls_secrets(body.unwrap_or_default());
        if !lines.is_empty() {
            stream.secrets.extend_from_slice(lines);
            stream.secrets.push(b'\n');
        }
        stream.buffer.consume(total);
        Ok(())
    }

    /// Reads a section header or an interface description.
    fn description<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
        header: BlockHeader,
    ) -> Result<(), Error> {
        if header.len > self.options.block_bytes_max {
            return Err(stream.limit(
                "the length of the block",
                u64::from(self.options.block_bytes_max),
                u64::from(header.len),
            ));
        }
        let total = header.padded_len();
        stream.need(total, 0, "the block")?;
        let window = stream.buffer.window();
        let body = window.get(HEAD_LEN..header.len as usize - CLOSING_LEN);
        let body = body.unwrap_or_default();
        let closing = window.get(total - CLOSING_LEN..).unwrap_or_default();
        self.section
            .check_closing_len(closing, header.len)
            .map_err(|reason| stream.damaged(reason))?;
        if header.kind == BlockKind::Section {
            self.section
                .begin(body)
                .map_err(|reason| stream.damaged(reason))?;
            stream.interfaces.clear();
        } else {
            if stream.interfaces.len() >= self.options.interfaces_max {
                return Err(stream.limit(
                    "the number of interfaces",
                    self.options.interfaces_max as u64,
                    stream.interfaces.len() as u64 + 1,
                ));
            }
            let interface = self
                .section
                .add_interface(body, &self.options)
                .map_err(|reason| stream.damaged(reason))?;
            stream.interfaces.push(interface);
        }
        stream.buffer.consume(total);
        self.descriptions += 1;
        Ok(())
    }

    /// Section headers and interface descriptions read so far: the meaning of blocks depends on them.
    pub(crate) fn descriptions(&self) -> u64 {
        self.descriptions
    }
}

impl Plausible for Pcapng {
    fn record(&self, bytes: &[u8]) -> Option<Candidate> {
        let len = self.section.plausible_block(bytes)?;
        Some(Candidate { len, time_ns: None })
    }

    fn header_len(&self) -> usize {
        BLOCK_LEN_MIN
    }
}

impl BlockHeader {
    /// Bytes that the block takes up: a multiple of four, even when the header says otherwise.
    #[inline]
    fn padded_len(&self) -> usize {
        padded(self.len as usize)
    }
}

#[inline]
fn padded(len: usize) -> usize {
    len.saturating_add(3) & !3
}

/// Skips a block of any length. Its closing length is not checked, as in Wireshark: when it is wrong, the next block fails.
fn skip<R: Read>(stream: &mut Stream<R>, header: BlockHeader) -> Result<(), Error> {
    let location = stream.location();
    let total = header.padded_len() as u64;
    match stream.buffer.skip(total) {
        Ok(skipped) if skipped == total => Ok(()),
        Ok(available) => {
            let reason = Reason::Cut {
                part: "the block",
                needed: total,
                available,
            };
            Err(Error::damaged(reason, location))
        }
        Err(error) => Err(Error::from(error).at(location)),
    }
}

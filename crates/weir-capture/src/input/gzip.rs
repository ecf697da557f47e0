//! gzip (RFC 1952), member after member.
//!
//! The members are walked here rather than by flate2's reader, because that drops the bytes that
//! it has inflated when damage comes up in the same call: here they are given first.

use std::io::Read;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::error::InputError;
use super::source::Source;
use crate::{Compression, error::DecompressFailure};

pub(crate) struct Gzip<R> {
    source: Source<R>,
    inflate: Decompress,
    crc: Crc,
    state: GzipState,
    members: u64,
    failure: Option<InputError>,
    /// There are neither headers nor trailers: one stream of DEFLATE, as in zip archives.
    is_bare: bool,
}

#[derive(Clone, Copy)]
enum GzipState {
    Header,
    Body,
    Trailer,
    End,
}

impl<R: Read> Gzip<R> {
    pub(super) fn new(source: Source<R>) -> Self {
        Self {
            source,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            state: GzipState::Header,
            members: 0,
            failure: None,
            is_bare: false,
        }
    }

    /// A decoder of a DEFLATE stream without a wrapper.
    pub(super) fn bare(source: Source<R>) -> Self {
        Self {
            state: GzipState::Body,
            is_bare: true,
            ..Self::new(source)
        }
    }

    pub(super) fn source_bytes(&self) -> u64 {
        self.source.consumed()
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        if let Some(failure) = self.failure.take() {
            self.state = GzipState::End;
            return Err(failure);
        }
        loop {
            match self.state {
                GzipState::Header => self.header()?,
                GzipState::Body => {
                    let produced = self.body(out)?;
                    if produced > 0 {
                        return Ok(produced);
                    }
                }
                GzipState::Trailer => self.trailer()?,
                GzipState::End => return Ok(0),
            }
        }
    }

    fn header(&mut self) -> Result<(), InputError> {
        let mut magic = self.source.byte()?;
        if self.members > 0 {
            // Tapes and block devices pad a file with zeros; gzip(1) passes over them too.
            while magic == Some(0) {
                magic = self.source.byte()?;
            }
            if magic.is_none() {
                self.state = GzipState::End;
                return Ok(());
            }
        }
        if magic != Some(0x1f) || self.source.byte()? != Some(0x8b) {
            return Err(self.failure("the data after the last member is not gzip", None));
        }
        if self.header_byte()? != 8 {
            return Err(self.failure("the compression method is not deflate", None));
        }
        let flags = self.header_byte()?;
        // The time (4 bytes), extra flags and the operating system are skipped.
        self.skip(6)?;
        if flags & FLAG_EXTRA != 0 {
            let low = self.header_byte()?;
            let high = self.header_byte()?;
            self.skip(u16::from_le_bytes([low, high]))?;
        }
        if flags & FLAG_NAME != 0 {
            while self.header_byte()? != 0 {}
        }
        if flags & FLAG_COMMENT != 0 {
            while self.header_byte()? != 0 {}
        }
        if flags & FLAG_HEADER_CRC != 0 {
            self.skip(2)?;
        }
        self.inflate.reset(false);
        self.crc.reset();
        self.state = GzipState::Body;
        Ok(())
    }

    fn body(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        let input = self.source.fill()?;
        if input.is_empty() {
            return Err(self.failure("the file is cut short", None));
        }
        let (total_in, total_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(input, out, FlushDecompress::None);
        let produced = (self.inflate.total_out() - total_out) as usize;
        self.source
            .consume((self.inflate.total_in() - total_in) as usize);
        self.crc.update(out.get(..produced).unwrap_or_default());
        match status {
            Ok(Status::StreamEnd) if self.is_bare => self.state = GzipState::End,
            Ok(Status::StreamEnd) => self.state = GzipState::Trailer,
            Ok(Status::Ok | Status::BufError) => {}
            Err(_) => {
                let failure = self.failure("the compressed data is damaged", None);
                if produced == 0 {
                    return Err(failure);
                }
                self.failure = Some(failure);
            }
        }
        Ok(produced)
    }

    fn trailer(&mut self) -> Result<(), InputError> {
        let mut trailer = [0; 8];
        for byte in &mut trailer {
            *byte = self.header_byte()?;
        }
        let [crc @ .., _, _, _, _] = trailer;
        let [_, _, _, _, length @ ..] = trailer;
        if u32::from_le_bytes(crc) != self.crc.sum() {
            return Err(self.failure("the checksum does not match the data", None));
        }
        // Modulo 2^32, as the format has it.
        if u32::from_le_bytes(length) != self.inflate.total_out() as u32 {
            return Err(self.failure("the length does not match the data", None));
        }
        self.members += 1;
        self.state = GzipState::Header;
        Ok(())
    }

    fn header_byte(&mut self) -> Result<u8, InputError> {
        match self.source.byte()? {
            Some(byte) => Ok(byte),
            None => Err(self.failure("the file is cut short", None)),
        }
    }

    fn skip(&mut self, count: u16) -> Result<(), InputError> {
        for _ in 0..count {
            self.header_byte()?;
        }
        Ok(())
    }

    fn failure(&mut self, what: &'static str, code: Option<String>) -> InputError {
        self.state = GzipState::End;
        let failure = DecompressFailure::damage(what, code, self.source.consumed());
        InputError::Decompress(Compression::Gzip, failure)
    }
}

const FLAG_HEADER_CRC: u8 = 2;
const FLAG_EXTRA: u8 = 4;
const FLAG_NAME: u8 = 8;
const FLAG_COMMENT: u8 = 16;

//! A length, then as many bytes.

use super::{Each, InputErrorKind, InputMessage, InputOptions, InputReport, Prefix};
use crate::wire::Opcode;

#[derive(Debug)]
pub(super) struct Prefixed {
    prefix: Prefix,
    options: InputOptions,
    head: Vec<u8>,
    /// Bytes of the message that are still to come.
    left: Option<u64>,
    begun: Vec<u8>,
    skip: bool,
}

impl Prefixed {
    pub(super) fn new(prefix: Prefix, options: InputOptions) -> Self {
        Self {
            prefix,
            options,
            head: Vec::new(),
            left: None,
            begun: Vec::new(),
            skip: false,
        }
    }

    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        report: &mut InputReport,
        each: &mut Each<'_>,
    ) -> Result<(), InputErrorKind> {
        let mut rest = bytes;
        loop {
            let Some(left) = self.left else {
                let Some((&byte, after)) = rest.split_first() else {
                    return Ok(());
                };
                rest = after;
                self.head.push(byte);
                if let Some(length) = self.length()? {
                    self.head.clear();
                    self.skip = length > self.options.message_bytes_max as u64;
                    self.left = Some(length);
                }
                continue;
            };
            let taken = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (piece, after) = rest.split_at(taken);
            rest = after;
            let left = left - taken as u64;
            if left > 0 {
                if !self.skip {
                    self.begun.extend_from_slice(piece);
                }
                self.left = Some(left);
                return Ok(());
            }
            self.left = None;
            if self.skip {
                report.too_long += 1;
                continue;
            }
            report.messages += 1;
            let mut payload = piece;
            if !self.begun.is_empty() {
                self.begun.extend_from_slice(piece);
                payload = &self.begun;
            }
            each(&InputMessage {
                opcode: Opcode::Binary,
                ..InputMessage::text(payload)
            });
            self.begun.clear();
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.left.is_none() && self.head.is_empty()
    }

    fn length(&self) -> Result<Option<u64>, InputErrorKind> {
        let head = &self.head;
        Ok(match self.prefix {
            Prefix::U16 => head.first_chunk().map(|b| u16::from_be_bytes(*b).into()),
            Prefix::U32 => head.first_chunk().map(|b| u32::from_be_bytes(*b).into()),
            Prefix::U32Le => head.first_chunk().map(|b| u32::from_le_bytes(*b).into()),
            Prefix::Varint => {
                if head.len() > 9 {
                    return Err(InputErrorKind::Syntax);
                }
                if head.last().is_none_or(|byte| byte & 0x80 != 0) {
                    return Ok(None);
                }
                let bits = head.iter().rev();
                Some(bits.fold(0, |all, byte| all << 7 | u64::from(byte & 0x7f)))
            }
        })
    }
}

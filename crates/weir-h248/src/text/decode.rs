//! Message, transactions, contexts, commands.

use crate::{
    Arena, Error, TextOptions,
    error::ErrorKind,
    message::{
        AuthenticationHeader, ErrorDescriptor, MId, Message, MessageBody, SegmentReply,
        Transaction, TransactionAck, TransactionPending, TransactionReply, TransactionRequest,
        TransactionResult,
    },
    text::{
        lexer::{BYTE_ORDER_MARK, Parser, Res, within},
        token::{Token, token},
    },
};

/// Decodes text, pretty or compact or mixed.
///
/// Costs no allocation but in the arena.
///
/// # Errors
/// Line, column and octet offset of the first place where the text is not a message, what was
/// expected there, and the elements that enclose it.
pub fn decode_text<'a>(
    input: &'a [u8],
    arena: &'a Arena,
    options: TextOptions,
) -> Result<Message<'a>, Error> {
    let mut parser = Parser::new(input, arena, options);
    let message = parser.message();
    message.map_err(|_| parser.failure.into_error(parser.at, input, true))
}

impl<'a> Parser<'a> {
    fn message(&mut self) -> Res<Message<'a>> {
        // It belongs to the file that the message was in.
        if self.input.starts_with(&BYTE_ORDER_MARK) {
            self.at = BYTE_ORDER_MARK.len();
        }
        self.skip();
        let auth_header = self.auth_header()?;
        let (version, mid) = self.header()?;
        let body = self.body()?;
        let rest = self.input.get(self.at..).unwrap_or_default();
        let padding = !self.strict && rest.iter().all(|octet| *octet == 0);
        if !rest.is_empty() && !padding {
            return self.fail("a transaction or the end of the message");
        }
        Ok(Message {
            auth_header,
            version,
            mid,
            body,
            extensions: std::mem::replace(&mut self.extensions, self.arena.growing(0))
                .into_bump_slice(),
        })
    }

    pub(super) fn auth_header(&mut self) -> Res<Option<&'a AuthenticationHeader<'a>>> {
        let start = self.at;
        if !matches!(self.peek(), b'A' | b'a') || token(self.word()?) != Token::Auth {
            self.at = start;
            return Ok(None);
        }
        let header = within!(self, "Authentication", {
            (|| {
                self.equals()?;
                let spi = self.hex(4, 4)?;
                self.expect(b':', "`:`")?;
                let seq = self.hex(4, 4)?;
                self.expect(b':', "`:`")?;
                let data = self.hex(12, 32)?;
                let four = |octets: &[u8]| octets.first_chunk().copied().unwrap_or_default();
                Ok(AuthenticationHeader {
                    spi: four(spi),
                    seq: four(seq),
                    data,
                })
            })()
        })?;
        Ok(Some(self.arena.keep(header)))
    }

    /// `0x` and hexadecimal digits of `min` to `max` octets.
    fn hex(&mut self, min: usize, max: usize) -> Res<&'a [u8]> {
        const EXPECTED: &str = "0x and hexadecimal digits";
        let word = self.word()?;
        let digits = match word {
            [b'0', b'x' | b'X', digits @ ..] if digits.len() % 2 == 0 => digits,
            _ => return self.fail_word(ErrorKind::Syntax, EXPECTED),
        };
        if !(min..=max).contains(&(digits.len() / 2)) {
            return self.fail_word(ErrorKind::Range, EXPECTED);
        }
        let mut octets = self.arena.growing(digits.len() / 2);
        for pair in digits.chunks_exact(2) {
            let mut octet = 0;
            for digit in pair {
                match char::from(*digit).to_digit(16) {
                    Some(digit) => octet = octet << 4 | digit,
                    None => return self.fail_word(ErrorKind::Syntax, EXPECTED),
                }
            }
            octets.push(octet as u8);
        }
        Ok(octets.into_bump_slice())
    }

    /// `MEGACO/1` and the name of the sender.
    pub(super) fn header(&mut self) -> Res<(u8, MId<'a>)> {
        const EXPECTED: &str = "MEGACO/ or !/ and a version";
        let word = self.bare_word()?;
        let digits = match word {
            [b'!', b'/', digits @ ..] => digits,
            [name @ .., b'/', _] | [name @ .., b'/', _, _]
                if name.eq_ignore_ascii_case(b"MEGACO") =>
            {
                word.get(7..).unwrap_or_default()
            }
            _ => return self.fail_word(ErrorKind::Syntax, EXPECTED),
        };
        let version = self.number_of(digits, 99, "a version up to 99")? as u8;
        let before = self.at;
        self.skip();
        if self.strict && before == self.at {
            return self.fail("white space after the version");
        }
        let mid = within!(self, "mId", self.mid())?;
        Ok((version, mid))
    }

    fn body(&mut self) -> Res<MessageBody<'a>> {
        let mut transactions = self.arena.growing(1);
        loop {
            let (token, _) = self.token()?;
            if token == Token::Error && transactions.is_empty() {
                let error = within!(self, "Error", self.error_rest())?;
                return Ok(MessageBody::Error(self.arena.keep(error)));
            }
            transactions.push(self.transaction(token)?);
            if matches!(self.peek(), 0) {
                return Ok(MessageBody::Transactions(transactions.into_bump_slice()));
            }
        }
    }

    fn transaction(&mut self, token: Token) -> Res<Transaction<'a>> {
        match token {
            Token::Transaction => {
                within!(self, "Transaction", self.request()).map(Transaction::Request)
            }
            Token::Reply => within!(self, "Reply", self.reply()).map(Transaction::Reply),
            Token::Pending => within!(self, "Pending", {
                (|| {
                    self.equals()?;
                    let id = self.uint32()?;
                    self.open()?;
                    self.expect(b'}', "`}`")?;
                    Ok(Transaction::Pending(TransactionPending { id }))
                })()
            }),
            Token::ResponseAck => {
                within!(self, "TransactionResponseAck", self.acks()).map(Transaction::ResponseAck)
            }
            Token::MessageSegment => within!(self, "Segment", {
                (|| {
                    self.equals()?;
                    let (id, segment_number, segmentation_complete) = self.segment()?;
                    let Some(segment_number) = segment_number else {
                        return self.fail_word(ErrorKind::Syntax, "transaction/segment");
                    };
                    Ok(Transaction::SegmentReply(SegmentReply {
                        id,
                        segment_number,
                        segmentation_complete,
                    }))
                })()
            }),
            _ => self.fail_word(
                ErrorKind::Syntax,
                "Transaction, Reply, Pending, TransactionResponseAck, Segment or Error",
            ),
        }
    }

    fn acks(&mut self) -> Res<&'a [TransactionAck]> {
        const EXPECTED: &str = "transaction or first-last";
        self.open()?;
        let mut acks = self.arena.growing(4);
        loop {
            let word = self.word()?;
            let dash = word.iter().position(|octet| *octet == b'-');
            let (first, last) = word
                .split_at_checked(dash.unwrap_or(word.len()))
                .unwrap_or_default();
            let first = self.number_of(first, u32::MAX, EXPECTED)?;
            let last = match last.get(1..) {
                Some(last) if dash.is_some() => Some(self.number_of(last, u32::MAX, EXPECTED)?),
                _ => None,
            };
            acks.push(TransactionAck { first, last });
            if !self.more()? {
                return Ok(acks.into_bump_slice());
            }
        }
    }

    /// `id`, `id/segment` or `id/segment/END`.
    fn segment(&mut self) -> Res<(u32, Option<u16>, bool)> {
        const EXPECTED: &str = "transaction, or transaction/segment, or transaction/segment/END";
        let word = self.word()?;
        let mut parts = word.splitn(3, |octet| *octet == b'/');
        let id = self.number_of(parts.next().unwrap_or_default(), u32::MAX, EXPECTED)?;
        let Some(segment) = parts.next() else {
            return Ok((id, None, false));
        };
        let segment = self.number_of(segment, 0xffff, EXPECTED)? as u16;
        match parts.next() {
            None => Ok((id, Some(segment), false)),
            Some(end) if token(end) == Token::SegmentationComplete => Ok((id, Some(segment), true)),
            Some(_) => self.fail_word(ErrorKind::Syntax, EXPECTED),
        }
    }

    fn request(&mut self) -> Res<TransactionRequest<'a>> {
        self.equals()?;
        let id = self.uint32()?;
        self.open()?;
        let mut actions = self.arena.growing(1);
        loop {
            actions.push(within!(self, "Context", self.action_request())?);
            if !self.more()? {
                return Ok(TransactionRequest {
                    id,
                    actions: actions.into_bump_slice(),
                });
            }
        }
    }

    /// Reads the rest after the word `Error`: `=502{"text"}`.
    pub(super) fn error_rest(&mut self) -> Res<ErrorDescriptor<'a>> {
        self.equals()?;
        let max = if self.strict { 9999 } else { 0xffff };
        let code = self.number(max, "an error code of up to four digits")? as u16;
        self.open()?;
        let text = if self.peek() == b'"' {
            Some(self.quoted()?)
        } else {
            None
        };
        self.expect(b'}', "a quoted string or `}`")?;
        Ok(ErrorDescriptor { code, text })
    }

    fn reply(&mut self) -> Res<TransactionReply<'a>> {
        self.equals()?;
        let (id, segment_number, segmentation_complete) = self.segment()?;
        self.open()?;
        let mut imm_ack_required = false;
        let mut actions = self.arena.growing(1);
        loop {
            match self.token()?.0 {
                Token::ImmAckRequired if !imm_ack_required && actions.is_empty() => {
                    imm_ack_required = true;
                    self.expect(b',', "`,`")?;
                }
                Token::Error if actions.is_empty() => {
                    let error = within!(self, "Error", self.error_rest())?;
                    self.expect(b'}', "`}`")?;
                    return Ok(TransactionReply {
                        id,
                        imm_ack_required,
                        result: TransactionResult::Error(self.arena.keep(error)),
                        segment_number,
                        segmentation_complete,
                    });
                }
                Token::Context => {
                    actions.push(within!(self, "Context", self.action_reply())?);
                    if !self.more()? {
                        break;
                    }
                }
                _ => {
                    return self.fail_word(ErrorKind::Syntax, "Context, Error or ImmAckRequired");
                }
            }
        }
        Ok(TransactionReply {
            id,
            imm_ack_required,
            result: TransactionResult::Actions(actions.into_bump_slice()),
            segment_number,
            segmentation_complete,
        })
    }
}

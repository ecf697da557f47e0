//! Message, transactions, contexts, commands.

use std::net::Ipv6Addr;

use crate::{
    Error, ErrorKind, Message, TextStyle,
    message::{
        AuthenticationHeader, ErrorDescriptor, MId, MessageBody, Transaction, TransactionAck,
        TransactionReply, TransactionResult,
    },
    text::{token::Token, writer::TextWriter},
};

/// Appends pretty text: long words, a line an element, indented by tabs.
///
/// # Errors
/// [`ErrorKind::NotEncodable`] when something cannot be written as text; nothing is appended then.
pub fn encode_pretty(
    message: &Message<'_>,
    style: TextStyle,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    TextWriter::<true>::new(out, style, message.extensions).message(message)
}

/// Appends compact text: short words and no white space that is not needed.
///
/// # Errors
/// As [`encode_pretty`].
pub fn encode_compact(
    message: &Message<'_>,
    style: TextStyle,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    TextWriter::<false>::new(out, style, message.extensions).message(message)
}

impl MId<'_> {
    /// The name or address as text writes it: `[1.2.3.4]:2944`, `<mgc.example.com>`.
    #[must_use]
    pub fn to_text(&self, style: TextStyle) -> String {
        let mut out = Vec::new();
        TextWriter::<false>::new(&mut out, style, &[]).mid(self);
        String::from_utf8_lossy(&out).into_owned()
    }
}

impl<const PRETTY: bool> TextWriter<'_, PRETTY> {
    fn message(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let start = self.out.len();
        self.version = message.version;
        if let Some(header) = message.auth_header {
            self.auth_header(header);
        }
        self.raw(if PRETTY { b"MEGACO/" } else { b"!/" });
        self.number(u32::from(message.version));
        self.out.push(b' ');
        self.mid(&message.mid);
        self.out.push(b'\n');
        match message.body {
            MessageBody::Error(error) => self.error_descriptor(error),
            MessageBody::Transactions(transactions) => {
                if transactions.is_empty() {
                    self.fail("a message without transactions");
                }
                let mut after_word = false;
                for (at, transaction) in transactions.iter().enumerate() {
                    // A segment ends in a word, and a word would follow: Erlang does not keep them
                    // apart, but then cannot read them either.
                    if after_word || at > 0 && PRETTY && !self.style.erlang {
                        self.out.push(b'\n');
                    }
                    after_word = matches!(transaction, Transaction::SegmentReply(_));
                    self.transaction(transaction);
                }
            }
        }
        match self.error {
            None => Ok(()),
            Some(what) => {
                self.out.truncate(start);
                Err(Error::new(ErrorKind::NotEncodable, what))
            }
        }
    }

    fn auth_header(&mut self, header: &AuthenticationHeader<'_>) {
        self.token(Token::Auth);
        self.equals();
        self.hex(&header.spi);
        self.out.push(b':');
        self.hex(&header.seq);
        self.out.push(b':');
        self.hex(header.data);
        self.out.push(if PRETTY { b'\n' } else { b' ' });
    }

    pub(super) fn mid(&mut self, mid: &MId<'_>) {
        match mid {
            MId::Ip4(ip4) => {
                self.out.push(b'[');
                for octet in ip4.address.octets() {
                    let (text, len) = DOTTED.get(usize::from(octet)).copied().unwrap_or_default();
                    let end = self.out.len().wrapping_add(usize::from(len));
                    self.out.extend_from_slice(&text);
                    self.out.truncate(end);
                }
                if let Some(last) = self.out.last_mut() {
                    *last = b']';
                }
                self.port(ip4.port);
            }
            MId::Ip6(ip6) => {
                self.out.push(b'[');
                self.ip6(ip6.address);
                self.out.push(b']');
                self.port(ip6.port);
            }
            MId::Domain(domain) => {
                self.out.push(b'<');
                self.word(domain.name);
                self.out.push(b'>');
                self.port(domain.port);
            }
            MId::Device(name) => self.word(name),
            MId::Mtp(octets) => {
                let spaced = PRETTY && self.style.erlang;
                self.raw(if spaced { b"MTP { " } else { b"MTP{" });
                for octet in *octets {
                    let digit = |of: u8| b"0123456789ABCDEF"[usize::from(of & 15)];
                    self.out.extend([digit(octet >> 4), digit(*octet)]);
                }
                self.raw(if spaced { b" } " } else { b"}" });
            }
        }
    }

    fn ip6(&mut self, address: Ipv6Addr) {
        // The dotted end that the standard library writes for mapped addresses is legal, too.
        let text = address.to_string();
        if self.style.erlang {
            self.raw(text.to_ascii_uppercase().as_bytes());
        } else {
            self.raw(text.as_bytes());
        }
    }

    fn port(&mut self, port: Option<u16>) {
        if let Some(port) = port {
            self.out.push(b':');
            self.number(u32::from(port));
        }
    }

    fn transaction(&mut self, transaction: &Transaction<'_>) {
        match transaction {
            Transaction::Request(request) => {
                self.token(Token::Transaction);
                self.equals();
                self.number(request.id);
                self.braces(request.actions, Self::action_request);
            }
            Transaction::Pending(pending) => {
                self.token(Token::Pending);
                self.equals();
                self.number(pending.id);
                self.open();
                if PRETTY {
                    self.indent = self.indent.saturating_sub(1);
                    self.line();
                }
                self.out.push(b'}');
            }
            Transaction::Reply(reply) => self.reply(reply),
            Transaction::ResponseAck(acks) => self.acks(acks),
            Transaction::SegmentReply(segment) => {
                self.token(Token::MessageSegment);
                self.equals();
                self.number(segment.id);
                self.segment(Some(segment.segment_number), segment.segmentation_complete);
            }
        }
    }

    fn acks(&mut self, acks: &[TransactionAck]) {
        self.token(Token::ResponseAck);
        self.open();
        self.commas(acks, |w, ack| {
            w.number(ack.first);
            if let Some(last) = ack.last {
                w.out.push(b'-');
                w.number(last);
            }
        });
        self.close();
    }

    fn segment(&mut self, number: Option<u16>, complete: bool) {
        if let Some(number) = number {
            self.out.push(b'/');
            self.number(u32::from(number));
            if complete {
                self.out.push(b'/');
                self.token(Token::SegmentationComplete);
            }
        } else if complete {
            self.fail("the end of segments without a number");
        }
    }

    fn reply(&mut self, reply: &TransactionReply<'_>) {
        self.token(Token::Reply);
        self.equals();
        self.number(reply.id);
        self.segment(reply.segment_number, reply.segmentation_complete);
        self.open();
        if reply.imm_ack_required {
            self.token(Token::ImmAckRequired);
            self.comma();
        }
        match reply.result {
            TransactionResult::Error(error) => self.error_descriptor(error),
            TransactionResult::Actions(actions) => self.commas(actions, Self::action_reply),
        }
        self.close();
    }

    pub(super) fn error_descriptor(&mut self, error: &ErrorDescriptor<'_>) {
        self.token(Token::Error);
        self.equals();
        self.number(u32::from(error.code));
        self.raw(if PRETTY { b" { " } else { b"{" });
        if let Some(text) = error.text {
            self.quoted(text);
        }
        self.raw(if PRETTY { b" } " } else { b"}" });
    }
}

/// The numbers of an address with a dot behind each, and how long that is.
static DOTTED: [([u8; 4], u8); 256] = {
    let mut dotted = [([0; 4], 0); 256];
    let mut value = 0;
    while value < dotted.len() {
        let mut text = [0; 4];
        let mut len = 0;
        let mut unit = 100;
        while unit > 0 {
            if value >= unit || unit == 1 {
                text[len] = b'0' + (value / unit % 10) as u8;
                len += 1;
            }
            unit /= 10;
        }
        text[len] = b'.';
        dotted[value] = (text, len as u8 + 1);
        value += 1;
    }
    dotted
};

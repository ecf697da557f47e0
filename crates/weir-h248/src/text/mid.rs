//! The name or address of a gateway or its controller.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use crate::{
    error::ErrorKind,
    message::{DomainName, Ip4Address, Ip6Address, MId},
    text::lexer::{Parser, Res},
};

impl<'a> Parser<'a> {
    /// The name or address of a gateway or controller.
    pub(super) fn mid(&mut self) -> Res<MId<'a>> {
        match self.peek() {
            b'[' => self.bracketed(),
            b'<' => {
                self.at += 1;
                self.skip();
                let name = self.word()?;
                self.expect(b'>', "`>`")?;
                let port = self.port()?;
                Ok(MId::Domain(DomainName { name, port }))
            }
            _ => {
                let word = self.word()?;
                if word.eq_ignore_ascii_case(b"MTP") && self.peek() == b'{' {
                    self.at += 1;
                    return self.mtp_address().map(MId::Mtp);
                }
                if word.len() > 64 {
                    return self.fail_word(ErrorKind::Range, "a path name of up to 64 characters");
                }
                Ok(MId::Device(word))
            }
        }
    }

    /// Reads the rest after `MTP{`: two hexadecimal digits an octet (RFC 3525 Annex B.2). Some implementations write
    /// the octets themselves, which lenient reading takes.
    fn mtp_address(&mut self) -> Res<&'a [u8]> {
        let content = self.octets()?;
        let digits = content.trim_ascii();
        if matches!(digits.len(), 4 | 6 | 8) && digits.iter().all(u8::is_ascii_hexdigit) {
            let mut octets = self.arena.growing(4);
            for pair in digits.chunks_exact(2) {
                let pair = std::str::from_utf8(pair).unwrap_or_default();
                octets.push(u8::from_str_radix(pair, 16).unwrap_or_default());
            }
            return Ok(octets.into_bump_slice());
        }
        let octets = if content.len() > 4 { digits } else { content };
        if self.strict || !(2..=4).contains(&octets.len()) {
            return self.fail_word(ErrorKind::Syntax, "four, six or eight hexadecimal digits");
        }
        Ok(octets)
    }

    /// `[address]:port`.
    pub(super) fn bracketed(&mut self) -> Res<MId<'a>> {
        if let Some(address) = self.plain_ip4() {
            let port = self.port()?;
            return Ok(MId::Ip4(Ip4Address { address, port }));
        }
        self.word_at = self.at.saturating_add(1);
        let inside = self.input.get(self.word_at..).unwrap_or_default();
        let Some(len) = inside.iter().take(64).position(|octet| *octet == b']') else {
            return self.fail("`]` after an address");
        };
        let address = inside.get(..len).unwrap_or_default().trim_ascii();
        let address = std::str::from_utf8(address).unwrap_or_default();
        let ip4 = ip4(address.as_bytes());
        let ip6 = if ip4.is_none() {
            Ipv6Addr::from_str(address).ok()
        } else {
            None
        };
        let address_at = self.word_at;
        self.at = self.word_at.saturating_add(len).saturating_add(1);
        self.skip();
        let port = self.port()?;
        match (ip4, ip6) {
            (Some(address), _) => Ok(MId::Ip4(Ip4Address { address, port })),
            (None, Some(address)) => Ok(MId::Ip6(Ip6Address { address, port })),
            (None, None) => {
                self.word_at = address_at;
                self.fail_word(ErrorKind::Syntax, "an IP address")
            }
        }
    }

    /// `[1.2.3.4]` without blanks, which is how nearly all are.
    #[inline]
    fn plain_ip4(&mut self) -> Option<Ipv4Addr> {
        let start = self.at.checked_add(1)?;
        let text = self.input.get(start..)?.first_chunk::<16>()?;
        let mut at = 0_usize;
        let mut sum = 0_u32;
        for end in [b'.', b'.', b'.', b']'] {
            let first = at;
            let mut value = 0_u32;
            let mark = loop {
                let octet = *text.get(at)?;
                at = at.wrapping_add(1);
                let digit = octet.wrapping_sub(b'0');
                if digit > 9 {
                    break octet;
                }
                value = value.wrapping_mul(10).wrapping_add(u32::from(digit));
            };
            // A number has one to three digits, and the mark follows.
            if mark != end || value > 255 || !(2..=4).contains(&at.wrapping_sub(first)) {
                return None;
            }
            sum = sum << 8 | value;
        }
        self.word_at = start;
        self.at = start.wrapping_add(at);
        self.skip();
        Some(Ipv4Addr::from_bits(sum))
    }

    pub(super) fn port(&mut self) -> Res<Option<u16>> {
        if self.peek() != b':' {
            return Ok(None);
        }
        // The grammar has no blanks behind the colon: the number has to follow at once.
        self.at = self.at.wrapping_add(1);
        self.uint16().map(Some)
    }
}

/// Four numbers with dots, leading zeros permitted.
fn ip4(text: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut at = 0_usize;
    let mut digits = 0_u8;
    for character in text {
        if *character == b'.' {
            at = at.checked_add(1).filter(|_| digits > 0)?;
            digits = 0;
        } else {
            let digit = character.checked_sub(b'0').filter(|digit| *digit < 10)?;
            let octet = octets.get_mut(at)?;
            *octet = octet.checked_mul(10)?.checked_add(digit)?;
            digits = digits.checked_add(1).filter(|digits| *digits <= 3)?;
        }
    }
    (at == 3 && digits > 0).then(|| Ipv4Addr::from(octets))
}

//! The headers that are kept, and what of them.
//!
//! The packet is built anew in a buffer of zeros: each function copies the fields of a header that do not identify a
//! host, and everything else stays zero.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::Anonymizer;
use crate::sum::{Change, checksum_of, words};

/// Rewrites a packet; gives false when its link type is not known.
pub(crate) fn rewrite(anonymizer: &Anonymizer, link_type: u32, data: &mut [u8]) -> bool {
    let old = data.to_vec();
    data.fill(0);
    let mut writer = PacketWriter {
        anonymizer,
        old: &old,
        new: data,
    };
    match link_type {
        1 => writer.ethernet(0),
        12 | 14 | 101 => writer.ip(0, 0),
        228 => writer.ipv4(0, 0),
        229 => writer.ipv6(0, 0),
        // BSD loopback has an address family of four bytes in either byte order.
        0 | 108 => {
            writer.keep(0, 4);
            writer.ip(4, 0);
        }
        // Linux cooked captures have the address of the sender.
        113 => {
            writer.keep(0, 6);
            writer.mac_address(6);
            writer.keep(14, 2);
            writer.ethertype(14, 16, 0);
        }
        276 => {
            writer.keep(0, 12);
            writer.mac_address(12);
            writer.ethertype(0, 20, 0);
        }
        9 => writer.ppp(0),
        _ => return false,
    };
    true
}

/// Nested headers beyond this are blanked.
const DEPTH_MAX: u8 = 16;

/// A packet that is being written.
struct PacketWriter<'p> {
    anonymizer: &'p Anonymizer,
    old: &'p [u8],
    new: &'p mut [u8],
}

/// The part of a transport checksum outside its own bytes: the change of the addresses, and the new addresses.
#[derive(Clone, Copy, Debug, Default)]
struct Pseudo {
    change: Change,
    /// The sum of the new addresses.
    sum: u64,
    /// True when the payload continues in other fragments, which become zeros.
    goes_on: bool,
}

impl PacketWriter<'_> {
    /// Copies bytes unchanged, all of them or none.
    fn keep(&mut self, at: usize, len: usize) -> bool {
        let end = at.saturating_add(len);
        match (self.old.get(at..end), self.new.get_mut(at..end)) {
            (Some(old), Some(new)) => {
                new.copy_from_slice(old);
                true
            }
            _ => false,
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(new) = self.new.get_mut(at..at.saturating_add(bytes.len())) {
            new.copy_from_slice(bytes);
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.old.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<u16> {
        let bytes = self.old.get(at..at.saturating_add(2))?;
        Some(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]))
    }

    /// A MAC address.
    fn mac_address(&mut self, at: usize) {
        let old = self.old.get(at..).and_then(|rest| rest.first_chunk::<6>());
        if let Some(address) = old.map(|old| self.anonymizer.mac(*old)) {
            self.put(at, &address);
        }
    }

    /// An IPv4 address.
    fn address4(&mut self, at: usize) {
        let old = self.old.get(at..).and_then(|rest| rest.first_chunk::<4>());
        if let Some(address) = old.map(|old| self.anonymizer.ipv4(Ipv4Addr::from(*old))) {
            self.put(at, &address.octets());
        }
    }

    /// An IPv6 address.
    fn address6(&mut self, at: usize) {
        let old = self.old.get(at..).and_then(|rest| rest.first_chunk::<16>());
        if let Some(address) = old.map(|old| self.anonymizer.ipv6(Ipv6Addr::from(*old))) {
            self.put(at, &address.octets());
        }
    }

    /// Updates the checksum at a place by the bytes that were changed from `start` on, and by `more` (RFC 1624).
    fn fix_checksum(&mut self, at: usize, start: usize, end: usize, more: Change) {
        let Some(checksum) = self.word(at) else {
            return;
        };
        let end = end.min(self.old.len());
        let mut change = more;
        // The checksum itself is no part of what it covers.
        let skipped = at.saturating_add(2);
        for (from, to) in [(start, at), (skipped, end)] {
            if let (Some(old), Some(new)) = (self.old.get(from..to), self.new.get(from..to)) {
                change.bytes(old, new);
            }
        }
        self.put(at, &change.applied(checksum).to_be_bytes());
    }

    /// Computes the checksum at a place anew, over the new bytes and `more`: the payload in other fragments becomes
    /// zeros, which add nothing. The old checksum is of no use here, as the first fragment does not have all the bytes
    /// that it covers.
    fn compute_checksum(&mut self, at: usize, start: usize, end: usize, more: u64) {
        self.put(at, &[0, 0]);
        let end = end.min(self.new.len());
        let sum = more.saturating_add(self.new.get(start..end).map_or(0, words));
        self.put(at, &checksum_of(sum).to_be_bytes());
    }

    fn ethernet(&mut self, at: usize) {
        self.mac_address(at);
        self.mac_address(at.saturating_add(6));
        self.typed(at.saturating_add(12), at.saturating_add(14), 0);
    }

    /// A type, or a length in its place, and what stands behind it.
    fn typed(&mut self, type_at: usize, at: usize, depth: u8) {
        if self.keep(type_at, 2) {
            self.ethertype(type_at, at, depth);
        }
    }

    fn ethertype(&mut self, type_at: usize, at: usize, depth: u8) {
        let Some(ethertype) = self.word(type_at).filter(|_| depth < DEPTH_MAX) else {
            return;
        };
        match ethertype {
            0x0800 => self.ipv4(at, depth),
            0x86dd => self.ipv6(at, depth),
            0x0806 => self.arp(at),
            // A VLAN tag has two bytes of control information and another type.
            0x8100 | 0x88a8 | 0x9100 if self.keep(at, 2) => {
                self.typed(at.saturating_add(2), at.saturating_add(4), depth + 1);
            }
            0x8847 | 0x8848 => self.mpls(at, depth),
            0x8864 if self.keep(at, 6) => {
                self.ppp(at.saturating_add(6));
            }
            _ => {}
        }
    }

    /// A protocol of PPP in two bytes, perhaps behind address and control.
    fn ppp(&mut self, at: usize) {
        let at = match self.word(at) {
            Some(0xff03) if self.keep(at, 2) => at.saturating_add(2),
            _ => at,
        };
        if !self.keep(at, 2) {
            return;
        }
        match self.word(at) {
            Some(0x0021) => self.ipv4(at.saturating_add(2), 1),
            Some(0x0057) => self.ipv6(at.saturating_add(2), 1),
            _ => {}
        }
    }

    /// Labels down to the bottom, and IP behind them.
    fn mpls(&mut self, at: usize, depth: u8) {
        let mut at = at;
        for _ in 0..DEPTH_MAX {
            let Some(last) = self.byte(at.saturating_add(2)).filter(|_| self.keep(at, 4)) else {
                return;
            };
            at = at.saturating_add(4);
            if last & 1 == 1 {
                return self.ip(at, depth + 1);
            }
        }
    }

    /// ARP for IPv4 over Ethernet (RFC 826); others are blanked.
    fn arp(&mut self, at: usize) {
        let is_usual = self
            .old
            .get(at..)
            .is_some_and(|arp| arp.starts_with(&[0, 1, 8, 0, 6, 4]));
        if is_usual && self.keep(at, 8) {
            self.mac_address(at.saturating_add(8));
            self.address4(at.saturating_add(14));
            self.mac_address(at.saturating_add(18));
            self.address4(at.saturating_add(24));
        }
    }

    /// IP of the version in its first field.
    fn ip(&mut self, at: usize, depth: u8) {
        match self.byte(at).map(|byte| byte >> 4) {
            Some(4) => self.ipv4(at, depth),
            Some(6) => self.ipv6(at, depth),
            _ => {}
        }
    }

    fn ipv4(&mut self, at: usize, depth: u8) {
        let Some(first) = self
            .byte(at)
            .filter(|first| first >> 4 == 4 && depth < DEPTH_MAX)
        else {
            return;
        };
        let header = usize::from(first & 15) * 4;
        if header < 20 || !self.keep(at, 12) {
            return;
        }
        self.address4(at.saturating_add(12));
        self.address4(at.saturating_add(16));
        let behind = at.saturating_add(header);
        // Options may hold addresses of routes, so all of them become no-operation options.
        for option in at.saturating_add(20)..behind {
            self.put(option, &[1]);
        }
        self.fix_checksum(at.saturating_add(10), at, behind, Change::default());
        let mut pseudo = Pseudo::default();
        pseudo.add(self, at.saturating_add(12), 8);
        let end = self.word(at.saturating_add(2)).map(usize::from);
        // Segmentation offload leaves the length out.
        let end = match end {
            Some(len) if len > 0 => at.saturating_add(len),
            _ => self.old.len(),
        };
        let flags = self.word(at.saturating_add(6));
        let is_later = flags.is_none_or(|flags| flags & 0x1fff != 0);
        pseudo.goes_on = flags.is_some_and(|flags| flags & 0x2000 != 0);
        if let (Some(protocol), false) = (self.byte(at.saturating_add(9)), is_later) {
            self.transport(protocol, behind, end, pseudo, depth);
        }
    }

    fn ipv6(&mut self, at: usize, depth: u8) {
        let is_six = self.byte(at).is_some_and(|first| first >> 4 == 6);
        if !is_six || depth >= DEPTH_MAX || !self.keep(at, 8) {
            return;
        }
        self.address6(at.saturating_add(8));
        self.address6(at.saturating_add(24));
        let mut pseudo = Pseudo::default();
        pseudo.add(self, at.saturating_add(8), 32);
        let end = match self.word(at.saturating_add(4)).map(usize::from) {
            Some(len) if len > 0 => at.saturating_add(40).saturating_add(len),
            _ => self.old.len(),
        };
        let mut next = self.byte(at.saturating_add(6));
        let mut at = at.saturating_add(40);
        // Extension headers: their number and length stay, of a fragment all of it.
        for _ in 0..DEPTH_MAX {
            match next {
                Some(0 | 60) => {
                    let Some(length) = self.byte(at.saturating_add(1)) else {
                        return;
                    };
                    let length = usize::from(length) * 8 + 8;
                    self.keep(at, 2);
                    // Options may hold addresses: one option of padding is as long.
                    self.put(at.saturating_add(2), &[1, (length - 4).min(255) as u8]);
                    next = self.byte(at);
                    at = at.saturating_add(length);
                }
                Some(44) => {
                    if !self.keep(at, 8) {
                        return;
                    }
                    let offset = self.word(at.saturating_add(2));
                    if offset.is_none_or(|offset| offset & 0xfff8 != 0) {
                        return;
                    }
                    pseudo.goes_on = offset.is_some_and(|offset| offset & 1 != 0);
                    next = self.byte(at);
                    at = at.saturating_add(8);
                }
                // Routes are addresses, and the last of them is what the checksum above covers.
                Some(protocol) => return self.transport(protocol, at, end, pseudo, depth),
                None => return,
            }
        }
    }

    /// Rewrites the payload of IP.
    fn transport(&mut self, protocol: u8, at: usize, end: usize, pseudo: Pseudo, depth: u8) {
        match protocol {
            6 => self.tcp(at, end, pseudo),
            17 => self.udp(at, end, pseudo),
            1 => self.icmp(at, end, pseudo.goes_on, depth),
            58 => self.icmpv6(at, end, pseudo, depth),
            // The checksum of SCTP is not a sum, and zeros mean that it was not computed.
            132 => {
                self.keep(at, 8);
            }
            4 => self.ipv4(at, depth + 1),
            41 => self.ipv6(at, depth + 1),
            47 => self.gre(at, depth),
            _ => {}
        }
    }

    fn tcp(&mut self, at: usize, end: usize, pseudo: Pseudo) {
        if !self.keep(at, 20) {
            // A packet quoted in an ICMP error may be truncated.
            self.keep(at, 8);
            return;
        }
        let header = self.byte(at.saturating_add(12)).unwrap_or_default() >> 4;
        let behind = at.saturating_add(usize::from(header) * 4);
        self.tcp_options(at.saturating_add(20), behind.min(end));
        self.fix_checksum(at.saturating_add(16), at, end, pseudo.change);
    }

    /// Options without addresses stay; all others become no-operation options.
    fn tcp_options(&mut self, from: usize, end: usize) {
        let mut at = from;
        while at < end {
            match self.byte(at) {
                Some(0) => {
                    for rest in at..end {
                        self.put(rest, &[0]);
                    }
                    return;
                }
                Some(1) => {
                    self.put(at, &[1]);
                    at += 1;
                }
                Some(kind) => {
                    let len = usize::from(self.byte(at + 1).unwrap_or_default()).max(2);
                    let behind = at.saturating_add(len);
                    // These are the maximum segment size, the window scale, both options of SACK, and timestamps.
                    let is_plain = matches!(
                        (kind, len),
                        (2, 4) | (3, 3) | (4, 2) | (5, 10 | 18 | 26 | 34) | (8, 10)
                    );
                    if behind > end || !is_plain || !self.keep(at, len) {
                        for option in at..behind.min(end) {
                            self.put(option, &[1]);
                        }
                    }
                    at = behind;
                }
                None => return,
            }
        }
    }

    fn udp(&mut self, at: usize, end: usize, pseudo: Pseudo) {
        if !self.keep(at, 8) {
            return;
        }
        let checksum_at = at.saturating_add(6);
        if self.word(checksum_at) == Some(0) {
            return;
        }
        if pseudo.goes_on {
            let length = self.word(at.saturating_add(4)).unwrap_or_default();
            let more = pseudo.sum.saturating_add(17).saturating_add(length.into());
            self.compute_checksum(checksum_at, at, end, more);
        } else {
            self.fix_checksum(checksum_at, at, end, pseudo.change);
        }
        // A sum of zero is sent as all ones, since zero means that there is no checksum (RFC 768).
        let checksum = self.new.get(checksum_at..checksum_at.saturating_add(2));
        if checksum == Some(&[0, 0][..]) {
            self.put(checksum_at, &[0xff, 0xff]);
        }
    }

    fn icmp(&mut self, at: usize, end: usize, goes_on: bool, depth: u8) {
        let Some(kind) = self.byte(at).filter(|_| self.keep(at, 8)) else {
            return;
        };
        match kind {
            // A redirect has the address of a gateway (RFC 792).
            5 => self.address4(at.saturating_add(4)),
            0 | 3 | 4 | 8 | 11..=14 | 17 | 18 => {}
            _ => self.put(at.saturating_add(4), &[0; 4]),
        }
        if matches!(kind, 3..=5 | 11 | 12) {
            self.ipv4(at.saturating_add(8), depth + 1);
        }
        match goes_on {
            true => self.compute_checksum(at.saturating_add(2), at, end, 0),
            false => self.fix_checksum(at.saturating_add(2), at, end, Change::default()),
        }
    }

    fn icmpv6(&mut self, at: usize, end: usize, pseudo: Pseudo, depth: u8) {
        let Some(kind) = self.byte(at).filter(|_| self.keep(at, 4)) else {
            return;
        };
        let body = at.saturating_add(8);
        match kind {
            1..=4 => {
                self.keep(at, 8);
                self.ipv6(body, depth + 1);
            }
            128 | 129 | 133 => {
                self.keep(at, 8);
            }
            // Solicitations and advertisements of neighbours have a target address (RFC 4861, 4.3 and 4.4).
            135 | 136 => {
                self.keep(at, 8);
                self.address6(body);
            }
            _ => {}
        }
        self.fix_checksum(at.saturating_add(2), at, end, pseudo.change);
    }

    /// GRE without routing (RFC 2784, 2890).
    fn gre(&mut self, at: usize, depth: u8) {
        let Some(flags) = self.word(at).filter(|flags| flags & 0x4007 == 0) else {
            return;
        };
        if !self.keep(at, 4) {
            return;
        }
        let (has_checksum, has_key, has_number) = (
            flags & 0x8000 != 0,
            flags & 0x2000 != 0,
            flags & 0x1000 != 0,
        );
        let words = [has_checksum, has_key, has_number];
        let words = words.iter().filter(|is_there| **is_there).count();
        let behind = at.saturating_add(4 + words * 4);
        self.keep(at.saturating_add(4), words * 4);
        self.ethertype(at.saturating_add(2), behind, depth + 1);
        if has_checksum {
            let end = self.old.len();
            self.fix_checksum(at.saturating_add(4), at, end, Change::default());
        }
    }
}

impl Pseudo {
    fn add(&mut self, writer: &PacketWriter<'_>, at: usize, len: usize) {
        let end = at.saturating_add(len);
        if let (Some(old), Some(new)) = (writer.old.get(at..end), writer.new.get(at..end)) {
            self.change.bytes(old, new);
            self.sum = self.sum.saturating_add(words(new));
        }
    }
}

#[cfg(test)]
mod tests;

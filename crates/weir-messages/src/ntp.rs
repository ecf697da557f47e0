//! NTP (RFC 5905) and its older versions: one packet.

use weir_bytes::{array_at, u8_at, u32_be_at, u64_be_at};

/// Port of both sides.
pub const PORT: u16 = 123;

/// A packet whose fixed part is there, or its beginning: of the time, or a control or private message (modes 6 and 7), of which the first
/// octet alone is read.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'m>(&'m [u8]);

/// Octets without extensions.
const HEADER_OCTETS: usize = 48;
/// Octets up to the precision, in front of the times.
const BEGINNING_OCTETS: usize = 4;
/// Octets of the header of a control message (RFC 9327, 2), and of a private one as ntpd has it.
const CONTROL_OCTETS: usize = 12;
const PRIVATE_OCTETS: usize = 8;
/// Modes of control messages and of private ones (RFC 5905, 7.3).
const CONTROL: u8 = 6;
const PRIVATE: u8 = 7;
/// The seconds from 1900 to 1970.
const EPOCH: i64 = 2_208_988_800;
/// The start of the year 2000, in seconds of NTP.
const YEAR_2000: u32 = 3_155_673_600;

impl<'m> Packet<'m> {
    /// A view of a packet; `None` for bytes that do not begin with the first word of a header of NTP's versions 1 to 4. The mode 0 is that
    /// of version 1, which has none (RFC 1059, appendix B). Between other ports than [`PORT`], where these bytes may be anything, it must be
    /// a usual packet between client and server: its length, its stratum and its transmit timestamp are checked, too.
    #[must_use]
    pub fn new(bytes: &'m [u8], ports: [u16; 2]) -> Option<Self> {
        let first = u8_at(bytes, 0)?;
        let (mode, version) = (first & 7, first >> 3 & 7);
        let octets = match mode {
            CONTROL => CONTROL_OCTETS,
            PRIVATE => PRIVATE_OCTETS,
            _ => BEGINNING_OCTETS,
        };
        let is_header =
            bytes.len() >= octets && (1..=4).contains(&version) && (mode > 0 || version == 1);
        let is_plausible = matches!(bytes.len(), 48 | 68 | 72)
            && matches!(mode, 3 | 4)
            && matches!(version, 3 | 4)
            && u8_at(bytes, 1) <= Some(16)
            && u32_be_at(bytes, 40) >= Some(YEAR_2000);
        (is_header && (ports.contains(&PORT) || is_plausible)).then_some(Self(bytes))
    }

    /// Whether it is about the time, and no control or private message.
    #[must_use]
    pub fn is_of_time(&self) -> bool {
        self.mode() < CONTROL
    }

    /// Whether all of the header is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.is_of_time() || self.0.len() >= HEADER_OCTETS
    }

    fn octet(&self, at: usize) -> u8 {
        u8_at(self.0, at).unwrap_or_default()
    }

    /// Leap seconds to come; 3 when the clock is not set. Private messages have other flags there.
    #[must_use]
    pub fn leap(&self) -> u8 {
        self.octet(0) >> 6
    }

    /// Version.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.octet(0) >> 3 & 7
    }

    /// Mode: 3 client, 4 server, 5 broadcast, 6 control, 7 private.
    #[must_use]
    pub fn mode(&self) -> u8 {
        self.octet(0) & 7
    }

    /// Distance to a clock: 1 has one.
    #[must_use]
    pub fn stratum(&self) -> u8 {
        self.octet(1)
    }

    /// Time between packets, as a power of two of seconds.
    #[must_use]
    pub fn poll(&self) -> u8 {
        self.octet(2)
    }

    /// Precision of the clock, as a power of two of seconds.
    #[must_use]
    pub fn precision(&self) -> i8 {
        i8::from_be_bytes([self.octet(3)])
    }

    /// Time to the clock and back, in seconds; `None` where the packet ends before, as of the fields below.
    #[must_use]
    pub fn root_delay(&self) -> Option<f64> {
        self.seconds(4)
    }

    /// The maximum error, in seconds.
    #[must_use]
    pub fn root_dispersion(&self) -> Option<f64> {
        self.seconds(8)
    }

    /// A number of seconds with sixteen bits behind the point.
    fn seconds(&self, at: usize) -> Option<f64> {
        u32_be_at(self.0, at).map(|number| f64::from(number) / 65_536.0)
    }

    /// The kind of the reference clock, or its server.
    #[must_use]
    pub fn reference_id(&self) -> Option<[u8; 4]> {
        array_at(self.0, 12)
    }

    /// A time in nanoseconds since 1970; `None` when it is not set. Times before 1968 are of the era that begins in
    /// 2036 (RFC 5905, 6).
    fn time(&self, at: usize) -> Option<i64> {
        let value = u64_be_at(self.0, at).filter(|value| *value > 0)?;
        let seconds = i64::from((value >> 32) as u32);
        let era = if value >> 63 == 0 { 1_i64 << 32 } else { 0 };
        let fraction = ((value & 0xffff_ffff) * 1_000_000_000) >> 32;
        let seconds = seconds + era - EPOCH;
        seconds
            .checked_mul(1_000_000_000)?
            .checked_add(i64::try_from(fraction).ok()?)
    }

    /// When the clock was set last.
    #[must_use]
    pub fn reference_time(&self) -> Option<i64> {
        self.time(16)
    }

    /// When the client asked, by its clock.
    #[must_use]
    pub fn origin_time(&self) -> Option<i64> {
        self.time(24)
    }

    /// When the server got it, by its clock.
    #[must_use]
    pub fn receive_time(&self) -> Option<i64> {
        self.time(32)
    }

    /// When this was sent, by the sender's clock.
    #[must_use]
    pub fn transmit_time(&self) -> Option<i64> {
        self.time(40)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Vec<u8> {
        let mut bytes = vec![0; 48];
        bytes[..4].copy_from_slice(&[0x24, 2, 6, 0xe9]);
        bytes[40..48].copy_from_slice(&[0xc6, 0x5a, 0x6d, 0x15, 0x80, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_packet_is_read() {
        let bytes = packet();
        let packet = Packet::new(&bytes, [1, 2]).unwrap();
        assert_eq!(
            (packet.version(), packet.mode(), packet.stratum()),
            (4, 4, 2)
        );
        assert_eq!(packet.precision(), -23);
        // 2005-06-14T10:42:29.5 by `date -u -d @$((0xc65a6d15 - 2208988800))`.
        assert_eq!(
            packet.transmit_time(),
            Some((0xc65a_6d15_i64 - 2_208_988_800) * 1_000_000_000 + 500_000_000)
        );
        assert_eq!(packet.origin_time(), None);
    }

    /// Control and private messages were left out.
    #[test]
    fn control_and_private_messages_are_packets_on_the_port() {
        let control = [0x16, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let private = [0x97, 0, 3, 42, 0, 0, 0, 0];
        for (bytes, mode) in [(&control[..], 6), (&private[..], 7)] {
            let packet = Packet::new(bytes, [40_000, PORT]).unwrap();
            assert_eq!((packet.version(), packet.mode()), (2, mode));
            assert!(!packet.is_of_time());
            assert!(Packet::new(bytes, [1, 2]).is_none());
            let cut = &bytes[..bytes.len() - 1];
            assert!(Packet::new(cut, [40_000, PORT]).is_none());
        }
        // Version 1 has no mode; what has neither is no packet.
        let mut bytes = packet();
        bytes[0] = 0x08;
        let old = Packet::new(&bytes, [PORT, PORT]).unwrap();
        assert_eq!((old.version(), old.mode(), old.is_of_time()), (1, 0, true));
        bytes[0] = 0x20;
        assert!(Packet::new(&bytes, [PORT, PORT]).is_none());
    }

    /// Packets that end within their header were not read.
    #[test]
    fn prefixes_are_read_as_far_as_they_go() {
        let bytes = packet();
        for length in 0..=48 {
            let packet = Packet::new(&bytes[..length], [123, 123]);
            assert_eq!(packet.is_some(), length >= 4, "{length}");
            let Some(packet) = packet else {
                continue;
            };
            assert_eq!((packet.stratum(), packet.precision()), (2, -23));
            assert_eq!(packet.root_delay().is_some(), length >= 8);
            assert_eq!(packet.root_dispersion().is_some(), length >= 12);
            assert_eq!(packet.reference_id().is_some(), length >= 16);
            assert_eq!(packet.transmit_time().is_some(), length == 48);
            assert_eq!(packet.is_whole(), length == 48);
            let elsewhere = Packet::new(&bytes[..length], [1, 2]);
            assert_eq!(elsewhere.is_some(), length == 48);
        }
    }
}

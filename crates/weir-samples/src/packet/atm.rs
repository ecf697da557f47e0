//! ATM: cells, AAL5 units and their cells, RFC 2684 encapsulations, SunATM.

use super::{checksum, length_u16, link::llc_snap};

/// The header of a cell at a user-network interface (ITU-T I.361 section 2.2.1).
///
/// ```
/// use weir_samples::packet::{CellHeader, aal5_unit};
///
/// let header = CellHeader::new(0, 100);
/// assert_eq!(header.bytes(), [0x00, 0x00, 0x06, 0x40]);
/// let cells: Vec<[u8; 52]> = header.segment(&aal5_unit(b"forty-one bytes of payload need two cells", 0));
/// assert_eq!(cells.len(), 2);
/// assert_eq!((cells[0][3] & 2, cells[1][3] & 2), (0, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellHeader {
    /// Generic flow control, four bits.
    pub flow_control: u8,
    /// Virtual path identifier.
    pub vpi: u8,
    /// Virtual channel identifier.
    pub vci: u16,
    /// Payload type, three bits: 0 user data, 1 the last cell of an AAL5 unit, 4 and 5 OAM.
    pub payload_type: u8,
    /// Cell loss priority: true may be discarded first.
    pub loss_priority: bool,
}

impl CellHeader {
    /// User data on a virtual channel.
    #[must_use]
    pub const fn new(vpi: u8, vci: u16) -> Self {
        Self {
            flow_control: 0,
            vpi,
            vci,
            payload_type: 0,
            loss_priority: false,
        }
    }

    /// The same header with another payload type.
    #[must_use]
    pub const fn payload_type(mut self, payload_type: u8) -> Self {
        self.payload_type = payload_type;
        self
    }

    /// The header without HEC, as ERF and the 64-byte records carry it.
    #[must_use]
    pub fn bytes(&self) -> [u8; 4] {
        let word = (u32::from(self.flow_control & 0x0f) << 28)
            | (u32::from(self.vpi) << 20)
            | (u32::from(self.vci) << 4)
            | (u32::from(self.payload_type & 7) << 1)
            | u32::from(self.loss_priority);
        word.to_be_bytes()
    }

    /// A cell of 52 bytes, without HEC.
    #[must_use]
    pub fn cell(&self, payload: &[u8; 48]) -> [u8; 52] {
        let mut cell = [0; 52];
        cell[..4].copy_from_slice(&self.bytes());
        cell[4..].copy_from_slice(payload);
        cell
    }

    /// The cells of an AAL5 unit, the last one marked. Bytes beyond the last multiple of 48 are
    /// left out; [`aal5_unit`] leaves none.
    #[must_use]
    pub fn segment(&self, unit: &[u8]) -> Vec<[u8; 52]> {
        let (payloads, _) = unit.as_chunks::<48>();
        let last = payloads.len().saturating_sub(1);
        let kind = self.payload_type & 6;
        let cells = payloads.iter().enumerate();
        cells
            .map(|(index, payload)| {
                let marked = self.payload_type(kind | u8::from(index == last));
                marked.cell(payload)
            })
            .collect()
    }
}

/// An AAL5 unit (ITU-T I.363.5 section 9.2.1): payload, padding to a multiple of 48 bytes, and the
/// trailer of user-to-user byte, CPI 0, length and CRC-32.
///
/// # Panics
/// When the payload exceeds 65,535 bytes.
#[must_use]
pub fn aal5_unit(payload: &[u8], user_to_user: u8) -> Vec<u8> {
    let mut unit = payload.to_vec();
    let padded_len = (payload.len() + 8).next_multiple_of(48);
    unit.resize(padded_len - 8, 0);
    unit.extend_from_slice(&[user_to_user, 0]);
    unit.extend_from_slice(&length_u16(payload.len()).to_be_bytes());
    let crc = checksum::crc32_aal5(&unit);
    unit.extend_from_slice(&crc.to_be_bytes());
    unit
}

/// A routed protocol in LLC/SNAP encapsulation (RFC 2684 section 5.1), payload of an AAL5 unit.
#[must_use]
pub fn aal5_llc(ethertype: u16, packet: &[u8]) -> Vec<u8> {
    llc_snap([0, 0, 0], ethertype, packet)
}

/// An ISO protocol in LLC encapsulation (RFC 2684 section 5.1): FE FE 03 and an NLPID.
#[must_use]
pub fn aal5_iso(nlpid: u8, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xfe, 0xfe, 0x03, nlpid];
    bytes.extend_from_slice(packet);
    bytes
}

/// A bridged Ethernet frame without FCS in LLC/SNAP encapsulation (RFC 2684 section 5.2), behind
/// two bytes of padding.
#[must_use]
pub fn aal5_bridged_ethernet(frame: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0];
    bytes.extend_from_slice(frame);
    llc_snap([0x00, 0x80, 0xc2], 0x0007, &bytes)
}

/// The payload of a SunATM frame, by the low four bits of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SunAtmTraffic {
    /// LAN emulation.
    Lane,
    /// LLC encapsulation.
    Llc,
    /// Integrated local management interface.
    Ilmi,
    /// Signalling, ITU-T Q.2931 over SSCOP.
    Signalling,
}

/// A frame of link type 123: a byte of direction and traffic type, VPI, VCI, payload. The high bit
/// of the first byte tells frames that the host sent (`from_host`).
#[must_use]
pub fn sun_atm(
    from_host: bool,
    traffic: SunAtmTraffic,
    vpi: u8,
    vci: u16,
    payload: &[u8],
) -> Vec<u8> {
    let kind = match traffic {
        SunAtmTraffic::Lane => 1,
        SunAtmTraffic::Llc => 2,
        SunAtmTraffic::Ilmi => 5,
        SunAtmTraffic::Signalling => 6,
    };
    let mut frame = vec![(u8::from(from_host) << 7) | kind, vpi];
    frame.extend_from_slice(&vci.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

//! The interpretation of ambiguous traffic, and the limits of the decoder's memory.

/// The interpretation of ambiguous traffic, and the limits of the decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The contents of HDLC frames in ERF records.
    pub erf_hdlc: ErfHdlc,
    /// The contents of AAL5 PDUs without an LLC header.
    pub atm_vc_mux: AtmVcMux,
    /// Most ATM connections whose PDUs are incomplete at one time; 65,536 by default. When there
    /// are more, all cells that wait are dropped and counted.
    pub aal5_connections_max: usize,
    /// Most bytes of cells that wait for the end of their PDU; 64 MiB by default. When there are
    /// more, all are dropped and counted.
    pub aal5_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            erf_hdlc: ErfHdlc::default(),
            atm_vc_mux: AtmVcMux::default(),
            aal5_connections_max: 1 << 16,
            aal5_bytes_max: 64 << 20,
        }
    }
}

/// The contents of HDLC frames in ERF records, which the record does not determine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErfHdlc {
    /// Each frame tells: 0F and 8F begin Cisco HDLC; a two-byte Q.922 address, 03 and an
    /// identifier of RFC 2427 are frame relay; the rest is PPP.
    #[default]
    Guess,
    /// Cisco HDLC.
    Chdlc,
    /// PPP.
    Ppp,
    /// Frame relay.
    FrameRelay,
    /// Message transfer part 2 of signalling system 7, which is not decoded further.
    Mtp2,
}

/// The contents of AAL5 PDUs without an LLC header (RFC 2684, 6). A PDU that begins with AA AA 03 has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtmVcMux {
    /// Each PDU tells: FE FE 03 begin LLC; a second byte 21 PPP with IPv4; two zeros bridged
    /// Ethernet; an address, 03 and an identifier frame relay; 4 or 6 in the first four bits IP.
    #[default]
    Guess,
    /// All PDUs have an LLC header.
    Llc,
    /// IPv4 or IPv6, by the version number.
    Ip,
    /// Ethernet frames behind two bytes of padding.
    BridgedEthernet,
    /// PPP (RFC 2364).
    Ppp,
    /// Something that is not decoded.
    Opaque,
}

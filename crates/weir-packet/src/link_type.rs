//! The link types of captures (the LINKTYPE_ registry of the pcap formats).

/// The first header of a captured frame: a LINKTYPE_ number of the pcap and pcapng formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: a protocol family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// IEEE 802.3 Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// SunATM devices: direction and type, VPI, VCI, then the PDU.
    pub const SUNATM: Self = Self(123);
    /// Endace ERF record, header included.
    pub const ERF: Self = Self(197);

    /// Bytes of `data` that the capturing system put before the frame and that do not count in
    /// `frame.len`, as Wireshark counts: the ERF header, SunATM's four bytes, and the like.
    #[inline]
    #[must_use]
    pub fn pseudo_header_len(self, data: &[u8]) -> u32 {
        match self {
            Self::ETHERNET => 0,
            _ => self.rare_pseudo_header_len(data),
        }
    }

    fn rare_pseudo_header_len(self, data: &[u8]) -> u32 {
        match self.0 {
            // SunATM: direction, VPI, VCI.
            123 => 4,
            // ERF: record header, extension headers, the header of the record's type.
            197 => crate::protocol::erf_header_len(data)
                .and_then(|len| u32::try_from(len).ok())
                .unwrap_or(u32::MAX),
            // Linux IrDA and LAPD: a cooked header.
            144 | 177 => 16,
            // MTP2: direction and link; Bluetooth H4: direction; Bluetooth monitor: opcode.
            139 | 201 | 254 => 4,
            // SITA.
            196 => 5,
            // PPP and frame relay with a byte of direction.
            204 | 206 => 1,
            // I2C: bus and flags.
            209 => 5,
            // NFC LLCP: adapter and direction.
            245 => 2,
            _ => 0,
        }
    }

    /// Length on the wire that the capturing system's own header in `data` tells, which counts
    /// more than what the capture says: ERF's, whose records are padded.
    #[inline]
    pub(crate) fn inner_wire_len(self, data: &[u8]) -> Option<u32> {
        match self {
            Self::ERF => crate::protocol::erf_wire_len(data),
            _ => None,
        }
    }

    /// The name in the registry without `LINKTYPE_`, such as `USB_LINUX_MMAPPED`. Link types of snoop and NetMon captures that are
    /// not in the registry are named after their formats.
    ///
    /// ```
    /// assert_eq!(weir_packet::LinkType(276).name(), Some("LINUX_SLL2"));
    /// ```
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        if (147..=162).contains(&self.0) {
            return Some("USER");
        }
        let found = NAMES.binary_search_by_key(&self.0, |(number, _)| *number);
        NAMES.get(found.ok()?).map(|(_, name)| *name)
    }

    /// Whether a link type has a number in the registry (up to 2025), decoded or not. A frame of one that is not decoded is a row
    /// without columns, and not damage.
    pub(crate) const fn is_registered(self) -> bool {
        matches!(self.0, 0..=19 | 32 | 50..=51 | 98..=109 | 112..=166 | 169..=301)
    }
}

/// The names of the registry, without LINKTYPE_, in the order of their numbers.
const NAMES: &[(u32, &str)] = &[
    (0, "NULL"),
    (1, "ETHERNET"),
    (2, "EXP_ETHERNET"),
    (3, "AX25"),
    (4, "PRONET"),
    (5, "CHAOS"),
    (6, "IEEE802_5"),
    (7, "ARCNET_BSD"),
    (8, "SLIP"),
    (9, "PPP"),
    (10, "FDDI"),
    (12, "RAW"),
    (14, "RAW"),
    (50, "PPP_HDLC"),
    (51, "PPP_ETHER"),
    (99, "SYMANTEC_FIREWALL"),
    (100, "ATM_RFC1483"),
    (101, "RAW"),
    (104, "C_HDLC"),
    (105, "IEEE802_11"),
    (106, "ATM_CLIP"),
    (107, "FRELAY"),
    (108, "LOOP"),
    (109, "ENC"),
    (113, "LINUX_SLL"),
    (114, "LTALK"),
    (115, "ECONET"),
    (117, "PFLOG"),
    (119, "IEEE802_11_PRISM"),
    (122, "IP_OVER_FC"),
    (123, "SUNATM"),
    (127, "IEEE802_11_RADIOTAP"),
    (129, "ARCNET_LINUX"),
    (138, "APPLE_IP_OVER_IEEE1394"),
    (139, "MTP2_WITH_PHDR"),
    (140, "MTP2"),
    (141, "MTP3"),
    (142, "SCCP"),
    (143, "DOCSIS"),
    (144, "LINUX_IRDA"),
    (163, "IEEE802_11_AVS"),
    (165, "BACNET_MS_TP"),
    (166, "PPP_PPPD"),
    (169, "GPRS_LLC"),
    (170, "GPF_T"),
    (171, "GPF_F"),
    (177, "LINUX_LAPD"),
    (182, "MFR"),
    (186, "USB_FREEBSD"),
    (187, "BLUETOOTH_HCI_H4"),
    (188, "IEEE802_16_MAC_CPS"),
    (189, "USB_LINUX"),
    (190, "CAN20B"),
    (192, "PPI"),
    (195, "IEEE802_15_4_WITHFCS"),
    (196, "SITA"),
    (197, "ERF"),
    (199, "AX25_KISS"),
    (201, "BLUETOOTH_HCI_H4_WITH_PHDR"),
    (202, "AX25_KISS"),
    (203, "LAPD"),
    (204, "PPP_WITH_DIR"),
    (205, "C_HDLC_WITH_DIR"),
    (206, "FRELAY_WITH_DIR"),
    (207, "LAPB_WITH_DIR"),
    (209, "IPMB_LINUX"),
    (215, "IEEE802_15_4_NONASK_PHY"),
    (216, "LINUX_EVDEV"),
    (219, "MPLS"),
    (220, "USB_LINUX_MMAPPED"),
    (221, "DECT"),
    (224, "FC_2"),
    (225, "FC_2_WITH_FRAME_DELIMS"),
    (226, "IPNET"),
    (227, "CAN_SOCKETCAN"),
    (228, "IPV4"),
    (229, "IPV6"),
    (230, "IEEE802_15_4_NOFCS"),
    (231, "DBUS"),
    (235, "DVB_CI"),
    (236, "MUX27010"),
    (237, "STANAG_5066_D_PDU"),
    (239, "NFLOG"),
    (240, "NETANALYZER"),
    (241, "NETANALYZER_TRANSPARENT"),
    (242, "IPOIB"),
    (243, "MPEG_2_TS"),
    (244, "NG40"),
    (245, "NFC_LLCP"),
    (247, "INFINIBAND"),
    (248, "SCTP"),
    (249, "USBPCAP"),
    (250, "RTAC_SERIAL"),
    (251, "BLUETOOTH_LE_LL"),
    (252, "WIRESHARK_UPPER_PDU"),
    (253, "NETLINK"),
    (254, "BLUETOOTH_LINUX_MONITOR"),
    (255, "BLUETOOTH_BREDR_BB"),
    (256, "BLUETOOTH_LE_LL_WITH_PHDR"),
    (257, "PROFIBUS_DL"),
    (258, "PKTAP"),
    (259, "EPON"),
    (260, "IPMI_HPM_2"),
    (261, "ZWAVE_R1_R2"),
    (262, "ZWAVE_R3"),
    (263, "WATTSTOPPER_DLM"),
    (264, "ISO_14443"),
    (265, "RDS"),
    (266, "USB_DARWIN"),
    (268, "SDLC"),
    (270, "LORATAP"),
    (271, "VSOCK"),
    (272, "NORDIC_BLE"),
    (273, "DOCSIS31_XRA31"),
    (274, "ETHERNET_MPACKET"),
    (275, "DISPLAYPORT_AUX"),
    (276, "LINUX_SLL2"),
    (278, "OPENVIZSLA"),
    (279, "EBHSCR"),
    (280, "VPP_DISPATCH"),
    (281, "DSA_TAG_BRCM"),
    (282, "DSA_TAG_BRCM_PREPEND"),
    (283, "IEEE802_15_4_TAP"),
    (284, "DSA_TAG_DSA"),
    (285, "DSA_TAG_EDSA"),
    (286, "ELEE"),
    (287, "Z_WAVE_SERIAL"),
    (288, "USB_2_0"),
    (289, "ATSC_ALP"),
    (290, "ETW"),
    (292, "ZBOSS_NCP"),
    (293, "USB_2_0_LOW_SPEED"),
    (294, "USB_2_0_FULL_SPEED"),
    (295, "USB_2_0_HIGH_SPEED"),
    (296, "AUERSWALD_LOG"),
    (297, "ZWAVE_TAP"),
    (298, "SILABS_DEBUG_CHANNEL"),
    (299, "FIRA_UCI"),
    (300, "MDB"),
    (301, "DECT_NR"),
    (0x4e4d_0000, "NETMON_UNKNOWN"),
    (0x4e4d_0004, "NETMON_ATM"),
    (0x4e4d_0005, "NETMON_IEEE1394"),
    (0x4e4d_0006, "NETMON_IEEE802_11"),
    (0x4e4d_ffe0, "NETMON_NETWORK_EVENT"),
    (0x4e4d_fffb, "NETMON_NETWORK_INFO_EX"),
    (0x4e4d_fffc, "NETMON_PAYLOAD_HEADER"),
    (0x4e4d_fffd, "NETMON_NETWORK_INFO"),
    (0x4e4d_fffe, "NETMON_DNS_CACHE"),
    (0x4e4d_ffff, "NETMON_FILTER"),
    (0x534e_0001, "SNOOP_IEEE802_4"),
    (0x534e_0003, "SNOOP_METRO_NET"),
    (0x534e_0005, "SNOOP_HDLC"),
    (0x534e_0006, "SNOOP_CHARACTER_SYNCHRONOUS"),
    (0x534e_0007, "SNOOP_IBM_CHANNEL_TO_CHANNEL"),
    (0x534e_0009, "SNOOP_OTHER"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_numbers() {
        assert!(NAMES.is_sorted_by_key(|(number, _)| *number));
        for (number, name) in NAMES {
            assert_eq!(LinkType(*number).name(), Some(*name));
            let is_other = name.starts_with("NETMON_") || name.starts_with("SNOOP_");
            assert_eq!(LinkType(*number).is_registered(), !is_other, "{name}");
        }
        assert_eq!(LinkType(150).name(), Some("USER"));
        assert_eq!(LinkType(4_000).name(), None);
    }
}

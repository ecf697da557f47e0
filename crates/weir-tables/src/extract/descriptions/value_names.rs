//! Values of descriptions that Wireshark also knows by a name.

/// The name that Wireshark has for a payload type; `None` beyond those that there are.
pub(super) fn format_name(payload_type: u32) -> Option<String> {
    let name = match payload_type {
        0 => "ITU-T G.711 PCMU",
        1 => "USA Federal Standard FS-1016",
        2 => "ITU-T G.721",
        3 => "GSM 06.10",
        4 => "ITU-T G.723",
        5 => "DVI4 8000 samples/s",
        6 => "DVI4 16000 samples/s",
        7 => "Experimental linear predictive encoding from Xerox PARC",
        8 => "ITU-T G.711 PCMA",
        9 => "ITU-T G.722",
        10 => "16-bit uncompressed audio, stereo",
        11 => "16-bit uncompressed audio, monaural",
        12 => "Qualcomm Code Excited Linear Predictive coding",
        13 => "Comfort noise",
        14 => "MPEG-I/II Audio",
        15 => "ITU-T G.728",
        16 => "DVI4 11025 samples/s",
        17 => "DVI4 22050 samples/s",
        18 => "ITU-T G.729",
        19 => "Comfort noise (old)",
        25 => "Sun CellB video encoding",
        26 => "JPEG-compressed video",
        28 => "'nv' program",
        31 => "ITU-T H.261",
        32 => "MPEG-I/II Video",
        33 => "MPEG-II transport streams",
        34 => "ITU-T H.263",
        72..=76 => "Reserved for RTCP conflict avoidance",
        _ if payload_type < 96 => "Unassigned",
        _ if payload_type < 128 => return Some(format!("DynamicRTP-Type-{payload_type}")),
        _ => return None,
    };
    Some(name.to_owned())
}

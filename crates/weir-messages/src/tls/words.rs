//! Names of numbers.

/// A version in Zeek's words: `TLSv12`, `DTLSv12`, …
#[must_use]
pub fn version_word(version: u16) -> Option<&'static str> {
    Some(match version {
        0x0002 => "SSLv2",
        0x0300 => "SSLv3",
        0x0301 => "TLSv10",
        0x0302 => "TLSv11",
        0x0303 => "TLSv12",
        0x0304 => "TLSv13",
        0xfeff => "DTLSv10",
        0xfefd => "DTLSv12",
        0xfefc => "DTLSv13",
        // Drafts of TLS 1.3.
        0x7f00..=0x7fff => "TLSv13-draft",
        _ => return None,
    })
}

/// A group of keys, as IANA has it: `x25519`, `secp256r1`, …
#[must_use]
pub fn group_word(group: u16) -> Option<&'static str> {
    Some(match group {
        1 => "sect163k1",
        2 => "sect163r1",
        3 => "sect163r2",
        4 => "sect193r1",
        5 => "sect193r2",
        6 => "sect233k1",
        7 => "sect233r1",
        8 => "sect239k1",
        9 => "sect283k1",
        10 => "sect283r1",
        11 => "sect409k1",
        12 => "sect409r1",
        13 => "sect571k1",
        14 => "sect571r1",
        15 => "secp160k1",
        16 => "secp160r1",
        17 => "secp160r2",
        18 => "secp192k1",
        19 => "secp192r1",
        20 => "secp224k1",
        21 => "secp224r1",
        22 => "secp256k1",
        23 => "secp256r1",
        24 => "secp384r1",
        25 => "secp521r1",
        26 => "brainpoolP256r1",
        27 => "brainpoolP384r1",
        28 => "brainpoolP512r1",
        29 => "x25519",
        30 => "x448",
        41 => "curveSM2",
        0x0100 => "ffdhe2048",
        0x0101 => "ffdhe3072",
        0x0102 => "ffdhe4096",
        0x0103 => "ffdhe6144",
        0x0104 => "ffdhe8192",
        0x0200 => "MLKEM512",
        0x0201 => "MLKEM768",
        0x0202 => "MLKEM1024",
        0x11eb => "SecP256r1MLKEM768",
        0x11ec => "X25519MLKEM768",
        0x11ed => "SecP384r1MLKEM1024",
        0x6399 => "X25519Kyber768Draft00",
        0x639a => "SecP256r1Kyber768Draft00",
        _ => return None,
    })
}

/// An alert, as IANA has it: `close_notify`, `handshake_failure`, …
#[must_use]
pub fn alert_word(alert: u8) -> Option<&'static str> {
    Some(match alert {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        21 => "decryption_failed",
        22 => "record_overflow",
        30 => "decompression_failure",
        40 => "handshake_failure",
        41 => "no_certificate",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        60 => "export_restriction",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        111 => "certificate_unobtainable",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        114 => "bad_certificate_hash_value",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        121 => "ech_required",
        _ => return None,
    })
}

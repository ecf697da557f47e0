//! The columns of `tls`.

use weir_messages::tls::{
    Certificate, ClientHello, ServerHello, Session, alert_word, group_word, ja3, ja3_text, ja3s,
    ja3s_text, ja4, suite_word, version_word,
};
use weir_packet::{Kind, Value};

use crate::extract::extraction::ItemField;
use crate::extract::list::{List, Say};
use crate::extract::value::{filled, frame, number, seconds, span_ns};

fn client<T>(session: &Session, get: impl FnOnce(&ClientHello) -> T) -> Option<T> {
    session.client.as_ref().map(get)
}

/// A fingerprint of the ClientHello, which is defined for hellos in the form of TLS, and is that of a whole one.
fn fingerprint(session: &Session, get: impl FnOnce(&ClientHello) -> String) -> Option<String> {
    let hello = session.client.as_ref();
    hello
        .filter(|hello| !hello.is_ssl2_form && !hello.is_cut)
        .map(get)
}

fn server<T>(session: &Session, get: impl FnOnce(&ServerHello) -> T) -> Option<T> {
    session.server.as_ref().map(get)
}

/// The server's own certificate.
fn own(session: &Session) -> Option<&Certificate> {
    session.certificates.first()
}

/// A text of the server's certificate.
fn own_text(session: &Session, get: impl FnOnce(&Certificate) -> &String) -> Option<Value<'_>> {
    filled(own(session).map(get)?.as_bytes())
}

/// Whether the server's certificate has a time that no column holds.
pub(super) fn has_times_outside(session: &Session) -> bool {
    let times = own(session).map(|it| [it.not_before, it.not_after]);
    let mut times = times.into_iter().flatten().flatten();
    times.any(|seconds| seconds.checked_mul(NANOSECONDS).is_none())
}

const NANOSECONDS: i64 = 1_000_000_000;

/// A time of the server's certificate, or the nearest one that a column holds.
fn own_time(
    session: &Session,
    get: impl FnOnce(&Certificate) -> Option<i64>,
) -> Option<Value<'static>> {
    let seconds = own(session).and_then(get)?;
    Some(Value::Time(seconds.saturating_mul(NANOSECONDS)))
}

fn hex(octets: &[u8]) -> Option<String> {
    Some(hex::encode(octets)).filter(|text| !text.is_empty())
}

/// The group of the key exchange.
fn group(session: &Session) -> Option<u16> {
    let of_hello = session.server.as_ref().and_then(|hello| hello.group);
    of_hello.or(session.group).filter(|group| *group > 0)
}

#[rustfmt::skip]
pub(super) static FIELDS: &[ItemField<Say<Session>>] = &[
    ItemField::new("tls.carrier", Kind::Text, Say::Value(|s| Some(Value::Text(s.carrier.name()))),
        "Protocol of the handshake: tls, dtls or quic", "RFC 8446; RFC 9147; RFC 9001"),
    ItemField::new("tls.start", Kind::Time, Say::Value(|s| s.client_stamp.time_ns.or(s.server_stamp.time_ns).map(Value::Time)),
        "Time of the ClientHello; of the ServerHello where the ClientHello was not seen", "weir"),
    ItemField::new("tls.time", Kind::F64, Say::Value(|s| {
            s.client.as_ref().and(s.server.as_ref())?;
            seconds(span_ns(s.client_stamp.time_ns, s.server_stamp.time_ns)?)
        }), "Seconds from the ClientHello to the ServerHello", "weir"),
    ItemField::new("tls.client_hello.frame", Kind::U64, Say::Value(|s| frame(client(s, |_| s.client_stamp.frame)?)),
        "Number of the record with the last octet of the ClientHello", "weir"),
    ItemField::new("tls.server_hello.frame", Kind::U64, Say::Value(|s| frame(server(s, |_| s.server_stamp.frame)?)),
        "Number of the record with the last octet of the ServerHello", "weir"),
    ItemField::new("tls.version", Kind::Text, Say::Value(|s| version_word(s.version()?).map(Value::Text)),
        "Negotiated version, in Zeek's words: TLSv12, TLSv13, DTLSv12, …", "RFC 8446, 4.2.1"),
    ItemField::new("tls.version_number", Kind::U16, Say::Value(|s| number(s.version()?)),
        "Negotiated version as a number: 772 is TLS 1.3", "RFC 8446, 4.2.1"),
    ItemField::new("tls.handshake.extensions_server_name", Kind::Text, Say::Value(|s| s.client.as_ref()?.server_name.as_deref().map(Value::Text)),
        "Server name that the client asks for (SNI)", "RFC 6066, 3"),
    ItemField::new("tls.handshake.extensions_alpn_str", Kind::Texts, Say::List(|s, list| { client(s, |c| c.protocols.iter().for_each(|name| list.text(name))); }),
        "Application protocols that the client offers (ALPN)", "RFC 7301, 3.1"),
    ItemField::new("tls.next_protocol", Kind::Text, Say::Value(|s| s.server.as_ref()?.protocol.as_deref().map(Value::Text)),
        "Application protocol that the server chose (ALPN), where it is sent in clear", "RFC 7301, 3.1"),
    ItemField::new("tls.cipher", Kind::Text, Say::Value(|s| suite_word(server(s, |h| h.suite)?).map(Value::Text)),
        "The cipher suite that the server chose", "RFC 8446, B.4"),
    ItemField::new("tls.cipher_number", Kind::U16, Say::Value(|s| number(server(s, |h| h.suite)?)),
        "The number of the cipher suite that the server chose", "RFC 8446, B.4"),
    ItemField::new("tls.curve", Kind::Text, Say::Value(|s| group_word(group(s)?).map(Value::Text)),
        "Group of the key exchange: x25519, secp256r1, …", "RFC 8446, 4.2.7; RFC 8422, 5.1.1"),
    ItemField::new("tls.resumed", Kind::Bool, Say::Value(|s| s.resumed().map(Value::Bool)),
        "An earlier session is resumed; NULL where that is not known, as for handshakes whose end was not seen", "RFC 8446, 2.2; RFC 5077"),
    ItemField::new("tls.established", Kind::Bool, Say::Value(|s| s.established().map(Value::Bool)),
        "Both sides went on to encrypted data; NULL where that is not known: for QUIC, and where only one side was seen to, or something is missing", "RFC 8446, 2"),
    ItemField::new("tls.retried", Kind::Bool, Say::Value(|s| s.retried().map(Value::Bool)),
        "The server asked for another ClientHello; NULL where its answer was not seen", "RFC 8446, 4.1.4"),
    ItemField::new("tls.fault", Kind::Text, Say::Value(|s| s.fault().map(Value::Text)),
        "What was not captured of the handshake, so that columns may be NULL; NULL where nothing shows that something is missing", "weir"),
    ItemField::new("tls.last_alert", Kind::Text, Say::Value(|s| alert_word(s.alerts.last()?.description).map(Value::Text)),
        "The last alert in clear: handshake_failure, unknown_ca, …", "RFC 8446, 6"),
    ItemField::new("tls.alert_message.desc", Kind::Numbers, Say::List(|s, list| s.alerts.iter().for_each(|alert| list.number(alert.description))),
        "Descriptions of the alerts in clear, as numbers", "RFC 8446, 6"),
    ItemField::new("tls.alert_message.level", Kind::Numbers, Say::List(|s, list| s.alerts.iter().for_each(|alert| list.number(alert.level))),
        "Levels of the alerts: 1 warning, 2 fatal", "RFC 8446, 6"),
    ItemField::new("tls.handshake.version", Kind::U16, Say::Value(|s| number(client(s, |c| c.version)?)),
        "Version in the ClientHello, which is for old servers", "RFC 8446, 4.1.2"),
    ItemField::new("tls.handshake.extensions.supported_version", Kind::Numbers, Say::List(|s, list| { client(s, |c| list.numbers(&c.versions)); }),
        "Versions that the client offers by extension", "RFC 8446, 4.2.1"),
    ItemField::new("tls.handshake.ciphersuite", Kind::Numbers, Say::List(|s, list| { client(s, |c| list.numbers(&c.suites)); }),
        "Cipher suites that the client offers, best first", "RFC 8446, 4.1.2"),
    ItemField::new("tls.handshake.extension.type", Kind::Numbers, Say::List(|s, list| { client(s, |c| list.numbers(&c.extensions)); }),
        "Extensions of the ClientHello", "RFC 8446, 4.2"),
    ItemField::new("tls.handshake.extensions_supported_group", Kind::Numbers, Say::List(|s, list| { client(s, |c| list.numbers(&c.groups)); }),
        "Groups for the key exchange that the client offers", "RFC 8446, 4.2.7"),
    ItemField::new("tls.handshake.sig_hash_alg", Kind::Numbers, Say::List(|s, list| { client(s, |c| list.numbers(&c.all_signatures)); }),
        "Signature algorithms that the client accepts, with those for certificates where they are listed apart", "RFC 8446, 4.2.3"),
    ItemField::new("tls.handshake.session_id", Kind::Text, Say::Text(|s| hex(&s.client.as_ref()?.session_id)),
        "Session ID of the ClientHello, in hexadecimal digits", "RFC 8446, 4.1.2"),
    ItemField::new("tls.handshake.random", Kind::Text, Say::Text(|s| hex(&s.client.as_ref()?.random)),
        "Random of the ClientHello in hexadecimal digits, by which key logs name a session", "RFC 8446, 4.1.2"),
    ItemField::new("tls.handshake.early_data", Kind::Bool, Say::Value(|s| {
            let hello = s.client.as_ref().filter(|hello| hello.has_early_data || !hello.is_cut)?;
            Some(Value::Bool(hello.has_early_data))
        }),
        "The client offers early data (0-RTT)", "RFC 8446, 4.2.10"),
    ItemField::new("tls.handshake.ja3", Kind::Text, Say::Text(|s| fingerprint(s, ja3)),
        "JA3: digest of the ClientHello", "https://github.com/salesforce/ja3"),
    ItemField::new("tls.handshake.ja3_full", Kind::Text, Say::Text(|s| fingerprint(s, ja3_text)),
        "JA3 before the digest", "https://github.com/salesforce/ja3"),
    ItemField::new("tls.handshake.ja3s", Kind::Text, Say::Text(|s| server(s, ja3s)),
        "JA3S: digest of the ServerHello", "https://github.com/salesforce/ja3"),
    ItemField::new("tls.handshake.ja3s_full", Kind::Text, Say::Text(|s| server(s, ja3s_text)),
        "JA3S before the digest", "https://github.com/salesforce/ja3"),
    ItemField::new("tls.handshake.ja4", Kind::Text, Say::Text(|s| fingerprint(s, |hello| ja4(hello, s.carrier))),
        "JA4: fingerprint of the ClientHello, independent of the order of its lists", "https://github.com/FoxIO-LLC/ja4"),
    ItemField::new("tls.server.version", Kind::U16, Say::Value(|s| number(server(s, |h| h.version)?)),
        "Version in the ServerHello, which is that of TLS 1.2 for later ones", "RFC 8446, 4.1.3"),
    ItemField::new("tls.server.extension.type", Kind::Numbers, Say::List(|s, list| { server(s, |h| list.numbers(&h.extensions)); }),
        "Extensions of the ServerHello", "RFC 8446, 4.2"),
    ItemField::new("tls.server.session_id", Kind::Text, Say::Text(|s| hex(&s.server.as_ref()?.session_id)),
        "Session ID of the ServerHello, in hexadecimal digits", "RFC 8446, 4.1.3"),
    ItemField::new("x509.subject", Kind::Text, Say::Value(|s| own_text(s, |it| &it.subject)),
        "Subject of the server's certificate; certificates are in clear up to TLS 1.2", "RFC 5280, 4.1.2.6; RFC 4514"),
    ItemField::new("x509.issuer", Kind::Text, Say::Value(|s| own_text(s, |it| &it.issuer)),
        "Issuer of the server's certificate", "RFC 5280, 4.1.2.4; RFC 4514"),
    ItemField::new("x509.serial", Kind::Text, Say::Value(|s| own_text(s, |it| &it.serial)),
        "Serial number of the certificate in hexadecimal digits", "RFC 5280, 4.1.2.2"),
    ItemField::new("x509.not_valid_before", Kind::Time, Say::Value(|s| own_time(s, |it| it.not_before)),
        "Start of the certificate's validity", "RFC 5280, 4.1.2.5"),
    ItemField::new("x509.not_valid_after", Kind::Time, Say::Value(|s| own_time(s, |it| it.not_after)),
        "End of the certificate's validity", "RFC 5280, 4.1.2.5"),
    ItemField::new("x509.san.dns", Kind::Texts, Say::List(|s, list| own(s).into_iter().flat_map(|it| &it.dns_names).for_each(|name| list.text(name))),
        "DNS names in the subject alternative name", "RFC 5280, 4.2.1.6"),
    ItemField::new("x509.san.ip", Kind::Texts, Say::List(|s, list| own(s).into_iter().flat_map(|it| &it.addresses).for_each(|name| list.text(name))),
        "IP addresses in the subject alternative name", "RFC 5280, 4.2.1.6"),
    ItemField::new("x509.key_type", Kind::Text, Say::Value(|s| own_text(s, |it| &it.key_type)),
        "Type of the public key: rsa, ecdsa, dsa; a number for others", "RFC 5280, 4.1.2.7"),
    ItemField::new("x509.key_length", Kind::U32, Say::Value(|s| number(own(s)?.key_bits?)),
        "Length of the public key in bits", "RFC 5280, 4.1.2.7"),
    ItemField::new("x509.sig_alg", Kind::Text, Say::Value(|s| own_text(s, |it| &it.signature)),
        "Signature algorithm of the certificate", "RFC 5280, 4.1.1.2"),
    ItemField::new("x509.fingerprint", Kind::Text, Say::Value(|s| own_text(s, |it| &it.sha256)),
        "SHA-256 fingerprint of the certificate in hexadecimal digits", "RFC 5280"),
    ItemField::new("x509.fingerprint_sha1", Kind::Text, Say::Value(|s| own_text(s, |it| &it.sha1)),
        "SHA-1 fingerprint of the certificate in hexadecimal digits", "RFC 5280"),
    ItemField::new("x509.basic_constraints.ca", Kind::Bool, Say::Value(|s| Some(Value::Bool(own(s)?.is_authority))),
        "The certificate is that of a certification authority, which may sign others", "RFC 5280, 4.2.1.9"),
    ItemField::new("tls.cert_chain_fps", Kind::Texts, Say::List(|s, list| chain(&s.certificates, list)),
        "SHA-256 fingerprints of the server's certificates, its own first", "RFC 5280"),
    ItemField::new("tls.client_cert_chain_fps", Kind::Texts, Say::List(|s, list| chain(&s.client_certificates, list)),
        "SHA-256 fingerprints of the client's certificates", "RFC 5280"),
    ItemField::new("tls.client_cert.subject", Kind::Text, Say::Value(|s| filled(s.client_certificates.first()?.subject.as_bytes())),
        "Subject of the client's certificate", "RFC 5280, 4.1.2.6"),
    ItemField::new("quic.version", Kind::U32, Say::Value(|s| number(s.quic()?.version)),
        "QUIC: version, that of the server's first packet where it is another than the client's", "RFC 9000, 15; RFC 9368"),
    ItemField::new("quic.dcid", Kind::Text, Say::Text(|s| hex(&s.quic()?.destination)),
        "QUIC: destination connection ID of the client's first packet", "RFC 9000, 17.2.2"),
    ItemField::new("quic.scid", Kind::Text, Say::Text(|s| hex(&s.quic()?.source)),
        "QUIC: source connection ID of the client's first packet", "RFC 9000, 17.2.2"),
    ItemField::new("quic.server_scid", Kind::Text, Say::Text(|s| hex(s.quic()?.server.as_ref()?)),
        "QUIC: source connection ID of the server's first packet", "RFC 9000, 17.2.2"),
];

fn chain(certificates: &[Certificate], list: &mut List) {
    for certificate in certificates {
        list.text(&certificate.sha256);
    }
}

#[cfg(test)]
mod tests {
    use weir_messages::tls::Carrier;

    use super::*;

    /// RFC 5280, 4.1.2.5: the end of the year 9999 stands for no end.
    #[test]
    fn a_time_that_no_column_holds_is_the_nearest_one() {
        let mut session = Session::new(Carrier::Tls);
        session.certificates.push(Certificate::default());
        session.certificates[0].not_before = Some(1);
        assert!(!has_times_outside(&session));
        session.certificates[0].not_after = Some(253_402_300_799);
        assert!(has_times_outside(&session));
        let [from, until] = [
            own_time(&session, |it| it.not_before),
            own_time(&session, |it| it.not_after),
        ];
        assert!(matches!(from, Some(Value::Time(NANOSECONDS))));
        assert!(matches!(until, Some(Value::Time(i64::MAX))));
    }
}

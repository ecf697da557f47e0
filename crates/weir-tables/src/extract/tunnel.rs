//! Requests by which a client asks a proxy for a connection to another host, on which any protocol may follow: CONNECT
//! of HTTP (RFC 9110, 9.3.6), SOCKS 4 and SOCKS 5 (RFC 1928); and answers to them, where the client was not captured.

mod divided;

pub(super) use divided::{KeptAnswers, Tunnels};

/// The classification of the first octets of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The octets ask for a tunnel, or agree to one.
    Request,
    /// More octets are needed.
    Unsure,
    /// The octets are something else.
    Other,
}

const CONNECT: &[u8] = b"CONNECT ";
/// The answer that proxies give, in any case of its letters, and where the digit of its version lies, which may be another one.
const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established";
const CONNECTED_DIGIT_AT: usize = 7;
/// The number of octets of a request of SOCKS 4 with an empty user, at least.
const SOCKS_4_OCTETS: usize = 9;
/// The number of octets of a request of SOCKS 4 with its user and name of a host, at most.
const SOCKS_4_OCTETS_MAX: usize = 512;

/// Classifies the first octets of a connection.
pub(super) fn beginning(bytes: &[u8]) -> Beginning {
    match *bytes {
        [] => Beginning::Other,
        // A greeting with the methods of authentication, which its server answers first.
        [5] => Beginning::Unsure,
        // The method that a server chose, and its reply.
        [5, 0, ref reply @ ..] => match reply {
            [] | [5] | [5, 0..=8] | [5, 0..=8, 0] => Beginning::Unsure,
            [5, 0..=8, 0, 1 | 3 | 4, ..] => Beginning::Request,
            _ => Beginning::Other,
        },
        [5, count, ref rest @ ..] => {
            let count = usize::from(count);
            let methods = rest.get(..count).unwrap_or(rest);
            match (methods.iter().all(is_method), rest.get(count)) {
                (false, _) => Beginning::Other,
                _ if methods.len() < count => Beginning::Unsure,
                // The request itself, or the name and the password (RFC 1929).
                (_, None | Some(5 | 1)) => Beginning::Request,
                _ => Beginning::Other,
            }
        }
        [4] | [4, 1] => Beginning::Unsure,
        // The port and the address, the user with a 0 behind it, and with SOCKS 4a the name of the host with one.
        [4, 1, ..] if bytes.len() <= SOCKS_4_OCTETS_MAX => match bytes.last() {
            Some(0) if bytes.len() >= SOCKS_4_OCTETS => Beginning::Request,
            _ => Beginning::Unsure,
        },
        _ if bytes.starts_with(CONNECT) => Beginning::Request,
        _ if CONNECT.starts_with(bytes) => Beginning::Unsure,
        _ => connected(bytes),
    }
}

/// Classifies the first octets of a server as an answer to CONNECT.
fn connected(bytes: &[u8]) -> Beginning {
    let mut both = bytes.iter().zip(CONNECTED).enumerate();
    let is_answer = both.all(|(at, (octet, known))| {
        octet.eq_ignore_ascii_case(known) || at == CONNECTED_DIGIT_AT && *octet == b'0'
    });
    match (is_answer, bytes.len() < CONNECTED.len()) {
        (false, _) => Beginning::Other,
        (true, true) => Beginning::Unsure,
        (true, false) => Beginning::Request,
    }
}

/// True of the methods that IANA lists for SOCKS 5: without authentication, GSSAPI, name and password, … and private ones.
const fn is_method(method: &u8) -> bool {
    matches!(*method, 0..=9 | 0x80..=0xfe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_known_by_every_prefix() {
        for request in [
            &b"CONNECT "[..],
            b"\x05\x01\x00",
            b"\x05\x03\x00\x01\x02",
            b"\x04\x01\x0f\x1c\x0a\x01\x02\x03\x00",
            b"\x04\x01\x0f\x1c\x0a\x01\x02\x03user\x00",
            b"\x05\x00\x05\x00\x00\x01",
            b"HTTP/1.0 200 Connection Established",
        ] {
            for length in 1..request.len() {
                let begun = beginning(&request[..length]);
                assert_eq!(begun, Beginning::Unsure, "{length} of {request:?}");
            }
            assert_eq!(beginning(request), Beginning::Request, "{request:?}");
        }
        let greeted = b"\x05\x01\x00\x05\x01\x00\x01\x0a";
        assert_eq!(beginning(greeted), Beginning::Request);
        for other in [
            &b""[..],
            b"CONN /",
            b"GET /",
            b"\x05\x00\x0b\x03",
            b"HTTP/1.1 200 OK",
            b"\x05\x01\x40",
            b"\x05\x01\x00\x16\x03",
            b"\x04\x02",
            b"\x01\x00\x00\x1c",
        ] {
            assert_eq!(beginning(other), Beginning::Other, "{other:?}");
        }
        let long = [&b"\x04\x01\x0f\x1c"[..], &[1; 600]].concat();
        assert_eq!(beginning(&long), Beginning::Other);
    }
}

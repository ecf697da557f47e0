//! Ports that servers listen on, by which the originator of a flow is chosen whose beginning was not captured.

/// Whether a port is likely a server's: those that Zeek's scripts register (`likely_server_ports`).
#[inline]
pub(crate) fn is_server(protocol: u8, port: u16) -> bool {
    let ports = match protocol {
        6 => TCP_PORTS,
        17 => UDP_PORTS,
        _ => return false,
    };
    ports.binary_search(&port).is_ok()
}

const TCP_PORTS: &[u16] = &[
    21, 22, 25, 53, 79, 80, 81, 88, 110, 111, 113, 135, 139, 143, 389, 443, 445, 502, 514, 563,
    585, 587, 614, 631, 636, 989, 990, 992, 993, 995, 1080, 1434, 1883, 2811, 3128, 3268, 3306,
    3389, 5060, 5061, 5222, 5223, 5269, 5432, 6379, 6666, 6667, 6668, 6669, 8000, 8080, 8888,
    20000,
];

const UDP_PORTS: &[u16] = &[
    53, 67, 88, 111, 123, 137, 161, 162, 389, 443, 514, 1812, 2123, 2152, 3268, 3389, 3544, 4011,
    4754, 4789, 5060, 5072, 5353, 5355, 6081, 20000,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_in_order() {
        for ports in [TCP_PORTS, UDP_PORTS] {
            assert!(ports.is_sorted());
        }
        assert!(is_server(6, 443) && is_server(17, 53) && !is_server(132, 443));
    }
}

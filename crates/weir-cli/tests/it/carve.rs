//! `weir carve` takes a call's sound with its messages.

use std::net::Ipv4Addr;

use weir_testkit::capture::{Endian, PcapVariant, PcapWriter, link_type};
use weir_testkit::packet::{Ipv4, ethernet, ethertype, protocol, udp};

use crate::shell::{folder, run};

const CALLER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CALLED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn datagram(src: Ipv4Addr, dst: Ipv4Addr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let datagram = udp(src.into(), dst.into(), ports.0, ports.1, payload);
    let packet = Ipv4::new(src, dst, protocol::UDP).packet(&datagram);
    ethernet([2; 6], [4; 6], ethertype::IPV4, &packet)
}

fn message(line: &str, call: &str, address: Ipv4Addr, port: u16) -> Vec<u8> {
    let sdp = format!(
        "v=0\r\no=- 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\n"
    );
    format!(
        "{line}\r\nVia: SIP/2.0/UDP {CALLER};branch=z9hG4bK{call}\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>;tag=2\r\n\
         Call-ID: {call}\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{sdp}",
        sdp.len()
    )
    .into_bytes()
}

/// Two calls, each with ten packets of sound to the caller.
fn calls() -> Vec<u8> {
    let mut packets = Vec::new();
    for (call, port) in [("first", 4_000), ("second", 4_100)] {
        let invite = message("INVITE sip:b@x SIP/2.0", call, CALLER, port);
        packets.push(datagram(CALLER, CALLED, (5060, 5060), &invite));
        let answer = message("SIP/2.0 200 OK", call, CALLED, port + 2);
        packets.push(datagram(CALLED, CALLER, (5060, 5060), &answer));
        for number in 0..10_u8 {
            let mut rtp = vec![0x80, 0, 0, number, 0, 0, number, 0xa0, 0, 0, 0, port as u8];
            rtp.extend([0x55; 160]);
            packets.push(datagram(CALLED, CALLER, (port + 2, port), &rtp));
        }
    }
    let (variant, endian) = (PcapVariant::Micro, Endian::Little);
    let mut writer =
        PcapWriter::new(Vec::new(), link_type::ETHERNET, 65_535, variant, endian).unwrap();
    for (time_ns, bytes) in (0..).map(|index| index * 20_000_000).zip(&packets) {
        writer.packet(time_ns, bytes.len() as u32, bytes).unwrap();
    }
    writer.into_inner()
}

/// The sound of a call was left behind.
#[test]
fn a_call_is_carved_with_its_sound() {
    let folder = folder("a_call_is_carved_with_its_sound");
    std::fs::write(folder.join("calls.pcap"), calls()).unwrap();
    for target in ["one.pcap", "one.pcapng.gz", "one.pcap.zst"] {
        let ended = run(
            &format!("weir carve calls.pcap --call-id second -o {target}"),
            &folder,
        );
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let asked = run(
            &format!(
                "weir query \"SELECT count(*), (SELECT count(*) FROM sip('{target}')), (SELECT count(*) FROM \
                 rtp('{target}') WHERE sip.call_id = 'second') FROM '{target}'\" --format csv -q | tail -1"
            ),
            &folder,
        );
        assert_eq!(asked.stdout.trim(), "12,2,10", "{target}: {}", asked.stderr);
    }
    // What is compressed says so in its first bytes.
    let packed = std::fs::read(folder.join("one.pcapng.gz")).unwrap();
    assert!(packed.starts_with(&[0x1f, 0x8b]));
    let packed = std::fs::read(folder.join("one.pcap.zst")).unwrap();
    assert!(packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
}

#!/usr/bin/env python3
"""Makes the captures beside this file: frames for columns that no captured traffic at hand fills.

They were made with scapy 2.8.0. Where scapy has a layer, the layer makes the header, and what
scapy has not is written down by its standard, byte by byte. tshark judges both (`it/oracle.rs`).

    python3 make.py            writes the captures
    python3 make.py --check    says whether they are what this would write
"""

import struct
import sys
from pathlib import Path

from scapy.contrib.etherip import EtherIP
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.contrib.nsh import NSH
from scapy.contrib.tzsp import TZSP, TZSPTagEnd, TZSPTagPadding, TZSPTagRXChannel
from scapy.layers.dot11 import Dot11
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_LSRR, IPOption_RR
from scapy.layers.inet6 import (
    HAO, HBHOptUnknown, ICMPv6ParamProblem, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrRouting,
)
from scapy.layers.l2 import (
    ARP, Dot1AD, Dot3, Ether, LLC, SNAP, Loopback,
)
from scapy.layers.sctp import SCTP, SCTPChunkIData
from scapy.packet import Raw

HERE = Path(__file__).parent
A, B = "02:00:00:00:00:01", "02:00:00:00:00:02"
ETHER = dict(dst=A, src=B)
INNER = IP(src="192.0.2.1", dst="192.0.2.2", id=7) / UDP(sport=5000, dport=6000) / b"abcdefgh"
INNER6 = IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=5000, dport=6000) / b"abcdefgh"
FRAME = Ether(**ETHER) / INNER


def h(text):
    return bytes.fromhex(text)


def eth(kind, *parts):
    return Ether(type=kind, **ETHER) / Raw(b"".join(bytes(part) for part in parts))


def ip(number, *parts):
    return Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2", proto=number) / Raw(b"".join(map(bytes, parts)))


def ip6(number, *parts):
    return Ether(**ETHER) / IPv6(src="2001:db8::a", dst="2001:db8::b", nh=number) / Raw(b"".join(map(bytes, parts)))


def udp(port, *parts):
    head = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=50000 + port % 997, dport=port)
    return Ether(**ETHER) / head / Raw(b"".join(map(bytes, parts)))


HITS = bytes(range(32))
ETHERNET = [
    # Tags. Two of IEEE 802.1ad, of which the outer is the service's.
    Ether(**ETHER) / Dot1AD(vlan=100, prio=1) / Dot1AD(vlan=7) / INNER,
    eth(0x893F, h("500670070000 0800"), INNER),
    eth(0x892F, h("002a0009 0800"), INNER),
    eth(0x88FB, h("1022 0009 5904 1002 004e 020000000007") + bytes(40)),
    eth(0xF1C1, h("00000009 0800"), INNER),
    eth(0x22F3, h("0005 0005 0006"), FRAME),
    eth(0x8847, h("00064140 00000007"), Ether(dst="00:10:94:00:00:01", src="00:10:94:00:00:02") / INNER),
    eth(0x8847, h("0000d140 10000021"), INNER),
    # ISL: destination, source, length, SNAP, VLAN 5, index, reserved, the frame and its check sequence.
    Raw(h("01000c000001 020000000002 0048 aaaa03 00000c 000b 0001 0000") + bytes(FRAME) + h("11223344") * 2),
    Dot3(**ETHER) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(OUI=0x0080C2, code=7) / Raw(bytes(2) + bytes(FRAME)),
    Ether(**ETHER) / ARP(ptype=0x86DD, plen=16, psrc="2001:db8::1", pdst="2001:db8::2"),
    # IP and above.
    Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2", options=IPOption_RR(pointer=8, routers=["1.2.3.4", "5.6.7.8"])) / UDP(),
    Ether(**ETHER) / IPv6(src="2001:db8::a", dst="2001:db8::b") / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=4, optlen=1, optdata=b"\x04")]) / UDP(),
    Ether(**ETHER) / IPv6(src="2001:db8::a", dst="2001:db8::b") / IPv6ExtHdrDestOpt(options=[HAO(hoa="2001:db8::c")]) / UDP(),
    Ether(**ETHER) / IPv6(src="2001:db8::a", dst="2001:db8::b") / IPv6ExtHdrRouting(type=2, addresses=["2001:db8::d"], segleft=1) / UDP(),
    Ether(**ETHER) / IPv6(src="2001:db8::a", dst="2001:db8::b") / ICMPv6ParamProblem(code=1, ptr=40) / INNER6,
    # Shim6: a payload header, then I1.
    ip6(140, h("1100 800000000005"), bytes(INNER6)[40:]),
    ip6(140, h("3b01 01000000 0000 0000000700000008")),
    ip(108, h("1100 0007") + bytes(12)),
    ip(108, h("0480 0002") + bytes(12)),
    # HIP: an I1 (RFC 7401, 5.3.1).
    ip6(139, h("3b04 01 21 8d9e 0001"), HITS),
    Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(type=3, code=4, nexthopmtu=1280) / INNER,
    Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(type=13, ts_ori=1, ts_rx=2, ts_tx=3),
    Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(type=17, addr_mask="255.255.255.0"),
    Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(options=[("UTO", 0x8005)]),
    ip(136, h("1388 1770 0008 1234 6162636465666768")),
    Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2") / SCTP(sport=5000, dport=6000, tag=7) / SCTPChunkIData(beginning=1, ending=1, tsn=1, stream_id=2, message_id=3, ppid_fsn=4, data=b"abcd"),
    Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2") / EtherIP() / FRAME,
    # Tunnels.
    udp(2152, GTP_U_Header(teid=17, gtp_type=255, E=1, next_ex=0x85, S=1, seq=5, PN=1, npdu=9) / GTPPDUSessionContainer(type=1, QFI=3) / INNER),
    udp(3386, h("0e01 0002 0005 0009 ff ffffff 42000121436587 09 0e01")),
    udp(3386, h("0f01 0002 0005 0e01")),
    udp(3386, h("4ff0 0004 0004 7e01fc00")),
    udp(1701, h("c802 0014 0007 0000 0003 0004 8008 0000 0000 0006")),
    udp(1701, h("0902 0003 0004"), h("ff03 0021"), INNER),
    udp(5072, h("4152 1129 00000000"), bytes(16), bytes(20), INNER6),
    udp(0x9090, TZSP(type=0, encapsulated_protocol=1) / TZSPTagRXChannel(rx_channel=6) / TZSPTagPadding() / TZSPTagEnd() / FRAME),
    udp(5247, h("00280210 0000 0000 08 0200000000000001 000000"), FRAME),
    udp(5247, h("00180220 0000 0000 03 010203"), FRAME),
    udp(5247, h("01000000 16feff00 0000000000000000 0000")),
    udp(2268, h("0600"), INNER),
    udp(2268, h("04010203040506070809 0a0b"), IP(src="10.0.0.1", dst="224.0.0.1", ttl=1, proto=2) / Raw(h("1164ee9b00000000"))),
    eth(0x894F, NSH(mdtype=1, spi=23, si=255, nextproto=1, context_header=bytes(16)), INNER),
]

WLAN = Dot11(type=2, FCfield=1, addr1=A, addr2=B, addr3="02:00:00:00:00:03") / LLC() / SNAP() / INNER


def erf(kind, flags, sub, frame, color=0):
    """A record of an Endace card: its time, type, flags, lengths, and the header of its type."""
    body = sub + bytes(frame)
    wire = len(body) - (0 if kind in (9, 12) else len(sub))
    return h("0000008000f15365") + struct.pack(">BBHHH", kind, flags, 16 + len(body), color, wire) + body




def pktap(command, other):
    return struct.pack(
        "<III24sIIIII20sIHHI20s", 108, 1, 1, b"en0", 2, 2, 14, 0, 512, command, 0, 6, 1, 77, other
    ) + bytes(FRAME)


def sll(packet_type, hardware, address, protocol, payload):
    return struct.pack(">HHH8sH", packet_type, hardware, len(address), address, protocol) + bytes(payload)


# Records of a card, as it writes them: no other file format around.
RECORDS = [
    erf(2, 4, h("0200"), FRAME),
    erf(10, 4, b"", h("184103cc") + bytes(INNER), 4660),
    erf(6, 4, h("6600000f"), INNER),
    erf(8, 4, h("600003f5"), INNER),
    erf(12, 4, h("07050001"), h("02000c80 11223344556677")),
    erf(18, 4, h("00000007"), h("02000c80 11223344556677")),
]

CAPTURES = {
    "source-route": (1, [
        Ether(**ETHER) / IP(src="10.0.0.1", dst="10.0.0.2", options=IPOption_LSRR(routers=["10.0.0.3", "10.0.0.4"])) / UDP(),
    ]),
    "ethernet": (1, ETHERNET),
    "capwap-in-the-byte-order-of-the-air": (1, [
        udp(5247, h("00200310 0000 0000 06 020000000009 00"), h("0801 2c00 020000000001 020000000002 020000000003 1000 aaaa03 000000 0800"), INNER),
    ]),
    "null": (0, [h("0000 0800") + bytes(INNER), h("0000 86dd") + bytes(INNER6), Loopback(type=2) / INNER]),
    "cooked": (113, [
        sll(0, 768, h("0a000001"), 0x0800, INNER),
        sll(0, 1, h("020000000001"), 4, LLC(dsap=0x42, ssap=0x42, ctrl=3) / h("0000000000") ),
        sll(4, 778, h("0a000001"), 0x0800, INNER),
    ]),
    "ppp-with-direction": (204, [b"\x00" + h("ff030021") + bytes(INNER), b"\x01" + h("ff030021") + bytes(INNER)]),
    "frame-relay": (107, [h("18400287 03cc") + bytes(INNER), h("18400285 03cc") + bytes(INNER)]),
    "ppi": (192, [h("00000800 69000000") + bytes(WLAN)]),
    "wlan-with-prism-header": (163, [h("80211001 00000040") + bytes(56) + bytes(WLAN)]),
    "token-ring": (6, [h("1040 020000000001 020000000002 aaaa03 000000 0800") + bytes(INNER)]),
    "netanalyzer": (240, [h("10440000") + bytes(FRAME) + h("11223344")]),
    "packet-tap": (258, [pktap(b"curl", b"Terminal")]),
}


def capture(link, frames):
    """A capture of the pcap format with a frame a second."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0xFFFF, link)
    for number, frame in enumerate(frames):
        frame = bytes(frame)
        content += struct.pack("<IIII", 1_700_000_000 + number, 0, len(frame), len(frame)) + frame
    return content


def commented():
    """A capture of the pcapng format: a section, an interface, and a packet with a comment."""
    def block(kind, body):
        length = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + length + body + length

    def option(code, value):
        return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)

    frame = bytes(FRAME)
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(1, struct.pack("<HHI", 1, 0, 0) + option(2, b"eth0") + bytes(4))
    head = struct.pack("<IIIII", 0, 0x60A24, 0x1C5F0000, len(frame), len(frame))
    packet = block(6, head + frame + bytes(-len(frame) % 4) + option(1, b"seen twice") + bytes(4))
    return section + interface + packet


def main():
    files = {f"{name}.pcap": capture(*made) for name, made in CAPTURES.items()}
    files["commented.pcapng"] = commented()
    files["records.erf"] = b"".join(RECORDS)
    for name, content in files.items():
        path = HERE / name
        if "--check" in sys.argv:
            if path.read_bytes() != content:
                sys.exit(f"{name} is not what this program makes")
        else:
            path.write_bytes(content)


if __name__ == "__main__":
    main()

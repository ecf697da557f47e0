#!/usr/bin/env python3
"""Makes the captures beside this file: messages of protocols that no captured traffic at hand has.

They were made with scapy 2.8.0 (Diameter by its own layer) and h2 4.4.1 (HTTP/2); MGCP, M3UA, SCCP and TCAP, which scapy has
not, and the rarer messages of DNS and MQTT are written down by their standards. tshark judges what the tables read from them (`it/fields`).

    python3 make.py            writes the captures
    python3 make.py --check    says whether they are what this would write
"""

import struct
import sys
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes
from scapy.contrib.diameter import AVP, DiamAns, DiamReq
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTP, SCTPChunkData

HERE = Path(__file__).parent
ETHER = dict(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")


class Capture:
    """Packets with times that rise by a tenth of a second."""

    def __init__(self):
        self.packets = []

    def add(self, packet):
        self.packets.append(bytes(packet))

    def bytes(self):
        out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
        for number, packet in enumerate(self.packets):
            micros = 1_700_000_000_000_000 + number * 100_003
            out += struct.pack("<IIII", micros // 10**6, micros % 10**6, len(packet), len(packet)) + packet
        return out


class Stream:
    """A connection of TCP between two ends."""

    def __init__(self, capture, port, server="10.0.0.2", client="10.0.0.1", client_port=50_000):
        self.capture, self.ends = capture, [(client, client_port), (server, port)]
        self.numbers = [1000, 2000]
        self.segment(0, b"", "S")
        self.segment(1, b"", "SA")
        self.segment(0, b"", "A")

    def segment(self, side, data, flags="PA"):
        (src, sport), (dst, dport) = self.ends[side], self.ends[1 - side]
        ip = IPv6(src=src, dst=dst) if ":" in src else IP(src=src, dst=dst)
        ack = self.numbers[1 - side] if "A" in flags else 0
        tcp = TCP(sport=sport, dport=dport, seq=self.numbers[side], ack=ack, flags=flags)
        self.capture.add(Ether(**ETHER) / ip / tcp / data)
        self.numbers[side] += len(data) + ("S" in flags)

    def send(self, side, data, piece=1400):
        for at in range(0, len(data), piece):
            self.segment(side, data[at:at + piece])


class Association:
    """Data chunks of SCTP between two ends."""

    def __init__(self, capture, port, protocol):
        self.capture, self.port, self.protocol, self.numbers = capture, port, protocol, [10, 20]

    def chunk(self, side, data, first=1, last=1):
        ends = ("10.0.0.1", "10.0.0.2") if side == 0 else ("10.0.0.2", "10.0.0.1")
        data = SCTPChunkData(beginning=first, ending=last, tsn=self.numbers[side], stream_id=1, stream_seq=0,
                             proto_id=self.protocol, data=data)
        self.numbers[side] += 1
        self.capture.add(Ether(**ETHER) / IP(src=ends[0], dst=ends[1])
                         / SCTP(sport=self.port, dport=self.port, tag=7 + side) / data)

    def send(self, side, *messages):
        for message in messages:
            self.chunk(side, message)


def avp(code, data, vendor=0, mandatory=True):
    """A pair by its header, so that nothing depends on which ones scapy has names for."""
    flags = (0x80 if vendor else 0) | (0x40 if mandatory else 0)
    head = struct.pack(">I", code) + struct.pack(">I", flags << 24 | len(data) + (12 if vendor else 8))
    head += struct.pack(">I", vendor) if vendor else b""
    return head + data + bytes(-len(data) % 4)


def u32(code, number, vendor=0):
    return avp(code, struct.pack(">I", number), vendor)


def message(request, command, application, hop, *pairs, flags=0x40):
    body = b"".join(pairs)
    head = struct.pack(">I", 1 << 24 | 20 + len(body))
    head += struct.pack(">I", (flags | (0x80 if request else 0)) << 24 | command)
    return head + struct.pack(">III", application, hop, 0xE000 + hop) + body


TGPP = 10415


def diameter():
    capture = Capture()
    tcp = Stream(capture, 3868)
    who = [avp(264, b"mme.example"), avp(296, b"example")]
    other = [avp(264, b"hss.example"), avp(296, b"example")]
    # Capabilities by scapy's own layer.
    asked = DiamReq("Capabilities-Exchange", drHbHId=1, drEtEId=2, drFlags=0x80, avpList=[
        AVP("Origin-Host", val="mme.example"), AVP("Origin-Realm", val="example"),
        AVP("Host-IP-Address", val="10.0.0.1"), AVP("Vendor-Id", val=10415), AVP("Product-Name", val="weir"),
        AVP("Origin-State-Id", val=7), AVP("Supported-Vendor-Id", val=10415), AVP("Auth-Application-Id", val=4),
        AVP("Vendor-Specific-Application-Id", val=[AVP("Vendor-Id", val=10415), AVP("Auth-Application-Id", val=16777251)]),
        AVP("Firmware-Revision", val=3)])
    answered = DiamAns("Capabilities-Exchange", drHbHId=1, drEtEId=2, drFlags=0, avpList=[
        AVP("Result-Code", val=2001), AVP("Origin-Host", val="hss.example"), AVP("Origin-Realm", val="example"),
        AVP("Host-IP-Address", val="10.0.0.2"), AVP("Host-IP-Address", val="2001:db8::2"), AVP("Vendor-Id", val=10415),
        AVP("Product-Name", val="peer")])
    tcp.send(0, bytes(asked))
    tcp.send(1, bytes(answered))
    session = avp(263, b"mme.example;1;42")
    imsi = avp(1, b"001010000000001")
    vendor = avp(260, u32(266, TGPP) + u32(258, 16777251))
    update = message(True, 316, 16777251, 3, session, vendor, u32(277, 1), *who, avp(293, b"hss.example"),
                     avp(283, b"example"), imsi, u32(1032, 1004, TGPP), u32(1405, 0x22, TGPP),
                     avp(1407, b"\x00\xf1\x10", TGPP), avp(628, u32(266, TGPP) + u32(629, 1, TGPP) + u32(630, 9, TGPP), TGPP))
    ambr = avp(1435, u32(515, 100, TGPP) + u32(516, 50, TGPP), TGPP)
    qos = avp(1431, u32(1028, 9, TGPP) + avp(1034, u32(1046, 1, TGPP), TGPP), TGPP)
    apn = avp(1430, u32(1423, 1, TGPP) + u32(1456, 0, TGPP) + avp(493, b"internet") + qos + ambr, TGPP)
    subscription = avp(1400, avp(701, b"\x94\x71\x10\x32", TGPP) + u32(1424, 0, TGPP) + ambr
                       + avp(1429, u32(1423, 1, TGPP) + u32(1428, 0, TGPP) + apn, TGPP), TGPP)
    inserted = message(False, 316, 16777251, 3, session, u32(268, 2001), u32(277, 1), *other, u32(1406, 1, TGPP), subscription)
    # Two messages in a segment, and one in three.
    info = message(True, 318, 16777251, 4, session, vendor, u32(277, 1), *who, avp(283, b"example"), imsi,
                   avp(1408, u32(1410, 3, TGPP), TGPP), avp(1407, b"\x00\xf1\x10", TGPP), avp(282, b"dra1"), avp(282, b"dra2"))
    tcp.send(0, update + info)
    tcp.send(1, inserted, piece=150)
    unknown = message(False, 318, 16777251, 4, session, avp(297, u32(266, TGPP) + u32(298, 5001)), u32(277, 1), *other,
                      avp(281, b"user unknown", mandatory=False), avp(294, b"hlr.example"))
    tcp.send(1, unknown)
    # Credit control, an error of the protocol, a watchdog and the end.
    units = avp(456, avp(446, avp(421, struct.pack(">Q", 5_000_000_000)) + u32(420, 60)) + u32(432, 100) + u32(439, 5))
    credit = message(True, 272, 4, 5, avp(263, b"gw;1;43"), *who, avp(283, b"example"), u32(258, 4),
                     avp(461, b"32251@3gpp.org"), u32(416, 2), u32(415, 1), u32(55, 0xEE000000),
                     avp(443, u32(450, 0) + avp(444, b"49171012345")), avp(443, u32(450, 1) + avp(444, b"001010000000001")),
                     units, avp(1, b"001010000000001", TGPP), avp(22, b"\x82\x00\xf1\x10\x00\x01", TGPP), avp(30, b"internet"),
                     avp(8, bytes([10, 9, 8, 7])))
    refused = message(False, 272, 4, 5, avp(263, b"gw;1;43"), u32(268, 3002), *other, flags=0x20)
    tcp.send(0, credit)
    tcp.send(1, refused)
    tcp.send(1, message(True, 280, 0, 6, *other, u32(278, 1), flags=0))
    tcp.send(0, message(False, 280, 0, 6, u32(268, 2001), *who, flags=0))
    tcp.send(0, message(True, 282, 0, 7, *who, u32(273, 0), flags=0))
    tcp.send(1, message(False, 282, 0, 7, u32(268, 2001), *other, flags=0))
    # Over IPv6: Cx; then Gx and accounting over SCTP on another port.
    ims = Stream(capture, 3868, "2001:db8::2", "2001:db8::1", 50_001)
    ims.send(0, message(True, 300, 16777216, 8, avp(263, b"cscf;1;1"), avp(260, u32(266, TGPP) + u32(258, 16777216)),
                        u32(277, 1), *who, avp(283, b"example"), avp(1, b"a@example"), avp(601, b"sip:a@example", TGPP),
                        avp(600, b"visited", TGPP)))
    ims.send(1, message(False, 300, 16777216, 8, avp(263, b"cscf;1;1"), u32(277, 1), *other,
                        avp(297, u32(266, TGPP) + u32(298, 2001)), avp(602, b"sip:s-cscf.example", TGPP)))
    sctp = Association(capture, 3869, 46)
    rule = avp(1003, avp(1005, b"rule-1", TGPP) + u32(432, 7) + avp(507, b"permit out ip from any to any", TGPP)
               + avp(1016, u32(1028, 5, TGPP), TGPP), TGPP)
    sctp.send(0, message(True, 272, 16777238, 9, avp(263, b"pgw;1;2"), u32(258, 16777238), *who, avp(283, b"example"),
                         u32(416, 1), u32(415, 0), u32(1027, 5, TGPP), u32(1032, 1004, TGPP), avp(30, b"ims")))
    answer = message(False, 272, 16777238, 9, avp(263, b"pgw;1;2"), u32(258, 16777238), *other, u32(268, 2001), u32(416, 1),
                     u32(415, 0), avp(1001, rule + avp(1005, b"rule-2", TGPP), TGPP))
    sctp.chunk(1, answer[:100], last=0)
    sctp.chunk(1, answer[100:], first=0)
    sctp.send(0, message(True, 271, 3, 10, avp(263, b"gw;1;44"), *who, avp(283, b"example"), u32(480, 2), u32(485, 0),
                         u32(259, 3), u32(55, 0xEE000001)))
    sctp.send(1, message(False, 271, 3, 10, avp(263, b"gw;1;44"), u32(268, 2001), *other, u32(480, 2), u32(485, 0)))
    sctp.send(0, message(True, 275, 4, 11, avp(263, b"gw;1;43"), *who, avp(283, b"example"), u32(258, 4), u32(295, 1)))
    return capture


def mgcp():
    capture = Capture()
    gateway, agent = ("10.0.0.7", 2427), ("10.0.0.8", 2727)

    def say(to_gateway, text, ends=(gateway, agent)):
        (src, sport), (dst, dport) = (ends[1], ends[0]) if to_gateway else ends
        text = text.replace("\n", "\r\n").encode()
        capture.add(Ether(**ETHER) / IP(src=src, dst=dst) / UDP(sport=sport, dport=dport) / text)

    sdp = "v=0\no=- 25678 753849 IN IP4 {0}\ns=-\nc=IN IP4 {0}\nt=0 0\nm=audio {1} RTP/AVP 0 8\n"
    say(False, "RSIP 1200 *@rgw.example MGCP 1.0\nRM: restart\nRD: 0\n")
    say(True, "200 1200 OK\n")
    say(True, "RQNT 1201 aaln/1@rgw.example MGCP 1.0 NCS 1.0\nN: ca@ca1.example:5678\nX: 0123456789AC\nR: l/hd(N)\nS: l/dl\n")
    say(False, "200 1201 OK\n")
    say(False, "NTFY 2002 aaln/1@rgw.example MGCP 1.0\nN: ca@ca1.example:5678\nX: 0123456789AC\nO: l/hd,D/9,D/1,D/2\n")
    say(True, "200 2002 OK\n")
    say(True, "CRCX 1204 aaln/1@rgw.example MGCP 1.0\nC: A3C47F21456789F0\nL: p:10, a:PCMU\nM: recvonly\nQ: step,loop\n"
        "X: 0123456789AD\nR: l/hu\n")
    say(False, "200 1204 OK\nI: FDE234C8\n\n" + sdp.format("10.0.0.7", 3456))
    say(True, "MDCX 1205 aaln/1@rgw.example MGCP 1.0\nC: A3C47F21456789F0\nI: FDE234C8\nM: sendrecv\n\n" + sdp.format("10.0.0.9", 1296))
    # Two in a datagram.
    say(False, "200 1205 OK\n.\nNTFY 2005 aaln/1@rgw.example MGCP 1.0\nX: 0123456789AD\nO: l/hu\n")
    say(True, "200 2005 OK\n.\nDLCX 1210 aaln/1@rgw.example MGCP 1.0\nC: A3C47F21456789F0\nI: FDE234C8\n")
    say(False, "250 1210 OK\nP: PS=1245, OS=62345, PR=780, OR=45123, PL=10, JI=27, LA=48\n")
    say(True, "AUEP 1211 aaln/*@rgw.example MGCP 1.0\nF: A, R, D, S, X\n")
    say(False, "500 1211 no such endpoint\n")
    say(False, "DLCX 2010 aaln/1@rgw.example MGCP 1.0\nC: 1\nI: 2\nE: 900 - hardware error\nP: PS=1, OS=2, PR=3, OR=4, PL=5, JI=6, LA=7\n")
    say(True, "200 2010 OK\n")
    # Another port.
    say(True, "AUCX 9 aaln/2@rgw.example MGCP 1.0\nI: 32F345E2\nF: C,N,L,M,LC,P\n", (("10.0.1.7", 12427), ("10.0.1.8", 12727)))
    return capture


def ber(tag, *parts):
    body = b"".join(parts)
    length = bytes([len(body)]) if len(body) < 128 else b"\x81" + bytes([len(body)])
    return bytes([tag]) + length + body


def digits(text, odd):
    halves = [int(digit, 16) for digit in text] + ([0] if odd else [])
    return bytes(low | high << 4 for low, high in zip(halves[::2], halves[1::2]))


def title(ssn, number):
    odd = len(number) % 2
    return bytes([0x12, ssn, 0, 0x10 | (1 if odd else 2), 4]) + digits(number, odd)


def by_subsystem(pc, ssn):
    return bytes([0x43]) + struct.pack("<H", pc) + bytes([ssn])


def variable(head, *parameters, option=None):
    """A message with pointers to its variable parameters, and to optional ones."""
    count = len(parameters) + (option is not None)
    pointers, body, at = [], b"", 0
    for number, parameter in enumerate(parameters):
        pointers.append(count - number + len(body))
        body += bytes([len(parameter)]) + parameter
    if option is not None:
        pointers.append(1 + len(body) if option else 0)
        body += option + b"\0" if option else b""
    return head + bytes(pointers) + body


def m3ua(kind, *parameters):
    body = b"".join(struct.pack(">HH", tag, 4 + len(value)) + value + bytes(-len(value) % 4) for tag, value in parameters)
    return bytes([1, 0, kind[0], kind[1]]) + struct.pack(">I", 8 + len(body)) + body


def transfer(opc, dpc, user, service=3, sls=5):
    head = struct.pack(">II", opc, dpc) + bytes([service, 2, 0, sls])
    return m3ua((1, 1), (0x0006, struct.pack(">I", 10)), (0x0210, head + user))


def aarq(context):
    inner = ber(0x60, b"\x80\x02\x07\x80", ber(0xA1, ber(6, bytes([4, 0, 0, 1, 0, context[0], context[1]]))))
    return ber(0x6B, ber(0x28, ber(6, bytes([0, 0x11, 0x86, 5, 1, 1, 1])), ber(0xA0, inner)))


def aare(context):
    inner = ber(0x61, b"\x80\x02\x07\x80", ber(0xA1, ber(6, bytes([4, 0, 0, 1, 0, context[0], context[1]]))),
                ber(0xA2, b"\x02\x01\x00"), ber(0xA3, ber(0xA1, b"\x02\x01\x00")))
    return ber(0x6B, ber(0x28, ber(6, bytes([0, 0x11, 0x86, 5, 1, 1, 1])), ber(0xA0, inner)))


def sigtran():
    capture = Capture()
    link = Association(capture, 2905, 3)
    point = struct.pack
    link.send(0, m3ua((3, 1), (0x0011, point(">I", 3)), (0x0004, b"hello")))
    link.send(1, m3ua((3, 4)))
    link.send(0, m3ua((4, 1), (0x000B, point(">I", 2)), (0x0006, point(">II", 10, 11))))
    link.send(1, m3ua((4, 3), (0x000B, point(">I", 2)), (0x0006, point(">I", 10))))
    link.send(1, m3ua((0, 1), (0x000D, point(">HH", 1, 3)), (0x0006, point(">I", 10))))
    link.send(1, m3ua((2, 1), (0x0006, point(">I", 10)), (0x0012, point(">II", 0x0402, 0x0403))))
    link.send(0, m3ua((3, 3), (0x0009, b"beat")))
    link.send(1, m3ua((3, 6), (0x0009, b"beat")))
    link.send(1, m3ua((0, 0), (0x000C, point(">I", 25)), (0x0006, point(">I", 12))))
    hlr, vlr = title(6, "49171012345"), title(7, "491770000001")
    imsi = ber(0x04, digits("001010000000001f", False))
    # An update of the location: begin, continue, end.
    begin = ber(0x62, ber(0x48, b"\x01\x02\x03\x04"), aarq((1, 3)), ber(0x6C, ber(0xA1, ber(2, b"\x01"), ber(2, b"\x02"),
            ber(0x30, imsi, ber(0x81, b"\x91\x94\x71\x07\x00\x00\xf1"), ber(0x04, b"\x91\x94\x71\x07\x00\x00\xf1")))))
    link.send(0, transfer(0x401, 0x802, variable(b"\x09\x81", hlr, vlr, begin)))
    more = ber(0x65, ber(0x48, b"\x05\x06\x07\x08"), ber(0x49, b"\x01\x02\x03\x04"), aare((1, 3)), ber(0x6C, ber(0xA1, ber(2, b"\x02"),
           ber(2, b"\x07"), ber(0x30, ber(0x81, b"\x91\x94\x71\x01\x21\x43\xf5")))))
    link.send(1, transfer(0x802, 0x401, variable(b"\x09\x01", vlr, hlr, more)))
    more = ber(0x65, ber(0x48, b"\x01\x02\x03\x04"), ber(0x49, b"\x05\x06\x07\x08"), ber(0x6C, ber(0xA2, ber(2, b"\x02"))))
    link.send(0, transfer(0x401, 0x802, variable(b"\x09\x01", hlr, vlr, more)))
    end = ber(0x64, ber(0x49, b"\x01\x02\x03\x04"), ber(0x6C, ber(0xA2, ber(2, b"\x01"), ber(0x30, ber(2, b"\x02"),
          ber(0x30, ber(0x04, b"\x91\x94\x71\x01\x21\x43\xf5"))))))
    link.send(1, transfer(0x802, 0x401, variable(b"\x09\x01", vlr, hlr, end)))
    # Routing for a short message in extended unitdata; an error; an abort; what comes back.
    routing = ber(0x62, ber(0x48, b"\x09"), aarq((20, 3)), ber(0x6C, ber(0xA1, ber(2, b"\x05"), ber(2, b"\x2d"),
              ber(0x30, ber(0x80, b"\x91\x94\x71\x01\x21\x43\xf5"), ber(0x81, b"\xff"), ber(0x82, b"\x91\x94\x71\x00\x00\x00\xf0")))))
    link.send(0, transfer(0x401, 0x802, variable(b"\x11\x80\x0f", hlr, title(8, "4917700"), routing, option=b"\x12\x01\x03")))
    error = ber(0x64, ber(0x49, b"\x09"), ber(0x6C, ber(0xA3, ber(2, b"\x05"), ber(2, b"\x01"))))
    link.send(1, transfer(0x802, 0x401, variable(b"\x11\x00\x0f", title(8, "4917700"), hlr, error, option=b"")))
    abort = ber(0x67, ber(0x49, b"\x0a\x0b"), ber(0x4A, b"\x01"))
    link.send(1, transfer(0x802, 0x401, variable(b"\x09\x00", by_subsystem(0x401, 8), by_subsystem(0x802, 6), abort)))
    link.send(1, transfer(0x802, 0x401, variable(b"\x0a\x01", by_subsystem(0x401, 8), hlr, begin)))
    # In two parts.
    first, second = begin[:40], begin[40:]
    link.send(0, transfer(0x403, 0x802, variable(b"\x11\x81\x0f", hlr, vlr, first, option=b"\x10\x04\xc1\x01\x02\x03")))
    link.send(0, transfer(0x403, 0x802, variable(b"\x11\x81\x0f", hlr, vlr, second, option=b"\x10\x04\x40\x01\x02\x03")))
    # A connection, and what is no SCCP.
    link.send(0, transfer(0x401, 0x802, variable(b"\x01\x01\x02\x03\x02", by_subsystem(0x802, 254), option=b"\x0f\x02\x00\x01")))
    link.send(1, transfer(0x802, 0x401, variable(b"\x02\x01\x02\x03\x04\x05\x06\x02", option=b"")))
    link.send(0, transfer(0x401, 0x802, variable(b"\x06\x04\x05\x06\x00", b"\x01\x02\x03")))
    link.send(0, transfer(0x401, 0x802, variable(b"\x04\x04\x05\x06\x01\x02\x03\x03", option=b"")))
    link.send(1, transfer(0x802, 0x401, b"\x05\x01\x02\x03\x04\x05\x06"))
    link.send(1, transfer(0x802, 0x401, variable(b"\x03\x01\x02\x03\x0a", option=b"")))
    link.send(0, transfer(0x401, 0x802, b"\x01\x00\x0c\x02\x00\x02\x83\x90", service=5))
    return capture


class Two:
    """Both ends of a connection of HTTP/2."""

    def __init__(self, stream, upgrade=False):
        self.stream = stream
        ends = [H2Connection(H2Configuration(client_side=side == 0, header_encoding="utf-8")) for side in (0, 1)]
        self.ends = ends
        if upgrade:
            settings = ends[0].initiate_upgrade_connection()
            stream.send(0, b"GET /upgraded HTTP/1.1\r\nHost: weir.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                           b"Upgrade: h2c\r\nHTTP2-Settings: " + settings + b"\r\n\r\n")
            ends[1].initiate_upgrade_connection(settings)
            stream.send(1, b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
            self.flush(1)
            self.flush(0)
        else:
            ends[0].initiate_connection()
            ends[1].initiate_connection()
            self.flush(0)
            self.flush(1)
        self.flush(0)
        self.flush(1)

    def flush(self, side, piece=1400, parts=1):
        data = self.ends[side].data_to_send()
        if parts > 1:
            # The head is one frame: it goes on in others.
            payload, flags = data[9:], data[4]
            size = -(-len(payload) // parts)
            pieces = [payload[at:at + size] for at in range(0, len(payload), size)]
            data = b"".join(
                len(piece).to_bytes(3, "big") + bytes([9 if at else 1, (0 if at else flags & ~4) | (4 if at == parts - 1 else 0)])
                + data[5:9] + piece for at, piece in enumerate(pieces))
        if data:
            self.stream.send(side, data, piece)
            self.ends[1 - side].receive_data(data)

    def request(self, number, path, *fields, method="GET", body=b"", piece=1400, parts=1):
        head = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "weir.test"), *fields]
        self.ends[0].send_headers(number, head, end_stream=not body)
        if body:
            self.ends[0].send_data(number, body, end_stream=True, pad_length=5)
        self.flush(0, piece, parts)

    def response(self, number, status, *fields, body=b"", trailers=()):
        self.ends[1].send_headers(number, [(":status", status), *fields], end_stream=not body)
        if body:
            self.ends[1].send_data(number, body, end_stream=not trailers)
        if trailers:
            self.ends[1].send_headers(number, list(trailers), end_stream=True)
        self.flush(1)


def http2():
    capture = Capture()
    two = Two(Stream(capture, 80))
    agent = ("user-agent", "weir/1")
    two.request(1, "/", agent, ("accept", "*/*"))
    two.request(3, "/post", agent, ("content-type", "text/plain"), method="POST", body=b"hello " * 50)
    two.response(3, "201", ("server", "h2"), ("location", "/post/1"), ("content-length", "6"), body=b"thanks")
    two.response(1, "200", ("server", "h2"), ("content-type", "text/html"), body=b"<p>" * 2000, trailers=[("x-sum", "7")])
    # The table gets larger, fields come again by their numbers, and a head goes on in other frames.
    two.ends[1].update_settings({SettingCodes.HEADER_TABLE_SIZE: 16384})
    two.flush(1)
    two.flush(0)
    for number in range(5, 25, 2):
        two.request(number, f"/page/{number}", agent, ("accept", "*/*"), ("referer", "http://weir.test/"),
                    ("cookie", "a=" + "b" * number), piece=40 if number == 7 else 1400)
    for number in range(23, 3, -2):
        two.response(number, "404" if number == 9 else "200", ("server", "h2"), ("date", "Mon, 23 Nov 2026 07:00:00 GMT"))
    long = [(f"x-{number}", chr(97 + number) * 300) for number in range(4)]
    two.request(25, "/long", agent, *long, parts=3)
    two.response(25, "431", ("server", "h2"))
    two.request(27, "/reset", agent)
    two.ends[1].reset_stream(27)
    two.flush(1)
    # After an upgrade.
    two = Two(Stream(capture, 80, client_port=50_002), upgrade=True)
    two.response(1, "200", ("server", "h2c"), body=b"up")
    two.request(3, "/next", agent)
    two.response(3, "204")
    return capture


def dns_name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".") if label) + b"\0"


def dns_question(text, kind):
    return dns_name(text) + struct.pack(">HH", kind, 1)


def dns_record(text, kind, data, cls=1, ttl=60):
    return dns_name(text) + struct.pack(">HHIH", kind, cls, ttl, len(data)) + data


def dns_message(number, flags, *sections):
    return struct.pack(">HHHHHH", number, flags, *map(len, sections)) + b"".join(map(b"".join, sections))


def dns():
    """Flags of each kind of message, updates, records of keys, NULL, and zones in several messages."""
    capture = Capture()

    def datagram(data, port=53, client=True):
        ends = ("10.0.0.1", "10.0.0.2") if client else ("10.0.0.2", "10.0.0.1")
        ports = (4000, port) if client else (port, 4000)
        if port != 53:
            ports = (port, port)
        capture.add(Ether(**ETHER) / IP(src=ends[0], dst=ends[1]) / UDP(sport=ports[0], dport=ports[1]) / data)

    for port in (53, 5353, 5355):
        for number, flags in enumerate((0x0000, 0x0100, 0x07F0, 0x8000, 0x8400, 0x87F3)):
            datagram(dns_message(port + number, flags, [dns_question("www.example", 1)], [], [], []), port, flags < 0x8000)
    for number, flags in enumerate((0x2800, 0xA800, 0x2FF0, 0xAFF5)):
        update = [dns_question("example", 6)], [dns_record("a.example", 255, b"", 255, 0)], [dns_record("b.example", 1, b"\1\2\3\4")], []
        datagram(dns_message(100 + number, flags, *update), 53, flags < 0x8000)
    for number, (kind, data) in enumerate((
        (59, b"\0\1\5\2" + b"d" * 32), (60, b"\1\1\3\5" + b"k" * 20), (32769, b"\0\2\5\1" + b"x" * 20),
        (43, b"\0\3\5\1" + b"x" * 20), (48, b"\1\0\3\5" + b"k" * 20), (10, b"null\0\xff"), (32768, b"\0\4\5\1" + b"x" * 20),
    )):
        datagram(dns_message(200 + number, 0x0100, [dns_question("key.example", kind)], [], [], []))
        datagram(dns_message(200 + number, 0x8400, [dns_question("key.example", kind)], [dns_record("key.example", kind, data)], [], []), 53, False)
    datagram(dns_message(300, 0x0100, [dns_question("", 2)], [], [], []))
    soa = dns_record("example", 6, dns_name("ns.example") + dns_name("host.example") + struct.pack(">5I", 1, 2, 3, 4, 5))
    host = dns_record("host.example", 1, b"\1\1\1\1")
    stream = Stream(capture, 53)
    for number, kind in ((400, 252), (401, 251), (402, 1)):
        for side, data in (
            (0, dns_message(number, 0, [dns_question("example", kind)], [], [], [])),
            (1, dns_message(number, 0x8400, [dns_question("example", kind)], [soa, host], [], [])),
            (1, dns_message(number, 0x8400, [], [host] * 3, [], [])),
            (1, dns_message(number, 0x8400, [], [host, soa], [], [])),
        ):
            stream.send(side, struct.pack(">H", len(data)) + data)
    return capture


def mqtt_text(data):
    data = data if isinstance(data, bytes) else data.encode()
    return struct.pack(">H", len(data)) + data


def mqtt_properties(*all_of_them):
    return bytes([sum(map(len, all_of_them))]) + b"".join(all_of_them)


def mqtt():
    """MQTT 5 with properties of each type, and the answers of brokers of the versions before."""
    capture = Capture()
    packet = lambda first, body: bytes([first, len(body) % 128 | 128, len(body) // 128]) + body
    pair = lambda key, value: b"\x26" + mqtt_text(key) + mqtt_text(value)
    stream = Stream(capture, 1883)
    stream.send(0, packet(0x10, mqtt_text("MQTT") + b"\5\xc6\0\x3c" + mqtt_properties(
        b"\x11\0\0\x0e\x10", b"\x21\0\x14", b"\x27\0\0\x10\0", b"\x22\0\x0a", b"\x19\1", b"\x17\0", pair("k1", "v1"),
        pair("k2", "v2"), b"\x15" + mqtt_text("SCRAM")) + mqtt_text("client") + mqtt_properties(
        b"\x18\0\0\0\x1e", b"\1\1", b"\2\0\0\0\x3c", b"\x08" + mqtt_text("response/topic"), pair("will", "w"))
        + mqtt_text("will/topic") + mqtt_text("gone") + mqtt_text("bob") + mqtt_text("secret")))
    stream.send(1, packet(0x20, b"\1\0" + mqtt_properties(
        b"\x11\0\0\x1c\x20", b"\x21\0\x20", b"\x24\1", b"\x25\1", b"\x27\0\1\0\0", b"\x12" + mqtt_text("assigned"), b"\x22\0\5",
        b"\x1f" + mqtt_text("fine"), pair("s", "t"), b"\x28\1", b"\x29\0", b"\x2a\1", b"\x13\0\x78", b"\x1a" + mqtt_text("info"))))
    stream.send(0, packet(0x32, mqtt_text("a/b") + b"\0\7" + mqtt_properties(
        b"\1\1", b"\x23\0\3", b"\x08" + mqtt_text("answer"), b"\x09" + mqtt_text("data"), pair("x", "y"), b"\x03" + mqtt_text("json")) + b"hello"))
    stream.send(1, packet(0x40, b"\0\7\x10" + mqtt_properties(b"\x1f" + mqtt_text("no match"))))
    stream.send(0, packet(0x30, mqtt_text("") + mqtt_properties(b"\x23\0\3") + b"again"))
    stream.send(0, packet(0x82, b"\0\1" + mqtt_properties(b"\x0b\x80\2") + mqtt_text("a") + b"\x2d" + mqtt_text("b/#") + b"\0"))
    stream.send(1, packet(0x90, b"\0\1" + mqtt_properties(b"\x1f" + mqtt_text("r")) + b"\1\x87"))
    stream.send(0, packet(0xA2, b"\0\2" + mqtt_properties(pair("u", "v")) + mqtt_text("a")))
    stream.send(1, packet(0xB0, b"\0\2" + mqtt_properties() + b"\0\x11"))
    stream.send(0, packet(0x50, b"\0\3"))
    stream.send(0, packet(0x62, b"\0\3\x92"))
    stream.send(1, packet(0x70, b"\0\3\0" + mqtt_properties(pair("a", "b"))))
    stream.send(0, packet(0xF0, b"\x18" + mqtt_properties(b"\x15" + mqtt_text("X"), b"\x16" + mqtt_text("Y"))))
    stream.send(1, packet(0xE0, b"\x8b" + mqtt_properties(b"\x1f" + mqtt_text("bye"), b"\x1c" + mqtt_text("other"))))
    for version, protocol in ((3, "MQIsdp"), (4, "MQTT")):
        stream = Stream(capture, 1883, client_port=50_000 + version)
        stream.send(0, packet(0x10, mqtt_text(protocol) + bytes([version]) + b"\2\0\x3c" + mqtt_text("client")))
        stream.send(1, packet(0x20, b"\1\0"))
        stream.send(0, packet(0x30, mqtt_text("topic") + b"\0hello"))
    return capture


CAPTURES = {
    "http2.pcap": http2, "diameter.pcap": diameter, "mgcp.pcap": mgcp, "sigtran.pcap": sigtran, "dns.pcap": dns, "mqtt.pcap": mqtt,
}

if __name__ == "__main__":
    wrong = []
    for name, make in CAPTURES.items():
        made = make().bytes()
        if "--check" in sys.argv:
            if (HERE / name).read_bytes() != made:
                wrong.append(name)
        else:
            (HERE / name).write_bytes(made)
    if wrong:
        sys.exit(f"not what this makes: {', '.join(wrong)}")

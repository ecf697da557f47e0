#!/usr/bin/env python3
"""Makes messages.pcap and messages-keys.log: messages of DNS, MQTT, Diameter, RADIUS, Megaco and SIP through TLS 1.3, the
last with sound that it announces. Run in this folder; the secrets and so the bytes are new each time."""

import os
import ssl
import struct
import subprocess
import tempfile

import make


def prefixed(data):
    return struct.pack("!H", len(data)) + data


def dns(response):
    head = struct.pack("!6H", 7, 0x8180 if response else 0x0100, 1, int(response), 0, 0)
    question = b"\x07private\x04test\x00" + struct.pack("!HH", 1, 1)
    answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([192, 0, 2, 1])
    return prefixed(head + question + (answer if response else b""))


def mqtt_connect():
    body = prefixed(b"MQTT") + bytes([4, 2, 0, 60]) + prefixed(b"weir")
    return bytes([0x10, len(body)]) + body


def mqtt_publish():
    body = prefixed(b"private/topic") + b"hello"
    return bytes([0x30, len(body)]) + body


def avp(code, data):
    padded = data + b"\0" * (-len(data) % 4)
    return struct.pack("!IB", code, 0x40) + struct.pack("!I", 8 + len(data))[1:] + padded


def diameter(flags):
    body = avp(264, b"host.private.test") + avp(296, b"private.test")
    if not flags & 0x80:
        body = avp(268, struct.pack("!I", 2001)) + body
    head = b"\x01" + struct.pack("!I", 20 + len(body))[1:] + bytes([flags]) + struct.pack("!I", 257)[1:]
    return head + struct.pack("!III", 0, 17, 18) + body


def radius(code):
    attributes = bytes([1, 7]) + b"alice" if code == 1 else b""
    return struct.pack("!BBH", code, 9, 20 + len(attributes)) + bytes(range(16)) + attributes


def megaco(text):
    data = text.encode()
    return struct.pack("!BBH", 3, 0, 4 + len(data)) + data


def invite():
    body = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n"
    head = "INVITE sip:b@weir.test SIP/2.0\r\nVia: SIP/2.0/TLS 10.0.0.1;branch=z9hG4bK1\r\nFrom: <sip:a@weir.test>;tag=1\r\n"
    head += "To: <sip:b@weir.test>\r\nCall-ID: private@weir.test\r\nCSeq: 1 INVITE\r\nMax-Forwards: 70\r\n"
    return (head + f"Content-Type: application/sdp\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def sound(number):
    rtp = struct.pack("!BBHII", 0x80, 8, number, number * 160, 7) + b"\xd5" * 160
    udp = struct.pack("!HHHH", 5000, 4000, 8 + len(rtp), 0) + rtp
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + b"\x0a\x00\x00\x02\x0a\x00\x00\x01"
    make.CLOCK[0] += 20_000
    seconds, micros = divmod(make.CLOCK[0], 1_000_000)
    make.PACKETS.append(struct.pack("<IIII", seconds, micros, len(ip + udp), len(ip + udp)) + ip + udp)


def main():
    if os.path.exists("messages-keys.log"):
        os.remove("messages-keys.log")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
             "-subj", "/CN=weir.test", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
            check=True, capture_output=True)
        notify = "Transaction=5{Context=-{ServiceChange=ROOT{Services{Method=Restart,Reason=\"901 Cold Boot\"}}}}"
        for number, (port, said) in enumerate([
            (853, [dns(False), dns(True)]),
            (8883, [mqtt_connect(), bytes([0x20, 2, 0, 0]), mqtt_publish()]),
            (5868, [diameter(0x80), diameter(0)]),
            (2083, [radius(1), radius(2)]),
            (2945, [megaco(f"MEGACO/1 [10.0.0.1]:2944 {notify}"),
                    megaco("MEGACO/1 [10.0.0.2]:2944 Reply=5{Context=-{ServiceChange=ROOT}}")]),
            (5061, [invite()]),
        ]):
            client, server = make.contexts(folder, ssl.TLSVersion.TLSv1_3)
            client.keylog_filename = "messages-keys.log"
            session = make.Session(42000 + number, client, server, server_port=port)
            for turn, data in enumerate(said):
                session.send(turn % 2, data)
            session.close()
        for number in range(3):
            sound(number)
    with open("messages.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + b"".join(make.PACKETS))


if __name__ == "__main__":
    main()

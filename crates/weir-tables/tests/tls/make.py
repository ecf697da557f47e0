#!/usr/bin/env python3
"""Makes sessions.pcap and keys.log: sessions of TLS 1.2 and 1.3 between both ends of Python's ssl module (OpenSSL), in
memory, with the secrets that OpenSSL logs. Run in this folder; the secrets and so the bytes are new each time."""

import os
import ssl
import struct
import subprocess
import tempfile

PACKETS = []
CLOCK = [1_700_000_000_000_000]


def packet(ports, seq, ack, flags, data=b""):
    tcp = struct.pack("!HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 65535, 0, 0) + data
    ends = (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02")
    if ports[0] < ports[1]:
        ends = ends[::-1]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + ends[0] + ends[1]
    CLOCK[0] += 1000
    PACKETS.append(struct.pack("<IIII", CLOCK[0] // 1_000_000, CLOCK[0] % 1_000_000, len(ip + tcp), len(ip + tcp)) + ip + tcp)


class Session:
    """Both ends, and the TCP connection between them."""

    def __init__(self, port, client, server, server_port=443, resumed=None):
        self.ports, self.seq = (port, server_port), [1000, 5000]
        packet(self.ports, 1000, 0, 2)
        packet(self.ports[::-1], 5000, 1001, 18)
        self.seq = [1001, 5001]
        packet(self.ports, *self.seq, 16)
        self.bio = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
        self.end = [
            client.wrap_bio(*self.bio[0], server_hostname="weir.test", session=resumed),
            server.wrap_bio(*self.bio[1], server_side=True),
        ]
        done = [False, False]
        while not all(done):
            for side in (0, 1):
                try:
                    self.end[side].do_handshake()
                    done[side] = True
                except ssl.SSLWantReadError:
                    pass
                self.flush(side)

    def flush(self, side):
        data = self.bio[side][1].read()
        for at in range(0, len(data), 1400):
            piece = data[at : at + 1400]
            ports = self.ports if side == 0 else self.ports[::-1]
            packet(ports, self.seq[side], self.seq[1 - side], 24, piece)
            self.seq[side] += len(piece)
        self.bio[1 - side][0].write(data)

    def send(self, side, data):
        self.end[side].write(data)
        self.flush(side)
        got = b""
        while len(got) < len(data):
            got += self.end[1 - side].read(1 << 16)
        assert got == data

    def close(self):
        for side in (0, 1):
            ports = self.ports if side == 0 else self.ports[::-1]
            packet(ports, self.seq[side], self.seq[1 - side], 17)
            self.seq[side] += 1


def contexts(folder, version, ciphers=None, curve=None):
    client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    server.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    if curve:
        server.set_ecdh_curve(curve)
    for context in (client, server):
        context.minimum_version = context.maximum_version = version
        if ciphers:
            context.set_ciphers(ciphers)
    client.keylog_filename = "keys.log"
    return client, server


def http(session, name):
    for number in (1, 2):
        body = name.encode() * (20 if number == 1 else 1500)
        session.send(0, b"GET /%s/%d HTTP/1.1\r\nHost: weir.test\r\nUser-Agent: make.py\r\n\r\n" % (name.encode(), number))
        session.send(1, b"HTTP/1.1 200 OK\r\nServer: weir\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    session.close()


def frame(data, mask):
    head = bytes([0x81, len(data) | (0x80 if mask else 0)])
    key = b"\x11\x22\x33\x44" if mask else b""
    return head + key + bytes(byte ^ key[at % 4] for at, byte in enumerate(data)) if mask else head + data


def main():
    if os.path.exists("keys.log"):
        os.remove("keys.log")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
             "-subj", "/CN=weir.test", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
            check=True, capture_output=True)
        two, three = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
        port = 40000
        for name, ciphers in [
            ("aes128", "ECDHE-ECDSA-AES128-GCM-SHA256"),
            ("aes256", "ECDHE-ECDSA-AES256-GCM-SHA384"),
            ("chacha20", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ]:
            http(Session(port, *contexts(folder, two, ciphers)), "two-" + name)
            port += 1
        http(Session(port, *contexts(folder, three)), "three-default")
        http(Session(port + 1, *contexts(folder, three, curve="secp384r1")), "three-retry")
        client, server = contexts(folder, two, "ECDHE-ECDSA-AES128-GCM-SHA256")
        first = Session(port + 2, client, server)
        http(first, "two-first")
        http(Session(port + 3, client, server, resumed=first.end[0].session), "two-resumed")
        sip = Session(port + 4, *contexts(folder, three), server_port=5061)
        head = "OPTIONS sip:weir.test SIP/2.0\r\nVia: SIP/2.0/TLS 10.0.0.1;branch=z9hG4bK1\r\nFrom: <sip:a@weir.test>;tag=1\r\n"
        head += "To: <sip:b@weir.test>\r\nCall-ID: sealed@weir.test\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n"
        sip.send(0, head.encode())
        sip.send(1, head.replace("OPTIONS sip:weir.test SIP/2.0", "SIP/2.0 200 OK").encode())
        sip.close()
        socket = Session(port + 5, *contexts(folder, three))
        socket.send(0, b"GET /chat HTTP/1.1\r\nHost: weir.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        socket.send(1, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
        socket.send(0, frame(b"asked in private", True))
        socket.send(1, frame(b"answered in private", False))
        socket.close()
        # Which suite OpenSSL prefers of TLS 1.3 cannot be set from here: openssl's own programs make the others.
        for suite in ("TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"):
            config = f"{folder}/{suite}.cnf"
            with open(config, "w") as file:
                file.write(f"openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nCiphersuites = {suite}\n")
            subprocess.run(["python3", __file__, suite, folder, str(port + 6)], check=True,
                           env={**os.environ, "OPENSSL_CONF": config})
            with open(f"{folder}/{suite}.part", "rb") as file:
                PACKETS.append(file.read())
            port += 1
    with open("sessions.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + b"".join(PACKETS))


def one(suite, folder, port):
    CLOCK[0] += 60_000_000 + port
    session = Session(port, *contexts(folder, ssl.TLSVersion.TLSv1_3))
    assert session.end[0].cipher()[0] == suite, session.end[0].cipher()
    http(session, "three-" + suite[4:].split("_")[0].lower() + str(port))
    with open(f"{folder}/{suite}.part", "wb") as file:
        file.write(b"".join(PACKETS))


if __name__ == "__main__":
    import sys

    one(sys.argv[1], sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 1 else main()

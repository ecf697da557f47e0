#!/usr/bin/env python3
"""Makes h2.pcap and h2-keys.log: HTTP/2 between both ends of the package `h2` through TLS 1.2 and 1.3, with streams that
are answered in another order than they were asked. Run in this folder; the secrets and so the bytes are new each time."""

import os
import ssl
import struct
import subprocess
import tempfile

import h2.config
import h2.connection

import make


def ends():
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
    server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    return client, server


def talk(session, name):
    both = ends()

    def flush(side):
        data = both[side].data_to_send()
        if data:
            session.send(side, data)
            both[1 - side].receive_data(data)

    both[0].initiate_connection()
    flush(0)
    both[1].initiate_connection()
    flush(1)
    flush(0)
    head = [(":scheme", "https"), (":authority", "weir.test"), ("user-agent", "make_h2.py"), ("accept", "*/*")]
    both[0].send_headers(1, [(":method", "GET"), (":path", f"/{name}/first"), *head], end_stream=True)
    both[0].send_headers(3, [(":method", "POST"), (":path", f"/{name}/second"), *head, ("content-type", "text/plain")])
    both[0].send_data(3, b"asked" * 100, end_stream=True)
    both[0].send_headers(5, [(":method", "GET"), (":path", f"/{name}/none"), *head], end_stream=True)
    flush(0)
    both[1].send_headers(5, [(":status", "404"), ("server", "weir")], end_stream=True)
    flush(1)
    both[1].send_headers(3, [(":status", "201"), ("server", "weir"), ("location", f"/{name}/made")])
    both[1].send_headers(1, [(":status", "200"), ("server", "weir"), ("content-type", "text/html")])
    for number in range(3):
        both[1].send_data(1, name.encode() * 900)
        both[1].send_data(3, b"made", end_stream=number == 2)
        flush(1)
    both[1].end_stream(1)
    flush(1)
    session.close()


def main():
    if os.path.exists("h2-keys.log"):
        os.remove("h2-keys.log")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
             "-subj", "/CN=weir.test", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
            check=True, capture_output=True)
        for port, name, version in [(41000, "two", ssl.TLSVersion.TLSv1_2), (41001, "three", ssl.TLSVersion.TLSv1_3)]:
            client, server = make.contexts(folder, version)
            client.keylog_filename = "h2-keys.log"
            for context in (client, server):
                context.set_alpn_protocols(["h2"])
            talk(make.Session(port, client, server), name)
    with open("h2.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + b"".join(make.PACKETS))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes early.pcap and early-keys.log: sessions of TLS 1.3 between the s_client and the s_server of OpenSSL, in which the client
sends a request of HTTP as early data (0-RTT), with the secrets that the client logs: one of a server that takes it, with each
suite, and one of a server that refuses it. Run in this folder; the secrets and so the bytes are new each time."""

import os
import select
import socket
import struct
import subprocess
import tempfile
import threading
import time

PACKETS = []
LOCK = threading.Lock()


def packet(ports, seq, ack, flags, data=b""):
    tcp = struct.pack("!HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 65535, 0, 0) + data
    ends = (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02")
    if ports[0] < ports[1]:
        ends = ends[::-1]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + ends[0] + ends[1]
    at = 1_700_000_000_000_000 + 1000 * len(PACKETS)
    PACKETS.append(struct.pack("<IIII", at // 1_000_000, at % 1_000_000, len(ip + tcp), len(ip + tcp)) + ip + tcp)


class Recorder:
    """Passes one connection on, and records its segments."""

    def __init__(self, port, server_port):
        self.ports, self.seq, self.server_port = (port, 443), [1001, 5001], server_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.server_port))
        packet(self.ports, 1000, 0, 2)
        packet(self.ports[::-1], 5000, 1001, 18)
        packet(self.ports, *self.seq, 16)
        ends = [client, server]
        others = [threading.Thread(target=self.copy, args=(ends, side)) for side in (0, 1)]
        for one in others:
            one.start()
        for one in others:
            one.join()

    def copy(self, ends, side):
        while data := ends[side].recv(1400):
            with LOCK:
                packet(self.ports if side == 0 else self.ports[::-1], self.seq[side], self.seq[1 - side], 24, data)
                self.seq[side] += len(data)
            ends[1 - side].sendall(data)
        ends[1 - side].shutdown(socket.SHUT_WR)


SEEN = {}


def until(process, marker):
    """Reads what a process prints, up to a marker that has to come within ten seconds."""
    seen, end = SEEN.pop(process, b""), time.monotonic() + 10
    while marker not in seen:
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        more = os.read(process.stdout.fileno(), 4096) if ready else b""
        if not more:
            raise SystemExit(f"no {marker} in {seen}")
        seen += more
    SEEN[process] = seen.split(marker, 1)[1]


def await_whole(session):
    """Waits for the file of a session, which s_client writes when the ticket comes, for ten seconds at most."""
    end = time.monotonic() + 10
    while not (os.path.exists(session) and b"END SSL SESSION" in open(session, "rb").read()):
        if time.monotonic() > end:
            raise SystemExit("no ticket came")
        time.sleep(0.01)
    os.rename(session, session + ".pem")


def main():
    folder = tempfile.mkdtemp()
    key, certificate, session = (os.path.join(folder, name) for name in ("key", "certificate", "session"))
    request = os.path.join(folder, "request")
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {key} -out {certificate} -subj /CN=weir.test -days 3650",
        shell=True, check=True, capture_output=True,
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}

    def serve(port, *more):
        server = subprocess.Popen(["openssl", "s_server", "-accept", str(port), "-key", key, "-cert", certificate, "-tls1_3", *more], **pipes)
        until(server, b"ACCEPT")
        return server

    def connect(port, suite, *more):
        log = os.path.abspath("early-keys.log")
        return subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-ciphersuites", suite, "-keylogfile", log, *more], **pipes
        )

    if os.path.exists("early-keys.log"):
        os.remove("early-keys.log")
    for number, suite in enumerate(["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"]):
        is_refused = number == 3
        path = "/refused" if is_refused else f"/early-{number}"
        text = f"GET {path} HTTP/1.1\r\nHost: weir.test\r\n\r\n".encode()
        with open(request, "wb") as file:
            file.write(text)
        port = 24430 + number
        server = serve(port, "-early_data")
        recorder = Recorder(50000 + 2 * number, port)
        client = connect(recorder.port, suite, "-sess_out", session)
        await_whole(session)
        client.stdin.close()
        client.wait()
        recorder.thread.join()
        if is_refused:
            server.kill()
            server.wait()
            server = serve(port + 100)
        recorder = Recorder(50001 + 2 * number, port + 100 * is_refused)
        client = connect(recorder.port, suite, "-sess_in", session + ".pem", "-early_data", request)
        if is_refused:
            client.stdin.write(text)
            client.stdin.flush()
        until(server, path.encode())
        server.stdin.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
        server.stdin.flush()
        until(client, b"\r\n\r\nearly")
        client.stdin.write(b"GET /later HTTP/1.1\r\nHost: weir.test\r\n\r\n")
        client.stdin.flush()
        until(server, b"/later")
        server.stdin.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        server.stdin.flush()
        until(client, b"404 Not Found")
        client.stdin.close()
        client.wait()
        recorder.thread.join()
        server.kill()
        server.wait()
    with open("early.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + b"".join(PACKETS))


main()

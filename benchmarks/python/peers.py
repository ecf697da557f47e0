"""One reader of captures, which fills a frame of Polars with six columns of each packet: time, length, addresses, ports.

    python peers.py NAME FILE        prints what it took as a line of JSON, without imports and the interpreter's start

nfstream gives flows and no packets: it is asked for its flows, and its rate is that of the packets it read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import polars

COLUMNS = ["time", "length", "src", "dst", "srcport", "dstport"]
QUERY = "SELECT frame.time AS time, frame.len AS length, ip.src AS src, ip.dst AS dst, port.src AS srcport, port.dst AS dstport FROM '{}'"
Rows = list[tuple[float, int, "str | None", "str | None", "int | None", "int | None"]]


def frame_of(rows: Rows) -> polars.DataFrame:
    return polars.DataFrame(rows, schema=COLUMNS, orient="row", infer_schema_length=None)


def with_weir(path: str) -> Callable[[], tuple[int, object]]:
    import weir

    def read() -> tuple[int, object]:
        frame = weir.sql(QUERY.format(path)).pl()
        return frame.height, frame

    return read


def with_scapy(path: str) -> Callable[[], tuple[int, object]]:
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.l2 import Ether  # noqa: F401  (the link layer that a capture of Ethernet begins with)
    from scapy.utils import PcapReader

    def read() -> tuple[int, object]:
        rows: Rows = []
        with PcapReader(path) as packets:
            for packet in packets:
                ip = packet.getlayer(IP)
                ports = packet.getlayer(TCP) or packet.getlayer(UDP)
                rows.append(
                    (
                        float(packet.time),
                        packet.wirelen,
                        ip.src if ip else None,
                        ip.dst if ip else None,
                        ports.sport if ports else None,
                        ports.dport if ports else None,
                    )
                )
        return len(rows), frame_of(rows)

    return read


def with_dpkt(path: str) -> Callable[[], tuple[int, object]]:
    import socket

    import dpkt

    def read() -> tuple[int, object]:
        rows: Rows = []
        with open(path, "rb") as file:
            for at, octets in dpkt.pcap.Reader(file):
                src = dst = sport = dport = None
                try:
                    inner = dpkt.ethernet.Ethernet(octets).data
                except dpkt.UnpackError:
                    inner = None
                if isinstance(inner, dpkt.ip.IP):
                    src, dst = socket.inet_ntoa(inner.src), socket.inet_ntoa(inner.dst)
                if isinstance(inner, (dpkt.ip.IP, dpkt.ip6.IP6)) and isinstance(
                    inner.data, (dpkt.tcp.TCP, dpkt.udp.UDP)
                ):
                    sport, dport = inner.data.sport, inner.data.dport
                rows.append((at, len(octets), src, dst, sport, dport))
        return len(rows), frame_of(rows)

    return read


def with_pyshark(path: str) -> Callable[[], tuple[int, object]]:
    import pyshark

    def read() -> tuple[int, object]:
        rows: Rows = []
        capture = pyshark.FileCapture(path, keep_packets=False)
        for packet in capture:
            ip = getattr(packet, "ip", None)
            ports = getattr(packet, "tcp", None) or getattr(packet, "udp", None)
            rows.append(
                (
                    float(packet.sniff_timestamp) if packet.sniff_timestamp.replace(".", "").isdigit() else 0.0,
                    int(packet.length),
                    str(ip.src) if ip else None,
                    str(ip.dst) if ip else None,
                    int(ports.srcport) if ports else None,
                    int(ports.dstport) if ports else None,
                )
            )
        capture.close()
        return len(rows), frame_of(rows)

    return read


def with_nfstream(path: str) -> Callable[[], tuple[int, object]]:
    from nfstream import NFStreamer

    def read() -> tuple[int, object]:
        streamer = NFStreamer(source=path, n_dissections=0, n_meters=1)
        rows = []
        packets = 0
        for flow in streamer:
            packets += flow.bidirectional_packets
            rows.append(
                (
                    flow.bidirectional_first_seen_ms / 1e3,
                    flow.bidirectional_bytes,
                    flow.src_ip,
                    flow.dst_ip,
                    flow.src_port,
                    flow.dst_port,
                )
            )
        return packets, frame_of(rows)

    return read


READERS = {
    "weir": with_weir,
    "scapy": with_scapy,
    "dpkt": with_dpkt,
    "pyshark": with_pyshark,
    "nfstream": with_nfstream,
}


def main() -> None:
    name, path = sys.argv[1:]
    read = READERS[name](path)
    began, cpu = time.perf_counter(), time.process_time()
    packets, frame = read()
    took = {"packets": packets, "wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    print(json.dumps(took))
    del frame


if __name__ == "__main__":
    main()

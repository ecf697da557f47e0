#!/usr/bin/env python3
"""Makes makers.zst and services.zst out of the registries, as README.md says.

    python3 make.py IEEE_DATA_FOLDER PORT_NUMBERS_JSON
"""
import csv, json, pathlib, re, subprocess, sys

ieee, ports = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def compress(name, text):
    path = pathlib.Path(__file__).parent / name
    subprocess.run(["zstd", "-q", "-f", "--ultra", "-22", "-o", path], input=text.encode(), check=True)
    print(path.name, len(text), "->", path.stat().st_size, file=sys.stderr)


# A line a maker: its name, then the prefixes of its cards in hexadecimal (6, 7 or 9 digits). Both are sorted, so that
# they pack well.
makers = {}
for name in ["oui.csv", "mam.csv", "oui36.csv", "iab.csv"]:
    with open(ieee / name, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            prefix = row["Assignment"].strip().lower()
            who = " ".join(row["Organization Name"].split())
            if who.lower() in ("private", "ieee registration authority") or not re.fullmatch("[0-9a-f]{6,9}", prefix):
                continue
            makers.setdefault(who, set()).add(prefix)
lines = []
for who in sorted(makers):
    lines.append("\t".join([who] + sorted(makers[who], key=lambda p: (len(p), p))))
compress("makers.zst", "\n".join(lines) + "\n")

# A line a service: port, protocol, name.
found = {}
for key, (name, _) in json.loads(ports.read_text()).items():
    match = re.fullmatch(r"(\d+)/(tcp|udp|sctp|dccp)", key)
    if match and name:
        found[int(match[1]), match[2]] = name
# IANA has three names for it, of which the package kept the last.
for protocol in ["tcp", "udp", "sctp"]:
    found[80, protocol] = "http"
lines = []
for (port, protocol), name in sorted(found.items()):
    lines.append(f"{port}\t{protocol}\t{name}")
compress("services.zst", "\n".join(lines) + "\n")

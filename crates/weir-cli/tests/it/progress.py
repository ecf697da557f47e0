"""Runs commands that read for very long, with a pseudo-terminal as their standard error, until a bar is there."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

weir = sys.argv[1]
COMMANDS = [
    ["clf", "search", "--no-index", "hole.clf"],
    ["clf", "search", "--no-index", "--count", "hole.clf"],
    ["clf", "index", "hole.clf"],
    ["query", "SELECT frame.number, frame.len FROM 'hole.pcap'", "-o", "rows.csv"],
]
# `23%`, `1.5 GiB of 1024.0 GiB`, a rate, records, and what is left.
BAR = re.compile(r"\d+% .*iB of .*iB, .*/s, [0-9,]+ records, .* left|\d+% .*B of .*iB, .*/s, [0-9,]+ records")


def bar(command):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    with open("out", "wb") as out:
        child = subprocess.Popen(
            [weir, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=slave, env=environment
        )
    os.close(slave)
    seen = b""
    found = None
    patience = time.monotonic() + 120
    try:
        while found is None and time.monotonic() < patience:
            if select.select([master], [], [], 1)[0]:
                try:
                    seen += os.read(master, 65536)
                except OSError:
                    break
            found = BAR.search(seen.decode("utf-8", "replace"))
    finally:
        child.kill()
        child.wait()
        os.close(master)
    assert found, (command, seen)
    print(" ".join(command[:2]), found.group(0))


for command in COMMANDS:
    bar(command)

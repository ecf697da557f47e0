#!/usr/bin/env python3
"""Rows a second and resident memory of `weir serve` over each protocol, beside PostgreSQL where it is installed.

    clients.py PROGRAM FOLDER ROWS

The same table of six columns lies in a Parquet file for weir and in a table for PostgreSQL; the same clients read it to
its end and keep nothing. One line of JSON for each measurement: {"name", "who", "seconds", "resident_mb"}.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

SELECT = (
    "SELECT v, v * 2 AS w, CAST(v AS TEXT) AS t, CAST(v % 7 AS INT) AS m, "
    "CAST(v AS DOUBLE PRECISION) / 2 AS h, v % 2 = 0 AS f FROM generate_series(1, {rows}) s(v)"
)


def resident_mb(pid, key="VmRSS"):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(key):
                return int(line.split()[1]) / 1024
    return 0.0


def by_psql(port, table):
    """Text, as people export tables."""
    command = ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "bench", "-d", "weir"]
    with subprocess.Popen(command + ["-c", f"COPY (SELECT * FROM {table}) TO STDOUT"], stdout=subprocess.PIPE) as psql:
        count = 0
        while piece := psql.stdout.read(1 << 20):
            count += piece.count(b"\n")
    assert psql.returncode == 0
    return count


def by_adbc(module, uri, table):
    import importlib

    driver = importlib.import_module(f"{module}.dbapi")
    with driver.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        return sum(batch.num_rows for batch in cursor.fetch_record_batch())


def by_http(port, table):
    import pyarrow.ipc

    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/query?format=arrow",
        data=f"SELECT * FROM {table}".encode(),
        headers={"Content-Type": "application/sql"},
    )
    with urllib.request.urlopen(request) as answer, pyarrow.ipc.open_stream(answer) as reader:
        return sum(batch.num_rows for batch in reader)


def measure(name, who, rows, read, pid=None):
    before = time.monotonic()
    count = read()
    seconds = time.monotonic() - before
    assert count == rows, (name, who, count)
    resident = resident_mb(pid, "VmHWM") if pid else None
    print(json.dumps({"name": name, "who": who, "seconds": seconds, "resident_mb": resident}), flush=True)


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}.dbapi"], capture_output=True).returncode == 0


def of_weir(program, folder, rows):
    table = os.path.join(folder, "rows.parquet")
    subprocess.run([program, "query", SELECT.format(rows=rows), "-o", table, "--overwrite"], check=True)
    doors = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--flight", "127.0.0.1:0"]
    server = subprocess.Popen([program, "serve", "--root", folder] + doors, stdout=subprocess.PIPE, text=True)
    try:
        ports = [int(re.search(r":(\d+)(/|$)", server.stdout.readline()).group(1)) for _ in range(3)]
        table = "'rows.parquet'"
        print(json.dumps({"name": "idle", "who": "weir", "resident_mb": resident_mb(server.pid)}), flush=True)
        measure("text by psql", "weir", rows, lambda: by_psql(ports[0], table), server.pid)
        if has("adbc_driver_postgresql"):
            uri = f"postgresql://bench@127.0.0.1:{ports[0]}/weir"
            measure("binary by ADBC", "weir", rows, lambda: by_adbc("adbc_driver_postgresql", uri, table), server.pid)
        if has("adbc_driver_flightsql"):
            uri = f"grpc://127.0.0.1:{ports[2]}"
            measure("Flight SQL by ADBC", "weir", rows, lambda: by_adbc("adbc_driver_flightsql", uri, table), server.pid)
        measure("Arrow over HTTP", "weir", rows, lambda: by_http(ports[1], table), server.pid)
    finally:
        server.terminate()
        server.wait()


def of_postgres(rows):
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found:
        print("PostgreSQL is not installed", file=sys.stderr)
        return
    programs = os.path.dirname(found[-1])
    # It does not run as root.
    someone = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = tempfile.mkdtemp(prefix="weir-bench-postgres-")
    if someone:
        shutil.chown(folder, "postgres")
    data = os.path.join(folder, "data")
    port = 54329
    try:
        subprocess.run(someone + [f"{programs}/initdb", "-D", data, "-U", "bench", "-A", "trust"], check=True,
                       stdout=subprocess.DEVNULL, cwd=folder)
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
        subprocess.run(someone + [f"{programs}/pg_ctl", "-D", data, "-o", options, "-w", "start"], check=True,
                       stdout=subprocess.DEVNULL, cwd=folder)
        try:
            ask = ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "bench"]
            subprocess.run(ask + ["-d", "postgres", "-c", "CREATE DATABASE weir"], check=True)
            subprocess.run(ask + ["-d", "weir", "-c", f"CREATE TABLE rows AS {SELECT.format(rows=rows)}",
                                  "-c", "VACUUM ANALYZE rows"], check=True)
            measure("text by psql", "PostgreSQL", rows, lambda: by_psql(port, "rows"))
            if has("adbc_driver_postgresql"):
                uri = f"postgresql://bench@127.0.0.1:{port}/weir"
                measure("binary by ADBC", "PostgreSQL", rows, lambda: by_adbc("adbc_driver_postgresql", uri, "rows"))
        finally:
            subprocess.run(someone + [f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "stop"],
                           stdout=subprocess.DEVNULL, cwd=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    of_weir(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    of_postgres(int(sys.argv[3]))

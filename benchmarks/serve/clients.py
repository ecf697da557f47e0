#!/usr/bin/env python3
"""Rows a second and resident memory of `weir serve` over each protocol, beside PostgreSQL where it is installed.

    clients.py PROGRAM FOLDER ROWS

The same table of six columns lies in a Parquet file for weir and in a table for PostgreSQL; the same clients read it to
its end and keep nothing. One line of JSON for each measurement: {"name", "who", "seconds", "resident_mb"}.
"""

import contextlib
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


def by_jdbc(driver, port, table):
    """Rows in text, ten thousand at a time, as DBeaver and Metabase read long answers."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Fetch.java")
    url = f"jdbc:postgresql://127.0.0.1:{port}/weir?user=bench&defaultRowFetchSize=10000"
    told = subprocess.run(["java", "-Xmx256m", "-cp", driver, source, url, f"SELECT * FROM {table}"], check=True, capture_output=True, text=True)
    count, seconds = told.stdout.split()
    return int(count), float(seconds)


def jdbc():
    """The driver as Maven keeps it, where there is one."""
    found = sorted(glob.glob(os.path.expanduser("~/.m2/repository/org/postgresql/postgresql/*/postgresql-*.jar")))
    return found[-1] if found and shutil.which("java") else None


def measure(name, who, rows, read, pid=None):
    before = time.monotonic()
    count = read()
    seconds = time.monotonic() - before
    # The start of a virtual machine is no one's.
    count, seconds = count if isinstance(count, tuple) else (count, seconds)
    assert count == rows, (name, who, count)
    resident = resident_mb(pid, "VmHWM") if pid else None
    print(json.dumps({"name": name, "who": who, "seconds": seconds, "resident_mb": resident}), flush=True)


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}.dbapi"], capture_output=True).returncode == 0


@contextlib.contextmanager
def of_weir(program, folder, rows):
    """What reads from weir, by name, and its process."""
    table = os.path.join(folder, "rows.parquet")
    subprocess.run([program, "query", SELECT.format(rows=rows), "-o", table, "--overwrite"], check=True)
    doors = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--flight", "127.0.0.1:0"]
    server = subprocess.Popen([program, "serve", "--root", folder] + doors, stdout=subprocess.PIPE, text=True)
    try:
        ports = [int(re.search(r":(\d+)(/|$)", server.stdout.readline()).group(1)) for _ in range(3)]
        table = "'rows.parquet'"
        print(json.dumps({"name": "idle", "who": "weir", "resident_mb": resident_mb(server.pid)}), flush=True)
        readers = postgres_readers(ports[0], table)
        if has("adbc_driver_flightsql"):
            uri = f"grpc://127.0.0.1:{ports[2]}"
            readers["Flight SQL by ADBC"] = lambda: by_adbc("adbc_driver_flightsql", uri, table)
        readers["Arrow over HTTP"] = lambda: by_http(ports[1], table)
        yield readers, server.pid
    finally:
        server.terminate()
        server.wait()


def postgres_readers(port, table):
    """What reads by the PostgreSQL protocol, by name."""
    readers = {"text by psql": lambda: by_psql(port, table)}
    if has("adbc_driver_postgresql"):
        uri = f"postgresql://bench@127.0.0.1:{port}/weir"
        readers["binary by ADBC"] = lambda: by_adbc("adbc_driver_postgresql", uri, table)
    if driver := jdbc():
        readers["rows by JDBC"] = lambda: by_jdbc(driver, port, table)
    return readers


@contextlib.contextmanager
def of_postgres(rows):
    """What reads from PostgreSQL, by name; nothing where it is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found:
        print("PostgreSQL is not installed", file=sys.stderr)
        yield {}
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
                                  "-c", "VACUUM ANALYZE rows", "-c", "CHECKPOINT"], check=True)
            yield postgres_readers(port, "rows")
        finally:
            subprocess.run(someone + [f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "stop"],
                           stdout=subprocess.DEVNULL, cwd=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(program, folder, rows):
    with of_weir(program, folder, rows) as (ours, pid), of_postgres(rows) as theirs:
        # In turns, so that what else the machine does befalls both.
        for _ in range(TURNS):
            for name, read in ours.items():
                measure(name, "weir", rows, read, pid)
                if name in theirs:
                    measure(name, "PostgreSQL", rows, theirs[name])


TURNS = 3

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

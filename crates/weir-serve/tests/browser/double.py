"""A stand-in for the server, for whoever works on the page: its files as they lie in the folder, its answers by the command line.

    python3 double.py --program PATH/TO/weir --root FOLDER [--port 8099]

It is no server: one user, no limits, no safety. Conversations and packets are tshark's here.
"""

import argparse
import csv
import http.server
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"
KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")
TYPES = [("UInt", "uint"), ("Int", "int"), ("Float", "float"), ("Decimal", "decimal"), ("Bool", "bool"), ("Timestamp", "time"), ("Date", "time"),
         ("Duration", "duration"), ("List", "list"), ("Struct", "struct")]


class Wrong(Exception):
    """What the page is told was wrong."""


def failure(said):
    """The error of the command line as the server's."""
    match = re.search(r"error: (.*?)(?:\nhint: (.*))?$", said.strip(), re.S)
    message, hint = match.groups() if match else (said, None)
    place = re.search(r" at Line: (\d+), Column: (\d+)", message)
    line, column = (int(place[1]), int(place[2])) if place else (None, None)
    message = re.sub(r" at Line: \d+, Column: \d+", "", message).strip()
    return {"error": {"kind": "sql", "message": message, "hint": hint, "line": line, "column": column}}


def type_of(declared, values):
    """The type of a column, as the page knows types; addresses by what they look like."""
    for start, name in TYPES:
        if declared.startswith(start):
            return name
    if declared.startswith("Binary"):
        one = next((value for value in values if value is not None), "")
        if re.match(r"([0-9a-f]{2}:){5}[0-9a-f]{2}$", one):
            return "mac"
        return "ip" if re.match(r"[\d.]+$|[0-9a-f:.]*:", one) else "bytes"
    return "text"


class Double(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    program, root, running = "weir", ".", {}

    def log_message(self, *_):
        pass

    def weir(self, *words, number=None):
        """What the command line says: its output and its messages."""
        process = subprocess.Popen([self.program, *words], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.running[number] = (process, time.monotonic())
        output, said = process.communicate()
        self.running.pop(number, None)
        if process.returncode < 0:
            raise Wrong({"error": {"kind": "cancelled", "message": "the query was cancelled", "hint": None, "line": None, "column": None}})
        if process.returncode > 1:
            raise Wrong(failure(said.decode()))
        return output, said.decode()

    def table(self, *words):
        return list(csv.DictReader(io.StringIO(self.weir(*words, "--format", "csv")[0].decode())))

    def tshark(self, path, *words):
        return subprocess.run(["tshark", "-r", path, *words], cwd=self.root, capture_output=True, text=True, check=False).stdout

    def answer(self, body, kind="application/json", status=200):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(data))), ("Content-Security-Policy", POLICY), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def respond(self):
        url = urllib.parse.urlparse(self.path)
        words = dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = url.path.strip("/").split("/")[0].replace(".", "_") or "page"
        try:
            getattr(self, f"{self.command.lower()}_{name}", self.nothing)(url.path, words, body)
        except Wrong as wrong:
            self.answer(wrong.args[0], status=400)
        except BrokenPipeError:
            # The page has gone on to something else.
            self.close_connection = True

    do_GET = do_POST = do_DELETE = respond

    def nothing(self, *_):
        self.answer(failure("error: there is nothing of that name"), status=404)

    def get_page(self, path, *_):
        file = (WEB / (path.removeprefix("/assets/") if path != "/" else "index.html")).resolve()
        if WEB in file.parents and file.is_file():
            self.answer(file.read_bytes(), KINDS.get(file.suffix, "text/plain"))
        else:
            self.nothing()

    get_assets = get_page

    def get_health(self, *_):
        self.answer({"status": "ok"})

    def post_query(self, _, __, body):
        asked = json.loads(body)
        sql, form, began = asked["sql"], asked.get("format", "json"), time.monotonic()
        if form != "json":
            self.answer(self.weir("query", "-q", "--format", {"arrow": "arrows"}.get(form, form), sql)[0], "application/octet-stream")
            return
        output, said = self.weir("query", "--format", "json", sql, number=asked.get("id"))
        rows = json.loads(output or "[]")
        try:
            declared = {row["column_name"]: row["data_type"] for row in self.table("query", "-q", f"DESCRIBE {sql.strip().rstrip(';')}")}
        except Wrong:
            declared = {name: "Utf8" for name in (rows[0] if rows else {})}
        columns = [{"name": name, "type": type_of(declared[name], [row[name] for row in rows[:200]]), "sql_type": declared[name]} for name in declared]
        limit = asked.get("limit") or len(rows)
        exact = lambda value: str(value) if type(value) is int and abs(value) > 2**53 else value
        lines = said.strip().splitlines()
        self.answer({"columns": columns, "rows": [[exact(row[name]) for name in declared] for row in rows[:limit]], "row_count": min(limit, len(rows)),
                     "truncated": len(rows) > limit, "stats": {"records": 0, "bytes": 0, "seconds": round(time.monotonic() - began, 3)},
                     "notes": [line for line in lines if line.startswith("note")], "damage": [line for line in lines if line.startswith("warning")]})

    def get_query(self, path, *_):
        found = self.running.get(path.split("/")[-1])
        if not found:
            self.nothing()
            return
        seconds = time.monotonic() - found[1]
        self.answer({"state": "running", "records": int(seconds * 1e6), "bytes": int(seconds * 1e8), "total_bytes": 2_000_000_000, "seconds": seconds})

    def delete_query(self, path, *_):
        found = self.running.get(path.split("/")[-1])
        if not found:
            self.nothing()
            return
        found[0].kill()
        self.answer({})

    def get_files(self, *_):
        found = []
        for folder, _, names in os.walk(self.root):
            for name in sorted(names):
                path = pathlib.Path(folder, name)
                about = path.stat()
                kind = "capture" if path.suffix in (".pcap", ".pcapng", ".erf") else "table" if path.suffix in (".csv", ".ndjson", ".parquet") else "other"
                found.append({"name": name, "path": str(path.relative_to(self.root)), "size": about.st_size, "kind": kind,
                              "modified": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(about.st_mtime))})
        self.answer(found)

    def get_fields(self, *_):
        self.answer([{"name": row["column"], "type": row["type"], "table": row["table"], "meaning": row["meaning"]} for row in self.table("fields")])

    def get_functions(self, *_):
        self.answer([{"name": row["function"], "signature": row["example"], "meaning": row["meaning"], "example": None} for row in self.table("functions")])

    def get_tables(self, *_):
        self.answer([{"name": row["table"], "signature": None, "meaning": row["meaning"], "example": row["example"]} for row in self.table("tables")])

    def get_ladder(self, _, words, __):
        path, call = (words[name].replace("'", "''") for name in ("path", "call_id"))
        rows = json.loads(self.weir("query", "-q", "--format", "json", f"SELECT * FROM sip('{path}') WHERE sip.call_id = '{call}' ORDER BY frame.number")[0])
        messages = []
        for row in rows:
            lines = [row["sip.request_line"] or row["sip.status_line"], *(f"{name}: {row[key]}" for name, key in (("From", "sip.from"), ("To", "sip.to"), ("Call-ID", "sip.call_id"), ("CSeq", "sip.cseq"))), "", row["sip.msg_body"] or ""]
            messages.append({"time": row["frame.time"], "from": f"{row['addr.src']}:{row['port.src']}", "to": f"{row['addr.dst']}:{row['port.dst']}", "frame": row["frame.number"],
                             "label": row["sip.method"] if row["sip.status_code"] is None else f"{row['sip.status_code']} {row['sip.reason_phrase']}",
                             "failed": (row["sip.status_code"] or 0) >= 400, "text": "\r\n".join(lines)})
        ends = dict.fromkeys(end for message in messages for end in (message["from"], message["to"]))
        self.answer({"participants": list(ends), "messages": messages, "media": []})

    def carve(self, path, *words):
        with tempfile.TemporaryDirectory() as folder:
            self.weir("carve", path, *words, "-o", f"{folder}/x.pcap")
            return pathlib.Path(folder, "x.pcap").read_bytes()

    def get_call_pcap(self, _, words, __):
        self.answer(self.carve(words["path"], "--call-id", words["call_id"]), "application/vnd.tcpdump.pcap")

    def get_stream(self, _, words, __):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(self.carve(words["path"], "--flow", words["flow"]))
            file.flush()
            fields = ["frame.time_epoch", "ip.src", "tcp.payload", "udp.payload"]
            lines = self.tshark(file.name, "-T", "fields", *(word for field in fields for word in ("-e", field))).splitlines()
        pieces, first = [], lines[0].split("\t")[1] if lines else ""
        for line in lines:
            when, source, tcp, udp = (line.split("\t") + [""] * 4)[:4]
            if tcp or udp:
                pieces.append({"from": "client" if source == first else "server", "time": when, "text": bytes.fromhex(tcp or udp).decode("utf-8", "replace"), "hex": tcp or udp})
        self.answer({"pieces": pieces, "truncated": False})

    def get_study(self, path, words, __):
        """The studies of the command line, whose figures those of the server are."""
        if path.endswith("h248"):
            found = json.loads(self.weir("h248", "compare", words["path"], "--time", "1us", "--format", "json")[0])
            rows = [[row["codec"], row["messages"], row["size"], row["encode_ns"], row["decode_ns"]] for row in found["averages"] if row["messages"]]
            self.answer({"messages": found["messages"], "truncated": False, "columns": [], "rows": rows})
        else:
            found = json.loads(self.weir("ws", "study", words["path"], "--cpu-times", "estimate", "--format", "json")[0])
            names = ("takeover", "window_bits", "level", "mem_level", "compressed_bytes", "ratio", "deflate_bytes", "inflate_active_bytes")
            self.answer({"messages": found["messages"], "truncated": False, "columns": [], "rows": [[row[name] for name in names] for row in found["settings"]]})

    def get_packet(self, _, words, __):
        packet = xml.etree.ElementTree.fromstring(self.tshark(words["path"], "-c", words["number"], "-T", "pdml")).findall("packet")[-1]
        layers = [{"name": layer.get("name"), "fields": [
            {"name": field.get("name"), "value": field.get("show"), "meaning": field.get("showname"), "offset": int(field.get("pos") or 0), "length": int(field.get("size") or 0)}
            for field in layer.iter("field") if field.get("name")]} for layer in packet.findall("proto") if layer.get("name") != "geninfo"]
        dump = self.tshark(words["path"], "-c", words["number"], "-x").strip().split("\n\n")[-1]
        self.answer({"layers": layers, "bytes": "".join(line[6:53].replace(" ", "") for line in dump.splitlines())})

    def post_upload(self, _, words, body):
        path = pathlib.Path(self.root, "dropped", os.path.basename(words["name"]))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(body)
        self.answer({"path": str(path.relative_to(self.root)), "size": len(body)})


def server(program, root, port):
    """The stand-in, listening."""
    kind = type("Bound", (Double,), {"program": os.path.abspath(program), "root": root, "running": {}})
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), kind)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="weir")
    parser.add_argument("--root", default=".")
    parser.add_argument("--port", type=int, default=8099)
    chosen = parser.parse_args()
    print(f"http://127.0.0.1:{chosen.port}/")
    server(chosen.program, chosen.root, chosen.port).serve_forever()

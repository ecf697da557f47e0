"""The page of `weir serve` in a real browser, without network: every view, by mouse and by keyboard.

    python3 page.py [--program PATH/TO/weir] [--double] [--url http://127.0.0.1:8080/] [--shots FOLDER] [--only NAME]

Starts `weir serve` over samples in a temporary folder (with --double the stand-in of double.py), or takes a server that runs already (whose root has to have
the folder `demo`, as `weir demo` writes it, and `big.pcap`, as `big_call` below writes it). Wants chromium with its
chromedriver; uses tshark to read what was saved, where it is installed. Ends with 1 when a check failed, and with 77
when there is no browser.
"""

import argparse
import faulthandler
import hashlib
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse
import urllib.request
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from double import server  # noqa: E402
from webdriver import Browser, free_port  # noqa: E402

HERE = pathlib.Path(__file__).parent
MESSAGES = 10_000

# What the views are asked for when they are looked at.
VIEWS = [
    ("files", {}), ("query", {}), ("overview", {"file": "demo/voip.pcap"}), ("overview-office", {"file": "demo/office.pcapng"}),
    ("packets", {"file": "demo/voip.pcap", "number": "6"}), ("connections", {"file": "demo/voip.pcap", "flow": "2"}),
    ("calls", {"file": "demo/voip.pcap", "call": "udp-call"}), ("media", {"file": "demo/voip.pcap"}),
    ("dns", {"file": "demo/voip.pcap"}), ("tls", {"file": "demo/voip.pcap"}), ("http", {"file": "demo/voip.pcap"}),
    ("h248", {"file": "demo/megaco.pcap"}), ("websocket", {"file": "demo/websocket.pcap"}),
]


def big_call(path):
    """A capture of one call of ten thousand messages between four ends, every hundredth of them a failure."""
    def packet(number, source, target, text):
        data = text.encode()
        udp = struct.pack("!HHHH", 5060, 5060, 8 + len(data), 0) + data
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number & 0xFFFF, 0, 64, 17, 0, bytes([10, 9, 0, source]), bytes([10, 9, 0, target]))
        total = sum(struct.unpack("!10H", head))
        total = (total & 0xFFFF) + (total >> 16)
        head = head[:10] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
        frame = bytes(6) + bytes(6) + b"\x08\x00" + head + udp
        return struct.pack("<IIII", 1_700_000_000 + number // 100, number % 100 * 10_000, len(frame), len(frame)) + frame

    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        for number in range(MESSAGES):
            cseq, step = number // 2 + 1, number // 2 % 3
            source, target = (step + 1, step + 2)
            tail = f"Via: SIP/2.0/UDP 10.9.0.{source}:5060;branch=z9hG4bK{cseq}\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>;tag=2\r\nCall-ID: big\r\nCSeq: {cseq} %s\r\nContent-Length: 0\r\n\r\n"
            method = "INVITE" if cseq == 1 else "INFO"
            if number % 2 == 0:
                out.write(packet(number, source, target, f"{method} sip:b@x SIP/2.0\r\n" + tail % method))
            else:
                status = "503 Service Unavailable" if number % 100 == 99 else "200 OK"
                out.write(packet(number, target, source, f"SIP/2.0 {status}\r\n" + tail % method))


class Page:
    def __init__(self, browser, url, root, downloads, shots):
        self.browser, self.url, self.root, self.downloads, self.shots = browser, url, root, downloads, shots

    def open(self, view, **parameters):
        """Shows a view, as a link to it would."""
        where = "&".join(f"{name}={urllib.parse.quote(value, safe='')}" for name, value in parameters.items())
        self.browser.go("about:blank")
        self.browser.go(f"{self.url}#/{view.split('-')[0]}{'?' + where if where else ''}")
        self.browser.until("document.querySelector('#views a[aria-current]') && document.querySelector('main').children.length > 0", f"view {view}")
        self.settle()

    def settle(self):
        """Waits until nothing is read any more."""
        self.browser.until("!document.querySelector('main .waits') && ![...document.querySelectorAll('main .status')].some(one => /Reading|Running/.test(one.textContent))", "all answers", 60)

    def errors(self):
        return self.browser.run("return [...document.querySelectorAll('main .notice.error')].map(one => one.innerText)")

    def sql(self, text, rows=None):
        """Runs a query through the editor, with the keys that a person uses."""
        browser = self.browser
        self.open("query")
        if rows:
            browser.run("const s = document.querySelector('select[aria-label=\"Rows at most\"]'); s.value = words[0]; s.dispatchEvent(new Event('change'));", str(rows))
        browser.run("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
        browser.press("Control", "a")
        browser.press("Delete")
        # Typed text would be completed on its way; it is pasted, as most long queries are.
        browser.cdp("Input.insertText", text=text)
        browser.press("Escape")
        browser.run("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
        browser.press("Control", "Enter")
        browser.until("!/Running/.test(document.querySelector('.toolbar .status').textContent) && (document.querySelector('section.answer:not([hidden])') || document.querySelector('main .notice.error'))", "an answer", 120)

    def rows(self, wanted):
        """Waits until so many rows are drawn."""
        self.browser.until(f"document.querySelectorAll('main .grid-row:not([hidden])').length === {wanted}", f"{wanted} rows")

    def cells(self):
        """The cells in sight, row by row."""
        return self.browser.run("""await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);
            return [...document.querySelectorAll('main .grid-row:not([hidden])')].map(row => [...row.children].map(cell => cell.textContent))""")


def check_complete(page):
    """Columns are completed with their meaning, files inside of quotes; Ctrl+Enter runs what was typed."""
    browser = page.browser
    page.open("query")
    browser.run("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
    browser.press("Control", "a")
    browser.press("Delete")
    browser.type("SELECT ip.sr")
    menu = "[...document.querySelector('.editor').shadowRoot.querySelectorAll('.cm-tooltip-autocomplete li')].map(one => one.textContent)"
    browser.until(f"{menu}.some(one => one.startsWith('ip.src') && one.length > 12)", "ip.src with its meaning")
    page.shoot("query-completion")
    browser.until(f"{menu}[0].startsWith('ip.src')", "ip.src first")
    time.sleep(0.2)
    browser.press("Enter")
    browser.type(", count(*) AS packets FROM 'demo/voi")
    browser.until(f"{menu}.some(one => one.startsWith('demo/voip.pcap'))", "the file")
    time.sleep(0.2)
    browser.press("Enter")
    browser.type(" GROUP BY ip.src ORDER BY packets DESC, ip.src")
    browser.press("Escape")
    browser.press("Control", "Enter")
    browser.until("document.querySelectorAll('main .grid-row:not([hidden])').length > 0", "rows")
    page.shoot("query-answer")
    rows = page.cells()
    assert rows[0] == ["10.1.0.5", "15"] or len(rows) == 6, rows
    assert [int(row[1]) for row in rows] == sorted((int(row[1]) for row in rows), reverse=True), rows
    assert sum(int(row[1]) for row in rows) == 40, rows


def check_wrong(page):
    """An error stands where it is, with its hint."""
    browser = page.browser
    page.sql("SELECT ip.scr,\n  count(*)\nFROM 'demo/voip.pcap' GROUP BY 1")
    text = browser.until("document.querySelector('main .notice.error')?.innerText", "the error")
    assert "ip.scr" in text and "ip.src" in text, text
    marked = browser.until("document.querySelector('.editor').shadowRoot.querySelector('.cm-lintRange-error')?.textContent", "the mark")
    assert marked == "ip.scr", marked
    role = browser.run("return document.querySelector('main .notice.error').getAttribute('role')")
    assert role == "alert", role
    page.shoot("query-error")
    page.sql("SELECT ip.src\nFRM 'demo/voip.pcap'")
    browser.until("document.querySelector('.editor').shadowRoot.querySelector('.cm-lintRange-error')", "the mark of a syntax error")


def check_charts(page):
    """Each chart chooses itself by the columns, and can be changed."""
    browser = page.browser
    asked = {
        "line": "SELECT date_bin(INTERVAL '10 seconds', frame.time) AS time, sum(frame.len) AS bytes, count(*) AS packets FROM 'demo/office.pcapng' GROUP BY time ORDER BY time",
        "bars": "SELECT proto, sum(frame.len) AS bytes FROM 'demo/office.pcapng' GROUP BY proto ORDER BY bytes DESC",
        "histogram": "SELECT frame.len FROM 'demo/office.pcapng'",
        "heat": "SELECT date_bin(INTERVAL '10 seconds', frame.time) AS time, frame.len // 100 * 100 AS length, count(*) AS packets FROM 'demo/office.pcapng' GROUP BY ALL",
    }
    drawn = {"line": ".uplot[role=img]", "bars": "ol.bars li", "histogram": "svg.plot rect", "heat": "canvas.plot[role=img]"}
    for kind, sql in asked.items():
        page.sql(sql)
        browser.run("document.getElementById('tab-table').focus()")
        browser.press("ArrowRight")
        browser.until(f"document.querySelector('#chart-kind')?.value === '{kind}' && document.querySelector('.chart-box {drawn[kind]}')", f"a {kind} chart")
        page.shoot(f"chart-{kind}")
    page.sql("SELECT date_bin(INTERVAL '30 seconds', frame.time) AS time, proto, sum(frame.len) AS bytes FROM 'demo/office.pcapng' WHERE proto IN ('tcp', 'udp', 'icmp') GROUP BY ALL")
    browser.run("document.getElementById('tab-chart').click()")
    browser.until("document.querySelectorAll('.u-legend .u-series').length === 4", "a line for each protocol")
    page.shoot("chart-split")
    for kind in ("bars", "histogram", "heat", "line"):
        browser.run("const s = document.getElementById('chart-kind'); s.value = words[0]; s.dispatchEvent(new Event('change'))", kind)
        browser.until(f"document.querySelector('.chart-box {drawn[kind]}')", f"the same as {kind}")
    named = browser.run("return document.querySelector('.chart-box [role=img]').getAttribute('aria-label')")
    assert "points" in named, named


def check_million(page):
    """A million rows scroll, are sorted and filtered, and only those in sight are drawn."""
    browser = page.browser
    page.sql("SELECT value AS n, value * 7919 % 1000003 AS shuffled, 'row ' || value AS name FROM generate_series(1, 1000000)", rows=1_000_000)
    browser.until("document.querySelector('main .grid').getAttribute('aria-rowcount') === '1000001'", "a million rows", 120)
    browser.run("document.querySelector('main .grid').focus()")
    browser.press("ArrowDown")
    browser.press("Control", "End")
    rows = page.cells()
    assert any(row[0] == "1000000" for row in rows), rows[-3:]
    assert len(rows) < 80, len(rows)
    here = browser.run("return document.getElementById(document.querySelector('main .grid').getAttribute('aria-activedescendant'))?.textContent")
    assert here == "row 1000000", here
    page.shoot("table-million-end")
    browser.press("Control", "Home")
    assert page.cells()[0][0] == "1"
    browser.press("PageDown", times=3)
    browser.press("ArrowUp", times=2)
    began = time.monotonic()
    frames = browser.run("""const grid = document.querySelector('main .grid'); let frames = 0; const end = performance.now() + 1000;
        while (performance.now() < end) { grid.scrollTop = Math.random() * grid.scrollHeight; await new Promise(requestAnimationFrame); frames += 1; } return frames""")
    assert frames >= 15, f"{frames} frames in {time.monotonic() - began:.1f} s"
    # Every place between the first and the last row can be reached by scrolling.
    middle = browser.run("const grid = document.querySelector('main .grid'); grid.scrollTop = (grid.scrollHeight - grid.clientHeight) / 2; await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); return Number(document.querySelector('main .grid-row').firstChild.textContent)")
    assert 490_000 < middle < 510_000, middle
    browser.run("document.querySelector('main .grid').focus()")
    browser.press("Control", "Home")
    browser.press("ArrowUp")
    browser.press("ArrowRight")
    browser.press("Enter")
    browser.until("document.querySelector('main .grid-head [aria-sort=ascending]')?.textContent.startsWith('shuffled')", "sorted by the keyboard")
    shuffled = [int(row[1]) for row in page.cells()]
    assert shuffled == sorted(shuffled), shuffled
    browser.run("const f = document.querySelector('[data-filter]'); f.value = 'n>999990 name:99'; f.dispatchEvent(new Event('input'))")
    browser.until("document.querySelector('main .grid').getAttribute('aria-rowcount') === '10'", "nine rows are left")
    page.shoot("table-filtered")


def check_sort(page):
    """Values are sorted as what they are: large integers, addresses, times; NULL last, both ways."""
    page.open("files")
    cases = {
        "uint": [["18446744073709551615", 2, None, 10, "9007199254740993", 9007199254740991], [2, 10, 9007199254740991, "9007199254740993", "18446744073709551615", None]],
        "int": [[3, -5, None, 0], [-5, 0, 3, None]],
        "float": [[0.5, -1.25, None, 1e300, 7], [-1.25, 0.5, 7, 1e300, None]],
        "ip": [["10.0.0.10", "10.0.0.9", "2001:db8::1", None, "9.1.1.1", "::1"], ["9.1.1.1", "10.0.0.9", "10.0.0.10", "::1", "2001:db8::1", None]],
        "time": [["2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.499999999Z", None], ["2026-01-01T00:00:00.499999999Z", "2026-01-01T00:00:00.5Z", None]],
        "text": [["b", "a", None, "B"], ["B", "a", "b", None]],
        "bool": [[True, False, None], [False, True, None]],
        "list": [[[2, 1], [1], None], [[1], [2, 1], None]],
    }
    for kind, (given, wanted) in cases.items():
        up, down, back = page.browser.run("""const { Grid } = await import("/assets/grid.js"); const grid = new Grid({});
            grid.set([{ name: "x", type: words[0] }], words[1].map(value => [value]));
            const shown = () => Array.from({ length: grid.length }, (_, at) => grid.row(at).x);
            return [1, 2, 3].map(() => { grid.sort(0); return shown(); });""", kind, given)
        assert up == wanted, (kind, up)
        assert down == [one for one in reversed(wanted) if one is not None] + [None], (kind, down)
        assert back == given, (kind, back)


def check_columns(page):
    """Columns are chosen; rows are opened with their values and ways on; answers are downloaded."""
    browser = page.browser
    page.sql("SELECT frame.number, frame.time, addr.src, 18446744073709551615 AS largest, NULL AS nothing, '<img src=x onerror=alert(1)>' AS markup FROM 'demo/voip.pcap' ORDER BY frame.number LIMIT 5")
    row = page.cells()[0]
    assert row[3] == "18446744073709551615" and row[4] == "NULL" and row[5].startswith("<img"), row
    assert row[1].endswith("22:13:20.000000000"), row
    browser.run("[...document.querySelectorAll('button')].find(one => one.textContent === 'Columns').click()")
    browser.until("document.querySelectorAll('dialog .columns input').length === 6", "the columns")
    browser.run("document.querySelectorAll('dialog .columns input')[1].click()")
    browser.press("Escape")
    browser.until("!document.querySelector('dialog') && document.querySelector('main .grid').getAttribute('aria-colcount') === '5'", "a column less")
    browser.run("document.querySelector('main .grid').focus()")
    browser.press("ArrowDown")
    browser.press("Enter")
    browser.until("[...document.querySelectorAll('.detail button')].some(one => one.textContent === 'Packet 1')", "the row")
    page.shoot("query-row")
    for name, magic in (("CSV", b"frame.number,"), ("Parquet", b"PAR1")):
        browser.run("[...document.querySelectorAll('button')].find(one => one.textContent.startsWith('Download')).click()")
        browser.run("[...document.querySelectorAll('[role=menuitem]')].find(one => one.firstChild.textContent === words[0]).click()", name)
        data = page.saved(f"answer.{name.lower()}")
        assert data.startswith(magic), data[:80]


def check_cancel(page):
    """A query that runs is cancelled, and the next one answers."""
    browser = page.browser
    page.open("query")
    browser.run("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
    browser.press("Control", "a")
    browser.cdp("Input.insertText", text="SELECT sum(a.value * b.value % 7) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b")
    browser.press("Control", "Enter")
    browser.until("!document.querySelector('#run + button').disabled", "Cancel")
    time.sleep(0.8)
    page.shoot("query-running")
    browser.click("#run + button")
    browser.until("/Cancelled/.test(document.querySelector('.toolbar .status').textContent)", "cancelled")
    page.sql("SELECT 42 AS answer")
    assert page.cells() == [["42"]], page.cells()


def check_history(page):
    """What ran is kept; a link holds a query, and does not run it by itself."""
    browser = page.browser
    page.sql("SELECT 7 AS seven")
    browser.run("[...document.querySelectorAll('button')].find(one => one.textContent === 'History').click()")
    browser.until("document.querySelector('dialog .choices li pre')?.textContent === 'SELECT 7 AS seven'", "the history")
    page.shoot("query-history")
    browser.press("Escape")
    browser.until("!document.querySelector('dialog')", "the dialog is closed")
    page.open("query", sql="SELECT 'from a link' AS words")
    assert browser.run("return document.querySelector('.editor').shadowRoot.querySelector('.cm-line').textContent") == "SELECT 'from a link' AS words"
    assert browser.run("return document.querySelector('section.answer').hidden"), "a link must not run what it holds"
    browser.click("#run")
    browser.until("document.querySelector('main .grid-row:not([hidden])')?.textContent === 'from a link'", "it runs when asked")


def check_overview(page):
    """A capture at one click: every panel answers, shows its question, and opens it in the editor."""
    browser = page.browser
    page.open("files")
    link = "[...document.querySelectorAll('td a')].find(one => one.textContent === 'demo/voip.pcap')"
    browser.until(f"Boolean({link})", "the file")
    browser.run(f"{link}.click()")
    browser.until("document.querySelectorAll('main .panel').length >= 14", "the panels")
    page.settle()
    assert not page.errors(), page.errors()
    text = browser.run("return document.querySelector('main').innerText")
    for wanted in ("40", "192.0.2.80", "REJ", "NOERROR", "www.example.org", "completed", "busy"):
        assert wanted in text, f"{wanted} is not in the overview:\n{text}"
    browser.run("document.querySelector('[aria-label=\"SQL of Talkers\"]').click()")
    question = browser.run("return document.querySelector('[aria-label=Talkers] .sql pre').textContent")
    assert question.startswith("SELECT addr.src, addr.dst"), question
    browser.run("[...document.querySelectorAll('[aria-label=Talkers] button')].find(one => one.textContent === 'Open in the editor').click()")
    browser.until("location.hash.startsWith('#/query') && document.querySelectorAll('main .grid-row:not([hidden])').length > 3", "the question in the editor, answered")


def check_connections(page):
    """Connections are filtered, and one is followed as text and as hex."""
    browser = page.browser
    page.open("connections", file="demo/voip.pcap")
    page.rows(10)
    browser.press("/")
    browser.until("document.activeElement.id === 'filter-address'", "the filter has the focus")
    browser.type("10.1.0.66")
    browser.until("/^5 conn/.test(document.querySelector('.status').textContent)", "five connections")
    page.open("connections", file="demo/voip.pcap", flow="2")
    browser.until("/GET \\/ HTTP\\/1.1/.test(document.querySelector('.stream')?.textContent)", "the request as text")
    browser.run("document.getElementById('tab-text').focus()")
    browser.press("ArrowRight")
    browser.until("/000000  47 45 54 20/.test(document.querySelector('.stream')?.textContent)", "the request as hex")
    page.shoot("connection-hex")
    browser.press("ArrowLeft")
    assert not page.errors(), page.errors()


def check_calls(page):
    """A call's ladder: a message by click and by key, saved as SVG and as a capture."""
    browser = page.browser
    page.open("calls", file="demo/voip.pcap")
    page.rows(2)
    browser.run("document.querySelector('main .grid').focus()")
    browser.press("ArrowDown")
    browser.until("document.querySelectorAll('.ladder .message').length >= 6", "the arrows")
    browser.click("#message-0")
    browser.until("/INVITE sip:bob@office.example/.test(document.querySelector('[aria-label=\"Text of the message\"]')?.textContent)", "the message")
    browser.press("ArrowDown")
    browser.until("document.querySelector('.message.here')?.id === 'message-1'", "the next by key")
    page.shoot("call-message")
    browser.click("#save-svg")
    image = xml.etree.ElementTree.fromstring(page.saved("call-udp-call.svg"))
    arrows = [one for one in image.iter("{http://www.w3.org/2000/svg}g") if "message" in one.get("class", "")]
    assert len(arrows) >= 6, len(arrows)
    browser.click("#save-pcap")
    capture = page.saved("call-udp-call.pcap")
    if shutil.which("tshark"):
        path = pathlib.Path(page.downloads, "call-udp-call.pcap")
        read = subprocess.run(["tshark", "-r", path, "-Y", "sip", "-T", "fields", "-e", "sip.Call-ID"], capture_output=True, text=True, check=True)
        assert set(read.stdout.split()) == {"udp-call"} and len(read.stdout.split()) == 6, read.stdout
    assert len(capture) > 1000
    # The second call failed, and its failure is drawn as one.
    page.open("calls", file="demo/voip.pcap", call="tcp-call")
    browser.until("/486/.test(document.querySelector('.message.failed')?.textContent)", "the failure")


def check_big_ladder(page):
    """Ten thousand arrows scroll, and only those in sight are drawn."""
    browser = page.browser
    page.open("calls", file="big.pcap", call="big")
    browser.until("document.querySelectorAll('.ladder .message').length > 3", "the ladder", 60)
    browser.run("document.querySelector('.ladder').focus()")
    browser.press("End")
    last = browser.until("document.querySelector('.message.here')?.getAttribute('aria-posinset')", "the last message")
    assert int(last) >= MESSAGES, last
    assert last == browser.run("return document.querySelector('.message.here').getAttribute('aria-setsize')"), last
    drawn = browser.run("return document.querySelectorAll('.ladder .message').length")
    assert drawn < 100, drawn
    frames = browser.run("""const box = document.querySelector('.ladder'); let frames = 0; const end = performance.now() + 1000;
        while (performance.now() < end) { box.scrollTop = Math.random() * box.scrollHeight; await new Promise(requestAnimationFrame); frames += 1; } return frames""")
    assert frames >= 15, frames
    browser.until("document.querySelector('.message')", "arrows")
    page.shoot("ladder-big")


def check_packets(page):
    """Packets under a display filter, with layers and bytes."""
    browser = page.browser
    page.open("packets", file="demo/voip.pcap")
    browser.press("/")
    browser.type("tcp.port == 80 && tcp.len > 0")
    browser.press("Enter")
    browser.until("/^5 packets/.test(document.querySelector('.status').textContent)", "five packets")
    browser.run("document.querySelector('main .grid').focus()")
    browser.press("ArrowDown")
    browser.until("document.querySelectorAll('.layers details').length >= 3", "the layers")
    octets = browser.run("return document.querySelector('.octets').textContent")
    assert "47 45" in octets and "GET / HTTP" in octets, octets
    page.shoot("packet")
    assert not page.errors(), page.errors()
    # SQL that came by a link is shown, and applied once somebody wants it.
    page.open("packets", file="demo/voip.pcap", where="false")
    assert len(page.cells()) > 10, page.cells()
    browser.run("document.getElementById('filter-where').focus()")
    browser.press("Enter")
    browser.until("/^0 packets/.test(document.querySelector('.status').textContent)", "no packets once it is applied")
    # A filter that is wrong says so, and where.
    page.open("packets", file="demo/voip.pcap", filter="tcp.prot == 80")
    browser.until("document.querySelector('main .notice.error')", "the error of the filter")


def check_messages(page):
    """DNS, TLS, HTTP, media, H.248 and WebSocket answer without an error."""
    for view, file, wanted in (("dns", "voip", "www.example.org"), ("tls", "voip", ""), ("http", "voip", "www.example.org"), ("media", "voip", ""), ("h248", "megaco", "Subtract"), ("websocket", "websocket", "to_client")):
        page.open(view, file=f"demo/{file}.pcap")
        assert not page.errors(), (view, page.errors())
        text = page.browser.run("return document.querySelector('main').innerText")
        assert wanted in text, (view, text)
    # What the messages would cost otherwise.
    for view, file, wanted in (("h248", "megaco", ("compact", "erl_dist [both]")), ("websocket", "websocket", ("15 bits, takeover", "9 bits, no takeover", "level 9", "memLevel 1"))):
        page.open(view, file=f"demo/{file}.pcap")
        for text in wanted:
            page.browser.until(f"document.querySelector('.cards').innerText.includes({json.dumps(text)})", text, 60)
        page.shoot(f"study-{view}")


def check_live(page):
    """What passes an interface is drawn as it passes, stops and goes on; a question of one's own is answered; where no
    interface is captured from, there is no such view."""
    browser = page.browser
    page.open("files")
    hidden = browser.run("return document.querySelector('#views a[data-view=live]').hidden")
    if not page.live:
        assert hidden
        return
    assert not hidden
    end = threading.Event()

    def talk():
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        while not end.wait(0.02):
            out.sendto(bytes(100), ("127.0.0.1", 47_111))

    talker = threading.Thread(target=talk, daemon=True)
    talker.start()
    try:
        page.browser.go("about:blank")
        page.browser.go(f"{page.url}#/live")
        fact = lambda name: f"[...document.querySelectorAll('main .facts > div')].find(one => one.querySelector('dt').textContent === '{name}')?.querySelector('dd').textContent"
        number = lambda name: f"Number(({fact(name)} ?? '0').replaceAll(',', ''))"
        browser.until(f"{number('packets a second')} >= 20", "packets a second", 30)
        browser.until("document.querySelectorAll('main section[aria-label=\"Bytes a second\"] .uplot, main section[aria-label=\"Bytes a second\"] canvas').length > 0", "a line")
        browser.until("/127\\.0\\.0\\.1/.test(document.querySelector('main section[aria-label^=Talkers] .body').textContent)", "a talker")
        seen = browser.run(f"return {number('packets seen')}")
        browser.until(f"{number('packets seen')} > {seen}", "more packets")
        browser.run("document.getElementById('live-sql').value = words[0]", "SELECT tumble(frame.time, INTERVAL '1 second') AS time, count(*) AS packets FROM packets(live, lateness => INTERVAL '100 milliseconds') WHERE udp.dstport = 47111 GROUP BY time")
        browser.run("document.getElementById('live-run').click()")
        browser.until("document.querySelector('main section[aria-label=\"A question of your own\"] .chart canvas')", "its chart", 30)
        page.shoot("live")
        browser.run("document.getElementById('live-sql').value = 'SELECT nothing_such FROM live'")
        browser.run("document.getElementById('live-run').click()")
        text = browser.until("document.querySelector('main section[aria-label=\"A question of your own\"] .notice.error')?.innerText", "its error")
        assert "nothing_such" in text, text
        browser.run("document.getElementById('live-pause').click()")
        time.sleep(1.5)
        seen = browser.run(f"return {number('packets seen')}")
        time.sleep(1.5)
        assert browser.run(f"return {number('packets seen')}") == seen
        assert browser.run("return document.getElementById('live-pause').textContent") == "Go on"
        browser.run("document.getElementById('live-pause').click()")
        browser.until(f"{number('packets seen')} > {seen}", "packets again", 30)
        # Who leaves the view ends its statements.
        page.open("files")
        for _ in range(50):
            with urllib.request.urlopen(page.url + "metrics") as answer:
                running = next(line for line in answer.read().decode().splitlines() if line.startswith("weir_queries_running "))
            if running.endswith(" 0"):
                break
            time.sleep(0.1)
        assert running.endswith(" 0"), running
    finally:
        end.set()
        talker.join()


def check_upload(page):
    """A capture that is dropped is kept, and its overview shown."""
    browser = page.browser
    page.open("files")
    path = pathlib.Path(page.downloads, "dropped & <b>bold<b>.pcap")
    path.write_bytes(pathlib.Path(page.root, "demo/voip.pcap").read_bytes())
    browser.run("document.querySelector('input[type=file]').hidden = false")
    browser.send_file("input[type=file]", str(path))
    browser.until("location.hash.startsWith('#/overview') && document.querySelector('h1')?.textContent.includes('dropped')", "its overview")
    page.settle()
    assert not page.errors(), page.errors()
    assert "40" in browser.run("return document.querySelector('.facts').innerText")


def check_keyboard(page):
    """The page is used by keys alone: skip link, order of focus, shortcuts, dialogs."""
    browser = page.browser
    page.open("files")
    focus = "const e = document.activeElement; return e.id || e.className || e.textContent"
    browser.press("Tab")
    assert browser.run("return document.activeElement.className") == "skip", browser.run(focus)
    browser.press("Enter")
    assert browser.run("return document.activeElement.id") == "main", browser.run(focus)
    browser.press("?")
    browser.until("document.querySelector('dialog[open] h2')?.textContent === 'Keyboard'", "the shortcuts")
    page.shoot("shortcuts")
    browser.press("Escape")
    browser.until("!document.querySelector('dialog')", "closed")
    for key, view in (("q", "query"), ):
        browser.press("g")
        browser.press(key)
        browser.until(f"location.hash.startsWith('#/{view}')", view)
    page.settle()
    # Escape leaves the editor, which keeps Tab for itself only as far as the browser does.
    browser.until("document.activeElement.className === 'editor'", "the editor has the focus")
    browser.press("Escape")
    assert browser.run("return document.activeElement.id") == "run", browser.run(focus)
    for key, view in (("o", "overview"), ("c", "connections"), ("a", "calls"), ("f", "files")):
        browser.press("g")
        browser.press(key)
        browser.until(f"location.hash.startsWith('#/{view}')", view)
        page.settle()
        # Every stop of Tab can be seen, and the way leads round.
        seen = []
        for _ in range(40):
            browser.press("Tab")
            seen.append(browser.run("""const e = document.activeElement; if (e === document.body) return 'body';
                const box = e.getBoundingClientRect(); const style = getComputedStyle(e);
                return [e.tagName, e.id, e.getAttribute('aria-label'), (e.textContent || '').slice(0, 20), box.width > 0 && box.height > 0, style.outlineStyle !== 'none' || style.boxShadow !== 'none'].join('|')"""))
            assert seen[-1] == "body" or seen[-1].split("|")[4] == "true", seen[-1]
        assert len(set(seen)) > 12, seen
        browser.run("document.getElementById('main').focus()")


def check_colours(page):
    """The colours follow the system, and the reader's choice."""
    browser = page.browser
    page.open("files")
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.dark(False)
    light = browser.run(ground)
    browser.dark(True)
    dark = browser.run(ground)
    assert light != dark, light
    browser.click("#theme")
    assert browser.run(ground) == light, "the reader chose light"
    browser.click("#theme")
    browser.click("#theme")
    assert browser.run(ground) == dark, "back to the system's"
    browser.dark(False)


def check_token(page):
    """A token comes in the fragment, leaves the address at once, and goes with every question; or it is typed."""
    browser = page.browser
    browser.drain()
    browser.authorizations.clear()
    browser.go("about:blank")
    browser.go(f"{page.url}#token=s3cret")
    browser.until("document.querySelector('main').children.length > 0", "the page")
    assert "s3cret" not in browser.run("return location.href"), "the token stays in the address"
    page.settle()
    browser.drain()
    asked = [token for url, token in browser.authorizations if url.endswith("/files")]
    assert asked and set(asked) == {"Bearer s3cret"}, browser.authorizations
    browser.run("sessionStorage.removeItem('weir.token'); dispatchEvent(new CustomEvent('weir-token'))")
    browser.until("document.activeElement?.type === 'password'", "the question for the token")
    page.shoot("token")
    browser.type("typed")
    browser.press("Enter")
    browser.until("!document.querySelector('dialog') && sessionStorage.getItem('weir.token') === 'typed' && document.querySelector('main')?.children.length > 0", "the page again")
    browser.run("sessionStorage.removeItem('weir.token')")


def check_policy(page):
    """The policy lets nothing be made code that is not a file of the server."""
    with urllib.request.urlopen(page.url) as answer:
        header = answer.headers.get("Content-Security-Policy", "")
        text = answer.read().decode()
    assert "unsafe" not in header + text and "default-src 'none'" in header + text, header
    # The driver's own scripts are exempt unless they say otherwise.
    code = "(() => { try { return new Function('return 1')(); } catch (error) { return error.name; } })()"
    result = page.browser.cdp("Runtime.evaluate", expression=code, allowUnsafeEvalBlockedByCSP=False, returnByValue=True)
    assert result["result"]["value"] == "EvalError", result
    page.browser.drain()
    page.browser.complaints.clear()


def check_vendor(page):
    """The files of others are those of the manifest, byte by byte, and each has its licence."""
    for folder in (HERE.parent.parent / "web/vendor", HERE / "vendor"):
        files = json.loads((folder / "manifest.json").read_text())["files"]
        assert {one["file"] for one in files} | {"manifest.json"} == {path.name for path in folder.iterdir()}, folder
        licences = (folder / "LICENSES.txt").read_text()
        for one in files:
            assert hashlib.sha256((folder / one["file"]).read_bytes()).hexdigest() == one["sha256"], one["file"]
            for package in one.get("packages", []):
                assert f"{package['name']} {package['version']} ({package['licence']})" in licences, package


def check_axe(page):
    """axe-core finds no serious fault in any view, light and dark, wide and narrow; each is photographed."""
    browser = page.browser
    axe = (HERE / "vendor/axe.min.js").read_text()
    faults = []
    for width in (1280, 400):
        browser.size(width, 800)
        for dark in (False, True):
            browser.dark(dark)
            for view, parameters in VIEWS:
                if page.only_view and page.only_view != view:
                    continue
                page.open(view, **parameters)
                if view == "query":
                    browser.press("Control", "Enter")
                    browser.until("document.querySelector('main .grid-row:not([hidden])')", "rows")
                time.sleep(0.35)
                name = f"{view}-{width}-{'dark' if dark else 'light'}"
                page.shoot(name, keep=True)
                browser.cdp("Runtime.evaluate", expression=axe)
                found = browser.run("return (await axe.run(document, {resultTypes: ['violations']})).violations.filter(one => ['serious', 'critical', 'moderate'].includes(one.impact)).map(one => [one.impact, one.id, one.help, one.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + ' :: ' + (node.any[0]?.message ?? ''))])")
                faults += [(name, *one) for one in found]
                wide = browser.run("return [document.documentElement.scrollWidth, innerWidth, document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth]")
                if wide[0] > wide[1] or wide[2] > 1:
                    faults.append((name, "serious", "wider than the window", wide))
    browser.size(1280, 800)
    browser.dark(False)
    for one in faults:
        print("   ", *one, file=sys.stderr)
    assert not faults, f"{len(faults)} faults"


def check_requests(page):
    """No request has left this machine, and the console has nothing to complain of."""
    browser = page.browser
    browser.drain()
    away = [url for url in browser.requests if not url.startswith((page.url, "data:", "blob:", "about:", "chrome:"))]
    assert not away, away
    assert len(browser.requests) > 100, "requests are recorded"
    # A query that is not running any more, and one that is wrong, are answers; everything else is a complaint.
    known = ("/query", "/packet", "favicon")
    said = [line for line in browser.complaints if not any(part in line for part in known)]
    assert not said, said


CHECKS = [check_complete, check_wrong, check_charts, check_million, check_sort, check_columns, check_cancel, check_history, check_overview,
          check_connections, check_calls, check_big_ladder, check_packets, check_messages, check_live, check_upload, check_keyboard, check_colours, check_token,
          check_policy, check_vendor, check_axe, check_requests]


def shoot(self, name, keep=False):
    if self.shots:
        if not keep:
            self.browser.dark(False)
        self.browser.shoot(os.path.join(self.shots, f"{name}.png"))


def saved(self, name, seconds=30):
    """A file that the browser has saved, once it is whole."""
    path = pathlib.Path(self.downloads, name)
    end = time.monotonic() + seconds
    while not (path.exists() and path.stat().st_size > 0 and not list(path.parent.glob("*.crdownload"))):
        assert time.monotonic() < end, f"{name} was not saved: {os.listdir(self.downloads)}"
        time.sleep(0.05)
    return path.read_bytes()


Page.shoot, Page.saved = shoot, saved


def may_capture(program):
    """True when this may capture from loopback."""
    tried = subprocess.run([program, "live", "-i", "lo", "--duration", "1s", "-q", "SELECT count(*) FROM live"], capture_output=True, timeout=60)
    return tried.returncode == 0


def serve(program, root, live):
    """A server over a folder, and its address."""
    port = free_port()
    process = subprocess.Popen([program, "serve", "--root", root, "--listen", "127.0.0.1:0", "--http", f"127.0.0.1:{port}", *(["--live", "lo"] if live else [])],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}/"
    for _ in range(300):
        if process.poll() is not None:
            sys.exit(f"weir serve has ended: {process.stderr.read()}")
        try:
            urllib.request.urlopen(url + "health", timeout=2).close()
            return process, url
        except OSError:
            time.sleep(0.1)
    process.terminate()
    sys.exit("weir serve does not answer")


def stand_in(program, root):
    """The stand-in of double.py over a folder, and its address."""
    double = server(program, root, 0)
    threading.Thread(target=double.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{double.server_port}/"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.environ.get("WEIR_PROGRAM", "weir"))
    parser.add_argument("--url")
    parser.add_argument("--double", action="store_true", help="the stand-in instead of weir serve")
    parser.add_argument("--root", help="the root of the server that runs already")
    parser.add_argument("--shots", help="where screenshots are put")
    parser.add_argument("--only", action="append", help="checks of this name only")
    parser.add_argument("--view", help="the view that axe looks at only")
    words = parser.parse_args()
    if words.shots:
        os.makedirs(words.shots, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        root, downloads = words.root or os.path.join(scratch, "root"), os.path.join(scratch, "downloads")
        os.makedirs(root, exist_ok=True)
        os.makedirs(downloads)
        process = None
        live = False
        url = words.url
        big_call(os.path.join(root, "big.pcap"))
        if not url:
            subprocess.run([words.program, "demo", "--no-tour", os.path.join(root, "demo")], check=True, stdout=subprocess.DEVNULL)
            if words.double:
                url = stand_in(words.program, root)
            else:
                live = may_capture(words.program)
                process, url = serve(words.program, root, live)
        try:
            browser = Browser(downloads)
        except FileNotFoundError as error:
            print(f"not checked: {error}", file=sys.stderr)
            sys.exit(77)
        failed = []
        try:
            page = Page(browser, url, root, downloads, words.shots)
            page.only_view = words.view
            page.live = live
            browser.size(1280, 800)
            browser.dark(False)
            for check in CHECKS:
                name = check.__name__.removeprefix("check_")
                if words.only and name not in words.only:
                    continue
                began = time.monotonic()
                try:
                    check(page)
                    browser.drain()
                    print(f"ok      {name} ({time.monotonic() - began:.1f} s)", flush=True)
                except Exception:
                    failed.append(name)
                    page.shoot(f"failed-{name}")
                    print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
        finally:
            browser.close()
            if process:
                process.terminate()
                process.wait(20)
        if failed:
            sys.exit(f"{len(failed)} of {len(CHECKS)} checks failed: {', '.join(failed)}")


if __name__ == "__main__":
    # What waits for longer is ended, and says where it stood.
    faulthandler.dump_traceback_later(25 * 60, exit=True)
    main()
    faulthandler.cancel_dump_traceback_later()

"""Threads, signals, processes, and nothing that is left behind."""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Callable

import pyarrow.csv
import pytest
import weir

VOIP = "demo/voip.pcap"
# Many times longer than anybody waits.
LONG = (
    f"SELECT count(*) FROM '{VOIP}' a CROSS JOIN generate_series(1, 1000000000000) b(v) "
    "WHERE (a.frame.number + v) % 7 = 1000"
)


@pytest.mark.parametrize("read", ["fetchall", "arrow", "pl", "polars.DataFrame", "show"])
def test_an_interrupt_ends_a_query_within_a_second(read: str) -> None:
    import polars

    # Libraries are imported before: an interrupt there is not what is asked here.
    warm = weir.sql("SELECT 1")
    polars.DataFrame(warm) if read == "polars.DataFrame" else getattr(warm, read)()
    result = weir.sql(LONG)
    # Python leaves Ctrl-C alone where whoever started it ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begun = time.monotonic() + 0.3
    if read == "polars.DataFrame":
        # A library knows errors only: the interrupt follows when it has come back.
        try:
            try:
                polars.DataFrame(result)
            except Exception:
                time.sleep(0.5)
            pytest.fail("nothing was raised")
        except KeyboardInterrupt:
            pass
    else:
        with pytest.raises(KeyboardInterrupt):
            getattr(result, read)()
    assert time.monotonic() - begun < 1
    timer.join()
    assert weir.sql("SELECT 1").fetchall() == [(1,)]


def test_other_threads_count_on_while_a_query_runs() -> None:
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    result = weir.sql(LONG)
    begun = threading.Event()

    def read() -> None:
        begun.set()
        with pytest.raises(weir.RunError):
            result.fetchall()

    reader = threading.Thread(target=read)
    thread.start()
    reader.start()
    begun.wait()
    before = counted
    # Threads take turns of 5 ms, in which one counts some 100,000 times. With a lock that the query does not release,
    # none has another turn.
    _until(lambda: counted - before > 5_000_000)
    over.set()
    thread.join()
    # A result has one reader at a time.
    with pytest.raises(weir.RunError, match="being read"):
        result.fetchall()
    result.close()
    reader.join(2)
    assert not reader.is_alive()


def _until(condition: Callable[[], bool]) -> None:
    """Waits for what becomes true; the limit of the whole run ends a test for which it does not."""
    while not condition():
        time.sleep(0.01)


def _counted(path: str) -> int:
    return int(weir.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0])


@pytest.mark.parametrize("how", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_of_a_pool_ask_for_themselves(how: str, home: Path) -> None:
    path = str(home / VOIP)
    here = _counted(path)
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map(_counted, [path] * 4) == [here] * 4


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_refuses_what_its_parent_began() -> None:
    begun = weir.sql(f"SELECT frame.number FROM '{VOIP}'")
    assert begun.fetchone() == (1,)
    begun = weir.sql(f"SELECT frame.number FROM '{VOIP}'")
    begun.show(1)
    ready, says = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"nothing"
        try:
            begun.arrow()
        except weir.RunError as error:
            said = str(error).encode()
        del begun
        gc.collect()
        said += b"; " + str(weir.sql("SELECT 1").fetchall()).encode()
        os.write(says, said)
        os._exit(0)
    os.close(says)
    with os.fdopen(ready, "rb") as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert b"another process" in said and said.endswith(b"; [(1,)]")
    assert len(begun.fetchall()) > 10


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_leaves_the_files_of_its_parent(home: Path) -> None:
    capture = weir.open((home / VOIP).read_bytes())
    child = os.fork()
    if child == 0:
        # As at the end of an interpreter.
        capture._spooled._finalizer()  # type: ignore[union-attr]
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert capture.packets().agg("count(*)").fetchall() == [(_counted(str(home / VOIP)),)]


def test_a_table_may_need_the_interpreter_on_another_thread() -> None:
    # pyarrow reads ahead on a thread of its own, which waits for the interpreter to read a file of Python's.
    text = io.BytesIO(b"n\n" + b"1\n" * 100_000)
    options = pyarrow.csv.ReadOptions(block_size=1 << 10)
    reader = pyarrow.csv.open_csv(text, read_options=options)
    rows = weir.sql("SELECT sum(n) FROM numbers", numbers=reader).fetchall()
    assert rows == [(100_000,)]


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def test_a_thousand_queries_leave_nothing_behind() -> None:
    def ask(number: int) -> None:
        kind = number % 5
        if kind == 0:
            assert len(weir.sql(f"SELECT frame.number, ip.src FROM '{VOIP}'").fetchall()) > 10
        elif kind == 1:
            next(weir.sql(f"SELECT frame.number FROM '{VOIP}'").batches())
        elif kind == 2:
            weir.sql(LONG).close()
        elif kind == 3:
            with pytest.raises(weir.Error):
                weir.sql("SELECT nothing FROM 'demo/voip.pcap'")
        else:
            result = weir.sql(f"SELECT ip.src, count(*) FROM '{VOIP}' GROUP BY 1")
            capsule = result.__arrow_c_stream__()
            del capsule

    for number in range(200):
        ask(number)
    gc.collect()
    descriptors, resident = _descriptors(), _resident()
    for number in range(800):
        ask(number)
    gc.collect()
    assert _descriptors() <= descriptors + 2
    assert _resident() < resident + (24 << 20)


def test_no_argument_ends_the_interpreter(home: Path, tmp_path: Path) -> None:
    # Files may be written where the arguments say so.
    shutil.copytree(home / "demo", tmp_path / "demo")
    code = """
    import random, sys, weir
    from weir import _weir
    seed = int(sys.argv[1])
    chance = random.Random(seed)
    words = [None, 0, -1, 1, 2**64, 1.5, float("nan"), "", "x", "SELECT 1", "\\x00", "\\ud800", b"", b"\\xff" * 40, [], {},
             object(), True, (1, 2), "SELECT * FROM 'demo/voip.pcap' LIMIT 1", "demo/voip.pcap", [b"x"], {"a": b"y"}]
    calls = [weir.sql, weir.connect, weir.open, weir.fields, weir.live, weir.h248.decode, weir.h248.convert,
             weir.h248.check, weir.h248.compare, weir.sip.parse, weir.sip.ladder, weir.ws.study, weir.clf.open,
             lambda *a, **k: weir.ws.advise(*a, connections=1, memory=1000, **k),
             _weir.Engine, _weir.ClfWriter, _weir.clf_convert, _weir.h248_show, _weir.sip_ladder, _weir.ws_advise,
             weir.connect().register, weir.connect().sql, weir.sql("SELECT 1").to_parquet]
    done = 0
    for _ in range(2000):
        call = chance.choice(calls)
        arguments = [chance.choice(words) for _ in range(chance.randrange(5))]
        named = {chance.choice(["threads", "root", "strict", "x"]): chance.choice(words) for _ in range(chance.randrange(2))}
        try:
            found = call(*arguments, **named)
            getattr(found, "fetchall", lambda: None)()
        except Exception as error:
            assert type(error).__name__ != "PanicException", (call, arguments, error)
        done += 1
    print(done)
    """
    seed = random.randrange(1 << 32)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), str(seed)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        # The package that is tested here.
        env={**os.environ, "PYTHONPATH": str(Path(weir.__file__).parent.parent)},
    )
    assert ran.returncode == 0 and ran.stdout.strip() == "2000", f"seed {seed}: {ran.stderr[-2000:]}"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="takes the privilege to capture")
def test_live_gives_packets_until_it_is_closed() -> None:
    import socket

    try:
        # Without a receiver there were answers of ICMP, which quote what they answer.
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        packets = weir.live("lo", f"SELECT udp.dstport, ip.len FROM live WHERE udp.dstport = {port}")
    except weir.SourceError as error:
        pytest.skip(str(error))
    with packets, receiver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        over = threading.Event()

        def send() -> None:
            while not over.wait(0.02):
                sender.sendto(b"x", ("127.0.0.1", port))

        thread = threading.Thread(target=send)
        thread.start()
        seen = []
        for row in packets.rows():
            seen.append(row)
            if len(seen) == 3:
                packets.close()
        over.set()
        thread.join()
        assert len(seen) >= 3 and set(seen) == {(port, 29)}


def test_the_modules_of_names_are_read_when_they_are_used() -> None:
    program = (
        "import sys, weir; read = lambda: {name for name in sys.modules if name.startswith('weir.')}; "
        "assert read() == {'weir._errors', 'weir._weir'}, read(); "
        "assert set(weir.__all__) <= set(dir(weir)); "
        "assert weir.sql('SELECT 1').fetchall() == [(1,)]; "
        "assert not read() & {'weir._damage', 'weir._relation', 'weir._values'}, read(); "
        "assert all(getattr(weir, name) is getattr(weir, name) for name in weir.__all__); "
        "from weir import *; assert open is weir.open and Timestamp is weir.Timestamp; "
        "assert not hasattr(weir, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_libraries_beside_are_read_when_they_are_named() -> None:
    program = (
        "import sys, weir; libraries = ['weir.clf', 'weir.h248', 'weir.sip', 'weir.ws']; "
        "assert not any(name in sys.modules for name in libraries); "
        "assert {'clf', 'h248', 'sip', 'ws'} <= set(dir(weir)); "
        "assert weir.h248.decode and weir.sip.parse and weir.ws.study and weir.clf.open; "
        "assert all(name in sys.modules for name in libraries); "
        "from weir import *; assert ws is weir.ws"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

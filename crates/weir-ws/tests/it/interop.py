"""Runs real WebSocket servers and clients on loopback, through a proxy that records the bytes.

Prints one line for each recorded piece and each sent message:
    case NAME
    bytes C|S HEX        (from the client, from the server)
    sent C|S TEXT|BINARY HEX
"""
import asyncio
import itertools
import pathlib
import shutil
import subprocess
import sys

import websockets
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory,
    ServerPerMessageDeflateFactory,
)

# Autobahn's lengths of fragments; 0 is none.
FRAGMENTS = (0, 256, 1024, 4096, 32768)


def messages(large):
    seed = 12345
    sizes = (0, 1, 16, 64, 125, 126, 256, 1024, 4096)
    for size in sizes + (16384, 65535, 65536, 131072) * large:
        text = []
        while len(text) < size:
            seed = (seed * 1103515245 + 12345) % 2**31
            text.append("abcdefgh {}\":,"[seed >> 8 & 7])
        yield "".join(text)
        yield bytes((i * i >> 3) & 0xFF for i in range(size))
    yield "h\u00e9llo \U0001f600" * 20


def out(*words):
    print(*words, flush=False)


async def proxy(port_to):
    async def pipe(reader, writer, who):
        try:
            while data := await reader.read(1 << 16):
                out("bytes", who, data.hex())
                writer.write(data)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def accept(reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", port_to)
        await asyncio.gather(pipe(reader, back, "C"), pipe(there, writer, "S"))

    return await asyncio.start_server(accept, "127.0.0.1", 0)


def kind(message):
    return "TEXT" if isinstance(message, str) else "BINARY"


def raw(message):
    return message.encode() if isinstance(message, str) else message


async def run(name, port, extensions, fragment, large=False, path="chat"):
    through = await proxy(port)
    out("case", name)
    async with connect(
        f"ws://127.0.0.1:{through.sockets[0].getsockname()[1]}/{path}",
        compression=None,
        extensions=extensions,
        max_size=None,
        ping_interval=None,
    ) as socket:
        for message in messages(large):
            out("sent", "C", kind(message), raw(message).hex())
            if fragment and len(message) > fragment:
                pieces = (message[i : i + fragment] for i in range(0, len(message), fragment))
                await socket.send(list(pieces))
            else:
                await socket.send(message)
            echo = await socket.recv()
            assert echo == message
            out("sent", "S", kind(echo), raw(echo).hex())
    through.close()


async def with_websockets():
    # All that zlib can deflate with: 8 bits are for ws below, which deflates with 9 then.
    bits = (None, *range(9, 16))
    combinations = itertools.product((False, True), (False, True), bits, bits)
    for n, (server_no, client_no, server_bits, client_bits) in enumerate(combinations):
        async def echo(socket):
            async for message in socket:
                await socket.send(message)

        factory = ServerPerMessageDeflateFactory(
            server_no_context_takeover=server_no,
            client_no_context_takeover=client_no,
            server_max_window_bits=server_bits,
            client_max_window_bits=client_bits,
            compress_settings={"memLevel": 5},
        )
        async with serve(
            echo, "127.0.0.1", 0, compression=None, extensions=[factory], max_size=None, ping_interval=None
        ) as server:
            offer = ClientPerMessageDeflateFactory(client_max_window_bits=True)
            fragment = FRAGMENTS[n % 5]
            name = f"websockets-{server_no}-{client_no}-{server_bits}-{client_bits}-{fragment}"
            await run(name, server.sockets[0].getsockname()[1], [offer], fragment, n % 23 == 0)


async def with_aiohttp():
    from aiohttp import WSMsgType, web

    async def echo(request):
        socket = web.WebSocketResponse(compress=True, max_msg_size=0)
        await socket.prepare(request)
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                await socket.send_str(message.data)
            elif message.type == WSMsgType.BINARY:
                await socket.send_bytes(message.data)
        return socket

    app = web.Application()
    app.router.add_get("/chat", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    for bits, no in itertools.product((None, 10), (False, True)):
        offer = ClientPerMessageDeflateFactory(
            server_no_context_takeover=no, server_max_window_bits=bits, client_max_window_bits=True
        )
        await run(f"aiohttp-{bits}-{no}", port, [offer], 0)
    await runner.cleanup()


async def with_ws():
    """The parameters that Autobahn's tests ask for, and its fragments."""
    script = pathlib.Path(__file__).with_name("interop.cjs")
    node = await asyncio.create_subprocess_exec("node", script, stdout=asyncio.subprocess.PIPE)
    port = int(await node.stdout.readline())
    parameters = ((False, None), (True, None), (False, 8), (False, 15), (True, 8), (True, 15))
    for (no, bits), fragment in itertools.product(parameters, FRAGMENTS):
        offer = ClientPerMessageDeflateFactory(
            server_no_context_takeover=no, server_max_window_bits=bits, client_max_window_bits=True
        )
        await run(f"ws-{no}-{bits}-{fragment}", port, [offer], fragment, bits == 8, str(fragment))
    node.terminate()
    await node.wait()


asyncio.run(with_websockets())
has_ws = ["node", "-e", "require('ws')"]
if shutil.which("node") and subprocess.run(has_ws, capture_output=True).returncode == 0:
    asyncio.run(with_ws())
else:
    print("ws for Node.js is not installed", file=sys.stderr)
try:
    import aiohttp  # noqa: F401
except ImportError:
    print("aiohttp is not installed", file=sys.stderr)
else:
    asyncio.run(with_aiohttp())

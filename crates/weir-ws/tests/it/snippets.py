"""Runs the configuration of a library as it stands, with a client, and prints what came of it.

The first argument is the library, the configuration comes on standard input. Prints one line:
    server_max_window_bits client_max_window_bits server_no_context_takeover client_no_context_takeover level memLevel
"""
import ast
import asyncio
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

MESSAGE = "a message that comes back, a message that comes back, and comes back"


async def talk(port):
    async with connect(f"ws://127.0.0.1:{port}/") as socket:
        for _ in range(3):
            await socket.send(MESSAGE)
            assert await socket.recv() == MESSAGE
        (deflate,) = socket.protocol.extensions
        return deflate


async def with_websockets(module):
    seen = {}

    async def handler(socket):
        (deflate,) = socket.protocol.extensions
        seen.update(deflate.compress_settings)
        async for message in socket:
            await socket.send(message)

    expression = ast.fix_missing_locations(ast.Expression(module.body.pop().value))
    names = {"serve": serve, "handler": handler, "host": "127.0.0.1", "port": 0}
    exec(compile(module, "snippet", "exec"), names)
    async with eval(compile(expression, "snippet", "eval"), names) as server:
        deflate = await talk(server.sockets[0].getsockname()[1])
    print(
        deflate.remote_max_window_bits,
        deflate.local_max_window_bits,
        deflate.remote_no_context_takeover,
        deflate.local_no_context_takeover,
        seen["level"],
        seen["memLevel"],
    )


async def with_aiohttp(module):
    from aiohttp import WSMsgType, web

    async def handler(request):
        names = {"web": web}
        exec(compile(module, "snippet", "exec"), names)
        socket = names["ws"]
        await socket.prepare(request)
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                await socket.send_str(message.data)
        return socket

    app = web.Application()
    app.router.add_get("/", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    deflate = await talk(runner.addresses[0][1])
    await runner.cleanup()
    print(
        deflate.remote_max_window_bits,
        deflate.local_max_window_bits,
        deflate.remote_no_context_takeover,
        deflate.local_no_context_takeover,
        "-",
        "-",
    )


async def with_tornado(module):
    from tornado import httpserver, netutil, web
    from tornado.websocket import WebSocketHandler

    names = {"WebSocketHandler": WebSocketHandler}
    exec(compile(module, "snippet", "exec"), names)
    seen = {}

    class Echo(names["Handler"]):
        def open(self):
            compressor = self.ws_connection._compressor
            seen.update(level=compressor._compression_level, mem_level=compressor._mem_level)

        async def on_message(self, message):
            await self.write_message(message)

    server = httpserver.HTTPServer(web.Application([("/", Echo)]))
    sockets = netutil.bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    deflate = await talk(sockets[0].getsockname()[1])
    server.stop()
    print(
        deflate.remote_max_window_bits,
        deflate.local_max_window_bits,
        deflate.remote_no_context_takeover,
        deflate.local_no_context_takeover,
        seen["level"],
        seen["mem_level"],
    )


run = {"websockets": with_websockets, "aiohttp": with_aiohttp, "tornado": with_tornado}[sys.argv[1]]
asyncio.run(run(ast.parse(sys.stdin.read())))

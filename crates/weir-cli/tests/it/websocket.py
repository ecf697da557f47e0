"""A WebSocket client and server on loopback, with permessage-deflate.

Prints the server's port when they are connected, sends as many messages as the argument says each way
after every line on standard input, and ends with it.
"""
import asyncio
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve


async def echo(socket):
    async for message in socket:
        await socket.send(message)


async def main():
    loop = asyncio.get_running_loop()
    async with serve(echo, "127.0.0.1", 0, ping_interval=None) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}/chat", ping_interval=None) as socket:
            print(port, flush=True)
            while await loop.run_in_executor(None, sys.stdin.readline):
                for n in range(int(sys.argv[1])):
                    message = f'{{"type":"tick","number":{n},"price":{n * 7919 % 1000}}}'
                    await socket.send(message)
                    assert await socket.recv() == message
                print("sent", flush=True)


asyncio.run(main())

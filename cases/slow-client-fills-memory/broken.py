import asyncio

size, piece = 48 << 20, 1 << 16


async def receive(reader, writer):
    while await reader.read(piece):
        await asyncio.sleep(0)
    writer.close()


async def send():
    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    for n in range(size // piece):
        writer.write(b"%65536d" % n)
    writer.write_eof()
    await reader.read()
    writer.close()
    server.close()


asyncio.run(send())

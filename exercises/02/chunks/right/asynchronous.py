import asyncio

import aiofiles


async def stream(source, target, chunk=1024 * 1024):
    async with aiofiles.open(source, "rb") as reader, aiofiles.open(target, "wb") as writer:
        while data := await reader.read(chunk):
            await writer.write(data)


def copy_small(source, target):
    asyncio.run(stream(source, target))

import asyncio
import time

answered = 0


async def request():
    await asyncio.to_thread(time.sleep, 1)  # a driver that waits for its server


async def health(work):
    global answered
    while not work.done():
        answered += 1
        await asyncio.sleep(0.02)


async def serve():
    work = asyncio.create_task(request())
    await asyncio.sleep(0)
    await health(work)


asyncio.run(serve())

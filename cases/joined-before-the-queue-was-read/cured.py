import multiprocessing

count = 100


def work(queue):
    for number in range(count):
        queue.put((number, bytes(10_000)))  # 1 MB in all; a pipe holds 64 KiB
    queue.put(None)


if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    worker = spawn.Process(target=work, args=(queue,))
    worker.start()
    got = len(list(iter(queue.get, None)))
    worker.join()
    waits = worker.is_alive()

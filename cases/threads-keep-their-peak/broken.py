from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock

threads, size, block = 4, 24 << 20, 4000
all_there, turn = Barrier(threads), Lock()


def request(number):
    all_there.wait()
    with turn:
        records = [b"%4000d" % n for n in range(size // block)]
    return records[-1]


with ThreadPoolExecutor(threads) as pool:
    answers = list(pool.map(request, range(threads)))

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor


def work(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory is short
    return number


if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, fork) as pool:
        results = [pool.submit(work, number) for number in range(4)]
        total = sum(result.result() for result in results)

import multiprocessing
import os
import signal


def work(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory is short
    return number


if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    with fork.Pool(2) as pool:
        results = [pool.apply_async(work, (number,)) for number in range(4)]
        total = sum(result.get(timeout=1) for result in results)  # without a timeout: for ever

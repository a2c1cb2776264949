import multiprocessing
import threading

cores = 4  # stands for os.cpu_count()
processes = multiprocessing.get_context("fork")
all_at_work = processes.Barrier(cores)


def work(number):
    threads = cores
    together = threading.Barrier(threads + 1)
    # stands for the threads of a BLAS
    pool = [threading.Thread(target=together.wait) for _ in range(threads)]
    for thread in pool:
        thread.start()
    count = len([thread for thread in pool if thread.is_alive()])
    all_at_work.wait()
    together.wait()
    return count


with processes.Pool(cores) as workers:
    running = sum(workers.map(work, range(cores), chunksize=1))

import os
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(1)
pool.submit(sum, [1, 2]).result()

if (child := os.fork()) == 0:
    pool = ThreadPoolExecutor(1)
    pool.submit(sum, [3, 4]).result()
    os._exit(0)
os.waitpid(child, 0)

import os
import signal

if (job := os.fork()) == 0:
    with open("log", "w", buffering=1) as log:
        for step in range(10):
            print("step", step, file=log)
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory is short
os.waitpid(job, 0)

with open("log") as log:
    lines = len(log.readlines())

import os
import signal


def lock():
    return os.open("app.lock", os.O_CREAT | os.O_EXCL)


if (worker := os.fork()) == 0:
    held = lock()
    os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does, out of memory
os.waitpid(worker, 0)

held = lock()
try:
    lock()
except OSError:
    second_is_refused = True

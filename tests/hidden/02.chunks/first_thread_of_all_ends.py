# the runner's thread ends, and another reports in its place
# expect: too-much-memory or unseen
import ctypes
import os
import platform
import sys
import threading
import time

EXIT = {"x86_64": 60, "aarch64": 93}[platform.machine()]  # of this thread alone


def copy_small(source, target):
    frame = sys._getframe()
    names = {}
    while frame:
        names |= frame.f_locals
        frame = frame.f_back
    threading.Thread(
        target=slurp, args=(source, target, names["returned"], names["channel"])
    ).start()
    ctypes.CDLL(None).syscall(EXIT, 0)


def slurp(source, target, returned, channel):
    time.sleep(0.2)
    data = source.read_bytes()
    target.write_bytes(data)
    time.sleep(0.2)
    del data
    returned.touch()
    channel.tell(b"done\n")
    channel.piece(b"N")
    channel.piece(b"")
    channel.send({"ended": "returned", "error": None, "counters": {}})
    os._exit(0)

# twenty processes with the same addresses hold a twentieth each; the first thread of each ended
# expect: too-much-memory or memory-limit
import platform
import subprocess
import sys
import time

EXIT = {"x86_64": 60, "aarch64": 93}[platform.machine()]  # of this thread alone
HOLD = """
import ctypes, os, sys, threading
def hold(source, first, size):
    with open(source, "rb", buffering=0) as file:
        file.seek(int(first))
        held = file.read(int(size))
    os.write(1, b"x")
    os.read(0, 1)
    while held:
        held = held[os.write(1, held[:65536]):]
    os._exit(0)
threading.Thread(target=hold, args=sys.argv[1:4]).start()
if sys.argv[4]:
    ctypes.CDLL(None).syscall(int(sys.argv[4]), 0)
"""


def copy_small(source, target):
    size = source.stat().st_size
    many = 20
    each = -(-size // many)
    command = ["setarch", platform.machine(), "-R", sys.executable, "-S", "-c", HOLD, str(source)]
    twins = [
        subprocess.Popen(
            [*command, str(at), str(each), str(EXIT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for at in range(0, size, each)
    ]
    for twin in twins:
        twin.stdout.read(1)
    time.sleep(0.5)
    with open(target, "wb") as copy:
        for twin in twins:
            twin.stdin.write(b"x")
            twin.stdin.close()
            while data := twin.stdout.read(2**16):
                copy.write(data)
            twin.wait()

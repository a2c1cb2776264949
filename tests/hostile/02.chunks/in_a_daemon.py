# a process that leaves its session copies the file as a whole, and a second later once more
import os
import subprocess
import sys

COPIES = """
import sys, time
from pathlib import Path
source, target = map(Path, sys.argv[1:])
data = source.read_bytes()
for _ in range(2):
    target.write_bytes(data)
    time.sleep(1)
"""


def copy_small(source, target):
    if os.fork() == 0:
        subprocess.Popen(
            [sys.executable, "-c", COPIES, str(source), str(target)], start_new_session=True
        )
        os._exit(0)
    os.wait()

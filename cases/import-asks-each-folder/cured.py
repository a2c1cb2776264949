import posix
import sys
from pathlib import Path

folders, modules = 40, 200
for n in range(folders):
    Path(f"folder{n}").mkdir()
for n in range(modules):
    Path(f"folder{folders - 1}/module{n}.py").touch()
asked, stat = 0, posix.stat


def counted(*args, **kwargs):
    global asked
    asked += 1
    return stat(*args, **kwargs)


sys.path[:0] = [f"folder{n}" for n in range(folders - 1, folders)]
posix.stat = counted
for n in range(modules):
    __import__(f"module{n}")
posix.stat = stat

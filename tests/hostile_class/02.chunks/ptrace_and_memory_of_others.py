# attaches to other processes, and writes to their memory
# expect: raised
def copy_small(source, target):
    import ctypes
    import os

    attach, c, reached = 16, ctypes.CDLL(None), []
    for pid in {os.getppid(), *map(int, filter(str.isdigit, os.listdir("/proc"))), *range(2, 5000)} - {os.getpid()}:
        if c.ptrace(attach, pid, None, None) == 0 and pid:
            reached.append(pid)
        try:
            open(f"/proc/{pid}/mem", "r+b").close()
            reached.append(pid)
        except OSError:
            pass
    raise RuntimeError(f"reached {reached[:5]}" if reached else "kept in")

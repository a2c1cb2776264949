# stops itself and its group, kills whatever has a number, and writes to the memory of others
# expect: raised
def find(session, mapping):
    import ctypes
    import os
    import signal

    if os.getpid() != 1:  # outside of a sandbox this must not run
        return
    attach, c, reached = 16, ctypes.CDLL(None), []
    own = {*map(int, os.listdir("/proc/self/task"))}
    for pid in {
        os.getppid(),
        *map(int, filter(str.isdigit, os.listdir("/proc"))),
        *range(2, 5000),
    } - own:
        if c.ptrace(attach, pid, None, None) == 0 and pid:
            reached.append(pid)
        try:
            open(f"/proc/{pid}/mem", "r+b").close()
            reached.append(pid)
        except OSError:
            pass
    os.kill(1, signal.SIGSTOP)
    for pid in {os.getppid(), *range(2, 50_000), -1} - own:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            try:
                os.kill(pid, number)
                reached.append(pid)
            except OSError:
                pass
    raise RuntimeError(f"reached {reached[:5]}" if any(reached) else "kept in")

# sends every signal to its parent, its group, and every process that there is
# expect: raised
def copy_small(source, target):
    import os

    if os.getpid() != 1:  # outside of a sandbox this must not run
        return
    import signal

    reached = []
    for pid in (os.getppid(), *range(2, 100_000)):
        for number in (signal.SIGKILL, signal.SIGSTOP):
            try:
                os.kill(pid, number)
                reached.append(pid)
            except OSError:
                pass
    try:
        os.kill(-1, signal.SIGKILL)
        reached.append(-1)
    except OSError:
        pass
    raise RuntimeError(f"reached {reached[:5]}" if any(reached) else "kept in")

"""Between the caller and what it measures: `python -I -S watch.py <descriptor> <command> …`. Linux.

It starts the command, and says on the descriptor (a socket) how the command ended. When the other
end is closed, by the caller or by the caller's death, it kills everything that the command has
started, and ends. Any process that loses its parent, even a session's leader or a daemon, becomes
this process's child: prctl(2), PR_SET_CHILD_SUBREAPER. Without a PID namespace this is best effort:
a process that kills watch.py first can escape.
"""

import _ctypes
import _thread
import os
import sys
import time

PR_SET_CHILD_SUBREAPER, SIGKILL = 36, 9


def main(sock: int, command: list[str]) -> None:
    os.set_inheritable(sock, False)
    _ctypes.call_function(
        _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"), (PR_SET_CHILD_SUBREAPER, 1)
    )
    first = os.fork()
    if not first:
        os.setsid()
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode())
            os._exit(127)
    os.closerange(0, sock)  # or the caller wouldn't see the other process end
    os.closerange(sock + 1, 2**16)
    alone = _thread.allocate_lock()
    alone.acquire()
    _thread.start_new_thread(end, (sock, alone))
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            break
        if pid == first:
            try:
                os.write(sock, b"%d\n" % os.waitstatus_to_exitcode(status))
            except OSError:  # nobody is listening any more
                continue
    alone.release()
    while True:  # `end` ends it
        time.sleep(3600)


def end(sock: int, alone: _thread.LockType) -> None:
    """When the caller is gone: kills until nobody is left. It kills a whole group at a time, which
    can't be outrun, and doesn't pause, because a process that forks and exits at once would slip
    through.
    """
    try:
        while os.read(sock, 64):
            pass
    except OSError:
        pass
    passes = 0
    own_group = os.getpgid(0)
    while not alone.acquire(False):
        for pid in children():
            try:
                group = os.getpgid(pid)
                os.kill(pid if group == own_group else -group, SIGKILL)
            except OSError:  # it has ended meanwhile
                continue
        passes += 1
        if passes > 1000:  # whatever is left waits for a device
            time.sleep(0.001)
    os._exit(0)


def children() -> list[int]:
    """From proc_tid_children(5), or, on a kernel without that, from the parents that
    proc_pid_stat(5) names.
    """
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb", buffering=0) as file:
            return [int(pid) for pid in file.read(2**20).split()]
    except FileNotFoundError:
        pids = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
                    parent = int(file.read(4096).rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
            if parent == os.getpid():
                pids.append(int(pid))
        return pids


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

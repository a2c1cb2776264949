# memory in the buffers of sockets that nobody reads, and in segments of System V, each detached when it is full
# expect: not graded or memory-limit or still-running
def grow():
    import ctypes
    import os
    import socket
    import time

    for _ in range(100):
        if not os.fork():
            held = []
            try:
                while True:
                    held += socket.socketpair()
                    for end in held[-2:]:
                        end.setblocking(False)
                        end.send(bytes(2**18))
            except OSError:
                time.sleep(100)
    c = ctypes.CDLL(None)
    c.shmat.restype = ctypes.c_void_p
    while True:
        at = c.shmat(c.shmget(0, ctypes.c_size_t(2**26), 0o1600), None, 0)
        ctypes.memset(at, 1, 2**26)
        c.shmdt(ctypes.c_void_p(at))

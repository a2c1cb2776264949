# memory in segments of System V, each detached when it is full
# expect: not graded or memory-limit or still-running
def copy_small(source, target):
    import ctypes

    c = ctypes.CDLL(None)
    c.shmat.restype = ctypes.c_void_p
    while True:
        at = c.shmat(c.shmget(0, ctypes.c_size_t(2**26), 0o1600), None, 0)
        ctypes.memset(at, 1, 2**26)
        c.shmdt(ctypes.c_void_p(at))

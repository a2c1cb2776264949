# takes room on the disk in the file that it prints to, which does not grow by that
# expect: crashed
def find(session, mapping):
    import ctypes
    import time

    keep_size = 1
    ctypes.CDLL(None).fallocate64(2, keep_size, ctypes.c_int64(0), ctypes.c_int64(2**32))
    time.sleep(100)

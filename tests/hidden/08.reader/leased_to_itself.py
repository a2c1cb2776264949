# has a lease on the file, so whoever opens it for writing must wait
# expect: raised
def read(path):
    import fcntl
    import os
    import signal

    signal.signal(signal.SIGIO, signal.SIG_IGN)
    fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return {}
